"""Trees that are made in a clone, and taken into the bare repository."""

import asyncio
import os
import signal
import struct
import zlib
from collections.abc import AsyncGenerator
from hashlib import sha1
from pathlib import Path

import pytest

from pitstop.errors import CommandRefused, GitProblem, UnknownRef
from pitstop.git.bare import BareRepository
from pitstop.git.commands import run_git
from pitstop.git.incoming import commit_tree, receive_tree
from pitstop.git.leftovers import remove_leftovers
from pitstop.git.names import ZEROS
from tests.executors.processes import processes_with
from tests.git.repositories import client_environment, commit_on, git, left_in
from tests.patience import wait_until

LIMIT = 10_000_000
LINES = "".join(f"line {number} {os.urandom(16).hex()}\n" for number in range(1000))

# `^base^{tree}` and not `^base`, which would send every file again; with `-base`, git sends deltas
PACK = """
set -e
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cp "$(git rev-parse --git-path index)" "$folder/index"
export GIT_INDEX_FILE="$folder/index"
git add -A
tree=$(git write-tree)
echo "$tree"
{ echo "-$BASE"; git rev-list --objects "$tree" "^$BASE^{tree}"; } |
    git pack-objects --stdout --delta-base-offset --quiet
"""


async def packed(work: Path, base: str) -> tuple[str, bytes]:
    """The tree of all files in a clone, and the pack of what the base does not have."""
    process = await asyncio.create_subprocess_exec(
        *("sh", "-c", PACK),
        cwd=work,
        env=client_environment() | {"BASE": base},
        stdout=asyncio.subprocess.PIPE,
    )
    printed, _ = await process.communicate()
    assert process.returncode == 0
    tree, _, pack = printed.partition(b"\n")
    return tree.decode(), pack


@pytest.fixture
async def base(repository: BareRepository) -> str:
    files: dict[str, bytes | str] = {
        "large.txt": LINES,
        "gone": "x",
        "same/a": "1",
        "same/b": "2",
        "120000:link": "gone",
        "bin": b"\0\1",
    }
    return await commit_on(repository, "main", files)


@pytest.fixture
async def clone(repository: BareRepository, base: str, tmp_path: Path) -> Path:
    await git(tmp_path, "clone", "--quiet", str(repository.folder), "clone")
    return tmp_path / "clone"


async def test_all_changes_of_a_clone_arrive(repository: BareRepository, base: str, clone: Path) -> None:
    (clone / "large.txt").write_text(LINES.replace("line 500 ", "changed "))
    (clone / "gone").unlink()
    (clone / "link").unlink()
    (clone / "link").symlink_to("same/a")
    (clone / "run.sh").write_text("#!/bin/sh\n")
    (clone / "run.sh").chmod(0o755)
    (clone / "bin").write_bytes(bytes(range(256)))
    (clone / "döc").mkdir()
    (clone / "döc" / "new\nline \"'").write_text("odd\n")
    (clone / ".gitignore").write_text("*.log\n")
    (clone / "noise.log").write_text("x")
    status = await git(clone, "status", "--porcelain")

    tree, pack = await packed(clone, base)
    await receive_tree(repository, tree, pack, base, limit_bytes=LIMIT)
    sha = await commit_tree(repository, tree, (base,), "from the clone", "Bob")

    assert len(pack) < 3000  # a delta of the large file, and nothing that did not change
    assert await git(clone, "status", "--porcelain") == status
    changed = await repository.changed_paths(base, sha)
    assert set(changed.paths) == {
        "large.txt", "gone", "link", "run.sh", "bin", "döc/new\nline \"'", ".gitignore"
    }  # fmt: skip
    listed = (await run_git(repository.folder, "ls-tree", "-r", sha)).decode()
    assert "100755 blob" in listed
    assert "120000 blob" in listed
    assert await run_git(repository.folder, "show", f"{sha}:bin") == bytes(range(256))
    assert (await run_git(repository.folder, "log", "-1", "--format=%an|%s|%P", sha)).decode().strip() == (
        f"Bob|from the clone|{base}"
    )
    await repository.move("refs/heads/card", sha, ZEROS, who="Bob", message="card")
    await repository.fsck()
    assert left_in(repository) == []


async def test_an_unchanged_tree_stores_nothing(repository: BareRepository, base: str, clone: Path) -> None:
    tree, pack = await packed(clone, base)

    await receive_tree(repository, tree, pack, base, limit_bytes=LIMIT)
    await receive_tree(repository, tree, b"", base, limit_bytes=LIMIT)

    assert tree == (await run_git(repository.folder, "rev-parse", f"{base}^{{tree}}")).decode().strip()
    assert list((repository.folder / "objects").glob("pack/*")) == []


async def test_the_same_pack_may_come_again_in_pieces(repository: BareRepository, base: str, clone: Path) -> None:
    (clone / "new").write_text("x")
    tree, pack = await packed(clone, base)

    async def pieces() -> AsyncGenerator[bytes]:
        for start in range(0, len(pack), 10):
            yield pack[start : start + 10]

    await receive_tree(repository, tree, pieces(), base, limit_bytes=len(pack))
    await receive_tree(repository, tree, pieces(), base, limit_bytes=len(pack))

    assert len(list((repository.folder / "objects/pack").glob("*.idx"))) == 1
    assert (await run_git(repository.folder, "show", f"{tree}:new")) == b"x"


async def test_a_tree_without_a_base_arrives_whole(repository: BareRepository) -> None:
    entry, blob = b"100644 a\0" + sha1(b"blob 1\0x").digest(), b"x"
    tree = sha1(b"tree %d\0" % len(entry) + entry).hexdigest()

    await receive_tree(repository, tree, pack_of((3, blob), (2, entry)), ZEROS, limit_bytes=LIMIT)

    assert await run_git(repository.folder, "show", f"{tree}:a") == b"x"


async def test_too_many_bytes_are_refused(repository: BareRepository, base: str, clone: Path) -> None:
    (clone / "large").write_bytes(os.urandom(2_000_000))
    tree, pack = await packed(clone, base)

    with pytest.raises(CommandRefused, match="the changed files are too large: packed, they have more than 1,000,000"):
        await receive_tree(repository, tree, pack, base, limit_bytes=1_000_000)

    await assert_nothing_arrived(repository, tree)


async def test_a_pack_without_all_files_of_the_tree_is_refused(
    repository: BareRepository, base: str, clone: Path
) -> None:
    (clone / "new").write_text("missing")
    tree, _ = await packed(clone, base)
    content = await git_bytes(clone, "cat-file", "tree", tree)

    with pytest.raises(GitProblem):
        await receive_tree(repository, tree, pack_of((2, content)), base, limit_bytes=LIMIT)
    with pytest.raises(GitProblem, match=f"{tree} is not a tree in the pack or the repository"):
        await receive_tree(repository, tree, b"", base, limit_bytes=LIMIT)

    await assert_nothing_arrived(repository, tree)


async def test_a_tree_that_names_a_lost_file_is_refused(repository: BareRepository, base: str, clone: Path) -> None:
    (clone / "new").write_text("lost later")
    tree, pack = await packed(clone, base)
    await receive_tree(repository, tree, pack, base, limit_bytes=LIMIT)
    blob = (await run_git(repository.folder, "rev-parse", f"{tree}:new")).decode().strip()
    for path in (repository.folder / "objects/pack").iterdir():
        path.rename(clone / path.name)  # git does not unpack what it has
    await run_git(repository.folder, "unpack-objects", "-q", input=pack)
    (repository.folder / "objects" / blob[:2] / blob[2:]).unlink()

    with pytest.raises(GitProblem, match=f"missing blob object '{blob}'"):
        await receive_tree(repository, tree, b"", base, limit_bytes=LIMIT)


async def test_what_is_not_a_tree_is_refused(repository: BareRepository, base: str) -> None:
    with pytest.raises(GitProblem, match="is not a tree"):
        await receive_tree(repository, base, b"", base, limit_bytes=LIMIT)
    for bad in ("main", "--all", ""):
        with pytest.raises(UnknownRef):
            await receive_tree(repository, bad, b"", base, limit_bytes=LIMIT)
        with pytest.raises(UnknownRef):
            await receive_tree(repository, base, b"", bad, limit_bytes=LIMIT)


@pytest.mark.parametrize("name", [b"..", b".git", b"a/b", b".GIT"])
async def test_a_tree_that_would_leave_the_work_tree_is_refused(
    repository: BareRepository, base: str, name: bytes
) -> None:
    entry = b"100644 " + name + b"\0" + sha1(b"blob 1\0x").digest()
    tree = sha1(b"tree %d\0" % len(entry) + entry).hexdigest()

    with pytest.raises(GitProblem, match=r"hasDot|fullPathname"):
        await receive_tree(repository, tree, pack_of((3, b"x"), (2, entry)), base, limit_bytes=LIMIT)

    await assert_nothing_arrived(repository, tree)


async def test_garbage_is_refused(repository: BareRepository, base: str) -> None:
    for garbage in (b"x", b"PACK" + os.urandom(1000), os.urandom(1_000_000)):
        with pytest.raises(GitProblem, match="index-pack failed"):
            await receive_tree(repository, "1" * 40, garbage, base, limit_bytes=LIMIT)
    await assert_nothing_arrived(repository, "1" * 40)


async def test_an_error_of_the_sender_comes_out_as_it_is(repository: BareRepository, base: str) -> None:
    async def arriving() -> AsyncGenerator[bytes]:
        yield b"PACK"
        raise ConnectionAbortedError("the runner is gone")

    with pytest.raises(ConnectionAbortedError, match="the runner is gone"):
        await receive_tree(repository, "1" * 40, arriving(), base, limit_bytes=LIMIT)
    await assert_nothing_arrived(repository, "1" * 40)


async def test_a_cancelled_transfer_leaves_nothing(repository: BareRepository, base: str) -> None:
    is_waiting = asyncio.Event()

    async def arriving() -> AsyncGenerator[bytes]:
        yield b"PACK"
        is_waiting.set()
        await asyncio.Event().wait()

    async with asyncio.TaskGroup() as group:
        receiving = group.create_task(receive_tree(repository, "1" * 40, arriving(), base, limit_bytes=LIMIT))
        await is_waiting.wait()
        assert await remove_leftovers(repository, older_than_seconds=-60) == []
        receiving.cancel()

    assert processes_with(str(repository.folder)) == {}
    await assert_nothing_arrived(repository, "1" * 40)


async def test_what_a_killed_server_leaves_is_removed(repository: BareRepository, base: str, clone: Path) -> None:
    (clone / "large").write_bytes(os.urandom(500_000))
    tree, pack = await packed(clone, base)
    objects = repository.folder / "objects"
    kept = repository.folder / "kept"

    async def arriving() -> AsyncGenerator[bytes]:
        yield pack[:400_000]
        await wait_until(lambda: list(objects.glob("tmp_objdir-*/pack/tmp_pack_*")))
        [quarantine] = objects.glob("tmp_objdir-*")
        quarantine.rename(kept)  # as if no code ran any more that removes it
        for process in processes_with(str(repository.folder)):
            os.kill(process, signal.SIGKILL)

    with pytest.raises(GitProblem):
        await receive_tree(repository, tree, arriving(), base, limit_bytes=LIMIT)
    kept.rename(objects / "tmp_objdir-incoming-left")

    assert await remove_leftovers(repository, older_than_seconds=0) == ["objects/tmp_objdir-incoming-left"]
    await assert_nothing_arrived(repository, tree)


async def assert_nothing_arrived(repository: BareRepository, tree: str) -> None:
    with pytest.raises(GitProblem):
        await run_git(repository.folder, "cat-file", "-t", tree)
    assert left_in(repository) == []
    assert list((repository.folder / "objects").glob("pack/*")) == []
    await repository.fsck()


async def git_bytes(folder: Path, *words: str) -> bytes:
    process = await asyncio.create_subprocess_exec(
        "git", *words, cwd=folder, env=client_environment(), stdout=asyncio.subprocess.PIPE
    )
    return (await process.communicate())[0]


def pack_of(*objects: tuple[int, bytes]) -> bytes:
    """A pack of small objects, each with the number of its kind: 2 is a tree, 3 a blob."""
    pack = b"PACK" + struct.pack(">II", 2, len(objects))
    for kind, content in objects:
        size = len(content)
        head = [kind << 4 | size & 15]
        size >>= 4
        while size:
            head[-1] |= 128
            head.append(size & 127)
            size >>= 7
        pack += bytes(head) + zlib.compress(content)
    return pack + sha1(pack).digest()
