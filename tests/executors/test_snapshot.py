import io
import os
import subprocess
import tarfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pitstop.errors import Unavailable
from pitstop.executors.machine.snapshots.tar import END, apply_snapshot, write_snapshot


def taken(folder: Path, without: Path = Path("/nowhere")) -> io.BytesIO:
    snapshot = io.BytesIO()
    write_snapshot({"repo": folder}, without, snapshot)
    snapshot.seek(0)
    return snapshot


def put_back(folder: Path, snapshot: io.BytesIO, without: Path = Path("/nowhere")) -> None:
    apply_snapshot({"repo": folder}, without, snapshot)


def description(folder: Path) -> dict[str, tuple[int, int, int, object]]:
    """Everything about every path that a snapshot is to keep."""
    described = {}
    for path in (folder, *folder.rglob("*")):
        status = path.lstat()
        content: object = None
        if path.is_symlink():
            content = path.readlink()
        elif path.is_file():
            content = path.read_bytes()
        links = status.st_nlink if path.is_file() else 1
        described[str(path.relative_to(folder))] = (status.st_mode, status.st_mtime_ns, links, content)
    return described


def make_something_of_everything(folder: Path) -> None:
    (folder / "empty").mkdir()
    (folder / "deep" / "er").mkdir(parents=True)
    (folder / "deep" / "er" / "file").write_bytes(bytes(range(256)) * 100)
    (folder / "run.sh").write_text("#!/bin/sh\n")
    (folder / "run.sh").chmod(0o754)
    (folder / "link").symlink_to("run.sh")
    (folder / "dangling").symlink_to("/no/such/place")
    (folder / "folder-link").symlink_to("deep")
    os.link(folder / "run.sh", folder / "hard-link")
    os.mkfifo(folder / "fifo")
    (folder / "näme with spaces\nand a newline").write_text("ok")
    (folder / ("long" * 60)).write_text("long")
    (folder / "sealed").mkdir()
    (folder / "sealed" / "file").write_text("")
    (folder / "sealed").chmod(0o555)
    os.utime(folder / "run.sh", ns=(1, 1_234_567_890_123_456_789))
    os.utime(folder / "link", ns=(1, 987_654_321), follow_symlinks=False)
    os.utime(folder / "empty", ns=(1, 5_000_000_001))


SPOILINGS = {
    "nothing": "",
    "a changed file": "echo spoiled > run.sh",
    "a changed mode": "chmod 600 run.sh",
    "a removed file": "rm hard-link",
    "a removed folder": "rmdir empty",
    "a new file": "echo new > deep/new",
    "a new tree": "mkdir -p new/tree/here",
    "a file instead of a folder": "rmdir empty; touch empty",
    "a folder instead of a file": "rm run.sh; mkdir -p run.sh/inner",
    "a link instead of a folder": "rmdir empty; ln -s /etc empty",
    "a folder instead of a link": "rm folder-link; mkdir folder-link; touch folder-link/file",
    "nothing left": "chmod -R u+w .; rm -rf ./*",
}


@pytest.mark.parametrize("spoil", SPOILINGS.values(), ids=SPOILINGS)
def test_what_was_is_there_again_exactly(tmp_path: Path, spoil: str) -> None:
    make_something_of_everything(tmp_path)
    before = description(tmp_path)
    snapshot = taken(tmp_path)
    subprocess.run(["sh", "-e", "-c", spoil], cwd=tmp_path, check=True)

    put_back(tmp_path, snapshot)

    assert description(tmp_path) == before


NAMES = st.sampled_from(["a", "b", "c"])
TREES = st.recursive(
    st.binary(max_size=20) | NAMES, lambda trees: st.dictionaries(NAMES, trees, max_size=3), max_leaves=8
)


def make_tree(path: Path, tree: bytes | str | dict[str, object]) -> None:
    if isinstance(tree, bytes):
        path.write_bytes(tree)
    elif isinstance(tree, str):
        path.symlink_to(tree)
    else:
        path.mkdir()
        for name, below in tree.items():
            make_tree(path / name, below)  # type: ignore[arg-type]


@given(before=st.dictionaries(NAMES, TREES), after=st.dictionaries(NAMES, TREES))
@settings(max_examples=60)
def test_any_tree_can_be_put_back_over_any_other(
    tmp_path_factory: pytest.TempPathFactory, before: dict[str, object], after: dict[str, object]
) -> None:
    folder = tmp_path_factory.mktemp("any")
    make_tree(folder / "before", before)
    make_tree(folder / "after", after)

    put_back(folder / "after", taken(folder / "before"))

    assert description(folder / "after") == description(folder / "before")


def test_a_part_can_be_left_out_and_is_then_left_alone(tmp_path: Path) -> None:
    own = tmp_path / ".pitstop" / "workspaces"
    own.mkdir(parents=True)
    (own / "log").write_text("before")
    snapshot = taken(tmp_path, without=own)
    (own / "log").write_text("after")

    put_back(tmp_path, snapshot, without=own)

    assert (own / "log").read_text() == "after"
    assert b"before" not in snapshot.getvalue()


def archive_of(*members: tuple[tarfile.TarInfo, bytes]) -> io.BytesIO:
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode="w") as archive:
        for member, content in members:
            member.size = len(content)
            member.pax_headers = {"mtime": "1.000000000"}
            archive.addfile(member, io.BytesIO(content))
    made.seek(0)
    return made


def member(name: str, kind: bytes = tarfile.REGTYPE, linkname: str = "") -> tuple[tarfile.TarInfo, bytes]:
    made = tarfile.TarInfo(name)
    made.type = kind
    made.linkname = linkname
    return made, b""


TOP, LAST = member("repo", tarfile.DIRTYPE), member(END)
HOSTILE = {
    "a path that climbs out": [TOP, member("repo/../escaped"), LAST],
    "a folder that climbs out": [TOP, member("repo/..", tarfile.DIRTYPE), LAST],
    "an absolute path": [TOP, member("/escaped"), LAST],
    "a top of its own": [TOP, member("etc", tarfile.DIRTYPE), LAST],
    "a way through a link": [TOP, member("repo/l", tarfile.SYMTYPE, ".."), member("repo/l/escaped"), LAST],
    "a folder that becomes a link": [
        TOP,
        member("repo/l", tarfile.DIRTYPE),
        member("repo/l", tarfile.SYMTYPE, ".."),
        member("repo/l/escaped"),
        LAST,
    ],
    "a hard link to the outside": [TOP, member("repo/h", tarfile.LNKTYPE, "../secret"), LAST],
    "no end": [TOP, member("repo/file")],
    "nothing": [],
}


@pytest.mark.parametrize("members", HOSTILE.values(), ids=HOSTILE)
def test_a_snapshot_that_is_none_is_refused_and_changes_nothing(
    tmp_path: Path, members: list[tuple[tarfile.TarInfo, bytes]]
) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    (folder / "mine").write_text("precious")
    before = description(tmp_path)

    with pytest.raises(Unavailable, match="damaged"):
        put_back(folder, archive_of(*members))

    assert description(tmp_path) == before


def test_a_snapshot_that_was_cut_anywhere_is_refused_and_changes_nothing(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"x" * 3000)
    (tmp_path / "other").write_bytes(b"")
    whole = taken(tmp_path).getvalue()
    end = whole.index(END.encode())
    before = description(tmp_path)

    for size in range(0, end, 511):
        with pytest.raises(Unavailable, match="damaged"):
            put_back(tmp_path, io.BytesIO(whole[:size]))

    assert description(tmp_path) == before
