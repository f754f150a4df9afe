"""Repositories: taking them in, looking into them, their flows, and what was pushed to them."""

from typing import Annotated

from fastapi import APIRouter, Path, Query
from starlette.responses import Response

from pitstop.doors.http.answers import answer, problem_responses
from pitstop.doors.http.routes.parameters import PLAIN, Cursor, FlowName, IdempotencyKey, Plain, Ref, RepoId, Who
from pitstop.doors.http.routes.route import API, api_router
from pitstop.service.repos import (
    BranchPage,
    CommitPage,
    Diff,
    FileContent,
    FiringInfo,
    FiringPage,
    Folder,
    Patch,
    PushPage,
    RepoFlowInfo,
    RepoFlowText,
    RepoInfo,
    Repos,
    Triggers,
    Written,
)
from pitstop.service.wire import (
    BranchesForm,
    FireForm,
    LandingForm,
    NewRepoForm,
    RepoChangesForm,
    SwitchForm,
    WriteForm,
)

Commit = Annotated[str, Query(min_length=1, max_length=500, pattern=PLAIN, description="A branch, tag or commit.")]
FilePath = Annotated[str, Query(max_length=4096, pattern=PLAIN)]
PageLimit = Annotated[int, Query(ge=1, le=100)]
FiringId = Annotated[int, Path(ge=1, lt=2**53)]

_KNOWN = problem_responses(404)
_READ = problem_responses(404, 409)
_CHANGED = problem_responses(404, 409)


def routes(repos: Repos) -> APIRouter:
    router = api_router("/repos", "repositories")
    _add_life(router, repos)
    _add_reading(router, repos)
    return router


def _add_life(router: APIRouter, repos: Repos) -> None:
    @router.get("", response_model=list[RepoInfo])
    async def list_repos(caller: Who) -> Response:
        """List the repositories."""
        return answer(await repos.list(caller))

    @router.post("", status_code=201, response_model=RepoInfo, responses=problem_responses(409))
    async def create_repo(caller: Who, form: NewRepoForm, key: IdempotencyKey = None) -> Response:
        """Create an empty repository."""
        created = await repos.create(caller, form.to_request())
        return answer(created, 201, Location=f"{API}/repos/{created.id}")

    @router.get("/{repo}", response_model=RepoInfo, responses=_KNOWN)
    async def get_repo(caller: Who, repo: RepoId) -> Response:
        """Get a repository."""
        return answer(await repos.get(caller, repo))

    @router.patch("/{repo}", response_model=RepoInfo, responses=_CHANGED)
    async def update_repo(caller: Who, repo: RepoId, form: RepoChangesForm) -> Response:
        """Change the settings of a repository."""
        return answer(await repos.update(caller, repo, form.to_request()))

    @router.delete("/{repo}", status_code=204, responses=_CHANGED)
    async def delete_repo(caller: Who, repo: RepoId) -> Response:
        """Delete a repository. Its runs are kept."""
        await repos.delete(caller, repo)
        return Response(status_code=204)

    @router.post("/{repo}/ingested", response_model=RepoInfo, responses=_CHANGED)
    async def finish_ingest(caller: Who, repo: RepoId) -> Response:
        """Let pushes start flows from now on."""
        return answer(await repos.finish_ingest(caller, repo))

    @router.post("/{repo}/landings", status_code=204, responses=_KNOWN)
    async def land(caller: Who, repo: RepoId, form: LandingForm) -> Response:
        """Report that a branch was pushed to its remote."""
        await repos.note_landing(caller, repo, form.branch, form.sha, form.remote)
        return Response(status_code=204)

    @router.post("/{repo}/branches/delete", status_code=204, responses=_CHANGED)
    async def delete_branches(caller: Who, repo: RepoId, form: BranchesForm) -> Response:
        """Delete branches: all, or none if one has moved."""
        await repos.delete_branches(caller, repo, form.branches)
        return Response(status_code=204)

    @router.put("/{repo}/file", response_model=Written, responses=_CHANGED)
    async def write_file(caller: Who, repo: RepoId, form: WriteForm) -> Response:
        """Write or delete a file, as one commit on a branch."""
        given = caller, repo, form.branch, form.path, form.text
        return answer(await repos.write(*given, expect=form.expect, message=form.message))


def _add_reading(router: APIRouter, repos: Repos) -> None:
    @router.get("/{repo}/branches", response_model=BranchPage, responses=_READ)
    async def list_branches(caller: Who, repo: RepoId, cursor: Cursor = None, limit: PageLimit = 50) -> Response:
        """List the branches, newest first."""
        return answer(await repos.branches(caller, repo, cursor, limit))

    @router.get("/{repo}/tree", response_model=Folder, responses=_READ)
    async def get_tree(caller: Who, repo: RepoId, ref: Ref = None, path: FilePath = "") -> Response:
        """List a folder."""
        return answer(await repos.tree(caller, repo, ref, path))

    @router.get("/{repo}/file", response_model=FileContent, responses=_READ)
    async def get_file(caller: Who, repo: RepoId, path: FilePath, ref: Ref = None) -> Response:
        """Get the text of a file."""
        return answer(await repos.file(caller, repo, path, ref))

    @router.get("/{repo}/commits", response_model=CommitPage, responses=_READ)
    async def list_commits(
        caller: Who, repo: RepoId, ref: Ref = None, path: Plain = None, cursor: Cursor = None, limit: PageLimit = 50
    ) -> Response:
        """List commits, newest first."""
        return answer(await repos.commits(caller, repo, ref, path, cursor, limit))

    @router.get("/{repo}/diff", response_model=Diff, responses=_READ)
    async def get_commit_diff(caller: Who, repo: RepoId, base: Commit, head: Commit) -> Response:
        """List the files that the head changes."""
        return answer(await repos.diff(caller, repo, base, head))

    @router.get("/{repo}/patch", response_model=Patch, responses=_READ)
    async def get_patch(caller: Who, repo: RepoId, base: Commit, head: Commit, path: FilePath) -> Response:
        """Get what the head changes in a file."""
        return answer(await repos.patch(caller, repo, base, head, path))

    @router.get("/{repo}/pushes", response_model=PushPage, responses=_KNOWN)
    async def list_pushes(caller: Who, repo: RepoId, cursor: Cursor = None, limit: PageLimit = 50) -> Response:
        """List pushes, newest first, with what each flow made of them."""
        return answer(await repos.pushes(caller, repo, cursor, limit))


def flow_routes(triggers: Triggers) -> APIRouter:
    router = api_router("/repos/{repo}", "triggers")

    @router.get("/flows", response_model=list[RepoFlowInfo], responses=_READ)
    async def list_repo_flows(caller: Who, repo: RepoId, ref: Ref = None) -> Response:
        """List the flows of a repository."""
        return answer(await triggers.flows(caller, repo, ref))

    @router.post("/flows/{flow:path}/fire", status_code=201, response_model=FiringInfo, responses=_CHANGED)
    async def fire_flow(
        caller: Who, repo: RepoId, flow: FlowName, form: FireForm, key: IdempotencyKey = None
    ) -> Response:
        """Start a flow of a repository."""
        return answer(await triggers.fire(caller, repo, flow, form.ref, form.inputs), 201)

    @router.put("/flows/{flow:path}/enabled", response_model=RepoInfo, responses=_CHANGED)
    async def switch_flow(caller: Who, repo: RepoId, flow: FlowName, form: SwitchForm) -> Response:
        """Enable or disable a flow, without a commit."""
        return answer(await triggers.set_enabled(caller, repo, [flow], enabled=form.enabled))

    @router.get("/flows/{flow:path}", response_model=RepoFlowText, responses=_READ)
    async def get_repo_flow(caller: Who, repo: RepoId, flow: FlowName, ref: Ref = None) -> Response:
        """Get a flow of a repository."""
        return answer(await triggers.flow(caller, repo, flow, ref))

    @router.get("/firings", response_model=FiringPage, responses=_KNOWN)
    async def list_firings(
        caller: Who, repo: RepoId, flow: Plain = None, cursor: Cursor = None, limit: PageLimit = 50
    ) -> Response:
        """List what triggers did, newest first."""
        return answer(await triggers.firings(caller, repo, flow, cursor, limit))

    @router.post("/firings/{firing}/again", status_code=201, response_model=FiringInfo, responses=_CHANGED)
    async def fire_again(caller: Who, repo: RepoId, firing: FiringId, key: IdempotencyKey = None) -> Response:
        """Start the flow of a firing again."""
        return answer(await triggers.fire_again(caller, repo, firing), 201)

    return router
