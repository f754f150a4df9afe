"""Which commands have which secrets in their environment: those that are listed for them, and no others."""

import asyncio
from pathlib import Path

import pytest

from pitstop import MemoryLog, Session, run_flow

ALL = {"A": "value-of-a", "B": "value-of-b", "C": "value-of-c"}
SHOW = 'echo "$PITSTOP_STEP ${A-none} ${B-none} ${C-none}" >> seen'
FLOW = f"""\
secrets: [A]
steps:
  - {{id: first, run: &show '{SHOW}'}}
  - id: group
    secrets: [B]
    steps:
      - {{id: second, run: *show}}
      - {{id: third, run: *show, secrets: [C]}}
      - {{id: waited, wait: {{command: *show}}}}
  - {{id: called, call: called.yaml, secrets: [C]}}
"""
CALLED = f"steps: [{{id: inside, run: '{SHOW}'}}]"


@pytest.fixture
def flow(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("PITSTOP_HOME", str(tmp_path / "state"))
    (tmp_path / "called.yaml").write_text(CALLED)
    path = tmp_path / "flow.yaml"
    path.write_text(FLOW)
    return path


def rewrite(flow: Path, text: str) -> None:
    flow.write_text(text)


def seen(flow: Path) -> dict[str, str]:
    file = flow.parent / "seen"
    lines = file.read_text().splitlines()
    file.unlink()
    return {step: values.replace("value-of-", "") for step, _, values in (line.partition(" ") for line in lines)}


async def test_a_command_has_the_secrets_that_are_listed_for_it_and_no_others(flow: Path) -> None:
    result = await run_flow(flow, folder=flow.parent, secrets=ALL)

    assert result.status == "passed"
    assert seen(flow) == {
        "first": "a none none",
        "group.second": "a b none",
        "group.third": "a b c",
        "group.waited": "a b none",
        "called.inside": "a none c",
    }


async def test_a_variable_of_the_flow_goes_over_a_secret_of_that_name(flow: Path) -> None:
    rewrite(flow, f"secrets: [A]\nenv: {{A: mine}}\nsteps: [{{id: first, run: '{SHOW}'}}]")
    await run_flow(flow, folder=flow.parent, secrets=ALL)
    assert seen(flow) == {"first": "mine none none"}


async def test_an_injected_step_has_the_secrets_of_the_step_that_it_is_at(flow: Path) -> None:
    rewrite(flow, f"steps: [{{id: first, run: '{SHOW}', secrets: [B]}}]")
    session, log = Session(stop_at_entry=True), MemoryLog()
    async with asyncio.TaskGroup() as group:
        group.create_task(run_flow(flow, folder=flow.parent, secrets=ALL, debug=session, log=log))
        stop = await session.next_stop()
        assert stop is not None
        await session.inject(stop, {"uses": "run", "with": {"script": SHOW}}, "before")
        events = list(log.read())
        await session.continue_(stop)

    assert seen(flow) == {"first+1": "none b none", "first": "none b none"}

    await run_flow(flow, folder=flow.parent, secrets=ALL, log=MemoryLog(events))  # as after a restart
    assert seen(flow) == {"first+1": "none b none", "first": "none b none"}
