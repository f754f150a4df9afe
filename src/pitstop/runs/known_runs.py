"""The runs that a service knows: those that this process executes, and all others that are stored."""

import base64
import binascii
import json
from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from pitstop.engine.ports import Evaluator
from pitstop.errors import BadCursor, BadDefinition, NoScopes, NotEnded
from pitstop.plan.plan import Plan
from pitstop.runs.flow_files import FlowFiles
from pitstop.runs.flow_info import FlowInfo
from pitstop.runs.graph_targets import read_target
from pitstop.runs.info import tell_flow
from pitstop.runs.live_run import LiveRun
from pitstop.runs.planned_flow import PlannedFlow
from pitstop.runs.requests import request_of
from pitstop.runs.run_info import ENDED, RunInfo, RunPage, RunQuery
from pitstop.runs.run_maker import RunMaker, with_end_of, with_fix_of
from pitstop.runs.stored_run import StoredRun, tell_run
from pitstop.runs.workplaces import EMPTY, NewCombine, NewExecutor, NewMasker
from pitstop.store.port import KeptRun, RunFilter, RunRecord, RunStore

if TYPE_CHECKING:  # a run of this process need not load these
    from pitstop.runs.past_run import EndElsewhere, PastRun
    from pitstop.runs.run_snapshots import SnapshotKeeping

Announce = Callable[[str], Awaitable[None]]  # is told the id of a new run, before its first step runs


class Backends(Struct, frozen=True):
    """The implementations that `app.py` has chosen."""

    new_executor: NewExecutor
    new_evaluator: Callable[[], Evaluator]
    new_masker: NewMasker
    new_snapshots: "Callable[[], SnapshotKeeping]"
    combining: Mapping[str, NewCombine] = EMPTY  # further ways of combining steps, by the kind of the step


class KnownRuns:
    """Finds and lists runs. `live` has those of this process; `end_elsewhere` ends one of another process."""

    def __init__(
        self,
        store: RunStore,
        files: FlowFiles,
        maker: RunMaker,
        backends: Backends,
        end_elsewhere: "EndElsewhere | None" = None,
    ) -> None:
        self.live: dict[str, LiveRun] = {}
        self._store = store
        self._files = files
        self._maker = maker
        self._backends = backends
        self._end_elsewhere = end_elsewhere
        self._last_shown: tuple[PlannedFlow, FlowInfo] | None = None  # a page asks for one run many times

    def forget(self, run: LiveRun) -> None:
        """Nothing of a run is in this process any more."""
        del self.live[run.id]
        run.is_gone.set()

    async def read(self, run: str) -> tuple[KeptRun, RunRecord]:
        """UnknownRun."""
        kept = await self._store.open(run, events=False)
        return kept, await kept.record()

    async def past(self, kept: KeptRun, record: RunRecord, **more: Any) -> "PastRun":
        """A run that another process executes, or none; `more` is what PastRun takes in addition."""
        from pitstop.runs.past_run import PastRun

        return PastRun(
            StoredRun(self._store, kept, record, await self._flow_of(record)),
            make_plan=lambda: self._plan_of(record),
            new_evaluator=self._backends.new_evaluator,
            new_snapshots=self._backends.new_snapshots,
            end_elsewhere=self._end_elsewhere,
            **more,
        )

    async def runs(self, query: RunQuery) -> RunPage:
        before = None if query.cursor is None else _read_cursor(query.cursor)
        wanted = RunFilter(
            status=query.status,
            flow=query.flow,
            repo=query.repo,
            ref=query.ref,
            search=query.search,
            before=before,
            limit=query.limit + 1,
        )
        found = await self._store.find(wanted)
        shown = found[: query.limit]
        following = _cursor_after(shown[-1].created_at, shown[-1].id) if len(found) > len(shown) else None
        return RunPage(tuple([await self._info(record) for record in shown]), following)

    async def _info(self, record: RunRecord) -> RunInfo:
        return await self.live[record.id].info() if record.id in self.live else tell_run(record)

    async def pin(self, run: str, *, pinned: bool = True) -> None:
        kept = self.live[run].kept if run in self.live else await self._store.open(run, events=False)
        await kept.update(is_pinned=pinned)

    async def delete(self, run: str) -> None:
        _, record = await self.read(run)
        if record.status not in ENDED:
            raise NotEnded(run)
        if run in self.live:  # it has yet to release its workspace
            await self.live[run].is_gone.wait()
        await self._store.delete(run)

    async def _plan_of(self, record: RunRecord) -> Plan:
        """The plan of a run as it was then; NoScopes for a graph, whose code may have changed."""
        if _is_graph(record):
            raise NoScopes(record.id)
        return (await self._maker.recall(record, {})).plan

    async def _flow_of(self, record: RunRecord) -> FlowInfo:
        """The flow of a run as it was then, without its steps if a type is gone or code would have to be imported."""
        if _is_graph(record):
            return FlowInfo(record.flow, record.file, ())
        try:
            planned = await self._files.plan_again(str(record.request.get("flow", record.file)), record.texts, None)
        except BadDefinition:
            return FlowInfo(record.flow, record.file, ())
        if self._last_shown is None or self._last_shown[0] is not planned:
            self._last_shown = (planned, tell_flow(planned.flow, planned.plan))
        request = request_of(record.request, {})
        if (request.trigger and not record.is_partial) or request.fix is not None:
            plan = planned.plan if record.is_partial else with_end_of(planned.plan, request.trigger)
            return tell_flow(planned.flow, with_fix_of(plan, request))
        return self._last_shown[1]


def _is_graph(record: RunRecord) -> bool:
    return record.repo is None and read_target(record.file) is not None


def _cursor_after(created_at: float, run: str) -> str:
    """The place in a list where its next page begins, as a text without meaning to clients."""
    return base64.urlsafe_b64encode(json.dumps([created_at, run]).encode()).decode()


def _read_cursor(cursor: str) -> tuple[float, str]:
    """The creation time and the id that a cursor has; BadCursor."""
    try:
        created_at, run = json.loads(base64.urlsafe_b64decode(cursor.encode("ascii")))
        return float(created_at), str(run)
    except (ValueError, TypeError, binascii.Error) as error:
        raise BadCursor(cursor) from error
