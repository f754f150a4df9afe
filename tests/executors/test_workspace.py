import json
import os
import subprocess
import sys
from itertools import product
from pathlib import Path

import pytest

from pitstop.errors import Unavailable
from pitstop.executors.workspace import (
    MOVES,
    Workspace,
    WorkspaceState,
    clean_orphans,
    create_workspace,
    remove_tree,
)

DIES_WITH_A_WORKSPACE = """
import os, sys
from pathlib import Path
from pitstop.executors.workspace import create_workspace
folder = Path(sys.argv[2]) if len(sys.argv) > 2 else None
workspace = create_workspace(Path(sys.argv[1]), folder)
workspace.use()
print(workspace.id)
"""


def orphan(workspaces: Path, *folder: Path) -> str:
    """The id of a workspace whose owner has died with it in use."""
    arguments = [sys.executable, "-c", DIES_WITH_A_WORKSPACE, str(workspaces), *map(str, folder)]
    return subprocess.run(arguments, stdout=subprocess.PIPE, text=True, check=True).stdout.strip()


def test_a_workspace_has_its_four_folders_and_is_gone_when_destroyed(tmp_path: Path) -> None:
    workspace = create_workspace(tmp_path / "deep" / "workspaces")
    workspace.use()
    folders = [workspace.repo, workspace.home, workspace.artifacts, workspace.control]

    assert [folder.name for folder in folders] == ["repo", "home", "artifacts", ".pitstop"]
    assert all(folder.is_dir() for folder in folders)
    workspace.destroy()

    assert workspace.state == WorkspaceState.DESTROYED
    assert [*(tmp_path / "deep" / "workspaces").iterdir()] == []


def test_the_way_of_a_workspace_is_a_table_and_every_other_move_names_both_states(tmp_path: Path) -> None:
    for state, target in product(WorkspaceState, WorkspaceState):
        workspace = Workspace(tmp_path / "w", -1, state=state)
        if target in MOVES[state]:
            workspace.move_to(target)
            assert workspace.state == target
        else:
            with pytest.raises(ValueError, match=f"from {state} to {target}"):
                workspace.move_to(target)


def test_every_state_can_be_left_for_destroyed(tmp_path: Path) -> None:
    for state in WorkspaceState:
        reachable = {state}
        while (more := reachable.union(*(MOVES[reached] for reached in reachable))) != reachable:
            reachable = more
        assert WorkspaceState.DESTROYED in reachable


def test_in_place_the_folder_is_the_repo_and_is_never_removed(tmp_path: Path) -> None:
    project = tmp_path / "project"
    project.mkdir()
    (project / "mine").write_text("precious")
    workspace = create_workspace(tmp_path / "workspaces", project)
    workspace.use()

    assert workspace.repo == project
    workspace.destroy()

    assert (project / "mine").read_text() == "precious"
    assert not workspace.root.exists()


def test_a_folder_that_is_not_there_cannot_be_worked_in(tmp_path: Path) -> None:
    with pytest.raises(Unavailable, match="missing is not a folder"):
        create_workspace(tmp_path / "workspaces", tmp_path / "missing")


def test_a_place_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")

    with pytest.raises(Unavailable, match="file"):
        create_workspace(tmp_path / "file")


@pytest.mark.parametrize("path", ["..", "../home", "a/../../b", "/etc", "out", "out/passwd", "deep/out/x", "~/../.."])
def test_no_path_leaves_the_repo(tmp_path: Path, path: str) -> None:
    workspace = create_workspace(tmp_path)
    (workspace.repo / "out").symlink_to("/etc")
    (workspace.repo / "deep").mkdir()
    (workspace.repo / "deep" / "out").symlink_to("../..")

    with pytest.raises(ValueError, match="outside the workspace"):
        workspace.path_in_repo(path)
    workspace.destroy()


def test_paths_and_links_inside_the_repo_are_followed(tmp_path: Path) -> None:
    workspace = create_workspace(tmp_path)
    (workspace.repo / "deep" / "er").mkdir(parents=True)
    (workspace.repo / "link").symlink_to("deep/er")

    assert workspace.path_in_repo(".") == workspace.repo
    assert workspace.path_in_repo("deep/../deep/er") == workspace.repo / "deep" / "er"
    assert workspace.path_in_repo("link") == workspace.repo / "deep" / "er"
    workspace.destroy()


def test_what_a_dead_owner_left_is_cleaned_and_his_folder_is_not(tmp_path: Path) -> None:
    project = tmp_path / "project"
    project.mkdir()
    (project / "mine").write_text("precious")
    workspaces = tmp_path / "workspaces"
    left = {orphan(workspaces), orphan(workspaces, project)}

    assert set(clean_orphans(workspaces)) == left
    assert [*workspaces.iterdir()] == []
    assert (project / "mine").read_text() == "precious"


def test_what_is_in_use_or_was_kept_is_nobodys_orphan(tmp_path: Path) -> None:
    in_use, kept = create_workspace(tmp_path), create_workspace(tmp_path)
    in_use.use()
    kept.use()
    kept.keep()

    assert clean_orphans(tmp_path) == []
    assert in_use.repo.is_dir()
    assert kept.repo.is_dir()
    in_use.destroy()


def test_an_owner_whose_id_was_given_to_another_process_is_dead(tmp_path: Path) -> None:
    left = orphan(tmp_path)
    record_file = tmp_path / left / ".pitstop" / "workspace.json"
    record = json.loads(record_file.read_text())
    record_file.write_text(json.dumps({**record, "owner": os.getpid()}))

    assert clean_orphans(tmp_path) == [left]


@pytest.mark.parametrize("damage", ["", "{", "[1]x"])
def test_a_workspace_that_was_made_or_removed_only_in_part_is_cleaned(tmp_path: Path, damage: str) -> None:
    left = orphan(tmp_path)
    (tmp_path / left / ".pitstop" / "workspace.json").write_text(damage)

    assert clean_orphans(tmp_path) == [left]


def test_a_workspace_that_another_process_uses_cannot_be_destroyed(tmp_path: Path) -> None:
    workspace = create_workspace(tmp_path)
    workspace.use()
    hold = "import fcntl, signal; fcntl.flock(0, fcntl.LOCK_SH); print('held', flush=True); signal.pause()"
    with (
        (tmp_path / f"{workspace.id}.lock").open("r+") as lock,
        subprocess.Popen([sys.executable, "-c", hold], stdin=lock, stdout=subprocess.PIPE) as other,
    ):
        assert other.stdout is not None
        assert other.stdout.readline() == b"held\n"
        with pytest.raises(Unavailable, match="used by another process"):
            workspace.destroy()
        other.kill()
    workspace.destroy()


def test_a_tree_with_folders_that_may_not_be_written_is_removed_and_no_link_is_followed(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "file").write_text("stays")
    outside.chmod(0o555)
    tree = tmp_path / "tree"
    (tree / "cache" / "module").mkdir(parents=True)
    (tree / "cache" / "module" / "file").write_text("")
    (tree / "link").symlink_to(outside)
    (tree / "cache" / "module").chmod(0o555)
    (tree / "cache").chmod(0o555)

    remove_tree(tree)

    assert not tree.exists()
    assert (outside / "file").read_text() == "stays"
    assert outside.stat().st_mode & 0o777 == 0o555
