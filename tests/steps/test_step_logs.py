"""What a step can read of the logs of the steps before it."""

import asyncio
from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from pitstop import MemoryLog, Outcome, Session, run_flow
from pitstop.engine.clock import SystemClock
from pitstop.engine.frame import Activation, StepType
from pitstop.engine.run import Run
from pitstop.events.types import StepFinished, StepStarted
from pitstop.executors.jq_worker import JqWorker
from pitstop.plan.plan import Plan, Step
from pitstop.runs.workplaces import ports_in
from pitstop.steps.run import RunStep
from pitstop.steps.step_logs import LOG_TEXT_BYTES, LogTail, last_lines, log_text
from tests.steps.bench import Bench

SHOWS = """\
  - id: show
    run: printf %s "$LOG" > shown
    env: {LOG: "${{ .steps.test.log }}"}
"""


class Flows:
    """Runs flows in a folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.log = MemoryLog()

    async def run(self, text: str, **more: Any) -> dict[str, Outcome]:
        """The outcome of each step of a run that passes."""
        flow = self.folder / "flow.yaml"
        flow.write_text(text)
        result = await run_flow(flow, folder=self.folder, log=self.log, **more)
        assert result.status == "passed", result.error
        return result.steps

    def read(self, name: str = "shown") -> str:
        return (self.folder / name).read_bytes().decode()

    def started(self) -> list[str]:
        return [event.occurrence for event in self.log.read() if isinstance(event, StepStarted)]


@pytest.fixture
def flows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Flows:
    monkeypatch.setenv("PITSTOP_HOME", str(tmp_path / "state"))
    (tmp_path / "work").mkdir()
    return Flows(tmp_path / "work")


# --- `.steps.<id>.log` -----------------------------------------------------------------------------------------------


async def test_a_step_reads_what_a_failed_step_wrote(flows: Flows) -> None:
    await flows.run(f"""\
steps:
  - {{id: test, run: "echo out; echo error >&2; printf end; exit 3", continue_on_error: true}}
{SHOWS}""")

    assert sorted(flows.read().splitlines()) == ["end", "error", "out"]


async def test_secrets_are_not_in_it(flows: Flows) -> None:
    steps = await flows.run(
        f"""\
steps:
  - {{id: test, secrets: [TOKEN], run: 'printf "a %s" "$TOKEN" | head -c 9; sleep 0.05; echo "${{TOKEN#hunter2}} b"'}}
{SHOWS}""",
        secrets={"TOKEN": "hunter2hunter2"},
    )

    assert flows.read() == "a *** b\n"
    assert steps["test"].log == "a *** b\n"


async def test_a_long_log_is_cut_to_its_last_lines(flows: Flows) -> None:
    await flows.run(f'steps:\n  - {{id: test, run: "seq -f %015g 655360"}}\n{SHOWS}')

    lines = flows.read().splitlines()
    assert (lines[0], lines[-1]) == (f"{655360 - LOG_TEXT_BYTES // 16 + 1:015}", "000000000655360")
    assert len(flows.read()) == LOG_TEXT_BYTES


async def test_bytes_that_are_no_text_are_replaced(flows: Flows) -> None:
    await flows.run(f"steps:\n  - {{id: test, run: \"printf 'a\\\\377b\\\\000c\\\\n'\"}}\n{SHOWS}")

    assert flows.read() == "a�b�c\n"


async def test_the_last_attempt_counts(flows: Flows) -> None:
    await flows.run(f"""\
steps:
  - {{id: test, run: "echo attempt $PITSTOP_ATTEMPT; test $PITSTOP_ATTEMPT = 2", retry: {{times: 1}}}}
{SHOWS}""")

    assert flows.read() == "attempt 2\n"


async def test_each_combination_of_a_matrix_reads_its_own(flows: Flows) -> None:
    await flows.run("""\
steps:
  - id: each
    matrix: {n: [1, 2, 3]}
    parallel: true
    steps:
      - {id: test, run: "echo number ${{ .matrix.n }}"}
      - {run: 'printf %s "$LOG" > "shown-${{ .matrix.n }}"', env: {LOG: "${{ .steps.test.log }}"}}
""")

    assert [flows.read(f"shown-{number}") for number in (1, 2, 3)] == ["number 1\n", "number 2\n", "number 3\n"]


async def test_conditions_and_fresh_workspaces_read_it_too(flows: Flows) -> None:
    steps = await flows.run("""\
steps:
  - {id: test, workspace: fresh, run: echo one warning}
  - {id: yes, if: '.steps.test.log | contains("warning")', run: "true"}
  - {id: no, if: '.steps["test"].log == ""', run: "true"}
""")

    assert (steps["yes"].status, steps["no"].status) == ("passed", "skipped")


async def test_a_step_that_wrote_nothing_or_did_not_run_has_an_empty_one(flows: Flows) -> None:
    steps = await flows.run("""\
steps:
  - {id: silent, run: "true"}
  - {id: skipped, if: "false", run: echo never}
  - {check: '.steps.silent.log == "" and .steps.skipped.log == ""'}
""")

    assert steps["silent"].log is None


async def test_a_step_whose_outcome_was_forced_has_an_empty_one(flows: Flows) -> None:
    session = Session()
    async with asyncio.TaskGroup() as group:
        text = f'steps:\n  - {{id: test, run: "echo oops; exit 1"}}\n{SHOWS}'
        group.create_task(flows.run(text, debug=session))
        stop = await session.next_stop()
        assert stop is not None
        await session.force(stop, "passed")

    assert flows.read() == ""


async def test_a_python_step_has_a_log_too(flows: Flows) -> None:
    (flows.folder / "said.py").write_text("def it() -> None:\n    print('from Python')\n")

    await flows.run(f"steps:\n  - {{id: test, python: 'said:it'}}\n{SHOWS}")

    assert flows.read() == "from Python\n"


async def test_a_log_that_is_not_read_is_not_in_the_outcome(flows: Flows) -> None:
    steps = await flows.run(
        "steps:\n  - {id: test, run: echo git log}\n  - {check: '.steps.test | has(\"log\") | not'}\n"
    )

    assert steps["test"].log is None


async def test_a_run_that_resumes_from_its_log_reads_the_same(flows: Flows) -> None:
    text = f'steps:\n  - {{id: test, run: "echo $$; date +%N"}}\n{SHOWS}'
    await flows.run(text)
    shown, events = flows.read(), flows.log.read()
    ended = next(number for number, event in enumerate(events, 1) if isinstance(event, StepFinished))

    flows.log = MemoryLog(events[:ended])  # what a process leaves that is killed there
    (flows.folder / "shown").unlink()
    await flows.run(text)

    assert flows.read() == shown
    assert flows.started() == ["test", "show"]


# --- `$PITSTOP_CONTEXT` ----------------------------------------------------------------------------------------------


async def test_a_script_finds_the_logs_of_all_steps_before_it(flows: Flows) -> None:
    await flows.run("""\
steps:
  - {id: first, run: 'ls "$PITSTOP_CONTEXT" > at-first; echo one'}
  - {id: second, run: "echo two; exit 1", continue_on_error: true}
  - {run: echo three}
  - {id: skipped, if: "false", run: echo four}
  - {id: group, steps: [{id: inner, run: echo five}]}
  - {check: '.steps.first | has("log") | not'}
  - {id: last, run: 'cd "$PITSTOP_CONTEXT"; tail -n +1 *.log > "$PITSTOP_WORKSPACE/shown"'}
""")

    assert flows.read("at-first") == ""
    assert flows.read() == "==> first.log <==\none\n\n==> inner.log <==\nfive\n\n==> second.log <==\ntwo\n"


async def test_each_combination_finds_its_own_logs_and_those_from_before(flows: Flows) -> None:
    await flows.run("""\
steps:
  - {id: build, run: echo built}
  - matrix: {n: [1, 2, 3]}
    parallel: true
    steps:
      - {id: test, run: "echo number ${{ .matrix.n }}"}
      - {run: 'cat "$PITSTOP_CONTEXT"/*.log > "shown-${{ .matrix.n }}"'}
""")

    assert [flows.read(f"shown-{number}") for number in (1, 2, 3)] == [f"built\nnumber {n}\n" for n in (1, 2, 3)]


async def test_an_iteration_finds_the_logs_of_the_one_before_it(flows: Flows) -> None:
    await flows.run("""\
steps:
  - repeat: {times: 3}
    steps:
      - {run: 'cat "$PITSTOP_CONTEXT"/*.log >> shown || true'}
      - {id: test, run: "echo iteration ${{ .repeat.index }}"}
""")

    assert flows.read() == "iteration 0\niteration 1\n"


async def test_a_called_flow_finds_only_the_logs_of_its_own_steps(flows: Flows) -> None:
    (flows.folder / "called.yaml").write_text("""\
steps:
  - {id: test, run: echo inside}
  - {run: 'cat "$PITSTOP_CONTEXT"/*.log > inside'}
""")
    await flows.run("""\
steps:
  - {id: build, run: echo built}
  - {id: test, run: echo outside}
  - {call: called.yaml}
  - {run: 'cat "$PITSTOP_CONTEXT"/*.log > outside'}
""")

    assert (flows.read("inside"), flows.read("outside")) == ("inside\n", "built\noutside\n")


async def test_a_step_with_a_fresh_workspace_finds_them_too(flows: Flows) -> None:
    steps = await flows.run("""\
steps:
  - {id: test, run: echo tested}
  - id: apart
    workspace: fresh
    run: echo "log=$(cat "$PITSTOP_CONTEXT/test.log")" >> "$PITSTOP_OUTPUT"
""")

    assert steps["apart"].outputs["log"] == "tested"


async def test_without_a_step_that_names_it_no_folder_is_made(flows: Flows) -> None:
    await flows.run("""\
steps:
  - {id: test, run: echo tested}
  - {run: 'name=PITSTOP_CON; name="${name}TEXT"; test -n "${!name}" && test ! -e "${!name}"', shell: bash -e}
""")


# --- The step before -------------------------------------------------------------------------------------------------


class Before:
    """A step that returns the log of the step before it."""

    def __init__(self, bench: Bench) -> None:
        self._workplace = bench.workplace

    async def act(self, activation: Activation, config: Mapping[str, Any]) -> dict[str, Any]:
        return {"log": await self._workplace.log_before(activation)}


class Stage:
    """Runs plans with a step that reads the log of the step before it."""

    def __init__(self, bench: Bench, evaluator: JqWorker) -> None:
        step_types: dict[str, StepType] = {"run": RunStep(bench.workplace), "before": Before(bench)}
        self._ports = ports_in(bench.workplace, step_types, evaluator, SystemClock())

    async def logs(self, *steps: Step) -> list[str]:
        """What each of the reading steps got, in the order of their ends."""
        log = MemoryLog()
        run = Run(Plan(Step("", "sequence", children=steps)), {"steps": {}}, self._ports, log=log)
        await run.execute()
        ended = [event for event in log.read() if isinstance(event, StepFinished) and event.step.endswith("before")]
        return [event.outcome.outputs["log"] for event in ended]


@pytest_asyncio.fixture
async def stage(bench: Bench) -> AsyncIterator[Stage]:
    evaluator = JqWorker()
    yield Stage(bench, evaluator)
    await evaluator.close()


def says(path: str, script: str = "", **more: Any) -> Step:
    return Step(path, "run", {"script": script or f"echo {path}"}, is_log_read=True, **more)


BEFORE = Step("before", "before")


async def test_an_agent_gets_the_log_of_the_step_before_it_that_ran(stage: Stage) -> None:
    skipped = says("skipped", condition="false")
    failed = says("failed", "echo oops; exit 1", continue_on_error=True)

    assert await stage.logs(BEFORE) == [""]
    assert await stage.logs(says("a"), says("b"), skipped, BEFORE) == ["b\n"]
    assert await stage.logs(says("a"), failed, BEFORE) == ["oops\n"]


async def test_of_a_group_it_is_the_log_of_the_step_that_ended_last(stage: Stage) -> None:
    group = Step("g", "sequence", children=(says("g.a"), says("g.b")))
    branches = Step("p", "parallel", children=(says("p.a"), says("p.b", "sleep 0.1; echo p.b")))

    assert await stage.logs(group, BEFORE) == ["g.b\n"]
    assert await stage.logs(says("a"), branches, BEFORE) == ["p.b\n"]


async def test_the_first_step_of_a_group_gets_the_log_of_what_ran_before(stage: Stage) -> None:
    inner = Step("g", "parallel", children=(Step("g.before", "before"), says("g.other")))
    loop = Step("r", "repeat", {"times": 2}, children=(Step("r.before", "before"), says("r.test")))

    assert await stage.logs(says("a"), inner) == ["a\n"]
    assert await stage.logs(says("a"), loop) == ["a\n", "r.test\n"]


# --- The end of a log ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("data", "most", "end"),
    [
        (b"one\ntwo\n", 8, b"one\ntwo\n"),
        (b"one\ntwo\n", 7, b"two\n"),
        (b"one\ntwo\n", 4, b"two\n"),
        (b"one\ntwo\n", 3, b"wo\n"),
        (b"one\ntwo", 5, b"two"),
        ("é".encode() * 3, 3, "é".encode()),
        (b"\x80" * 4, 2, b""),
        (b"", 2, b""),
    ],
)
def test_the_end_of_a_log_begins_with_a_line_or_at_least_a_character(data: bytes, most: int, end: bytes) -> None:
    assert last_lines(data, most) == end


def in_chunks(data: bytes, size: int) -> LogTail:
    tail = LogTail()
    for start in range(0, len(data), size):
        tail.add("stdout", data[start : start + size])
    return tail


@pytest.mark.parametrize("size", [7, 4096, 65_536, 10_000_000])
@pytest.mark.parametrize("line", ["short", "a line with ünïcode", "x" * 5_000, "x" * 100_000])
def test_the_end_is_the_same_however_a_log_is_written(line: str, size: int) -> None:
    data = f"{line}\n".encode() * (400_000 // len(line) + 1)
    data = data if size > 7 else data[-40_000:]

    assert in_chunks(data, size).text() == log_text(data)
    assert in_chunks(data[:-1], size).text() == log_text(data[:-1])


def test_lines_of_two_streams_are_not_mixed() -> None:
    tail = LogTail()
    tail.add("stdout", b"on")
    tail.add("stderr", b"oops\n")
    tail.add("stdout", b"e\ntw")
    tail.add("stderr", b"again")

    assert tail.text() == "oops\none\ntwagain"
