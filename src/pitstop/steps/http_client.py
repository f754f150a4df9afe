"""One HTTP request over asyncio's streams: it can be cancelled at any moment, and reads no more than it may."""

import asyncio
import base64
import os
import re
import ssl
from collections.abc import Mapping
from functools import lru_cache
from urllib.parse import SplitResult, quote, unquote, urlsplit

from msgspec import Struct

from pitstop.steps.failures import NoAnswer

_HEAD_BYTES = 64 * 1024
_CHUNK_BYTES = 64 * 1024
_PORTS = {"http": 80, "https": 443}
_TOKEN = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_IN_NO_HEADER = re.compile(r"[\r\n\0]")
_IN_NO_URL = re.compile(r"[\x00-\x20\x7f]")
_SAFE_IN_TARGET = "/?:@!$&'()*+,;=%~-._[]"
_WITHOUT_BODY = frozenset({204, 304})


class Request(Struct, frozen=True):
    """A request that can be sent; `shown_url` has no credentials in it."""

    method: str
    host: str
    port: int
    is_secure: bool
    shown_url: str
    head: bytes
    body: bytes


class Response(Struct, frozen=True):
    """An answer. Names of headers are in small letters; `is_cut` when the body was longer than allowed."""

    status: int
    headers: Mapping[str, str]
    body: bytes
    is_cut: bool = False


def make_request(method: str, url: str, headers: Mapping[str, str], body: bytes | None) -> Request:
    """The request, in the bytes that are sent; its parts have been checked."""
    parts = split_url(url)
    host = (parts.hostname or "").encode("idna").decode()
    port = parts.port or _PORTS[parts.scheme]
    address = f"[{host}]" if ":" in host else host
    all_headers = {
        "host": address if port == _PORTS[parts.scheme] else f"{address}:{port}",
        "user-agent": "pitstop",
        "accept": "*/*",
        "accept-encoding": "identity",
        **_authorization(parts),
        **headers,
        "connection": "close",
    }
    if body is not None or method in ("POST", "PUT", "PATCH"):
        all_headers["content-length"] = str(len(body or b""))
    target = quote((parts.path or "/") + (f"?{parts.query}" if parts.query else ""), safe=_SAFE_IN_TARGET)
    lines = [f"{method} {target} HTTP/1.1", *(f"{name}: {value}" for name, value in all_headers.items()), "", ""]
    head = "\r\n".join(lines).encode("utf-8", "surrogateescape")
    return Request(method, host, port, parts.scheme == "https", without_credentials(url), head, body or b"")


def checked_url(url: str) -> str:
    """The URL, if it can be asked for."""
    split_url(url)
    return url


def checked_method(method: str) -> str:
    """The method in capital letters, if it can be sent."""
    method = method.upper()
    if not _TOKEN.fullmatch(method):
        raise ValueError(f"invalid method {method!r}")
    return method


def checked_headers(headers: Mapping[str, str]) -> dict[str, str]:
    """The headers with their names in small letters, if they can be sent."""
    for name, value in headers.items():
        if not _TOKEN.fullmatch(name) or _IN_NO_HEADER.search(value):
            raise ValueError(f"invalid header {name!r}: a name must be one word, and a value one line")
    return {name.lower(): value for name, value in headers.items()}


def split_url(url: str) -> SplitResult:
    """The parts of a URL that can be asked for. ValueError says what is wrong with it."""
    if _IN_NO_URL.search(url):
        raise ValueError("a URL must not contain spaces or control characters")
    parts = urlsplit(url)
    if parts.scheme not in _PORTS or not parts.hostname:
        raise ValueError("a URL must start with http:// or https:// and a host name")
    parts.hostname.encode("idna")  # UnicodeError, which is a ValueError, for what cannot be the name of a host
    if parts.port == 0:
        raise ValueError("invalid port 0")
    return parts


def without_credentials(url: str) -> str:
    """The URL as it may be shown."""
    return re.sub(r"(?<=://)[^/?#]*@", "***@", url)


async def send(request: Request, *, body_limit: int, is_verified: bool = True) -> Response:
    """Send it and read the answer; NoAnswer. Cancelling closes the connection."""
    try:
        reader, writer = await asyncio.open_connection(
            request.host,
            request.port,
            limit=_HEAD_BYTES,
            ssl=_tls(is_verified) if request.is_secure else None,
        )
    except (OSError, UnicodeError) as error:
        raise NoAnswer(f"cannot reach port {request.port} of {request.host}: {why_unreachable(error)}") from error
    try:
        writer.write(request.head + request.body)
        return await _read_response(reader, request.method, body_limit)
    except asyncio.IncompleteReadError as error:
        raise NoAnswer("the server closed the connection before the response was complete") from error
    except (asyncio.LimitOverrunError, ValueError) as error:
        raise NoAnswer(f"not an HTTP response: {error}") from error
    except OSError as error:
        raise NoAnswer(f"the connection broke: {why_unreachable(error)}") from error
    finally:
        writer.transport.abort()  # a polite end of TLS would wait for the server


async def _read_response(reader: asyncio.StreamReader, method: str, body_limit: int) -> Response:
    while True:
        words = (await reader.readuntil(b"\n")).decode("latin-1").split(None, 2)
        if len(words) < 2 or not words[0].startswith("HTTP/1.") or not words[1].isdigit():
            raise ValueError(f"it starts with {' '.join(words)[:80]!r}")
        status = int(words[1])
        headers = await _read_headers(reader)
        if status == 101 or status >= 200:  # others announce the answer that follows
            break
    if method == "HEAD" or status in _WITHOUT_BODY or status < 200:
        return Response(status, headers, b"")
    if "chunked" in headers.get("transfer-encoding", "").lower():
        body, is_cut = await _read_chunks(reader, body_limit)
    elif "content-length" in headers:
        size = int(headers["content-length"])
        if size < 0:
            raise ValueError(f"its length is {size}")
        body, is_cut = await reader.readexactly(min(size, body_limit)), size > body_limit
    else:
        body, is_cut = await _read_to_end(reader, body_limit)
    return Response(status, headers, body, is_cut)


async def _read_headers(reader: asyncio.StreamReader) -> dict[str, str]:
    headers: dict[str, str] = {}
    size = 0
    while line := (await reader.readuntil(b"\n")).decode("latin-1").strip():
        size += len(line)
        if size > _HEAD_BYTES:
            raise ValueError(f"its headers are longer than {_HEAD_BYTES:,} bytes")
        name, colon, value = line.partition(":")
        if not colon:
            raise ValueError(f"invalid header {line[:80]!r}")
        name, value = name.strip().lower(), value.strip()
        headers[name] = f"{headers[name]}, {value}" if name in headers else value
    return headers


async def _read_to_end(reader: asyncio.StreamReader, limit: int) -> tuple[bytes, bool]:
    body = bytearray()
    while len(body) <= limit and (data := await reader.read(_CHUNK_BYTES)):
        body += data
    return bytes(body[:limit]), len(body) > limit


async def _read_chunks(reader: asyncio.StreamReader, limit: int) -> tuple[bytes, bool]:
    body = bytearray()
    while True:
        size = int((await reader.readuntil(b"\n")).split(b";")[0], 16)
        if size < 0:
            raise ValueError(f"a chunk of it has the length {size}")
        room = limit - len(body)
        body += await reader.readexactly(min(size, room))
        if size > room:
            return bytes(body), True
        if size == 0:
            return bytes(body), False
        await reader.readuntil(b"\n")


def _authorization(parts: SplitResult) -> dict[str, str]:
    if parts.username is None:
        return {}
    credentials = f"{unquote(parts.username)}:{unquote(parts.password or '')}"
    return {"authorization": f"Basic {base64.b64encode(credentials.encode()).decode()}"}


@lru_cache(maxsize=2)
def _tls(is_verified: bool) -> ssl.SSLContext:
    context = ssl.create_default_context()
    if not is_verified:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    return context


def why_unreachable(error: Exception) -> str:
    """What the system says, without the address that we know already."""
    if isinstance(error, ssl.SSLCertVerificationError):
        return f"its certificate is not trusted: {error.verify_message}"
    if isinstance(error, OSError) and error.errno and error.errno > 0 and not isinstance(error, ssl.SSLError):
        return os.strerror(error.errno)
    return str(error)
