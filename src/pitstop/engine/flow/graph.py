"""A graph of nodes over one state: chains inline in their frame, a frame for each branch of a fan-out."""

import asyncio
import difflib
import inspect
from collections.abc import Coroutine, Mapping, Sequence
from typing import Any

from pitstop.engine.flow.parallel import Branch, Rule, live_branches
from pitstop.engine.flow.sequence import PASSED
from pitstop.engine.frame import Activation, Frame, Gate
from pitstop.engine.recover import NOTHING_RECORDED
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
        self.prefix = activation.address("")  # of the addresses of its nodes

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
                targets = await self._run_on(frame, scope, targets[0], meeting)

    def _run_on(
        self, frame: Frame, scope: Scope, name: str, meeting: frozenset[str]
    ) -> Coroutine[Any, Any, tuple[str, ...]]:
        """Run node after node while exactly one follows; gives those that do, or the meeting point that was reached."""
        run_nodes = self._run_steps if self._is_step(frame, scope, self.nodes[name]) else self._walk
        return run_nodes(frame, scope, name, meeting)

    def _is_step(self, frame: Frame, scope: Scope, node: Node) -> bool:
        """Whether a node has to run as any step does: asked about, kept, replayed, or with options of its own."""
        is_replaying = frame.recorded is not NOTHING_RECORDED and bool(frame.recorded)
        if not node.is_plain or self.run.is_stored or is_replaying or self.activation.is_replayed:
            return True
        hook = self.run.hook
        if hook is None or node.path not in hook.gate.paths:
            return False
        return not hook.gate.passes(node.path, frame.id, "before", scope.own.values)

    async def _run_steps(self, frame: Frame, scope: Scope, name: str, meeting: frozenset[str]) -> tuple[str, ...]:
        """Run nodes as steps, from this one to the next that need not be one."""
        for turn in range(self.wiring.recursion_limit - self.turns):
            node, occurrence = self.nodes[name], self._visit(name)
            outcome = await run_step(self.activation, frame, scope, node.step, occurrence, self._apply)
            self._check(node.step, outcome)
            if node.following is None:
                targets = await self._route(frame, name, occurrence, scope.own.values)
            else:
                targets = (node.following,)
            if len(targets) != 1 or targets[0] in meeting or not self._is_step(frame, scope, self.nodes[targets[0]]):
                return self._leave(turn + 1, targets)
            name = targets[0]
        raise RecursionLimit(self.wiring.recursion_limit, name)

    async def _walk(self, frame: Frame, scope: Scope, name: str, meeting: frozenset[str]) -> tuple[str, ...]:
        """Run nodes that need not be steps. The engine's innermost loop: every look-up here counts."""
        run, nodes, layer, reducers = self.run, self.nodes, scope.own, self.wiring.reducers
        append, done, changes = None if run.log is None else run.log.append, run.done, layer.changes
        now, passed, frame_id = run.now, Status.PASSED, frame.id
        task, cancels_before = asyncio.current_task(), frame.cancels_before
        cancelling = int if task is None else task.cancelling
        hooked, gate = run.hook is not None, _CLOSED if run.hook is None else run.hook.gate
        prefix, visits, occurrence = self.prefix, self.visits, name
        moment, paths, epoch, asks = 0.0, gate.paths, gate.epoch, bool(gate.paths)
        for turn in range(self.wiring.recursion_limit - self.turns):
            node = nodes[name]
            path = node.path
            state = layer.values
            if not node.is_plain or (  # gate
                asks and path in paths and not gate.passes(path, frame_id, "before", state)
            ):
                return self._leave(turn, (name,))
            given = state.copy()
            if append is not None:
                visits[name] = count = visits.get(name, 0) + 1
                occurrence = prefix + name if count == 1 else f"{prefix}{name}@{count}"  # as `_visit` does
                append(StepStarted(moment or now(), frame_id, path, occurrence))
            try:
                update = await node.function(given) if node.is_async else node.function(given)
                if update.__class__ is not dict or update is given:
                    update = update_of(name, await update if inspect.isawaitable(update) else update, given, state)
                merged = merge(state, update, reducers) if reducers else {**state, **update}
                if cancelling() > cancels_before:  # the node has swallowed it
                    raise asyncio.CancelledError
            except (Exception, asyncio.CancelledError) as raised:  # noqa: BLE001 - a failing node is data
                await self._failed(frame, scope, node, occurrence if append is not None else prefix + name, raised)
                moment, paths, epoch, asks = 0.0, gate.paths, gate.epoch, bool(gate.paths)
            else:
                if append is not None:
                    moment = now()  # when this node ended and the next one begins
                    append(StepFinished(moment, frame_id, path, occurrence, Outcome(passed, update)))
                if hooked and (  # gate
                    gate.epoch != epoch or (asks and path in paths and not gate.passes(path, frame_id, "after", merged))
                ):
                    await self._finish(frame, scope, node, occurrence, Outcome(passed, update), is_logged=True)  # gate
                    moment, paths, epoch, asks = 0.0, gate.paths, gate.epoch, bool(gate.paths)  # gate
                else:  # gate
                    layer.values = merged
                    if changes is not None:
                        changes.append(update)
                    done[path] = update
            following = node.following
            if following is None:
                if node.routes is None or hooked or append is not None:
                    targets = await self._route(frame, name, occurrence, layer.values)
                else:  # a plain function that says one of its names: nothing else has to be known
                    try:
                        chosen = node.choose(layer.values.copy())
                        ways = node.routes.get(chosen) if chosen.__class__ is str else None
                    except (Exception, asyncio.CancelledError) as raised:
                        raise self._router_failed(frame, prefix + name, raised) from raised
                    targets = await self._settle(frame, name, prefix + name, chosen) if ways is None else ways
                moment, paths, epoch, asks = 0.0, gate.paths, gate.epoch, bool(gate.paths)
                if len(targets) != 1:
                    return self._leave(turn + 1, targets)
                following = targets[0]
            if meeting and following in meeting:
                return self._leave(turn + 1, (following,))
            name = following
        raise RecursionLimit(self.wiring.recursion_limit, name)

    def _leave(self, turns: int, targets: tuple[str, ...]) -> tuple[str, ...]:
        """Count the nodes that a loop has run, and give what follows them."""
        self.turns += turns
        return targets

    def _visit(self, name: str) -> str:
        """The address of the next visit to a node. A node runs in one branch at a time, so the count is sure."""
        visits = self.visits.get(name, 0) + 1
        self.visits[name] = visits
        if visits == 1:
            return self.prefix + name if self.prefix else name
        return f"{self.prefix}{name}@{visits}"

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
            Activation(self.run, frame, node.step, scope, occurrence, self.activation).note_cancelled()
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
            ended = await run_step(self.activation, frame, scope, node.step, occurrence, self._apply, ended)
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
        address = self.prefix + (target if visits == 1 else f"{target}@{visits}")
        visited_before: dict[str, int] | None = None

        async def body(frame: Frame) -> Outcome:
            nonlocal visited_before
            if self.run.log is not None:  # else nobody counts
                if visited_before is None:
                    own = {target} | (self.wiring.reachable(target) - meeting)
                    visited_before = {name: self.visits.get(name, 0) for name in own}
                self.visits.update(visited_before)  # the frame may have been rewound: it counts from here again
            try:
                following = await self._run_on(frame, branch_scope, target, meeting)
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
