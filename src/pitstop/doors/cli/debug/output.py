"""What steps write, as lines to show while they run."""

import codecs

from msgspec import Struct, field
from rich.text import Text

from pitstop.service.runs import Output

LONGEST_LINE = 2_000
ESCAPE = "\x1b"


class OutputLine(Struct, frozen=True):
    """A line that a step wrote. Its text is made only when it is shown: most of a flood never is."""

    step: str
    style: str
    text: str

    @property
    def plain(self) -> str:
        text = Text.from_ansi(self.text).plain if ESCAPE in self.text else self.text
        return f"{self.step} │ {text}"

    def styled(self) -> Text:
        text = Text.from_ansi(self.text) if ESCAPE in self.text else self.text
        return Text.assemble((f"{self.step} │ ", self.style), text)


class _Begun(Struct):
    """A line that has not ended, of one stream of one occurrence."""

    decoder: codecs.IncrementalDecoder = field(default_factory=lambda: codecs.getincrementaldecoder("utf-8")("replace"))
    text: str = ""


class OutputLines:
    """Bytes in, whole lines out; a line that was written over with CR is shown as it was last."""

    def __init__(self) -> None:
        self._begun: dict[tuple[str, str], _Begun] = {}

    def feed(self, output: Output) -> list[str]:
        begun = self._begun.setdefault((output.occurrence, output.stream), _Begun())
        *lines, rest = (begun.text + begun.decoder.decode(output.data)).split("\n")
        begun.text = rest.rpartition("\r")[2][:LONGEST_LINE] if not rest.endswith("\r") else rest[:LONGEST_LINE]
        return [_folded(line) for line in lines]

    def finish(self, occurrence: str) -> list[str]:
        """What the occurrence has left without an end of line."""
        streams = [key for key in self._begun if key[0] == occurrence]
        left = [self._begun.pop(key).text for key in streams]
        return [_folded(text) for text in left if text]


def _folded(line: str) -> str:
    last = line.rstrip("\r").rpartition("\r")[2]
    return last if len(last) <= LONGEST_LINE else f"{last[:LONGEST_LINE]} … {len(last) - LONGEST_LINE} more characters"
