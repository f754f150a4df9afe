"""Requests of git's smart HTTP protocol: which are served, and how they are put to `git http-backend`."""

import re
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Literal
from urllib.parse import parse_qs

from msgspec import Struct

from pitstop.errors import Unknown
from pitstop.git.commands import IGNORED_FLAWS, git_environment, git_name, identity_of
from pitstop.git.names import HIDDEN

Service = Literal["git-upload-pack", "git-receive-pack"]
UPLOAD_PACK: Service = "git-upload-pack"
RECEIVE_PACK: Service = "git-receive-pack"
ADVERTISEMENT = "/info/refs"

_TEXT = [("content-type", "text/plain; charset=utf-8"), ("cache-control", "no-cache")]
_PROTOCOL = re.compile(r"[A-Za-z0-9=:._-]{1,200}")
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")


class GitRequest(Struct, frozen=True, kw_only=True):
    """A request of a git client; `path` is what follows the address of the repository."""

    method: str
    path: str
    query: str = ""
    content_type: str | None = None
    content_length: int | None = None
    content_encoding: str | None = None
    git_protocol: str | None = None
    who: str
    may_push: bool
    protected: tuple[str, ...] = ()  # full names of refs that no push may change
    remote_address: str = ""


class GitAnswer(Struct, frozen=True):
    """The answer to a git client, whose body is read while git produces it."""

    status: int
    headers: list[tuple[str, str]]
    body: AsyncIterator[bytes]


class Refusal(Struct, frozen=True):
    """Why a request is refused; git shows the text to its user."""

    status: int
    text: str

    @property
    def headers(self) -> list[tuple[str, str]]:
        return [*_TEXT, ("content-length", str(len(self.text.encode())))]


def service_of(method: str, path: str, query: str) -> Service:
    """The service that a request is for. Raises `Unknown` for anything that is not smart HTTP."""
    for service in (UPLOAD_PACK, RECEIVE_PACK):
        if (method, path) == ("POST", f"/{service}"):
            return service
        if (method, path) == ("GET", ADVERTISEMENT) and parse_qs(query).get("service") == [service]:
            return service
    raise Unknown("git address", path, "only clone, fetch and push over smart HTTP are served")


def refusal_of(request: GitRequest, service: Service) -> Refusal | None:
    """Why git is not even started for a request; None if it is."""
    if service == RECEIVE_PACK and not request.may_push:
        text = "You can fetch from this repository, but not push to it: use a token that allows pushing.\n"
        return Refusal(403, text)
    if request.content_encoding not in (None, "", "identity", "gzip", "x-gzip"):
        return Refusal(415, f"Content-Encoding {request.content_encoding!r} is not supported: use gzip.\n")
    return None


def backend_environment(folder: Path, request: GitRequest, service: Service, *, most_push_bytes: int) -> dict[str, str]:
    """The environment of `git http-backend` for a request."""
    # With a length, http-backend ends half a push by a signal, and its files are left
    length = None if service == RECEIVE_PACK else request.content_length
    optional = {
        "CONTENT_TYPE": request.content_type and _CONTROL.sub("", request.content_type),
        "CONTENT_LENGTH": None if length is None else str(length),
        "HTTP_CONTENT_ENCODING": request.content_encoding,
        "GIT_PROTOCOL": request.git_protocol if _PROTOCOL.fullmatch(request.git_protocol or "") else None,
    }
    return {
        **git_environment(_settings_for(request, most_push_bytes)),
        **identity_of(request.who),
        **{name: value for name, value in optional.items() if value},
        "GIT_HTTP_EXPORT_ALL": "1",
        "PATH_TRANSLATED": f"{folder}{request.path}",
        "QUERY_STRING": f"service={service}" if request.path == ADVERTISEMENT else "",
        "REMOTE_ADDR": _CONTROL.sub("", request.remote_address),
        "REMOTE_USER": git_name(request.who),
        "REQUEST_METHOD": request.method,
    }


def _settings_for(request: GitRequest, most_push_bytes: int) -> list[tuple[str, str]]:
    # Protected refs are still advertised: a client that does not see them sends the whole history with every push
    hidden = () if request.path == ADVERTISEMENT else request.protected
    return [
        ("http.getanyfile", "false"),
        ("http.receivepack", "true" if request.may_push else "false"),
        ("http.uploadpack", "true"),
        ("receive.autogc", "false"),
        ("receive.denyDeleteCurrent", "refuse"),
        ("receive.fsckObjects", "true"),
        ("receive.maxInputSize", str(most_push_bytes)),
        ("transfer.hideRefs", HIDDEN.removesuffix("/")),
        ("uploadpack.allowAnySHA1InWant", "false"),
        ("uploadpack.allowFilter", "true"),
        *((f"receive.fsck.{flaw}", "ignore") for flaw in IGNORED_FLAWS),
        *(("receive.hideRefs", ref) for ref in hidden),
    ]


def parse_head(head: bytes) -> tuple[int, list[tuple[str, str]]]:
    """The status and the headers of a CGI program's answer."""
    lines = (line.partition(":") for line in head.decode("latin-1").split("\r\n") if ":" in line)
    headers = [(name.strip().lower(), value.strip()) for name, _, value in lines]
    status = next((int(value.split()[0]) for name, value in headers if name == "status"), 200)
    return status, [(name, value) for name, value in headers if name != "status"]
