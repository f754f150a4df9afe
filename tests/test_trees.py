import os
import socket
from collections.abc import Callable
from pathlib import Path

import pytest

from pitstop.trees import is_small, remove_tree
from tests.deep_folders import deep_in


def test_a_tree_with_folders_that_may_not_be_written_is_removed_and_no_link_is_followed(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "file").write_text("stays")
    outside.chmod(0o555)
    tree = tmp_path / "tree"
    (tree / "cache" / "module" / "inner").mkdir(parents=True)
    (tree / "cache" / "module" / "file").write_text("")
    (tree / "link").symlink_to(outside)
    (tree / "cache" / "module" / "link").symlink_to(outside / "file")
    for folder in ("cache/module/inner", "cache/module", "cache", "."):
        (tree / folder).chmod(0o000 if folder == "cache/module/inner" else 0o555)

    remove_tree(tree)

    assert not tree.exists()
    assert (outside / "file").read_text() == "stays"
    assert outside.stat().st_mode & 0o777 == 0o555


def test_a_tree_with_anything_in_it_is_removed(tmp_path: Path) -> None:
    tree = tmp_path / "tree"
    (tree / "a" / "b").mkdir(parents=True)
    (tree / "a" / "b" / "name\nwith a break").write_text("")
    os.mkfifo(tree / "a" / "pipe")
    (tree / "a" / "broken").symlink_to("nowhere")
    (tree / "a" / "link").symlink_to("b")
    os.link(tree / "a" / "b" / "name\nwith a break", tree / "a" / "hard")
    (tree / os.fsdecode(b"\xff")).mkdir()
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(tree / "a" / "socket"))
        remove_tree(tree)

    assert list(tmp_path.iterdir()) == []


def test_a_tree_that_is_deeper_than_a_path_can_be_is_removed(tmp_path: Path) -> None:
    with deep_in(tmp_path) as tree:
        remove_tree(tree)

        assert list(tmp_path.iterdir()) == []


def test_a_tree_that_is_not_there_is_removed_already(tmp_path: Path) -> None:
    remove_tree(tmp_path / "tree")


def link(path: Path) -> None:
    path.symlink_to(path.parent)


def file(path: Path) -> None:
    path.write_text("stays")


@pytest.mark.parametrize("make", [link, file])
def test_what_is_no_folder_is_not_removed(tmp_path: Path, make: Callable[[Path], None]) -> None:
    make(tmp_path / "it")
    with pytest.raises(NotADirectoryError):
        remove_tree(tmp_path / "it")

    assert os.path.lexists(tmp_path / "it")


@pytest.mark.parametrize(("most_files", "most_bytes", "expected"), [(3, 8, True), (2, 8, False), (3, 7, False)])
def test_a_tree_is_small_when_it_has_few_files_and_bytes(
    tmp_path: Path, most_files: int, most_bytes: int, expected: bool
) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "file").write_text("1234567")
    (tmp_path / "link").symlink_to(".")

    assert is_small(tmp_path, most_files, most_bytes) is expected
