"""Which requests are served, and how they are put to git."""

from pathlib import Path

import pytest
from msgspec.structs import replace

from pitstop.errors import Unknown
from pitstop.git.smart_http import backend_environment, parse_head, refusal_of, service_of
from tests.git.repositories import PUSH


@pytest.mark.parametrize(
    ("method", "path", "query", "service"),
    [
        ("GET", "/info/refs", "service=git-upload-pack", "git-upload-pack"),
        ("GET", "/info/refs", "service=git-receive-pack", "git-receive-pack"),
        ("POST", "/git-upload-pack", "", "git-upload-pack"),
        ("POST", "/git-receive-pack", "", "git-receive-pack"),
    ],
)
def test_smart_http_is_served(method: str, path: str, query: str, service: str) -> None:
    assert service_of(method, path, query) == service


@pytest.mark.parametrize(
    ("method", "path", "query"),
    [
        ("GET", "/info/refs", ""),
        ("GET", "/info/refs", "service=git-upload-archive"),
        ("GET", "/info/refs", "service=git-upload-pack&service=git-receive-pack"),
        ("GET", "/HEAD", ""),
        ("GET", "/objects/info/packs", ""),
        ("GET", "/git-upload-pack", ""),
        ("POST", "/info/refs", "service=git-upload-pack"),
        ("POST", "/git-upload-archive", ""),
        ("POST", "/../other.git/git-receive-pack", ""),
        ("PUT", "/git-receive-pack", ""),
    ],
)
def test_anything_else_is_unknown(method: str, path: str, query: str) -> None:
    with pytest.raises(Unknown, match="only clone, fetch and push over smart HTTP are served"):
        service_of(method, path, query)


def test_a_refusal_says_what_to_do() -> None:
    refused = refusal_of(replace(PUSH, may_push=False), "git-receive-pack")
    assert refused is not None
    assert (refused.status, "not push" in refused.text) == (403, True)
    assert refusal_of(replace(PUSH, may_push=False), "git-upload-pack") is None
    packed = refusal_of(replace(PUSH, content_encoding="br"), "git-upload-pack")
    assert packed is not None
    assert packed.status == 415


def test_headers_of_strangers_cannot_break_the_environment() -> None:
    environment = backend_environment(
        Path("/repos/demo.git"),
        replace(
            PUSH,
            who="Eve\0<x>\n",
            content_type="text/plain\0\n",
            git_protocol="version=2\nLD_PRELOAD=x",
            remote_address="1.2.3.4\0",
        ),
        "git-receive-pack",
        most_push_bytes=10,
    )
    assert not any("\0" in value or "\n" in value for value in environment.values())
    assert "GIT_PROTOCOL" not in environment
    assert environment["REMOTE_USER"] == environment["GIT_COMMITTER_NAME"] == "Evex"


def test_who_may_not_push_gets_no_receive_pack() -> None:
    settings = backend_environment(Path("/r"), replace(PUSH, may_push=False), "git-upload-pack", most_push_bytes=1)
    number = next(name[-2:] for name, value in settings.items() if value == "http.receivepack")
    assert settings[f"GIT_CONFIG_VALUE_{number}"] == "false"


def test_the_head_of_an_answer_has_a_status_and_headers() -> None:
    assert parse_head(b"Status: 403 Forbidden\r\nPragma: no-cache\r\n\r\n") == (403, [("pragma", "no-cache")])
    assert parse_head(b"Content-Type: a/b; c=d:e\r\n\r\n") == (200, [("content-type", "a/b; c=d:e")])
