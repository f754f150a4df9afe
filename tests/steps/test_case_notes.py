"""The cases of a report fit into notes, and come back from them."""

import json

from hypothesis import given
from hypothesis import strategies as st

from pitstop.engine.frame import LARGEST_NOTE_BYTES
from pitstop.steps.case_notes import ReportedCases, add_page, pages_of_cases
from pitstop.steps.junit import LONGEST_NAME, ReportedCase

CASES = st.builds(
    ReportedCase,
    suite=st.sampled_from(["", "a", "b.c"]),
    name=st.text(max_size=9),
    status=st.sampled_from(["passed", "failed", "error", "skipped"]),
    milliseconds=st.integers(0, 10**6),
)


def read(cases: list[ReportedCase], left_out: int = 0) -> tuple[ReportedCases | None, list[int]]:
    """What the notes of the cases say together, and their sizes."""
    known, sizes = None, []
    for page in pages_of_cases(cases, left_out):
        known = add_page(known, page)
        sizes.append(len(json.dumps(page, ensure_ascii=False).encode()))
    return known, sizes


@given(st.lists(CASES))
def test_cases_come_back_in_order(cases: list[ReportedCase]) -> None:
    known, _ = read(cases, 3)

    assert known is not None
    assert (known.cases, known.left_out, known.is_whole) == (cases, 3, True)


def test_the_longest_names_fit_into_notes() -> None:
    name = '\\"é𝄞' * (LONGEST_NAME // 4)
    cases = [ReportedCase(name, name[1:] + str(number), "passed", 10**9) for number in range(300)]

    known, sizes = read(cases)

    assert known is not None
    assert known.cases == cases
    assert len(sizes) > 1
    assert max(sizes) < LARGEST_NOTE_BYTES


def test_a_report_is_whole_with_its_last_page() -> None:
    cases = [ReportedCase("s", f"case {number}", "passed", 1) for number in range(5_000)]
    first, *_ = pages_of_cases(cases)
    known = add_page(None, first)

    assert known is not None
    assert not known.is_whole
    assert add_page(None, {**first, "page": 2}) is None
