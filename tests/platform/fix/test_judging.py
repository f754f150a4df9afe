"""Whether an iteration helped, which files are the best so far, and when to give up early."""

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pitstop.platform.fix.judging import Verdict, best_of, is_stalled, judge

Failing = st.frozensets(st.sampled_from("abcd"))


@pytest.mark.parametrize(
    ("before", "after", "verdict"),
    [
        ("ab", "", "fixed"),
        ("", "", "fixed"),
        ("ab", "a", "progress"),
        ("ab", "cd", "moved"),
        ("a", "bcd", "moved"),
        ("ab", "bc", "mixed"),
        ("ab", "ab", "same"),
        ("ab", "abc", "worse"),
        ("", "a", "worse"),
    ],
)
def test_the_verdict_compares_what_failed_before_and_after(before: str, after: str, verdict: Verdict) -> None:
    assert judge(set(before), set(after), []) == verdict


def test_failures_that_come_back_after_others_are_oscillating() -> None:
    assert judge({"b"}, {"a"}, [{"a"}]) == "oscillating"
    assert judge({"b"}, {"a"}, [{"a"}, {"b"}]) == "oscillating"


def test_failures_that_stay_are_the_same_also_if_they_were_seen_earlier() -> None:
    assert judge({"a"}, {"a"}, [{"a"}, {"b"}, {"a"}]) == "same"


@given(Failing, Failing, st.lists(Failing))
def test_each_verdict_says_what_is_gone_and_what_is_new(
    before: frozenset[str], after: frozenset[str], seen: list[frozenset[str]]
) -> None:
    gone, new = before - after, after - before

    verdict = judge(before, after, seen)

    assert (verdict == "fixed") == (not after)
    if verdict == "progress":
        assert gone and not new
    elif verdict == "worse":
        assert new and not gone
    elif verdict == "same":
        assert not gone and not new
    elif verdict in ("moved", "mixed"):
        assert gone and new
        assert (verdict == "moved") == (gone == before)
    elif verdict == "oscillating":
        assert after in seen and after != before


@given(Failing, Failing)
def test_nothing_oscillates_that_was_never_seen(before: frozenset[str], after: frozenset[str]) -> None:
    assert judge(before, after, [before]) != "oscillating"


@pytest.mark.parametrize(
    ("counts", "best"),
    [([3], 0), ([3, 3], 1), ([3, 2, 2], 2), ([3, 4], 0), ([3, 1, 2], 1), ([3, 5, 3, 4], 2), ([1, 0], 1)],
)
def test_the_best_files_have_the_fewest_failures_and_are_the_newest_of_equals(counts: list[int], best: int) -> None:
    assert best_of(counts) == best


@pytest.mark.parametrize(
    ("counts", "verdicts", "best"),
    [
        ([1, 1, 1, 0], ["moved", "moved", "fixed"], 3),  # three problems, each hidden by the one before
        ([1, 9], ["moved"], 1),  # an import error that hid nine failures
        ([2, 2], ["same"], 1),
        ([2, 3], ["worse"], 0),
        ([3, 4], ["mixed"], 0),
        ([3, 3], ["mixed"], 1),
        ([3, 0, 2], ["no_change", "progress"], 2),
        ([3, 2, 2], ["progress", "refused"], 1),
        ([3, 2, 2], ["progress", "oscillating"], 2),
    ],
)
def test_only_what_is_worse_is_not_built_on(counts: list[int], verdicts: list[Verdict], best: int) -> None:
    assert best_of(counts, verdicts) == best


@given(st.lists(st.integers(0, 9), min_size=1))
def test_no_files_have_fewer_failures_than_the_best(counts: list[int]) -> None:
    best = best_of(counts)

    assert counts[best] == min(counts)
    assert min(counts) not in counts[best + 1 :]


ROUNDING = "The total is rounded before the tax is added"
CACHE = "A cached rate of last year survives the reload"


@pytest.mark.parametrize(
    ("verdicts", "causes", "stalled"),
    [
        (["same", "same"], [ROUNDING, CACHE], True),
        (["progress", "oscillating"], [ROUNDING, CACHE], True),
        (["worse", "same", "same"], [CACHE, ROUNDING, CACHE], True),
        (["same", "same"], [ROUNDING, ROUNDING], False),
        (["same", "same"], [ROUNDING, f"{ROUNDING.upper()}."], False),
        (["same", "same"], [ROUNDING, "Before the tax is added, the total is rounded up"], False),
        (["same", "same"], [ROUNDING, ""], False),
        (["same", "same"], ["", CACHE], False),
        (["same", "no_change"], [ROUNDING, CACHE], False),
        (["same", "no_change", "same"], [ROUNDING, CACHE, ROUNDING], False),
        (["oscillating", "progress"], [ROUNDING, CACHE], False),
        (["oscillating"], [CACHE], False),
        ([], [], False),
    ],
)
def test_a_loop_is_stalled_only_if_another_cause_was_tried(
    verdicts: Sequence[Verdict], causes: Sequence[str], stalled: bool
) -> None:
    assert is_stalled(verdicts, causes) == stalled
