"""The playground: trials of agents, what they changed, and the branches that results were saved to."""

from typing import Annotated

from fastapi import APIRouter, Path, Query
from msgspec.structs import replace
from starlette.responses import Response

from pitstop.doors.http.answers import answer, problem_responses
from pitstop.doors.http.routes.parameters import PLAIN, Cursor, IdempotencyKey, RepoId, ReservedRunId, Who
from pitstop.doors.http.routes.repos import FilePath
from pitstop.doors.http.routes.route import API, api_router
from pitstop.service.cards import CardInfo
from pitstop.service.playground import Comparison, Diff, Patch, Playground, TrialBranch, TrialInfo, TrialPage
from pitstop.service.playground_forms import CardOfTrialForm, NewTrialForm, SaveForm

_EXAMPLE = "t-20260131-120000-0123456789"
TrialId = Annotated[str, Path(max_length=90, pattern=PLAIN, description="The trial.", examples=[_EXAMPLE])]
AnyTrial = Annotated[str, Query(max_length=90, pattern=PLAIN, examples=[_EXAMPLE])]
AnyRepo = Annotated[str | None, Query(max_length=64, pattern=PLAIN, description="Only those of this repository.")]

_KNOWN = problem_responses(404)
_READ = problem_responses(404, 409)
_CREATED = problem_responses(404, 409, 429)


def routes(playground: Playground) -> APIRouter:
    router = api_router("", "playground")
    _add_reading(router, playground)
    _add_life(router, playground)
    return router


def _add_reading(router: APIRouter, playground: Playground) -> None:
    @router.get("/trials", response_model=TrialPage, responses=_KNOWN)
    async def list_trials(
        caller: Who, repo: AnyRepo = None, cursor: Cursor = None, limit: Annotated[int, Query(ge=1, le=100)] = 50
    ) -> Response:
        """List trials, newest first, with the first 500 characters of their prompts."""
        return answer(await playground.list(caller, repo, cursor, limit))

    @router.get("/trials/compare", response_model=Comparison, responses=_READ)
    async def compare_trials(caller: Who, a: AnyTrial, b: AnyTrial) -> Response:
        """Compare two trials of a repository."""
        return answer(await playground.compare(caller, a, b))

    @router.get("/trials/{trial}", response_model=TrialInfo, responses=_KNOWN)
    async def get_trial(caller: Who, trial: TrialId) -> Response:
        """Get a trial."""
        return answer(await playground.get(caller, trial))

    @router.get("/trials/{trial}/diff", response_model=Diff, responses=_READ)
    async def get_trial_diff(caller: Who, trial: TrialId) -> Response:
        """List the files that a trial changed."""
        return answer(await playground.diff(caller, trial))

    @router.get("/trials/{trial}/patch", response_model=Patch, responses=_READ)
    async def get_trial_patch(caller: Who, trial: TrialId, path: FilePath) -> Response:
        """Get what a trial changed in a file."""
        return answer(await playground.patch(caller, trial, path))

    @router.get("/repos/{repo}/trial-branches", response_model=list[TrialBranch], responses=_READ)
    async def list_trial_branches(caller: Who, repo: RepoId) -> Response:
        """List the branches that results of trials were saved to, newest first."""
        return answer(await playground.branches(caller, repo))


def _add_life(router: APIRouter, playground: Playground) -> None:
    @router.post("/trials", status_code=201, response_model=list[TrialInfo], responses=_CREATED)
    async def create_trials(
        caller: Who, form: NewTrialForm, run_id: ReservedRunId, key: IdempotencyKey = None
    ) -> Response:
        """Try a prompt: start a trial for each agent."""
        created = await playground.create(caller, replace(form.to_request(), group=_group_of(run_id)))
        return answer(created, 201, Location=f"{API}/trials/{created[0].id}")

    @router.post("/trials/{trial}/cancel", response_model=TrialInfo, responses=_READ)
    async def cancel_trial(caller: Who, trial: TrialId) -> Response:
        """End the run of a trial."""
        return answer(await playground.cancel(caller, trial))

    @router.post("/trials/{trial}/save", response_model=TrialInfo, responses=_READ)
    async def save_trial(caller: Who, trial: TrialId, form: SaveForm, key: IdempotencyKey = None) -> Response:
        """Save the result of a trial to a new branch `agent-test/<name>-NNN`."""
        return answer(await playground.save(caller, trial, form.name))

    @router.post("/trials/{trial}/again", status_code=201, response_model=TrialInfo, responses=_CREATED)
    async def repeat_trial(caller: Who, trial: TrialId, run_id: ReservedRunId, key: IdempotencyKey = None) -> Response:
        """Start a new trial with the same settings."""
        made = await playground.again(caller, trial, _group_of(run_id))
        return answer(made, 201, Location=f"{API}/trials/{made.id}")

    @router.post("/trials/{trial}/card", status_code=201, response_model=CardInfo, responses=_READ)
    async def create_card_of_trial(
        caller: Who, trial: TrialId, form: CardOfTrialForm, key: IdempotencyKey = None
    ) -> Response:
        """Create a card for the agent and the prompt of a trial, in review with its result if there is one."""
        card = await playground.make_card(caller, trial, form.title)
        return answer(card, 201, Location=f"{API}/cards/{card.id}")

    @router.delete("/trials/{trial}", status_code=204, responses=_READ)
    async def delete_trial(caller: Who, trial: TrialId) -> Response:
        """Delete a trial that has ended, with its result."""
        await playground.delete(caller, trial)
        return Response(status_code=204)


def _group_of(reserved: str | None) -> str | None:
    """The group of trials for the id that is stored with an idempotency key."""
    return None if reserved is None else f"g-{reserved}"
