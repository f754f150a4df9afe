"""Webhooks of a repository, and what was delivered to them."""

from typing import Annotated

from fastapi import APIRouter, Path
from starlette.responses import Response

from pitstop.doors.http.answers import answer, problem_responses
from pitstop.doors.http.routes.parameters import IdempotencyKey, RepoId, Who
from pitstop.doors.http.routes.route import api_router
from pitstop.service.hooks import Delivered, DeliveryInfo, HookInfo, Hooks
from pitstop.service.wire import HookForm, SwitchForm

HookId = Annotated[str, Path(max_length=64, pattern="^[A-Za-z0-9_-]+$")]
DeliveryId = Annotated[int, Path(ge=1, lt=2**53)]

_KNOWN = problem_responses(404)
_CHANGED = problem_responses(404, 409)


def routes(hooks: Hooks) -> APIRouter:
    router = api_router("/repos/{repo}/hooks", "webhooks")

    @router.get("", response_model=list[HookInfo], responses=_KNOWN)
    async def list_hooks(caller: Who, repo: RepoId) -> Response:
        """List the webhooks of a repository."""
        return answer(await hooks.list(caller, repo))

    @router.post("", status_code=201, response_model=HookInfo, responses=_CHANGED)
    async def add_hook(caller: Who, repo: RepoId, form: HookForm) -> Response:
        """Create a webhook; its secret is shown only once."""
        return answer(await hooks.add(caller, repo, form.provider, form.flow), 201)

    @router.put("/{hook}/enabled", response_model=HookInfo, responses=_KNOWN)
    async def switch_hook(caller: Who, repo: RepoId, hook: HookId, form: SwitchForm) -> Response:
        """Enable or disable a webhook."""
        return answer(await hooks.set_enabled(caller, repo, hook, enabled=form.enabled))

    @router.delete("/{hook}", status_code=204, responses=_KNOWN)
    async def remove_hook(caller: Who, repo: RepoId, hook: HookId) -> Response:
        """Remove a webhook."""
        await hooks.remove(caller, repo, hook)
        return Response(status_code=204)

    @router.get("/{hook}/deliveries", response_model=list[DeliveryInfo], responses=_KNOWN)
    async def list_deliveries(caller: Who, repo: RepoId, hook: HookId) -> Response:
        """List the last 50 deliveries, newest first."""
        return answer(await hooks.deliveries(caller, repo, hook))

    @router.post("/{hook}/deliveries/{delivery}/again", response_model=Delivered, responses=_CHANGED)
    async def deliver_again(
        caller: Who, repo: RepoId, hook: HookId, delivery: DeliveryId, key: IdempotencyKey = None
    ) -> Response:
        """Deliver again, whatever it has started before."""
        return answer(await hooks.deliver_again(caller, repo, hook, delivery))

    return router
