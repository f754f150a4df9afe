"""What is to blame for a failure: the machine, chance, the base, or else the code."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pitstop.platform.fix.triage import flaky, infrastructure_evidence, pre_existing
from pitstop.platform.reports.failures import Failure, Failures, failures_of
from pitstop.platform.reports.test_files import is_test_file

PROJECT = ("shop/__init__.py", "shop/price.py", "src/tax.py", "tests/conftest.py", "tests/test_price.py")
ONE_FAILED = "FAILED tests/test_price.py::test_a - AssertionError: 3 != 4\n"
NO_REPORT = "; pytest left no test report: it did not run, was killed, or was called with another --junitxml"


def evidence(
    log: str,
    exit_code: int | None = 1,
    message: str = "",
    outputs: dict[str, object] | None = None,
    files: tuple[str, ...] = PROJECT,
) -> tuple[str, ...]:
    message = message or f"exit code {exit_code}"
    return infrastructure_evidence(
        failures_of(outputs, log, message, exit_code), log, message, exit_code, project_files=files
    )


def collecting(*lines: str) -> str:
    """What pytest says of a test file that it cannot import, with what is below the frame of the test file."""
    return "\n".join(
        (
            "==================================== ERRORS ====================================",
            "_____________________ ERROR collecting tests/test_price.py _____________________",
            "/usr/lib/python3.11/importlib/__init__.py:126: in import_module",
            "    return _bootstrap._gcd_import(name[level:], package, level)",
            "<frozen importlib._bootstrap>:1204: in _gcd_import",
            "    ???",
            "/work/.venv/lib/python3.11/site-packages/_pytest/assertion/rewrite.py:185: in exec_module",
            "    exec(co, module.__dict__)",
            *lines,
            "=========================== short test summary info ============================",
            "ERROR tests/test_price.py",
            "!!!!!!!!!!!!!!!!!!!! Interrupted: 1 error during collection !!!!!!!!!!!!!!!!!!!!",
            "=============================== 1 error in 0.49s ===============================",
        )
    )


IN_TEST = ("tests/test_price.py:1: in <module>", "    from shop.price import total")
IN_CODE = ("shop/price.py:3: in <module>", "    import decimall")


@pytest.mark.parametrize(
    ("code", "message"),
    [
        (127, "exit code 127: command not found; is it installed and on the PATH?"),
        (126, "exit code 126: the command is not executable"),
        (137, "exit code 137: a command was killed by SIGKILL"),
        (None, "the command was killed by SIGSEGV"),
        (None, "the command was killed by SIGKILL because it ran out of memory; 1 of 3 tests failed: test_a"),
        (None, "the result of the command is unknown: the machine is gone"),
    ],
)
def test_a_command_that_did_not_run_to_its_end_is_infrastructure(code: int | None, message: str) -> None:
    assert evidence(ONE_FAILED, code, f"{message}\n  the last line") == (message,)


def test_a_tool_may_end_with_the_number_of_its_failures() -> None:
    log = "".join(f"not ok {n} - a{n}\n" for n in range(127))

    assert evidence(log, 127) == ()


def test_failing_tests_are_a_failure_of_the_code() -> None:
    assert evidence(ONE_FAILED) == ()
    assert evidence(f"{ONE_FAILED}make: *** [Makefile:3: test] Error 1", 2) == ()
    assert evidence(ONE_FAILED, 1, f"exit code 1{NO_REPORT}") == ()
    assert evidence("", None, "timed out after 30 s") == ()
    assert evidence("", 1) == ()


def test_a_printed_word_is_not_evidence_when_tests_failed() -> None:
    log = f"retrying: No space left on device, Connection refused, Could not resolve host\n{ONE_FAILED}"

    assert evidence(log) == ()


@pytest.mark.parametrize(
    "line",
    [
        "cp: write error: No space left on device",
        "Error: ENOSPC: no space left on device, write",
        "sqlite3.OperationalError: database or disk is full",
        "FATAL ERROR: Reached heap limit Allocation failed - JavaScript heap out of memory",
        "fork: Cannot allocate memory",
        "curl: (6) Could not resolve host: pypi.org",
        "npm error request to https://registry.npmjs.org failed, reason: getaddrinfo EAI_AGAIN registry.npmjs.org",
        "ssh: connect to host git.example.com port 22: Connection refused",
    ],
)
def test_a_setup_that_lacks_disk_memory_or_network_is_infrastructure(line: str) -> None:
    assert evidence(f"installing\n{line}\n") == (line,)


def test_a_local_server_that_refuses_may_be_the_code() -> None:
    assert evidence("curl: (7) Failed to connect to localhost port 8080: Connection refused") == ()


def test_a_full_disk_in_most_tests_is_infrastructure() -> None:
    full = "FAILED tests/a.py::test_{} - OSError: [Errno 28] No space left on device\n"

    assert len(evidence(full.format(1) + full.format(2) + ONE_FAILED)) == 2
    assert evidence(full.format(1) + ONE_FAILED + ONE_FAILED.replace("test_a", "test_b")) == ()


def test_a_server_that_refuses_in_the_setup_is_infrastructure() -> None:
    log = "\n".join(
        (
            "==================================== ERRORS ====================================",
            "__________________________ ERROR at setup of test_db ___________________________",
            "E       ConnectionRefusedError: [Errno 111] Connection refused",
            "tests/test_db.py:4: ConnectionRefusedError",
            "=========================== short test summary info ============================",
            "ERROR tests/test_db.py::test_db - ConnectionRefusedError: [Errno 111] Connecti...",
        )
    )
    row = {
        "name": "test_db",
        "message": 'failed on setup with "ConnectionRefusedError: [Errno 111] Connection refused"',
    }

    assert evidence(log) == ("ERROR at setup of test_db",)
    assert len(evidence("", outputs={"tests": {"failing": [row]}})) == 1
    assert evidence("FAILED tests/test_db.py::test_db - ConnectionRefusedError: Connection refused") == ()


@pytest.mark.parametrize(
    ("lines", "why"),
    [
        (
            (
                'E     File "/tmp/work/tests/test_price.py", line 1',
                "E       def x(:",
                "E   SyntaxError: invalid syntax",
            ),
            "SyntaxError: invalid syntax",
        ),
        (
            (*IN_TEST, "E   ModuleNotFoundError: No module named 'requests'"),
            "ModuleNotFoundError: No module named 'requests'",
        ),
        (
            (*IN_TEST, "E   ModuleNotFoundError: No module named 'tests.helpers'"),
            "ModuleNotFoundError: No module named 'tests.helpers'",
        ),
        ((*IN_TEST, "E   NameError: name 'x' is not defined"), "NameError: name 'x' is not defined"),
        (
            (*IN_TEST, "E   ImportError: cannot import name 'a' from 'b' (/w/lib/python3.11/site-packages/b.py)"),
            "ImportError: cannot import name 'a' from 'b' (/w/lib/python3.11/site-packages/b.py)",
        ),
    ],
)
def test_a_test_file_that_cannot_be_imported_is_infrastructure(lines: tuple[str, ...], why: str) -> None:
    assert evidence(collecting(*lines), 2) == (
        f"ERROR collecting tests/test_price.py: {why}",
        "pytest ended with exit code 2: Interrupted: 1 error during collection",
    )


@pytest.mark.parametrize(
    "lines",
    [
        (
            *IN_TEST,
            'E     File "/tmp/work/shop/price.py", line 1',
            "E       def x(:",
            "E   SyntaxError: invalid syntax",
        ),
        (*IN_TEST, *IN_CODE, "E   ModuleNotFoundError: No module named 'decimall'"),
        (*IN_TEST, "E   ModuleNotFoundError: No module named 'shop.rates'"),
        (*IN_TEST, "E   ModuleNotFoundError: No module named 'tax'"),
        (*IN_TEST, "E   ImportError: cannot import name 'total' from 'shop.price' (/tmp/work/shop/price.py)"),
        (*IN_TEST, *IN_CODE, "E   AttributeError: module 'math' has no attribute 'summ'"),
        (*IN_TEST, 'E     File "/tmp/tests/work/shop/price.py", line 1', "E   SyntaxError: invalid syntax"),
    ],
)
def test_code_that_a_test_cannot_import_is_a_failure_of_the_code(lines: tuple[str, ...]) -> None:
    assert evidence(collecting(*lines), 2) == ()
    assert evidence(collecting(*lines), 2, f"exit code 2{NO_REPORT}") == ()


def test_a_module_of_the_project_is_known_by_its_files() -> None:
    log = collecting(*IN_TEST, "E   ModuleNotFoundError: No module named 'shop.rates'")

    assert evidence(log, 2) == ()
    assert evidence(log, 2, files=()) != ()


def test_a_collection_error_without_its_traceback_may_be_the_code() -> None:
    log = collecting(*IN_TEST).partition("short test summary")[2]
    row = {"classname": "", "name": "tests.test_price", "message": "collection failure", "text": "E   NameError: x"}

    assert evidence(log, 2) == ()
    assert evidence(log, 2, outputs={"tests": {"failing": [row], "errors": 1}}) == ()


def test_one_broken_test_file_among_failing_tests_does_not_hide_them() -> None:
    broken = collecting(*IN_TEST, "E   ModuleNotFoundError: No module named 'requests'").partition("!!!")[0]

    assert evidence(broken + ONE_FAILED, 1) == ()


def conftest(*lines: str) -> str:
    return "\n".join(("ImportError while loading conftest '/tmp/work/tests/conftest.py'.", *lines))


def test_a_conftest_that_cannot_be_imported_is_judged_by_its_innermost_frame() -> None:
    frame = ("tests/conftest.py:1: in <module>", "    import shop.price")

    assert evidence(conftest(*frame, "E   ModuleNotFoundError: No module named 'nope'"), 4) != ()
    assert evidence(conftest(*frame, *IN_CODE, "E   ModuleNotFoundError: No module named 'nope'"), 4) == ()


@pytest.mark.parametrize(
    ("code", "log", "why"),
    [
        (2, "!!!!!!!!!! KeyboardInterrupt !!!!!!!!!!\n", "KeyboardInterrupt"),
        (3, "INTERNALERROR> Traceback\nINTERNALERROR> KeyError: 'a'\n", "INTERNALERROR> KeyError: 'a'"),
        (4, "ERROR: file or directory not found: testsx\n", "ERROR: file or directory not found: testsx"),
        (4, "ERROR: usage: pytest\npytest: error: unrecognized: --x", "pytest: error: unrecognized: --x"),
        (5, "\nno tests ran in 0.01s\n", "no tests ran in 0.01s"),
        (5, "===== 3 deselected in 0.06s =====\n", "3 deselected in 0.06s"),
    ],
)
def test_pytest_that_could_not_run_the_tests_is_infrastructure(code: int, log: str, why: str) -> None:
    assert evidence(log, code) == (f"pytest ended with exit code {code}: {why}",)


def test_another_tool_may_use_the_exit_codes_of_pytest() -> None:
    assert evidence("src/a.ts(3,5): error TS1005: ';' expected.", 2) == ()


@pytest.mark.parametrize(
    ("message", "why"),
    [
        (f"exit code 1{NO_REPORT}", "pytest left no test report"),
        ("exit code 1; tests: the script wrote no report that matches 'a.xml'", "script wrote no report"),
        ("tests: the script did not write new reports: 'a.xml'", "script did not write new reports"),
        ("cannot read test report 'a.xml': line 3: no element found", "cannot read test report"),
    ],
)
def test_a_promised_report_that_is_missing_is_infrastructure(message: str, why: str) -> None:
    assert evidence("starting\n", 1, message) == (why,)


@pytest.mark.parametrize(
    "log",
    [
        'Traceback (most recent call last):\n  File "/work/shop/price.py", line 3, in <module>\nKeyError: 1\n',
        "shop/price.c:3:5: error: expected ';'\n",
        "src/price.ts(3,5): error TS1005: ';' expected.\n",
        "error: expected one of\n  --> src/lib.rs:3:5\n",
    ],
)
def test_code_that_does_not_build_leaves_no_report_and_is_to_blame(log: str) -> None:
    assert evidence(log, 1, f"exit code 1{NO_REPORT}") == ()


UNITTEST = """\
======================================================================
ERROR: test_broken (unittest.loader._FailedTest.test_broken)
----------------------------------------------------------------------
ImportError: Failed to import test module: test_broken
Traceback (most recent call last):
  File "/usr/lib/python3.11/unittest/loader.py", line 419, in _find_test_path
    module = self._get_module_from_name(name)
  File "/tmp/u/test_broken.py", line 1, in <module>
    import {name}
{frame}ModuleNotFoundError: No module named 'nope'


----------------------------------------------------------------------
Ran 1 test in 0.001s
"""
JEST = """\
FAIL src/price.test.js
  ● Test suite failed to run

    {why}

      1 | import {{ total }} from './price'

Test Suites: 1 failed, 1 total
"""
VITEST = """\
 FAIL  src/price.test.js [ src/price.test.js ]
{why}
 ❯ {frame}:1:1
⎯⎯⎯⎯⎯⎯⎯⎯⎯⎯⎯⎯⎯⎯⎯⎯[1/1]⎯
"""


@pytest.mark.parametrize(
    ("of_test", "of_code"),
    [
        (
            UNITTEST.format(name="nope", frame=""),
            UNITTEST.format(name="shop", frame='  File "/tmp/u/shop.py", line 1, in <module>\n    import nope\n'),
        ),
        (
            JEST.format(why="Cannot find module 'lodash' from 'src/price.test.js'"),
            JEST.format(why="Cannot find module 'lodash' from 'src/price.js'"),
        ),
        (
            JEST.format(why="SyntaxError: /work/src/price.test.js: Unexpected token (3:5)"),
            JEST.format(why="SyntaxError: /work/src/price.js: Unexpected token (3:5)"),
        ),
        (
            JEST.format(why="Your test suite must contain at least one test."),
            JEST.format(why="Cannot find module './price' from 'src/price.test.js'"),
        ),
        (
            JEST.format(why="TypeError: a\n\n      at Object.<anonymous> (src/price.test.js:3:5)"),
            JEST.format(why="TypeError: a\n\n      at f (src/price.js:3:5)\n      at g (src/price.test.js:1:1)"),
        ),
        (
            VITEST.format(
                why="Error: Cannot find package 'a' imported from /w/src/price.test.js", frame="src/a.test.js"
            ),
            VITEST.format(
                why="Error: Cannot find module './a' imported from /w/src/price.test.js", frame="src/a.test.js"
            ),
        ),
        (
            VITEST.format(why="ReferenceError: a is not defined", frame="src/price.test.js"),
            VITEST.format(why="ReferenceError: a is not defined", frame="src/price.js"),
        ),
    ],
)
def test_each_tool_tells_whether_a_test_or_the_code_cannot_be_loaded(of_test: str, of_code: str) -> None:
    assert len(evidence(of_test)) == 1
    assert evidence(of_code) == ()


@given(st.text(), st.text(), st.none() | st.integers(0, 255))
def test_any_output_has_at_most_a_few_short_sentences_of_evidence(log: str, message: str, code: int | None) -> None:
    found = evidence(log, code, message)

    assert len(found) <= 5
    assert all(len(each) <= 200 for each in found)


@pytest.mark.timeout(60)
@pytest.mark.parametrize("start", ["", "E   ", "    at ", "_", "Cannot find ", "cannot import name ", "  File "])
def test_a_long_line_does_not_take_long(start: str) -> None:
    for fragment in ("a", " ", "/", "a.", "(", "_ ", "1:", "from '", " at "):
        line = start + fragment * (2_000 // len(fragment))
        assert len(evidence("\n".join([*[line] * 20, "no tests ran", NO_REPORT]), 5)) <= 5


@pytest.mark.parametrize(
    "path",
    [
        *(
            "test_price.py",
            "shop/price_test.py",
            "tests/data/bill.json",
            "shop/tests/helpers.py",
            "conftest.py",
            "tests.py",
        ),
        *("src/__tests__/price.js", "src/price.test.ts", "src/price.spec.js", "src/price.test.tsx", "a.spec.mjs"),
        *("price_test.go", "spec/price_spec.rb", "spec/factories.rb", "price_spec.rb", "e2e/login.ts", "test/a.c"),
        *("src/test/java/shop/Price.java", "PriceTest.java", "PriceTests.cs", "PriceSpec.scala", "tests/cli.rs"),
    ],
)
def test_test_files_are_known_by_their_names_and_folders(path: str) -> None:
    assert is_test_file(path)
    assert is_test_file(f"packages/shop/{path}")


@pytest.mark.parametrize(
    "path",
    [
        *("shop/price.py", "shop/testing_tools.py", "latest/price.py", "contest.py", "src/price.ts", "src/spec.ts"),
        *("attest.go", "src/inspection/a.py", "specification/a.md", "README.md", "Price.java", "protest.js", "test"),
    ],
)
def test_other_files_are_not(path: str) -> None:
    assert not is_test_file(path)


def failures(*tests: str, reader: str = "pytest", total: int | None = None, message: str = "") -> Failures:
    found = tuple(Failure(test, "E", message) for test in tests)
    return Failures(found, len(found) if total is None else total, reader)


def test_a_test_that_does_not_fail_again_is_flaky() -> None:
    before = failures("a.py::test_a", "a.py::test_b")

    assert flaky(before, failures("a.py::test_a", message="another")) == (before.found[1].fingerprint,)
    assert flaky(before, failures()) == before.fingerprints
    assert flaky(before, before) == ()


def test_a_test_whose_file_cannot_be_imported_again_is_not_flaky() -> None:
    assert flaky(failures("a.py::test_a", "b.py::test_b"), failures("a.py")) == failures("b.py::test_b").fingerprints
    assert flaky(failures("tests.a.test_a", reader="junit"), failures("tests.a", reader="junit")) == ()


def test_results_that_cannot_be_compared_say_nothing_of_flaky_tests() -> None:
    before = failures("a.py::test_a", "a.py::test_b")

    assert flaky(before, failures("command", reader="output")) == ()
    assert flaky(before, failures("a.py::test_a", total=300)) == ()


def test_without_tests_an_output_that_differs_is_flaky() -> None:
    before = failures("command", reader="output", message="no price")

    assert flaky(before, failures("command", reader="output", message="no tax")) == before.fingerprints
    assert flaky(before, failures("command", reader="output", message="no price")) == ()


def test_failures_that_the_base_has_too_are_pre_existing() -> None:
    now, base = failures("a", "b", "c"), failures("b", "c", "d")

    assert set(pre_existing(now, base)) == {each.fingerprint for each in now.found[1:]}
    assert pre_existing(now, failures("a", message="another")) == ()
