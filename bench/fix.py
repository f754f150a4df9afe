"""The fix loop: an iteration beside a shell script that does the same work, and the triage of 10,000 failures.

    python bench/fix.py                       # everything, about 2 minutes
    python bench/fix.py --only triage         # some of it: loop, triage
    python bench/fix.py --quick               # small amounts: to see that it works, not to quote

The agents are shell scripts that are done at once, and so are the tests, which find one mistake after the other. The
script beside it runs the same commands in the same order, and commits each report and each fix; both work in a clone
of the same repository. What the loop itself costs is the difference. An iteration is timed from the end of the triage
until the third one is judged; the rest of the loop is a row for information. Both sides of a row are measured in turn,
in the same run, after a warm-up; times are wall times, with the load beside them. The figure of each side is its
median; in parentheses are the least and the most.
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
from collections.abc import Awaitable, Callable, Coroutine, Sequence
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
        }
        taken = await measure_in_turn(sides, samples)
    places = {"plain": "without a debugger, as with `--ci`", "debugged": "in a session, with snapshots"}
    each = [
        more_line(f"an iteration, {where}", 0, taken[side], taken["alone"], MORE_ITERATION_MS)
        for side, where in places.items()
    ]
    rest = [more_line(f"all but the iterations, {where}", 1, taken[side], taken["alone"]) for side, where in places.items()]
    return [*each, *rest]


async def measure_in_turn(sides: dict[str, Measure], samples: int) -> Taken:
    taken: Taken = {side: [] for side in sides}
    for number in range(-1, samples):  # the first one warms up
        for side, measure in sides.items():
            found = await measure()
            if number >= 0:
                taken[side].append(found)
    return taken


def more_line(
    work: str, part: int, ours: Sequence[Sequence[float]], theirs: Sequence[Sequence[float]], most_ms: float | None = None
) -> Line:
    mine, floors = ([1000 * each[part] for each in samples] for samples in (ours, theirs))
    more = median(mine) - median(floors)
    return {
        "work": work,
        "pitstop": f"{median(mine):.0f} ms ({min(mine):.0f} to {max(mine):.0f})",
        "peer": f"a shell script {median(floors):.0f} ms ({min(floors):.0f} to {max(floors):.0f})",
        "ratio": f"{more:+.0f} ms, {median(mine) / median(floors):.1f}x",
        "to reach": "-" if most_ms is None else f"<= +{most_ms:g} ms",
        "verdict": "-" if most_ms is None else judge(more <= most_ms),
    }


if __name__ == "__main__":
    f=Path(tempfile.mkdtemp(prefix="pitstop-bench-"))
    print(format_table(asyncio.run(measure_loop(f, 5, FILES))))
