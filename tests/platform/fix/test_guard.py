"""A fix that weakens the tests is noticed, and one that repairs the code is not."""

import subprocess
from collections.abc import Mapping
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as some

from pitstop.platform.fix.guard import touched_tests

OPTIONS = ("--no-color", "--no-renames", "--no-ext-diff", "--no-textconv")
TEST = """\
from shop import total


def test_total():
    assert total([1, 2]) == 3
    assert total([]) == 0


def test_names():
    assert total.__name__ == "total"
"""
PYPROJECT = """\
[project]
name = "shop"
dependencies = [
    "httpx>=0.28",
]

[tool.pytest.ini_options]
addopts = [
    "-x",
    "--strict-markers",
]

[tool.coverage.report]
fail_under = 90

[tool.ruff]
line-length = 100
"""

Files = Mapping[str, str | bytes | None]  # None for a file that is not there


def git(folder: Path, *words: str) -> str:
    done = subprocess.run(["git", "-c", "core.autocrlf=false", *words], cwd=folder, capture_output=True, check=True)
    return done.stdout.decode(errors="replace")


def write(folder: Path, files: Files) -> None:
    for path, content in files.items():
        file = folder / path
        file.parent.mkdir(parents=True, exist_ok=True)
        if content is None:
            file.unlink()
        else:
            file.write_bytes(content.encode() if isinstance(content, str) else content)


def project_in(folder: Path, files: Files) -> None:
    """A repository with these files in its index, which is what the guard's diffs begin at here."""
    git(folder, "init", "-q", "--template=")
    write(folder, {"README.md": "A shop\n", **files})
    git(folder, "add", "-A")


def diff_in(folder: Path, *options: str) -> str:
    """What git prints for what changed since, new files included."""
    git(folder, "add", "-N", "--ignore-removal", ".")
    return git(folder, "diff", *OPTIONS, *options)


def findings(folder: Path, before: Files, after: Files, *options: str) -> tuple[str, ...]:
    project_in(folder, before)
    write(folder, after)
    return touched_tests(diff_in(folder, *options))


@pytest.fixture(params=["-U0", "-U3"])
def context(request: pytest.FixtureRequest) -> str:
    return str(request.param)


# Innocent changes


def test_a_repaired_file_is_no_finding(tmp_path: Path, context: str) -> None:
    before = {"shop.py": "def total(prices):\n    return 0\n", "ui.js": "const lines = 80\nrequire('a')\n"}
    after = {"shop.py": "def total(prices):\n    return sum(prices)\n", "ui.js": "const lines = 40\n"}

    assert findings(tmp_path, before, after, context) == ()


def test_no_change_is_no_finding() -> None:
    assert touched_tests("") == ()


def test_a_new_test_is_welcome(tmp_path: Path) -> None:
    assert findings(tmp_path, {"shop.py": ""}, {"shop.py": "a = 1\n", "tests/test_shop.py": TEST}) == ()


def test_a_debug_report_may_quote_tests(tmp_path: Path) -> None:
    report = "## Evidence\n\n@pytest.mark.skip\n--cov-fail-under=3\n"

    assert (
        findings(tmp_path, {"debug/tests_failures/001_a.md": "assert x\n"}, {"debug/tests_failures/001_a.md": report})
        == ()
    )
    assert touched_tests("diff --git a/docs/a.md b/docs/a.md\n@@ -1 +1 @@\n-assert it\n+use pytest.mark.skip\n") == ()


@pytest.mark.parametrize(
    ("path", "line"),
    [
        ("src/lib.rs", "let rest = it.skip(count);"),
        ("Page.cs", "return t.Skip(10).Take(5);"),
        ("train.py", "xtest.reshape(2)"),
        ("ui.ts", "if (pattern.test(skip)) exit(only)"),
    ],
)
def test_code_that_skips_something_else_skips_no_test(tmp_path: Path, path: str, line: str) -> None:
    assert findings(tmp_path, {path: "\n"}, {path: f"{line}\n"}) == ()


# Tests


def test_an_edited_test_is_found(tmp_path: Path, context: str) -> None:
    after = {"tests/test_shop.py": TEST.replace("== 3", "== 4")}

    assert findings(tmp_path, {"tests/test_shop.py": TEST}, after, context) == (
        "'tests/test_shop.py' is a test file and was changed (line 5)",
    )


def test_a_deleted_assertion_is_found(tmp_path: Path, context: str) -> None:
    after = {"tests/test_shop.py": TEST.replace("    assert total([]) == 0\n", "")}

    assert findings(tmp_path, {"tests/test_shop.py": TEST}, after, context) == (
        "'tests/test_shop.py' is a test file and was changed (line 6)",
        "'tests/test_shop.py' has 1 fewer assertion (line 6)",
    )


def test_an_assertion_in_a_comment_asserts_nothing(tmp_path: Path) -> None:
    before = {"src/lib.rs": "fn t() {\n    assert_eq!(one(), 1);\n    assert!(two());\n}\n"}
    after = {"src/lib.rs": "fn t() {\n    // assert_eq!(one(), 1);\n    assert!(true);\n}\n"}

    assert findings(tmp_path, before, after) == ("'src/lib.rs' has 1 fewer assertion (line 2)",)


def test_moved_assertions_are_not_fewer(tmp_path: Path) -> None:
    before = {"checks.py": "def a():\n    assert one\n\n\ndef b():\n    pass\n"}
    after = {"checks.py": "def a():\n    pass\n\n\ndef b():\n    assert one\n"}

    assert findings(tmp_path, before, after) == ()


def test_a_deleted_test_file_is_found(tmp_path: Path) -> None:
    before = {"tests/test_shop.py": TEST, "tests/test_empty.py": ""}

    assert findings(tmp_path, before, {"tests/test_shop.py": None, "tests/test_empty.py": None}) == (
        "'tests/test_empty.py' is a test file and was deleted",
        "'tests/test_shop.py' is a test file and was deleted (line 1)",
    )


def test_a_renamed_test_file_is_found(tmp_path: Path) -> None:
    after = {"tests/test_shop.py": None, "tests/shop_unused.py": TEST}

    assert "'tests/test_shop.py' is a test file and was deleted (line 1)" in findings(
        tmp_path, {"tests/test_shop.py": TEST}, after
    )


def test_a_binary_change_of_a_test_file_is_found(tmp_path: Path) -> None:
    before, after = {"tests/data/logo.png": b"\x00\x01"}, {"tests/data/logo.png": b"\x00\x02", "logo.png": b"\x00"}
    found = ("'tests/data/logo.png' is a test file and was changed",)

    assert findings(tmp_path, before, after) == found
    assert touched_tests(diff_in(tmp_path, "--binary")) == found


def test_a_test_file_that_becomes_a_link_or_a_program_is_found(tmp_path: Path) -> None:
    project_in(tmp_path, {"tests/test_a.py": TEST, "tests/test_b.sh": "exit 1\n", "a.py": ""})
    (tmp_path / "tests/test_a.py").unlink()
    (tmp_path / "tests/test_a.py").symlink_to("../a.py")
    (tmp_path / "tests/test_b.sh").chmod(0o755)

    assert touched_tests(diff_in(tmp_path)) == (
        "'tests/test_a.py' is a test file and was deleted (line 1)",
        "'tests/test_b.sh' is a test file and was changed",
    )


@pytest.mark.parametrize("path", ["tests/test größe 😀.py", 'tests/a "b" test.py', "tests/x b/test_x b.py"])
@pytest.mark.parametrize("option", ["--src-prefix=a/", "--no-prefix"])
def test_unusual_names_of_test_files_are_understood(tmp_path: Path, path: str, option: str) -> None:
    [found] = findings(tmp_path, {path: "a = 1\n"}, {path: "a = 2\n"}, option)

    assert found.endswith("is a test file and was changed (line 1)") and ("größe 😀" in found) == ("größe" in path)


def test_lines_that_look_like_headers_are_lines(tmp_path: Path) -> None:
    before = {"query.sql": "-- a/tests/test_a.py\n++ b\n@@ -1 +1 @@\nselect 1\n"}
    after = {"query.sql": "diff --git a/tests/test_a.py b/tests/test_a.py\ndeleted file mode 100644\nselect 2\n"}

    assert findings(tmp_path, before, after) == ()


# Skipped tests


@pytest.mark.parametrize(
    ("path", "line"),
    [
        ("tests/test_a.py", '@pytest.mark.skip(reason="flaky")'),
        ("tests/test_a.py", "@pytest.mark.skipif(True)"),
        ("tests/test_a.py", "pytestmark = [mark.xfail]"),
        ("tests/test_a.py", '    pytest.skip("later")'),
        ("tests/test_a.py", '@unittest.skipIf(True, "")'),
        ("tests/test_a.py", "@skip"),
        ("tests/test_a.py", "    self.skipTest('')"),
        ("src/a.test.ts", 'it.skip("adds", () => {})'),
        ("src/a.test.ts", "test.skip(name, () => {})"),
        ("src/a.test.ts", "test.fixme()"),
        ("src/a.test.ts", "describe.skip('a', () => {})"),
        ("src/a.test.ts", 'it.only("adds", () => {})'),
        ("src/a.test.ts", 'xit("adds", () => {})'),
        ("src/a.test.ts", 'xdescribe("adds", () => {})'),
        ("a_test.go", "	t.Skip()"),
        ("a_test.go", '	t.Skipf("%d", 1)'),
        ("src/lib.rs", "    #[ignore]"),
        ("src/lib.rs", '    #[ignore = "slow"]'),
        ("src/lib.rs", "    #[cfg_attr(ci, ignore)]"),
        ("src/test/ATest.java", "    @Disabled"),
        ("src/test/ATest.java", '    @Ignore("later")'),
    ],
)
def test_a_skipped_test_is_found_even_in_a_new_file(tmp_path: Path, path: str, line: str) -> None:
    assert findings(tmp_path, {}, {path: f"\n{line}\n"}) == (f"{path!r} skips tests (line 2): {line.strip()!r}",)


def test_a_skip_that_was_there_before_is_not_added(tmp_path: Path) -> None:
    before = {"src/lib.rs": "#[ignore]\nfn a() {}\n"}
    after = {"src/lib.rs": "mod tests {\n    #[ignore]\n    fn a() {}\n}\n"}

    assert findings(tmp_path, before, after) == ()


def test_a_comment_about_skips_skips_nothing(tmp_path: Path) -> None:
    assert findings(tmp_path, {}, {"a.py": "# unlike pytest.mark.skip\n", "a.js": "  // it.skip('a')\n"}) == ()


# Settings and thresholds


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        (".github/workflows/ci.yml", "CI file"),
        (".gitlab-ci.yml", "CI file"),
        (".circleci/config.yml", "CI file"),
        ("Jenkinsfile", "CI file"),
        ("azure-pipelines.yml", "CI file"),
        ("deploy/azure-pipelines-nightly.yaml", "CI file"),
        (".pitstop/flows/ci.yaml", "flow or setting of Pitstop"),
        ("pitstop.yaml", "flow or setting of Pitstop"),
        ("pytest.ini", "setting of a test runner"),
        ("tests/conftest.py", "setting of a test runner"),
        ("tox.ini", "setting of a test runner"),
        (".coveragerc", "setting of a test runner"),
        ("web/jest.config.js", "setting of a test runner"),
        ("vitest.config.ts", "setting of a test runner"),
        ("src/__snapshots__/a.test.js.snap", "snapshot"),
        ("src/__snapshots__/a.txt", "snapshot"),
        ("a.snap", "snapshot"),
    ],
)
def test_files_that_decide_on_tests_are_found(tmp_path: Path, path: str, kind: str) -> None:
    assert findings(tmp_path, {path: "a\nb\n"}, {path: "a\nc\n"}) == (f"{path!r} is a {kind} and was changed (line 2)",)


def test_a_new_setting_of_a_test_runner_is_found_too(tmp_path: Path) -> None:
    assert findings(tmp_path, {}, {"conftest.py": "collect_ignore = ['tests']\n"}) == (
        "'conftest.py' is a setting of a test runner and was added (line 1)",
    )


@pytest.mark.parametrize(
    ("old", "new", "line"),
    [
        ('    "--strict-markers",', '    "--deselect=tests/test_a.py",', 10),
        ("addopts = [", 'testpaths = ["tests/unit"]\naddopts = [', 8),
        ("[tool.pytest.ini_options]", "[tool.other]", 7),
    ],
)
def test_settings_of_pytest_are_found_among_others(tmp_path: Path, context: str, old: str, new: str, line: int) -> None:
    assert findings(
        tmp_path, {"pyproject.toml": PYPROJECT}, {"pyproject.toml": PYPROJECT.replace(old, new)}, context
    ) == (f"'pyproject.toml' has settings of a test runner that were changed (line {line})",)


def test_settings_of_other_tools_are_not_guarded(tmp_path: Path, context: str) -> None:
    after = PYPROJECT.replace("httpx>=0.28", "httpx>=0.29").replace("line-length = 100", "line-length = 120")

    assert findings(tmp_path, {"pyproject.toml": PYPROJECT}, {"pyproject.toml": after}, context) == ()


def test_the_section_of_pytest_in_setup_cfg_is_guarded(tmp_path: Path, context: str) -> None:
    before = "[metadata]\nname = shop\n\n[tool:pytest]\naddopts = -x\n"
    named, weaker = before.replace("shop", "store"), before.replace("-x", "--ignore=tests")

    assert findings(tmp_path, {"setup.cfg": before}, {"setup.cfg": named}, context) == ()
    write(tmp_path, {"setup.cfg": weaker})
    assert touched_tests(diff_in(tmp_path, context)) == (
        "'setup.cfg' has settings of a test runner that were changed (line 5)",
    )


def test_the_script_that_runs_the_tests_is_guarded(tmp_path: Path, context: str) -> None:
    package = '{\n  "name": "shop",\n  "version": "1.0.0",\n  "scripts": {\n    "test": "jest"\n  }\n}\n'
    after = package.replace('"jest"', '"jest || true"')

    assert findings(tmp_path, {"package.json": package}, {"package.json": after}, context) == (
        "'package.json' has settings of a test runner that were changed (line 5)",
    )


@pytest.mark.parametrize(
    ("path", "old", "new", "found"),
    [
        ("Makefile", "test:\n\tpytest --cov-fail-under=90\n", "80", "lowers `fail-under` from 90 to 80 (line 2)"),
        ("Makefile", "test:\n\tpytest --cov-fail-under 90\n", "89.5", "lowers `fail-under` from 90 to 89.5 (line 2)"),
        ("Makefile", "test:\n\tpytest --cov-fail-under=90\n", "95", None),
        ("package.json", '{\n"branches": 90,\n"lines": 5}', "7", "lowers `branches` from 90 to 7 (line 2)"),
        ("web/.nycrc", "branches: 90\n", "91", None),
        ("src/grid.js", "const size = {lines: 90}\n", "80", None),
    ],
)
def test_a_lowered_threshold_is_found(tmp_path: Path, path: str, old: str, new: str, found: str | None) -> None:
    sentences = findings(tmp_path, {path: old}, {path: old.replace("90", new)}, "-U0")

    assert [each for each in sentences if "lowers" in each] == ([] if found is None else [f"{path!r} {found}"])


def test_a_threshold_may_be_lowered_in_two_ways(tmp_path: Path, context: str) -> None:
    lower = PYPROJECT.replace("fail_under = 90", "fail_under = 10")
    gone = PYPROJECT.replace("fail_under = 90\n", "")
    changed = "'pyproject.toml' has settings of a test runner that were changed (line 14)"

    assert findings(tmp_path, {"pyproject.toml": PYPROJECT}, {"pyproject.toml": lower}, context) == (
        changed,
        "'pyproject.toml' lowers `fail_under` from 90 to 10 (line 14)",
    )
    write(tmp_path, {"pyproject.toml": gone})
    assert touched_tests(diff_in(tmp_path, context)) == (
        changed,
        "'pyproject.toml' lowers `fail_under` from 90 to 0 (line 14)",
    )


# Large and broken diffs


def test_only_the_first_findings_are_shown(tmp_path: Path) -> None:
    names = [f"tests/test_{number:02}.py" for number in range(25)]
    found = findings(tmp_path, dict.fromkeys(names, "a = 1\n"), dict.fromkeys(names, "a = 2\n"))

    assert len(found) == 21 and found[-1] == "and 5 more"
    assert found[0] == "'tests/test_00.py' is a test file and was changed (line 1)"


@pytest.mark.timeout(30)
@pytest.mark.parametrize("line", ["+assert " + "x" * 60, "+" + " " * 2_000_000, "-" + "#[" * 1_000_000])
def test_a_large_diff_takes_no_longer_than_its_size(line: str) -> None:
    body = f"{line}\n" * (2_000_000 // len(line))

    assert touched_tests(f"diff --git a/src/a.rs b/src/a.rs\n@@ -1 +1 @@\n{body}{body[:3]}") == ()


@given(some.text() | some.text('diff -gtab/@+-0 "\\\n'), some.text("@ -+0123,\n") | some.text())
def test_no_text_breaks_the_guard(head: str, body: str) -> None:
    assert len(touched_tests(f"diff --git {head}\n@@ -1 +1 @@\n{body}")) <= 21
