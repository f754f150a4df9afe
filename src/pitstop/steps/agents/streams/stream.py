"""A stream: the lines that an agent CLI writes, read in order as reports and then finished once; it never raises."""

from collections.abc import Callable, Mapping, Sequence

from pitstop.steps.agents.any_json import Object, read_json
from pitstop.steps.agents.reports import Report
from pitstop.steps.agents.streams.account import Account
from pitstop.steps.agents.streams.claude import read_claude
from pitstop.steps.agents.streams.codex import read_codex
from pitstop.steps.agents.streams.gemini import read_gemini
from pitstop.steps.agents.streams.opencode import read_opencode
from pitstop.steps.agents.streams.text import TextStream

_READERS: Mapping[str, Callable[[Account, Object], Sequence[Report]]] = {
    "claude": read_claude,
    "codex": read_codex,
    "gemini": read_gemini,
    "opencode": read_opencode,
}
_TEXTS = {"aider": "aider", "lines": "the command"}


class JsonStream:
    """Each line is a JSON object; any other line is a warning."""

    def __init__(self, cli: str) -> None:
        self._account = Account(cli)
        self._read = _READERS[cli]

    def read(self, line: bytes) -> Sequence[Report]:
        given = read_json(line)
        if type(given) is dict:
            return self._read(self._account, given)
        return self._account.warn(line.decode(errors="replace").strip())

    def finish(self, exit_code: int | None) -> Sequence[Report]:
        return self._account.finish(exit_code)


def stream_named(name: str) -> JsonStream | TextStream:
    """A new stream of this name; KeyError if there is none. After `finish` the last `Finished` counts."""
    return TextStream(_TEXTS[name]) if name in _TEXTS else JsonStream(name)
