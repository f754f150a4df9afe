from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pitstop.steps.failures import BadReport
from pitstop.steps.junit import LONGEST_NAME, MOST_CASES, MOST_FAILING_CASES, ReportedCase, TestCounts, read_report


def report(folder: Path, text: str | bytes) -> TestCounts:
    return read_report(text.encode() if isinstance(text, str) else text, "report.xml")


def test_every_way_in_which_a_case_can_end_is_counted(tmp_path: Path) -> None:
    counts = report(
        tmp_path,
        """<?xml version="1.0"?>
        <testsuites><testsuite name="s"><properties><property name="p" value="v"/></properties>
          <testcase classname="pkg.Mod" name="good" time="1.5"><system-out>text</system-out></testcase>
          <testcase classname="pkg.Mod" name="bad" time="1,000.0">
            <failure type="AssertionError" message="1 &lt; 2"><![CDATA[the <trace>]]></failure>
            <system-err>more</system-err>
          </testcase>
          <testcase name="broken"><error type="ImportError" message="no module"/></testcase>
          <testsuite><testcase name="left out"><skipped message="not here"/></testcase></testsuite>
        </testsuite></testsuites>""",
    )

    assert (counts.total, counts.passed, counts.failed, counts.errors, counts.skipped) == (4, 1, 1, 1, 1)
    assert counts.seconds == 1001.5
    assert [tuple(case.values()) for case in counts.failing] == [
        ("bad", "pkg.Mod", "failure", "AssertionError", "1 < 2", "the <trace>"),
        ("broken", "", "error", "ImportError", "no module", ""),
    ]
    assert counts.cases == [
        ReportedCase("pkg.Mod", "good", "passed", 1500),
        ReportedCase("pkg.Mod", "bad", "failed", 1_000_000),
        ReportedCase("", "broken", "error", 0),
        ReportedCase("", "left out", "skipped", 0),
    ]


def test_a_case_that_failed_and_broke_counts_once(tmp_path: Path) -> None:
    counts = report(tmp_path, '<testsuite><testcase name="a"><failure/><error/></testcase></testsuite>')

    assert (counts.total, counts.failed, counts.errors) == (1, 1, 0)


def test_a_huge_report_is_counted_whole_but_not_listed_whole(tmp_path: Path) -> None:
    case = f'<testcase name="a"><failure message="{"m" * 5_000}">{"t" * 50_000}</failure></testcase>'
    counts = report(tmp_path, f"<testsuite>{case * 500}</testsuite>")

    assert counts.failed == 500
    assert len(counts.failing) == MOST_FAILING_CASES
    assert len(counts.failing[0]["text"]) + len(counts.failing[0]["message"]) <= 4_000


def test_long_names_are_shortened_and_stay_different(tmp_path: Path) -> None:
    names = ["x" * 600 + "a", "x" * 600 + "b", "y" * LONGEST_NAME]
    cases = "".join(f'<testcase name="{name}"/>' for name in names)
    counts = report(tmp_path, f"<testsuite>{cases}</testsuite>")

    assert counts.shortened == 2
    assert len({case.name for case in counts.cases}) == 3
    assert {len(case.name) for case in counts.cases} == {LONGEST_NAME}


def test_a_name_has_no_line_break(tmp_path: Path) -> None:
    counts = report(
        tmp_path, '<testsuite><testcase classname="a&#9;b" name="one&#10;two"><error/></testcase></testsuite>'
    )

    assert (counts.cases[0].suite, counts.cases[0].name) == ("a b", "one two")
    assert counts.failing[0]["name"] == "one two"


def test_not_more_cases_are_listed_than_a_history_takes(tmp_path: Path) -> None:
    counts = report(tmp_path, f"<testsuite>{'<testcase/>' * (MOST_CASES + 7)}</testsuite>")
    counts.add(report(tmp_path, "<testsuite><testcase/></testsuite>"))

    assert (counts.total, len(counts.cases), counts.left_out) == (MOST_CASES + 8, MOST_CASES, 8)


def test_a_billion_laughs_are_refused_before_the_first(tmp_path: Path) -> None:
    entities = "".join(f'<!ENTITY l{n} "{f"&l{n - 1};" * 10}">' for n in range(1, 10))
    laughs = f'<!DOCTYPE x [<!ENTITY l0 "lol">{entities}]><testsuite name="&l9;"/>'

    with pytest.raises(BadReport, match="line 1: a document type is not allowed"):
        report(tmp_path, laughs)


def test_no_file_is_read_that_the_report_names(tmp_path: Path) -> None:
    with pytest.raises(BadReport, match="a document type is not allowed"):
        report(tmp_path, '<!DOCTYPE x [<!ENTITY f SYSTEM "file:///etc/passwd">]><testsuite>&f;</testsuite>')


def test_a_deep_report_does_not_overflow(tmp_path: Path) -> None:
    assert report(tmp_path, "<testsuite>" * 100_000 + "</testsuite>" * 100_000).total == 0


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "line 1: no element found"),
        ("<testsuite>\n<testcase>", "line 2: no element found"),
        ("<testsuite>\n</testcase>", "line 2: mismatched tag"),
        ("<coverage/>", "line 1: the report starts with <coverage>"),
        (b"<testsuite>\xff</testsuite>", "line 1: not well-formed"),
        (b"\x00\x01", "line 1: "),
    ],
)
def test_a_broken_report_is_refused_with_its_line(tmp_path: Path, text: str | bytes, told: str) -> None:
    with pytest.raises(BadReport) as refused:
        report(tmp_path, text)

    assert told in str(refused.value)


@given(st.binary(max_size=200))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_no_bytes_make_the_reader_fail_in_another_way(tmp_path: Path, data: bytes) -> None:
    with pytest.raises(BadReport):
        report(tmp_path, data)
