"""Names in git, compared with what git itself takes."""

import random
import subprocess

import pytest

from pitstop.git.names import is_branch_name, is_ref_name, is_short_sha, is_writable_path, short_name

PIECES = (
    "a",
    "main",
    "/",
    "//",
    ".",
    "..",
    "@",
    "{",
    "@{",
    "-",
    ".lock",
    "lock",
    " ",
    "~",
    "^",
    ":",
    "?",
    "*",
    "[",
    "\\",
)
ODD = ("\x01", "\x7f", "é", "refs/heads/", "refs", "\t", "]", "}", "#", "'", '"', "$", "%", "☃")


def generated_names() -> list[str]:
    chance = random.Random(7)
    short = ["".join(chance.choices(PIECES + ODD, k=chance.randint(1, 5))) for _ in range(170)]
    return sorted({*short, *(f"refs/heads/{name}" for name in short), "@", "a/@", "refs/heads/@", "x/a.lock/b"})


def test_a_ref_name_is_what_git_check_ref_format_takes() -> None:
    names = generated_names()
    tried = "".join(f"if git check-ref-format {_quoted(name)}; then echo 1; else echo 0; fi\n" for name in names)
    answers = subprocess.run(["sh"], input=tried, capture_output=True, text=True, check=True).stdout.split()

    assert {name: is_ref_name(name) for name in names} == {
        name: answer == "1" for name, answer in zip(names, answers, strict=True)
    }
    assert 20 < answers.count("1") < len(names) - 20


@pytest.mark.parametrize("name", ["", "a\0b", "refs/heads/\ud800", "refs/heads/a\n"])
def test_what_no_program_can_be_asked_is_no_ref_name(name: str) -> None:
    assert not is_ref_name(name)


def test_a_branch_cannot_look_like_an_option_or_like_head() -> None:
    assert is_branch_name("feature/x")
    assert not is_branch_name("-f")
    assert not is_branch_name("HEAD")
    assert not is_branch_name("")


@pytest.mark.parametrize(
    "path",
    ["", "/etc/passwd", "a//b", "a/../b", "..", "./a", "a/", ".git/config", "a/.GIT/hooks/x", "a\nb", "x" * 1001],
)
def test_no_file_can_be_written_outside_or_into_git_itself(path: str) -> None:
    assert not is_writable_path(path)


def test_ordinary_paths_can_be_written() -> None:
    assert is_writable_path(".pitstop/flows/a b.yaml")
    assert is_writable_path(".gitignore")
    assert is_writable_path("a/...b/ö")


def test_short_names_are_what_people_write() -> None:
    assert short_name("refs/heads/a/b") == "a/b"
    assert short_name("refs/tags/v1") == "v1"
    assert is_short_sha("abcd")
    assert not is_short_sha("abc")
    assert not is_short_sha("main")


def _quoted(name: str) -> str:
    return "'" + name.replace("'", "'\\''") + "'"
