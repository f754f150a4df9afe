"""A graph of nodes over one state: chains inline in their frame, a frame for each branch of a fan-out."""

import asyncio
import difflib
import inspect
from collections.abc import Mapping, Sequence
from typing import Any

from pitstop.engine.flow.parallel import Branch, Rule, live_branches
from pitstop.engine.flow.sequence import PASSED
from pitstop.engine.frame import Activation, Frame, Gate
from pitstop.engine.step import finish_step, run_step
from pitstop.errors import RecursionLimit, StepFailure, UnknownRoute
from pitstop.events.outcome import Outcome, Status
from pitstop.events.types import StepFinished, StepRouted, StepStarted
from pitstop.plan.plan import Reducer, Step
from pitstop.plan.scope import Layer, Scope, Values
from pitstop.plan.updates import join, merge, summarise, update_of
from pitstop.plan.wiring import Node, Wiring

NOWHERE: frozenset[str] = frozenset()
_CLOSED = Gate()


async def run_graph(activation: Activation, config: Mapping[str, Any]) -> Outcome:
    """Run a graph on the state it is given; its outputs are its update of the state around it."""
    wiring: Wiring = config["wiring"]
    if activation.parent is None:
        outcome = await _GraphRun(activation, wiring).live(activation.scope)
        return Outcome(outcome.status, error=outcome.error)
    start = dict(activation.scope.values())
    layer = Layer("state", start, [])
    outcome = await _GraphRun(activation, wiring).live(Scope((layer,)))
    if outcome.is_failure:
        return outcome
    outer: Mapping[str, Reducer] = {}
    if activation.parent.step.kind == "graph":
        outer = activation.parent.step.config["wiring"].reducers
        for key in [key for key in start if key not in layer.values]:  # unset by hand
            activation.scope.own.remove((key,))
    return Outcome(outcome.status, summarise(start, layer, wiring.reducers, outer))


class NodeType:
    """The step type of a node: calls its function with a copy of the state."""

    async def act(self, activation: Activation, config: Mapping[str, Any]) -> Any:
        parent = activation.parent
        wiring: Wiring | None = parent.step.config.get("wiring") if parent is not None else None
        node = wiring.node_of(activation.step) if wiring is not None else Node(activation.step)
        state = activation.scope.own.values
        given = state.copy()
        if node.in_thread:
            update = await asyncio.to_thread(node.function, given)
        else:
            update = node.function(given)
        if inspect.isawaitable(update):
            update = await update
        return update_of(node.name, update, given, state)


class _GraphRun:
    """One execution of a graph: how often each node was visited, and the frames its branches run in."""

    def __init__(self, activation: Activation, wiring: Wiring) -> None:
        self.activation = activation
        self.run = activation.run
        self.wiring = wiring
        self.nodes = wiring.nodes(activation.step.children)
        self.visits: dict[str, int] = {}
        self.turns = 0

    async def live(self, scope: Scope) -> Outcome:
        self.run.acts += not self.activation.is_replayed
        try:
            frame, start = self.activation.frame, self.wiring.start
            targets = await self._route(frame, start, self.activation.address(start), scope.own.values)
            await self._go(frame, scope, targets, NOWHERE)
            return PASSED
        except _Failed as failed:
            return failed.outcome
        except StepFailure as failure:
            return self.run.failed(failure, self.activation.occurrence)

    async def _go(self, frame: Frame, scope: Scope, targets: Sequence[str], meeting: frozenset[str]) -> tuple[str, ...]:
        """Go on from these nodes, in this frame or in one for each; gives the meeting points that were reached."""
        arrived: dict[str, None] = {}
        while True:
            arrived.update(dict.fromkeys(target for target in targets if target in meeting))
            targets = [target for target in targets if target not in meeting]
            if not targets:
                return tuple(arrived)
            if len(targets) > 1:
                targets = await self._fan_out(frame, scope, tuple(targets), meeting)
            else:
                targets = await self._walk(frame, scope, targets[0], meeting)

    async def _walk(self, frame: Frame, scope: Scope, name: str, meeting: frozenset[str]) -> tuple[str, ...]:
        """Run node after node while exactly one follows. The engine's innermost loop: every look-up here counts."""
        run, nodes, wiring, layer = self.run, self.nodes, self.wiring, scope.own
        log, done, changes = run.log, run.done, layer.changes
        is_kept = run.barrier is not None or run.has_snapshots  # then `run_step` waits for either
        is_replaying = is_kept or bool(frame.recorded) or self.activation.is_replayed
        append = log.append if log is not None else None
        now, passed, frame_id = run.now, Status.PASSED, frame.id
        task, cancels_before = asyncio.current_task(), frame.cancels_before
        cancelling = task.cancelling if task is not None else int
        reducers = wiring.reducers
        gate = run.hook.gate if run.hook is not None else _CLOSED
        hooked, paths, epoch = run.hook is not None or is_replaying, gate.paths, gate.epoch
        prefix = self.activation.address("")
        left = wiring.recursion_limit - self.turns
        limit = left
        occurrence = name
        moment = 0.0
        while True:
            node = nodes[name]
            path = node.path
            if left <= 0:
                raise RecursionLimit(wiring.recursion_limit, name)
            left -= 1
            if append is not None:
                occurrence = self._visit(prefix, name)
            if node.is_plain and not (hooked and (is_replaying or path in paths)):  # gate
                state = layer.values
                given = state.copy()
                if append is not None:
                    append(StepStarted(moment or now(), frame_id, path, occurrence))
                try:
                    update = await node.function(given) if node.is_async else node.function(given)
                    if update.__class__ is not dict or update is given:
                        if inspect.isawaitable(update):
                            update = await update
                        update = update_of(name, update, given, state)
                    merged = merge(state, update, reducers) if reducers else {**state, **update}
                    if cancelling() > cancels_before:  # the node has swallowed it
                        raise asyncio.CancelledError
                except (Exception, asyncio.CancelledError) as raised:  # noqa: BLE001 - a failing node is data
                    at = occurrence if append is not None else prefix + name
                    await self._failed(frame, scope, node, at, raised)
                    moment, paths, epoch = 0.0, gate.paths, gate.epoch
                else:
                    if append is not None:
                        moment = now()  # when this node ended and the next one begins
                        append(StepFinished(moment, frame_id, path, occurrence, Outcome(passed, update)))
                    if hooked and gate.epoch != epoch:  # gate
                        outcome = Outcome(passed, update)  # gate
                        await self._finish(frame, scope, node, occurrence, outcome, is_logged=True)  # gate
                        moment, paths, epoch = 0.0, gate.paths, gate.epoch  # gate
                    else:  # gate
                        layer.values = merged
                        if changes is not None:
                            changes.append(update)
                        done[path] = update
            else:
                if append is None:
                    occurrence = self._visit(prefix, name)
                outcome = await run_step(self.activation, frame, scope, node.step, occurrence, self._apply)
                self._check(node.step, outcome)
                is_replaying = is_kept or bool(frame.recorded) or self.activation.is_replayed
                hooked = run.hook is not None or is_replaying
                moment, paths, epoch = 0.0, gate.paths, gate.epoch
            following = node.following
            if following is None:
                if node.routes is None or hooked or append is not None:
                    targets = await self._route(frame, name, occurrence, layer.values)
                    paths, epoch = gate.paths, gate.epoch
                else:  # a plain function that says one of its names: nothing else has to be known
                    try:
                        chosen = node.choose(layer.values.copy())
                        ways = node.routes.get(chosen) if chosen.__class__ is str else None
                    except (Exception, asyncio.CancelledError) as raised:
                        raise self._router_failed(frame, prefix + name, raised) from raised
                    targets = await self._settle(frame, name, prefix + name, chosen) if ways is None else ways
                moment = 0.0
                if len(targets) != 1:
                    self.turns += limit - left
                    return targets
                following = targets[0]
            if meeting and following in meeting:
                self.turns += limit - left
                return (following,)
            name = following

    def _visit(self, prefix: str, name: str) -> str:
        """The address of the next visit to a node. A node runs in one branch at a time, so the count is sure."""
        visits = self.visits.get(name, 0) + 1
        self.visits[name] = visits
        if visits == 1:
            return prefix + name if prefix else name
        return f"{prefix}{name}@{visits}"

    def _apply(self, scope: Scope, step: Step, outcome: Outcome, attempt: int) -> None:
        """The way of graphs: a node's outputs are an update of the state."""
        update = outcome.outputs
        if update:
            layer = scope.own
            layer.values = merge(layer.values, update, self.wiring.reducers)
            if layer.changes is not None:
                layer.changes.append(update)

    def _check(self, step: Step, outcome: Outcome) -> None:
        if outcome.is_failure and not step.continue_on_error:
            raise _Failed(outcome)

    async def _failed(self, frame: Frame, scope: Scope, node: Node, occurrence: str, raised: BaseException) -> None:
        if isinstance(raised, asyncio.CancelledError) and (frame.is_cancelled or self.run.is_aborting):
            self.run.note_cancelled(Activation(self.run, frame, node.step, scope, occurrence, self.activation))
            raise raised
        await self._finish(frame, scope, node, occurrence, self.run.failed(raised, occurrence))

    async def _finish(
        self, frame: Frame, scope: Scope, node: Node, occurrence: str, outcome: Outcome, *, is_logged: bool = False
    ) -> None:
        """End a node that ran in the innermost loop as any step ends: asked about, and perhaps tried again."""
        activation = Activation(self.run, frame, node.step, scope, occurrence, self.activation)
        outer, frame.activation = frame.activation, activation
        try:
            ended = await finish_step(activation, self._apply, outcome, is_logged=is_logged)
        finally:
            frame.activation = outer
        if not isinstance(ended, Outcome):
            ended = await run_step(self.activation, frame, scope, node.step, occurrence, self._apply, attempt=2)
        self._check(node.step, ended)

    async def _route(self, frame: Frame, name: str, occurrence: str, state: Values) -> tuple[str, ...]:
        """What follows a node that has a router, or several edges, or none."""
        router = self.wiring.routers.get(name)
        if router is None:
            return self.wiring.edges.get(name, ())
        known = frame.recorded.routes.pop(occurrence, None) if frame.recorded else None
        if known is not None:
            return known
        if self.activation.is_replayed:
            raise asyncio.CancelledError  # it never came to choose
        try:
            chosen = router.choose(state.copy())
        except (Exception, asyncio.CancelledError) as raised:
            raise self._router_failed(frame, occurrence, raised) from raised
        return await self._settle(frame, name, occurrence, chosen)

    async def _settle(self, frame: Frame, name: str, occurrence: str, chosen: Any) -> tuple[str, ...]:
        """The nodes that a router meant, waited for if it is async, and logged."""
        try:
            if inspect.isawaitable(chosen):
                chosen = await chosen
        except (Exception, asyncio.CancelledError) as raised:
            raise self._router_failed(frame, occurrence, raised) from raised
        targets = self._targets(name, chosen, self.wiring.routers[name].targets)
        if self.run.log is not None:
            self.run.log.append(StepRouted(self.run.now(), frame.id, name, occurrence, targets))
        return targets

    def _router_failed(self, frame: Frame, occurrence: str, raised: BaseException) -> BaseException:
        if isinstance(raised, asyncio.CancelledError) and (frame.is_cancelled or self.run.is_aborting):
            return raised
        return _Failed(self.run.failed(raised, occurrence))

    def _targets(self, source: str, chosen: Any, names: Mapping[Any, str] | None) -> tuple[str, ...]:
        """The nodes that a router chose, by its own names for them; none at the end of the graph."""
        several = chosen if isinstance(chosen, list | tuple | set | frozenset) else (chosen,)
        targets: list[str] = []
        for each in several:
            try:
                target = names.get(each, each) if names is not None else each
            except TypeError:  # not even a key
                target = each
            is_node = isinstance(target, str) and (target in self.nodes or target == self.wiring.end)
            if not is_node or (names is not None and target not in names.values()):
                known = [*names, *names.values()] if names is not None else list(self.nodes)
                near = difflib.get_close_matches(str(each), map(str, known), n=1)
                raise UnknownRoute(source, each, near[0] if near else None)
            if target != self.wiring.end and target not in targets:
                targets.append(target)
        return tuple(targets)

    async def _fan_out(
        self, frame: Frame, scope: Scope, targets: tuple[str, ...], outer: frozenset[str]
    ) -> tuple[str, ...]:
        """Run a branch from each target to where they meet, here or further out, and join what they wrote."""
        meeting = self.wiring.meeting_points(targets) | outer
        starting = [target for target in targets if target not in meeting]
        arrived: dict[str, tuple[str, ...]] = {target: (target,) for target in targets if target in meeting}
        if not starting:  # a circle: each branch runs its own first node all the same
            starting, arrived = list(targets), {}
        branches = [self._branch(scope, target, meeting, arrived) for target in starting]
        outcomes = await live_branches(self.activation, frame, branches, Rule(fail_fast=True))
        failure = Rule().failure(outcomes)
        if failure is not None:
            raise _Failed(failure if failure.is_failure else Outcome(Status.FAILED, error=failure.error))
        try:
            join(scope.own, [(branch.name, branch.scope.own) for branch in branches], self.wiring.reducers)
        except Exception as raised:  # a reducer is the user's code
            raise _Failed(self.run.failed(raised, self.activation.occurrence)) from raised
        return tuple(dict.fromkeys(node for target in targets for node in arrived[target]))

    def _branch(
        self, scope: Scope, target: str, meeting: frozenset[str], arrived: dict[str, tuple[str, ...]]
    ) -> Branch:
        branch_scope = Scope((Layer("state", scope.own.values, []),))
        visits = self.visits.get(target, 0) + 1
        address = self.activation.address(target if visits == 1 else f"{target}@{visits}")
        visited_before: dict[str, int] | None = None

        async def body(frame: Frame) -> Outcome:
            nonlocal visited_before
            if self.run.log is not None:  # else nobody counts
                if visited_before is None:
                    own = {target} | (self.wiring.reachable(target) - meeting)
                    visited_before = {name: self.visits.get(name, 0) for name in own}
                self.visits.update(visited_before)  # the frame may have been rewound: it counts from here again
            try:
                following = await self._walk(frame, branch_scope, target, meeting)
                if len(following) == 1 and following[0] in meeting:
                    arrived[target] = following
                else:
                    arrived[target] = await self._go(frame, branch_scope, following, meeting)
            except _Failed as failed:
                return failed.outcome
            except StepFailure as failure:
                return self.run.failed(failure, self.activation.occurrence)
            return PASSED

        return Branch(address, target, branch_scope, body)


class _Failed(StepFailure):
    """A node has failed, and so has the graph: unwinds to where the frame or the graph ends."""

    def __init__(self, outcome: Outcome) -> None:
        super().__init__(str(outcome.error))
        self.outcome = outcome
