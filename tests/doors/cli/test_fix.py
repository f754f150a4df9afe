"""`pitstop fix`, as a user runs it: on the example, with an empty home, without a server."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.amounts import amount
from tests.patience import PATIENCE_SECONDS

EXAMPLE = Path(__file__).parents[3] / "examples" / "fix"
TESTS = ("python3", "-m", "unittest", "-q")

OTHER_WAYS = [
    (("guide", "it is the", "comma"), 77, "round 2, with guidance"),
    (("skip", "known"), 0, "skipped, as a known issue"),
    (("roll-back", "base"), 77, "rolled back to the files before the loop"),
    (("stop",), 1, "not fixed after 1 iteration"),
]


class Shop:
    """A copy of the example, and a user who runs commands in it."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.home = folder / "shop", folder / "home"
        shutil.copytree(EXAMPLE, self.folder, ignore=shutil.ignore_patterns("__pycache__"))
        self.home.mkdir()

    def pitstop(self, *words: str, **env: str) -> "subprocess.CompletedProcess[str]":
        return self.run(sys.executable, "-m", "pitstop", *words, **env)

    def run(self, *words: str, **env: str) -> "subprocess.CompletedProcess[str]":
        hidden = ("PITSTOP_HOME", "XDG_STATE_HOME", "GITHUB_STEP_SUMMARY", "PYTEST_ADDOPTS")
        kept = {name: value for name, value in os.environ.items() if name not in hidden}
        return subprocess.run(
            words,
            cwd=self.folder,
            env={**kept, "HOME": str(self.home), **env},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=PATIENCE_SECONDS,
            check=False,
        )

    def git(self, *words: str) -> str:
        done = self.run("git", "-c", "user.name=a", "-c", "user.email=a@localhost", *words)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def commit(self) -> None:
        self.git("init", "-q", "-b", "main")
        self.git("add", "-Af", ".")
        self.git("commit", "-qm", "the shop")

    @property
    def source(self) -> str:
        return (self.folder / "shop/money.py").read_text()


@pytest.fixture
def shop(tmp_path: Path) -> Shop:
    return Shop(tmp_path)


def given_up(shop: Shop, *options: str) -> str:
    """The run of a loop that gave up."""
    done = shop.pitstop("fix", "--agent", "hopeless", "--iterations", "1", *options, "--", *TESTS)
    assert done.returncode == 77, done.stdout + done.stderr
    found = re.search(r"pitstop fix (\S+) guide", done.stdout)
    assert found is not None, done.stdout
    return found[1]


def test_the_example_is_fixed_in_two_iterations_and_only_the_files_change(shop: Shop) -> None:
    shop.commit()

    done = shop.pitstop(
        "fix", "--agent", "scripted", "--", sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"
    )

    assert done.returncode == 0, done.stdout + done.stderr
    assert "fixed after 2 iterations" in done.stdout
    assert "the fix is applied to this folder, not committed" in done.stdout
    assert shop.git("status", "--porcelain").split() == ["M", "shop/money.py", "??", "debug/"]
    assert shop.run(*TESTS).returncode == 0
    assert shop.git("branch", "--list").split() == ["*", "main"]


def test_a_folder_without_git_is_fixed_too(shop: Shop) -> None:
    done = shop.pitstop("fix", "--agent", "scripted", "--", *TESTS)

    assert done.returncode == 0, done.stdout + done.stderr
    assert shop.run(*TESTS).returncode == 0
    assert not (shop.folder / ".git").exists()


def test_work_that_is_not_committed_is_in_the_copy_and_stays(shop: Shop) -> None:
    shop.commit()
    (shop.folder / "new.txt").write_text("new\n")
    (shop.folder / "shop/money.py").write_text(shop.source + "\n# mine\n")

    done = shop.pitstop("fix", "--agent", "scripted", "--", "test -e new.txt && python3 -m unittest -q")

    assert done.returncode == 0, done.stdout + done.stderr
    assert "# mine" in shop.source
    assert ":02}" in shop.source


def test_a_folder_that_changed_meanwhile_keeps_its_changes_and_the_fix_is_on_a_branch(shop: Shop) -> None:
    shop.commit()
    change = f"echo changed >> {shop.folder}/README; python3 -m unittest -q"

    done = shop.pitstop("fix", "--agent", "scripted", "--", change)

    assert done.returncode == 0, done.stdout + done.stderr
    assert "this folder has changed meanwhile, so the fix is not applied" in done.stdout
    branch = re.search(r"branch (fix/\S+):", done.stdout)
    assert branch is not None
    assert ":02}" not in shop.source
    assert ":02}" in shop.git("show", f"{branch[1]}:shop/money.py")
    subjects = shop.git("log", "--format=%s", branch[1]).splitlines()
    assert "fix(test_failures): iteration 1" in subjects


def test_a_hopeless_loop_is_taken_over_from_another_process(shop: Shop) -> None:
    shop.commit()
    run = given_up(shop)

    taken = shop.pitstop("fix", run, "take-over")
    assert taken.returncode == 77
    workspace = re.search(r"repair the files in (\S+)", taken.stdout)
    assert workspace is not None
    money = Path(workspace[1], "shop/money.py")
    money.write_text(shop.source.replace("float(text)", 'float(text.replace(",", "."))').replace("% 100}", "% 100:02}"))
    done = shop.pitstop("fix", run, "continue")

    assert done.returncode == 0, done.stdout + done.stderr
    assert "passed" in done.stdout
    assert "intervened" in done.stdout
    assert "fixed by a user" in done.stdout
    assert shop.run(*TESTS).returncode == 0


@pytest.mark.repeats
@pytest.mark.parametrize(("words", "code", "said"), OTHER_WAYS[: amount(2, soak=4)])
def test_each_other_way_continues_the_run(shop: Shop, words: tuple[str, ...], code: int, said: str) -> None:
    run = given_up(shop)

    done = shop.pitstop("fix", run, *words)

    assert (done.returncode, done.stderr) == (code, "")
    assert said in done.stdout


def test_in_ci_nothing_pauses_and_a_summary_is_written(shop: Shop, tmp_path: Path) -> None:
    summary = tmp_path / "summary.md"

    done = shop.pitstop(
        "fix", "--ci", "--iterations", "1", "--agent", "hopeless", "--", *TESTS, GITHUB_STEP_SUMMARY=str(summary)
    )

    assert done.returncode == 1
    assert summary.read_text().startswith("## Fix loop: not fixed\n")
    assert "| 1 | same" in summary.read_text()


def test_without_fix_loops_the_tests_just_run(shop: Shop) -> None:
    done = shop.pitstop("fix", "--agent", "scripted", "--", *TESTS, PITSTOP_NO_FIX="1")

    assert done.returncode == 1
    assert "triage" not in done.stdout


def test_tests_that_pass_need_no_loop(shop: Shop) -> None:
    done = shop.pitstop("fix", "--", "true")

    assert done.returncode == 0
    assert "debug/" not in done.stdout


def test_a_failed_run_is_fixed_without_naming_it(shop: Shop) -> None:
    (shop.folder / "flow.yaml").write_text(
        "steps:\n  - {id: build, run: echo built}\n  - {id: tests, run: python3 -m unittest -q}\n"
    )
    assert shop.pitstop("run", "flow.yaml").returncode == 1

    done = shop.pitstop("fix", "--agent", "scripted")

    assert done.returncode == 0, done.stdout + done.stderr
    assert "fixed after 2 iterations" in done.stdout
    assert "build started" not in done.stdout
    assert shop.run(*TESTS).returncode == 0


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--",), "name the command that fails"),
        ((), "no run of this folder has failed"),
        (("--iterations", "99", "--", "false"), "`fix.iterations`: must be at most 10"),
        (("20260101-000000-aaaaaa", "guide"), "guide needs the guidance"),
        (("20260101-000000-aaaaaa", "stop"), "20260101-000000-aaaaaa"),
        (("20260101-000000-aaaaaa", "--", "false"), "name a run or a command, not both"),
    ],
)
def test_what_cannot_be_done_is_said_in_a_sentence(shop: Shop, words: tuple[str, ...], said: str) -> None:
    done = shop.pitstop("fix", *words)

    assert done.returncode in (1, 2)
    assert said in done.stderr
    assert "Traceback" not in done.stderr


def test_two_commands_on_one_run_do_not_both_get_it(shop: Shop) -> None:
    run = given_up(shop)
    assert shop.pitstop("fix", run, "stop").returncode == 1

    again = shop.pitstop("fix", run, "skip", "too late")

    assert again.returncode == 2
    assert "Traceback" not in again.stderr


def test_failures_that_existed_before_are_left_alone_and_the_way_to_fix_them_is_named(shop: Shop) -> None:
    shop.commit()
    (shop.folder / "größe 😀.txt").write_text("a change that breaks nothing\n")

    done = shop.pitstop("fix", "--agent", "scripted", "--", *TESTS)

    assert (done.returncode, done.stderr) == (1, "")
    assert "not fixed: the failures existed before the change" in done.stdout
    assert "`--base none` compares with nothing" in done.stdout


def test_a_summary_that_cannot_be_written_changes_no_result(shop: Shop) -> None:
    done = shop.pitstop("fix", "--summary", "no/such/folder.md", "--", "true")

    assert done.returncode == 0
    assert done.stderr == "pitstop fix: cannot write the summary no/such/folder.md: No such file or directory\n"


def test_the_summary_of_tests_without_a_loop_says_how_they_ended(shop: Shop, tmp_path: Path) -> None:
    summary = tmp_path / "summary.md"

    shop.pitstop("fix", "--summary", str(summary), "--", "false", PITSTOP_NO_FIX="1")

    assert summary.read_text().startswith("## Tests failed, and no fix loop ran")
