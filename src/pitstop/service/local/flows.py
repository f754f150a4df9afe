"""The desk for flows, in this process."""

from collections.abc import Awaitable, Callable, Collection, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from pitstop.engine.ports import Evaluator
from pitstop.errors import BadFlow
from pitstop.runs.flow_files import FlowFiles
from pitstop.runs.flow_info import SecretUse
from pitstop.runs.info import tell_flow
from pitstop.runs.repositories import read_address
from pitstop.runs.run_maker import RunMaker, address_of
from pitstop.runs.run_request import BreakpointRequest, RunRequest
from pitstop.runs.stored_flows import StoredFlows
from pitstop.service.caller import Caller, Record
from pitstop.service.flows import Finding, FlowInfo, StepTypeHelp, StoredFlow
from pitstop.store.port import RunStore

if TYPE_CHECKING:  # a run need not load it
    from pitstop.service.reference import Reference

Examine = Callable[[], Awaitable[tuple[Finding, ...]]]
KnownSecrets = Callable[[], Awaitable[Collection[str]]]  # the names of those that are stored, for any flow


async def no_secrets() -> Collection[str]:
    """The stored secrets of a service that stores none."""
    return ()


class FlowDesk:
    """The Flows of this process."""

    def __init__(
        self,
        store: RunStore,
        files: FlowFiles,
        stored: StoredFlows,
        maker: RunMaker,
        new_evaluator: Callable[[], Evaluator],
        examine: Examine,
        record: Record,
        known_secrets: KnownSecrets = no_secrets,
    ) -> None:
        self._store = store
        self._files = files
        self._stored = stored
        self._maker = maker
        self._new_evaluator = new_evaluator
        self._known_secrets = known_secrets
        self._examine = examine
        self._record = record

    async def check(
        self, caller: Caller, flow: str, text: str | None = None, *, repo: str | None = None, ref: str | None = None
    ) -> FlowInfo:
        evaluator = self._new_evaluator()
        try:
            if repo is not None:
                found = await self._maker.flow_of_repo(repo, flow, ref)
                planned = await self._files.check_at(found.path, evaluator, found.read)
            else:
                path = flow if text is not None else self._stored.path_of(flow)
                planned = await self._files.check(path, evaluator, text)
        finally:
            await evaluator.close()
        from pitstop.service.flow_secrets import unlisted_secrets, used_secrets

        known = await self._known_secrets()
        told = tell_flow(planned.flow, planned.plan)
        secrets = tuple(SecretUse(name, name in known) for name in sorted(used_secrets(planned)))
        return replace(told, secrets=secrets, warnings=unlisted_secrets(planned, known))

    async def resolve(self, caller: Caller, request: RunRequest) -> FlowInfo:
        from pitstop.service.flow_secrets import unlisted_secrets
        from pitstop.service.preview import resolved_configs

        prepared = await self._maker.prepare(request)
        evaluator = self._new_evaluator()
        try:
            configs = await resolved_configs(prepared.plan, prepared.values, evaluator)
        finally:
            await evaluator.close()
        told = tell_flow(prepared.planned.flow, prepared.plan, lambda step: configs[step.path])
        given = prepared.values.get("inputs", {})
        inputs = tuple(replace(each, default=given[each.name], is_required=False) for each in told.inputs)
        known = {*request.secrets, *await self._known_secrets()}
        return replace(told, inputs=inputs, warnings=unlisted_secrets(prepared.planned, known))

    async def list(self, caller: Caller) -> tuple[StoredFlow, ...]:
        files = self._stored.files()
        return tuple([StoredFlow(name, str(file), await self._problem(file)) for name, file in files.items()])

    async def text(self, caller: Caller, name: str) -> str:
        return self._stored.file(name).read_text(encoding="utf-8", errors="replace")

    async def breakpoints(self, caller: Caller, flow: str) -> tuple[BreakpointRequest, ...]:
        from pitstop.runs.flow_breakpoints import read_flow_breakpoints

        return await read_flow_breakpoints(self._store, self._key(flow))

    async def store_breakpoints(self, caller: Caller, flow: str, breakpoints: Sequence[BreakpointRequest]) -> None:
        from pitstop.runs.flow_breakpoints import write_flow_breakpoints
        from pitstop.runs.jq_checks import check_breakpoints

        caller.require("operator")
        await check_breakpoints(breakpoints, self._new_evaluator)
        await write_flow_breakpoints(self._store, self._key(flow), breakpoints)
        await self._record(caller, "keep_flow_breakpoints", None, names={"name": flow})

    async def check_breakpoints(
        self, caller: Caller, breakpoints: Sequence[BreakpointRequest]
    ) -> tuple[str | None, ...]:
        from pitstop.runs.jq_checks import breakpoint_problems

        return await breakpoint_problems(breakpoints, self._new_evaluator)

    async def schema(self, caller: Caller) -> dict[str, Any]:
        return self._reference().schema()

    async def step_types(self, caller: Caller) -> tuple[StepTypeHelp, ...]:
        return self._reference().step_types()

    async def step_type(self, caller: Caller, name: str) -> StepTypeHelp:
        return self._reference().step_type(name)

    async def examine(self, caller: Caller) -> tuple[Finding, ...]:
        return await self._examine()

    def _reference(self) -> "Reference":
        from pitstop.service.reference import Reference

        return Reference()

    def _key(self, flow: str) -> str:
        """Settings of a flow are stored with its file, however that is named, or as `REPO:FLOW`."""
        if self._maker.has_repositories and read_address(flow) is not None:
            return flow
        return address_of(self._stored.path_of(flow))

    async def _problem(self, file: Path) -> str | None:
        try:
            await self._files.plan(str(file), None)
        except BadFlow as error:
            return str(error.found[0]) if error.found else str(error)
        return None
