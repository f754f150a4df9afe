"""Branches side by side, each a frame of its own."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any

from pitstop.engine.flow.sequence import PASSED, take_over
from pitstop.engine.frame import Activation, Frame, FrameRewound
from pitstop.engine.frame_life import end_frame, live_frame, open_frames
from pitstop.engine.step import record_in_steps, run_step
from pitstop.events.outcome import Outcome, Status, StepError
from pitstop.lazy_dataclass import dataclass
from pitstop.plan.plan import Step
from pitstop.plan.scope import Scope


@dataclass(frozen=True, slots=True)
class Branch:
    """What a frame will run. `id` is also its address: the same in every run."""

    id: str
    name: str
    scope: Scope
    body: Callable[[Frame], Awaitable[Outcome]]


@dataclass(frozen=True, slots=True)
class Rule:
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
    run = activation.run
    if activation.is_replayed:
        rule = Rule()  # how it ended is known: each branch does again what it did then, to its own end
    frames = open_frames(run, [(branch.id, branch.name) for branch in branches], parent, activation.occurrence)
    outcomes: list[Outcome | None] = [None] * len(branches)
    turn = asyncio.Semaphore(rule.at_once) if rule.at_once else None
    rewound: FrameRewound | None = None
    good = bad = 0

    def end_the_rest(reason: str) -> None:
        for frame in frames:
            frame.cancel(reason)

    def end_as_cancelled(index: int) -> None:
        frame = frames[index]
        reason = frame.cancel_reason or "the branch was cancelled"
        outcomes[index] = Outcome(Status.CANCELLED, error=StepError("Cancelled", reason, frame.id))
        if not frame.is_done:  # it waited for its turn, or had not begun
            end_frame(run, frame)

    async def live(index: int) -> None:
        nonlocal rewound, good, bad
        branch, frame = branches[index], frames[index]
        try:
            if turn is not None:
                async with turn:
                    outcomes[index] = await live_frame(run, frame, branch.scope, branch.body)
            else:
                outcomes[index] = await live_frame(run, frame, branch.scope, branch.body)
        except FrameRewound as going_back:  # to before these branches: the frame around them takes it from here
            rewound = going_back
            end_the_rest(f"the run was rewound to {going_back.target.occurrence}")
        except asyncio.CancelledError:
            end_as_cancelled(index)
        outcome = outcomes[index]
        if outcome is None:
            return
        if _is_good(outcome):
            good += 1
            if rule.is_reached(good):
                end_the_rest(f"enough branches of {activation.step.title} passed")
        else:
            bad += 1
            if rule.fail_fast and rule.is_lost(bad, len(branches)):
                end_the_rest(f"fail fast: branch {branch.name} failed")

    try:
        async with asyncio.TaskGroup() as group:
            for index, frame in enumerate(frames):
                frame.task = group.create_task(live(index), name=frame.id)
    finally:
        for index, frame in enumerate(frames):
            if not frame.is_done:
                end_as_cancelled(index)
            run.frames.pop(frame.id, None)
    if rewound is not None:
        raise rewound
    return outcomes
