"""The desks for runs, debugging and workspaces, over the runs that this process owns."""

from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar, Unpack

from msgspec.structs import asdict, replace

from pitstop.errors import StoreUnavailable
from pitstop.runs.run_info import RunPage, RunQuery
from pitstop.runs.run_request import Request, RerunRequest, RunRequest, ShellOptions, ShellPlace
from pitstop.service.caller import LOCAL, Caller, Record

if TYPE_CHECKING:  # a run need not load what it does not use
    from pitstop.runs.live_run import LiveRun
    from pitstop.runs.local_runs import LocalRuns
    from pitstop.runs.past_run import PastRun
    from pitstop.runs.server_runs import ServerRuns
    from pitstop.runs.shells import DebugShell

A = TypeVar("A")


class RunDesks:
    """The Runs, the Debugging and the Workspaces of this process."""

    def __init__(self, owned: "LocalRuns | ServerRuns", record: Record) -> None:
        self._owned = owned
        self._record = record

    async def start(self, caller: Caller, request: RunRequest) -> "LiveRun | PastRun":
        caller.require("operator")
        request = replace(request, by="" if caller == LOCAL else caller.name)
        return await self._owned.start(request, partial(self._record, caller, "start_run", request=_given(request)))

    async def rerun(self, caller: Caller, run: str, request: RerunRequest) -> "LiveRun | PastRun":
        caller.require("operator")
        request = replace(request, by="" if caller == LOCAL else caller.name)
        given = _given(request)
        return await self._owned.rerun(run, request, lambda _: self._record(caller, "rerun", run, given))

    async def get(self, caller: Caller, run: str) -> "LiveRun | PastRun":
        return await self._owned.run(run)

    async def list(self, caller: Caller, query: RunQuery) -> RunPage:
        return await self._owned.runs(query)

    async def pin(self, caller: Caller, run: str, *, pinned: bool = True) -> None:
        caller.require("operator")
        await self._owned.pin(run, pinned=pinned)
        await self._record(caller, "pin_run", run, {"pinned": pinned})

    async def delete(self, caller: Caller, run: str) -> None:
        caller.require("operator")
        await self._owned.delete(run)
        await self._record(caller, "delete_run", run)

    async def leave(self, caller: Caller, run: str) -> None:
        caller.require("operator")
        await self._owned.leave(run)

    async def take_up(self, caller: Caller, run: str, secrets: Mapping[str, str]) -> "LiveRun | PastRun":
        caller.require("operator")
        return await self._owned.take_up(run, secrets)

    async def answer(
        self, caller: Caller, run: str, occurrence: str, *, approved: bool, by: str = "", comment: str = ""
    ) -> None:
        caller.require("operator")
        await (await self._owned.run(run)).answer(occurrence, approved=approved, by=by, comment=comment)
        await self._record(caller, "answer_question", run, {"approved": approved}, {"occurrence": occurrence})

    async def cancel(self, caller: Caller, run: str, reason: str) -> None:
        caller.require("operator")
        await (await self._owned.run(run)).cancel(reason)
        await self._record(caller, "cancel_run", run, {"reason": reason})

    async def kill(self, caller: Caller, run: str) -> None:
        caller.require("operator")
        await (await self._owned.run(run)).kill()
        await self._record(caller, "cancel_run", run, {"now": True})

    async def say(self, caller: Caller, run: str, request: Request[A]) -> A:
        from pitstop.runs.verb_table import VERB_OF

        if VERB_OF[type(request)].method != "GET":
            caller.require("operator")
        debugger = (await self._owned.run(run)).debugger
        try:
            said = await debugger.say(request)
        except StoreUnavailable:  # it is executed all the same
            await self._record_verb(caller, run, request)
            raise
        await self._record_verb(caller, run, request)
        return said

    async def _record_verb(self, caller: Caller, run: str, request: Request[Any]) -> None:
        from pitstop.runs.verb_table import VERB_OF, fields_of

        verb = VERB_OF[type(request)]
        if verb.changes:
            given = fields_of(request)
            await self._record(caller, verb.operation_id, run, given, {name: given[name] for name in verb.path_fields})

    async def shell(self, caller: Caller, run: str, place: ShellPlace, **options: Unpack[ShellOptions]) -> "DebugShell":
        caller.require("operator")
        shell = await (await self._owned.run(run)).shell(place, caller.name, **options)
        where = "stop" if isinstance(place, int) else "step"
        await self._record(caller, "open_shell", run, {where: place, **options})
        return shell


def _given(request: RunRequest | RerunRequest) -> dict[str, Any]:
    """The fields of a request that are not empty."""
    return {name: value for name, value in asdict(request).items() if value and name != "by"}
