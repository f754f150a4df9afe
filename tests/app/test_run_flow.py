"""`run_flow`: a flow file from Python, with or without a debugger."""

import asyncio
from pathlib import Path

import pytest

from pitstop import MemoryLog, Session, run_flow
from pitstop.errors import BadFlow, BadInputs
from pitstop.events.types import StepStarted

FLOW = """\
inputs: {who: {default: world}}
steps:
  - {id: hello, run: 'echo "hello ${{ .inputs.who }}"; echo greeted=${{ .inputs.who }} >> "$PITSTOP_OUTPUT"'}
  - {id: tests, run: test -e repaired}
"""
APART = """\
steps:
  - {run: touch ours}
  - id: apart
    workspace: fresh
    steps:
      - {run: test ! -e ours && touch theirs}
      - {run: test -e theirs}
  - matrix: {n: [1, 2]}
    parallel: true
    steps:
      - {workspace: fresh, run: test ! -e mine && touch mine}
  - {id: last, run: test -e ours && test ! -e theirs && test ! -e mine}
"""
SECOND_TRY = """\
steps:
  - {workspace: fresh, run: "test -e tried || { touch tried; false; }", retry: {times: 1}}
"""


@pytest.fixture
def flow(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("PITSTOP_HOME", str(tmp_path / "state"))
    path = tmp_path / "flow.yaml"
    path.write_text(FLOW)
    return path


async def test_a_failing_step_is_in_the_result(flow: Path) -> None:
    said: list[tuple[str, bytes]] = []

    result = await run_flow(
        flow, inputs={"who": "you"}, folder=flow.parent, on_output=lambda step, chunk: said.append((step, chunk.data))
    )

    assert result.status == "failed"
    assert result.steps["hello"].outputs == {"exit_code": 0, "greeted": "you"}
    assert result.state["steps"]["tests"]["status"] == "failed"
    assert said == [("hello", b"hello you\n")]


async def test_a_stop_can_be_repaired(flow: Path) -> None:
    session = Session()
    async with asyncio.TaskGroup() as group:
        run = group.create_task(run_flow(flow, folder=flow.parent, debug=session))
        stop = await session.next_stop()
        assert stop is not None and stop.step == "tests"
        (flow.parent / "repaired").touch()
        await session.retry(stop)

    assert run.result().status == "passed"
    assert len(run.result().intervened) == 1


async def test_a_log_is_gone_on_from(flow: Path) -> None:
    log = MemoryLog()
    await run_flow(flow, folder=flow.parent, log=log)

    result = await run_flow(flow, folder=flow.parent, log=log)

    assert result.status == "failed"
    assert [event.occurrence for event in log.read() if isinstance(event, StepStarted)] == ["hello", "tests"]


async def test_a_fresh_folder_is_gone_afterwards(flow: Path) -> None:
    assert (await run_flow(flow, folder=None)).status == "failed"
    assert list((flow.parent / "state" / "workspaces").iterdir()) == []


async def test_what_is_wrong_before_the_run_is_raised(flow: Path) -> None:
    with pytest.raises(BadInputs):
        await run_flow(flow, inputs={"nope": 1})
    with pytest.raises(BadFlow):
        await run_flow("missing.yaml")


async def test_a_step_with_a_fresh_workspace_has_it_for_itself(tmp_path: Path, flow: Path) -> None:
    folder = tmp_path / "work"
    folder.mkdir()
    rewrite(flow, APART)

    result = await run_flow(flow, folder=folder)

    assert result.status == "passed"
    assert names_in(folder) == ["ours"]
    assert names_in(tmp_path / "state" / "workspaces") == []


async def test_a_fresh_workspace_lasts_over_every_attempt_of_its_step(flow: Path) -> None:
    rewrite(flow, SECOND_TRY)

    assert (await run_flow(flow, folder=flow.parent)).status == "passed"


async def test_an_expression_that_fails_tells_what_was_there_and_no_secret(flow: Path) -> None:
    rewrite(flow, "steps: [{id: a, run: 'echo ${{ .run.flow + .secrets.token | tonumber }}'}]")

    result = await run_flow(flow, folder=flow.parent, secrets={"token": "hidden"})

    assert result.error is not None
    assert result.error.message.endswith('(.run.flow is "flow")')
    assert "hidden" not in result.error.message
    assert "hidden" not in str(result.state["steps"])


def rewrite(flow: Path, text: str) -> None:
    flow.write_text(text)


def names_in(folder: Path) -> list[str]:
    return sorted(each.name for each in folder.iterdir() if each.is_dir() or each.name == "ours")
