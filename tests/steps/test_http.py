import asyncio
import contextlib
import json
import re
import socket
import ssl
import subprocess
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

from pitstop.events.outcome import Status
from pitstop.steps.http_client import without_credentials
from tests.steps.bench import Bench, open_bench

# --- Servers ---------------------------------------------------------------------------------------------------------


@dataclass
class RealServer:
    """The standard library's own server: `/status/404`, `/json`, `/big`, `/flaky` (good the third time), or an echo."""

    port: int = 0
    asked: list[str] = field(default_factory=list)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"


def handler(server: RealServer) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            server.asked.append(self.path)
            if self.path.startswith("/status/"):
                self.answer(int(self.path.removeprefix("/status/")), b"as you wish")
            elif self.path == "/json":
                self.answer(200, b'{"ready": true, "items": [1, 2]}', "application/json; charset=utf-8")
            elif self.path == "/flaky":
                self.answer(200 if server.asked.count("/flaky") >= 3 else 503, b"not yet")
            elif self.path == "/big":
                self.answer(200, b"x" * 3_000_000)
            else:
                length = int(self.headers.get("content-length", 0))
                told = {
                    "method": self.command,
                    "path": self.path,
                    "headers": {name.lower(): value for name, value in self.headers.items()},
                    "body": self.rfile.read(length).decode(),
                }
                self.answer(200, json.dumps(told).encode(), "application/json")

        do_POST = do_PUT = do_HEAD = do_GET  # noqa: N815 - the names that the library looks for

        def answer(self, status: int, body: bytes, content_type: str = "text/plain") -> None:
            self.send_response(status)
            self.send_header("Content-Type", content_type)
            self.send_header("Content-Length", str(len(body)))
            self.send_header("X-Twice", "one")
            self.send_header("X-Twice", "two")
            self.end_headers()
            if self.command != "HEAD":
                with contextlib.suppress(OSError):
                    self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None: ...

    return Handler


@pytest.fixture
def server() -> Any:
    real = RealServer()
    with ThreadingHTTPServer(("127.0.0.1", 0), handler(real)) as listening:
        real.port = listening.server_port
        thread = Thread(target=listening.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield real
        listening.shutdown()
        thread.join()


Answer = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


@contextlib.asynccontextmanager
async def raw_server(answer: bytes | Answer, **options: Any) -> AsyncIterator[str]:
    """A server that answers with these very bytes and closes, or as it is told."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            with contextlib.suppress(OSError, asyncio.IncompleteReadError):
                await reader.readuntil(b"\r\n\r\n")
                if isinstance(answer, bytes):
                    writer.write(answer)
                    await writer.drain()
                else:
                    await answer(reader, writer)
        finally:
            writer.transport.abort() if options or not isinstance(answer, bytes) else writer.close()
            with contextlib.suppress(OSError):
                await writer.wait_closed()

    serving: list[asyncio.Task[None]] = []
    async with asyncio.TaskGroup() as group:
        listening = await asyncio.start_server(
            lambda reader, writer: serving.append(group.create_task(serve(reader, writer))), "127.0.0.1", 0, **options
        )
        async with listening:
            yield f"127.0.0.1:{listening.sockets[0].getsockname()[1]}"
        for task in serving:
            task.cancel()


def self_signed_certificate(folder: Path) -> tuple[Path, Path]:
    certificate, key = folder / "certificate.pem", folder / "key.pem"
    subprocess.run(
        f"openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -subj /CN=localhost -days 1 "
        f"-keyout {key} -out {certificate}".split(),
        check=True,
        capture_output=True,
    )
    return certificate, key


# --- Asking ----------------------------------------------------------------------------------------------------------


async def test_an_answer_is_the_outputs(bench: Bench, server: RealServer) -> None:
    outputs = await bench.outputs("http", {"url": f"{server.url}/json"})

    assert outputs["status"] == 200
    assert outputs["json"] == {"ready": True, "items": [1, 2]}
    assert outputs["headers"]["x-twice"] == "one, two"
    assert "body" not in outputs


async def test_what_is_asked_arrives(bench: Bench, server: RealServer) -> None:
    config = {
        "url": f"http://user:p%40ss@127.0.0.1:{server.port}/é?q=a%20b#part",
        "method": "put",
        "headers": {"X-Own": "yes", "User-Agent": "mine"},
        "json": {"a": [1, None]},
    }
    told = (await bench.outputs("http", config))["json"]

    assert (told["method"], told["path"], told["body"]) == ("PUT", "/%C3%A9?q=a%20b", '{"a":[1,null]}')
    assert told["headers"]["x-own"] == "yes"
    assert told["headers"]["user-agent"] == "mine"
    assert told["headers"]["content-type"] == "application/json"
    assert told["headers"]["authorization"] == "Basic dXNlcjpwQHNz"
    assert told["headers"]["host"] == f"127.0.0.1:{server.port}"


async def test_a_text_can_be_posted(bench: Bench, server: RealServer) -> None:
    config = {"url": server.url, "method": "POST", "body": "grüße"}

    assert (await bench.outputs("http", config))["json"]["body"] == "grüße"


async def test_head_has_no_body(bench: Bench, server: RealServer) -> None:
    assert (await bench.outputs("http", {"url": f"{server.url}/big", "method": "HEAD"}))["body"] == ""


async def test_a_long_body_is_cut(bench: Bench, server: RealServer) -> None:
    outputs = await bench.outputs("http", {"url": f"{server.url}/big", "body_limit": 1_000})

    assert (len(outputs["body"]), outputs["truncated"]) == (1_000, True)


async def test_a_certificate_must_be_trusted_unless_the_step_says_otherwise(bench: Bench, tmp_path: Path) -> None:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(*self_signed_certificate(tmp_path))
    async with raw_server(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nhi", ssl=context) as address:
        error = await bench.failure("http", {"url": f"https://{address}/"})
        assert "its certificate is not trusted: self-signed certificate" in error.replace("self signed", "self-signed")
        assert (await bench.outputs("http", {"url": f"https://{address}/", "verify": False}))["body"] == "hi"


# --- Checking --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("status", "expected"), [(204, "2xx"), (404, 404), (404, "404"), (503, [200, "5xx"])])
async def test_a_status_can_be_expected(
    bench: Bench, server: RealServer, status: int, expected: int | str | list[int | str]
) -> None:
    outputs = await bench.outputs("http", {"url": f"{server.url}/status/{status}", "status": expected})

    assert outputs["status"] == status


async def test_another_status_fails_and_tells_what_came(bench: Bench, server: RealServer) -> None:
    error = await bench.failure("http", {"url": f"{server.url}/status/500", "status": [200, "3xx"]})

    assert error == f"CheckFailed: GET {server.url}/status/500: the status is 500, not 200 or 3xx; body: 'as you wish'"


async def test_headers_can_be_expected(bench: Bench, server: RealServer) -> None:
    url = f"{server.url}/json"

    await bench.outputs("http", {"url": url, "expect_headers": {"Content-Type": "application/json"}})
    assert "the header 'X-Twice' is 'one, two' and does not contain 'three'" in await bench.failure(
        "http", {"url": url, "expect_headers": {"X-Twice": "three"}}
    )
    assert "has no header 'X-None'" in await bench.failure("http", {"url": url, "expect_headers": {"X-None": ""}})


async def test_the_body_can_be_checked_by_jq(bench: Bench, server: RealServer) -> None:
    url = f"{server.url}/json"

    await bench.outputs("http", {"url": url, "check": ".json.ready and (.json.items | length) == 2"})
    error = await bench.failure("http", {"url": url, "check": ".json.items[0] == 2"})
    assert "'.json.items[0] == 2' is not true: it is false (.json.items is [1, 2])" in error


async def test_it_asks_again_until_the_answer_is_good(bench: Bench, server: RealServer) -> None:
    outputs = await bench.outputs("http", {"url": f"{server.url}/flaky", "every": "5ms", "within": "30s"})

    assert outputs["status"] == 200
    assert server.asked == ["/flaky"] * 3


async def test_without_being_told_to_it_asks_only_once(bench: Bench, server: RealServer) -> None:
    await bench.failure("http", {"url": f"{server.url}/flaky"}, timeout_seconds=60.0)

    assert server.asked == ["/flaky"]


async def test_an_answer_that_never_gets_good_is_told(bench: Bench, server: RealServer) -> None:
    error = ""
    for within in ("1s", "10s", "100s"):  # on a busy machine it may have asked only once by then
        error = await bench.failure("http", {"url": f"{server.url}/status/503", "every": "10ms", "within": within})
        if " times in " in error:
            break

    assert re.search(r"tried \d+ times in 10* s: the status is 503", error)


async def test_a_broken_check_is_not_asked_again(bench: Bench, server: RealServer) -> None:
    error = await bench.failure("http", {"url": f"{server.url}/json", "check": ".json |", "within": "1h"})

    assert error.startswith("BadExpression")


# --- Servers that misbehave ------------------------------------------------------------------------------------------


async def test_a_server_that_is_not_there_is_told(bench: Bench) -> None:
    async with raw_server(b"") as address:
        pass
    assert "Connection refused" in await bench.failure("http", {"url": f"http://{address}/"})


async def never_answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    await reader.read()


async def drip(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    writer.write(b"HTTP/1.1 200 OK\r\n\r\n")
    while True:
        writer.write(b".")
        await writer.drain()
        await asyncio.sleep(0.01)


async def flood(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    writer.write(b"HTTP/1.1 200 OK\r\ncontent-length: 100000000\r\n\r\n")
    for _ in range(1_000):
        writer.write(bytes(100_000))
        await writer.drain()


async def flood_headers(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    writer.write(b"HTTP/1.1 200 OK\r\n")
    while True:
        writer.write(b"a: b\r\n" * 1_000)
        await writer.drain()


async def keep_open(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    writer.write(b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n")
    writer.write(b"3;ext=1\r\nabc\r\n2\r\nde\r\n0\r\n\r\n")
    await reader.read()


@pytest.mark.parametrize("answer", [never_answer, drip])
async def test_a_server_that_does_not_come_to_an_end_is_left(bench: Bench, answer: Answer) -> None:
    async with raw_server(answer) as address:
        error = await bench.failure("http", {"url": f"http://{address}/", "request_timeout": "100ms"})

    assert error.endswith("no response within 100ms")


async def test_a_step_that_waits_for_an_answer_can_be_cancelled(bench: Bench) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listening:  # which the kernel connects to, and nobody answers
        url = f"http://127.0.0.1:{listening.getsockname()[1]}/"
        outcome = await bench.act("http", {"url": url}, timeout_seconds=0.05)

    assert outcome.status is Status.TIMED_OUT


async def test_of_a_flood_only_the_allowed_bytes_are_read(bench: Bench) -> None:
    async with raw_server(flood) as address:
        outputs = await bench.outputs("http", {"url": f"http://{address}/"})

    assert (len(outputs["body"]), outputs["truncated"]) == (1024 * 1024, True)


async def test_a_chunked_answer_ends_where_it_says_also_when_the_connection_stays_open(bench: Bench) -> None:
    async with raw_server(keep_open) as address:
        assert (await bench.outputs("http", {"url": f"http://{address}/"}))["body"] == "abcde"


@pytest.mark.parametrize(
    ("answer", "told"),
    [
        (b"", "closed the connection before the response was complete"),
        (b"HTTP/1.1 200 OK\r\n", "closed the connection before"),
        (b"HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\nabc", "closed the connection before"),
        (b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n5\r\nabc", "closed the connection before"),
        (b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nzz\r\n", "not an HTTP response"),
        (b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n-5\r\n", "not an HTTP response"),
        (b"HTTP/1.1 200 OK\r\ncontent-length: -1\r\n\r\n", "not an HTTP response: its length is -1"),
        (b"HTTP/1.1 200 OK\r\ncontent-length: many\r\n\r\n", "not an HTTP response"),
        (b"SSH-2.0-OpenSSH_9.6\r\n", "not an HTTP response: it starts with 'SSH-2.0-OpenSSH_9.6'"),
        (b"x" * 200_000, "not an HTTP response"),
        (flood_headers, "not an HTTP response"),
    ],
)
async def test_a_server_that_does_not_speak_http_is_told(bench: Bench, answer: bytes | Answer, told: str) -> None:
    async with raw_server(answer) as address:
        assert told in await bench.failure("http", {"url": f"http://{address}/"})


async def test_what_says_that_it_is_json_and_is_not_is_text(bench: Bench) -> None:
    answer = b'HTTP/1.1 200 OK\r\ncontent-type: application/json; charset="no-such"\r\n\r\n{"a": \xff'
    async with raw_server(answer) as address:
        assert (await bench.outputs("http", {"url": f"http://{address}/"}))["body"] == '{"a": \ufffd'


# --- Secrets and bad configuration -----------------------------------------------------------------------------------


async def test_credentials_are_in_no_message_and_no_output(tmp_path: Path, is_far: bool, server: RealServer) -> None:
    async with open_bench(tmp_path, is_far=is_far, secrets={"token": "hunter2hunter2"}) as bench:
        url = f"http://user:opensesame@127.0.0.1:{server.port}"
        error = await bench.failure("http", {"url": f"{url}/status/500?token=hunter2hunter2"})
        assert f"GET http://***@127.0.0.1:{server.port}/status/500?token=***" in error
        assert "opensesame" not in await bench.failure("http", {"url": f"{url}/a b"})

        outputs = await bench.outputs("http", {"url": server.url, "headers": {"X-Token": "hunter2hunter2"}})
        assert outputs["json"]["headers"]["x-token"] == "***"


@pytest.mark.parametrize(
    ("config", "told"),
    [
        ({"url": "localhost:8080"}, "a URL must start with http:// or https:// and a host name"),
        ({"url": "ftp://host/"}, "a URL must start with http:// or https://"),
        ({"url": "http://"}, "a host name"),
        ({"url": "http://host:99999/"}, "Port out of range"),
        ({"url": "http://a/b\r\nx: y"}, "must not contain spaces or control characters"),
        ({"url": "http://a/", "headers": {"a": "b\r\nc: d"}}, "invalid header 'a'"),
        ({"url": "http://a/", "headers": {"a b": "c"}}, "invalid header 'a b'"),
        ({"url": "http://a/", "method": "GET /"}, "invalid method 'GET /'"),
        ({"url": "http://a/", "body": "x", "json": 1}, "use either body or json"),
        ({"url": "http://a/", "status": "ok"}, "a status must be a number such as 200, or a class such as 2xx"),
        ({"url": "http://a/", "status": []}, "status is []"),
        ({"url": "http://a/", "body_limit": -1}, "body_limit is -1"),
        ({"url": "http://" + "x" * 100 + "/"}, "http: "),
    ],
)
async def test_a_bad_configuration_is_explained(bench: Bench, config: dict[str, Any], told: str) -> None:
    error = await bench.failure("http", config)

    assert error.startswith("BadConfig")
    assert told in error


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("http://a/b@c", "http://a/b@c"),
        ("http://u:p@a/b@c", "http://***@a/b@c"),
        ("https://token@a?x=@", "https://***@a?x=@"),
    ],
)
def test_only_credentials_are_taken_out_of_a_url(url: str, shown: str) -> None:
    assert without_credentials(url) == shown
