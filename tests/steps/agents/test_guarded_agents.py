"""Agents that are kept from files and from the network: what cannot be changed, and what can still be reached."""

from pathlib import Path

import pytest

from tests.agents.model_server import ModelServer, Turn
from tests.steps.agents.agent_bench import KEY, AgentBench

QUESTION = '{"model":"m","max_tokens":9,"messages":[{"role":"user","content":"hi"}],"tools":[{"name":"x"}]}'


def sockets_in(folder: str) -> list[Path]:
    return list(Path(folder).glob("relay-*"))


def shell(command: str) -> dict[str, str]:
    return {"tool": "shell", "command": command}


async def test_protected_files_cannot_be_changed_removed_or_replaced(agents: AgentBench) -> None:
    agents.write("tests/test_a.py", "assert True\n")
    agents.write("uv.lock", "locked\n")
    agents.git("add", "-A")
    agents.git("commit", "--quiet", "--message=tests")
    tries = ("echo no > tests/test_a.py", "rm -rf tests", "mv tests old", "touch tests/new", "echo no > uv.lock")
    config = agents.config("claude", [*map(shell, tries), shell("echo yes > src.py")], protect=["tests/**", "*.lock"])

    outputs = await agents.outputs(config)

    assert outputs["files"] == ["src.py"]
    assert [each["ok"] for each in agents.notes("agent.returned")] == [False] * len(tries) + [True]


async def test_new_files_that_match_where_no_folder_was_fail_the_step(agents: AgentBench) -> None:
    config = agents.config("codex", [shell("mkdir migrations; touch migrations/1.sql")], protect=["migrations/**"])

    assert "the agent changed protected files: migrations/1.sql" in await agents.failure(config)


@pytest.mark.parametrize("network", ["none", "model"])
async def test_an_agent_without_a_network_reaches_nothing(agents: AgentBench, network: str) -> None:
    async with ModelServer([Turn("hello")]) as server:
        port = server.url.rpartition(":")[2]
        ask = f"{{ exec 3<>/dev/tcp/127.0.0.1/{port}; }} 2>&1 && echo reached || echo unreachable"
        config = agents.config("claude", [shell(f"bash -c '{ask}'")], network=network, api=server.url)
        await agents.outputs(config)

    assert "unreachable" in agents.notes("agent.returned")[0]["output"]


async def test_with_the_model_only_the_relay_is_reached_and_adds_the_key(agents: AgentBench) -> None:
    ask = (
        "import json,os,urllib.request as r;"
        'q=r.Request(os.environ["ANTHROPIC_BASE_URL"]+"/v1/messages",json.dumps({"model":"m","max_tokens":9,'
        '"messages":[{"role":"user","content":"hi"}],"tools":[{"name":"x"}]}).encode(),{"content-type":"application/json"});'
        "print(r.urlopen(q).read().decode())"
    )
    agents.write("ask.py", ask)
    async with ModelServer([Turn("hello from the model")]) as server:
        config = agents.config("claude", [shell("python3 ask.py")], network="model", api=server.url)
        outputs = await agents.outputs(config)

    assert "hello from the model" in agents.notes("agent.returned")[0]["output"]
    assert server.requests[0].headers["x-api-key"] == KEY
    assert outputs["tokens"] == {"in": 100, "out": 10, "cached": 0}
    assert not sockets_in(agents.bench.workspace.control)


async def test_what_the_model_was_asked_is_stored_with_the_run_and_without_the_key(agents: AgentBench) -> None:
    agents.write("ask.sh", 'curl -s "$ANTHROPIC_BASE_URL/v1/messages" -H "content-type: application/json" -d @ask.json')
    agents.write("ask.json", QUESTION)
    async with ModelServer([Turn("recorded words")]) as server:
        await agents.outputs(agents.config("claude", [shell("sh ask.sh")], api=server.url))

    (recording,) = agents.bench.files_in(agents.bench.workspace.artifacts).values()
    assert "recorded words" in recording
    assert KEY not in recording


async def test_a_budget_of_tokens_ends_the_agent_at_its_model(agents: AgentBench) -> None:
    agents.write("ask.sh", 'curl -s "$ANTHROPIC_BASE_URL/v1/messages" -H "content-type: application/json" -d @ask.json')
    agents.write("ask.json", QUESTION)
    script = {"status": "failed", "reason": "the model refused", "tokens": {"in": 1, "out": 1}}
    async with ModelServer([Turn("one"), Turn("two")]) as server:
        config = agents.config(
            "claude", [shell("sh ask.sh; sh ask.sh")], api=server.url, budget={"tokens": 100}, script=script
        )
        told = await agents.failure(config)

    assert "the budget of 100 tokens is used up (110 used)" in told
    assert len(server.requests) == 1


async def test_guards_that_cannot_be_had_are_refused_before_the_agent_starts(agents: AgentBench) -> None:
    config = agents.config("lines", [], network="model")
    assert "network: model: command cannot be pointed at the relay" in await agents.failure(
        config, continue_on_error=True
    )

    many = {f"{number}.lock": "" for number in range(201)}
    for name, text in many.items():
        agents.write(name, text)
    config = agents.config("claude", [], protect=["*.lock"])
    assert "protect: `protect` matches 201 files" in await agents.failure(config, path="again")


@pytest.mark.needs("root")
async def test_a_limit_on_processes_that_cannot_be_had_is_refused(agents: AgentBench) -> None:
    told = await agents.failure(agents.config("claude", [{"fork_bomb": 100}], pids=50))

    assert "cannot limit the command to 50 processes: Linux does not limit the processes of root" in told
    assert not agents.calls
