import asyncio
import math
import os
import random
import shutil
import socket
import sqlite3
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pitstop.engine.amount import Amount
from pitstop.engine.workspace_files import NewScan
from pitstop.errors import SnapshotTooLarge, Unavailable, UnknownSnapshot
from pitstop.executors.machine.snapshots.objects import SnapshotObjects, Stored
from pitstop.executors.machine.snapshots.store import FileChange, SnapshotStore
from pitstop.executors.masking import Masker
from pitstop.service.sealing import read_seal
from tests.amounts import amount
from tests.deep_folders import deep_in
from tests.executors.trees import SPOILINGS, description, make_something_of_everything, size_of
from tests.held_files import HeldFiles, make_files


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "folder"
    folder.mkdir()
    return folder


@pytest.fixture
def store(tmp_path: Path) -> SnapshotStore:
    return SnapshotStore(tmp_path / "store")


def run(script: str, folder: Path) -> None:
    subprocess.run(["sh", "-e", "-c", script], cwd=folder, check=True)


# --- Exactly what was


CLOSED = ("a folder that may not be entered", "all of it closed")  # only root sees what is in them


@pytest.mark.parametrize(
    "spoil",
    [
        pytest.param(spoil, id=name, marks=pytest.mark.needs("root") if name in CLOSED else ())
        for name, spoil in SPOILINGS.items()
    ],
)
async def test_what_was_is_there_again_exactly(folder: Path, store: SnapshotStore, spoil: str) -> None:
    make_something_of_everything(folder)
    before = description(folder)
    first = await store.take(folder)
    run(spoil, folder)
    spoiled = description(folder)
    second = await store.take(folder, first.id)

    await store.restore(folder, first.id)
    assert description(folder) == before
    await store.restore(folder, second.id)
    assert description(folder) == spoiled
    await store.restore(folder, first.id)
    assert description(folder) == before


async def test_a_snapshot_can_be_put_into_another_folder(tmp_path: Path, folder: Path, store: SnapshotStore) -> None:
    make_something_of_everything(folder)
    first = await store.take(folder)
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "something").write_text("else")

    await store.restore(tmp_path / "other", first.id)
    await store.restore(tmp_path / "new", first.id)

    assert description(tmp_path / "other") == description(tmp_path / "new") == description(folder)


async def test_several_folders_are_one_snapshot_and_a_file_may_have_names_in_two(
    tmp_path: Path, store: SnapshotStore
) -> None:
    folders = {"repo": tmp_path / "project", "home": tmp_path / "w" / "home"}
    for path in folders.values():
        path.mkdir(parents=True)
    (folders["repo"] / "a").write_text("shared")
    os.link(folders["repo"] / "a", folders["home"] / "b")
    before = description(tmp_path / "project"), description(tmp_path / "w")
    first = await store.take(folders)
    run("rm project/a; echo else > w/home/b; echo new > w/home/c", tmp_path)
    second = await store.take(folders, first.id)

    await store.restore(folders, first.id)

    assert (description(tmp_path / "project"), description(tmp_path / "w")) == before
    assert (folders["repo"] / "a").samefile(folders["home"] / "b")
    assert [(change.path, change.kind) for change in await store.diff(first.id, second.id)] == [
        ("home/b", "changed"),
        ("home/c", "added"),
        ("repo/a", "removed"),
    ]
    assert await store.file(second.id, "home/b") == b"else\n"


async def test_what_is_left_alone_is_neither_kept_nor_touched(folder: Path, store: SnapshotStore) -> None:
    own = folder / ".pitstop" / "workspaces"
    own.mkdir(parents=True)
    (own / "log").write_text("before")
    (folder / "file").write_text("1")
    first = await store.take(folder, without=[own])
    (own / "log").write_text("after")
    (folder / "file").write_text("2")

    await store.restore(folder, first.id, without=[own])

    assert (own / "log").read_text() == "after"
    assert (folder / "file").read_text() == "1"
    assert size_of(store) == 1


@pytest.mark.needs("root")
async def test_sockets_and_devices_are_left_out_and_left_alone(folder: Path, store: SnapshotStore) -> None:
    (folder / "file").write_text("1")
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(folder / "socket"))
        os.mknod(folder / "device", 0o600 | 0o020000, os.makedev(1, 3))
        first = await store.take(folder)
        second = await store.take(folder, first.id)
        (folder / "file").write_text("2")

        await store.restore(folder, first.id)

    assert first.left_out == second.left_out == {"device": "a device", "socket": "a socket"}
    assert (folder / "file").read_text() == "1"
    assert (folder / "socket").is_socket()
    assert (folder / "device").is_char_device()


async def test_folders_deeper_than_a_path_can_be_are_left_out_and_left_alone(
    folder: Path, store: SnapshotStore
) -> None:
    before = await store.take(folder)
    with deep_in(folder) as deep:
        after = await store.take(folder, before.id)
        assert list(after.left_out.values()) == ["the path is too long"]

        await store.restore(folder, after.id)
        assert deep.exists()

        await store.restore(folder, before.id)
        assert not deep.exists()


async def test_links_out_of_the_folder_are_kept_and_never_followed(tmp_path: Path, store: SnapshotStore) -> None:
    folder, outside = tmp_path / "inside", tmp_path / "outside"
    folder.mkdir()
    outside.mkdir()
    (outside / "theirs").write_text("as it was")
    (folder / "link").symlink_to(outside)
    (folder / "file").symlink_to("../outside/theirs")
    (folder / "nowhere").symlink_to("/no/such/place")
    before = description(folder)
    taken = await store.take(folder)
    for name in ("link", "file", "nowhere"):
        (folder / name).unlink()
    (folder / "link").mkdir()
    (folder / "link" / "theirs").write_text("another")
    (folder / "file").write_text("no link any more")
    (outside / "theirs").write_text("changed meanwhile")

    await store.restore(folder, taken.id)

    assert description(folder) == before
    assert (outside / "theirs").read_text() == "changed meanwhile"
    assert taken.bytes == 0


async def test_a_file_with_holes_takes_no_more_room_than_it_did(
    tmp_path: Path, folder: Path, store: SnapshotStore
) -> None:
    with (folder / "image").open("wb") as file:
        file.truncate(10**12)
        file.seek(5 * 10**11)
        file.write(b"in the middle")
    first = await store.take(folder)
    (folder / "image").unlink()

    await store.restore(folder, first.id)

    status = (folder / "image").stat()
    assert (status.st_size, status.st_blocks * 512 < 100_000) == (10**12, True)
    with (folder / "image").open("rb") as file:
        file.seek(5 * 10**11)
        assert file.read(13) == b"in the middle"
    assert sum(blocks_of(path) for path in paths_in(tmp_path / "store")) * 512 < 1_000_000


def paths_in(folder: Path) -> list[Path]:
    return [*folder.rglob("*")]


def blocks_of(path: Path) -> int:
    return path.stat().st_blocks


@pytest.fixture
def cloning_disk(tmp_path: Path) -> Iterator[tuple[Path, bool]]:
    """A folder, and whether files can share their blocks there: on a disk of its own where that can be mounted."""
    folder, image = tmp_path / "xfs", tmp_path / "image"
    folder.mkdir()
    with image.open("wb") as file:
        file.truncate(400_000_000)
    made = shutil.which("mkfs.xfs") is not None and all(
        subprocess.run(words, capture_output=True, check=False).returncode == 0
        for words in (
            ["mkfs.xfs", "-q", "-m", "reflink=1", str(image)],
            ["mount", "-o", "loop", str(image), str(folder)],
        )
    )
    yield folder, made
    if made:
        subprocess.run(["umount", folder], check=True)


async def test_where_files_can_share_their_blocks_nothing_is_copied(cloning_disk: tuple[Path, bool]) -> None:
    disk, can_clone = cloning_disk
    store = SnapshotStore(disk / "store")
    for number, spoil in enumerate(SPOILINGS.values()):
        folder = disk / str(number)
        folder.mkdir()
        make_something_of_everything(folder)
        before = description(folder)
        first = await store.take(folder)
        run(spoil, folder)
        spoiled = description(folder)
        second = await store.take(folder, first.id)

        await store.restore(folder, first.id)
        assert description(folder) == before
        await store.restore(folder, second.id)
        assert description(folder) == spoiled
        assert (first.new_bytes == 0) is can_clone
    store.close()


async def test_a_clone_of_the_same_content_is_no_change(cloning_disk: tuple[Path, bool]) -> None:
    disk, _ = cloning_disk
    store = SnapshotStore(disk / "store")
    (disk / "folder").mkdir()
    (disk / "folder" / "a").write_text("same")
    (disk / "folder" / "b").write_text("one")
    first = await store.take(disk / "folder")
    (disk / "folder" / "a").write_text("same")
    (disk / "folder" / "b").write_text("two")
    second = await store.take(disk / "folder", first.id)

    assert await store.diff(first.id, second.id) == [FileChange("b", "changed", is_text=True)]
    store.close()


# --- Any tree, any change, in any order

NAMES = st.sampled_from(["a", "b", "c", "d"])
PATHS = st.lists(NAMES, min_size=1, max_size=3).map("/".join)
CHANGES = st.one_of(
    st.tuples(st.just("write"), PATHS, st.binary(max_size=12)),
    st.tuples(st.just("write in place"), PATHS, st.binary(max_size=12)),
    st.tuples(st.just("make folder"), PATHS, st.just(b"")),
    st.tuples(st.just("link"), PATHS, PATHS.map(str.encode)),
    st.tuples(st.just("hard link"), PATHS, PATHS.map(str.encode)),
    st.tuples(st.just("move"), PATHS, PATHS.map(str.encode)),
    st.tuples(st.just("make fifo"), PATHS, st.just(b"")),
    st.tuples(st.just("remove"), PATHS, st.just(b"")),
    st.tuples(st.just("mode"), PATHS, st.sampled_from([b"700", b"644", b"000", b"555", b"777"])),
    st.tuples(st.just("time"), PATHS, st.sampled_from([b"1", b"1234567890123456789"])),
    st.tuples(st.just("holes"), PATHS, st.just(b"end")),
)
STEPS = st.lists(
    st.one_of(
        st.lists(CHANGES, min_size=1, max_size=8).map(lambda changes: ("change", changes)),
        st.just(("take", 0)),
        st.tuples(st.just("restore"), st.integers(0, 20)),
        st.tuples(st.just("collect"), st.integers(0, 20)),
    ),
    min_size=3,
    max_size=14,
)


def change(folder: Path, verb: str, where: str, what: bytes) -> None:
    """Do it, or nothing where it cannot be done."""
    path = folder / where
    try:
        if verb == "write":
            path.unlink(missing_ok=True)
            path.write_bytes(what)
        elif verb == "write in place" and path.is_file():
            path.write_bytes(what)
        elif verb == "make folder":
            path.mkdir(parents=True)
        elif verb == "link":
            path.symlink_to(what.decode())
        elif verb == "hard link":
            os.link(folder / what.decode(), path, follow_symlinks=False)
        elif verb == "move":
            (folder / what.decode()).rename(path)
        elif verb == "make fifo":
            os.mkfifo(path)
        elif verb == "remove":
            run(f"rm -rf ./{where}", folder)
        elif verb == "mode" and not path.is_symlink():
            path.chmod(int(what, 8))
        elif verb == "time":
            os.utime(path, ns=(int(what), int(what)), follow_symlinks=False)
        elif verb == "holes" and not path.is_fifo():
            with path.open("wb") as file:
                file.seek(200_000)
                file.write(what)
    except OSError:
        pass


@given(steps=STEPS)
@settings(max_examples=100)
def test_any_tree_can_be_put_back_in_any_order(
    tmp_path_factory: pytest.TempPathFactory, steps: list[tuple[str, object]]
) -> None:
    place = tmp_path_factory.mktemp("any")
    folder = place / "folder"
    folder.mkdir()
    asyncio.run(walk_through(SnapshotStore(place / "store"), folder, steps))


async def walk_through(store: SnapshotStore, folder: Path, steps: list[tuple[str, object]]) -> None:
    taken: dict[str, dict[str, tuple[object, ...]]] = {}
    for verb, what in steps:
        if verb == "change" and isinstance(what, list):
            for each in what:
                change(folder, *each)
        elif verb == "take":
            here = description(folder)
            id = (await store.take(folder)).id
            await store.own([id], owner=id)
            taken[id] = here
        elif taken and isinstance(what, int):
            id = [*taken][what % len(taken)]
            if verb == "collect" and len(taken) > 1:
                del taken[id]
                await store.disown([id])
                await store.gc(unowned_before=math.inf)
            elif verb == "restore":
                await store.restore(folder, id)
                assert description(folder) == taken[id]
    for id, before in taken.items():
        await store.restore(folder, id)
        assert description(folder) == before


# --- Cheap


async def test_only_what_changed_is_read_and_only_what_differs_is_touched(
    folder: Path, store: SnapshotStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_many(folder, 5000)
    os.utime(folder, ns=(1, 1))
    first = await store.take(folder)
    await settle(store, folder)
    read = read_from_now_on(monkeypatch)
    inodes = inodes_of(folder)
    changed = {folder / f"{number % 50}" / f"{number}" for number in range(0, 5000, 500)}
    for path in changed:
        path.write_text("changed")

    second = await store.take(folder, first.id)

    assert {Path(os.fsdecode(path)) for path in read} == changed
    assert (first.files, second.files) == (5000, 5000)
    assert second.new_bytes == len("changed")  # ten files with the same in them
    assert [change.kind for change in await store.diff(first.id, second.id)] == ["changed"] * 10
    await store.restore(folder, first.id)

    assert {path for path, inode in inodes_of(folder).items() if inode != inodes[path]} == changed


def read_from_now_on(monkeypatch: pytest.MonkeyPatch) -> list[bytes]:
    read: list[bytes] = []
    add = SnapshotObjects.add

    def noticed(self: SnapshotObjects, path: bytes, amount: Amount, new_scan: NewScan | None) -> Stored:
        read.append(path)
        return add(self, path, amount, new_scan)

    monkeypatch.setattr(SnapshotObjects, "add", noticed)
    return read


def inodes_of(folder: Path) -> dict[Path, int]:
    return {path: path.stat().st_ino for path in folder.rglob("*")}


def make_many(folder: Path, count: int) -> None:
    for number in range(count):
        path = folder / f"{number % 50}" / f"{number}"
        path.parent.mkdir(exist_ok=True)
        path.write_text(f"content {number}")


def newest_in(folder: Path) -> int:
    return max(path.lstat().st_ctime_ns for path in (folder, *folder.rglob("*")))


def names_in(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


async def settle(store: SnapshotStore, folder: Path) -> None:
    """Take another once the clock has gone on, so that everything is known to be as it was."""
    newest = newest_in(folder)
    probe = folder.parent / "probe"
    probe.touch()
    while probe.stat().st_ctime_ns < newest + 50_000_000:
        await asyncio.sleep(0.01)
        os.utime(probe)
    await store.take(folder)


async def test_a_snapshot_of_what_has_not_changed_is_the_one_before(folder: Path, store: SnapshotStore) -> None:
    make_something_of_everything(folder)
    taken = [(await store.take(folder)).id]
    for _ in range(50):  # what has only just changed is not trusted yet
        taken.append((await store.take(folder, taken[-1])).id)
        await asyncio.sleep(0.01)

    assert taken[-1] == taken[-2]
    (folder / "new").touch()
    changed = await store.take(folder, taken[-1])
    assert changed.id not in taken
    (folder / "new").chmod(0o700)
    assert (await store.take(folder, changed.id)).id != changed.id


async def test_the_same_content_is_kept_once(folder: Path, store: SnapshotStore) -> None:
    for number in range(10):
        (folder / str(number)).write_bytes(b"same" * 1000)

    first = await store.take(folder)

    assert (first.bytes, first.new_bytes, size_of(store)) == (40_000, 4000, 4000)


async def test_a_change_that_nobody_can_see_from_outside_is_noticed_all_the_same(
    folder: Path, store: SnapshotStore
) -> None:
    """Same size and same time, a moment after the snapshot: the clock of the file system may not have gone on."""
    for number in range(100):
        path = folder / "file"
        path.write_text(f"{number:05}")
        os.utime(path, ns=(1, 1))
        first = await store.take(folder)
        with path.open("r+") as file:
            file.write(f"{number + 1:05}")
        os.utime(path, ns=(1, 1))
        second = await store.take(folder, first.id)

        assert await store.file(second.id, "file") == f"{number + 1:05}".encode()


async def test_another_process_goes_on_where_one_ended(tmp_path: Path, folder: Path) -> None:
    make_many(folder, 100)
    first = await SnapshotStore(tmp_path / "store").take(folder)
    (folder / "0" / "0").write_text("changed")

    other = SnapshotStore(tmp_path / "store")
    second = await other.take(folder, first.id)
    await other.restore(folder, first.id)

    assert second.new_bytes == len("changed")
    assert (folder / "0" / "0").read_text() == "content 0"
    assert [info.id for info in await other.snapshots()] == [first.id, second.id]


# --- Looking into snapshots


async def test_a_diff_tells_what_became_of_each_path(folder: Path, store: SnapshotStore) -> None:
    run(
        "mkdir d; echo 1 > a; echo 2 > d/b; echo 3 > c; echo 4 > gone; ln -s a l; mkdir old; head -c 9 /dev/zero > z",
        folder,
    )
    first = await store.take(folder)
    run(
        "echo 1 > a; touch c; echo 22 > d/b; chmod 700 c; rm gone; ln -sfn c l; rmdir old; mkdir new; echo n > n",
        folder,
    )
    run("rm z; mkdir z; echo in > z/in", folder)
    second = await store.take(folder, first.id)

    assert await store.diff(first.id, second.id) == [
        FileChange("c", "mode", is_text=True),
        FileChange("d/b", "changed", is_text=True),
        FileChange("gone", "removed", is_text=True),
        FileChange("l", "changed", is_text=True),
        FileChange("n", "added", is_text=True),
        FileChange("new", "added", is_text=False),
        FileChange("old", "removed", is_text=False),
        FileChange("z", "removed", is_text=False),
        FileChange("z/in", "added", is_text=True),
    ]
    assert await store.diff(second.id, second.id) == []


async def test_a_file_of_then_can_be_read_whole_or_in_part(folder: Path, store: SnapshotStore) -> None:
    make_something_of_everything(folder)
    first = await store.take(folder)
    run("chmod -R u+w .; rm -rf ./*", folder)

    assert await store.file(first.id, "run.sh") == b"#!/bin/sh\n"
    assert await store.file(first.id, "large", offset=4_999_990) == b"largelarge"
    assert await store.file(first.id, "deep/er/file", offset=1, size=3) == b"\x01\x02\x03"
    assert await store.file(first.id, "link") == b"run.sh"
    for path in ("missing", "deep", "run.sh/x", "../folder/run.sh", "", "/etc/passwd", "way-out/passwd"):
        with pytest.raises(UnknownSnapshot):
            await store.file(first.id, path)


async def test_whoever_else_begins_a_new_catalog_is_waited_for(tmp_path: Path, folder: Path) -> None:
    (tmp_path / "new").mkdir()
    other = sqlite3.connect(tmp_path / "new" / "catalog.db", isolation_level=None)
    other.execute("CREATE TABLE anything (name TEXT)")
    other.execute("BEGIN IMMEDIATE")

    async with asyncio.TaskGroup() as group:
        taking = group.create_task(SnapshotStore(tmp_path / "new").take(folder))
        await asyncio.sleep(0.1)  # it tries
        assert not taking.done()
        other.execute("ROLLBACK")

    assert taking.result().id
    other.close()


async def test_a_catalog_that_cannot_be_read_is_named(tmp_path: Path, folder: Path) -> None:
    (tmp_path / "broken").mkdir()
    (tmp_path / "broken" / "catalog.db").write_bytes(b"no database " * 100)

    with pytest.raises(Unavailable, match=r"cannot use the snapshots in .*broken: file is not a database"):
        await SnapshotStore(tmp_path / "broken").take(folder)


async def test_a_snapshot_that_is_not_there_is_named(folder: Path, store: SnapshotStore) -> None:
    with pytest.raises(UnknownSnapshot, match="nonsense"):
        await store.restore(folder, "nonsense")
    with pytest.raises(UnknownSnapshot):
        await store.take(folder, "nonsense")


# --- Limits, and giving back


async def test_what_is_too_large_is_refused_before_anything_is_kept(tmp_path: Path, folder: Path) -> None:
    make_many(folder, 20)
    few = SnapshotStore(tmp_path / "few", snapshot_limit_files=10)
    small = SnapshotStore(tmp_path / "small", snapshot_limit_bytes=100)

    with pytest.raises(SnapshotTooLarge, match=r"20 files.*limited to 10.*SNAPSHOT_LIMIT_FILES"):
        await few.take(folder)
    with pytest.raises(SnapshotTooLarge, match=r"190 bytes.*limited to 100.*SNAPSHOT_LIMIT_BYTES"):
        await small.take(folder)

    assert (size_of(few), await few.snapshots()) == (0, [])


async def test_snapshots_are_kept_for_as_long_as_one_of_their_owners_needs_them(
    folder: Path, store: SnapshotStore
) -> None:
    (folder / "a").write_text("first")
    first = await store.take(folder, owner="one")
    (folder / "a").write_text("second")
    second = await store.take(folder, first.id, owner="one")
    (folder / "a").write_text("nobody's")
    third = await store.take(folder, second.id)
    await store.own([first.id], "another")
    assert await store.owners() == {"one", "another"}

    await store.disown(["one"])

    assert await store.owners() == {"another"}
    assert await store.gc(unowned_before=0.0) == len("second")
    assert [each.id for each in await store.snapshots()] == [first.id, third.id]
    assert await store.gc(unowned_before=third.taken_at) == 0  # it may be about to get an owner
    assert await store.gc(unowned_before=third.taken_at + 1) == len("nobody's")
    await store.restore(folder, first.id)
    assert (folder / "a").read_text() == "first"


async def test_what_no_snapshot_needs_is_removed_and_the_next_one_is_whole(folder: Path, store: SnapshotStore) -> None:
    (folder / "a").write_text("first")
    (folder / "b").write_text("stays")
    first = await store.take(folder, owner="one")
    (folder / "a").write_text("second one")
    second = await store.take(folder, first.id)
    before = description(folder)

    assert await store.gc(unowned_before=math.inf) == len("second one")
    with pytest.raises(UnknownSnapshot):
        await store.restore(folder, second.id)
    third = await store.take(folder)
    run("rm a b", folder)
    await store.restore(folder, third.id)
    assert description(folder) == before

    await store.disown(["one"])
    assert await store.gc(unowned_before=math.inf) == len("first" + "second one" + "stays")
    assert size_of(store) == 0


# --- Trouble


async def test_a_damaged_object_is_noticed_and_nothing_is_changed(
    tmp_path: Path, folder: Path, store: SnapshotStore
) -> None:
    (folder / "a").write_text("precious")
    first = await store.take(folder)
    (folder / "a").write_text("newer")
    before = description(folder)
    (kept,) = (path for path in paths_in(tmp_path / "store" / "objects") if path.is_file())
    kept.chmod(0o600)

    kept.write_text("damaged!")
    with pytest.raises(Unavailable, match=r"nothing was changed.*damaged"):
        await store.restore(folder, first.id)
    kept.unlink()
    with pytest.raises(Unavailable, match=r"nothing was changed.*missing"):
        await store.restore(folder, first.id)

    assert description(folder) == before


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    folder = tmp_path / "disk"
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=2m", "tmpfs", str(folder)]
    if subprocess.run(mount, capture_output=True, check=False).returncode:
        pytest.skip("a small disk cannot be mounted here")
    yield folder
    subprocess.run(["umount", str(folder)], check=True)


async def test_on_a_full_disk_a_restore_changes_nothing_and_says_what_it_needs(
    small_disk: Path, store: SnapshotStore
) -> None:
    (small_disk / "large").write_bytes(b"1" * 1_200_000)
    (small_disk / "small").write_text("small")
    first = await store.take(small_disk)
    (small_disk / "large").unlink()
    (small_disk / "small").write_text("changed")
    (small_disk / "other").write_bytes(b"2" * 1_200_000)
    before = description(small_disk)

    with pytest.raises(Unavailable, match=r"nothing was changed.*No space left.*1,200,005 bytes are needed"):
        await store.restore(small_disk, first.id)
    assert description(small_disk) == before

    (small_disk / "other").unlink()
    await store.restore(small_disk, first.id)
    assert (small_disk / "large").stat().st_size == 1_200_000


async def test_on_a_full_disk_no_snapshot_is_taken_and_those_that_are_there_stay(
    small_disk: Path, folder: Path
) -> None:
    store = SnapshotStore(small_disk / "store")
    (folder / "a").write_text("small")
    first = await store.take(folder)
    (folder / "b").write_bytes(random.Random(1).randbytes(3_000_000))

    with pytest.raises(Unavailable, match=r"could not add .*b to the snapshot.*No space left"):
        await store.take(folder, first.id)
    (folder / "a").unlink()
    await store.restore(folder, first.id)

    assert names_in(folder) == ["a"]
    assert size_of(store) == len("small")
    store.close()


@pytest.mark.parametrize(("times", "torn", "kept"), [(1, (), b"log!"), (1000, ("log",), b"log!!")])
async def test_a_file_that_changes_while_it_is_read_is_read_again_and_one_that_always_does_is_told(
    folder: Path,
    store: SnapshotStore,
    monkeypatch: pytest.MonkeyPatch,
    times: int,
    torn: tuple[str, ...],
    kept: bytes,
) -> None:
    (folder / "quiet").write_text("quiet")
    (folder / "log").write_text("log")
    change_after_reading(folder / "log", times, monkeypatch)

    first = await store.take(folder)

    assert first.torn == torn
    assert await store.file(first.id, "log") == kept
    assert await store.file(first.id, "quiet") == b"quiet"


def change_after_reading(path: Path, times: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let somebody write to the file each time when it was read and before it is looked at again."""
    left = times
    copy = SnapshotObjects._copy

    def copy_and_change(self: SnapshotObjects, fd: int, status: os.stat_result, amount: Amount) -> tuple[bytes, int]:
        nonlocal left
        copied = copy(self, fd, status, amount)
        if left and os.fstat(fd).st_ino == path.stat().st_ino:
            left -= 1
            with path.open("a") as file:
                file.write("!")
        return copied

    monkeypatch.setattr(SnapshotObjects, "_copy", copy_and_change)


async def test_what_a_dead_restore_left_is_no_part_of_a_snapshot_and_is_cleaned(
    folder: Path, store: SnapshotStore
) -> None:
    (folder / "a").write_text("1")
    first = await store.take(folder)
    (folder / "a").write_text("2")
    (folder / ".pitstop-restoring-0123").mkdir()
    (folder / ".pitstop-restoring-0123" / "0").write_text("half")

    second = await store.take(folder, first.id)
    await store.restore(folder, first.id)

    assert second.files == 1
    assert names_in(folder) == ["a"]


async def test_a_take_that_is_cancelled_ends_and_keeps_no_snapshot(
    folder: Path, store: SnapshotStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_files(folder, "first")
    make_files(folder / "after", "second")
    held = HeldFiles("first", monkeypatch)

    async with asyncio.TaskGroup() as group:
        taking = group.create_task(store.take(folder))
        await held.came()
        taking.cancel()
        for _ in range(10):
            await asyncio.sleep(0)  # it is told to stop
        held.let_go()

    assert taking.cancelled()
    assert await store.snapshots() == []
    assert (await store.take(folder)).files == 2


AS_NOBODY = """
import asyncio, concurrent.futures.thread, os, sys
from pathlib import Path
from pitstop.executors.machine.snapshots.store import SnapshotStore
from tests.executors.trees import SPOILINGS, description, make_something_of_everything
from tests.executors.test_snapshots import run
if os.geteuid() == 0:
    os.setgroups([])
    os.setgid(65534)
    os.setuid(65534)
async def main(place):
    for number, spoil in enumerate(SPOILINGS.values()):
        folder = place / str(number)
        folder.mkdir()
        make_something_of_everything(folder)
        before = description(folder)
        store = SnapshotStore(place / "store")
        first = await store.take(folder)
        run(spoil, folder)
        second = await store.take(folder, first.id)
        await store.restore(folder, first.id)
        assert description(folder) == before, spoil
    (folder / "secret").write_text("")
    (folder / "secret").chmod(0)
    (folder / "closed").mkdir(0)
    for _ in range(2):
        print(*(path + " " + reason for path, reason in (await store.take(folder)).left_out.items()), sep=";")
asyncio.run(main(Path(sys.argv[1])))
"""


def test_one_who_is_not_root_gets_back_what_he_closed_himself() -> None:
    with tempfile.TemporaryDirectory(prefix="pitstop-nobody-") as place:  # in a folder that nobody may enter
        if os.geteuid() == 0:
            os.chown(place, 65534, 65534)
        words = [sys.executable, "-c", AS_NOBODY, place]
        done = subprocess.run(words, capture_output=True, text=True, check=False, cwd=Path(__file__).parents[2])

    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == ["closed permission denied;secret permission denied"] * 2


REPLACED_BY_LINK = """
import asyncio, concurrent.futures.thread, os, shutil, sys
from pathlib import Path
from pitstop.executors.machine.snapshots.store import SnapshotStore
if os.geteuid() == 0:
    os.setgroups([])
    os.setgid(65534)
    os.setuid(65534)
async def main(place):
    folder, outside = place / "folder", place / "outside"
    (folder / "d").mkdir(parents=True)
    (folder / "d" / "file").write_text("one")
    outside.mkdir(0o555)
    store = SnapshotStore(place / "store")
    taken = await store.take(folder)
    shutil.rmtree(folder / "d")
    (folder / "d").symlink_to(outside)
    await store.restore(folder, taken.id)
    assert (folder / "d" / "file").read_text() == "one"
    print(oct(outside.stat().st_mode & 0o777))
asyncio.run(main(Path(sys.argv[1])))
"""


@pytest.mark.repeats
@pytest.mark.parametrize("first", range(0, amount(10, soak=2000), 10))
def test_a_restore_changes_nothing_outside_whatever_leads_there(first: int) -> None:
    with tempfile.TemporaryDirectory(prefix="pitstop-nobody-") as place:
        if os.geteuid() == 0:
            os.chown(place, 65534, 65534)
        words = [sys.executable, "-m", "tests.executors.restore_fuzz", place, str(first), "10"]
        done = subprocess.run(words, capture_output=True, text=True, check=False, cwd=Path(__file__).parents[2])

    assert done.stdout == "restored 10\n", done.stderr


def test_a_restore_does_not_open_up_what_a_link_leads_to() -> None:
    with tempfile.TemporaryDirectory(prefix="pitstop-nobody-") as place:
        if os.geteuid() == 0:
            os.chown(place, 65534, 65534)
        words = [sys.executable, "-c", REPLACED_BY_LINK, place]
        done = subprocess.run(words, capture_output=True, text=True, check=False, cwd=Path(__file__).parents[2])

    assert done.stdout == "0o555\n", done.stderr


async def test_a_file_with_a_secret_is_encrypted_in_a_snapshot_and_restored(folder: Path, tmp_path: Path) -> None:
    scan = Masker({"TOKEN": "hunter2hunter2"}).new_scan
    store = SnapshotStore(tmp_path / "sealed", new_sealing=lambda: read_seal(tmp_path / "key"))
    (folder / ".netrc").write_text("password hunter2hunter2")
    (folder / "large").write_bytes(bytes(1024 * 1024 - 7) + b"hunter2hunter2" + bytes(1024 * 1024))
    os.link(folder / ".netrc", folder / "link")
    before = description(folder)
    first = await store.take(folder, new_scan=scan)
    os.utime(folder / ".netrc", ns=(1, 1))
    touched = await store.take(folder, first.id, new_scan=scan)
    (folder / ".netrc").unlink()
    (folder / "large").write_text("else")
    second = await store.take(folder, first.id, new_scan=scan)

    await SnapshotStore(tmp_path / "sealed", new_sealing=lambda: read_seal(tmp_path / "key")).restore(folder, first.id)

    assert description(folder) == before
    assert not any(b"hunter2" in path.read_bytes() for path in (tmp_path / "sealed").rglob("*") if path.is_file())
    assert [change.kind for change in await store.diff(first.id, touched.id)] == []
    assert [(change.path, change.kind) for change in await store.diff(first.id, second.id)] == [
        (".netrc", "removed"),
        ("large", "changed"),
    ]
    assert await store.file(first.id, ".netrc", offset=9, size=7) == b"hunter2"
    with pytest.raises(Unavailable, match="nothing was changed"):
        await SnapshotStore(tmp_path / "sealed", new_sealing=lambda: read_seal(tmp_path / "other")).restore(
            tmp_path / "elsewhere", first.id
        )


async def test_without_a_key_a_file_with_a_secret_is_not_stored(folder: Path, store: SnapshotStore) -> None:
    (folder / ".netrc").write_text("password hunter2hunter2")

    with pytest.raises(Unavailable, match="no key"):
        await store.take(folder, new_scan=Masker({"TOKEN": "hunter2hunter2"}).new_scan)
