import asyncio
import fcntl
import json
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor, wait
from pathlib import Path

import pytest

from pitstop.engine.executor import Placement
from pitstop.errors import Unavailable, WorkspaceLost
from pitstop.executors.machine.processes.executor import ProcessExecutor
from pitstop.executors.machine.workspaces.epoch import Epoch, begin_epoch, lasts, take_dead
from pitstop.executors.machine.workspaces.held import Workspaces
from pitstop.executors.machine.workspaces.workspace import (
    FEW_BYTES,
    WorkspaceBusy,
    _locked,
    clean_orphans,
    find_workspaces,
    open_workspace,
    path_in_repo,
    remove_workspace,
)
from tests.deep_folders import deep_in

DIES_WITH_A_WORKSPACE = """
import json, sys
from pathlib import Path
from pitstop.executors.machine.workspaces.epoch import begin_epoch
from pitstop.executors.machine.workspaces.workspace import open_workspace
workspaces, id, folder = json.loads(sys.argv[1])
epoch = begin_epoch(workspaces)
print(open_workspace(Path(workspaces), epoch.name, id, folder and Path(folder)).id)
"""


def orphan(workspaces: Path, id: str | None = None, folder: Path | None = None) -> str:
    """The id of a workspace whose owner has died with it in use."""
    workspaces.mkdir(exist_ok=True)
    arguments = json.dumps([str(workspaces), id, None if folder is None else str(folder)])
    words = [sys.executable, "-c", DIES_WITH_A_WORKSPACE, arguments]
    return subprocess.run(words, stdout=subprocess.PIPE, text=True, check=True).stdout.strip()


@pytest.fixture
def epoch(tmp_path: Path) -> Iterator[Epoch]:
    (tmp_path / "workspaces").mkdir()
    epoch = begin_epoch(str(tmp_path / "workspaces"))
    yield epoch
    epoch.end()


@pytest.fixture
def workspaces(tmp_path: Path, epoch: Epoch) -> Path:
    return tmp_path / "workspaces"


def listed(workspaces: Path) -> list[str]:
    return sorted(path.name for path in workspaces.iterdir() if path.suffix != ".epoch")


def test_a_workspace_has_its_four_folders_and_is_gone_when_destroyed(workspaces: Path, epoch: Epoch) -> None:
    workspace = open_workspace(workspaces, epoch.name)
    folders = [workspace.repo, workspace.home, workspace.artifacts, workspace.control]

    assert [folder.name for folder in folders] == ["repo", "home", "artifacts", ".pitstop"]
    assert all(folder.is_dir() for folder in folders)
    workspace.destroy()

    assert listed(workspaces) == []


def test_in_place_the_folder_is_the_repo_and_is_never_removed(tmp_path: Path, workspaces: Path, epoch: Epoch) -> None:
    project = tmp_path / "project"
    project.mkdir()
    (project / "mine").write_text("precious")
    workspace = open_workspace(workspaces, epoch.name, folder=project)

    assert workspace.repo == project
    workspace.destroy()

    assert (project / "mine").read_text() == "precious"
    assert not workspace.root.exists()


def test_a_folder_that_is_not_there_cannot_be_worked_in(tmp_path: Path, workspaces: Path, epoch: Epoch) -> None:
    with pytest.raises(Unavailable, match="missing is not a folder"):
        open_workspace(workspaces, epoch.name, folder=tmp_path / "missing")


def test_a_place_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")

    with pytest.raises(Unavailable, match="file"):
        open_workspace(tmp_path / "file", "epoch")


@pytest.mark.parametrize("id", ["", "..", "a/b", "a.b", "-a", "ä", "a b", "a" * 200])
def test_what_could_not_be_the_name_of_a_folder_of_ours_is_no_id(workspaces: Path, epoch: Epoch, id: str) -> None:
    with pytest.raises(ValueError, match="invalid workspace id"):
        open_workspace(workspaces, epoch.name, id)


@pytest.mark.parametrize("path", ["..", "../home", "a/../../b", "/etc", "out", "out/passwd", "deep/out/x", "~/../.."])
def test_no_path_leaves_the_repo(workspaces: Path, epoch: Epoch, path: str) -> None:
    workspace = open_workspace(workspaces, epoch.name)
    (workspace.repo / "out").symlink_to("/etc")
    (workspace.repo / "deep").mkdir()
    (workspace.repo / "deep" / "out").symlink_to("../..")

    with pytest.raises(ValueError, match="outside the workspace"):
        path_in_repo(workspace.repo, path)
    workspace.destroy()


def test_paths_and_links_inside_the_repo_are_followed(workspaces: Path, epoch: Epoch) -> None:
    workspace = open_workspace(workspaces, epoch.name)
    (workspace.repo / "deep" / "er").mkdir(parents=True)
    (workspace.repo / "link").symlink_to("deep/er")

    assert path_in_repo(workspace.repo, ".") == workspace.repo
    assert path_in_repo(workspace.repo, "deep/../deep/er") == workspace.repo / "deep" / "er"
    assert path_in_repo(workspace.repo, "link") == workspace.repo / "deep" / "er"
    workspace.destroy()


# --- Taken up again


def test_what_was_kept_is_taken_up_as_it_was_left_but_for_its_logs(workspaces: Path, epoch: Epoch) -> None:
    first = open_workspace(workspaces, epoch.name, "run-1")
    (first.home / "cache").write_text("warm")
    (first.logs / "1").write_text("said before")
    first.keep()

    second = open_workspace(workspaces, epoch.name, "run-1")

    assert (second.home / "cache").read_text() == "warm"
    assert [*second.logs.iterdir()] == []


@pytest.mark.parametrize("is_killed", [False, True])
async def test_the_raw_logs_of_a_workspace_go_when_it_is_left(workspaces: Path, epoch: Epoch, is_killed: bool) -> None:
    left = open_workspace(workspaces, epoch.name, "it")
    for folder in (left.logs, left.command_files):
        (folder / "1").write_text("a secret")
    (left.repo / "file").write_text("kept")
    if not is_killed:
        left.keep()
    (workspaces / f"{epoch.name}.epoch").unlink()  # as if the process had died

    found = await Workspaces(workspaces).orphans()

    assert found == (["it"] if is_killed else [])
    assert {path.name for path in left.root.rglob("*") if path.is_file()} == {"file", "workspace.json"}


def test_in_place_a_workspace_keeps_its_folder(tmp_path: Path, workspaces: Path, epoch: Epoch) -> None:
    mine, other = tmp_path / "mine", tmp_path / "other"
    mine.mkdir()
    other.mkdir()
    orphan(workspaces, "run-1", mine)

    with pytest.raises(Unavailable, match=f"belongs to {mine}, so it cannot be used for {other}"):
        open_workspace(workspaces, epoch.name, "run-1", other)
    again = open_workspace(workspaces, epoch.name, "run-1")
    again.keep()

    assert again.repo == mine
    assert open_workspace(workspaces, epoch.name, "run-1", mine).repo == mine


def test_in_place_a_folder_that_is_gone_is_named(tmp_path: Path, workspaces: Path, epoch: Epoch) -> None:
    project = tmp_path / "project"
    project.mkdir()
    orphan(workspaces, "run-1", project)
    project.rmdir()

    with pytest.raises(Unavailable, match="project is no longer a folder"):
        open_workspace(workspaces, epoch.name, "run-1")


def test_an_orphan_with_a_name_waits_until_it_is_taken_up_or_removed(workspaces: Path, epoch: Epoch) -> None:
    orphan(workspaces, "run-1")
    orphan(workspaces, "run-2")
    (workspaces / "run-1" / "repo" / "work").write_text("half done")

    assert clean_orphans(workspaces) == []
    assert find_workspaces(workspaces, kept=False) == ["run-1", "run-2"]
    remove_workspace(workspaces, "run-2")
    taken = open_workspace(workspaces, epoch.name, "run-1")

    assert (taken.repo / "work").read_text() == "half done"
    assert find_workspaces(workspaces, kept=False) == []
    assert listed(workspaces) == ["run-1", "run-1.lock"]


def test_what_is_in_use_cannot_be_taken_or_removed_and_its_user_is_named(workspaces: Path, epoch: Epoch) -> None:
    hold = DIES_WITH_A_WORKSPACE + "sys.stdout.flush(); sys.stdin.read()"
    arguments = json.dumps([str(workspaces), "run-1", None])
    with subprocess.Popen(
        [sys.executable, "-c", hold, arguments], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as user:
        assert user.stdout is not None
        assert user.stdout.readline() == b"run-1\n"
        with pytest.raises(WorkspaceBusy, match=f"'run-1' is in use by process {user.pid}"):
            open_workspace(workspaces, epoch.name, "run-1")
        with pytest.raises(WorkspaceBusy):
            remove_workspace(workspaces, "run-1")
        user.kill()

    assert open_workspace(workspaces, epoch.name, "run-1").id == "run-1"


def test_who_lost_a_workspace_to_another_cannot_keep_or_destroy_it(workspaces: Path, epoch: Epoch) -> None:
    over = begin_epoch(str(workspaces))
    lost = open_workspace(workspaces, over.name, "run-1")
    over.end()
    taken = open_workspace(workspaces, epoch.name, "run-1")

    for give_up in (lost.keep, lost.destroy):
        with pytest.raises(WorkspaceLost, match="has taken it over"):
            give_up()

    assert taken.repo.is_dir()


def test_what_was_not_removed_to_the_end_is_not_there_to_be_taken_up(workspaces: Path, epoch: Epoch) -> None:
    orphan(workspaces, "run-1")
    (workspaces / "run-1" / "repo" / "work").write_text("to be removed")
    (workspaces / "run-1").rename(workspaces / "run-1.removing")  # as far as it came

    assert find_workspaces(workspaces, kept=False) == []
    taken = open_workspace(workspaces, epoch.name, "run-1")

    assert [*taken.repo.iterdir()] == []
    taken.destroy()
    assert listed(workspaces) == []


# --- Orphans without a name


def test_what_a_dead_owner_left_is_cleaned_and_his_folder_is_not(tmp_path: Path, workspaces: Path) -> None:
    project = tmp_path / "project"
    project.mkdir()
    (project / "mine").write_text("precious")
    left = {orphan(workspaces), orphan(workspaces, folder=project)}

    assert set(clean_orphans(workspaces)) == left
    assert listed(workspaces) == []
    assert (project / "mine").read_text() == "precious"


def test_what_is_in_use_or_was_kept_is_nobodys_orphan(workspaces: Path, epoch: Epoch) -> None:
    in_use, kept = open_workspace(workspaces, epoch.name), open_workspace(workspaces, epoch.name)
    kept.keep()

    assert clean_orphans(workspaces) == []
    assert find_workspaces(workspaces, kept=True) == [kept.id]
    assert in_use.repo.is_dir()
    assert kept.repo.is_dir()


@pytest.mark.parametrize("damage", ["", "{", "[1]", "{}"])
def test_a_workspace_that_was_made_or_removed_only_in_part_is_cleaned(workspaces: Path, damage: str) -> None:
    left = orphan(workspaces)
    (workspaces / left / ".pitstop" / "workspace.json").write_text(damage)

    assert clean_orphans(workspaces) == [left]


def test_one_with_a_name_is_not_cleaned_whatever_became_of_its_record(workspaces: Path, epoch: Epoch) -> None:
    orphan(workspaces, "run-1")
    (workspaces / "run-1" / ".pitstop" / "workspace.json").write_text("")

    assert clean_orphans(workspaces) == []
    assert find_workspaces(workspaces, kept=False) == ["run-1"]
    assert open_workspace(workspaces, epoch.name, "run-1").id == "run-1"


async def test_whoever_looks_for_orphans_keeps_nobody_from_taking_a_workspace_up(tmp_path: Path) -> None:
    executor = ProcessExecutor(tmp_path)
    await executor.release(await executor.acquire(Placement(workspace="run-1")), keep=True)

    async with asyncio.TaskGroup() as group:
        with _locked(tmp_path / "run-1"):
            taking = group.create_task(executor.acquire(Placement(workspace="run-1")))
            await asyncio.sleep(0)  # it tries

    assert taking.result().id == "run-1"
    await executor.close()


def test_whoever_looks_for_orphans_keeps_nobody_from_removing_one(workspaces: Path, epoch: Epoch) -> None:
    orphan(workspaces, "run-1")
    with ThreadPoolExecutor() as threads:
        with _locked(workspaces / "run-1"):
            removing = threads.submit(remove_workspace, workspaces, "run-1")
            wait([removing], timeout=0.5)  # it tries
        removing.result()

    assert listed(workspaces) == []


def test_whoever_asks_whether_an_epoch_lasts_does_not_make_a_dead_one_last(workspaces: Path) -> None:
    orphan(workspaces, "run-1")
    (path,) = (path for path in workspaces.glob("*.epoch") if not lasts(str(path)))
    with path.open() as asking:
        fcntl.flock(asking, fcntl.LOCK_SH)
        dead = take_dead(str(path))

    assert dead is not None
    dead.end()


def test_whoever_stands_still_while_he_ends_what_is_left_keeps_nobody_from_taking_it_up(
    workspaces: Path, epoch: Epoch
) -> None:
    orphan(workspaces, "run-1")
    (path,) = (path for path in workspaces.glob("*.epoch") if not lasts(str(path)))
    standing_still = take_dead(str(path))
    assert standing_still is not None

    taken = open_workspace(workspaces, epoch.name, "run-1")

    assert taken.epoch == epoch.name
    assert not path.exists()
    standing_still.end()  # when he goes on
    assert not lasts(str(path))


def test_an_epoch_that_somebody_takes_for_a_dead_one_as_it_begins_is_given_up_for_another(
    workspaces: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    flock, others = fcntl.flock, list[Epoch]()

    def take_first(fd: int, operation: int) -> None:
        if not others and operation & fcntl.LOCK_EX:
            others.extend(dead for path in workspaces.glob("*.epoch") if (dead := take_dead(str(path))) is not None)
        flock(fd, operation)

    monkeypatch.setattr(fcntl, "flock", take_first)
    begun = begin_epoch(str(workspaces))

    (other,) = others
    assert begun.path != other.path
    assert lasts(begun.path)
    assert not Path(other.path).exists()
    other.end()
    begun.end()


def test_whoever_looks_for_orphans_keeps_no_owner_from_removing_its_workspace(workspaces: Path, epoch: Epoch) -> None:
    opened = open_workspace(workspaces, epoch.name)
    with ThreadPoolExecutor() as threads:
        with _locked(opened.root):
            removing = threads.submit(opened.destroy)
        removing.result()

    assert listed(workspaces) == []


@pytest.mark.parametrize("size", [FEW_BYTES + 1, 1])
def test_a_small_workspace_is_destroyed_at_once_and_a_large_one_is_not(
    workspaces: Path, epoch: Epoch, size: int
) -> None:
    opened = open_workspace(workspaces, epoch.name)
    (opened.repo / "file").write_bytes(bytes(size))

    assert opened.destroy_at_once() is (size == 1)
    assert opened.root.exists() is (size != 1)


def test_who_lost_a_small_workspace_cannot_destroy_it_at_once(workspaces: Path, epoch: Epoch) -> None:
    opened = open_workspace(workspaces, epoch.name)
    opened.epoch = "another"

    with pytest.raises(WorkspaceLost, match="has taken it over"):
        opened.destroy_at_once()
    assert opened.root.exists()


async def test_the_loop_goes_on_while_somebody_else_locks_a_workspace_that_is_released(tmp_path: Path) -> None:
    executor = ProcessExecutor(tmp_path)
    workspace = await executor.acquire(Placement())

    async with asyncio.TaskGroup() as group:
        with _locked(tmp_path / workspace.id):
            releasing = group.create_task(executor.release(workspace))
            await asyncio.sleep(0.05)  # it tries
            assert not releasing.done()

    assert not (tmp_path / workspace.id).exists()
    await executor.close()


async def test_a_workspace_with_a_very_deep_folder_is_released(tmp_path: Path) -> None:
    executor = ProcessExecutor(tmp_path)
    workspace = await executor.acquire(Placement())
    with deep_in(Path(workspace.repo)):
        await executor.release(workspace)

    assert not (tmp_path / workspace.id).exists()
    await executor.close()
