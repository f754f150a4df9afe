"""The fix loop: an iteration beside a shell script that does the same work, and the triage of 10,000 failures.

    python bench/fix.py                       # everything, about a minute
    python bench/fix.py --only triage         # some of it: loop, triage
    python bench/fix.py --quick               # small amounts: to see that it works, not to quote

The agents are shell scripts that are done at once, and so are the tests, which find one mistake after the other. The
script beside it runs the same commands in the same order, and commits each report and each fix; both work in a clone
of the same repository. What Pitstop costs is the difference. A third side has the same steps in a flow without a loop,
so the difference to it is that of the loop alone. An iteration is timed from the end of the triage until the third one
is judged; the rest of the loop is a row for information. All sides of a row are measured in turn, in the same run,
after a warm-up; times are wall times, with the load beside them. The figure of each side is its median; in parentheses
are the least and the most.
"""

import argparse
import asyncio
import json
import os
import re
import shutil
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from statistics import median
from typing import Any

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from agents import events_of, run_and_wait  # noqa: E402
from pitstop.app import open_service  # noqa: E402
from pitstop.platform.fix.judging import judge as judge_fix  # noqa: E402
from pitstop.platform.fix.triage import flaky, infrastructure_evidence, pre_existing  # noqa: E402
from pitstop.platform.reports.failures import failures_of  # noqa: E402
from pitstop.service.caller import LOCAL  # noqa: E402
from pitstop.service.debugging import Debugger, verbs  # noqa: E402
from pitstop.service.desks import Service  # noqa: E402
from pitstop.service.runs import DebugRequest, RunRequest  # noqa: E402
from pitstop.settings import Settings  # noqa: E402
from store import format_table, judge  # noqa: E402
from tests.git.repositories import client_environment  # noqa: E402
from tests.platform.fix.loops import CHECK, REPORT  # noqa: E402
from workshop import git, new_clone  # noqa: E402

ITERATIONS = 3
FILES = 1_000
FAILURES = 10_000
MORE_ITERATION_MS = 300.0
TRIAGE_SECONDS = 1.0
NUMBER = re.compile("[0-9]+")
SUMMARY = re.compile("^FAILED (.+?) - (.*)$", re.MULTILINE)

# Neither starts more processes than it must
AGENT = """\
if [ "$PITSTOP_FIX_ROLE" = diagnose ]; then
  path=${PITSTOP_FIX_REPORT%SLUG*}cause.md
  [ -d "${path%/*}" ] || mkdir -p "${path%/*}"
  cp report.md "$path"
  echo "DEBUG_REPORT_PATH: $path"
  echo 'Root cause: a line is wrong'
  echo 'Recommended fix: Option 1 - repair it'
else
  sed -i '0,/^[^o]/s/^\\([^o]\\)$/ok_\\1/' code.txt
  echo 'Changes made: repaired one'
fi
"""
# The same commands, and the commits. What comes before the iterations is that of the triage: again, and at the base
ALONE = """\
set -e
agent() {
  PITSTOP_FIX_ROLE=$1 PITSTOP_FIX_REPORT=debug/tests_failures/00$2_SLUG.md sh agent.sh < prompt > ../said
  git add -A
  git commit -q -m "$1 $2"
}
sh check.sh || sh check.sh || true
git checkout -q main
sh check.sh
git checkout -q -
date +%s%N > ../times
for n in ITERATIONS; do
  agent diagnose "$n"
  agent fix "$n"
  sh check.sh || true
done
date +%s%N >> ../times
"""
Line = dict[str, Any]
Measure = Callable[[], Awaitable[Sequence[float]]]  # the seconds of an iteration, and of the rest
Samples = Sequence[Sequence[float]]
Taken = dict[str, list[Sequence[float]]]


# --- An iteration ----------------------------------------------------------------------------------------------------


def make_project(folder: Path, files: int) -> Path:
    """A repository whose branch breaks more lines of a file than there are iterations."""
    repo = folder / "repo"
    new_clone(repo, {})
    git(repo, "branch", "-M", "main")
    for number in range(files):
        file = repo / f"src{number % 20}" / f"module_{number}.py"
        file.parent.mkdir(exist_ok=True)
        file.write_text(f"def number() -> int:\n    return {number}\n" * 20)
    mistakes = "abcdefghij"[: ITERATIONS + 1]
    agents = repo / ".pitstop" / "agents"
    agents.mkdir()
    written = {
        agents / "scripted.yaml": "extends: command\ncommand: [sh, agent.sh]\n",
        repo / "agent.sh": AGENT,
        repo / "report.md": REPORT,
        repo / "check.sh": CHECK,
        repo / "code.txt": "".join(f"ok_{each}\n" for each in mistakes),
        repo / "prompt": "A prompt.\n" * 200,
    }
    for file, text in written.items():
        file.write_text(text)
    git(repo, "add", "-A")
    git(repo, "commit", "--quiet", "-m", "first")
    git(repo, "checkout", "--quiet", "-b", "change")
    (repo / "code.txt").write_text("".join(f"{each}\n" for each in mistakes))
    git(repo, "commit", "--quiet", "-a", "-m", "second")
    return repo


async def run_loop(service: Service, repo: Path, *, debug: bool) -> Sequence[float]:
    """The seconds of an iteration, and of the rest of the step."""
    fix = {"agent": "scripted", "iterations": ITERATIONS, "early_stop": False}
    flow = json.dumps({"steps": [{"id": "tests", "run": "sh check.sh", "fix": fix}]})
    session = DebugRequest(stop_on_error=False, flow_breakpoints=False, remembers=False) if debug else None
    request = RunRequest(flow="fix.yaml", text=flow, folder=str(repo), commit="HEAD", debug=session)
    run = await service.runs.start(LOCAL, request)
    async for event in run.events():
        if event.kind == "debug.stopped":
            await Debugger(service.debugging, LOCAL, run.id).say(verbs.Decide(event.fields["stop"], "stop"))
    events = await events_of(run)
    await run.wait()
    noted = [(event["note"], event["at"], event["data"]) for event in events if event["kind"] == "step.noted"]
    times = {name: at for name, at, _ in noted}  # the last of each
    steps = {event["kind"]: event["at"] for event in events if event.get("occurrence") == "tests"}
    verdicts = [data["verdict"] for name, _, data in noted if name == "fix.judged"]
    assert verdicts == ["moved"] * ITERATIONS, verdicts
    began = steps["step.started"]
    work = times["fix.judged"] - times["fix.triaged"]
    return work / ITERATIONS, times["fix.escalated"] - began - work


async def run_steps(service: Service, repo: Path) -> Sequence[float]:
    """The seconds of the steps of an iteration, in a flow without a loop."""
    steps = []
    for number in range(1, ITERATIONS + 1):
        env = {"PITSTOP_FIX_REPORT": f"debug/tests_failures/00{number}_SLUG.md"}
        for role in ("diagnose", "fix"):
            agent = {"agent": "scripted", "prompt": "A prompt.\n" * 200, "env": {**env, "PITSTOP_FIX_ROLE": role}}
            steps.append({"id": f"{role}{number}", **agent})
        steps.append({"id": f"test{number}", "run": "sh check.sh || true"})
    request = RunRequest(flow="steps.yaml", text=json.dumps({"steps": steps}), folder=str(repo), commit="HEAD")
    run = await service.runs.start(LOCAL, request)
    ended = await run.wait()
    assert ended.status == "passed", ended
    times = [event["at"] for event in await events_of(run) if event["kind"] in ("step.started", "step.finished")]
    return (times[-1] - times[0]) / ITERATIONS, 0.0


async def run_script(repo: Path, folder: Path) -> Sequence[float]:
    """The same of the shell script, in a clone that is not part of its time."""
    clone = folder / "clone"
    git(folder, "clone", "--quiet", str(repo), str(clone))
    git(clone, "branch", "--quiet", "main", "origin/main")
    script = ALONE.replace("ITERATIONS", " ".join(map(str, range(1, ITERATIONS + 1))))
    identity = {f"GIT_{role}_{part}": "a" for role in ("AUTHOR", "COMMITTER") for part in ("NAME", "EMAIL")}
    env = {**client_environment(), **identity}
    seconds = run_and_wait(["sh", "-c", script], cwd=clone, env=env)
    began, ended = map(int, (folder / "times").read_text().split())
    shutil.rmtree(clone)
    work = (ended - began) / 1e9
    return work / ITERATIONS, seconds - work


async def measure_loop(folder: Path, samples: int, files: int) -> list[Line]:
    repo = make_project(folder, files)
    async with open_service(Settings(folder / "home")) as service:
        sides: dict[str, Measure] = {
            "plain": lambda: run_loop(service, repo, debug=False),
            "debugged": lambda: run_loop(service, repo, debug=True),
            "alone": lambda: run_script(repo, folder),
            "steps": lambda: run_steps(service, repo),
        }
        taken = await measure_in_turn(sides, samples)
    places = {"plain": "without a debugger, as with `--ci`", "debugged": "in a session, with snapshots"}
    script, steps = (("a shell script", taken["alone"]), ("its steps in a flow", taken["steps"]))
    return [
        *(
            more_line(f"an iteration, {told}", 0, taken[side], script, MORE_ITERATION_MS)
            for side, told in places.items()
        ),
        more_line("an iteration, without a debugger", 0, taken["plain"], steps),
        *(more_line(f"all but the iterations, {told}", 1, taken[side], script) for side, told in places.items()),
    ]


async def measure_in_turn(sides: dict[str, Measure], samples: int) -> Taken:
    taken: Taken = {side: [] for side in sides}
    for number in range(-1, samples):  # the first one warms up
        for side, measure in sides.items():
            found = await measure()
            if number >= 0:
                taken[side].append(found)
    return taken


def more_line(work: str, part: int, ours: Samples, peer: tuple[str, Samples], most_ms: float | None = None) -> Line:
    name, theirs = peer
    mine, floors = ([1000 * each[part] for each in samples] for samples in (ours, theirs))
    more = median(mine) - median(floors)
    return {
        "work": work,
        "pitstop": f"{median(mine):.0f} ms ({min(mine):.0f} to {max(mine):.0f})",
        "peer": f"{name} {median(floors):.0f} ms ({min(floors):.0f} to {max(floors):.0f})",
        "ratio": f"{more:+.0f} ms, {median(mine) / median(floors):.1f}x",
        "to reach": "-" if most_ms is None else f"<= +{most_ms:g} ms",
        "verdict": "-" if most_ms is None else judge(more <= most_ms),
    }


# --- The triage ------------------------------------------------------------------------------------------------------


def failing_rows(numbers: Iterable[int], run: int) -> list[Line]:
    """What a JUnit report says of failures; times, addresses and temporary paths are those of this run."""
    return [
        {
            "classname": f"tests.module_{number % 97}.TestThing",
            "name": f"test_thing_{number}[{number % 7}-eur]",
            "type": "",
            "message": f"AssertionError: total of /tmp/run-{run}/order_{number}.json is {number}.{run:02} after "
            f"0.{run}3s, <shop.Order object at 0x7f{number + run:010x}> != expected {number % 13} items",
            "text": f"def test_thing():\n>   assert total() == expected\nE   AssertionError: {number}\n\n"
            f"tests/module_{number % 97}.py:{number % 300}: AssertionError",
        }
        for number in numbers
    ]


def pytest_log(rows: Iterable[Line]) -> str:
    """What pytest prints for them: a section each, and a line each in the summary."""
    sections, summary = [], []
    for row in rows:
        file = row["classname"].rpartition(".")[0].replace(".", "/") + ".py"
        sections.append(f"{'_' * 20} TestThing.{row['name']} {'_' * 20}\n\n{row['text']}\n")
        summary.append(f"FAILED {file}::TestThing::{row['name']} - {row['message']}\n")
    head, foot = f"{'=' * 30} FAILURES {'=' * 30}\n", f"{'=' * 20} short test summary info {'=' * 20}\n"
    return f"{head}{''.join(sections)}{foot}{''.join(summary)}{'=' * 20} {len(summary)} failed in 12.34s {'=' * 20}\n"


def triage_all(outputs: Sequence[Line], logs: Sequence[str], files: Sequence[str]) -> tuple[int, int, int, str]:
    """All that the triage and a judgment work out, without running tests: of the first run, of what failed again, of
    the base, and of the first fix."""
    first, again, base, fixed = (
        failures_of(out, log, "exit code 1", 1) for out, log in zip(outputs, logs, strict=True)
    )
    evidence = infrastructure_evidence(first, logs[0], "exit code 1", 1, files)
    came_and_went, known = flaky(first, again), pre_existing(first, base)
    left_out = {*came_and_went, *known}
    before, after = ({*each.fingerprints} - left_out for each in (first, fixed))
    return len(evidence), len(came_and_went), len(known), judge_fix(before, after, [before])


async def measure_triage(folder: Path, samples: int, failures: int) -> list[Line]:
    """Of the four runs, a tenth is flaky, a tenth fails at the base, and a tenth is fixed."""
    tenth = failures // 10
    ran = (range(failures), range(tenth, failures), range(tenth, 2 * tenth), range(failures - tenth))
    rows = [failing_rows(numbers, run) for run, numbers in enumerate(ran)]
    outputs = [{"tests": {"total": 2 * failures, "failed": len(each), "failing": each}} for each in rows]
    logs = [pytest_log(each) for each in rows]
    files = [f"{kind}/module_{number}.py" for kind in ("src", "tests") for number in range(500)]
    for number, (output, log) in enumerate(zip(outputs, logs, strict=True)):
        (folder / f"{number}.json").write_text(json.dumps(output))
        (folder / f"{number}.log").write_text(log)
    wanted = (0, tenth, tenth, "progress")
    nothing: list[Line] = [{}] * len(rows)

    def timed(outputs: Sequence[Line], logs: Sequence[str]) -> Measure:
        async def run() -> Sequence[float]:
            began = time.perf_counter()
            found = triage_all(outputs, logs, files)
            seconds = time.perf_counter() - began
            assert found == wanted, found
            return (seconds,)

        return run

    async def plain_rows() -> Sequence[float]:
        began = time.perf_counter()
        for number in range(len(rows)):
            failing = json.loads((folder / f"{number}.json").read_text())["tests"]["failing"]
            keys = {hash((row["name"], NUMBER.sub("#", row["message"]))) for row in failing}
            assert len(keys) == len(failing)
        return (time.perf_counter() - began,)

    async def plain_lines() -> Sequence[float]:
        began = time.perf_counter()
        for number in range(len(rows)):
            found = SUMMARY.findall((folder / f"{number}.log").read_text())
            keys = {hash((test, NUMBER.sub("#", message))) for test, message in found}
            assert len(keys) == len(rows[number])
        return (time.perf_counter() - began,)

    short = ["FAILED: exit code 1\n"] * len(rows)
    sides = {"junit": timed(outputs, short), "rows": plain_rows, "pytest": timed(nothing, logs), "lines": plain_lines}
    taken = await measure_in_turn(sides, samples)
    size = sum(map(len, logs)) / 1e6
    read = sum(map(len, rows))
    return [
        triage_line(
            f"{failures:,} failures, {read:,} read: JUnit rows", taken["junit"], taken["rows"], "json, re and hash"
        ),
        triage_line(f"the same from pytest logs of {size:.1f} MB", taken["pytest"], taken["lines"], "re and hash"),
    ]


def triage_line(work: str, ours: Samples, theirs: Samples, peer: str) -> Line:
    mine, floors = ([seconds for (seconds,) in samples] for samples in (ours, theirs))
    return {
        "work": work,
        "pitstop": f"{median(mine):.2f} s ({min(mine):.2f} to {max(mine):.2f})",
        "peer": f"{peer} {median(floors):.2f} s ({min(floors):.2f} to {max(floors):.2f})",
        "ratio": f"{median(mine) / median(floors):.1f}x",
        "to reach": f"<= {TRIAGE_SECONDS:g} s",
        "verdict": judge(median(mine) <= TRIAGE_SECONDS),
    }


# --- The table -------------------------------------------------------------------------------------------------------


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="loop,triage", help="which rows")
    parser.add_argument("--rounds", type=int, default=15, help="how often everything is measured")
    parser.add_argument("--quick", action="store_true", help="small amounts: to see it work, not to quote")
    parser.add_argument("--json", type=Path, default=ROOT / "bench/fix.json", help="where the results go")
    options = parser.parse_args()
    is_quick: bool = options.quick
    rounds = 1 if is_quick else options.rounds
    measures: dict[str, Callable[[Path], Coroutine[Any, Any, list[Line]]]] = {
        "loop": lambda folder: measure_loop(folder, rounds, 20 if is_quick else FILES),
        "triage": lambda folder: measure_triage(folder, rounds, 500 if is_quick else FAILURES),
    }
    names = options.only.split(",")
    if unknown := [name for name in names if name not in measures]:
        parser.error(f"no such row: {', '.join(unknown)}; there are {', '.join(measures)}")
    lines: list[Line] = []
    for name in names:
        folder = Path(tempfile.mkdtemp(prefix="pitstop-bench-"))
        try:
            measured = asyncio.run(measures[name](folder))
            lines += [{**line, "load": f"{os.getloadavg()[0]:.1f}"} for line in measured]
        finally:
            shutil.rmtree(folder, ignore_errors=True)
    print(format_table(lines))
    if is_quick:
        return 0
    measured_at = datetime.now(UTC).isoformat(timespec="seconds")
    options.json.write_text(json.dumps({"measured_at": measured_at, "lines": lines}, indent=1) + "\n")
    return 1 if any(line["verdict"] == "MISSED" for line in lines) else 0


if __name__ == "__main__":
    sys.exit(main())
