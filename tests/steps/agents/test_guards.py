import pytest

from pitstop.steps.agents.guards import MOST_MOUNTS, mounts_for, violations

FILES = (
    ".pitstop/flows/ci.yaml",
    "README.md",
    "poetry.lock",
    "src/a/gen.py",
    "src/a/own.py",
    "src/b/deep/gen.py",
    "tests/test_a.py",
    "tests/unit/poetry.lock",
)


@pytest.mark.parametrize(
    ("patterns", "mounts"),
    [
        ([], ()),
        (["tests/**"], ("tests",)),
        (["tests"], ("tests",)),
        (["./tests/**", "/poetry.lock", "/src/*/own.py"], ("poetry.lock", "src/a/own.py", "tests")),
        (["tests/", "README.md"], ("README.md", "tests")),
        (["tests/unit/**", "tests/**", "tests/*.py"], ("tests",)),
        (["*.lock"], ("poetry.lock",)),
        (["**/*.lock"], ("poetry.lock", "tests/unit/poetry.lock")),
        (["src/*/gen.py"], ("src/a/gen.py",)),
        (["src/*/**"], ("src/a/gen.py", "src/a/own.py", "src/b/deep/gen.py")),
        (["**"], (".",)),
        (["missing/**", "missing.txt", ".git/**"], ()),
    ],
)
def test_a_folder_is_mounted_as_a_whole_and_other_patterns_file_by_file(
    patterns: list[str], mounts: tuple[str, ...]
) -> None:
    assert mounts_for(patterns, FILES) == mounts


def test_an_empty_folder_is_mounted_too() -> None:
    assert mounts_for(["new/**"], ["new"]) == ("new",)


def test_too_many_mounts_are_refused_with_the_way_out() -> None:
    files = [f"src/{number}.py" for number in range(MOST_MOUNTS + 1)]

    with pytest.raises(ValueError, match=r"matches 201 files, and at most 200 .* protect folders, such as"):
        mounts_for(["src/*.py"], files)

    assert mounts_for(["src/**"], files) == ("src",)
    assert len(mounts_for(["src/*.py"], files[1:])) == MOST_MOUNTS


def test_changed_files_that_are_protected_are_found_also_where_no_folder_was() -> None:
    changed = ["new/deep/a.py", "src/c/gen.py", "src/c/own.py", "x/y.lock", "y.lock", "tests", "testsuite/a"]

    assert violations(["new/**", "src/*/gen.py", "*.lock", "tests"], changed) == [
        "new/deep/a.py",
        "src/c/gen.py",
        "tests",
        "y.lock",
    ]
    assert violations(["**"], ["a"]) == ["a"]
    assert violations([], changed) == []
