"""A snapshot of a workspace and going back to it, beside `cp -a`, `rsync --link-dest` and `git stash -u`, in one run.

    python bench/snapshot.py              # 50,000 files with 2 GB, 10 of them changed: about 10 minutes, 20 GB of disk
    python bench/snapshot.py --quick      # 2,000 files with 80 MB: to see that it works, not to quote
    python bench/snapshot.py --files 100000

Each contender has a tree of its own, all alike, and has seen it once. In each round the same ten files are changed in
every tree, then each takes its snapshot and goes back, in turn. Every figure is the minimum over all rounds; CPU is
that of the whole process tree. A contender that is not installed is told and left out. The figures are also written to
snapshot.json.
"""

import argparse
import asyncio
import hashlib
import json
import os
import random
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from pitstop.executors.machine.snapshots.store import SnapshotStore

HERE = Path(__file__).parent
FILES_IN_FOLDER = 25
CHANGED_FILES = 10
SETTLED_SECONDS = 0.1
AS_SOMEBODY = ("-c", "user.name=a", "-c", "user.email=a@example.invalid")


@dataclass(frozen=True, slots=True)
class Cost:
    """What a piece of work took, with all its children."""

    wall_seconds: float
    cpu_seconds: float


@dataclass(frozen=True, slots=True)
class Contender:
    """One way to keep a tree. `first` sees it for the first time, `take` and `restore` are what is compared."""

    name: str
    tree: Path
    first: Callable[[], None]
    take: Callable[[], None]
    restore: Callable[[], None]


def measure(work: Callable[[], None]) -> Cost:
    before, began = os.times(), time.perf_counter()
    work()
    wall, after = time.perf_counter() - began, os.times()
    return Cost(wall, sum(after[:4]) - sum(before[:4]))


def run(words: Sequence[str | Path], folder: Path) -> None:
    subprocess.run(words, cwd=folder, check=True, stdout=subprocess.DEVNULL)


# --- The contenders --------------------------------------------------------------------------------------------------


def pitstop(scratch: Path, tree: Path) -> Contender:
    store = SnapshotStore(scratch / "store")
    taken: list[str] = []

    def take() -> None:
        parent = taken[-1] if taken else None
        taken.append(asyncio.run(store.take(tree, parent)).id)

    return Contender("pitstop", tree, take, take, lambda: asyncio.run(store.restore(tree, taken[0])))


def cp(scratch: Path, tree: Path) -> Contender:
    def first() -> None:
        run(["cp", "-a", tree, scratch / "copy"], scratch)

    def take() -> None:
        run(["cp", "-a", tree, scratch / "copy-2"], scratch)

    return Contender("cp -a", tree, first, take, lambda: run(["cp", "-a", f"{scratch}/copy/.", tree], scratch))


def rsync(scratch: Path, tree: Path) -> Contender:
    def first() -> None:
        run(["rsync", "-a", f"{tree}/", scratch / "linked"], scratch)

    def take() -> None:
        run(["rsync", "-a", f"--link-dest={scratch}/linked", f"{tree}/", scratch / "linked-2"], scratch)

    def restore() -> None:
        run(["rsync", "-a", "--delete", f"{scratch}/linked/", tree], scratch)

    return Contender("rsync --link-dest", tree, first, take, restore)


def git(scratch: Path, tree: Path) -> Contender:
    """Stashing takes the changes away, and popping brings them back: the same work, in the other order."""

    def first() -> None:
        for words in (("init", "-q"), ("add", "-A"), (*AS_SOMEBODY, "commit", "-qm", "first")):
            run(["git", *words], tree)

    def take() -> None:
        run(["git", *AS_SOMEBODY, "stash", "-u", "-q"], tree)

    return Contender("git stash -u", tree, first, take, lambda: run(["git", "stash", "pop", "-q"], tree))


# --- The trees -------------------------------------------------------------------------------------------------------


def make_tree(tree: Path, files: int, size: int) -> None:
    chance = random.Random(1)
    for folder in range(files // FILES_IN_FOLDER):
        place = tree / f"{folder % 40}" / f"{folder}"
        place.mkdir(parents=True)
        for number in range(FILES_IN_FOLDER):
            length = max(1, int(chance.expovariate(files / size)))
            block = chance.randbytes(min(length, 4096))
            (place / f"{number}.txt").write_bytes((block * (length // len(block) + 1))[:length])


def change_some(trees: Sequence[Path], files: int, chance: random.Random) -> None:
    for folder in chance.sample(range(files // FILES_IN_FOLDER), CHANGED_FILES):
        content = chance.randbytes(40_000)
        for tree in trees:
            (tree / f"{folder % 40}" / f"{folder}" / f"{folder % FILES_IN_FOLDER}.txt").write_bytes(content)


def fingerprint(tree: Path) -> str:
    """Of every path with its mode, its time and its content."""
    digest = hashlib.sha256()
    for path in sorted(tree.rglob("*")):
        status = path.lstat()
        content = path.read_bytes() if path.is_file() else b""
        digest.update(repr((str(path.relative_to(tree)), status.st_mode, status.st_mtime_ns)).encode() + content)
    return digest.hexdigest()


# --- The table -------------------------------------------------------------------------------------------------------


def measure_all(scratch: Path, files: int, size: int, rounds: int) -> dict[str, dict[str, Cost]]:
    makers = {"pitstop": pitstop, "cp": cp, "rsync": rsync, "git": git}
    contenders = []
    for program, make in makers.items():
        if program != "pitstop" and shutil.which(program) is None:
            print(f"{program} is not installed here, so it is left out")
            continue
        tree = scratch / f"tree-{program}"
        make_tree(tree, files, size)
        contenders.append(make(scratch, tree))
    ours = contenders[0].tree
    before = fingerprint(ours)
    costs: dict[str, dict[str, list[Cost]]] = {}
    for contender in contenders:
        costs[contender.name] = {"first": [measure(contender.first)], "take": [], "restore": []}
    chance = random.Random(2)
    for _ in range(rounds):
        change_some([contender.tree for contender in contenders], files, chance)
        time.sleep(SETTLED_SECONDS)  # as after any step that takes a moment
        for contender in contenders:
            costs[contender.name]["take"].append(measure(contender.take))
        for contender in contenders:
            costs[contender.name]["restore"].append(measure(contender.restore))
        assert fingerprint(ours) == before, "what was restored is not what was taken"
        for left in ("copy-2", "linked-2"):
            shutil.rmtree(scratch / left, ignore_errors=True)
        for contender in contenders:
            if contender.name == "git stash -u":
                run(["git", "checkout", "-q", "."], contender.tree)
    return {
        name: {
            what: Cost(min(cost.wall_seconds for cost in each), min(cost.cpu_seconds for cost in each))
            for what, each in of_one.items()
        }
        for name, of_one in costs.items()
    }


def print_table(costs: dict[str, dict[str, Cost]]) -> None:
    titles = {
        "first": "The first snapshot, of everything",
        "take": f"A snapshot after {CHANGED_FILES} files were changed",
        "restore": "Going back",
    }
    for what, title in titles.items():
        ours = costs["pitstop"][what]
        print(f"\n{title}")
        for name, of_one in costs.items():
            cost = of_one[what]
            ratio = f"{cost.wall_seconds / ours.wall_seconds:7.1f}x {cost.cpu_seconds / ours.cpu_seconds:7.1f}x"
            print(f"  {name:18} wall {cost.wall_seconds:7.2f} s   CPU {cost.cpu_seconds:7.2f} s   {ratio} pitstop")
    for what in ("take", "restore"):
        ratio = costs["cp -a"][what].wall_seconds / costs["pitstop"][what].wall_seconds
        print(f"\n{what}: cp -a takes {ratio:.1f}x, to reach >= 10x: {'reached' if ratio >= 10 else 'MISSED'}", end="")
    print()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--files", type=int, default=50_000)
    parser.add_argument("--bytes", type=int, default=2_000_000_000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--quick", action="store_true", help="a small tree, and few rounds")
    parser.add_argument("--scratch", type=Path, help="where to make the trees; a temporary folder unless it is given")
    options = parser.parse_args()
    if options.quick:
        options.files, options.bytes, options.rounds = 2000, 80_000_000, 2
    with tempfile.TemporaryDirectory(prefix="pitstop-bench-", dir=options.scratch) as folder:
        costs = measure_all(Path(folder), options.files, options.bytes, options.rounds)
    print_table(costs)
    kept = {
        "files": options.files,
        "bytes": options.bytes,
        "rounds": options.rounds,
        "load_average": os.getloadavg(),
        "seconds": {name: {what: asdict(cost) for what, cost in each.items()} for name, each in costs.items()},
    }
    if not options.quick:
        (HERE / "snapshot.json").write_text(json.dumps(kept, indent=1) + "\n")


if __name__ == "__main__":
    main()
