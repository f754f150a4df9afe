"""From a request to a run: checked and recorded first, then carried out with the texts that were read then."""

import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from copy import deepcopy
from functools import partial
from pathlib import Path
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from pitstop.engine.ports import Evaluator
from pitstop.engine.threads import in_thread
from pitstop.errors import BadCommit, BadInputs, BadLog, UnknownRepo, UnknownRun, UnknownStep
from pitstop.events.types import AnyEvent
from pitstop.plan.expressions import render
from pitstop.plan.fix_loops import with_fix_loop
from pitstop.plan.plan import Plan
from pitstop.plan.planner import first_values, with_merge_at_end
from pitstop.runs.commits import check_out, commit_in, find_commit, reader_at
from pitstop.runs.flow_files import FlowFiles
from pitstop.runs.graph_targets import read_target
from pitstop.runs.planned_flow import PlannedFlow
from pitstop.runs.repositories import Repositories, RepositoryFlow
from pitstop.runs.requests import commit_of, kept_request, request_of
from pitstop.runs.run_ids import new_run_id
from pitstop.runs.run_info import CommitInfo
from pitstop.runs.run_request import DebugRequest, FixRequest, RerunRequest, RunRequest
from pitstop.runs.selection import events_before, inputs_in, known_steps, only_step, paths_of, state_in, with_logs
from pitstop.runs.stored_flows import StoredFlows
from pitstop.runs.workplaces import NewMasker
from pitstop.steps.workplace import BringFiles, Workshop
from pitstop.store.port import RunFilter, RunRecord, RunStore

LOOKED_AT_RUNS = 20  # for the last one that was whole

LONGEST_GROUP = 1_000
MERGE_INTO = "merge_into"  # in a trigger: the branch to merge into when the run passes

MakePlan = Callable[[Mapping[str, Any]], Awaitable[PlannedFlow]]


class PreparedRun(Struct, frozen=True):
    """A run that can begin: its record, the events that it takes over, and what is made of them.

    `request` is the one that was made, with its secrets. `bring_files` fills a workspace with the commit of the run.
    """

    record: RunRecord
    events: tuple[AnyEvent, ...]
    request: RunRequest
    planned: PlannedFlow
    plan: Plan
    values: dict[str, Any]
    bring_files: BringFiles | None = None
    workshop: Workshop | None = None


class RunMaker:
    """Checks requests, and makes of what was kept of a run the same again. Only a server has `repositories`."""

    def __init__(
        self,
        store: RunStore,
        files: FlowFiles,
        stored_flows: StoredFlows,
        new_masker: NewMasker,
        new_evaluator: Callable[[], Evaluator],
        repositories: Repositories | None = None,
    ) -> None:
        self._store = store
        self._repositories = repositories
        self._files = files
        self._stored_flows = stored_flows
        self._new_masker = new_masker
        self._new_evaluator = new_evaluator

    async def prepare(self, request: RunRequest) -> PreparedRun:
        """BadFlow, BadInputs, BadBreakpoint, UnknownStep, UnknownRun, BadLog, BadCommit, and what Repositories raises.

        A stored flow, which a request names, works on the files of its project unless another folder is named.
        """
        if request.repo is not None:
            return await self._prepare_in_repo(request, request.repo)
        if request.text is None:
            path = self._stored_flows.path_of(request.flow)
            request = replace(request, flow=path, folder=request.folder or self._stored_flows.project_of(path))
        file = request.flow if request.text is not None else address_of(request.flow)
        return await self._prepare(
            request, file, lambda inputs: self._files.plan(request.flow, inputs, request.text), request.from_run
        )

    async def _prepare_in_repo(self, request: RunRequest, repo: str) -> PreparedRun:
        """A run of a flow of a repository on this server."""
        if request.flow_commit is None:
            found = await self.flow_of_repo(repo, request.flow, request.ref, request.commit, request.text)
            commit = found.commit
            request = replace(request, ref=found.ref, commit=commit.sha)
        else:
            found = await self.flow_of_repo(repo, request.flow, None, request.flow_commit)
            commit = await self._in_repositories(repo).commit(repo, request.commit or request.flow_commit, request.ref)
        return await self._prepare(request, found.address, self._plan_at(found), request.from_run, commit)

    @property
    def has_repositories(self) -> bool:
        return self._repositories is not None

    async def flow_of_repo(
        self, repo: str, flow: str, ref: str | None, sha: str | None = None, text: str | None = None
    ) -> RepositoryFlow:
        """What Repositories finds and raises; UnknownRepo where there are none."""
        return await self._in_repositories(repo).flow(repo, flow, ref, sha, text)

    def _in_repositories(self, repo: str) -> Repositories:
        if self._repositories is None:
            raise UnknownRepo(repo)
        return self._repositories

    def _plan_at(self, found: RepositoryFlow) -> MakePlan:
        return lambda inputs: self._files.plan_at(found.path, inputs, found.read)

    async def prepare_rerun(self, run: str, request: RerunRequest) -> PreparedRun:
        """A run again, with its flow as it was then or as it is now; all that `prepare` refuses."""
        old = await (await self._store.open(run, events=False)).record()
        first = request_of(old.request, request.secrets)
        fix = None if request.fix is None else fix_of(request.fix, old)
        again = replace(
            first,
            inputs={**first.inputs, **request.inputs},
            from_step=request.from_step or (None if fix is None else fix.step),
            from_run=run,
            commit=request.commit or first.commit,
            fix=fix,
            debug=request.debug,
            can_ask=request.can_ask,
            priority=request.priority,
            by=request.by,
            run_id=request.run_id,
        )
        if first.repo is not None:
            return await self._prepare_rerun_in_repo(again, old, request)
        if request.use_file and again.commit is not None and again.folder is not None:
            return await self._prepare_at_commit(again, old.file, again.commit, again.folder)
        if request.use_file:
            return await self._prepare(again, old.file, lambda inputs: self._files.plan(old.file, inputs), run)
        return await self._prepare(
            again, old.file, lambda inputs: self._files.plan_again(first.flow, old.texts, inputs), run
        )

    async def _prepare_rerun_in_repo(self, again: RunRequest, old: RunRecord, request: RerunRequest) -> PreparedRun:
        """A run of a repository again: at its commit, at another one, or with `use_file` where its branch is now."""

        def plan_again(inputs: Mapping[str, Any]) -> Awaitable[PlannedFlow]:
            return self._files.plan_again(again.flow, old.texts, inputs)

        if request.commit is None and not request.use_file:
            again = replace(again, ref=old.ref, commit=old.sha)
            return await self._prepare(again, old.file, plan_again, old.id, commit_of(old.request))
        name = old.file.partition(":")[2]
        found = await self.flow_of_repo(again.repo or "", name, request.commit or old.ref or old.sha)
        again = replace(again, ref=found.ref, commit=found.commit.sha)
        make_plan = self._plan_at(found) if request.use_file else plan_again
        try:
            return await self._prepare(again, old.file, make_plan, old.id, found.commit)
        except (UnknownStep, BadLog) as error:
            raise BadCommit(found.commit.sha, f"its flow differs: {error}") from error

    async def _prepare_at_commit(self, request: RunRequest, file: str, named: str, folder: str) -> PreparedRun:
        """A run again with the flow as it is at a commit; BadCommit if that does not fit what the run has done."""
        read = reader_at(folder, (await find_commit(folder, named)).sha)

        async def make_plan(inputs: Mapping[str, Any]) -> PlannedFlow:
            return await in_thread(lambda: self._files.plan_from(file, inputs, read))

        try:
            return await self._prepare(request, file, make_plan, request.from_run)
        except UnknownStep as error:
            raise BadCommit(named, f"its flow has no step {error.step!r}") from error
        except BadLog as error:
            raise BadCommit(named, f"its flow differs: {error}") from error

    async def recall(self, record: RunRecord, secrets: Mapping[str, str]) -> PreparedRun:
        """What was prepared for a run that is kept, from its record alone: it goes on with the flow it began with."""
        request = request_of(record.request, secrets)
        planned = await self._files.plan_again(request.flow, record.texts, request.inputs)
        past = await self._events_of(record.from_run) if request.only is not None and record.from_run else []
        past = await with_logs(planned.plan, past, self._store, record.from_run)
        plan, values = self._plan_and_values(planned, request, record.id, past)
        return PreparedRun(record, (), request, planned, plan, values, self._bringing(request), self._workshop(record))

    async def _prepare(
        self,
        request: RunRequest,
        file: str,
        make_plan: MakePlan,
        from_run: str | None,
        commit: CommitInfo | None = None,
    ) -> PreparedRun:
        needs_past = request.from_step is not None or request.only is not None
        if needs_past and from_run is None:
            from_run = await self._last_whole_run(file)
        past = await self._events_of(from_run) if needs_past and from_run is not None else []
        if past:
            is_graph = request.repo is None and read_target(file) is not None
            known = state_in(past) if is_graph else inputs_in(past)
            request = replace(request, inputs={**known, **request.inputs})
        planned = await make_plan(request.inputs)
        past = await with_logs(planned.plan, past, self._store, from_run)
        run = request.run_id or new_run_id()
        plan, values = self._plan_and_values(planned, request, run, past)
        if request.debug is not None:
            request = replace(request, debug=await self._debug_request(request.debug, file, plan))
        events = () if request.from_step is None else tuple(events_before(plan, past, request.from_step))
        folder = None if request.folder is None else whole_path(request.folder)
        commit = commit or await _commit_of(request.commit, folder)
        sha = None if commit is None or request.commit is None else commit.sha
        request = replace(request, flow=planned.address, folder=folder, from_run=from_run, commit=sha)
        mask = self._new_masker(request.secrets).mask_text if request.secrets else None
        record = RunRecord(
            id=run,
            flow=planned.flow.name,
            file=file,
            created_at=time.time(),
            request=kept_request(request, mask, commit),
            texts=dict(planned.texts),
            from_run=from_run,
            from_step=request.from_step,
            carried_over=len(events),
            is_partial=request.only is not None,
            priority=request.priority,
            repo=request.repo,
            ref=request.ref,
            sha=None if request.repo is None else sha,
            started_by=request.by or None,
            concurrency=await self._group_of(planned, file, values),
        )
        return PreparedRun(
            record, events, request, planned, plan, values, self._bringing(request), self._workshop(record)
        )

    async def _group_of(self, planned: PlannedFlow, file: str, values: Mapping[str, Any]) -> str | None:
        """The group of runs that the run excludes; None if it excludes none. BadExpression."""
        concurrency = planned.flow.concurrency
        if concurrency is None:
            return None
        evaluator = self._new_evaluator()
        try:
            group = await render(concurrency.group, values, evaluator)
        finally:
            await evaluator.close()
        return f"{file}: {group}"[:LONGEST_GROUP]

    def _workshop(self, record: RunRecord) -> Workshop | None:
        if record.repo is None or self._repositories is None:
            return None
        return self._repositories.workshop_of(record)

    def _bringing(self, request: RunRequest) -> BringFiles | None:
        """What fills the workspaces of a run that works on a commit."""
        if request.commit is None:
            return None
        if request.repo is not None and self._repositories is not None:
            return partial(self._repositories.check_out, request.repo, request.commit)
        if request.folder is not None:
            return partial(check_out, request.folder, request.commit)
        return None

    async def _debug_request(self, request: DebugRequest, file: str, plan: Plan) -> DebugRequest:
        """The request with the breakpoints of the flow; what is wrong with a breakpoint is raised."""
        from pitstop.plan.addresses import occurrence_in
        from pitstop.runs.flow_breakpoints import with_flow_breakpoints
        from pitstop.runs.jq_checks import check_breakpoints
        from pitstop.runs.sessions import make_session

        await check_breakpoints(request.breakpoints, self._new_evaluator)
        for each in request.breakpoints:
            occurrence_in(plan, each.step or "")  # which refuses an address that the flow cannot have
        debug = await with_flow_breakpoints(request, self._store, file, plan)
        make_session(debug)  # which refuses breakpoints that are none
        return debug

    def _plan_and_values(
        self, planned: PlannedFlow, request: RunRequest, run: str, past: Sequence[AnyEvent]
    ) -> tuple[Plan, dict[str, Any]]:
        """What is to run, and what its first step sees; the breakpoints that were asked for are looked up too."""
        plan = planned.plan if request.only is None else only_step(planned.plan, request.only)
        plan = with_end_of(plan, request.trigger) if request.only is None else plan
        plan = with_fix_of(plan, request)
        for each in () if request.debug is None else request.debug.breakpoints:
            if each.step is not None:
                paths_of(plan, each.step)  # UnknownStep
        if planned.graph is not None:
            return plan, deepcopy(dict(request.inputs))  # the state that it begins with
        about = {"id": run, "flow": planned.flow.name}
        # A copy, because the defaults of the flow may be those of other runs too
        given = {"secrets": request.secrets, "run": about, "trigger": request.trigger or {}}
        values = deepcopy(first_values(planned.flow, request.inputs, **given))
        if request.only is not None:
            values["steps"] = known_steps(planned.plan, past)
        return plan, values

    async def _last_whole_run(self, file: str) -> str | None:
        found = await self._store.find(RunFilter(file=file, limit=LOOKED_AT_RUNS))
        return next((each.id for each in found if not each.is_partial and each.started_at is not None), None)

    async def _events_of(self, run: str) -> Sequence[AnyEvent]:
        try:
            kept = await self._store.open(run)
        except UnknownRun as error:
            raise BadLog(f"cannot resume from run {run}, because it was deleted") from error
        return kept.log.read()


def fix_of(asked: FixRequest, old: RunRecord) -> FixRequest:
    """The loop with its step, which is by default the one that made the run fail, and all options; BadInputs."""
    from pydantic import ValidationError

    from pitstop.definition.forms import FixForm

    failed = next((each["step"] for each in old.failures), None)
    step = asked.step or failed
    if step is None:
        raise BadInputs([f"run {old.id} has no failed step to fix: name a step"])
    try:
        options = FixForm.model_validate(dict(asked.options)).model_dump(by_alias=True)
    except ValidationError as error:
        mistakes = error.errors(include_url=False, include_input=False)
        raise BadInputs([f"fix.{'.'.join(map(str, each['loc']))}: {each['msg']}" for each in mistakes]) from None
    return FixRequest(step=step, options=options)


def with_fix_of(plan: Plan, request: RunRequest) -> Plan:
    """The plan with the fix loop that was asked for."""
    if request.fix is None or request.fix.step is None:
        return plan
    return with_fix_loop(plan, request.fix.step, request.fix.options)


def with_end_of(plan: Plan, trigger: Mapping[str, Any] | None) -> Plan:
    """The plan with what the trigger wants to follow when the run passes."""
    into = (trigger or {}).get(MERGE_INTO)
    return plan if into is None else with_merge_at_end(plan, into)


async def _commit_of(asked: str | None, folder: str | None) -> CommitInfo | None:
    """The commit that a run is of: the one that was asked for, or the one that its folder is at; BadCommit."""
    if asked is None:
        return None if folder is None else await commit_in(folder)
    if folder is None:
        raise BadCommit(asked, "the run was not in a git repository")
    return await find_commit(folder, asked)


def address_of(flow: str) -> str:
    """What the runs of a flow file or a graph are found by, from wherever it is named."""
    target = read_target(flow)
    return whole_path(flow) if target is None else str(target)


def whole_path(path: str) -> str:
    """The path, from wherever it is looked at."""
    return str(Path(path).resolve())
