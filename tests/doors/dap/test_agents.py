"""An agent in an editor: stops at its tool calls, what they show, and what can be done there."""

from pathlib import Path

from tests.agents.agent_flows import write_agent_flow
from tests.doors.dap.adapter_client import AdapterClient

TOUCH = {"tool": "shell", "command": "touch changed.txt"}
EDIT = {"tool": "edit", "path": "hello.txt", "content": "hello\n"}


async def test_a_function_breakpoint_stops_at_a_tool_call_that_can_be_changed(
    adapter: AdapterClient, folder: Path
) -> None:
    write_agent_flow(folder, [{"say": "I am on it"}, EDIT, TOUCH])
    await adapter.launch("agent.yaml", functions=["fix/shell"])
    stop = await adapter.stopped()

    stack = await adapter.stack(stop)
    assert [frame["name"] for frame in stack] == ["fix/2 shell: touch changed.txt", "fix", "agent"]
    assert stack[0]["line"] == stack[1]["line"] == 3
    scopes = await adapter.scopes(stop)
    tool = await adapter.variables(scopes["Tool call"]["variablesReference"])
    assert (tool["name"]["value"], tool["guarantee"]["value"]) == ('"Bash"', "true")
    given = await adapter.variables(tool["input"]["variablesReference"])
    assert given["command"]["value"] == '"touch changed.txt"'
    await adapter.ask(
        "setVariable", variablesReference=tool["input"]["variablesReference"], name="command", value='"touch other.txt"'
    )
    await adapter.ask("continue", threadId=1)
    assert await adapter.ended() == 0

    assert (folder / "other.txt").exists()
    assert not (folder / "changed.txt").exists()
    assert "I am on it" in adapter.output("stdout")


async def test_a_call_is_refused_from_the_console_and_the_next_one_is_a_step_away(
    adapter: AdapterClient, folder: Path
) -> None:
    write_agent_flow(folder, [TOUCH, EDIT])
    await adapter.launch("agent.yaml", functions=["*/any"])
    stop = await adapter.stopped()
    frame = (await adapter.stack(stop))[0]["id"]
    assert await adapter.evaluate("skip use make", frame) == "fix/1 refused"

    second = await adapter.stopped()
    assert (await adapter.stack(second))[0]["name"] == "fix/2 edit: hello.txt"
    await adapter.ask("next", threadId=1)
    after = await adapter.stopped()
    assert (await adapter.stack(after))[0]["name"] == "last"
    await adapter.ask("continue", threadId=1)
    assert await adapter.ended() == 0

    assert not (folder / "changed.txt").exists()
    assert (folder / "hello.txt").exists()
    assert "refused by the user: use make" in adapter.output("stdout")


async def test_a_breakpoint_for_the_calls_of_an_unknown_step_is_not_verified(
    adapter: AdapterClient, folder: Path
) -> None:
    write_agent_flow(folder, [])
    await adapter.launch("agent.yaml", stopOnEntry=True)
    await adapter.stopped()

    told = await adapter.ask("setFunctionBreakpoints", breakpoints=[{"name": "fox/shell"}, {"name": "fix/edit"}])

    assert [each["verified"] for each in told["breakpoints"]] == [False, True]
    assert "did you mean fix?" in told["breakpoints"][0]["message"]
