"""The service in this process: it needs no server and no database, and its runs end with it."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from pitstop.engine.ports import Evaluator
from pitstop.errors import BadDefinition, CommandRefused, NoScopes, NotEnded, UnknownRun
from pitstop.plan.plan import Plan
from pitstop.runs.graph_targets import GraphTarget, read_target
from pitstop.runs.info import tell_flow
from pitstop.runs.live_run import LiveRun
from pitstop.runs.past_run import EndElsewhere, PastRun, tell_run
from pitstop.runs.planned_flow import PlannedFlow
from pitstop.runs.run_maker import PreparedRun
from pitstop.runs.run_snapshots import SnapshotKeeping
from pitstop.runs.workplaces import NewExecutor, NewMasker, make_workplace
from pitstop.service.api import ENDED, Finding, FlowInfo, RerunRequest, RunPage, RunQuery, RunRequest
from pitstop.service.cursors import cursor_after, read_cursor
from pitstop.service.flow_desk import FlowDesk
from pitstop.store.port import RunFilter, RunRecord, RunStore

if TYPE_CHECKING:  # what a flow in YAML need not pay for
    from pitstop.runs.graphs import Graphs

LEFT_ALONE = "the client that started it is gone"


class LocalService(FlowDesk):
    """A Service whose runs are in this process. `end_elsewhere` ends one that is in another."""

    def __init__(
        self,
        store: RunStore,
        *,
        new_executor: NewExecutor,
        new_evaluator: Callable[[], Evaluator],
        new_masker: NewMasker,
        new_snapshots: Callable[[], SnapshotKeeping],
        examine: Callable[[], Awaitable[tuple[Finding, ...]]],
        flow_folders: Sequence[Path] = (),
        end_elsewhere: EndElsewhere | None = None,
    ) -> None:
        super().__init__(
            store,
            new_evaluator=new_evaluator,
            new_masker=new_masker,
            examine=examine,
            flow_folders=flow_folders,
            plan_graph=self._plan_graph,
        )
        self._graphs: Graphs | None = None
        self._new_snapshots = new_snapshots
        self._open_workplace = partial(make_workplace, new_executor, new_masker)
        self._end_elsewhere = end_elsewhere
        self._live: dict[str, LiveRun] = {}
        self._carrying_out: dict[str, asyncio.Task[None]] = {}
        self._last_told: tuple[PlannedFlow, FlowInfo] | None = None  # a page asks for one run many times
        self._tasks = asyncio.TaskGroup()

    async def __aenter__(self) -> Self:
        await self._tasks.__aenter__()
        return self

    async def __aexit__(self, *error: Any) -> None:
        """Cancel the runs that are not over, and wait for them."""
        for run in self._live.values():
            run.cancel_now(LEFT_ALONE)
            if run.session is not None:
                self._tasks.create_task(_pass_stops(run), name=f"stops of {run.id}")
        try:
            await self._tasks.__aexit__(None, None, None)
        except BaseExceptionGroup as group:  # of one run: the caller knows of no group
            raise group.exceptions[0] from None
        finally:
            await self._store.close()

    # Runs

    async def start(self, request: RunRequest) -> LiveRun:
        return await self._launch(await self._maker.prepare(self._meant(request)))

    async def rerun(self, run: str, request: RerunRequest) -> LiveRun:
        return await self._launch(await self._maker.prepare_rerun(run, request))

    async def _launch(self, prepared: PreparedRun) -> LiveRun:
        """Begin a run. One that cannot, because there is no place for it, is forgotten and raises why."""
        kept = await self._store.create(prepared.record, prepared.events)
        run = LiveRun(
            self._new_evaluator, self._store, kept, prepared, self._open_workplace, new_snapshots=self._new_snapshots
        )
        self._live[run.id] = run
        self._carrying_out[run.id] = task = self._tasks.create_task(self._carry_out(run), name=run.id)
        try:
            await run.ready()
        except BaseException:
            run.cancel_now(LEFT_ALONE)  # where whoever asked for it has gone: it would wait to be begun for ever
            await asyncio.wait([task])
            with suppress(UnknownRun):  # not even its record could be kept
                await self._store.delete(run.id)
            raise
        run.begin()
        return run

    async def _carry_out(self, run: LiveRun) -> None:
        try:
            await run.carry_out()
        finally:
            del self._live[run.id], self._carrying_out[run.id]

    async def run(self, run: str) -> PastRun:
        if run in self._live:
            return self._live[run]
        kept = await self._store.open(run, events=False)
        record = await kept.record()
        flow, snapshots = self._flow_of(record), self._new_snapshots
        found = PastRun(self._store, kept, record, flow, self._new_evaluator, self._end_elsewhere, snapshots)
        found.plan_again = lambda: self._plan_of(record)
        return found

    async def runs(self, query: RunQuery) -> RunPage:
        before = None if query.cursor is None else read_cursor(query.cursor)
        wanted = RunFilter(
            status=query.status, flow=query.flow, search=query.search, before=before, limit=query.limit + 1
        )
        found = await self._store.find(wanted)
        shown = found[: query.limit]
        following = cursor_after(shown[-1].created_at, shown[-1].id) if len(found) > len(shown) else None
        infos = [await self._live[each.id].info() if each.id in self._live else tell_run(each) for each in shown]
        return RunPage(tuple(infos), following)

    async def pin(self, run: str, *, pinned: bool = True) -> None:
        kept = self._live[run].kept if run in self._live else await self._store.open(run, events=False)
        await kept.update(is_pinned=pinned)

    async def delete(self, run: str) -> None:
        record = await (await self._store.open(run, events=False)).record()
        if record.status not in ENDED:
            raise NotEnded(run)
        if run in self._carrying_out:  # it gives up its workspace yet
            await asyncio.wait([self._carrying_out[run]])
        await self._store.delete(run)

    def _plan_graph(self, path: str, target: GraphTarget) -> PlannedFlow:
        """Import the user's code into this process and plan its graph; BadFlow."""
        if self._graphs is None:
            from pitstop.runs.graphs import Graphs

            self._graphs = Graphs()
        return self._graphs.plan(target)

    async def _plan_of(self, record: RunRecord) -> Plan:
        """The plan of a run as it was then; NoScopes for a graph, whose code may be another by now."""
        if read_target(record.file) is not None:
            raise NoScopes(record.id)
        return (await self._maker.recall(record, {})).plan

    def _flow_of(self, record: RunRecord) -> FlowInfo:
        """The flow of a run as it was then; without its steps where their types are not there any more.

        Nor has a graph its steps: to look at a run is no reason to import code.
        """
        if read_target(record.file) is not None:
            return FlowInfo(record.flow, record.file, ())
        try:
            planned = self._files.plan_again(str(record.request.get("flow", record.file)), record.texts, None)
        except BadDefinition:
            return FlowInfo(record.flow, record.file, ())
        if self._last_told is None or self._last_told[0] is not planned:
            self._last_told = (planned, tell_flow(planned.flow, planned.plan))
        return self._last_told[1]


async def _pass_stops(run: LiveRun) -> None:
    """Where cleanup stops, because it failed, say, it goes on: nobody is there who would let it."""
    async for event in run.events(run.carried_over):
        if event.kind == "debug.stopped":
            with suppress(CommandRefused):  # it is over
                await run.debugger.continue_(event.fields["stop"])
