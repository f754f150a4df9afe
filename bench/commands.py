"""What a command costs through ProcessExecutor, beside what it costs without: no-ops, and 1 GB of output.

CPU is that of the whole process tree, keeper and supervisors included: they are children, counted when the executor has
been closed. Run it alone: python bench/commands.py
"""

import argparse
import asyncio
import resource
import subprocess
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from pitstop.engine.executor import Command, Placement
from pitstop.executors.machine.processes.executor import ProcessExecutor

FEW, MANY = 1, 101
ROUNDS = 10
FLOOD_BYTES = 1024**3
FLOOD_ROUNDS = 3


@dataclass(frozen=True, slots=True)
class Cost:
    """What some work took."""

    cpu_seconds: float
    wall_seconds: float


def measure(work: Callable[[], object]) -> Cost:
    cpu, wall = tree_cpu_seconds(), time.perf_counter()
    work()
    return Cost(tree_cpu_seconds() - cpu, time.perf_counter() - wall)


def tree_cpu_seconds() -> float:
    usages = (resource.getrusage(resource.RUSAGE_SELF), resource.getrusage(resource.RUSAGE_CHILDREN))
    return sum(usage.ru_utime + usage.ru_stime for usage in usages)


def run_plain(count: int) -> None:
    for _ in range(count):
        subprocess.run(["true"], check=True)


def run_through_executor(count: int) -> None:
    async def run_all() -> None:
        with tempfile.TemporaryDirectory() as folder:
            executor = ProcessExecutor(Path(folder))
            workspace = await executor.acquire(Placement())
            for number in range(count):
                command = await executor.start(workspace, Command(key=str(number), script="true"))
                async for _ in executor.logs(command):
                    raise AssertionError("a no-op says nothing")
                assert (await executor.wait(command)).state == "completed"
            await executor.close()

    asyncio.run(run_all())


def flood_into_tee() -> None:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "log")
        subprocess.run(["sh", "-c", f"head -c {FLOOD_BYTES} /dev/zero | tee {file} > /dev/null"], check=True)
        assert file.stat().st_size == FLOOD_BYTES


def flood_through_executor(*, read: bool) -> None:
    async def run() -> None:
        with tempfile.TemporaryDirectory() as folder:
            executor = ProcessExecutor(Path(folder))
            workspace = await executor.acquire(Placement())
            flood = Command(key="flood", argv=("head", "-c", str(FLOOD_BYTES), "/dev/zero"))
            command = await executor.start(workspace, flood)
            if read:
                assert sum([len(chunk.data) async for chunk in executor.logs(command)]) == FLOOD_BYTES
            assert (await executor.wait(command)).state == "completed"
            await executor.close()

    asyncio.run(run())


def measure_no_ops(rounds: int) -> None:
    """The cost of one more command: many minus few, so that starting up is left out and told apart."""
    plain, through, start_up = [], [], []
    for _ in range(rounds):
        few, many = measure(lambda: run_plain(FEW)), measure(lambda: run_plain(MANY))
        plain.append((many.cpu_seconds - few.cpu_seconds) / (MANY - FEW))
        few, many = measure(lambda: run_through_executor(FEW)), measure(lambda: run_through_executor(MANY))
        through.append((many.cpu_seconds - few.cpu_seconds) / (MANY - FEW))
        start_up.append(few.cpu_seconds)
    floor, ours = min(plain), min(through)
    print(f"no-op, CPU      subprocess.run {floor * 1e3:6.2f} ms   executor {ours * 1e3:6.2f} ms   {ours / floor:.2f}x")
    print(f"first no-op, CPU, with keeper and workspace     {min(start_up) * 1e3:6.1f} ms")


def measure_flood() -> None:
    ways: dict[str, Callable[[], object]] = {
        "tee": flood_into_tee,
        "stored": lambda: flood_through_executor(read=False),
        "stored and read": lambda: flood_through_executor(read=True),
    }
    costs: dict[str, list[Cost]] = {name: [] for name in ways}
    for _ in range(FLOOD_ROUNDS):
        for name, work in ways.items():
            costs[name].append(measure(work))
    tee_wall = min(cost.wall_seconds for cost in costs["tee"])
    tee_cpu = min(cost.cpu_seconds for cost in costs["tee"])
    for name, taken in costs.items():
        wall = min(cost.wall_seconds for cost in taken)
        cpu = min(cost.cpu_seconds for cost in taken)
        print(f"1 GB, {name:16} wall {wall:5.2f} s {wall / tee_wall:5.2f}x   CPU {cpu:5.2f} s {cpu / tee_cpu:5.2f}x")
    peaks = [resource.getrusage(who).ru_maxrss / 1024 for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    print(f"1 GB, memory at most: this process {peaks[0]:.0f} MB, any child {peaks[1]:.0f} MB")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--no-flood", action="store_true", help="leave out the 1 GB of output")
    parser.add_argument("--quick", action="store_true", help="few rounds, and no flood: to see it work, not to quote")
    arguments = parser.parse_args()
    measure_no_ops(2 if arguments.quick else ROUNDS)
    if not (arguments.no_flood or arguments.quick):
        measure_flood()


if __name__ == "__main__":
    main()
