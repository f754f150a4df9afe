"""Repositories on a server: git over HTTP beside `git daemon`, pushes that start flows, and the history of a test.

    python bench/workshop.py                       # everything, about 5 minutes
    python bench/workshop.py --only transfer       # some of it: transfer, latency, firings, history
    python bench/workshop.py --rounds 3            # how often 200 MB are pushed and cloned
    python bench/workshop.py --quick               # small amounts: to see that it works, not to quote

The server is started as users start it, on SQLite, and git is the real client. Both sides of a row are measured in
turn, in the same run; times are wall times and their medians, with the load printed beside them. The script is not
called `platform.py`, because every script of this folder would then import it in place of Python's own `platform`.
"""

import argparse
import asyncio
import json
import os
import random
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from datetime import UTC, datetime
from pathlib import Path
from statistics import median
from typing import Any

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from sqlalchemy import insert  # noqa: E402

from pitstop.platform.reports.packed_cases import pack_names, pack_results  # noqa: E402
from pitstop.platform.stored.all import stored_in  # noqa: E402
from pitstop.platform.stored.test_report_rows import test_failures, test_names, test_reports  # noqa: E402
from pitstop.runs.step_reports import CaseResult, case_id  # noqa: E402
from pitstop.service.caller import LOCAL  # noqa: E402
from pitstop.service.local.test_history import TestDesk  # noqa: E402
from pitstop.settings import Settings  # noqa: E402
from pitstop.steps.junit import CaseStatus  # noqa: E402
from pitstop.store.sql.store import open_sql_store  # noqa: E402
from server import pitstop_server  # noqa: E402
from store import format_table, judge  # noqa: E402
from tests.git.repositories import client_environment  # noqa: E402
from tests.ports import free_port  # noqa: E402

FILES, FILE_BYTES = 2_000, 100_000
PUSHES = 20
FLOWS, REPOS, BRANCHES = 500, 3, 2
RUNS, TESTS, PAGE = 1_000, 2_000, 100
TRANSFER_TIMES, MORE_MEMORY_MB = 1.15, 60.0
MORE_LATENCY_MS = 250.0
FIRING_SECONDS = 10.0
HISTORY_TIMES, HISTORY_MS = 2.0, 100.0
WAIT_SECONDS = 600.0

Line = dict[str, Any]


# --- The two servers, and the client ---------------------------------------------------------------------------------


class Server:
    """A server of Pitstop with its own state."""

    def __init__(self, home: Path, port: int, pid: int) -> None:
        self.pid = pid
        self._home = home
        self._token = (home / "token").read_text().strip()
        self._url = f"http://127.0.0.1:{port}"

    def ask(self, method: str, path: str, body: object = None) -> Any:
        headers = {"Authorization": f"Bearer {self._token}", "Content-Type": "application/json"}
        content = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(f"{self._url}/api/v1{path}", content, headers, method=method)
        with urllib.request.urlopen(request, timeout=60) as answer:
            return json.loads(answer.read() or b"null")

    def create(self, repo: str) -> str:
        """The address of a new repository."""
        self.ask("POST", "/repos", {"name": repo})
        return f"{self._url}/git/{repo}.git"

    def git_settings(self) -> list[str]:
        return ["-c", f"http.extraHeader=Authorization: Bearer {self._token}"]

    def count(self, question: str) -> int:
        """What a query of the database answers."""
        with closing(sqlite3.connect(f"file:{self._home / 'pitstop.db'}?mode=ro", uri=True, timeout=30)) as database:
            found: int = database.execute(question).fetchone()[0]
            return found

    def peak_memory_mb(self) -> float:
        """The most that the server itself has had so far, without the git that it starts."""
        status = Path(f"/proc/{self.pid}/status").read_text()
        return int(status.partition("VmHWM:")[2].split()[0]) / 1024


@contextmanager
def pitstop(folder: Path, name: str) -> Iterator[Server]:
    home, port = folder / name, free_port()
    with pitstop_server(home, port) as process:
        yield Server(home, port, process.pid)


class Daemon:
    """`git daemon`, which takes pushes, with bare repositories as `git init` makes them."""

    def __init__(self, folder: Path, port: int) -> None:
        self.folder = folder
        self._port = port

    def create(self, repo: str, hook: str = "") -> str:
        bare = self.folder / f"{repo}.git"
        git(self.folder, "init", "--quiet", "--bare", str(bare))
        if hook:
            (bare / "hooks").mkdir(exist_ok=True)
            file = bare / "hooks" / "post-receive"
            file.write_text(f"#!/bin/sh\n{hook}\n")
            file.chmod(0o755)
        return f"git://127.0.0.1:{self._port}/{repo}.git"


@contextmanager
def git_daemon(folder: Path) -> Iterator[Daemon]:
    served, port = folder / "daemon", free_port()
    served.mkdir()
    words = ["git", "daemon", f"--base-path={served}", f"--port={port}", "--listen=127.0.0.1", "--export-all"]
    with subprocess.Popen([*words, "--enable=receive-pack", "--reuseaddr"], env=client_environment()) as process:
        try:
            daemon = Daemon(served, port)
            url = daemon.create("ready")
            wait_for(lambda: git(served, "ls-remote", url, is_checked=False) == 0)
            yield daemon
        finally:
            process.terminate()


def git(folder: Path, *words: str, is_checked: bool = True) -> int:
    done = subprocess.run(
        ["git", *words], cwd=folder, env=client_environment(), check=False, capture_output=True, text=True
    )
    if is_checked and done.returncode:
        raise RuntimeError(f"git {' '.join(words[-3:])}: {done.stderr}")
    return done.returncode


def wait_for(is_so: Callable[[], bool]) -> None:
    deadline = time.monotonic() + WAIT_SECONDS
    while not is_so():
        if time.monotonic() > deadline:
            raise TimeoutError("it does not come true")
        time.sleep(0.005)


def new_clone(folder: Path, flows: dict[str, str]) -> None:
    """A repository with one commit that has these flows."""
    git(folder.parent, "init", "--quiet", str(folder))
    (folder / ".pitstop" / "flows").mkdir(parents=True)
    for name, text in flows.items():
        (folder / ".pitstop" / "flows" / f"{name}.yaml").write_text(text)
    git(folder, "add", ".")
    git(folder, "commit", "--quiet", "--allow-empty", "-m", "first")


# --- Clone and push --------------------------------------------------------------------------------------------------


def measure_transfer(folder: Path, rounds: int, files: int) -> list[Line]:
    source = make_source(folder / "source", files)
    spent: dict[tuple[str, str], list[float]] = {}
    with pitstop(folder, "transfer") as server, git_daemon(folder) as daemon:
        sides: dict[str, tuple[Callable[[str], str], list[str]]] = {
            "pitstop": (server.create, server.git_settings()),
            "peer": (daemon.create, []),
        }
        at_start = server.peak_memory_mb()
        for turn in range(-1, rounds):  # the first one warms up
            for side in sorted(sides, reverse=turn % 2 == 1):
                create, settings = sides[side]
                url = create(f"round{turn + 1}")
                times = transfer(folder, source, url, settings)
                for work, seconds in times.items() if turn >= 0 else ():
                    spent.setdefault((work, side), []).append(seconds)
            server.ask("DELETE", f"/repos/round{turn + 1}")
            shutil.rmtree(daemon.folder / f"round{turn + 1}.git")
        growth = server.peak_memory_mb() - at_start
    size = f"{files * FILE_BYTES / 1e6:,.0f} MB in {files:,} files"
    lines = [transfer_line(f"{work} {size}", spent[work, "pitstop"], spent[work, "peer"]) for work in ("push", "clone")]
    memory = {"work": f"memory of the server, {size}", "pitstop": f"{growth:.0f} MB more", "peer": "-", "ratio": "-"}
    return [*lines, {**memory, "to reach": f"< {MORE_MEMORY_MB:g} MB", "verdict": judge(growth < MORE_MEMORY_MB)}]


def make_source(source: Path, files: int) -> Path:
    """A repository in one pack of content that cannot be compressed."""
    new_clone(source, {})
    for number in range(files):
        file = source / f"{number % 50}" / f"{number}.bin"
        file.parent.mkdir(exist_ok=True)
        file.write_bytes(os.urandom(FILE_BYTES))
    git(source, "add", ".")
    git(source, "commit", "--quiet", "-m", "files")
    git(source, "-c", "pack.window=0", "repack", "-adq")
    return source


def transfer(folder: Path, source: Path, url: str, settings: Sequence[str]) -> dict[str, float]:
    """Push everything to an empty repository, and clone it without a checkout; the seconds of each."""
    began = time.perf_counter()
    git(source, *settings, "push", "--quiet", url, "HEAD:refs/heads/main")
    pushed = time.perf_counter()
    git(folder, *settings, "clone", "--quiet", "--bare", url, "copy")
    cloned = time.perf_counter()
    shutil.rmtree(folder / "copy")
    return {"push": pushed - began, "clone": cloned - pushed}


def transfer_line(work: str, ours: Sequence[float], theirs: Sequence[float]) -> Line:
    ratio = median(ours) / median(theirs)
    return {
        "work": work,
        "pitstop": f"{median(ours):.2f} s ({min(ours):.2f} to {max(ours):.2f})",
        "peer": f"git daemon {median(theirs):.2f} s ({min(theirs):.2f} to {max(theirs):.2f})",
        "ratio": f"{ratio:.2f}x",
        "to reach": f"<= {TRANSFER_TIMES}x",
        "verdict": judge(ratio <= TRANSFER_TIMES),
    }


# --- From a push to the first line of output -------------------------------------------------------------------------


def measure_latency(folder: Path, pushes: int) -> list[Line]:
    spent: dict[str, list[float]] = {"pitstop": [], "peer": []}
    with pitstop(folder, "latency") as server, git_daemon(folder) as daemon:
        files = {side: folder / f"{side}.times" for side in spent}
        commands = {side: f"date +%s.%N | tee -a {file}" for side, file in files.items()}
        clone = folder / "latency-clone"
        new_clone(clone, {"ci": f"on: push\nsteps:\n  - {{id: first, run: '{commands['pitstop']}'}}\n"})
        urls = {"pitstop": server.create("latency"), "peer": daemon.create("latency", hook=commands["peer"])}
        for number in range(-2, pushes):
            git(clone, "commit", "--quiet", "--allow-empty", "-m", f"number {number}")
            for side, taken in spent.items():
                began = time.time()
                git(clone, *server.git_settings(), "push", "--quiet", urls[side], "HEAD:refs/heads/main")
                wait_for_lines(files[side], number + 3)
                if number >= 0:
                    taken.append(float(files[side].read_text().split()[-1]) - began)
            wait_for(lambda: all(run["status"] == "passed" for run in server.ask("GET", "/runs?limit=5")["runs"]))
    ours, floor = (1000 * median(spent[side]) for side in ("pitstop", "peer"))
    return [
        {
            "work": f"push to the first line of the step's output, p50 of {pushes}",
            "pitstop": f"{ours:.0f} ms ({1000 * min(spent['pitstop']):.0f} to {1000 * max(spent['pitstop']):.0f})",
            "peer": f"post-receive hook behind git daemon {floor:.0f} ms",
            "ratio": f"+{ours - floor:.0f} ms",
            "to reach": f"<= +{MORE_LATENCY_MS:g} ms",
            "verdict": judge(ours - floor <= MORE_LATENCY_MS),
        }
    ]


def wait_for_lines(file: Path, wanted: int) -> None:
    wait_for(lambda: count_lines(file) >= wanted)


def count_lines(file: Path) -> int:
    return file.read_text().count("\n") if file.exists() else 0


# --- Many firings at once --------------------------------------------------------------------------------------------


def measure_firings(folder: Path, flows: int) -> list[Line]:
    wanted = flows * BRANCHES
    with pitstop(folder, "firings") as server:
        pushing = []
        for number in range(REPOS):
            names = range(number, flows, REPOS)
            clone = folder / f"firings-clone-{number}"
            new_clone(clone, {f"flow-{name:03}": "on: push\nsteps:\n  - sleep: 0s\n" for name in names})
            git(clone, "commit", "--quiet", "--allow-empty", "-m", "second")
            url = server.create(f"many{number}")
            words = [
                "git",
                *server.git_settings(),
                "push",
                "--quiet",
                url,
                "HEAD~:refs/heads/one",
                "HEAD:refs/heads/two",
            ]
            pushing.append((words, clone))
        began = time.monotonic()
        clients = [subprocess.Popen(words, cwd=clone, env=client_environment()) for words, clone in pushing]
        wait_for(lambda: server.count("SELECT count(*) FROM firings") >= wanted)
        decided = time.monotonic() - began
        wait_for(lambda: server.count("SELECT count(*) FROM firings WHERE outcome = 'pending'") == 0)
        started = time.monotonic() - began
        ended = server.count("SELECT count(*) FROM runs WHERE status = 'passed'")
        if any(client.wait() for client in clients):
            raise RuntimeError("a push has failed")
        once = "SELECT repo, flow, ref FROM firings WHERE outcome = 'started' GROUP BY 1, 2, 3 HAVING count(*) = 1"
        fired = server.count(f"SELECT count(*) FROM ({once})")
        runs = server.count("SELECT count(*) FROM runs WHERE id IN (SELECT run FROM firings)")
        is_once = fired == runs == wanted == server.count("SELECT count(*) FROM firings")
    times = f"decided in {decided:.1f} s, all runs created in {started:.1f} s ({ended:,} had ended by then)"
    return [
        {
            "work": f"{wanted:,} firings at once: {flows} flows of {REPOS} repositories, {BRANCHES} branches",
            "pitstop": f"{times}; each once: {'yes' if is_once else f'NO ({fired} firings, {runs} runs)'}",
            "peer": "-",
            "ratio": "-",
            "to reach": f"<= {FIRING_SECONDS:g} s, each once",
            "verdict": judge(is_once and decided <= FIRING_SECONDS),
        }
    ]


# --- The history of one test -----------------------------------------------------------------------------------------


def measure_history(folder: Path, runs: int, tests: int, samples: int) -> list[Line]:
    with pitstop(folder, "history") as server:
        server.create("shop")
    database = Settings(folder / "history").database
    case = "tests.module_7.TestThing::test_7"
    asyncio.run(fill(database, runs, tests))
    plain = time_plain_sql(database.removeprefix("sqlite:///"), case, samples)
    desk = asyncio.run(time_desk(database, case, samples))
    with pitstop(folder, "history") as server:
        path = f"/repos/shop/tests/history?flow=ci&step=test&case={case}&limit={PAGE}"
        over_http = []
        for _ in range(samples):
            began = time.perf_counter()
            results = server.ask("GET", path)["results"]
            over_http.append(time.perf_counter() - began)
            assert len(results) == min(PAGE, runs)
    work = f"history of a test, {runs:,} runs x {tests:,} tests, a page of {PAGE}"
    return [history_line(f"{work}, desk", desk, plain, True), history_line(f"{work}, HTTP", over_http, plain, False)]


def history_line(work: str, ours: Sequence[float], theirs: Sequence[float], is_compared: bool) -> Line:
    ratio, page = median(ours) / median(theirs), 1000 * median(ours)
    return {
        "work": work,
        "pitstop": f"{page:.1f} ms ({1000 * min(ours):.1f} to {1000 * max(ours):.1f})",
        "peer": f"plain SQL {1000 * median(theirs):.1f} ms",
        "ratio": f"{ratio:.2f}x",
        "to reach": f"<= {HISTORY_TIMES:g}x, < {HISTORY_MS:g} ms" if is_compared else f"< {HISTORY_MS:g} ms",
        "verdict": judge(page < HISTORY_MS and (ratio <= HISTORY_TIMES or not is_compared)),
    }


async def fill(url: str, runs: int, tests: int) -> None:
    """Store reports whose suite grows by a test every ten runs, and in which one test of a thousand fails."""
    store = await open_sql_store(url)
    known: set[bytes] = set()
    async with store.database.write() as connection:
        for number in range(runs):
            cases = make_cases(number, tests)
            names, run = pack_names(cases), f"20260101-{number:06}"
            if names.hash not in known:
                known.add(names.hash)
                await connection.execute(insert(test_names), [{"hash": names.hash, "body": names.body}])
            failures = {key: case for key, case in cases.items() if case.is_failing}
            row: Line = {
                "run": run,
                "step": "test",
                "repo": "shop",
                "ref": "main",
                "flow": "ci",
                "sha": f"{number:040x}",
            }
            row |= {"at": float(number), "total": len(cases), "failed": len(failures), "errors": 0, "skipped": 0}
            row |= {"seconds": 1.0, "is_complete": True, "names": names.hash, "results": pack_results(cases)}
            await connection.execute(insert(test_reports), [row])
            rows = [
                {"run": run, "step": "test", "case": key, "suite": case.suite, "name": case.name}
                | {"status": case.status, "message": "assert 1 == 2", "fingerprint": "aa"}
                for key, case in failures.items()
            ]
            if rows:
                await connection.execute(insert(test_failures), rows)
    await store.close()


def make_cases(run: int, tests: int) -> dict[str, CaseResult]:
    chance = random.Random(run)
    cases = {}
    for number in range(tests + run // 10):
        status: CaseStatus = "failed" if chance.random() < 0.001 else "passed"
        case = CaseResult(f"tests.module_{number % 80}.TestThing", f"test_{number}", status, chance.randrange(900))
        cases[case_id(case.suite, case.name)] = case
    return cases


def time_plain_sql(file: str, case: str, samples: int) -> list[float]:
    """One statement for the same rows, with the driver alone; nothing is unpacked."""
    page = (
        "SELECT r.run, r.step, r.sha, r.ref, r.at, r.names, r.results, f.message, f.fingerprint FROM test_reports r "
        'LEFT JOIN test_failures f ON f.run = r.run AND f.step = r.step AND f."case" = ? '
        "WHERE r.repo = 'shop' AND r.flow = 'ci' AND r.step = 'test' ORDER BY r.at DESC, r.run DESC LIMIT ?"
    )
    spent = []
    with closing(sqlite3.connect(file)) as database:
        for _ in range(samples):
            began = time.perf_counter()
            rows = database.execute(page, (case, PAGE)).fetchall()
            spent.append(time.perf_counter() - began)
            assert rows
    return spent


async def time_desk(url: str, case: str, samples: int) -> list[float]:
    store = await open_sql_store(url)
    workshop: Any = stored_in(store.database, store.news)  # all that the desk needs of it
    desk = TestDesk(workshop)
    spent = []
    for _ in range(samples):
        began = time.perf_counter()
        await desk.history(LOCAL, "shop", "ci", "test", case, limit=PAGE)
        spent.append(time.perf_counter() - began)
    await store.close()
    return spent


# --- The table -------------------------------------------------------------------------------------------------------


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="transfer,latency,firings,history", help="which rows")
    parser.add_argument("--rounds", type=int, default=5, help="how often everything is pushed and cloned")
    parser.add_argument("--quick", action="store_true", help="small amounts: to see it work, not to quote")
    parser.add_argument("--json", type=Path, default=ROOT / "bench/workshop.json", help="where the results go")
    options = parser.parse_args()
    is_quick: bool = options.quick
    rounds, files = (1, 100) if is_quick else (options.rounds, FILES)
    measures: dict[str, Callable[[Path], list[Line]]] = {
        "transfer": lambda folder: measure_transfer(folder, rounds, files),
        "latency": lambda folder: measure_latency(folder, 3 if is_quick else PUSHES),
        "firings": lambda folder: measure_firings(folder, 30 if is_quick else FLOWS),
        "history": lambda folder: measure_history(folder, *((20, 100, 3) if is_quick else (RUNS, TESTS, 30))),
    }
    names = options.only.split(",")
    if unknown := [name for name in names if name not in measures]:
        parser.error(f"no such row: {', '.join(unknown)}; there are {', '.join(measures)}")
    lines: list[Line] = []
    for name in names:
        folder = Path(tempfile.mkdtemp(prefix="pitstop-bench-"))
        try:
            lines += [{**line, "load": f"{os.getloadavg()[0]:.1f}"} for line in measures[name](folder)]
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
