"""Lists of commands that steer a run: each line with its place, checked before the run starts."""

from collections.abc import Iterable

from msgspec import Struct

from pitstop.errors import BadCommand


class ScriptLine(Struct, frozen=True):
    """A command, and where it was written: `-c 2` or `FILE:LINE`."""

    text: str
    place: str

    def __str__(self) -> str:
        return self.text


def check_script(lines: Iterable[ScriptLine]) -> None:
    """BadCommand for a line that is no command, with its place and what was probably meant."""
    from pitstop.doors.cli.debug.commands import parse

    for line in lines:
        try:
            if line.text.strip():
                parse(line.text)
        except BadCommand as error:
            raise BadCommand(f"{line.place}: {line.text}: {error}") from error
