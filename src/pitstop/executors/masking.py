"""Secrets taken out of what commands write, also where one comes in two chunks or is encoded."""

import base64
import json
from collections.abc import Iterator, Mapping
from urllib.parse import quote, quote_plus

MASK = b"***"
SHORTEST = 4


class Masker:
    """Knows every form of the secrets. Masking one shorter than SHORTEST would garble the log and reveal it."""

    def __init__(self, secrets: Mapping[str, str]) -> None:
        forms = {form for secret in secrets.values() if len(secret) >= SHORTEST for form in _forms(secret)}
        self._forms = sorted((form for form in forms if len(form) >= SHORTEST), key=lambda form: (-len(form), form))
        self._first_bytes = {form[0] for form in self._forms}
        self._longest = len(self._forms[0]) if self._forms else 0

    def mask(self, data: bytes) -> bytes:
        """The bytes with every secret replaced. For a stream that comes in chunks there is `MaskedStream`."""
        for form in self._forms:
            if form in data:
                data = data.replace(form, MASK)
        return data

    def mask_text(self, text: str) -> str:
        """The same for an error or an event."""
        return self.mask(text.encode("utf-8", "surrogatepass")).decode("utf-8", "surrogatepass")

    def new_stream(self) -> "MaskedStream":
        return MaskedStream(self)

    def decided(self, data: bytes) -> int:
        """How many bytes can be masked now: what comes next cannot make a secret out of any part of them."""
        cut = len(data)
        for begin in range(max(0, len(data) - self._longest + 1), len(data)):
            if data[begin] in self._first_bytes and self._begins_secret(data[begin:]):
                cut = begin
                break
        while (earlier := self._begin_of_secret_across(cut, data)) is not None:
            cut = earlier
        return cut

    def _begins_secret(self, tail: bytes) -> bool:
        return any(len(form) > len(tail) and form.startswith(tail) for form in self._forms)

    def _begin_of_secret_across(self, cut: int, data: bytes) -> int | None:
        for form in self._forms:
            begin = data.find(form, max(0, cut - len(form) + 1), cut + len(form) - 1)
            if 0 <= begin < cut:
                return begin
        return None


class MaskedStream:
    """One stream of a command. It holds back no more than what may be the beginning of a secret."""

    def __init__(self, masker: Masker) -> None:
        self._masker = masker
        self._held = b""

    def feed(self, data: bytes) -> bytes:
        data = self._held + data
        decided = self._masker.decided(data)
        self._held = data[decided:]
        return self._masker.mask(data[:decided])

    def finish(self) -> bytes:
        held, self._held = self._held, b""
        return self._masker.mask(held)


def _forms(secret: str) -> Iterator[bytes]:
    """The secret as it may show up: each of its lines, and each of the ways in which programs encode it."""
    raw = secret.encode("utf-8", "surrogatepass")
    yield raw
    for line in raw.splitlines():
        yield line.strip()
    yield quote(raw, safe="").encode()
    yield quote(raw).encode()
    yield quote_plus(raw).encode()
    yield json.dumps(secret)[1:-1].encode()
    yield json.dumps(secret, ensure_ascii=False)[1:-1].encode("utf-8", "surrogatepass")
    for encode in (base64.b64encode, base64.urlsafe_b64encode):
        yield encode(raw)
        for before in range(3):  # inside a longer text, as in user:secret, it begins at any of three places
            encoded = encode(bytes(before) + raw)
            yield encoded[-(-before * 8 // 6) : (before + len(raw)) * 8 // 6]
