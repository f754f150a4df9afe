"""Branches side by side, each a frame of its own."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any

from msgspec import Struct

from pitstop.engine.flow.sequence import PASSED, take_over
from pitstop.engine.frame import Activation, Frame, FrameRewound
from pitstop.engine.frame_life import end_frame, live_frame, open_frames
from pitstop.engine.step import record_in_steps, run_step
from pitstop.errors import LimitExceeded
from pitstop.events.outcome import Outcome, Status, StepError
from pitstop.limits import too_many
from pitstop.plan.plan import Step
from pitstop.plan.scope import Scope


class Branch(Struct, frozen=True):
    """What a frame will run. `id` is also its address: the same in every run."""

    id: str
    name: str
    scope: Scope
    body: Callable[[Frame], Awaitable[Outcome]]


class Rule(Struct, frozen=True):
    """When branches together succeed, and whether the rest are ended as soon as that is decided.

    `needed` branches have to pass, all of them for None; a needed number that was reached always ends the rest.
    """

    needed: int | None = None
    fail_fast: bool = False
    at_once: int | None = None

    def failure(self, outcomes: Sequence[Outcome | None]) -> Outcome | None:
        """The failure that makes success impossible, if there is one; being cancelled is what is told last."""
        bad = [each for each in outcomes if each is not None and not _is_good(each)]
        if not self.is_lost(len(bad), len(outcomes)):
            return None
        return next((each for each in bad if each.is_failure), bad[0])

    def is_lost(self, bad: int, count: int) -> bool:
        """Whether so many that did not pass, of all of them, are too many."""
        return bad > (0 if self.needed is None else count - self.needed)

    def is_reached(self, good: int) -> bool:
        """Whether so many that passed are all that was needed, whatever the rest do."""
        return self.needed is not None and good >= self.needed


def _is_good(outcome: Outcome) -> bool:
    return outcome.status is Status.PASSED or outcome.status is Status.SKIPPED


async def run_parallel(activation: Activation, config: Mapping[str, Any]) -> Outcome:
    children = activation.step.children
    branches = [_branch(activation, child) for child in children]
    return await run_branches(activation, branches, rule_of(config, len(children)))


def rule_of(config: Mapping[str, Any], count: int) -> Rule:
    succeed = config.get("succeed", "all")
    needed = None if succeed == "all" else min(count, 1 if succeed == "any" else int(succeed))
    return Rule(needed, bool(config.get("fail_fast", False)), config.get("max_parallel"))


def _branch(activation: Activation, child: Step) -> Branch:
    address = activation.address(child.local)
    scope = activation.scope.child(address)

    async def body(frame: Frame) -> Outcome:
        outcome = await run_step(activation, frame, scope, child, address, record_in_steps)
        return PASSED if child.continue_on_error else outcome

    return Branch(address, child.title, scope, body)


async def run_branches(activation: Activation, branches: Sequence[Branch], rule: Rule) -> Outcome:
    """Run the branches to their ends, let what they wrote be seen, and judge them by the rule."""
    frames, limit = len(activation.run.frames) + len(branches), activation.run.plan.limits.frame_limit
    if frames > limit:
        way_out = "run fewer branches at the same time, or raise PITSTOP_FRAME_LIMIT"
        raise LimitExceeded(too_many("the run would have", frames, "open frames", limit, way_out))
    try:
        outcomes = await live_branches(activation, activation.frame, branches, rule)
    finally:
        for branch in branches:
            take_over(activation.scope, branch.scope.own)
    failure = rule.failure(outcomes)
    if failure is None:
        return PASSED
    status = failure.status if failure.is_failure else Status.FAILED
    return Outcome(status, error=failure.error)


async def live_branches(
    activation: Activation, parent: Frame, branches: Sequence[Branch], rule: Rule
) -> list[Outcome | None]:
    """The outcomes of the branches, in their order. All frames are made before any of them runs."""
    # A replayed step's end is known: each branch does again what it did then, to its own end
    fork = _Fork(activation, parent, branches, Rule() if activation.is_replayed else rule)
    try:
        async with asyncio.TaskGroup() as group:
            for index, frame in enumerate(fork.frames):
                frame.task = group.create_task(fork.live(index), name=frame.id)
    finally:
        fork.close()
    if fork.rewound is not None:
        raise fork.rewound
    return fork.outcomes


class _Fork:
    """Branches that run at the same time, and what has become of them so far."""

    def __init__(self, activation: Activation, parent: Frame, branches: Sequence[Branch], rule: Rule) -> None:
        self.run = activation.run
        self.title = activation.step.title
        self.branches = branches
        self.rule = rule
        self.outcomes: list[Outcome | None] = [None] * len(branches)
        self.rewound: FrameRewound | None = None
        self.good = self.bad = 0
        self.turn = asyncio.Semaphore(rule.at_once) if rule.at_once else None
        names = [(branch.id, branch.name) for branch in branches]
        self.frames = open_frames(self.run, names, parent, activation.occurrence)

    async def live(self, index: int) -> None:
        """Run one branch to its end, and end the others if that decides."""
        branch, frame = self.branches[index], self.frames[index]
        try:
            if self.turn is not None:
                async with self.turn:
                    outcome = await live_frame(self.run, frame, branch.scope, branch.body)
            else:
                outcome = await live_frame(self.run, frame, branch.scope, branch.body)
        except FrameRewound as going_back:  # to before these branches: the frame around them takes it from here
            self.rewound = going_back
            self._end_the_rest(f"the run was rewound to {going_back.target.occurrence}")
            return
        except asyncio.CancelledError:
            outcome = self._end_as_cancelled(frame)
        self.outcomes[index] = outcome
        if _is_good(outcome):
            self.good += 1
            if self.rule.is_reached(self.good):
                self._end_the_rest(f"enough branches of {self.title} passed")
        else:
            self.bad += 1
            if self.rule.fail_fast and self.rule.is_lost(self.bad, len(self.branches)):
                self._end_the_rest(f"fail fast: branch {branch.name} failed")

    def _end_the_rest(self, reason: str) -> None:
        for frame in self.frames:
            frame.cancel(reason)

    def _end_as_cancelled(self, frame: Frame) -> Outcome:
        if not frame.is_done:  # it waited for its turn, or had not begun
            end_frame(self.run, frame)
        reason = frame.cancel_reason or "the branch was cancelled"
        return Outcome(Status.CANCELLED, error=StepError("Cancelled", reason, frame.id))

    def close(self) -> None:
        """End the branches that never began."""
        for index, frame in enumerate(self.frames):
            if not frame.is_done:
                self.outcomes[index] = self._end_as_cancelled(frame)
            self.run.frames.pop(frame.id, None)
