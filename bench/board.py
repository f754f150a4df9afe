"""Cards on a server: the board of a repository with 5,000 of them, and approving one beside `git merge`.

    python bench/board.py                          # everything, about two minutes
    python bench/board.py --only board             # some of it: board, approve
    python bench/board.py --quick                  # small amounts: to see that it works, not to quote

The server is started as users start it, on SQLite. Cards are inserted as rows and their branches by `git fast-import`,
so that only reading and merging them is measured. Both sides of a row are measured in turn, in the same run; times are
wall times and their medians, with the load printed beside them.
"""

import argparse
import asyncio
import http.client
import json
import os
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from statistics import median, quantiles
from typing import Any

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

import msgspec  # noqa: E402
from msgspec.structs import replace  # noqa: E402
from sqlalchemy import Table, insert, update  # noqa: E402

from pitstop.git.merged_trees import ConflictFile  # noqa: E402
from pitstop.platform.cards.card_values import (  # noqa: E402
    AttemptRecord,
    CardRecord,
    Conflict,
    Work,
    card_id,
)
from pitstop.platform.cards.positions import STEP  # noqa: E402
from pitstop.platform.cards.work_flows import branch_name  # noqa: E402
from pitstop.platform.live_state import Live  # noqa: E402
from pitstop.platform.lives import CARD_MOVES  # noqa: E402
from pitstop.platform.stored.card_rows import attempts, card_row, cards  # noqa: E402
from pitstop.platform.stored.repos import repos  # noqa: E402
from pitstop.settings import Settings  # noqa: E402
from pitstop.store.sql.schema import runs  # noqa: E402
from pitstop.store.sql.store import open_sql_store  # noqa: E402
from server import pitstop_server  # noqa: E402
from store import format_table, judge  # noqa: E402
from tests.git.repositories import client_environment  # noqa: E402
from tests.ports import free_port  # noqa: E402
from workshop import Server, git, pitstop, wait_for  # noqa: E402

IN_COLUMN, SHOWN = 1_000, 50
SAMPLES = 100
FILES, CHANGED, APPROVALS = 20_000, 100, 20
FOLDERS, CHANGED_FOLDERS = 200, 10
BOARD_MS, BOARD_KB = 50.0, 200.0
APPROVE_TIMES = 1.0
WARM_UPS = 2
REPO = "shop"
STARTED_AT = 1_790_000_000.0

Line = dict[str, Any]

TITLES = (
    "Parse prices with a comma as the decimal separator",
    "Retry the payment when the provider answers 503",
    "Show the delivery date in the customer's time zone",
    "Speed up the search for products without a category",
    "Remove the deprecated export of orders",
    "Validate postal codes of Ireland and the Netherlands",
    "Do not send the invoice twice after a timeout",
    "Log in with a passkey",
)
LABELS = ("backend", "frontend", "bug", "urgent", "payments", "search")
AGENTS = ("claude", "codex", "gemini")
REASONS = {"failed": "test failed: tests/test_prices.py::test_a_comma and 3 others", "in_review": None}
COLUMNS = (
    *("id", "repo", "number", "title", "status", "position", "kind", "profile", "labels", "base", "branch"),
    *("head_sha", "landed_at", "attempt", "run", "reason", "version", '"by"', "created_at", "updated_at"),
)
SELECT = (
    f"SELECT {', '.join(f'cards.{name}' for name in COLUMNS)}, cards.conflict IS NOT NULL, runs.status FROM cards "
    "LEFT OUTER JOIN runs ON runs.id = cards.run WHERE cards.status = ? AND cards.repo = ? "
    "ORDER BY cards.position, cards.id LIMIT ?"
)


# --- Repositories and cards ------------------------------------------------------------------------------------------


def fast_import(repository: Path, stream: Iterable[bytes]) -> None:
    """Make commits and branches of a stream."""
    words = ["git", f"--git-dir={repository}", "fast-import", "--quiet"]
    with subprocess.Popen(words, stdin=subprocess.PIPE, env=client_environment()) as process:
        assert process.stdin is not None
        for piece in stream:
            process.stdin.write(piece)
        process.stdin.close()
        if process.wait():
            raise RuntimeError("git fast-import has failed")


def commit(branch: str, message: str, files: Mapping[str, str], start: str = "") -> Iterator[bytes]:
    """One commit of a stream, on a branch that begins at `start`."""
    yield f"commit refs/heads/{branch}\ncommitter Ada <ada@example.org> {STARTED_AT:.0f} +0000\n".encode()
    yield f"data {len(message)}\n{message}\n".encode()
    if start:
        yield f"from refs/heads/{start}\n".encode()
    for path, content in files.items():
        yield f"M 100644 inline {path}\ndata {len(content)}\n{content}\n".encode()


def heads_of(repository: Path) -> dict[str, str]:
    words = ["git", f"--git-dir={repository}", "for-each-ref", "--format=%(refname:lstrip=2) %(objectname)"]
    return dict(line.split(" ") for line in output_of([*words, "refs/heads"]).splitlines())


def output_of(words: Sequence[str]) -> str:
    return subprocess.run(words, env=client_environment(), check=True, capture_output=True, text=True).stdout


def make_card(number: int, status: Any, position: float) -> CardRecord:
    """A card as one looks in its column, without the commits of its branch."""
    title = f"{TITLES[number % len(TITLES)]} ({number})"
    is_begun = status != "todo"
    return CardRecord(
        id=card_id(REPO, number),
        repo=REPO,
        number=number,
        title=title,
        description=f"{title}. See the report of the customer, and add a test for it.\n" * 5,
        status=status,
        position=position,
        work=Work(agent=AGENTS[number % 3], prompt="Run the tests before you finish."),
        base="main",
        labels=tuple(LABELS[(number + each) % len(LABELS)] for each in range(number % 4)),
        branch=branch_name(number, title) if is_begun else None,
        attempt=1 + number % 3 if is_begun else 0,
        run=f"20260101-{number:06}-beef" if is_begun else None,
        reason=REASONS.get(status),
        version=3,
        by="ada",
        created_at=STARTED_AT + number,
        updated_at=STARTED_AT + 2 * number,
    )


def with_commits(card: CardRecord, heads: Mapping[str, str]) -> CardRecord:
    """The card at the commit of its branch; every tenth one in review has a conflict."""
    if card.branch is None:
        return card
    base, head = heads["main"], heads[card.branch]
    card = replace(card, base_sha=base, head_sha=head)
    if card.status == "done":
        return replace(card, merged_sha=head, landed_at=card.updated_at if card.number % 2 else None)
    if card.status == "in_review" and card.number % 10 == 0:
        conflict = Conflict(base_sha=base, head_sha=head, files=(ConflictFile("src/prices.py", "text"),))
        return replace(card, conflict=conflict)
    return card


def attempt_row(card: CardRecord) -> Line:
    live = Live(tool="shell", about="shell: python3 -m pytest -q tests", calls=31, cost=0.42, tokens=90_000)
    attempt = AttemptRecord(
        card=card.id,
        number=card.attempt,
        repo=REPO,
        kind="work",
        run=card.run or "",
        from_sha=card.base_sha or "",
        to_sha=card.head_sha,
        parents=(card.base_sha or "",),
        text="steps: []",
        prompt=card.description,
        by="ada",
        started_at=card.created_at,
        ended_at=card.updated_at,
        profile=card.work.agent,
        outcome="passed",
        live=live,
    )
    row: Line = msgspec.to_builtins(attempt)
    return row


def run_row(card: CardRecord) -> Line:
    """The run of a card. It has passed, so that no server goes on with it."""
    row: Line = {"id": card.run, "flow": f"card/{card.number}", "file": "flow.yaml", "status": "passed", "repo": REPO}
    row |= {"created_at": card.created_at, "failures": [], "intervened": False, "request": {}, "texts": {}}
    return row | {"carried_over": 0, "is_partial": False, "priority": 0, "is_pinned": False}


async def store_cards(home: Path, stored: Sequence[CardRecord]) -> None:
    begun = [card for card in stored if card.run is not None]
    rows: list[tuple[Table, list[Line]]] = [
        (cards, [card_row(card) for card in stored]),
        (attempts, [attempt_row(card) for card in begun]),
        (runs, [run_row(card) for card in begun]),
    ]
    store = await open_sql_store(Settings(home).database)
    async with store.database.write() as connection:
        for table, some in rows:
            for row in some:
                await connection.execute(insert(table).values(row))
        await connection.execute(update(repos).where(repos.c.id == REPO).values(next_card=len(stored) + 1))
    await store.close()


def wait_until_scanned(server: Server, branches: int) -> None:
    """Wait until the server has taken notice of all branches."""
    wait_for(lambda: server.count("SELECT count(*) FROM refs") >= branches)


# --- The board -------------------------------------------------------------------------------------------------------


def measure_board(folder: Path, in_column: int, samples: int) -> list[Line]:
    home = folder / "board"
    with pitstop(folder, "board") as server:
        server.create(REPO)
    made = [
        make_card(place * in_column + position + 1, status, position * STEP)
        for place, status in enumerate(CARD_MOVES)
        for position in range(in_column)
    ]
    bare = home / "repos" / f"{REPO}.git"
    fast_import(bare, board_commits(made))
    heads = heads_of(bare)
    asyncio.run(store_cards(home, [with_commits(card, heads) for card in made]))
    port = free_port()
    with pitstop_server(home, port) as process:
        wait_until_scanned(Server(home, port, process.pid), len(heads))
        spent, size = time_board(home, port, in_column, samples)
    return board_lines(len(made), spent, size)


def board_commits(made: Sequence[CardRecord]) -> Iterator[bytes]:
    yield from commit("main", "first", {"src/prices.py": "PRICES = {}"})
    for card in made:
        if card.branch is not None:
            yield from commit(card.branch, card.title, {f"src/{card.number}.py": card.title}, "main")


def time_board(home: Path, port: int, in_column: int, samples: int) -> tuple[dict[str, list[float]], int]:
    """The seconds of both sides, and the bytes of the answer over HTTP."""
    path = f"/api/v1/repos/{REPO}/cards"
    file = Settings(home).database.removeprefix("sqlite:///")
    spent: dict[str, list[float]] = {"pitstop": [], "peer": []}
    with closing(sqlite3.connect(f"file:{file}?mode=ro", uri=True)) as database, closing(Page(home, port)) as page:

        def select() -> None:
            for status in CARD_MOVES:
                rows = database.execute(SELECT, (status, REPO, SHOWN + 1)).fetchall()
                assert len(rows) == min(SHOWN + 1, in_column)

        sides: dict[str, Callable[[], object]] = {"pitstop": lambda: page.get(path), "peer": select}
        for turn in range(-WARM_UPS, samples):
            for side in sorted(sides, reverse=turn % 2 == 1):
                began = time.perf_counter()
                sides[side]()
                if turn >= 0:
                    spent[side].append(time.perf_counter() - began)
        body = page.get(path)
    columns = json.loads(body)["columns"]
    assert [column["count"] for column in columns] == [in_column] * len(CARD_MOVES)
    assert all(len(column["cards"]) == min(SHOWN, in_column) for column in columns)
    return spent, len(body)


class Page:
    """A client that keeps its connection, as a browser does, and accepts no compression."""

    def __init__(self, home: Path, port: int) -> None:
        self._connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
        self._headers = {"Authorization": f"Bearer {(home / 'token').read_text().strip()}"}

    def get(self, path: str) -> bytes:
        self._connection.request("GET", path, headers=self._headers)
        with self._connection.getresponse() as answer:
            assert answer.status == 200, answer.read()
            return answer.read()

    def close(self) -> None:
        self._connection.close()


def board_lines(count: int, spent: Mapping[str, Sequence[float]], size: int) -> list[Line]:
    ours, theirs = median(spent["pitstop"]), median(spent["peer"])
    tail = quantiles(spent["pitstop"], n=20)[-1]
    work = f"board of {count:,} cards over HTTP"
    return [
        {
            "work": f"{work}, p50 of {len(spent['pitstop'])}",
            "pitstop": f"{1000 * ours:.1f} ms (min {1000 * min(spent['pitstop']):.1f}, p95 {1000 * tail:.1f})",
            "peer": f"the five selects by the driver alone {1000 * theirs:.1f} ms",
            "ratio": f"{ours / theirs:.1f}x",
            "to reach": f"<= {BOARD_MS:g} ms",
            "verdict": judge(1000 * ours <= BOARD_MS),
        },
        {
            "work": f"{work}, its size",
            "pitstop": f"{size / 1000:.0f} KB",
            "peer": "-",
            "ratio": "-",
            "to reach": f"<= {BOARD_KB:g} KB",
            "verdict": judge(size <= 1000 * BOARD_KB),
        },
    ]


# --- Approving -------------------------------------------------------------------------------------------------------


def measure_approve(folder: Path, files: int, rounds: int) -> list[Line]:
    home, source, clone = folder / "approve", folder / "source.git", folder / "clone"
    made = [make_card(number, "in_review", number * STEP) for number in range(1, rounds + WARM_UPS + 1)]
    git(folder, "init", "--quiet", "--bare", "--initial-branch=main", str(source))
    fast_import(source, approve_commits(made, files))
    heads = heads_of(source)
    with pitstop(folder, "approve") as server:
        git(source, *server.git_settings(), "push", "--quiet", server.create(REPO), "refs/heads/*:refs/heads/*")
        wait_until_scanned(server, len(heads))
    asyncio.run(store_cards(home, [replace(with_commits(card, heads), conflict=None) for card in made]))
    git(folder, "clone", "--quiet", "--no-local", str(source), str(clone))
    spent: dict[str, list[float]] = {"pitstop": [], "peer": []}
    with pitstop(folder, "approve") as server:
        for turn, card in enumerate(made):
            for side in sorted(spent, reverse=turn % 2 == 1):
                began = time.perf_counter()
                if side == "pitstop":
                    server.ask("POST", f"/cards/{card.id}/approve", {"expect": heads[card.branch or ""]})
                else:
                    merge_in(clone, card)
                if turn >= WARM_UPS:
                    spent[side].append(time.perf_counter() - began)
    trees = {tree_of(home / "repos" / f"{REPO}.git", "main"), tree_of(clone / ".git", "HEAD")}
    assert len(trees) == 1, "the two sides have merged something else"
    return [approve_line(files, spent)]


def approve_commits(made: Sequence[CardRecord], files: int) -> Iterator[bytes]:
    """A base, and a branch for each card that changes other files than the others do."""
    in_folder = files // FOLDERS
    yield from commit("main", "first", {path_of(number, in_folder): text_of(number) for number in range(files)})
    for place, card in enumerate(made):
        folders = [(place * CHANGED_FOLDERS + each) % FOLDERS for each in range(CHANGED_FOLDERS)]
        many = min(CHANGED // CHANGED_FOLDERS, in_folder)
        first = place * CHANGED_FOLDERS // FOLDERS * many
        numbers = [folder * in_folder + first + each for folder in folders for each in range(many)]
        changed = {path_of(number, in_folder): text_of(number, card.title) for number in numbers}
        yield from commit(card.branch or "", card.title, changed, "main")


def path_of(number: int, in_folder: int) -> str:
    return f"src/module_{number // in_folder:03}/file_{number % in_folder:03}.py"


def text_of(number: int, change: str = "") -> str:
    lines = [f"def function_{number}_{line}(value): return value + {line}" for line in range(20)]
    return "\n".join([*lines, change])


def merge_in(clone: Path, card: CardRecord) -> None:
    """Merge the branch of a card as a user would. Tidying up is off: it would run beside the next one."""
    quiet = ("-c", "gc.auto=0", "-c", "maintenance.auto=false")
    git(clone, *quiet, "merge", "--quiet", "--no-ff", "-m", f"Merge card {card.number}", f"origin/{card.branch}")


def tree_of(repository: Path, name: str) -> str:
    return output_of(["git", f"--git-dir={repository}", "rev-parse", f"{name}^{{tree}}"]).strip()


def approve_line(files: int, spent: Mapping[str, Sequence[float]]) -> Line:
    ours, theirs = (spent[side] for side in ("pitstop", "peer"))
    ratio = median(ours) / median(theirs)
    return {
        "work": f"approve a card: {CHANGED} of {files:,} files, {len(ours)} merges",
        "pitstop": f"{1000 * median(ours):.0f} ms ({1000 * min(ours):.0f} to {1000 * max(ours):.0f})",
        "peer": f"git merge {1000 * median(theirs):.0f} ms ({1000 * min(theirs):.0f} to {1000 * max(theirs):.0f})",
        "ratio": f"{ratio:.2f}x",
        "to reach": f"<= {APPROVE_TIMES:g}x",
        "verdict": judge(ratio <= APPROVE_TIMES),
    }


# --- The table -------------------------------------------------------------------------------------------------------


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="board,approve", help="which rows")
    parser.add_argument("--quick", action="store_true", help="small amounts: to see it work, not to quote")
    parser.add_argument("--json", type=Path, default=ROOT / "bench/board.json", help="where the results go")
    options = parser.parse_args()
    is_quick: bool = options.quick
    measures: dict[str, Callable[[Path], list[Line]]] = {
        "board": lambda folder: measure_board(folder, *((60, 5) if is_quick else (IN_COLUMN, SAMPLES))),
        "approve": lambda folder: measure_approve(folder, *((2_000, 3) if is_quick else (FILES, APPROVALS))),
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
