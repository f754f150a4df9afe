"""What people look at in a repository."""

import asyncio
import os
import signal
from collections.abc import AsyncGenerator
from pathlib import Path

import pytest

from pitstop.errors import BadCursor, UnknownPath, UnknownRef
from pitstop.git import reading
from pitstop.git.bare import BareRepository
from pitstop.git.commands import run_git
from pitstop.git.names import ZEROS
from pitstop.git.reading import RepositoryReader
from tests.executors.processes import processes_with
from tests.git.repositories import commit_of, commit_on, store_blob
from tests.patience import wait_until

LINES = "".join(f"line {number}\n" for number in range(40))
SUBMODULE = "1" * 40


@pytest.fixture
async def reader(repository: BareRepository) -> AsyncGenerator[RepositoryReader]:
    reader = RepositoryReader(repository)
    yield reader
    await reader.close()


def readers_of(repository: BareRepository) -> list[int]:
    return list(processes_with(f"{repository.folder}\0cat-file"))


async def example(repository: BareRepository) -> str:
    files = {
        "a.txt": "hello\n",
        "100755:run.sh": "#!/bin/sh\n",
        "120000:link": "a.txt",
        "160000:sub": SUBMODULE,
        "src/x y.py": "x",
        "src/deep/ä.py": "yy",
    }
    return await commit_on(repository, "main", files)


async def test_a_path_is_found_with_its_kind_and_size(repository: BareRepository, reader: RepositoryReader) -> None:
    commit = await example(repository)

    found = [await reader.find(commit, path) for path in ("a.txt", "run.sh", "link", "sub", "src", "src/deep/", "")]

    assert [(each.name, each.kind, each.size) for each in found] == [
        ("a.txt", "file", 6),
        ("run.sh", "file", 10),
        ("link", "link", 5),
        ("sub", "submodule", None),
        ("src", "folder", None),
        ("deep", "folder", None),
        ("", "folder", None),
    ]
    assert found[3].sha == SUBMODULE
    assert (await reader.find(commit, "src/deep/ä.py")).path == "src/deep/ä.py"
    assert await reader.blob(f"{commit}:src/x y.py", 100) == b"x"
    assert await reader.blob(found[0].sha, 3) == b"hel"


async def test_a_path_that_is_not_there_is_unknown_and_confuses_nothing(
    repository: BareRepository, reader: RepositoryReader
) -> None:
    commit = await example(repository)
    not_paths = ("/a.txt", "./a.txt", "src/../a.txt", "a.txt\ninfo HEAD", "a\0", "src//deep", "\ud800", "/", "x" * 9000)
    for path in (*not_paths, "nope", "a.txt/b"):
        for ask in (reader.find, reader.file, reader.tree, reader.files_in):
            with pytest.raises(UnknownPath):
                await ask(commit, path)
        with pytest.raises(UnknownPath):
            await reader.blob(f"{commit}:{path}", 10)
        assert (await reader.file(commit, "a.txt")).text == "hello\n"


async def test_commits_are_given_by_their_full_names(reader: RepositoryReader) -> None:
    for name in ("main", "--all", "HEAD", ""):
        with pytest.raises(UnknownRef):
            await reader.find(name, "a")
        with pytest.raises(UnknownRef):
            await reader.commits(name)
        with pytest.raises(UnknownRef):
            await reader.diff(name, ZEROS)


async def test_folders_are_listed_one_level_or_all_of_them(
    repository: BareRepository, reader: RepositoryReader
) -> None:
    commit = await example(repository)

    root = await reader.tree(commit, "")
    inner = await reader.tree(commit, "src")
    files = await reader.files_in(commit, "src")

    assert [(each.path, each.kind) for each in root.entries] == [
        ("a.txt", "file"),
        ("link", "link"),
        ("run.sh", "file"),
        ("src", "folder"),
        ("sub", "submodule"),
    ]
    assert [(each.name, each.path, each.size) for each in inner.entries] == [
        ("deep", "src/deep", None),
        ("x y.py", "src/x y.py", 1),
    ]
    assert [(each.path, each.size) for each in files] == [("src/deep/ä.py", 2), ("src/x y.py", 1)]
    assert len(await reader.files_in(commit, "", limit=3)) == 3
    assert not root.is_cut
    with pytest.raises(UnknownPath):
        await reader.tree(commit, "a.txt")


async def test_a_very_large_folder_is_cut(repository: BareRepository, reader: RepositoryReader) -> None:
    blob = await store_blob(repository, b"")
    entries = "".join(f"100644 blob {blob}\tf{number}\0" for number in range(reading.MOST_ENTRIES + 1)).encode()
    tree = (await run_git(repository.folder, "mktree", "-z", input=entries)).decode().strip()
    commit = (await run_git(repository.folder, "commit-tree", tree, "-m", "many", who="Bob")).decode().strip()

    listed = await reader.tree(commit, "")

    assert (len(listed.entries), listed.is_cut) == (reading.MOST_ENTRIES, True)


async def test_files_are_shown_as_far_as_they_can_be(repository: BareRepository, reader: RepositoryReader) -> None:
    pointer = "version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 5\n"
    large = b"a" * (reading.MOST_FILE_BYTES - 1) + "é".encode() * 10
    commit = await commit_on(
        repository,
        "main",
        {"latin": b"caf\xe9", "binary": b"a\0b", "lfs": pointer, "large": large, "120000:link": "latin", "empty": b""},
    )

    shown = {name: await reader.file(commit, name) for name in ("latin", "binary", "lfs", "large", "link", "empty")}

    assert {name: each.text for name, each in shown.items() if name not in ("lfs", "large")} == {
        "latin": "caf�",
        "binary": None,
        "link": "latin",
        "empty": "",
    }
    assert [name for name, each in shown.items() if each.is_binary] == ["binary"]
    assert [name for name, each in shown.items() if each.is_lfs] == ["lfs"]
    assert [name for name, each in shown.items() if each.is_cut] == ["large"]
    assert shown["large"].text == "a" * (reading.MOST_FILE_BYTES - 1)
    assert shown["large"].size == len(large)


async def test_after_a_very_large_file_the_next_one_is_read(
    repository: BareRepository, reader: RepositoryReader
) -> None:
    commit = await commit_on(repository, "main", {"large": b"x" * 20_000_000, "small": "y"})

    assert await reader.blob(f"{commit}:large", 5) == b"xxxxx"
    assert await reader.blob(f"{commit}:small", 5) == b"y"
    assert await reader.blob(f"{commit}:large", 19_000_000) == b"x" * 19_000_000
    assert await reader.blob(f"{commit}:small", 5) == b"y"


async def test_questions_at_once_get_their_own_answers(repository: BareRepository, reader: RepositoryReader) -> None:
    commit = await commit_on(repository, "main", {f"f{number}": str(number) * 1000 for number in range(20)})

    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(reader.blob(f"{commit}:f{number}", 9999)) for number in range(20)]

    assert [task.result() for task in tasks] == [str(number).encode() * 1000 for number in range(20)]


async def test_a_reader_whose_process_died_starts_another(repository: BareRepository, reader: RepositoryReader) -> None:
    commit = await example(repository)
    await reader.find(commit, "a.txt")
    [process] = readers_of(repository)
    os.kill(process, signal.SIGKILL)
    await wait_until(lambda: not readers_of(repository))

    assert (await reader.find(commit, "a.txt")).size == 6


async def test_a_cancelled_question_does_not_spoil_the_next(
    repository: BareRepository, reader: RepositoryReader
) -> None:
    commit = await commit_on(repository, "main", {"large": b"x" * 5_000_000, "small": "y"})
    for turns in range(12):
        async with asyncio.TaskGroup() as group:
            reading_large = group.create_task(reader.blob(f"{commit}:large", 5_000_000))
            for _ in range(turns):
                await asyncio.sleep(0)
            reading_large.cancel()
        assert await reader.blob(f"{commit}:small", 5) == b"y"


async def test_an_idle_reader_has_no_process(repository: BareRepository, reader: RepositoryReader) -> None:
    commit = await example(repository)
    await reader.find(commit, "a.txt")
    now = asyncio.get_running_loop().time()

    await reader.close_if_idle(now + reading.IDLE_SECONDS - 10)
    assert len(readers_of(repository)) == 1
    await reader.close_if_idle(now + reading.IDLE_SECONDS + 1)
    assert readers_of(repository) == []
    assert (await reader.find(commit, "a.txt")).size == 6


async def test_a_reader_sees_what_was_stored_after_it_started(
    repository: BareRepository, reader: RepositoryReader
) -> None:
    await reader.find(await example(repository), "a.txt")
    second = await commit_on(repository, "main", {"b.txt": "new"})
    await run_git(repository.folder, "repack", "-a", "-d", "-q")

    assert (await reader.file(second, "b.txt")).text == "new"


async def test_commits_come_in_pages(repository: BareRepository, reader: RepositoryReader) -> None:
    shas = [
        await commit_on(
            repository, "main", {"a": str(number), "b": str(number // 3)}, message=f"no. {number}\n\nwhy\nso"
        )
        for number in range(7)
    ]

    first, cursor = await reader.commits(shas[-1], limit=4)
    second, end = await reader.commits(shas[-1], limit=4, after=cursor)
    of_b, _ = await reader.commits(shas[-1], path="b")

    assert [each.sha for each in first + second] == shas[::-1]
    assert end is None
    assert (first[0].subject, first[0].body, first[0].author) == ("no. 6", "why\nso", "Ada")
    assert (first[0].email, first[0].at, first[0].parents) == ("Ada@pitstop", 1_700_000_000, (shas[5],))
    assert second[-1].parents == ()
    assert [each.subject for each in of_b] == ["no. 6", "no. 3", "no. 0"]
    assert await reader.commits(shas[-1], path="*") == ([], None)
    for bad in ("x", "-1", "1e9", "", " 1"):
        with pytest.raises(BadCursor):
            await reader.commits(shas[-1], after=bad)


async def test_branches_say_how_far_they_are_from_the_default_branch(
    repository: BareRepository, reader: RepositoryReader
) -> None:
    root = await commit_on(repository, "main", {"a": "1"})
    await repository.move("refs/heads/old", root, ZEROS, who="Bob", message="")
    await repository.move("refs/heads/topic", root, ZEROS, who="Bob", message="")
    await commit_on(repository, "main", {"a": "2"})
    for number in range(2):
        await commit_on(repository, "topic", {"a": "1", "b": str(number)}, message=f"topic {number}")

    first, cursor = await reader.branches("main", limit=2)
    second, end = await reader.branches("main", after=cursor, limit=2)
    without, _ = await reader.branches("gone")

    assert [(each.name, each.ahead, each.behind) for each in first + second] == [
        ("main", 0, 0),
        ("old", 0, 1),
        ("topic", 2, 1),
    ]
    assert (second[0].commit.subject, end) == ("topic 1", None)
    assert {(each.ahead, each.behind) for each in without} == {(None, None)}


async def test_a_diff_lists_what_changed_with_renames(repository: BareRepository, reader: RepositoryReader) -> None:
    base = await commit_of(
        repository, {"same": "1", "mod": "1\n2\n", "gone": "x\n", "old\tname": LINES, "bin": b"\0a", "mode": "m"}
    )
    theirs = await commit_of(repository, {"same": "changed elsewhere"}, base)
    head = await commit_of(
        repository,
        {
            "same": "1",
            "mod": "1\n3\n4\n",
            "n/new\nname": f"{LINES}more\n",
            "bin": b"\0b",
            "120000:mode": "n",
            "ä": "a\n",
        },
        base,
    )

    diff = await reader.diff(theirs, head)

    assert (diff.base, diff.head, diff.is_cut) == (base, head, False)
    assert {each.path: (each.status, each.old_path, each.added, each.removed) for each in diff.files} == {
        "mod": ("modified", None, 2, 1),
        "gone": ("deleted", None, 0, 1),
        "n/new\nname": ("renamed", "old\tname", 1, 0),
        "bin": ("modified", None, None, None),
        "mode": ("type_changed", None, 1, 1),
        "ä": ("added", None, 1, 0),
    }
    direct = await reader.diff(theirs, head, direct=True)
    assert "same" in {each.path for each in direct.files}
    first = await reader.diff(ZEROS, base)
    assert {each.status for each in first.files} == {"added"}


async def test_a_patch_shows_the_lines_of_one_file(repository: BareRepository, reader: RepositoryReader) -> None:
    base = await commit_of(
        repository, {"mod": "1\n2\n", "old": LINES, "bin": b"\0a", "large": "", "[a]": "x\n", "a": ""}
    )
    head = await commit_of(
        repository,
        {
            "mod": "1\n3\n",
            "new": f"{LINES}more\n",
            "bin": b"\0b",
            "large": "line\n" * 300_000,
            "[a]": "y\n",
            "a": "z\n",
        },
        base,
    )

    patches = {path: await reader.patch(base, head, path) for path in ("mod", "new", "bin", "large", "[a]")}

    assert patches["mod"].text.endswith("@@ -1,2 +1,2 @@\n 1\n-2\n+3\n")
    assert "rename from old\nrename to new\n" in patches["new"].text
    assert patches["new"].file.old_path == "old"
    assert [path for path, patch in patches.items() if patch.is_binary] == ["bin"]
    assert [path for path, patch in patches.items() if patch.is_cut] == ["large"]
    assert patches["large"].text.endswith("+line\n")
    assert patches["[a]"].text.endswith("-x\n+y\n")
    assert patches["[a]"].text.count("diff --git") == 1
    for path in ("same", "-p", ":(glob)*", "*", "mod\0"):
        with pytest.raises(UnknownPath):
            await reader.patch(base, head, path)


async def test_names_that_are_not_utf_8_are_still_listed(
    repository: BareRepository, reader: RepositoryReader, tmp_path: Path
) -> None:
    commit = await commit_on(repository, "main", {b"caf\xe9".decode(errors="surrogateescape"): "x"})

    assert [each.name for each in (await reader.tree(commit, "")).entries] == ["caf�"]
    assert [each.path for each in (await reader.diff(ZEROS, commit)).files] == ["caf�"]
