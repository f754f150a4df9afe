"""A snapshot that stands still half-way, so that what is told meanwhile can be looked at without any hurry."""

import fcntl
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from pitstop.engine.amount import Amount
from pitstop.engine.workspace_files import NewScan
from pitstop.executors.machine.snapshots.objects import SnapshotObjects, Stored
from tests.patience import wait_until


class HeldFiles:
    """Whoever keeps a file of this name, or puts it back, waits before it until `let_go`."""

    def __init__(self, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
        self._name = name.encode()
        self._came = threading.Event()
        self._may_go = threading.Event()
        add, put_out = SnapshotObjects.add, SnapshotObjects.put_out

        def held_add(objects: SnapshotObjects, path: bytes, amount: Amount, new_scan: NewScan | None) -> Stored:
            if path.endswith(b"/" + self._name):
                self._hold()
            return add(objects, path, amount, new_scan)

        def held_put_out(objects: SnapshotObjects, id: bytes, name: bytes, folder: int, amount: Amount) -> None:
            if objects.read(id, size=len(self._name)) == self._name:  # aside it has no name yet
                self._hold()
            put_out(objects, id, name, folder, amount)

        monkeypatch.setattr(SnapshotObjects, "add", held_add)
        monkeypatch.setattr(SnapshotObjects, "put_out", held_put_out)

    def _hold(self) -> None:
        self._came.set()
        assert self._may_go.wait(60), "nobody let it go"

    async def came(self) -> None:
        """Wait until somebody waits at the file."""
        await wait_until(self._came.is_set)

    def let_go(self) -> None:
        self._may_go.set()

    def hold_again(self) -> None:
        self._came.clear()
        self._may_go.clear()


def make_files(folder: Path, *names: str) -> None:
    """Files of 1,000 bytes, each of which begins with its name."""
    folder.mkdir(parents=True, exist_ok=True)
    for name in names:
        (folder / name).write_text(name.ljust(1000, "."))


@contextmanager
def held_store(home: Path) -> Iterator[None]:
    """Whoever wants to keep files, or to put them back, in whatever process, waits until this is over."""
    folder = home / "snapshots"
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
