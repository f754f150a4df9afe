"""Bare repositories."""

import hashlib
import itertools
import subprocess
import zlib
from pathlib import Path

import pytest

from pitstop.errors import BadRepoSetting, GitProblem, RefMoved, UnknownRef
from pitstop.git.bare import MOST_CHANGED_PATHS, BareRepository
from pitstop.git.commands import run_git
from pitstop.git.names import ZEROS
from pitstop.git.reflog import RefMove
from tests.git.repositories import commit_of, commit_on, git, store_blob

MAIN = "refs/heads/main"


def names_in(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def store_loose_blobs(folder: Path, count: int) -> None:
    folder.mkdir(exist_ok=True)
    raws = (b"blob %d\0%d" % (len(str(number)), number) for number in itertools.count())
    named = ((hashlib.sha1(raw).hexdigest(), raw) for raw in raws)
    for sha, raw in itertools.islice((pair for pair in named if pair[0].startswith(folder.name)), count):
        (folder / sha[2:]).write_bytes(zlib.compress(raw))


def make_deep_folder(folder: Path) -> None:
    subprocess.run(["mkdir", "-p", "/".join(["d" * 200] * 30)], cwd=folder, check=True)


async def test_a_repository_is_created_once_and_has_its_default_branch(tmp_path: Path) -> None:
    repository = BareRepository(tmp_path / "demo.git", "demo")
    (tmp_path / ".demo.new").mkdir()
    (tmp_path / ".demo.new" / "left by a crash").touch()

    await repository.create("trunk")
    await repository.create("other")

    assert (repository.folder / "HEAD").read_text() == "ref: refs/heads/trunk\n"
    assert names_in(tmp_path) == ["demo.git"]
    assert await repository.refs() == {}
    await repository.set_default_branch("main")
    assert (repository.folder / "HEAD").read_text() == "ref: refs/heads/main\n"


async def test_a_default_branch_needs_a_name_that_git_takes(repository: BareRepository, tmp_path: Path) -> None:
    for branch in ("", "-x", "a..b", "HEAD"):
        with pytest.raises(BadRepoSetting, match="invalid default branch"):
            await repository.set_default_branch(branch)
        with pytest.raises(BadRepoSetting):
            await BareRepository(tmp_path / "other.git", "other").create(branch)


async def test_refs_are_branches_and_tags_with_their_commits(repository: BareRepository) -> None:
    subject = "ä" * 300
    first = await commit_on(repository, "main", {"a": "1"}, message=f"{subject}\n\nbody")
    await repository.move("refs/heads/x/y", first, ZEROS, who="Bob", message="try")
    await run_git(repository.folder, "tag", "light", first)
    await run_git(repository.folder, "tag", "-a", "-m", "told", "heavy", first, who="Bob")
    await run_git(repository.folder, "tag", "-a", "-m", "told", "nested", "heavy", who="Bob")
    blob = await store_blob(repository, b"no commit")
    await run_git(repository.folder, "tag", "blob", blob)
    await run_git(repository.folder, "tag", "-a", "-m", "told", "of-blob", blob, who="Bob")
    await run_git(repository.folder, "tag", "-a", "-m", "told", "nested-of-blob", "of-blob", who="Bob")
    await run_git(repository.folder, "update-ref", "refs/other/x", first)

    refs = await repository.refs()

    assert refs.keys() == {MAIN, "refs/heads/x/y", "refs/tags/light", "refs/tags/heavy", "refs/tags/nested"}
    assert {(each.sha, each.subject, each.author, each.at) for each in refs.values()} == {
        (first, "ä" * 200, "Ada", 1_700_000_000)
    }


async def test_ten_thousand_refs_are_read_at_once(repository: BareRepository) -> None:
    sha = await commit_on(repository, "main", {"a": "1"})
    packed = f"# pack-refs with: peeled fully-peeled sorted \n{sha} {MAIN}\n"
    packed += "".join(sorted(f"{sha} refs/heads/zz/{number:05}\n" for number in range(10_000)))
    (repository.folder / "packed-refs").write_text(packed)

    assert len(await repository.refs()) == 10_001


async def test_a_ref_moves_only_from_where_it_was_expected(repository: BareRepository) -> None:
    first = await commit_of(repository, {"a": "1"})
    second = await commit_of(repository, {"a": "2"}, first)
    await repository.move(MAIN, first, ZEROS, who="Bob", message="begin")

    with pytest.raises(RefMoved, match="expected not to exist"):
        await repository.move(MAIN, second, ZEROS, who="Bob", message="again")
    with pytest.raises(RefMoved, match="branch 'main' is at"):
        await repository.move(MAIN, first, second, who="Bob", message="back")
    with pytest.raises(RefMoved, match="does not exist"):
        await repository.move("refs/heads/other", second, first, who="Bob", message="on")
    with pytest.raises(GitProblem):
        await repository.move(MAIN, "1" * 40, first, who="Bob", message="to nothing")
    with pytest.raises(UnknownRef):
        await repository.move("--stdin", second, first, who="Bob", message="")
    await repository.move(MAIN, second, first, who="Bob", message="on\n\0with it")

    assert (await repository.refs())[MAIN].sha == second
    assert [(each.who, each.message) for each in await repository.moves_of(MAIN, None, second)] == [
        ("Bob", "begin"),
        ("Bob", "on with it"),
    ]


async def test_refs_are_deleted_all_or_none(repository: BareRepository) -> None:
    first = await commit_on(repository, "main", {"a": "1"})
    for name in ("one", "two"):
        await repository.move(f"refs/heads/{name}", first, ZEROS, who="Bob", message="")

    with pytest.raises(RefMoved, match="'three'"):
        await repository.delete_refs([("refs/heads/one", first), ("refs/heads/three", first)], "Bob")
    assert len(await repository.refs()) == 3
    with pytest.raises(UnknownRef):
        await repository.delete_refs([("refs/heads/one\0", first)], "Bob")
    await repository.delete_refs([("refs/heads/one", first), ("refs/heads/two", first)], "Bob")

    assert (await repository.refs()).keys() == {MAIN}


async def test_the_reflog_says_who_moved_a_ref_also_when_it_is_packed(repository: BareRepository) -> None:
    shas = [await commit_on(repository, "main", {"a": str(number)}, who=f"user {number}") for number in range(3)]
    await run_git(repository.folder, "pack-refs", "--all")

    moves = await repository.moves_of(MAIN, shas[0], shas[2])

    assert [(each.old, each.new, each.who) for each in moves] == [
        (shas[0], shas[1], "user 1"),
        (shas[1], shas[2], "user 2"),
    ]
    assert moves[0].at > 1_700_000_000
    (repository.folder / "logs" / MAIN).unlink()
    assert await repository.moves_of(MAIN, shas[0], shas[2]) == [
        RefMove(old=shas[0], new=shas[2], who="", message="", at=0)
    ]


async def test_the_newest_move_with_all_words_is_found(repository: BareRepository) -> None:
    shas = [await commit_on(repository, "main", {"a": str(number)}) for number in range(4)]
    branch, messages = "refs/heads/card", ("merge card=demo-1 head=abc", "push", "merge head=abcd card=demo-1")
    for old, new, message in zip([ZEROS, *shas], shas, messages, strict=False):
        await repository.move(branch, new, old, who="Bob", message=message)

    found = await repository.find_move(branch, ("card=demo-1", "head=abc"))

    assert found is not None
    assert (found.old, found.new, found.message) == (ZEROS, shas[0], "merge card=demo-1 head=abc")
    newest = await repository.find_move(branch, ["card=demo-1"])
    assert newest is not None
    assert newest.new == shas[2]
    assert await repository.find_move(branch, ("card=demo", "head=abc")) is None
    assert await repository.find_move("refs/heads/nope", ("push",)) is None
    with (repository.folder / "logs" / branch).open("a") as log:  # a crash before the ref itself was moved
        log.write(f"{shas[2]} {shas[3]} Bob <b@x> 1700000000 +0000\tmerge card=demo-2\n")
    assert await repository.find_move(branch, ("card=demo-2",)) is None
    with pytest.raises(UnknownRef):
        await repository.find_move("--all", ("x",))


async def test_refs_of_pitstop_itself_keep_commits_and_are_not_listed(repository: BareRepository) -> None:
    first = await commit_of(repository, {"a": "1"})
    second = await commit_of(repository, {"a": "2"}, first)
    ref = "refs/pitstop/cards/demo-1/1"

    await repository.move(ref, first, ZEROS, who="Bob", message="keep")
    await repository.move(ref, second, first, who="Bob", message="keep")

    assert await repository.refs() == {}
    await run_git(repository.folder, "gc", "--quiet", "--prune=now")
    assert await repository.is_ancestor(first, second)
    with pytest.raises(RefMoved):
        await repository.delete_refs([(ref, first)], "Bob")
    await repository.delete_refs([(ref, second)], "Bob")
    with pytest.raises(UnknownRef):
        await repository.resolve(ref)


async def test_a_push_into_the_folder_itself_says_who_pushed(repository: BareRepository, tmp_path: Path) -> None:
    await git(tmp_path, "init", "work")
    await git(tmp_path / "work", "commit", "--allow-empty", "-m", "by hand")
    await git(tmp_path / "work", "push", str(repository.folder), "main", env={"GIT_COMMITTER_NAME": "Ada"})

    head = (await repository.refs())[MAIN].sha

    assert [(each.who, each.message) for each in await repository.moves_of(MAIN, None, head)] == [("Ada", "push")]


async def test_names_of_branches_tags_and_commits_are_resolved(repository: BareRepository) -> None:
    first = await commit_of(repository, {"a": "1"})
    second = await commit_of(repository, {"a": "2"}, first)
    for ref, sha in {MAIN: second, "refs/heads/both": first, "refs/tags/both": second, "refs/tags/v1": first}.items():
        await repository.move(ref, sha, ZEROS, who="Bob", message="")
    await run_git(repository.folder, "tag", "-a", "-m", "told", "v2", second, who="Bob")
    await repository.move(f"refs/heads/{first}", second, ZEROS, who="Mallory", message="")

    names = {"main": second, "both": first, "v1": first, "v2": second, MAIN: second, "refs/tags/both": second}
    names |= {first: first, second: second, second[:8]: second}

    assert {name: await repository.resolve(name) for name in names} == names


async def test_names_that_mean_no_commit_are_unknown(repository: BareRepository) -> None:
    await commit_on(repository, "main", {"a": "1"})
    no_names = ("", "--all", "-x", "a..b", "main\0", "main\n", "main~1", "main^", "@{-1}", ":/a")
    for name in (*no_names, "nope", "HEAD", "dead", "0" * 40):
        with pytest.raises(UnknownRef, match="it is not in repository 'demo'"):
            await repository.resolve(name)


async def test_a_blob_is_not_a_commit(repository: BareRepository) -> None:
    blob = await store_blob(repository, b"text")
    with pytest.raises(UnknownRef):
        await repository.resolve(blob)


async def test_history_tells_ancestors_and_where_branches_part(repository: BareRepository) -> None:
    root = await commit_of(repository, {"a": "1"})
    one = await commit_of(repository, {"a": "2"}, root)
    other = await commit_of(repository, {"b": "2"}, root)
    stranger = await commit_of(repository, {"c": "3"})

    assert await repository.is_ancestor(root, one)
    assert await repository.is_ancestor(one, one)
    assert not await repository.is_ancestor(one, other)
    assert await repository.merge_base(one, other) == root
    assert await repository.merge_base(one, stranger) is None
    with pytest.raises(GitProblem):
        await repository.is_ancestor(root, "1" * 40)
    with pytest.raises(UnknownRef):
        await repository.merge_base("--all", root)


async def test_changed_paths_are_all_that_differ_up_to_a_limit(repository: BareRepository) -> None:
    root = await commit_of(repository, {"a": "1", "b/c": "1", "same": "1"})
    changed = await commit_of(repository, {"a": "2", "b/d\n ä": "1", "same": "1"}, root)
    blob = await store_blob(repository, b"")
    entries = "".join(f"100644 blob {blob}\tf{number}\0" for number in range(MOST_CHANGED_PATHS + 1)).encode()
    tree = (await run_git(repository.folder, "mktree", "-z", input=entries)).decode().strip()
    many = (await run_git(repository.folder, "commit-tree", tree, "-m", "many", who="Bob")).decode().strip()

    assert (await repository.changed_paths(root, changed)).paths == ("a", "b/c", "b/d\n ä")
    assert (await repository.changed_paths(ZEROS, root)).paths == ("a", "b/c", "same")
    cut = await repository.changed_paths(ZEROS, many)
    assert (len(cut.paths), cut.is_cut) == (MOST_CHANGED_PATHS, True)
    assert not (await repository.changed_paths(root, changed)).is_cut


async def test_upkeep_packs_what_is_loose_and_loses_nothing(repository: BareRepository) -> None:
    head = await commit_on(repository, "main", {"a": "1"})
    store_loose_blobs(repository.folder / "objects/17", 20)  # where git counts them, to estimate how many there are

    await repository.maintain()

    assert await repository.size_bytes() > 0
    assert len(list((repository.folder / "objects/pack").glob("*.pack"))) == 1
    assert len(list((repository.folder / "objects/17").iterdir())) == 20  # nothing needs them, but they are new
    assert (await repository.refs())[MAIN].sha == head
    await repository.fsck()


async def test_fsck_names_what_is_missing(repository: BareRepository) -> None:
    await commit_on(repository, "main", {"a": "1"})
    await repository.fsck()
    blob = await store_blob(repository, b"1")
    (repository.folder / "objects" / blob[:2] / blob[2:]).unlink()

    with pytest.raises(GitProblem, match=f"missing blob {blob}"):
        await repository.fsck()


async def test_a_removed_repository_leaves_nothing(repository: BareRepository, tmp_path: Path) -> None:
    await commit_on(repository, "main", {"a": "1"})
    (tmp_path / ".demo.old").mkdir()
    make_deep_folder(repository.folder)

    await repository.remove()
    await repository.remove()

    assert names_in(tmp_path) == []
