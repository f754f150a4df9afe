"""What the log and the events of an agent show of long texts."""

import pytest

from tests.steps.agents.agent_bench import KEY, AgentBench


@pytest.mark.parametrize(
    "command",
    [
        f"echo {'x' * 185} {KEY}",  # the line of the result is cut
        f"true {'x' * 95} {KEY}",  # the title of the call is cut
        f"printf '%04085d{KEY}' 0",  # the note is cut
    ],
    ids=["result", "title", "note"],
)
async def test_a_text_that_is_cut_inside_a_secret_shows_no_part_of_it(agents: AgentBench, command: str) -> None:
    await agents.outputs(agents.config("claude", [{"tool": "shell", "command": command}]))

    assert KEY[:6] not in agents.bench.said
    assert not any(KEY[:6] in str(event) for event in agents.log.read())
