"""Interleaved minimum-of-N measurement of CPU time: the one way every row of the table is timed."""

import gc
import statistics
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

WARM_UPS = 3
BURST_SECONDS = 0.02
BURST_LIMIT = 10


@dataclass(frozen=True, slots=True)
class Contender:
    """One way to do a row's work: `prepare` and `settle` are never timed, `run` is, `check` gets the first result.

    `settle` is the same for all contenders of a row: it brings the caches back that a large `prepare` has emptied.
    """

    name: str
    run: Callable[[], Awaitable[Any]]
    prepare: Callable[[], object] | None = None
    own_seconds: Callable[[], float] | None = None  # where a row is about a part of the run: what that part took
    settle: Callable[[], Awaitable[Any]] | None = None
    check: Callable[[Any], bool] | None = None


@dataclass(frozen=True, slots=True)
class Measurement:
    """The CPU seconds of every sample of one contender, in the order they were taken."""

    name: str
    samples: Sequence[float] = field(repr=False)

    @property
    def seconds(self) -> float:
        """The minimum: what the work costs when nothing else on the machine gets in its way."""
        return min(self.samples)

    def to_json(self) -> dict[str, float | int]:
        return {
            "min_seconds": self.seconds,
            "median_seconds": statistics.median(self.samples),
            "samples": len(self.samples),
        }


class WrongResult(AssertionError):
    """A contender did not do the work that it was to be timed for."""

    def __init__(self, name: str, result: object) -> None:
        super().__init__(f"{name} gave {str(result)[:200]}, which is not the result of this row's work")
        self.name = name


async def interleave(contenders: Sequence[Contender], rounds: int) -> dict[str, Measurement]:
    """Time all contenders side by side: every round takes a burst of samples of each, in a rotating order.

    A burst is one sample for slow work and up to ten for fast work, so each contender gets at least `rounds` samples.
    """
    if len({contender.name for contender in contenders}) != len(contenders):
        raise ValueError("two contenders have the same name")
    bursts = {contender.name: await _warm_up(contender) for contender in contenders}
    samples: dict[str, list[float]] = {contender.name: [] for contender in contenders}
    gc.collect()
    gc.freeze()  # what the libraries hold is theirs: no contender pays for walking another one's heap
    try:
        for turn in range(rounds):
            first = turn % len(contenders)
            for contender in (*contenders[first:], *contenders[:first]):
                for _ in range(bursts[contender.name]):
                    samples[contender.name].append(await _sample(contender))
    finally:
        gc.unfreeze()
    return {name: Measurement(name, taken) for name, taken in samples.items()}


async def _warm_up(contender: Contender) -> int:
    """Run until the interpreter has specialised the code; how many samples fit into a burst."""
    if contender.prepare:
        contender.prepare()
    result = await contender.run()
    if contender.check and not contender.check(result):
        raise WrongResult(contender.name, result)
    del result
    seconds = min([await _sample(contender) for _ in range(WARM_UPS)])
    return max(1, min(BURST_LIMIT, int(BURST_SECONDS / max(seconds, 1e-9))))


async def _sample(contender: Contender) -> float:
    if contender.prepare:
        contender.prepare()
    gc.collect()
    if contender.settle:
        await contender.settle()
    start = time.process_time()
    await contender.run()
    spent = time.process_time() - start
    return contender.own_seconds() if contender.own_seconds else spent
