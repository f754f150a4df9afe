"""What failed is read from reports and logs, and the same failure has the same fingerprint each time."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pitstop.platform.reports.failures import Failure, Failures, failures_of, normalized

PYTEST = """\
E.FFF                                                                    [100%]
==================================== ERRORS ====================================
__________________________ ERROR at setup of test_db ___________________________
E       ConnectionRefusedError: [Errno 111] Connection refused
=================================== FAILURES ===================================
____________________________________ test_q ____________________________________
>   def test_q(): assert 3 == 4
E   assert 3 == 4
=========================== short test summary info ============================
FAILED tests/test_price.py::test_p[a - b] - AssertionError: no price
FAILED tests/test_price.py::test_q - assert 3 == 4
FAILED tests/test_price.py::TestTax::test_r
ERROR tests/test_price.py::test_db - ConnectionRefusedError: [Errno 111] Connecti...
4 failed, 1 error in 0.11s
"""

PYTEST_COLLECTION = """\
==================================== ERRORS ====================================
_____________________ ERROR collecting tests/test_price.py _____________________
tests/test_price.py:1: in <module>
    from shop.price import total
E     File "/tmp/work/shop/price.py", line 1
E       def total(:
E                 ^
E   SyntaxError: invalid syntax
=========================== short test summary info ============================
ERROR tests/test_price.py
!!!!!!!!!!!!!!!!!!!! Interrupted: 1 error during collection !!!!!!!!!!!!!!!!!!!!
1 error in 0.49s
"""

UNITTEST = """\
EF
======================================================================
ERROR: test_chain (test_price.PriceTest.test_chain)
----------------------------------------------------------------------
Traceback (most recent call last):
  File "/tmp/u/test_price.py", line 8, in test_chain
    try: {}["a"]
KeyError: 'a'

During handling of the above exception, another exception occurred:

Traceback (most recent call last):
  File "/tmp/u/test_price.py", line 9, in test_chain
    except KeyError: raise ValueError("no price")
ValueError: no price

======================================================================
FAIL: test_sub (test_price.PriceTest.test_sub) (i=1)
Adds the prices.
----------------------------------------------------------------------
Traceback (most recent call last):
  File "/tmp/u/test_price.py", line 12, in test_sub
    with self.subTest(i=i): self.assertEqual(i, 5)
AssertionError: 1 != 5

----------------------------------------------------------------------
Ran 4 tests in 0.001s

FAILED (failures=1, errors=1)
Cleanup: done
"""

GO = """\
--- FAIL: TestTotal (0.00s)
    price_test.go:12: got 3, want 4
    price_test.go:13: and more
--- FAIL: TestTable (0.00s)
    --- FAIL: TestTable/empty (0.00s)
        price_test.go:20: no price
FAIL
FAIL\texample.com/shop\t0.003s
ok  \texample.com/other\t0.1s
# example.com/tax [example.com/tax.test]
./tax_test.go:8:2: undefined: Total
FAIL\texample.com/tax [build failed]
FAIL
"""

GO_VERBOSE = """\
=== RUN   TestA
    a_test.go:8: got 1
--- FAIL: TestA (0.00s)
=== RUN   TestB
    b_test.go:8: got 2
--- FAIL: TestB (0.01s)
FAIL
"""

JEST = """\
FAIL src/price.test.js (5.2 s)
  total
    ✕ adds tax (3 ms)

  ● Console

    console.log said

  ● total › adds tax

    expect(received).toBe(expected) // Object.is equality

    Expected: 3
    Received: -1

FAIL src/tax.test.js
  ● Test suite failed to run

    Cannot find module './missing' from 'src/tax.test.js'

Summary of all failing tests
FAIL src/price.test.js (5.2 s)
  ● total › adds tax

    expect(received).toBe(expected) // Object.is equality

Test Suites: 2 failed, 2 total
"""

VITEST = """\
\x1b[31m❯\x1b[39m src/price.test.js \x1b[2m(\x1b[22m2 tests | 1 failed)
\x1b[41m\x1b[1m FAIL \x1b[22m\x1b[49m src/tax.test.js\x1b[2m [ src/tax.test.js ]\x1b[22m
\x1b[31m\x1b[1mError\x1b[22m: Cannot find package 'lodash' imported from /work/src/tax.test.js\x1b[39m

\x1b[41m\x1b[1m FAIL \x1b[22m\x1b[49m src/price.test.js\x1b[2m > \x1b[22mtotal\x1b[2m > \x1b[22madds tax
\x1b[31m\x1b[1mAssertionError\x1b[22m: expected -1 to be 3 // Object.is equality\x1b[39m
"""

TAP = """\
TAP version 13
# Subtest: total
    # Subtest: adds tax
    not ok 1 - adds tax
      ---
      duration_ms: 1.793418
      error: |-
        Expected values to be strictly equal:

        3 !== 4

      code: 'ERR_ASSERTION'
      ...
    ok 2 - works
    1..2
not ok 1 - total
  ---
  error: '1 subtest failed'
  ...
not ok 2 - later # TODO
not ok 3 - never # SKIP no network
not ok 4 - slow # time=12.3ms
1..4
"""

CARGO = """\
running 4 tests
test tests::errs ... FAILED
test tests::ok ... ok
test tests::panics - should panic ... FAILED
test tests::adds ... FAILED

failures:

---- tests::errs stdout ----
Error: "no price"

---- tests::panics stdout ----
note: test did not panic as expected at src/lib.rs:12:32
---- tests::adds stdout ----
said

thread 'tests::adds' (9221) panicked at src/lib.rs:9:43:
assertion `left == right` failed
  left: -1
 right: 3

failures:
    tests::adds

test result: FAILED. 1 passed; 3 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.21s

error: test failed, to rerun pass `--lib`
"""

SCRIPT = """\
checking
FAIL: login page has no button
src/a.ts(3,5): error TS1005: ';' expected.
main.c:3:5: error: unknown type
error[E0425]: cannot find value `c` in this scope
curl: done
"""

EXPECTED = {
    "pytest": (
        PYTEST,
        [
            ("tests/test_price.py::test_p[a - b]", "AssertionError", "no price"),
            ("tests/test_price.py::test_q", "AssertionError", "assert 3 == 4"),
            ("tests/test_price.py::TestTax::test_r", "failure", ""),
            ("tests/test_price.py::test_db", "ConnectionRefusedError", "[Errno 111] "),
        ],
    ),
    "pytest while collecting": (PYTEST_COLLECTION, [("tests/test_price.py", "SyntaxError", "invalid syntax")]),
    "unittest": (
        UNITTEST,
        [
            ("test_chain (test_price.PriceTest.test_chain)", "ValueError", "no price"),
            ("test_sub (test_price.PriceTest.test_sub) (i=1)", "AssertionError", "1 != 5"),
        ],
    ),
    "go": (
        GO,
        [
            ("TestTotal", "failure", "got 3, want 4"),
            ("TestTable", "failure", ""),
            ("TestTable/empty", "failure", "no price"),
            ("example.com/tax", "failure", "undefined: Total"),
        ],
    ),
    "go -v": (GO_VERBOSE, [("TestA", "failure", "got 1"), ("TestB", "failure", "got 2")]),
    "jest": (
        JEST,
        [
            (
                "src/price.test.js › total › adds tax",
                "failure",
                "expect(received).toBe(expected) // Object.is equality",
            ),
            ("src/tax.test.js", "failure", "Cannot find module './missing' from 'src/tax.test.js'"),
        ],
    ),
    "jest of vitest": (
        VITEST,
        [
            ("src/tax.test.js", "Error", "Cannot find package 'lodash' imported from /work/src/tax.test.js"),
            ("src/price.test.js > total > adds tax", "AssertionError", "expected -1 to be 3 // Object.is equality"),
        ],
    ),
    "tap": (
        TAP,
        [
            ("adds tax", "failure", "Expected values to be strictly equal:"),
            ("total", "failure", "1 subtest failed"),
            ("slow", "failure", ""),
        ],
    ),
    "cargo": (
        CARGO,
        [
            ("tests::errs", "Error", '"no price"'),
            ("tests::panics", "failure", "note: test did not panic as expected at src/lib.rs:12:32"),
            ("tests::adds", "failure", "assertion `left == right` failed"),
        ],
    ),
    "lines": (
        SCRIPT,
        [
            ("FAIL: login page has no button", "failure", "FAIL: login page has no button"),
            ("a.ts(#): error TS#: ';' expected.", "failure", "src/a.ts(3,5): error TS1005: ';' expected."),
            ("main.c:#:#: error: unknown type", "failure", "main.c:3:5: error: unknown type"),
            (
                "error[E#]: cannot find value `c` in this scope",
                "failure",
                "error[E0425]: cannot find value `c` in this scope",
            ),
        ],
    ),
}


def read(log: str, error_message: str = "exit code 1", exit_code: int | None = 1) -> Failures:
    return failures_of({}, log, error_message, exit_code)


def reported(**fields: Any) -> Failure:
    row = {"name": "test_a", "classname": "tests.test_price", "kind": "failure", "type": "", "message": "", "text": ""}
    (failure,) = failures_of({"tests": {"failing": [{**row, **fields}], "failed": 1, "errors": 0}}, "", "", 1).found
    return failure


@pytest.mark.parametrize("tool", EXPECTED)
def test_failures_are_read_from_the_log_of_a_tool(tool: str) -> None:
    log, expected = EXPECTED[tool]

    failures = read(log)

    assert [(each.test, each.error, each.message) for each in failures.found] == expected
    assert failures.reader == tool.split(maxsplit=1)[0]
    assert failures.total == len(expected)


def test_a_report_counts_more_than_a_log() -> None:
    rows = [{"name": f"test_{n}", "classname": "tests.test_price", "type": "", "message": "no"} for n in range(200)]

    failures = failures_of({"tests": {"failing": rows, "failed": 250, "errors": 7}}, PYTEST, "", 1)

    assert (failures.reader, len(failures.found), failures.total) == ("junit", 200, 257)
    assert failures.found[3].test == "tests.test_price.test_3"


@pytest.mark.parametrize(
    ("fields", "error", "message"),
    [
        ({"message": "AssertionError: no\nassert 'a' == 3"}, "AssertionError", "no\nassert 'a' == 3"),
        ({"message": "assert 3 == 4"}, "AssertionError", "assert 3 == 4"),
        ({"message": "expected: <1>", "type": "org.opentest4j.AssertionFailedError"}, None, "expected: <1>"),
        ({"message": "shop.NoPrice: of tea"}, "shop.NoPrice", "of tea"),
        (
            {"message": 'failed on setup with "OSError: [Errno 28]"'},
            "OSError",
            'failed on setup with "OSError: [Errno 28]"',
        ),
        (
            {"message": "collection failure", "text": "tests/a.py:1: in <module>\nE   ImportError: no a\n"},
            "ImportError",
            "no a",
        ),
        ({"message": "Failed", "text": "    price_test.go:12: got 3\n\n"}, "failure", "price_test.go:12: got 3"),
        ({}, "failure", ""),
    ],
)
def test_the_error_of_a_reported_test_is_named(fields: dict[str, str], error: str | None, message: str) -> None:
    failure = reported(**fields)

    assert failure.error == (error or fields["type"])
    assert failure.message == message


@pytest.mark.parametrize("tests", [None, 3, "no", [], {}, {"failing": 3}, {"failing": ["x"]}, {"failing": []}])
def test_outputs_that_are_no_report_are_ignored(tests: object) -> None:
    assert failures_of({"tests": tests}, PYTEST, "", 1).reader == "pytest"


def test_a_report_with_anything_in_its_rows_is_read() -> None:
    failures = failures_of({"tests": {"failing": [{}, {"name": 3, "type": None}], "failed": "x"}}, "", "", 1)

    assert [each.test for each in failures.found] == ["", "3"]
    assert failures.total == 2


def test_one_log_may_have_the_failures_of_two_tools() -> None:
    failures = read(GO_VERBOSE + VITEST + CARGO)

    assert failures.reader == "cargo"
    assert failures.total == 7


def test_a_log_without_failures_is_one_failure_with_its_last_lines() -> None:
    log = "\n".join(
        [f"step {n} of the build" for n in range(50)] + ["\x1b[1mdone in 3.2 s\x1b[0m", "", "left /a/b.txt"]
    )

    failures = read(log, exit_code=3)

    (failure,) = failures.found
    assert failures.reader == "output"
    assert failure.error == "exit code 3"
    assert failure.message.splitlines()[-3:] == ["step 49 of the build", "done in 3.2 s", "left /a/b.txt"]
    assert len(failure.message.splitlines()) == 20


def test_a_command_that_timed_out_says_so_when_its_log_says_nothing() -> None:
    first, second = (read("", f"timed out after {seconds} s", None) for seconds in (30, 45))

    assert first.found == (Failure("command", "timed out after #", "timed out after 30 s"),)
    assert first.fingerprints == second.fingerprints


def test_a_failure_keeps_its_fingerprint_when_a_line_number_changes() -> None:
    before, after = (
        Failure("test_a", "ValueError", f"no price at {place}")
        for place in ("/tmp/x1/shop/price.py:12 in 0.3 s", "/home/me/shop/price.py:340 in 12 ms")
    )

    assert before.fingerprint == after.fingerprint
    assert len(before.fingerprint) == 12


def test_another_test_error_or_message_is_another_failure() -> None:
    failures = {
        Failure(test, error, message).fingerprint
        for test in ("test_a", "test_b")
        for error in ("KeyError", "ValueError")
        for message in ("no price", "no tax")
    }

    assert len(failures) == 8


def test_an_import_error_that_hides_another_changes_the_fingerprint() -> None:
    missing = PYTEST_COLLECTION.replace("SyntaxError: invalid syntax", "ImportError: cannot import name 'total'")

    assert read(missing).fingerprints != read(PYTEST_COLLECTION).fingerprints


def test_fingerprints_are_sorted_and_unique() -> None:
    found = (Failure("a", "E", "1"), Failure("a", "E", "2"), Failure("b", "E", ""))

    failures = Failures(found, 3, "junit")

    assert len(failures.fingerprints) == 2
    assert list(failures.fingerprints) == sorted(failures.fingerprints)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("<Price object at 0x7f3aF0>", "<Price object at #>"),
        ("took 1.5 seconds, then 12ms and 3m", "took #, then # and #"),
        ("at 2024-05-01T12:30:45.123Z or 12:30:45,5", "at # or #"),
        ("id 123e4567-e89b-12d3-a456-426614174000", "id #"),
        ("id aaaabbbb-cccc-dddd-eeee-ffffffffffff", "id #"),
        ("commit 9fceb02 is bad", "commit # is bad"),
        ("expected -1, got +2.5e-3 of 1,000", "expected #, got # of #"),
        ("in /home/me/shop/price.py:12:5", "in price.py:#:#"),
        ("in ./shop/price.py", "in price.py"),
        ("in /tmp/pytest-of-me/pytest-3/test_a0/bill.txt", "in bill.txt"),
        ("in /tmp/jest_x8Fk2a and /var/folders/ab/cd/T/tmpx", "in # and #"),
        ("no tmpab12cd34.txt", "no #.txt"),
        ("\x1b[1;31mred\x1b[0m  and\n\tmore ", "red and more"),
        ("deadline for the defaced temple", "deadline for the defaced temple"),
        ("// Object.is equality", "/ Object.is equality"),
        ("see http://127.0.0.1:3000/items/7", "see http:#:#"),
    ],
)
def test_what_differs_between_two_runs_is_taken_out(text: str, expected: str) -> None:
    assert normalized(text) == expected


FRAGMENTS = ["a", "tmp", "abcdefgh", "1", "2.5", "/", "/tmp/", ".", "\x1b[", "\x1b", "0m", "#", " ", "\n", "ms", "-"]
FRAGMENTS += ["+", "0x", "f", "²", "٣", ":", ",", "e", "_", "12:30:45", "2024-01-02", "aaaaaaaa-bbbb", "-cccc", "é"]


@given(st.lists(st.sampled_from(FRAGMENTS) | st.text(max_size=3), max_size=12).map("".join))
def test_a_normalized_text_stays_as_it_is(text: str) -> None:
    once = normalized(text)

    assert normalized(once) == once
    assert len(once) <= len(text)


@given(st.text(), st.text(), st.none() | st.integers())
def test_any_output_has_a_failure(log: str, message: str, code: int | None) -> None:
    failures = failures_of(None, log, message, code)

    assert 1 <= len(failures.fingerprints) <= len(failures.found) == failures.total


@pytest.mark.timeout(60)
@pytest.mark.parametrize("start", ["", "FAILED a.py::t[", "FAIL: t (", "not ok 1 ", "test ", "  ● ", "Error: "])
def test_a_long_line_does_not_take_long(start: str) -> None:
    for fragment in ("a", " ", "/", "a.", "1:", "\x1b[0", "[ - ", "' panicked at ", "Error", "_ "):
        failures = read(start + fragment * (1_000_000 // len(fragment)))
        assert failures.total == len(failures.fingerprints) == 1


@pytest.mark.timeout(60)
def test_ten_thousand_failures_are_read() -> None:
    log = "".join(f"FAILED tests/test_a.py::test_{n} - ValueError: {n} in /tmp/a/b{n}.py\n" for n in range(10_000))

    failures = read(log)

    assert failures.total == len(failures.fingerprints) == 10_000
