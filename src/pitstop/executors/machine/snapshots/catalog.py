"""The catalog of a snapshot store: its snapshots, their trees, and how each folder looked when it was last in one.

`seen` is what makes a second snapshot cheap: a folder whose listing is the same as then has the same tree, and none of
its files is opened. It can be thrown away at any time.
"""

import marshal
import sqlite3
import threading
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from pitstop.executors.machine.snapshots.tree import DETERMINISTIC, Entry, Key, Listing, unpacked

SCHEMA = """
CREATE TABLE IF NOT EXISTS snapshots (
    id TEXT PRIMARY KEY, parent TEXT, taken_at REAL NOT NULL, tops BLOB NOT NULL, links BLOB NOT NULL,
    left_out BLOB NOT NULL, torn BLOB NOT NULL, files INTEGER NOT NULL, bytes INTEGER NOT NULL,
    new_bytes INTEGER NOT NULL
);
CREATE TABLE IF NOT EXISTS trees (id BLOB PRIMARY KEY, entries BLOB NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS seen (
    root BLOB NOT NULL, folder BLOB NOT NULL, listing BLOB NOT NULL, tree BLOB NOT NULL, PRIMARY KEY (root, folder)
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS machine (boot TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS owners (
    snapshot TEXT NOT NULL, owner TEXT NOT NULL, PRIMARY KEY (snapshot, owner)
) WITHOUT ROWID;
"""
VERSION = 2  # of the schema: 2 has the owners
BUSY_SECONDS = 60.0
LOOK_AGAIN_SECONDS = 0.005

Seen = dict[bytes, tuple[list[Any], bytes]]  # the listing of a folder and the id of its tree


class Catalog:
    """One connection to the catalog, for one piece of work."""

    def __init__(self, database: sqlite3.Connection) -> None:
        self._database = database

    @contextmanager
    def writing(self) -> Iterator[None]:
        """All that is written inside, or nothing of it."""
        self._database.execute("BEGIN IMMEDIATE")
        try:
            yield
        except BaseException:
            self._database.execute("ROLLBACK")
            raise
        self._database.execute("COMMIT")

    def tree(self, id: bytes) -> list[Entry]:
        """The entries of a tree, sorted by name."""
        (tree,) = self._database.execute("SELECT entries FROM trees WHERE id = ?", (id,)).fetchone()
        return unpacked(tree)

    def add_trees(self, trees: dict[bytes, bytes]) -> None:
        self._database.executemany("INSERT OR IGNORE INTO trees VALUES (?, ?)", trees.items())

    # --- How folders looked

    def seen(self, root: bytes) -> Seen:
        rows = self._database.execute("SELECT folder, listing, tree FROM seen WHERE root = ?", (root,))
        return {folder: (marshal.loads(listing), tree) for folder, listing, tree in rows}

    def set_seen(self, root: bytes, rows: Iterable[tuple[bytes, Listing, bytes]], *, trusted_before_ns: int) -> None:
        """Remember listings. What changed only just now could change again and look the same: it is not trusted."""
        self._database.executemany(
            "INSERT OR REPLACE INTO seen VALUES (?, ?, ?, ?)",
            (
                (
                    root,
                    folder,
                    marshal.dumps([_trusted(key, trusted_before_ns) for key in listing], DETERMINISTIC),
                    tree,
                )
                for folder, listing, tree in rows
            ),
        )

    def forget_seen(self, root: bytes, folders: Iterable[bytes]) -> None:
        self._database.executemany(
            "DELETE FROM seen WHERE root = ? AND folder = ?", ((root, folder) for folder in folders)
        )

    def forget_all_after_boot(self, boot: str) -> None:
        """What was written shortly before the machine went down may not have reached the disk: look at it again."""
        if self._database.execute("SELECT 1 FROM machine WHERE boot = ?", (boot,)).fetchone() is None:
            with self.writing():
                for statement in ("DELETE FROM seen", "DELETE FROM machine"):
                    self._database.execute(statement)
                self._database.execute("INSERT INTO machine VALUES (?)", (boot,))

    # --- Snapshots

    def add_snapshot(self, row: tuple[Any, ...]) -> None:
        self._database.execute(f"INSERT INTO snapshots VALUES ({', '.join('?' * len(row))})", row)

    def snapshot(self, id: str) -> tuple[Any, ...] | None:
        row: tuple[Any, ...] | None = self._database.execute("SELECT * FROM snapshots WHERE id = ?", (id,)).fetchone()
        return row

    def snapshots(self) -> list[tuple[Any, ...]]:
        return self._database.execute("SELECT * FROM snapshots ORDER BY taken_at, id").fetchall()

    # --- Whom they are kept for

    def add_owner(self, snapshots: Iterable[str], owner: str) -> None:
        rows = ((snapshot, owner) for snapshot in snapshots)
        self._database.executemany("INSERT OR IGNORE INTO owners VALUES (?, ?)", rows)

    def owners(self) -> set[str]:
        return {owner for (owner,) in self._database.execute("SELECT DISTINCT owner FROM owners")}

    def delete_owners(self, owners: Iterable[str]) -> None:
        """Forget them, and the snapshots that were kept for them alone."""
        for owner in owners:
            theirs = self._database.execute("SELECT snapshot FROM owners WHERE owner = ?", (owner,)).fetchall()
            self._database.execute("DELETE FROM owners WHERE owner = ?", (owner,))
            self._database.executemany(
                "DELETE FROM snapshots WHERE id = ?1 AND NOT EXISTS (SELECT 1 FROM owners WHERE snapshot = ?1)", theirs
            )

    def delete_unowned(self, before: float) -> None:
        """Delete the snapshots without an owner that were taken before this time."""
        unowned = "taken_at < ? AND id NOT IN (SELECT snapshot FROM owners)"
        self._database.execute(f"DELETE FROM snapshots WHERE {unowned}", (before,))

    def live(self, tops: Iterable[Entry]) -> tuple[set[bytes], set[bytes]]:
        """The ids of all trees and of all objects below these folders."""
        trees: set[bytes] = set()
        objects: set[bytes] = set()
        waiting = [top.target for top in tops if top.is_folder]
        while waiting:
            id = waiting.pop()
            if id in trees:
                continue
            trees.add(id)
            for entry in self.tree(id):
                if entry.is_folder:
                    waiting.append(entry.target)
                elif entry.is_file:
                    objects.add(entry.target)
        return trees, objects

    def keep_only(self, trees: set[bytes]) -> None:
        """Remove every other tree, and what was seen of it."""
        self._database.execute("CREATE TEMP TABLE live (id BLOB PRIMARY KEY) WITHOUT ROWID")
        self._database.executemany("INSERT INTO live VALUES (?)", ((id,) for id in trees))
        self._database.execute("DELETE FROM trees WHERE id NOT IN (SELECT id FROM live)")
        self._database.execute("DELETE FROM seen WHERE tree NOT IN (SELECT id FROM live)")
        self._database.execute("DROP TABLE live")


class IdleCatalogs:
    """Connections that are kept open between two pieces of work, each in one thread at a time."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._idle: list[sqlite3.Connection] = []

    @contextmanager
    def lent(self, path: Path) -> Iterator[Catalog]:
        """The catalog for one piece of work."""
        with self._lock:
            database = self._idle.pop() if self._idle else None
        if database is None:
            database = connect(path)
            Catalog(database).forget_all_after_boot(_boot())
        try:
            yield Catalog(database)
        except BaseException:
            database.close()
            raise
        with self._lock:
            self._idle.append(database)

    def close(self) -> None:
        with self._lock:
            idle, self._idle = self._idle, []
        for database in idle:
            database.close()


def connect(path: Path) -> sqlite3.Connection:
    """A connection, which any one thread may use. The last that is closed waits for the disk: see that one stays."""
    database = sqlite3.connect(path, timeout=BUSY_SECONDS, isolation_level=None, check_same_thread=False)
    _use_wal(database)
    database.execute("PRAGMA synchronous = NORMAL")
    if database.execute("PRAGMA user_version").fetchone() < (VERSION,):
        database.executescript(SCHEMA + f"PRAGMA user_version = {VERSION};")
    return database


def _use_wal(database: sqlite3.Connection) -> None:
    """Retry while another connection writes to a new catalog: SQLite's busy timeout does not cover this switch."""
    give_up_at = time.monotonic() + BUSY_SECONDS
    while True:
        try:
            database.execute("PRAGMA journal_mode = WAL")
            return
        except sqlite3.OperationalError as error:
            is_busy = error.sqlite_errorcode & 0xFF == sqlite3.SQLITE_BUSY  # the other bits tell why
            if not is_busy or time.monotonic() > give_up_at:
                raise
        time.sleep(LOOK_AGAIN_SECONDS)


def _trusted(key: Key, before_ns: int) -> Key | tuple[bytes]:
    """The key, or only its name: which is no listing of anything, so that the file is looked at again."""
    return key if key[5] < before_ns else (key[0],)


def _boot() -> str:
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    except OSError:
        return ""
