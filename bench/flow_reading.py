"""What reading and planning a large flow costs, beside PyYAML's C loader, which only makes dicts of it.

CPU time, the minimum of interleaved samples. Run it alone: python bench/flow_reading.py
"""

import argparse
import asyncio
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import yaml

from measure import Contender, interleave
from pitstop.definition.flow import StepTypeInfo
from pitstop.definition.yaml_reader import read_flow
from pitstop.plan.expressions import parse_template
from pitstop.plan.plan import Plan
from pitstop.plan.planner import plan_flow
from pitstop.steps.run import RunStep
from pitstop.steps.sleep import SleepStep

STEP_TYPES: dict[str, StepTypeInfo] = {"run": RunStep, "sleep": SleepStep}
STEPS, QUICK_STEPS = 10_000, 1000
CHECKED_LINES = 5_000
SECONDS_TO_CHECK = 0.5
TIMES_TO_REACH = 3.0

PLAIN_STEP = """\
  - id: build-{number}
    name: Build part {number}
    run: make part-{number}
"""
FULL_STEP = """\
  - id: test-{number}
    run: |
      make test PART={number}
      echo "python=${{{{ .inputs.python }}}}" >> "$PITSTOP_OUTPUT"
    if: .steps["build-{number}"].status == "passed"
    env: {{PART: "{number}", CI: "1"}}
    timeout: 10m
    retry: {{times: 2, delay: 5s}}
"""
CHECK = """\
import sys
from pathlib import Path

from pitstop.definition.yaml_reader import read_flow
from pitstop.plan.expressions import parse_template
from pitstop.plan.planner import plan_flow
from pitstop.steps.run import RunStep
from pitstop.steps.sleep import SleepStep

file = Path(sys.argv[1])
step_types = {"run": RunStep, "sleep": SleepStep}
plan_flow(read_flow(file.read_bytes(), str(file), step_types, read_file=Path.read_bytes, parse_template=parse_template))
"""


def flow_text(steps: int) -> str:
    written = "".join((PLAIN_STEP if number % 2 else FULL_STEP).format(number=number // 2) for number in range(steps))
    return f'name: large\ninputs:\n  python: {{default: "3.12"}}\nsteps:\n{written}'


def read_and_plan(text: str) -> Plan:
    flow = read_flow(text, "flow.yaml", STEP_TYPES, read_file=_no_file, parse_template=parse_template)
    return plan_flow(flow)


def _no_file(path: str) -> str:
    raise FileNotFoundError(path)


async def compare_with_loader(rounds: int, steps: int) -> None:
    text = flow_text(steps)

    async def load() -> object:
        return yaml.load(text, yaml.CSafeLoader)

    async def ours() -> Plan:
        return read_and_plan(text)

    contenders = [
        Contender("PyYAML", load, check=lambda loaded: len(loaded["steps"]) == steps),
        Contender("read + plan", ours, check=lambda plan: len(plan.steps) == steps),
    ]
    taken = await interleave(contenders, rounds)
    floor, cost = taken["PyYAML"].seconds, taken["read + plan"].seconds
    ratio = cost / floor
    print(
        f"{steps:,} steps, {text.count(chr(10)):,} lines   PyYAML C loader {floor:.3f} s   read + plan {cost:.3f} s"
        f"   {ratio:.2f}x (to reach: {TIMES_TO_REACH:g}x)"
    )


def measure_check(rounds: int) -> None:
    """A process that only checks, from its start to its end, beside one that does nothing."""
    lines_of_two_steps = PLAIN_STEP.count("\n") + FULL_STEP.count("\n")
    text = flow_text(2 * CHECKED_LINES // lines_of_two_steps)
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "flow.yaml")
        file.write_text(text)
        commands = {
            "python -c pass": [sys.executable, "-c", "pass"],
            "PyYAML": [sys.executable, "-c", f"import yaml; yaml.load(open({str(file)!r}), yaml.CSafeLoader)"],
            "check": [sys.executable, "-c", CHECK, str(file)],
        }
        compiled = {"PYTHONPYCACHEPREFIX": str(Path(folder, "pyc")), "PYTHONDONTWRITEBYTECODE": ""}
        environment = {**os.environ, **compiled}  # as installed: nobody compiles Pitstop each time
        for command in commands.values():
            _cost_of(command, environment)
        samples: dict[str, list[tuple[float, float]]] = {name: [] for name in commands}
        for _ in range(rounds):
            for name, command in commands.items():
                samples[name].append(_cost_of(command, environment))
    for name, taken in samples.items():
        cpu, wall = min(cpu for cpu, _ in taken), min(wall for _, wall in taken)
        goal = f"   (to reach: {SECONDS_TO_CHECK} s)" if name == "check" else ""
        print(f"{text.count(chr(10)):,} lines, {name:15} CPU {cpu * 1e3:6.0f} ms   wall {wall * 1e3:6.0f} ms{goal}")


def _cost_of(command: list[str], environment: dict[str, str]) -> tuple[float, float]:
    """CPU and wall seconds."""
    before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    subprocess.run(command, env=environment, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, time.perf_counter() - start


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=10, help="samples of each, at least")
    parser.add_argument("--quick", action="store_true", help="one round, and fewer steps: to see it work, not to quote")
    arguments = parser.parse_args()
    rounds = 1 if arguments.quick else arguments.rounds
    asyncio.run(compare_with_loader(rounds, QUICK_STEPS if arguments.quick else STEPS))
    measure_check(rounds)


if __name__ == "__main__":
    main()
