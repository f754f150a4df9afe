"""The cases of a report, packed: their names once for every run with the same tests, and four bytes a run and case."""

import struct
import zlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from hashlib import blake2b

from msgspec import Struct

from pitstop.runs.step_reports import CaseResult
from pitstop.steps.junit import CaseStatus

_STATUSES: tuple[CaseStatus, ...] = ("passed", "failed", "error", "skipped")  # their codes: never reordered
_STATUS_BITS = 0b011
_MIXED_BIT = 0b100
_TIME_SHIFT = 3
_MOST_MILLISECONDS = 2**29 - 1
_CASE_BYTES = 4
_MOST_FOUND = 1_000  # places that are remembered


class PackedNames(Struct, frozen=True):
    """The names of the cases of a report in a fixed order, and their hash."""

    hash: bytes
    body: bytes


class PackedResult(Struct, frozen=True, gc=False):
    """How one test ended in one run."""

    status: CaseStatus
    milliseconds: int
    is_mixed: bool


class Names:
    """Unpacked names: lines `suite<TAB>name` between line breaks, so that one is found without reading the others."""

    def __init__(self, body: bytes) -> None:
        self._lines = zlib.decompress(body)
        self._found: dict[str, int | None] = {}

    def find(self, case: str) -> int | None:
        """The place of a case, by its id; None if it is not there. Threads may ask at the same time."""
        with suppress(KeyError):
            return self._found[case]
        place = self._search(case)
        if len(self._found) >= _MOST_FOUND:
            self._found.clear()
        self._found[case] = place
        return place

    def pairs(self) -> list[tuple[str, str]]:
        """Suite and name of each case, in order."""
        lines = self._lines.decode(errors="surrogatepass").split("\n")[1:-1]
        return [(suite, name) for suite, _, name in (line.partition("\t") for line in lines)]

    def _search(self, case: str) -> int | None:
        for line in _possible_lines(case):
            at = self._lines.find(b"\n" + line + b"\n")
            if at >= 0:
                return self._lines.count(b"\n", 0, at)
        return None


def pack_names(cases: Mapping[str, CaseResult]) -> PackedNames:
    lines = [f"{cases[key].suite}\t{cases[key].name}\n" for key in sorted(cases)]
    text = ("\n" + "".join(lines)).encode(errors="surrogatepass")
    return PackedNames(blake2b(text, digest_size=20).digest(), zlib.compress(text))


def pack_results(cases: Mapping[str, CaseResult]) -> bytes:
    """The results in the order of `pack_names`."""
    return struct.pack(f"<{len(cases)}I", *(_packed(cases[key]) for key in sorted(cases)))


def result_at(results: bytes, place: int) -> PackedResult:
    (value,) = struct.unpack_from("<I", results, place * _CASE_BYTES)
    return result_of(value)


def values_in(results: bytes) -> Sequence[int]:
    """The packed results, for those who look at many: `result_of` unpacks one."""
    return struct.unpack(f"<{len(results) // _CASE_BYTES}I", results)


def is_notable(value: int) -> bool:
    """Whether the test did anything but pass."""
    return bool(value & (_STATUS_BITS | _MIXED_BIT))


def milliseconds_of(value: int) -> int:
    return value >> _TIME_SHIFT


def _packed(case: CaseResult) -> int:
    milliseconds = min(max(case.milliseconds, 0), _MOST_MILLISECONDS)
    return milliseconds << _TIME_SHIFT | (_MIXED_BIT if case.is_mixed else 0) | _STATUSES.index(case.status)


def result_of(value: int) -> PackedResult:
    return PackedResult(_STATUSES[value & _STATUS_BITS], milliseconds_of(value), bool(value & _MIXED_BIT))


def _possible_lines(case: str) -> Iterator[bytes]:
    """The id of a case does not say where its suite ends."""
    parts = case.split("::")
    for count in range(len(parts) - 1, -1, -1):
        line = "::".join(parts[:count]) + "\t" + "::".join(parts[count:])
        yield line.encode(errors="surrogatepass")
