"""Two checkouts in one interleaved run, each with its own .venv: whether the new one is slower anywhere.

    python bench/compare.py OLD NEW               # 30 rounds, about 5 minutes
    python bench/compare.py OLD NEW --quick       # to see that it works, not to quote

Only the public API, the `pitstop` command and HTTP are used, so the checkouts may be laid out differently. Each round
measures OLD, NEW, and NEW once more, in a rotating order. The figures are minima; those of HTTP are percentiles of all
steps. A row is WORSE when NEW takes more than OLD by over 3 % and over twice the noise, which is how far the two
measurements of NEW are apart. It ends with 1 when a row is worse.
"""

import argparse
import asyncio
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import Any

from cli import measure
from http_door import Client, Server, Stops
from rows import show

HERE = Path(__file__).parent
OLD, NEW, AGAIN = "old", "new", "new, again"
MORE_STEPS = 50
STEPS_A_ROUND = 30
WARM_UPS = 20
ALLOWED = 0.03
# Of NEW alone: the key in what debugger_costs.py prints, the goal, and whether it is a share of another cost
GOALS = (
    ("a session, nodes of 10 us", "session", 0.10, True),
    ("a jq comparison as condition, a node", "condition", 10e-6, False),
    ("a state breakpoint, a node", "state", 5e-6, False),
    ("10,000 breakpoints elsewhere", "elsewhere", 0.05, True),
    ("attaching them", "attaching", 5e-3, False),
)


@dataclass(frozen=True, slots=True)
class Checkout:
    """One contender: a checkout with an environment, and a folder for its state."""

    name: str
    path: Path
    scratch: Path

    @property
    def python(self) -> str:
        return str(self.path / ".venv/bin/python")

    @property
    def environment(self) -> dict[str, str]:
        return {**os.environ, "PITSTOP_HOME": str(self.scratch / "home"), "NO_COLOR": "1", "PYTHONPATH": ""}

    def pitstop(self, *words: str) -> list[str]:
        return [self.python, "-m", "pitstop", *words]

    def run_script(self, *words: str) -> Any:
        """What a script of this folder prints as JSON, run with the checkout's Python."""
        command = [self.python, str(HERE / words[0]), *words[1:]]
        done = subprocess.run(command, env=self.environment, check=True, stdout=subprocess.PIPE)
        return json.loads(done.stdout)


@dataclass(frozen=True, slots=True)
class Row:
    """One line of the table: the samples of each contender, and the figure that is compared."""

    work: str
    figure: Callable[[Sequence[float]], float] = min
    samples: dict[str, list[float]] = field(default_factory=lambda: {OLD: [], NEW: [], AGAIN: []})

    def cells(self) -> tuple[str, ...]:
        old, new, again = (self.figure(self.samples[name]) for name in (OLD, NEW, AGAIN))
        noise = abs(again / new - 1)
        medians = median(self.samples[NEW]) / median(self.samples[OLD])
        verdict = "WORSE" if new / old - 1 > max(ALLOWED, 2 * noise) else ""
        return (self.work, show(old), show(new), f"{new / old:.3f}x", f"{medians:.3f}x", f"{noise:.1%}", verdict)


def percentile(share: float) -> Callable[[Sequence[float]], float]:
    return lambda samples: sorted(samples)[min(len(samples) - 1, int(share * len(samples)))]


# --- Processes --------------------------------------------------------------------------------------------------------


class ProcessRows:
    """What whole processes cost, with all their children."""

    def __init__(self) -> None:
        self.cpu = Row("run of one step, CPU")
        self.wall = Row("run of one step, wall")
        self.per_step = Row("one more step, CPU")
        self.noop = Row("a no-op node, CPU")
        self.imported = Row("import pitstop, CPU")
        self.cli = Row("pitstop --help, CPU")
        self.rows = (self.cpu, self.wall, self.per_step, self.noop, self.imported, self.cli)

    def take(self, checkout: Checkout) -> None:
        def cost(*words: str) -> Any:
            return measure(words, checkout.scratch, checkout.environment)

        one = cost(*checkout.pitstop("run", "one.yaml"))
        many = cost(*checkout.pitstop("run", "many.yaml"))
        name = checkout.name
        self.cpu.samples[name].append(one.cpu_seconds)
        self.wall.samples[name].append(one.wall_seconds)
        self.per_step.samples[name].append((many.cpu_seconds - one.cpu_seconds) / MORE_STEPS)
        self.noop.samples[name].append(checkout.run_script("debugger_costs.py", "noop"))
        self.imported.samples[name].append(cost(checkout.python, "-c", "import pitstop").cpu_seconds)
        self.cli.samples[name].append(cost(*checkout.pitstop("--help")).cpu_seconds)


# --- Steps over HTTP --------------------------------------------------------------------------------------------------


class CheckoutServer(Server):
    """The server of a checkout, as `pitstop up` starts it."""

    def __init__(self, checkout: Checkout) -> None:
        self._folder = tempfile.TemporaryDirectory(dir=checkout.scratch)
        words = checkout.pitstop("up", "--no-browser", "--port", "0")
        env = {**checkout.environment, "PITSTOP_HOME": self._folder.name}
        self.process = subprocess.Popen(words, env=env, stdout=subprocess.PIPE, text=True)
        assert self.process.stdout is not None
        self.port = int(self.process.stdout.readline().rstrip("/\n").rpartition(":")[2])
        self.token = Path(self._folder.name, "token").read_text().strip()


class Stepper:
    """A client that steps through a run of a server."""

    def __init__(self, server: Server, steps: int) -> None:
        self._server = server
        self._steps = steps
        self._client: Client
        self._stops: Stops
        self._run = ""
        self._stop: dict[str, Any] = {}

    async def begin(self) -> None:
        port = self._server.port
        self._client = Client(self._server, *await asyncio.open_connection("127.0.0.1", port))
        lines = "".join(f"  - {{id: s{number}, sleep: 0s}}\n" for number in range(self._steps + WARM_UPS + 2))
        body = {"flow": {"text": f"steps:\n{lines}"}, "debug": {"stop_at_entry": True}}
        self._run = (await self._client.post("/runs", body))["id"]
        request = self._server.request(f"/runs/{self._run}/events")
        loop = asyncio.get_running_loop()
        _, self._stops = await loop.create_connection(lambda: Stops(request), "127.0.0.1", port)
        _, self._stop = await self._stops.told.get()
        await self.step(WARM_UPS)

    async def step(self, count: int) -> list[float]:
        """Seconds from each command to the next stop at the client."""
        taken = []
        loop = asyncio.get_running_loop()
        for _ in range(count):
            began = loop.time()
            await self._client.post(f"/runs/{self._run}/debug/step", {"stop": self._stop["stop"], "kind": "over"})
            _, self._stop = await self._stops.told.get()
            taken.append(loop.time() - began)
        return taken

    async def end(self) -> None:
        await self._client.post(f"/runs/{self._run}/debug/abort", {})


async def measure_http(checkouts: Sequence[Checkout], rounds: int) -> list[Row]:
    samples: dict[str, list[float]] = {checkout.name: [] for checkout in checkouts}
    with ExitStack() as stack:
        steppers = {}
        for checkout in checkouts:
            server = stack.enter_context(CheckoutServer(checkout))
            steppers[checkout.name] = stepper = Stepper(server, rounds * STEPS_A_ROUND)
            await stepper.begin()
        for turn in range(rounds):
            for checkout in rotated(checkouts, turn):
                samples[checkout.name] += await steppers[checkout.name].step(STEPS_A_ROUND)
        for stepper in steppers.values():
            await stepper.end()
    return [
        Row("a step over HTTP, p50", percentile(0.5), samples),
        Row("a step over HTTP, p99", percentile(0.99), samples),
    ]


# --- All of it --------------------------------------------------------------------------------------------------------


def rotated(checkouts: Sequence[Checkout], turn: int) -> Sequence[Checkout]:
    first = turn % len(checkouts)
    return [*checkouts[first:], *checkouts[:first]]


def compare(checkouts: Sequence[Checkout], rounds: int) -> list[Row]:
    for checkout in checkouts:
        for name, steps in (("one", 1), ("many", 1 + MORE_STEPS)):
            (checkout.scratch / f"{name}.yaml").write_text("steps:\n" + '  - run: "true"\n' * steps)
        ProcessRows().take(checkout)  # the bytecode is written
    processes = ProcessRows()
    for turn in range(rounds):
        for checkout in rotated(checkouts, turn):
            processes.take(checkout)
    return [*processes.rows, *asyncio.run(measure_http(checkouts, rounds))]


def goal_cells(new: Checkout, rounds: int) -> list[tuple[str, ...]]:
    found = new.run_script("debugger_costs.py", "debugger", "--rounds", str(rounds))
    cells: list[tuple[str, ...]] = []
    for work, key, goal, is_share in GOALS:
        value = found[key]
        shown = f"{value:+.1%}" if is_share else show(max(value, 0.0))
        wanted = f"<= {goal:.0%}" if is_share else f"<= {show(goal)}"
        cells.append((work, shown, wanted, "reached" if value <= goal else "MISSED"))
    return cells


def print_table(heads: Sequence[str], lines: Sequence[Sequence[str]]) -> None:
    widths = [max(len(line[column]) for line in (heads, *lines)) for column in range(len(heads))]
    for line in (heads, *lines):
        print("  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip())
    print(flush=True)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("old", type=Path, help="a checkout with a .venv")
    parser.add_argument("new", type=Path, help="the one that is to be no slower")
    parser.add_argument("--rounds", type=int, default=30, help="of every row (30)")
    parser.add_argument("--quick", action="store_true", help="two rounds, and no row counts as worse")
    options = parser.parse_args()
    for path in (options.old, options.new):
        if not (path / ".venv/bin/python").exists():
            parser.error(f"{path} has no .venv")
        # Where PYTHONDONTWRITEBYTECODE is set, a checkout would be compiled again at every start
        subprocess.run([path / ".venv/bin/python", "-m", "compileall", "-q", path / "src"], check=True)
    rounds = 2 if options.quick else options.rounds
    with tempfile.TemporaryDirectory(prefix="pitstop-bench-") as folder:
        checkouts = []
        for number, (name, path) in enumerate(((OLD, options.old), (NEW, options.new), (AGAIN, options.new))):
            scratch = Path(folder, str(number))
            scratch.mkdir()
            checkouts.append(Checkout(name, path.resolve(), scratch))
        lines = [row.cells() for row in compare(checkouts, rounds)]
        print_table(("work", "old", "new", "new / old", "of medians", "noise", ""), lines)
        print_table(("of the new one alone", "found", "goal", ""), goal_cells(checkouts[1], min(rounds, 10)))
    print(f"{rounds} rounds, load {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")
    return 1 if not options.quick and any(line[-1] for line in lines) else 0


if __name__ == "__main__":
    sys.exit(main())
