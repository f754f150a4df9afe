"""Secrets taken out of what commands write, also where one comes in two chunks or is encoded."""

import re
from collections.abc import Mapping

from pitstop.executors.secret_forms import forms_of

MASK = b"***"
WRAPPED_CHARACTERS = 32  # a shorter line is not taken for a part of a longer text that was wrapped
CONTEXT_BYTES = WRAPPED_CHARACTERS + len("\r\n")
# A line break in a long text without spaces, such as `base64` and `xxd -p` write: a secret may continue after it.
_LINE = rb"(?<=[A-Za-z0-9+/]{%d}" % WRAPPED_CHARACTERS
BREAK = rb"(?:\n%b\n)|\r\n%b\r\n)|\r\Z%b\r))" % (_LINE, _LINE, _LINE)
_BREAK = re.compile(BREAK)
_ANY_BREAK = re.compile(rb"\n(?:%b\n)|%b\r\n))" % (_LINE, _LINE))  # the same, but ten times as fast where there is none
_PROBE_BYTES = 8


class Masker:
    """Knows every form of the secrets. Masking one shorter than four characters would garble the log and reveal it."""

    def __init__(self, secrets: Mapping[str, str]) -> None:
        self._names = {form: name for name, secret in secrets.items() for form in forms_of(secret)}
        self._forms = sorted(self._names, key=lambda form: (-len(form), form))
        longest = len(self._forms[0]) if self._forms else 0
        self.reach = longest + len("\r\n") * (longest // WRAPPED_CHARACTERS + 2)  # of a form, with its breaks
        self._beginnings = {form[:size] for form in self._forms for size in range(1, min(len(form), _PROBE_BYTES))}
        self._wrapped: dict[bytes, re.Pattern[bytes]] = {}

    def mask(self, data: bytes, before: bytes = b"") -> bytes:
        """The bytes with every secret replaced. For a stream that comes in chunks there is `MaskedStream`."""
        for form in self._forms:
            if form in data:
                data = data.replace(form, MASK)
        whole = before + data
        if _ANY_BREAK.search(whole):
            joined = _BREAK.sub(b"", whole)
            for form in self._forms:
                if form in joined:
                    data = _replace(self._with_breaks(form), before, data)
        return data

    def mask_text(self, text: str) -> str:
        """The same for an error or an event."""
        return self.mask(text.encode("utf-8", "surrogatepass")).decode("utf-8", "surrogatepass")

    def new_stream(self) -> "MaskedStream":
        return MaskedStream(self)

    def new_scan(self) -> "SecretScan":
        return SecretScan(self)

    def find(self, data: bytes) -> str | None:
        """The name of a secret that is in the data."""
        joined = _BREAK.sub(b"", data) if _ANY_BREAK.search(data) else b""
        return next((self._names[form] for form in self._forms if form in data or form in joined), None)

    def decided(self, data: bytes, before: bytes = b"") -> int:
        """How many bytes can be masked now: what comes next cannot make a secret out of any part of them.

        `before` is the end of what was decided earlier.
        """
        if not self._forms:
            return len(data)
        whole = before + data
        offset = max(len(before), len(whole) - self.reach)
        cut = offset + self._begin_of_part(whole[offset:])
        breaks = [found.span() for found in _BREAK.finditer(whole, offset)]
        if breaks:
            begin = offset + self._begin_of_part(_without(breaks, whole, offset))
            for break_begin, break_end in breaks:
                begin += break_end - break_begin if break_begin <= begin else 0
            cut = min(cut, begin)
        while (earlier := self._begin_of_secret_across(cut, whole)) is not None:
            cut = earlier
        return cut - len(before)

    def _begin_of_part(self, end: bytes) -> int:
        """Where in the end of the data a secret begins that is not complete; the length of the end if nowhere."""
        found = [len(end), *(_begin_of_long_part(form, end) for form in self._forms if len(form) > _PROBE_BYTES)]
        shortest = max(0, len(end) - _PROBE_BYTES + 1)
        found += [begin for begin in range(shortest, len(end)) if end[begin:] in self._beginnings]
        return min(found)

    def _begin_of_secret_across(self, cut: int, data: bytes) -> int | None:
        for form in self._forms:
            begin = data.find(form, max(0, cut - len(form) + 1), cut + len(form) - 1)
            if 0 <= begin < cut:
                return begin
        first, last = max(0, cut - self.reach), cut + self.reach
        if _ANY_BREAK.search(data, first, last):
            joined = _BREAK.sub(b"", data[max(0, first - CONTEXT_BYTES) : last])
            for form in self._forms:
                for found in self._with_breaks(form).finditer(data, first, last) if form in joined else ():
                    if found.start() < cut < found.end():
                        return found.start()
        return None

    def _with_breaks(self, form: bytes) -> re.Pattern[bytes]:
        if form not in self._wrapped:
            separator = b"(?:%b)?" % BREAK
            self._wrapped[form] = re.compile(separator.join(re.escape(bytes((byte,))) for byte in form))
        return self._wrapped[form]


class MaskedStream:
    """One stream of a command. It holds back no more than what may be the beginning of a secret."""

    def __init__(self, masker: Masker) -> None:
        self._masker = masker
        self._before = b""
        self._held = b""

    def feed(self, data: bytes) -> bytes:
        data = self._held + data
        decided = self._masker.decided(data, self._before)
        self._held = data[decided:]
        return self._pass_on(data[:decided])

    def finish(self) -> bytes:
        held, self._held = self._held, b""
        return self._pass_on(held)

    def _pass_on(self, data: bytes) -> bytes:
        masked = self._masker.mask(data, self._before)
        self._before = (self._before + data[-CONTEXT_BYTES:])[-CONTEXT_BYTES:]
        return masked


class SecretScan:
    """Searches bytes that come in chunks; `found` is the name of the first secret in them."""

    def __init__(self, masker: Masker) -> None:
        self.found: str | None = None
        self._masker = masker
        self._end = b""

    def feed(self, data: bytes) -> None:
        if self.found is None:
            data = self._end + data
            self.found = self._masker.find(data)
            self._end = data[-self._masker.reach - CONTEXT_BYTES :]


def _begin_of_long_part(form: bytes, end: bytes) -> int:
    """The same for one form, of which there are at least _PROBE_BYTES."""
    probe = form[:_PROBE_BYTES]
    begin = end.find(probe, max(0, len(end) - len(form) + 1))
    while begin >= 0 and not form.startswith(end[begin:]):
        begin = end.find(probe, begin + 1)
    return len(end) if begin < 0 else begin


def _without(breaks: list[tuple[int, int]], data: bytes, offset: int) -> bytes:
    parts = []
    for begin, end in breaks:
        parts.append(data[offset:begin])
        offset = end
    return b"".join((*parts, data[offset:]))


def _replace(pattern: re.Pattern[bytes], before: bytes, data: bytes) -> bytes:
    """The data with the mask for every match. What is before it only decides where a line was wrapped."""
    whole, offset = before + data, len(before)
    parts: list[bytes] = []
    for found in pattern.finditer(whole, offset):
        parts += (whole[offset : found.start()], MASK)
        offset = found.end()
    return b"".join((*parts, whole[offset:]))
