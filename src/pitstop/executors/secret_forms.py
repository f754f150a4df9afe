"""The forms in which a secret shows up: as it is, line by line, and as programs encode or quote it."""

import base64
import json
import shlex
from collections.abc import Iterator
from urllib.parse import quote, quote_plus

SHORTEST = 4
_SPECIAL_IN_SHELL = str.maketrans({sign: f"\\{sign}" for sign in " !\"#$&'()*;<>?[\\]^`{|}~"})


def forms_of(secret: str) -> set[bytes]:
    """Every form that is long enough to be searched for; none of a secret that is too short."""
    return {form for form in _forms(secret) if len(form) >= SHORTEST} if len(secret) >= SHORTEST else set()


def _forms(secret: str) -> Iterator[bytes]:
    raw = secret.encode("utf-8", "surrogatepass")
    yield raw
    for line in raw.splitlines():
        yield line.strip()
    yield raw.hex().encode()
    yield raw.hex().upper().encode()
    yield from _base64(raw)
    for quoted in (quote(raw, safe=""), quote(raw), quote_plus(raw)):
        yield quoted.encode()
        yield _with_lower_escapes(quoted).encode()
    yield json.dumps(secret)[1:-1].encode()
    yield json.dumps(secret, ensure_ascii=False)[1:-1].encode("utf-8", "surrogatepass")
    for quoted in (shlex.quote(secret)[1:-1], secret.replace("'", "'\\''"), secret.translate(_SPECIAL_IN_SHELL)):
        yield quoted.encode("utf-8", "surrogatepass")


def _base64(raw: bytes) -> Iterator[bytes]:
    for encode in (base64.b64encode, base64.urlsafe_b64encode):
        yield encode(raw)
        for before in range(3):  # inside a longer text, as in user:secret, it begins at any of three places
            encoded = encode(bytes(before) + raw)
            yield encoded[-(-before * 8 // 6) : (before + len(raw)) * 8 // 6]


def _with_lower_escapes(quoted: str) -> str:
    """`%2F` as `%2f`."""
    first, *escaped = quoted.split("%")
    return "%".join((first, *(part[:2].lower() + part[2:] for part in escaped)))
