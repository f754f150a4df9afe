"""Comparing two attempts of agents: their calls beside each other, and the first in which they differ."""

from pathlib import Path
from typing import Any

import pytest

from pitstop.app import open_service
from pitstop.errors import CommandRefused
from pitstop.service.agent_calls import MadeCall
from pitstop.service.caller import LOCAL
from pitstop.service.comparing import align, compare
from pitstop.service.runs import RunRequest
from tests.agents.agent_flows import write_agent_flow

LOOK: dict[str, Any] = {"tool": "shell", "command": "ls"}
EDIT: dict[str, Any] = {"tool": "edit", "path": "a.txt", "content": "a\n"}


async def test_two_attempts_are_aligned_by_their_calls(tmp_path: Path) -> None:
    async with open_service() as service:
        runs = []
        for steps in ([LOOK, EDIT], [LOOK, {"tool": "shell", "command": "cat x"}, EDIT]):
            flow = write_agent_flow(tmp_path, steps)
            started = await service.runs.start(LOCAL, RunRequest(flow=str(flow)))
            await started.wait()
            runs.append(started.id)
        found = await compare(service, LOCAL, (runs[0], None), (runs[1], "fix"))

        assert [(pair.left and pair.left.title, pair.right and pair.right.title) for pair in found.pairs] == [
            ("shell: ls", "shell: ls"),
            (None, "shell: cat x"),
            ("edit: a.txt", "edit: a.txt"),
        ]
        assert found.first_difference == 1
        assert (found.left.calls, found.right.calls, found.left.status) == (2, 3, "passed")
        assert (found.left.profile, found.left.tokens) == ("claude", {"in": 100, "out": 10, "cached": 0})
        with pytest.raises(CommandRefused, match="no agent step 'fox'"):
            await compare(service, LOCAL, (runs[0], "fox"), (runs[1], None))


def call(number: str, title: str, state: str = "ok") -> MadeCall:
    return MadeCall(number, "shell", title, {"command": title}, state)


def test_what_only_one_attempt_did_stands_alone_and_other_calls_are_paired_in_order() -> None:
    pairs = align([call("1", "a"), call("2", "b"), call("3", "z")], [call("1", "a"), call("2", "c"), call("3", "d")])

    assert [(pair.left and pair.left.title, pair.right and pair.right.title) for pair in pairs] == [
        ("a", "a"),
        ("b", "c"),
        ("z", "d"),
    ]
    assert [pair.is_same for pair in pairs] == [True, False, False]


def test_the_same_call_with_another_end_is_a_difference() -> None:
    (pair,) = align([call("1", "a")], [call("1", "a", "failed")])

    assert not pair.is_same
