"""Random folders that are changed at random and restored, by a user who is not root: `restore_fuzz PLACE SEED COUNT`.

What is outside of the folder must stay as it is, whatever leads there.
"""

# Names of files are bytes here, which pathlib does not take.
# ruff: noqa: PTH101, PTH102, PTH108, PTH112, PTH113, PTH114, PTH115, PTH116, PTH120, PTH211

import asyncio
import concurrent.futures.thread  # noqa: F401 (it could not be loaded later, by another user)
import os
import random
import shutil
import socket
import stat
import sys
from collections.abc import Callable
from pathlib import Path

from pitstop.executors.machine.snapshots.store import SnapshotStore

NOBODY = 65534
NAMES = [b"a", b"b", b"c", b"-rf", b"new\nline", b"\xff\xfe", b"*", b" ", b"x" * 255, "ü".encode()]
FOLDER_MODES = [0o755, 0o700, 0o555, 0o500]
FILE_MODES = [0o644, 0o600, 0o444, 0o755]


class Fuzz:
    """A folder of one seed, with another one beside it that is not part of the workspace."""

    def __init__(self, place: Path, seed: int) -> None:
        self._random = random.Random(seed)
        self._outside = place / f"{seed}-outside"
        self.folder = place / f"{seed}-folder"
        self.folder.mkdir()
        self._make_tree(self._outside, 2)
        self._outside.chmod(0o700)
        for mode, name in ((0o555, "closed"), (0o700, "open")):
            (self._outside / name).mkdir()
            (self._outside / name / "file").write_text("a")  # as some files of the folder
            (self._outside / name / "file").chmod(0o640)
            (self._outside / name).chmod(mode)
        self._outside.chmod(0o500)
        self._make_tree(self.folder, 3)

    def outside(self) -> dict[bytes, tuple[object, ...]]:
        return described(self._outside)

    def spoil(self) -> None:
        """Change some of the folder."""
        for path in self._random.sample(paths := below(self.folder), min(len(paths), self._random.randint(1, 6))):
            if os.path.lexists(path):
                self._random.choice(self._spoilings())(path)

    def _spoilings(self) -> list[Callable[[bytes], None]]:
        return [
            remove,
            self._replace_by_something,
            self._replace_by_something,
            self._replace_by_something,
            self._close,
            self._write_into,
        ]

    def _make_tree(self, folder: Path, depth: int) -> None:
        folder.mkdir(exist_ok=True)
        top = os.fsencode(folder)
        for name in self._random.sample(NAMES, self._random.randint(1, 5)):
            path = top + b"/" + name
            if depth and self._random.random() < 0.5:
                self._make_tree(Path(os.fsdecode(path)), depth - 1)
            else:
                self._make_something(path)
        folder.chmod(self._random.choice(FOLDER_MODES))
        os.utime(folder, ns=(1, self._random.randrange(10**18)))

    def _make_something(self, path: bytes) -> None:
        outside = [*below(self._outside), os.fsencode(self._outside), b"/no/such/place"]
        files = [each for each in (*below(self.folder), *outside) if os.path.isfile(each) and not os.path.islink(each)]
        match self._random.choice(["file", "file", "empty", "link", "link", "link", "hard link", "fifo"]):
            case "file":
                Path(os.fsdecode(path)).write_text(self._random.choice(["a", "b", "long" * 1000]))
                os.chmod(path, self._random.choice(FILE_MODES))
            case "empty":
                os.mkdir(path)
            case "link":
                os.symlink(self._random.choice([*outside, b".", b"a", b"../b"]), path)
            case "hard link" if files:
                os.link(self._random.choice(files), path)
            case _:
                os.mkfifo(path)

    def _replace_by_something(self, path: bytes) -> None:
        remove(path)
        open_up(os.path.dirname(path))
        if self._random.random() < 0.2 and len(path) < 100:
            with socket.socket(socket.AF_UNIX) as left:
                left.bind(path)
        else:
            self._make_something(path)

    def _close(self, path: bytes) -> None:
        if not os.path.islink(path) and os.stat(path).st_nlink == 1 + os.path.isdir(path):
            os.chmod(path, 0)

    def _write_into(self, path: bytes) -> None:
        if os.path.isdir(path) and not os.path.islink(path):
            open_up(path)
            Path(os.fsdecode(path), "new").write_text("new")


def open_up(folder: bytes) -> None:
    os.chmod(folder, 0o700)


def remove(path: bytes) -> None:
    open_up(os.path.dirname(path))
    if os.path.isdir(path) and not os.path.islink(path):
        for each in [path, *below(path)]:
            if os.path.isdir(each) and not os.path.islink(each):
                open_up(each)
        shutil.rmtree(path)
    else:
        os.unlink(path)


def below(folder: Path | bytes) -> list[bytes]:
    """Every path in a folder that can be listed."""
    found = []
    for parent, folders, files in os.walk(os.fsencode(folder)):
        found += [parent + b"/" + name for name in (*folders, *files)]
    return sorted(found)


def described(folder: Path) -> dict[bytes, tuple[object, ...]]:
    """Kind, mode, time and content of everything but sockets, and which names share a file."""
    shared: dict[int, list[bytes]] = {}
    described: dict[bytes, tuple[object, ...]] = {}
    for path in [os.fsencode(folder), *below(folder)]:
        status = os.lstat(path)
        content: object = None
        if stat.S_ISSOCK(status.st_mode):
            continue
        if stat.S_ISLNK(status.st_mode):
            content = os.readlink(path)
        elif stat.S_ISREG(status.st_mode):
            names = shared.setdefault(status.st_ino, [])
            names.append(path)
            content = Path(os.fsdecode(path)).read_bytes(), names
        described[path] = oct(status.st_mode), status.st_mtime_ns, content
    return described


async def main(place: Path, first: int, count: int) -> None:
    for seed in range(first, first + count):
        fuzz = Fuzz(place, seed)
        store = SnapshotStore(place / "store")
        before = described(fuzz.folder)
        taken = await store.take(fuzz.folder)
        fuzz.spoil()
        outside = fuzz.outside()
        if seed % 2:
            await store.take(fuzz.folder, taken.id)
        await store.restore(fuzz.folder, taken.id)
        store.close()
        assert fuzz.outside() == outside, f"seed {seed} changed what is outside"
        assert described(fuzz.folder) == before, f"seed {seed} did not restore everything"
    print("restored", count)


if __name__ == "__main__":
    if os.geteuid() == 0:
        os.setgroups([])
        os.setgid(NOBODY)
        os.setuid(NOBODY)
    asyncio.run(main(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])))
