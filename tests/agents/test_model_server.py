"""The scripted model: tests of real agent CLIs rely on what it answers and what it keeps."""

import asyncio
import json
from collections.abc import Mapping
from typing import Any

import httpx
import pytest

from tests.agents.model_server import Call, ModelServer, Turn

ASKED: Mapping[str, tuple[str, dict[str, Any]]] = {
    "anthropic": ("/v1/messages", {"model": "m", "stream": True, "messages": [], "tools": [{"name": "Bash"}]}),
    "openai": ("/v1/responses", {"model": "m", "stream": True, "input": [], "tools": [{"name": "exec_command"}]}),
    "google": ("/v1beta/models/m:streamGenerateContent", {"contents": [], "tools": [{"functionDeclarations": []}]}),
}
every_api = pytest.mark.parametrize("api", ASKED)


async def ask(server: ModelServer, api: str, **more: Any) -> httpx.Response:
    path, body = ASKED[api]
    async with httpx.AsyncClient(base_url=server.url, trust_env=False) as client:
        return await client.post(path, json=body | more)


@every_api
async def test_a_turn_is_streamed_with_its_text_and_its_calls(api: str) -> None:
    async with ModelServer([Turn("I look", [Call("Bash", {"command": "ls -l"})])]) as server:
        answer = await ask(server, api)

    events = [json.loads(line[6:]) for line in answer.text.splitlines() if line.startswith("data: ")]
    assert len(events) > 1
    for expected in ("I look", "Bash", "ls -l", "call_1"):
        assert expected in json.dumps(events)
    assert server.requests[0].model == "m"
    assert (server.input_tokens, server.output_tokens, server.remaining) == (100, 10, [])


@every_api
async def test_a_request_without_tools_takes_no_turn(api: str) -> None:
    async with ModelServer([Turn("mine")]) as server:
        side = await ask(server, api, tools=[])
        main = await ask(server, api)

    assert "mine" not in side.text
    assert "mine" in main.text
    assert [request.is_side for request in server.all_requests] == [True, False]
    assert len(server.requests) == 1


@every_api
async def test_an_error_is_in_the_words_of_the_api(api: str) -> None:
    async with ModelServer([Turn("bad key", status=401)]) as server:
        refused = await ask(server, api)
        over = await ask(server, api)

    assert (refused.status_code, refused.json()["error"]["message"]) == (401, "bad key")
    assert (over.status_code, over.json()["error"]["message"]) == (400, "the script has no turn left")


@pytest.mark.parametrize(
    ("api", "told"),
    [
        ("anthropic", {"messages": [{"content": [{"type": "tool_result", "tool_use_id": "c", "content": "no"}]}]}),
        ("openai", {"input": [{"type": "function_call_output", "call_id": "c", "output": "no"}]}),
        ("google", {"contents": [{"parts": [{"functionResponse": {"id": "c", "response": {"error": "no"}}}]}]}),
    ],
)
async def test_what_the_model_is_told_of_a_call_can_be_read(api: str, told: dict[str, Any]) -> None:
    async with ModelServer([Turn()]) as server:
        await ask(server, api, **told)

    assert server.requests[0].results == {"c": "no"}


async def test_a_turn_waits_for_its_event_and_a_subagent_gets_its_own() -> None:
    gate = asyncio.Event()
    script = [Turn("for the subagent", to="DIG"), Turn("held", until=gate)]
    async with ModelServer(script) as server, asyncio.TaskGroup() as group:
        held = group.create_task(ask(server, "anthropic"))
        await server.asked.wait()
        dug = await ask(server, "anthropic", messages=[{"role": "user", "content": "DIG here"}])
        assert not held.done()
        gate.set()

    assert "for the subagent" in dug.text
    assert "held" in held.result().text
