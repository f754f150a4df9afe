"""The five test cases of the specification of the loop, by name."""

from pathlib import Path

import pytest

from pitstop.service.caller import LOCAL
from tests.platform.fix.loops import Loop

HOPELESS = {"fix": 'echo "guess $PITSTOP_FIX_ITERATION" >> notes.txt'}


async def test_case_1_single_iteration_success(tmp_path: Path) -> None:
    loop = Loop(tmp_path, ["ok", "a"])

    summary = await loop.run()

    assert summary.status == "passed", summary
    assert loop.verdicts == ["fixed"]
    assert (loop.ended["outcome"], loop.ended["iterations"]) == ("fixed", 1)
    assert loop.code == ["ok", "ok_a"]
    assert loop.asked() == ["diagnose-1-1", "fix-1-1"]
    assert loop.ended["reports"] == ["debug/tests_failures/001_cause_1.md"]
    assert 'status: "resolved"' in (loop.folder / loop.ended["reports"][0]).read_text()
    assert loop.finished()[-1] == "after passed"


async def test_case_2_two_iteration_success(tmp_path: Path) -> None:
    loop = Loop(tmp_path, ["a", "b"])  # the tests report the second mistake only when the first is repaired

    summary = await loop.run()

    assert (summary.status, summary.failures) == ("passed", ()), summary
    assert loop.verdicts == ["moved", "fixed"]
    assert loop.ended["iterations"] == 2
    assert loop.code == ["ok_a", "ok_b"]
    history = loop.prompt("diagnose-2-1")
    assert "### Iteration 1: moved" in history
    assert "- Report: `debug/tests_failures/001_cause_1.md`" in history
    assert "repaired one (code.txt)" in history
    assert [path.name for path in sorted((loop.folder / "debug/tests_failures").iterdir())] == [
        "001_cause_1.md",
        "002_cause_2.md",
    ]


async def test_case_3_three_iteration_escalation(tmp_path: Path) -> None:
    loop = Loop(tmp_path, ["a"], HOPELESS)

    async with loop.start(loop.flow(early_stop=False), debug=True) as run:
        stop = await loop.escalation(run)
        assert stop.occurrence == "tests"
        assert stop.outcome is not None
        message = str(stop.outcome.error)
        assert message.startswith("Maximum iterations reached: 3 of 3 iterations are used")
        for number in (1, 2, 3):
            assert f"debug/tests_failures/00{number}_cause_{number}.md" in message
        for way in ("take-over", "guide", "roll-back", "skip", "stop"):
            assert f"pitstop fix {run.id} {way}" in message
        info = await run.info()
        assert info.status == "paused"
        await loop.service.runs.cancel(LOCAL, run.id, "the test ends")
        await loop.end_of(run)
    assert loop.verdicts == ["same", "same", "same"]
    assert "after passed" not in loop.finished()


@pytest.mark.parametrize("iterations", [1, 3])
async def test_case_4_iteration_counter_enforcement(tmp_path: Path, iterations: int) -> None:
    loop = Loop(tmp_path, ["a"], HOPELESS)

    summary = await loop.run(loop.flow(iterations=iterations, early_stop=False))

    assert summary.status == "failed"
    assert [data["n"] for data in loop.notes("iteration_started")] == [*range(1, iterations + 1)]
    assert loop.ended["outcome"] == "escalated"
    assert loop.notes("escalated")[0]["reason"] == "limit"
    assert len(loop.ended["reports"]) == iterations


async def test_case_5_debug_history_context_passing(tmp_path: Path) -> None:
    loop = Loop(tmp_path, ["a"], HOPELESS)

    await loop.run(loop.flow(early_stop=False))

    assert "Earlier attempts" not in loop.prompt("diagnose-1-1")
    for role in ("diagnose", "fix"):
        assert "### Iteration 1: same" in loop.prompt(f"{role}-2-1")
        last = loop.prompt(f"{role}-3-1")
        assert "### Iteration 1: same" in last
        assert "### Iteration 2: same" in last
        assert "- Still failing: tests/test_code.py::test_a" in last
    assert "Why the last fix failed" not in loop.prompt("diagnose-1-1")
    assert "Why the last fix failed" in loop.prompt("diagnose-2-1")
    assert "This is the last iteration: take another approach" in loop.prompt("diagnose-3-1")


async def test_a_fix_that_changes_only_its_report_changes_nothing(tmp_path: Path) -> None:
    loop = Loop(tmp_path, ["a"], {"fix": 'echo "And more." >> "$PITSTOP_FIX_REPORT"'})

    await loop.run(loop.flow(iterations=2))

    assert loop.verdicts == ["no_change", "no_change"]
    assert loop.notes("escalated")[0]["reason"] == "limit"
