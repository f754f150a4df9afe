"""Whether an iteration helped: what failed before compared with what fails after, and the best files so far."""

import re
from collections.abc import Sequence, Set
from typing import Literal, TypeAlias

_Comparison: TypeAlias = Literal["fixed", "progress", "moved", "mixed", "same", "worse", "oscillating"]
Verdict: TypeAlias = _Comparison | Literal["flaky", "no_diagnosis", "no_fix", "no_change", "refused"]

WITHOUT_FILES = ("no_diagnosis", "no_fix", "no_change", "refused")  # these leave nothing to build on
_MOST_ALIKE = 0.5  # the share of words that two different causes may have in common


def judge(before: Set[str], after: Set[str], seen: Sequence[Set[str]]) -> _Comparison:
    """The verdict on a change, by fingerprints. `seen` has what failed earlier, with or without `before`."""
    if not after:
        return "fixed"
    if after == before:
        return "same"
    if after in seen:
        return "oscillating"
    if after < before:
        return "progress"
    if after > before:
        return "worse"
    return "mixed" if after & before else "moved"


def best_of(counts: Sequence[int], verdicts: Sequence[str] = ()) -> int:
    """The index of the files to build on: those with the fewest failures, and of equals the newest.

    `counts` begins with the start, `verdicts` with the first iteration; `moved` may have more failures.
    """
    best = 0
    for index, count in enumerate(counts[1:], 1):
        verdict = verdicts[index - 1] if index <= len(verdicts) else ""
        if verdict not in WITHOUT_FILES and (verdict == "moved" or count <= counts[best]):
            best = index
    return best


def is_stalled(verdicts: Sequence[str], causes: Sequence[str]) -> bool:
    """Whether to give up early: nothing changed twice or failures came back, although another cause was named."""
    if len(verdicts) < 2 or len(causes) < 2 or not _differ(causes[-2], causes[-1]):
        return False
    return verdicts[-1] == "oscillating" or tuple(verdicts[-2:]) == ("same", "same")


def _differ(before: str, after: str) -> bool:
    """Whether two texts name different causes; no cause differs from none."""
    one, other = (set(re.findall(r"\w{3,}", text.casefold())) for text in (before, after))
    return bool(one and other) and len(one & other) / len(one | other) <= _MOST_ALIKE
