"""The model relay, in front of a scripted API on loopback."""

import asyncio
import gzip
import json
import logging
import sys
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest
from msgspec import Struct, field

from pitstop.steps.agents.relay.apis import Api, Upstream
from pitstop.steps.agents.relay.recording import Recorder, read_recording
from pitstop.steps.agents.relay.relay import Relay
from pitstop.steps.agents.relay.replay import Replay
from pitstop.steps.agents.relay.server import CONNECTIONS, LARGEST_BODY_BYTES
from pitstop.steps.agents.relay.usage import Budget, Price, Usage
from pitstop.steps.agents.reports import Tokens
from tests.leaks import Leaks

KEY = "sk-real-8d1f5a7c2b"
SECRET = "correct horse battery"
APIS: tuple[Api, ...] = ("anthropic", "openai", "google")
PATHS: dict[Api, str] = {
    "anthropic": "/v1/messages?beta=true",
    "openai": "/v1/responses",
    "google": "/v1beta/models/m-1:streamGenerateContent?alt=sse&key=dummy",
}
EVENT_STREAM = "text/event-stream"
OPENED = """
import asyncio, sys
from pitstop.steps.agents.relay.apis import Upstream
from pitstop.steps.agents.relay.relay import Relay

async def open_relay():
    async with Relay(Upstream("anthropic", "https://127.0.0.1:9"), "key"):
        print("httpx" in sys.modules, "uvicorn" in sys.modules)
        (loading,) = asyncio.all_tasks() - {asyncio.current_task()}
        await loading
        print("httpx" in sys.modules, "uvicorn" in sys.modules)

asyncio.run(open_relay())
"""
Json = dict[str, Any]


class Reply(Struct, frozen=True):
    """What the API answers: pieces, of which the second waits for `until`. One that breaks has no end."""

    pieces: Sequence[bytes]
    status: int = 200
    headers: Sequence[str] = (f"content-type: {EVENT_STREAM}",)
    until: asyncio.Event | None = None
    breaks: bool = False


class Asked(Struct, frozen=True):
    target: str
    head: str
    body: Json


class Model(Struct, eq=False):
    """A scripted API: the n-th request gets the n-th reply, and later ones the last."""

    replies: Sequence[Reply]
    asked: list[Asked] = field(default_factory=list)
    left: asyncio.Event = field(default_factory=asyncio.Event)  # the relay has closed a connection during an answer
    url: str = ""

    async def answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            head = (await reader.readuntil(b"\r\n\r\n")).decode()
            lengths = [line.split(": ")[1] for line in head.split("\r\n") if line.lower().startswith("content-length")]
            body = await reader.readexactly(int(lengths[0])) if lengths else b"{}"
            reply = self.replies[min(len(self.asked), len(self.replies) - 1)]
            self.asked.append(Asked(head.split()[1], head, json.loads(body or b"{}")))
            await self._send(reply, reader, writer)
        except (OSError, asyncio.IncompleteReadError):
            pass
        finally:
            writer.close()

    async def _send(self, reply: Reply, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        headers = "\r\n".join([*reply.headers, "transfer-encoding: chunked", "connection: close"])
        writer.write(f"HTTP/1.1 {reply.status} Scripted\r\n{headers}\r\n\r\n".encode())
        for number, piece in enumerate(reply.pieces):
            if number == 1 and reply.until is not None:
                await self._wait(reply.until, reader)
            writer.write(b"%x\r\n%b\r\n" % (len(piece), piece))
            await writer.drain()
        if not reply.breaks:
            writer.write(b"0\r\n\r\n")
            await writer.drain()

    async def _wait(self, until: asyncio.Event, reader: asyncio.StreamReader) -> None:
        async with asyncio.TaskGroup() as group:
            waiting, leaving = group.create_task(until.wait()), group.create_task(reader.read())
            await asyncio.wait((waiting, leaving), return_when=asyncio.FIRST_COMPLETED)
            if leaving.done():
                self.left.set()
            waiting.cancel()
            leaving.cancel()


@asynccontextmanager
async def model(*replies: Reply) -> AsyncIterator[Model]:
    scripted = Model(replies)
    server = await asyncio.start_server(scripted.answer, "127.0.0.1", 0)
    async with server:
        scripted.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        yield scripted


class Agent:
    """An agent that talks to a relay, as far as its CLI does."""

    def __init__(self, relay: Relay, api: Api, socket: Path | None) -> None:
        self.relay = relay
        self.api: Api = api
        dummy = {"authorization": "Bearer dummy", "x-api-key": "dummy", "x-goog-api-key": "dummy", "x-own": "1"}
        transport = httpx.AsyncHTTPTransport(verify=False, uds=None if socket is None else str(socket))
        self.http = httpx.AsyncClient(transport=transport, headers=dummy, timeout=30)

    async def ask(self, *texts: str, path: str = "", **more: Any) -> httpx.Response:
        path = path or PATHS[self.api]
        return await self.http.post(self.relay.url + path, json=conversation(self.api, texts) | more)


@asynccontextmanager
async def agent(
    scripted: Model, api: Api = "anthropic", *, key: str = KEY, socket: Path | None = None, **options: Any
) -> AsyncIterator[Agent]:
    async with Relay(Upstream(api, scripted.url), key, socket=socket, **options) as relay:
        talking = Agent(relay, api, socket)
        async with talking.http:
            yield talking


def conversation(api: Api, texts: Sequence[str]) -> Json:
    """A request whose texts are, in turn, those of the user and the results of tool calls `call_1`, `call_2`, ..."""
    results = [(f"call_{number}", text) for number, text in enumerate(texts[1:], 1)]
    match api:
        case "anthropic":
            blocks = [{"type": "tool_result", "tool_use_id": call, "content": text} for call, text in results]
            return {
                "model": "m-1",
                "messages": [{"role": "user", "content": part} for part in (texts[0], *([b] for b in blocks))],
            }
        case "openai":
            items = [{"type": "function_call_output", "call_id": call, "output": text} for call, text in results]
            return {"model": "m-1", "input": [{"role": "user", "content": texts[0]}, *items]}
        case "google":
            parts = [
                {"functionResponse": {"id": call, "name": "t", "response": {"output": text}}} for call, text in results
            ]
            return {"contents": [{"role": "user", "parts": [part]} for part in ({"text": texts[0]}, *parts)]}


def event(value: Json) -> bytes:
    name = f"event: {value['type']}\n" if "type" in value else ""  # Google has none
    return f"{name}data: {json.dumps(value)}\n\n".encode()


def events(api: Api, *texts: str) -> list[bytes]:
    """A streamed answer: 100 tokens in, of which 60 from a cache, and 20 out."""
    told: list[Json]
    usage: Json
    match api:
        case "anthropic":
            usage = {"input_tokens": 40, "cache_read_input_tokens": 60, "output_tokens": 1}
            told = [{"type": "message_start", "message": {"usage": usage}}]
            told += [{"type": "content_block_delta", "index": 0, "delta": {"text": text}} for text in texts]
            told += [{"type": "message_delta", "usage": {"output_tokens": 20}}]
        case "openai":
            usage = {"input_tokens": 100, "output_tokens": 20, "input_tokens_details": {"cached_tokens": 60}}
            told = [{"type": "response.created", "response": {"usage": None}}]
            told += [{"type": "response.output_text.delta", "item_id": "i", "delta": text} for text in texts]
            told += [{"type": "response.completed", "response": {"usage": usage}}]
        case "google":
            usage = {"promptTokenCount": 100, "cachedContentTokenCount": 60}
            told = [
                {"candidates": [{"content": {"parts": [{"text": text}]}}], "usageMetadata": usage} for text in texts
            ]
            told += [{"usageMetadata": usage | {"candidatesTokenCount": 15, "thoughtsTokenCount": 5}}]
    return [event(each).replace(b"\n", b"\r\n" if api == "google" else b"\n") for each in told]


def message_of(response: httpx.Response) -> str:
    return str(response.json()["error"]["message"])


def values_in(response: httpx.Response) -> list[tuple[str, Any]]:
    """The name and the value of each event."""
    found = (event.rpartition("data: ") for event in response.text.replace("\r", "").split("\n\n") if event)
    return [(name, json.loads(value)) for name, _, value in found]


@pytest.mark.parametrize("api", APIS)
async def test_an_event_reaches_the_agent_before_the_api_sends_the_next(api: Api) -> None:
    reply = Reply(events(api, "one", "two"), until=asyncio.Event())
    async with model(reply) as scripted, agent(scripted, api) as asking:
        request = asking.http.build_request("POST", asking.relay.url + PATHS[api], json=conversation(api, ["hi"]))
        response = await asking.http.send(request, stream=True)
        pieces = response.aiter_bytes()

        assert await anext(pieces) == reply.pieces[0]
        assert reply.until is not None
        reply.until.set()
        assert b"".join([piece async for piece in pieces]) == b"".join(reply.pieces[1:])
        await response.aclose()


@pytest.mark.parametrize(
    ("api", "key", "header"),
    [
        ("anthropic", KEY, f"x-api-key: {KEY}"),
        ("openai", KEY, f"authorization: Bearer {KEY}"),
        ("google", KEY, f"x-goog-api-key: {KEY}"),
    ],
)
async def test_only_the_api_is_shown_the_key(
    api: Api, key: str, header: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    record = tmp_path / "recording"
    echo = Reply([json.dumps({"error": {"message": f"bad key {key}"}}).encode()], 401, [f"x-seen: {key}", "x-id: 7"])
    told = Reply([*events(api, key), event({key: 1})])
    async with model(told, echo) as scripted, agent(scripted, api, key=key, record=record) as asking:
        answered = await asking.ask("hi")
        logged = caplog.text
        refused = await asking.ask("again")

    head = scripted.asked[0].head
    assert header in head.split("\r\n")
    assert "dummy" not in head
    assert "x-own: 1" in head
    assert answered.status_code == 200
    assert refused.status_code == 401
    assert (message_of(refused), refused.headers["x-id"]) == ("bad key ***", "7")
    assert key not in str(refused.headers)
    assert not Leaks((key,)).found_in(record.read_bytes())
    assert not Leaks((key,)).found_in(logged.encode())


@pytest.mark.parametrize("api", APIS)
@pytest.mark.parametrize("cuts", [1, 7, 100_000])
async def test_tokens_are_those_that_the_api_reports_however_they_arrive(api: Api, cuts: int) -> None:
    stream = b"".join(events(api, "the usage of words"))
    pieces = [stream[start : start + cuts] for start in range(0, len(stream), cuts)]
    async with model(Reply(pieces)) as scripted, agent(scripted, api) as asking:
        response = await asking.ask("hi")

        assert response.content == stream
        assert asking.relay.usage == Usage(Tokens(100, 20, 60), None, 1)


@pytest.mark.parametrize(
    ("api", "path", "answer", "tokens"),
    [
        ("anthropic", "/v1/messages", {"usage": {"input_tokens": 5, "output_tokens": 3}}, Tokens(5, 3)),
        ("openai", "/v1/responses", {"usage": {"input_tokens": 5, "output_tokens": 3}}, Tokens(5, 3)),
        ("google", "/v1/models/m:generateContent", [{"usageMetadata": {"promptTokenCount": 5}}], Tokens(5, 0)),
        ("google", "/v1/models/m:countTokens", {"totalTokens": 5}, Tokens()),
    ],
)
async def test_an_answer_in_one_piece_is_counted_as_well(api: Api, path: str, answer: Json, tokens: Tokens) -> None:
    reply = Reply([json.dumps(answer).encode()], headers=["content-type: application/json"])
    async with model(reply) as scripted, agent(scripted, api) as asking:
        assert (await asking.ask("hi", path=path)).json() == answer
        assert asking.relay.usage.tokens == tokens


async def test_the_cost_is_that_of_each_kind_of_token() -> None:
    usage = {
        "input_tokens": 1000,
        "cache_read_input_tokens": 2000,
        "cache_creation_input_tokens": 3000,
        "cache_creation": {"ephemeral_1h_input_tokens": 1000},
        "output_tokens": 4000,
    }
    reply = Reply([json.dumps({"usage": usage}).encode()], headers=["content-type: application/json"])
    prices = {"m": Price(1000, 1), "m-1": Price(10, 100, cached=1)}
    async with model(reply) as scripted, agent(scripted, prices=prices) as asking:
        await asking.ask("hi", model="m-1-20261118")

        assert asking.relay.usage.cost == pytest.approx(
            (1000 * 10 + 2000 * 1 + 2000 * 12.5 + 1000 * 20 + 4000 * 100) / 1e6
        )


@pytest.mark.parametrize("api", APIS)
@pytest.mark.parametrize(
    ("budget", "reason"),
    [
        (Budget(tokens=120), "the budget of 120 tokens is used up (120 used): raise the step's `budget.tokens`"),
        (Budget(cost=0.05), "the budget of $0.05 is used up ($0.12 used): raise the step's `budget.cost`"),
    ],
)
async def test_the_call_that_passes_the_budget_ends_and_the_next_is_refused(
    api: Api, budget: Budget, reason: str
) -> None:
    reply, prices = Reply(events(api, "word")), {"m-1": Price(1000, 1000)}
    async with model(reply) as scripted, agent(scripted, api, budget=budget, prices=prices) as asking:
        assert asking.relay.over_budget is None
        assert (await asking.ask("hi")).content == b"".join(reply.pieces)
        refused = await asking.ask("again")

        assert (refused.status_code, message_of(refused)) == (400, reason)
        assert refused.headers["x-should-retry"] == "false"
        assert asking.relay.over_budget == reason
        assert len(scripted.asked) == 1


async def test_a_budget_in_dollars_allows_no_model_without_a_price() -> None:
    async with model(Reply([])) as scripted, agent(scripted, budget=Budget(cost=1)) as asking:
        assert message_of(await asking.ask("hi")).startswith("the price of 'm-1' is unknown")
        assert not scripted.asked


@pytest.mark.parametrize(("api", "tokens"), [("anthropic", Tokens(100, 1, 60)), ("openai", Tokens(14, 1))])
async def test_an_answer_that_the_agent_does_not_wait_for_counts_as_far_as_it_came(api: Api, tokens: Tokens) -> None:
    reply = Reply(events(api, "one"), until=asyncio.Event())
    async with model(reply) as scripted, agent(scripted, api) as asking:
        async with asking.http.stream(
            "POST", asking.relay.url + PATHS[api], json=conversation(api, ["hi"])
        ) as response:
            await anext(response.aiter_bytes())
        await scripted.left.wait()

    assert asking.relay.usage == Usage(tokens, None, 1)


async def test_secrets_are_not_recorded_even_in_pieces(tmp_path: Path) -> None:
    record = tmp_path / "recording"

    def mask(text: str) -> str:
        return text.replace(SECRET, "***")

    reply = Reply(events("anthropic", "my ", SECRET[:5], SECRET[5:], " data: done"))
    async with model(reply) as scripted, agent(scripted, record=record, mask=mask) as asking:
        await asking.ask(f"it is {SECRET}")

    (exchange,) = read_recording(record.read_bytes())
    assert not Leaks((SECRET, KEY)).found_in(record.read_bytes())
    assert record.stat().st_mode & 0o777 == 0o600
    assert exchange.request["messages"][0]["content"] == "it is ***"
    texts = [value.get("delta", {}).get("text") for value in exchange.response]
    assert texts == [None, "my *** data: done", "", "", "", None]


async def test_a_recording_stops_at_its_limit_and_says_so(tmp_path: Path) -> None:
    record = tmp_path / "recording"
    async with model(Reply(events("openai", "word"))) as scripted, agent(scripted, "openai", record=record) as asking:
        asking.relay.recorder = Recorder(record, str, limit_bytes=500)
        answers = [await asking.ask("hi") for _ in range(3)]

        assert [answer.status_code for answer in answers] == [200] * 3
        assert asking.relay.recorder.problem == "recording stopped at call 2: its limit is 500 bytes"
    assert len(read_recording(record.read_bytes())) == 1
    assert record.read_text().count("note") == 1


@pytest.mark.parametrize("api", APIS)
async def test_a_conversation_is_replayed_up_to_a_call_and_goes_on_with_another_result(
    api: Api, tmp_path: Path
) -> None:
    record, again = tmp_path / "recording", tmp_path / "again"
    replies = [Reply(events(api, text)) for text in ("first", "second", "third", "fourth")]
    results = ["fix it", "1 failed in 0.31s", "2 passed"]
    async with model(*replies) as scripted, agent(scripted, api, record=record) as asking:
        told = [await asking.ask(*results[:count]) for count in (1, 2, 3)]

    replay = Replay(read_recording(record.read_bytes()), 2, replaced={2: "all is well"})
    async with model(replies[3]) as scripted, agent(scripted, api, replay=replay, record=again) as asking:
        results[1] = "1 failed in 0.29s"
        heard = [await asking.ask(*results[:count]) for count in (1, 2, 3)]
        await asking.ask(*results, "later")

        assert [values_in(answer) for answer in heard[:2]] == [values_in(answer) for answer in told[:2]]
        assert "fourth" in heard[2].text
        assert asking.relay.usage.calls == 2
    wanted = [conversation(api, [*results[:2], "all is well", *more]) for more in ((), ("later",))]
    assert [asked.body for asked in scripted.asked] == wanted
    assert [exchange.is_replayed for exchange in read_recording(again.read_bytes())] == [True, True, False, False]


@pytest.mark.parametrize(
    ("texts", "model_name", "difference"),
    [
        (["fix it"], "m-2", "its model is 'm-2' instead of 'm-1'"),
        (["fix it", "ok"], "m-1", "its number of messages is '2' instead of '1'"),
        (["fix that"], "m-1", "its last message is 'fix that' instead of 'fix it'"),
    ],
)
async def test_an_agent_that_leaves_the_recording_is_told_the_first_difference(
    texts: list[str], model_name: str, difference: str, tmp_path: Path
) -> None:
    record = tmp_path / "recording"
    async with model(Reply(events("anthropic", "first"))) as scripted, agent(scripted, record=record) as asking:
        await asking.ask("fix it")

    replay = Replay(read_recording(record.read_bytes()), 1)
    async with model(Reply([])) as scripted, agent(scripted, replay=replay) as asking:
        refused = await asking.ask(*texts, model=model_name)

        assert (refused.status_code, message_of(refused)) == (400, replay.divergence)
        assert message_of(refused) == f"the agent does not repeat call 1 of the recording: {difference}"
        assert not scripted.asked


async def test_what_a_cli_appends_to_the_prompt_does_not_hide_another_prompt(tmp_path: Path) -> None:
    record = tmp_path / "recording"
    prompts = [[{"role": "user", "content": text}, {"role": "system", "content": "rules"}] for text in ("one", "two")]
    async with model(Reply(events("anthropic", "first"))) as scripted, agent(scripted, record=record) as asking:
        await asking.ask("", messages=prompts[0])

    replay = Replay(read_recording(record.read_bytes()), 1)
    async with model(Reply([])) as scripted, agent(scripted, replay=replay) as asking:
        assert message_of(await asking.ask("", messages=prompts[1])).endswith("is 'two' instead of 'one'")


async def test_an_answer_that_is_compressed_all_the_same_is_counted() -> None:
    body = gzip.compress(b"".join(events("openai", "word")))
    reply = Reply([body], headers=[f"content-type: {EVENT_STREAM}", "content-encoding: gzip"])
    async with model(reply) as scripted, agent(scripted, "openai") as asking:
        assert (await asking.ask("hi")).content == gzip.decompress(body)
        assert asking.relay.usage.tokens == Tokens(100, 20, 60)


@pytest.mark.parametrize("api", APIS)
async def test_an_api_that_cannot_be_reached_is_an_error_in_its_own_words(api: Api) -> None:
    async with model(Reply([])) as scripted:
        pass
    async with agent(scripted, api) as asking:
        refused = await asking.ask("hi")

        assert refused.status_code == 502
        assert message_of(refused) == "cannot reach 127.0.0.1: All connection attempts failed"
        assert asking.relay.usage == Usage()


async def test_a_proxy_that_cannot_be_used_is_an_error_of_each_request(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTPS_PROXY", "ftp://127.0.0.1:9")
    async with agent(Model([], url="https://127.0.0.1:9")) as asking:
        refused = [await asking.ask("hi") for _ in range(2)]

        assert [answer.status_code for answer in refused] == [502, 502]
        assert message_of(refused[1]).startswith("cannot reach 127.0.0.1: Unknown scheme for proxy URL")
        assert asking.relay.usage == Usage()


async def test_a_redirect_is_not_followed() -> None:
    async with model(Reply([], 307, ["location: http://127.0.0.1:9/"])) as scripted, agent(scripted) as asking:
        assert message_of(await asking.ask("hi")).endswith("redirects to another URL, which the relay does not follow")


async def test_an_answer_that_breaks_off_does_not_look_complete(tmp_path: Path) -> None:
    record = tmp_path / "recording"
    reply = Reply(events("anthropic", "one"), breaks=True)
    async with model(reply) as scripted, agent(scripted, record=record) as asking:
        with pytest.raises(httpx.RemoteProtocolError):
            await asking.ask("hi")

        assert asking.relay.usage.calls == 1
    assert '"is_whole":false' in record.read_text()
    assert read_recording(record.read_bytes()) == ()


@pytest.mark.parametrize(
    ("method", "path"),
    [("POST", "/v1/files"), ("POST", "/v1/messages/batches"), ("GET", "/v1/messages"), ("POST", "/v1/messages/../x")],
)
async def test_only_calls_of_models_are_relayed(method: str, path: str) -> None:
    async with model(Reply([])) as scripted, agent(scripted) as asking:
        host = asking.relay.url.removesuffix(asking.relay.path)
        elsewhere = [
            await asking.http.request(method, host + start + path) for start in ("", "/other", asking.relay.path)
        ]

        assert [answer.status_code for answer in elsewhere] == [404] * 3
        assert not scripted.asked


async def test_half_a_character_of_javascript_is_sent_as_it_is_and_recorded_as_a_question_mark(tmp_path: Path) -> None:
    record = tmp_path / "recording"
    async with model(Reply(events("anthropic", "word"))) as scripted, agent(scripted, record=record) as asking:
        await asking.http.post(asking.relay.url + "/v1/messages", content=rb'{"system": "\ud83d"}')

    assert scripted.asked[0].body == {"system": "\ud83d"}
    assert read_recording(record.read_bytes())[0].request == {"system": "?"}


@pytest.mark.parametrize("body", [b"", b"[1]", b"{", b"\xff", b"[" * 100_000, b'{"a":' * 900 + b"1" + b"}" * 900])
async def test_a_body_that_no_api_takes_breaks_nothing(body: bytes, tmp_path: Path) -> None:
    record = tmp_path / "recording"
    async with model(Reply(events("anthropic", "word"))) as scripted, agent(scripted, record=record) as asking:
        answer = await asking.http.post(asking.relay.url + "/v1/messages", content=body)

        assert answer.status_code in (200, 400)
        assert (await asking.ask("hi")).status_code == 200


async def test_a_large_request_is_relayed_and_a_larger_one_is_refused() -> None:
    async with model(Reply(events("anthropic", "word"))) as scripted, agent(scripted) as asking:
        assert (await asking.ask("x" * 2_000_000)).status_code == 200
        refused = await asking.http.post(asking.relay.url + "/v1/messages", content=bytes(LARGEST_BODY_BYTES + 1))

        assert refused.status_code == 413
        assert len(scripted.asked) == 1


@asynccontextmanager
async def connections(relay: Relay, count: int, sent: bytes) -> AsyncIterator[list[asyncio.StreamReader]]:
    opened = [await asyncio.open_connection("127.0.0.1", httpx.URL(relay.url).port) for _ in range(count)]
    try:
        for _, writer in opened:
            writer.write(sent)
        yield [reader for reader, _ in opened]
    finally:
        for _, writer in opened:
            writer.transport.abort()


async def read_to_end(reader: asyncio.StreamReader) -> bytes:
    try:
        return await reader.read()
    except ConnectionError:
        return b""


@pytest.mark.parametrize("sent", [b"\x16\x03\x01 garbage\r\n\r\n", b"GET / HTTP/1.1\r\nx: " + b"y" * 200_000])
async def test_what_is_not_http_is_refused(sent: bytes) -> None:
    async with model(Reply([])) as scripted, agent(scripted) as asking:
        async with connections(asking.relay, 1, sent) as (reader,):
            assert (await read_to_end(reader))[:12] in (b"HTTP/1.1 400", b"")  # nothing if it was still sending
        assert (await asking.ask("hi")).status_code == 200


async def test_more_connections_than_allowed_are_closed_and_half_requests_end_with_the_relay() -> None:
    async with model(Reply(events("anthropic", "word"))) as scripted, agent(scripted) as asking:
        half = b"POST %b/v1/messages HTTP/1.1\r\nhost: x\r\ncontent-length: 9\r\n\r\nhalf" % asking.relay.path.encode()
        async with connections(asking.relay, CONNECTIONS, half), connections(asking.relay, 900, b"") as readers:
            assert {await read_to_end(reader) for reader in readers} == {b""}
        while not await is_answered(asking):  # until the relay knows that they are gone
            pass
        async with connections(asking.relay, 3, half) as readers:
            await asking.relay.__aexit__()
            assert [await read_to_end(reader) for reader in readers] == [b""] * 3


async def test_requests_at_once_do_not_take_more_memory_than_two_of_the_largest() -> None:
    async with model(Reply(events("anthropic", "word"))) as scripted, agent(scripted) as asking:
        head = b"POST / HTTP/1.1\r\nhost: x\r\ncontent-length: %d\r\n\r\n" % LARGEST_BODY_BYTES
        async with connections(asking.relay, 2, head):
            while await is_answered(asking):  # until the relay has read both heads
                pass
            assert (await asking.ask("hi")).status_code == 413
        while not await is_answered(asking):
            pass


async def is_answered(asking: Agent) -> bool:
    try:
        return (await asking.ask("hi")).status_code == 200
    except httpx.TransportError:
        return False


async def test_leaving_the_relay_ends_what_is_being_streamed_and_leaves_nothing_running() -> None:
    before = asyncio.all_tasks()
    reply = Reply(events("anthropic", "one"), until=asyncio.Event())
    async with model(reply) as scripted:
        async with agent(scripted) as asking:
            url, body = asking.relay.url + "/v1/messages", conversation("anthropic", ["hi"])
            response = await asking.http.send(asking.http.build_request("POST", url, json=body), stream=True)
            pieces = response.aiter_bytes()
            await anext(pieces)
            await asking.relay.__aexit__()
            with pytest.raises(httpx.TransportError):
                await anext(pieces)
            with pytest.raises(httpx.ConnectError):
                await asking.ask("again")
            await response.aclose()
        await scripted.left.wait()
    assert asyncio.all_tasks() == before


async def test_http_is_loaded_while_the_agent_starts_and_not_before() -> None:
    process = await asyncio.create_subprocess_exec(sys.executable, "-c", OPENED, stdout=asyncio.subprocess.PIPE)
    printed, _ = await process.communicate()

    assert printed.decode().splitlines() == ["False False", "True True"]


async def test_an_agent_in_a_container_reaches_the_relay_by_a_socket(tmp_path: Path) -> None:
    async with model(Reply(events("anthropic", "word"))) as scripted, agent(scripted, socket=tmp_path / "s") as asking:
        assert (await asking.ask("hi")).status_code == 200


@pytest.mark.parametrize("key", ["", "two words", "line\nbreak", "schlüssel"])
def test_a_key_that_no_header_can_have_is_refused_without_being_shown(key: str) -> None:
    with pytest.raises(ValueError, match="must be one word") as refused:
        Relay(Upstream("anthropic", "https://api.anthropic.com"), key)
    assert not key or key not in str(refused.value)
