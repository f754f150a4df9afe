"""The desk for the flows of repositories and what starts them, over the workshop of this server."""

from collections.abc import Mapping, Sequence
from typing import Any

from msgspec.structs import asdict

from pitstop.engine.ports import Clock
from pitstop.errors import FlowDisabled, Unknown, UnknownFlow
from pitstop.platform.repo_info import firing_info
from pitstop.platform.repo_values import IndexedFlow, RepoRecord
from pitstop.platform.scheduling import times_of
from pitstop.platform.stored.firings import NewFiring
from pitstop.platform.workshop import Workshop, default_ref
from pitstop.runs.run_ids import new_run_id
from pitstop.service.caller import Caller, Record
from pitstop.service.local.repos import RepoDesk, number_in
from pitstop.service.repos import FiringInfo, FiringPage, RepoChanges, RepoFlowInfo, RepoFlowText, RepoInfo


class TriggerDesk:
    """The Triggers of this server."""

    def __init__(self, workshop: Workshop, repos: RepoDesk, clock: Clock, record: Record) -> None:
        self._workshop = workshop
        self._repos = repos
        self._clock = clock
        self._record = record

    async def flows(self, caller: Caller, repo: str, ref: str | None = None) -> tuple[RepoFlowInfo, ...]:
        record = await self._workshop.repos.get(repo)
        if ref is None or ref == record.default_branch:
            found = await self._workshop.pushes.flows_at(repo, default_ref(record))
        else:
            opened = await self._workshop.opened.ready(record)
            found = await self._workshop.index.flows(opened.reader, await opened.bare.resolve(ref))
        return tuple(RepoFlowInfo(**self._shown(record, flow)) for flow in found)

    async def flow(self, caller: Caller, repo: str, flow: str, ref: str | None = None) -> RepoFlowText:
        record = await self._workshop.repos.get(repo)
        opened = await self._workshop.opened.ready(record)
        sha = await opened.bare.resolve(ref or record.default_branch)
        found = next((each for each in await self._workshop.index.flows(opened.reader, sha) if each.name == flow), None)
        if found is None:
            raise UnknownFlow(f"{repo}:{flow}")
        content = await opened.reader.file(sha, found.path)
        return RepoFlowText(**self._shown(record, found), sha=sha, text=content.text or "")

    def _shown(self, record: RepoRecord, flow: IndexedFlow) -> dict[str, Any]:
        fields = {name: value for name, value in asdict(flow).items() if name != "blob"}
        fields["is_enabled"] = flow.name not in record.settings.disabled_flows
        return fields | {"next_times": times_of(flow, self._clock.now())}

    async def fire(
        self, caller: Caller, repo: str, flow: str, ref: str | None = None, inputs: Mapping[str, Any] | None = None
    ) -> FiringInfo:
        caller.require("operator")
        record = await self._workshop.repos.get(repo)
        found = await self._workshop.flows.flow(repo, flow, ref, None)
        if flow in record.settings.disabled_flows:
            raise FlowDisabled(repo, flow)
        subject = {
            "kind": "manual",
            "repo": repo,
            "branch": found.ref,
            "sha": found.commit.sha,
            "who": caller.name,
            "inputs": dict(inputs or {}),
        }
        firing = NewFiring(
            repo=repo,
            flow=flow,
            kind="manual",
            outcome="pending",
            who=caller.name,
            subject=subject,
            key=None if caller.key is None else f"manual:{caller.name}:{caller.key}",
            ref=found.ref,
            sha=found.commit.sha,
            run=new_run_id(),
        )
        return await self._start(caller, firing, "fire_flow")

    async def fire_again(self, caller: Caller, repo: str, firing: int) -> FiringInfo:
        caller.require("operator")
        old = await self._workshop.firings.get(firing)
        if old is None or old.repo != repo:
            raise Unknown("firing", str(firing))
        again = NewFiring(
            repo=repo,
            flow=old.flow,
            kind=old.kind,
            outcome="pending",
            who=caller.name,
            subject=dict(old.subject),
            ref=old.ref,
            sha=old.sha,
            run=new_run_id(),
            depth=old.depth,
        )
        return await self._start(caller, again, "fire_again", old.push)

    async def _start(self, caller: Caller, firing: NewFiring, operation: str, push: int | None = None) -> FiringInfo:
        stored = await self._workshop.fire(firing, push)
        await self._record(caller, operation, stored.run, {"flow": firing.flow}, {"repo": firing.repo})
        return firing_info(stored)

    async def firings(
        self, caller: Caller, repo: str, flow: str | None = None, cursor: str | None = None, limit: int = 50
    ) -> FiringPage:
        await self._workshop.repos.get(repo)
        before = None if cursor is None else number_in(cursor)
        found = await self._workshop.firings.newest(repo, flow=flow, before=before, limit=limit + 1)
        shown = found[:limit]
        return FiringPage(tuple(map(firing_info, shown)), str(shown[-1].id) if len(found) > limit else None)

    async def set_enabled(self, caller: Caller, repo: str, flows: Sequence[str], *, enabled: bool) -> RepoInfo:
        record = await self._workshop.repos.get(repo)
        disabled = {*record.settings.disabled_flows}
        disabled = disabled - {*flows} if enabled else disabled | {*flows}
        return await self._repos.update(caller, repo, RepoChanges(disabled_flows=tuple(sorted(disabled))))
