"""What containers cost, beside the `docker` command on the same daemon, in one run.

    python bench/container.py                     # everything, about 3 minutes
    python bench/container.py --only step,echo    # some tables
    python bench/container.py --quick             # few rounds: to see that it works, not to quote

A private daemon is started, as the tests do it: that needs root, docker.io and busybox-static. Wall time, because the
work is done in the daemon. Rounds are interleaved; the figures are the minimum and the median of all.
"""

import argparse
import asyncio
import contextlib
import fcntl
import os
import pty
import struct
import subprocess
import sys
import tempfile
import termios
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping, Sequence
from functools import partial
from itertools import count
from pathlib import Path
from statistics import median

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from pitstop.engine.executor import Command, CommandRef, Placement, ShellRequest, WorkspaceRef  # noqa: E402
from pitstop.executors.machine.containers.finding import find_engine  # noqa: E402
from pitstop.executors.machine.containers.launcher import ContainerLauncher  # noqa: E402
from pitstop.executors.machine.placing import PlacingExecutor  # noqa: E402
from pitstop.executors.machine.processes.executor import ProcessExecutor  # noqa: E402
from tests.containers import BOX, Docker  # noqa: E402

TABLES = ("step", "flow", "shell", "echo", "flood")
QUICK_TABLES = TABLES[:-1]  # Docker takes most of a minute to log the flood
FLOW_STEPS = 10
KEYS = 300
FLOOD_MB = 300
PROMPT = b"# "
NUMBERS = count(1)


class Bench:
    """The daemon, an executor on it with a workspace, and how often things are done."""

    def __init__(self, host: str, executor: PlacingExecutor, workspace: WorkspaceRef, rounds: int) -> None:
        self.host = host
        self.executor = executor
        self.workspace = workspace
        self.rounds = rounds

    async def docker(self, *words: str) -> None:
        process = await asyncio.create_subprocess_exec(
            "docker", "-H", self.host, *words, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
        )
        _, errors = await process.communicate()
        if process.returncode:
            raise RuntimeError(f"docker {' '.join(words)}: {errors.decode()}")

    async def start(self, *argv: str) -> CommandRef:
        command = Command(key=f"bench:{next(NUMBERS)}", argv=argv, image=BOX)
        return await self.executor.start(self.workspace, command)

    async def compare(self, contenders: Mapping[str, Callable[[], Awaitable[object]]]) -> dict[str, list[float]]:
        """Seconds of each contender in each round; one round more is thrown away."""
        taken: dict[str, list[float]] = {name: [] for name in contenders}
        for number in range(self.rounds + 1):
            for name, work in contenders.items():
                began = time.perf_counter()
                await work()
                if number:
                    taken[name].append(time.perf_counter() - began)
        return taken


def show(title: str, taken: Mapping[str, list[float]], peer: str, ours: str, limit: float) -> None:
    print(f"\n{title}")
    for name, seconds in taken.items():
        print(f"  {name:34} min {min(seconds) * 1e3:7.1f} ms   median {median(seconds) * 1e3:7.1f} ms")
    ratio, ratio_of_medians = min(taken[ours]) / min(taken[peer]), median(taken[ours]) / median(taken[peer])
    told = f"{ratio:.2f}x, medians {ratio_of_medians:.2f}x; to reach <= {limit}x: {_verdict(ratio <= limit)}"
    print(f"  {ours} / {peer}: {told}")


async def table_of_step(bench: Bench) -> None:
    async def ours() -> None:
        command = await bench.start("true")
        async for _ in bench.executor.logs(command):
            pass
        assert (await bench.executor.wait(command)).state == "completed"

    mounts = [
        f"--volume={folder}:{folder}"
        for folder in (bench.workspace.repo, bench.workspace.home, bench.workspace.artifacts, bench.workspace.control)
    ]
    same = ("--init", "--log-driver=none", "--workdir", bench.workspace.repo, "--user=0:0", *mounts)
    contenders = {
        "docker run --rm": partial(bench.docker, "run", "--rm", BOX, "true"),
        "docker run --rm, as our steps are": partial(bench.docker, "run", "--rm", *same, BOX, "true"),
        "pitstop": ours,
    }
    show("A step that does nothing", await bench.compare(contenders), "docker run --rm", "pitstop", 1.1)


async def table_of_flow(bench: Bench) -> None:
    """One more step of `pitstop run`: a flow of many less a flow of one."""
    with tempfile.TemporaryDirectory() as folder:

        async def run(steps: int) -> None:
            flow = _write_flow(Path(folder), steps)
            env = {**os.environ, "DOCKER_HOST": bench.host, "PITSTOP_HOME": folder}
            process = await asyncio.create_subprocess_exec(
                *(sys.executable, "-m", "pitstop", "run", str(flow)), env=env, stdout=subprocess.DEVNULL
            )
            assert await process.wait() == 0

        async def many_docker() -> None:
            for _ in range(FLOW_STEPS):
                await bench.docker("run", "--rm", BOX, "true")

        bench.rounds = max(2, bench.rounds // 5)
        taken = await bench.compare(
            {"docker": many_docker, "one": partial(run, 1), "many": partial(run, FLOW_STEPS + 1)}
        )
    each = {
        "docker run --rm": [seconds / FLOW_STEPS for seconds in taken["docker"]],
        "pitstop run, one more step": [
            (many - one) / FLOW_STEPS for one, many in zip(taken["one"], taken["many"], strict=True)
        ],
    }
    title = "One more step of a flow that does nothing, with all that a run keeps of it"
    show(title, each, "docker run --rm", "pitstop run, one more step", 1.1)
    print(f"  a whole run of one step: {min(taken['one']) * 1e3:.0f} ms")


async def table_of_shell(bench: Bench) -> None:
    async with running(bench) as (command, name):

        async def ours() -> None:
            shell = await bench.executor.shell(bench.workspace, ShellRequest(argv=("sh",), image=BOX, beside=command))
            seen = b""
            while PROMPT not in seen:
                seen += await shell.read()
            opened.append(time.perf_counter())
            await shell.close()

        async def theirs() -> None:
            await asyncio.to_thread(_exec_to_prompt, bench.host, name, opened)

        taken: dict[str, list[float]] = {"docker exec -it": [], "pitstop shell": []}
        for number in range(bench.rounds + 1):
            for contender, open_one in (("docker exec -it", theirs), ("pitstop shell", ours)):
                opened: list[float] = []
                began = time.perf_counter()
                await open_one()
                if number:
                    taken[contender].append(opened[0] - began)
    show("A shell in the container of a step: open to prompt", taken, "docker exec -it", "pitstop shell", 1.2)


async def table_of_echo(bench: Bench) -> None:
    async with running(bench) as (command, name):
        argv = ("sh", "-c", "stty -icanon; echo \\# ; exec cat")
        shell = await bench.executor.shell(bench.workspace, ShellRequest(argv=argv, image=BOX, beside=command))
        seen = b""
        while b"#" not in seen:
            seen += await shell.read()
        ours = []
        for _ in range(KEYS):
            began = time.perf_counter()
            await shell.write(b"x")
            while b"x" not in await shell.read():
                pass
            ours.append(time.perf_counter() - began)
        await shell.close()
        theirs = await asyncio.to_thread(_exec_echoes, bench.host, name)
    print(f"\nA key and its echo, {KEYS} times")
    for contender, seconds in (("docker exec -it", theirs), ("pitstop shell", ours)):
        in_order = sorted(seconds)
        p99 = in_order[int(len(in_order) * 0.99)]
        print(f"  {contender:34} median {median(in_order) * 1e3:7.2f} ms   p99 {p99 * 1e3:7.2f} ms")
    p99 = sorted(ours)[int(len(ours) * 0.99)]
    print(f"  to reach p99 < 20 ms: {_verdict(p99 < 0.020)}")


async def table_of_flood(bench: Bench) -> None:
    words = ("dd", "if=/dev/zero", "bs=1M", f"count={FLOOD_MB}")

    async def ours() -> None:
        command = await bench.start(*words)
        result = await bench.executor.wait(command)
        assert result.state == "completed"

    bench.rounds = max(2, bench.rounds // 5)
    contenders = {
        "docker run --rm --log-driver none": partial(bench.docker, "run", "--rm", "--log-driver=none", BOX, *words),
        "docker run --rm": partial(bench.docker, "run", "--rm", BOX, *words),
        "pitstop": ours,
    }
    taken = await bench.compare(contenders)
    print(f"\n{FLOOD_MB} MB of output from one step; ours is written to disk")
    for name, seconds in taken.items():
        print(f"  {name:34} {FLOOD_MB / min(seconds):7.0f} MB/s")
    print(f"  to reach > 100 MB/s: {_verdict(FLOOD_MB / min(taken['pitstop']) > 100)}")


@contextlib.asynccontextmanager
async def running(bench: Bench) -> AsyncIterator[tuple[CommandRef, str]]:
    """A command that runs, and the name of its container."""
    command = await bench.start("sh", "-c", "echo up; exec sleep 1000")
    async for _ in bench.executor.logs(command):
        break
    yield command, _running_container(bench.host)
    await bench.executor.cancel(command, grace=0)


def _running_container(host: str) -> str:
    words = ["docker", "-H", host, "ps", "--format", "{{.Names}}"]
    return subprocess.run(words, capture_output=True, text=True, check=True).stdout.split()[0]


def _write_flow(folder: Path, steps: int) -> Path:
    flow = folder / f"{steps}.yaml"
    flow.write_text(f"image: {BOX}\nsteps:\n" + '  - run: "true"\n' * steps)
    return flow


@contextlib.contextmanager
def _terminal(words: list[str]) -> Iterator[int]:
    """A command on a terminal of its own, ended with the block."""
    pid, terminal = pty.fork()
    if pid == 0:
        os.execvp(words[0], words)
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
    try:
        yield terminal
    finally:
        os.close(terminal)
        os.waitpid(pid, 0)


def _exec_to_prompt(host: str, name: str, opened: list[float]) -> None:
    with _terminal(["docker", "-H", host, "exec", "-it", name, "sh"]) as terminal:
        seen = b""
        while PROMPT not in seen:
            seen += os.read(terminal, 65536)
        opened.append(time.perf_counter())
        os.write(terminal, b"exit\n")
        with contextlib.suppress(OSError):
            while os.read(terminal, 65536):
                pass


def _exec_echoes(host: str, name: str) -> list[float]:
    taken = []
    words = ["docker", "-H", host, "exec", "-it", name, "sh", "-c", "stty -icanon; echo \\# ; exec cat"]
    with _terminal(words) as terminal:
        seen = b""
        while b"#" not in seen:
            seen += os.read(terminal, 65536)
        for _ in range(KEYS):
            began = time.perf_counter()
            os.write(terminal, b"x")
            while b"x" not in os.read(terminal, 65536):
                pass
            taken.append(time.perf_counter() - began)
        os.write(terminal, b"\x03")
        with contextlib.suppress(OSError):
            while os.read(terminal, 65536):
                pass
    return taken


def _verdict(reached: bool) -> str:
    return "reached" if reached else "MISSED"


async def run_tables(host: str, wanted: Sequence[str], rounds: int) -> None:
    with tempfile.TemporaryDirectory(prefix="pitstop-bench-") as folder:
        launcher = partial(ContainerLauncher, partial(find_engine, {"DOCKER_HOST": host}))
        executor = PlacingExecutor(ProcessExecutor(Path(folder)), launcher)
        try:
            workspace = await executor.acquire(Placement())
            for name in wanted:
                await globals()[f"table_of_{name}"](Bench(host, executor, workspace, rounds))
        finally:
            await executor.close()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", help=f"which tables, of {', '.join(TABLES)}")
    parser.add_argument("--quick", action="store_true", help="few rounds")
    options = parser.parse_args()
    tables = options.only.split(",") if options.only else QUICK_TABLES if options.quick else TABLES
    docker = Docker()
    try:
        docker.start()
        docker.make_images()
        asyncio.run(run_tables(docker.host, tables, 1 if options.quick else 20))
    finally:
        docker.remove()


if __name__ == "__main__":
    main()
