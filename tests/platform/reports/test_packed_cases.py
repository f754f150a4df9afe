"""Packed reports give back what was packed, and find one test without unpacking the others."""

from hypothesis import given
from hypothesis import strategies as st

from pitstop.platform.reports.packed_cases import Names, pack_names, pack_results, result_at
from pitstop.runs.step_reports import CaseResult, case_id

TEXT = st.text(st.characters(exclude_categories=["Cc", "Cs", "Zl"]), max_size=8)
CASES = st.builds(
    CaseResult,
    suite=st.one_of(TEXT, st.sampled_from(["a", "a::b", ""])),
    name=st.one_of(TEXT, st.sampled_from(["c", "b::c", "::"])),
    status=st.sampled_from(["passed", "failed", "error", "skipped"]),
    milliseconds=st.integers(0, 2**29 - 1),
    is_mixed=st.booleans(),
)


@given(st.lists(CASES, max_size=20))
def test_every_case_comes_back_and_is_found_by_its_id(listed: list[CaseResult]) -> None:
    cases = {case_id(case.suite, case.name): case for case in listed}
    names, results = Names(pack_names(cases).body), pack_results(cases)

    assert names.pairs() == [(cases[key].suite, cases[key].name) for key in sorted(cases)]
    for key, case in cases.items():
        place = names.find(key)
        assert place is not None
        result = result_at(results, place)
        assert (result.status, result.milliseconds, result.is_mixed) == (case.status, case.milliseconds, case.is_mixed)
    assert names.find("no such test") is None


def test_the_same_tests_have_the_same_names_whatever_their_results() -> None:
    one = {key: CaseResult("s", key, "passed", 3) for key in ("a", "b")}
    other = {key: CaseResult("s", key, "failed", 900) for key in ("b", "a")}

    assert pack_names(one) == pack_names(other)
    assert pack_names(one).hash != pack_names({"a": one["a"]}).hash


def test_a_time_that_is_too_long_is_cut() -> None:
    packed = pack_results({"a": CaseResult("", "a", "error", 10**12, is_mixed=True)})

    assert result_at(packed, 0).status == "error"
    assert result_at(packed, 0).milliseconds == 2**29 - 1
