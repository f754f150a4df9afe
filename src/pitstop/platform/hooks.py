"""Webhooks: what is delivered to one is checked, stored, and starts the flows that want it."""

from collections.abc import Callable, Mapping
from typing import Any

from msgspec import Struct

from pitstop.engine.ports import Clock, Evaluator
from pitstop.engine.threads import in_thread
from pitstop.errors import BadRequest, BadSignature, PitstopError, UnknownHook
from pitstop.git.bare import BareRepository
from pitstop.plan.expressions import condition_text
from pitstop.platform.hook_values import Delivered, HookRecord, NewDelivery, shown_headers
from pitstop.platform.lives import FiringOutcome
from pitstop.platform.open_repos import OpenRepos
from pitstop.platform.repo_info import firing_info
from pitstop.platform.repo_values import BRANCHES, FiringRecord, IndexedFlow, RepoRecord
from pitstop.platform.stored.firings import NewFiring
from pitstop.platform.stored.hooks import StoredHooks
from pitstop.platform.stored.pushes import StoredPushes
from pitstop.platform.stored.repos import StoredRepos
from pitstop.platform.triggers.matching import NoMatch, judge_webhook
from pitstop.platform.triggers.webhooks import Delivery, is_ping, read_delivery, sign
from pitstop.runs.run_ids import new_run_id

STORED_BODY_BYTES = 1024 * 1024

Unseal = Callable[[bytes], str]


class HookReceiver:
    """Takes deliveries. `unseal` opens the secret of a webhook."""

    def __init__(
        self,
        repos: StoredRepos,
        pushes: StoredPushes,
        hooks: StoredHooks,
        opened: OpenRepos,
        new_evaluator: Callable[[], Evaluator],
        clock: Clock,
        unseal: Unseal,
    ) -> None:
        self._repos = repos
        self._pushes = pushes
        self._hooks = hooks
        self._opened = opened
        self._new_evaluator = new_evaluator
        self._clock = clock
        self._unseal = unseal

    async def receive(self, hook: str, headers: Mapping[str, str], body: bytes) -> Delivered:
        """Check a delivery and store it with what follows; UnknownHook, BadSignature, BadRequest, RepoElsewhere.

        One that is signed wrongly is stored without its body.
        """
        record = await self._hooks.get(hook)
        if not record.enabled:
            raise UnknownHook(hook)
        secret, now = self._unseal(record.sealed_secret), self._clock.now()
        try:
            delivery = await in_thread(lambda: read_delivery(record.provider, headers, body, secret, now))
        except (BadSignature, BadRequest) as error:
            status = 401 if isinstance(error, BadSignature) else 422
            await self._store(record, headers, None, len(body), status, str(error))
            raise
        return await self._take(record, headers, body, delivery)

    async def _take(
        self, record: HookRecord, headers: Mapping[str, str], body: bytes, delivery: Delivery, *, is_again: bool = False
    ) -> Delivered:
        """Store a delivery whose signature was checked, and what each flow makes of it."""
        if is_ping(record.provider, delivery.event):
            await self._store(record, headers, delivery, len(body), 200, "ping", body)
            return Delivered(delivery.delivery_id, is_ping=True)
        firings = await self._decide(record, delivery, is_again)
        stored = await self._store(record, headers, delivery, len(body), 202, None, body, firings)
        return Delivered(delivery.delivery_id, tuple(map(firing_info, stored)))

    async def _store(
        self,
        record: HookRecord,
        headers: Mapping[str, str],
        delivery: Delivery | None,
        size: int,
        status: int,
        reason: str | None,
        body: bytes | None = None,
        firings: tuple[NewFiring, ...] = (),
    ) -> tuple[FiringRecord, ...]:
        new = NewDelivery(
            hook=record.id,
            repo=record.repo,
            event="" if delivery is None else delivery.event,
            delivery="" if delivery is None else delivery.delivery_id,
            status=status,
            headers=shown_headers(headers),
            size=size,
            body=body if body is not None and size <= STORED_BODY_BYTES else None,
            reason=reason,
        )
        return await self._hooks.store(new, firings)

    async def repeat(self, record: HookRecord, delivery: int) -> Delivered:
        """Take a stored delivery again, whatever was started by it before; BadRequest when its body is not stored."""
        old = await self._hooks.delivered(record.id, delivery)
        if old.body is None:
            raise BadRequest(f"delivery {delivery} cannot be repeated, because its body was not stored")
        body, secret, now = old.body, self._unseal(record.sealed_secret), self._clock.now()
        headers = {**old.headers, **sign(record.provider, secret, body, now)}
        read = await in_thread(lambda: read_delivery(record.provider, headers, body, secret, now))
        return await self._take(record, old.headers, body, read, is_again=True)

    async def _decide(self, record: HookRecord, delivery: Delivery, is_again: bool) -> tuple[NewFiring, ...]:
        """What each flow with a webhook trigger on the default branch makes of a delivery."""
        repo = await self._repos.get(record.repo)
        flows = await self._pushes.flows_at(repo.id, BRANCHES + repo.default_branch)
        judging = _Judging(repo, record, delivery, is_again, (await self._opened.ready(repo)).bare)
        if record.flow is not None and not any(flow.name == record.flow for flow in flows):
            missing = IndexedFlow(name=record.flow, path="", blob="", title=record.flow)
            return (judging.firing(missing, "refused", f"{repo.default_branch} has no flow {record.flow!r}"),)
        asked = [flow for flow in flows if record.flow in (None, flow.name) and is_asked(flow)]
        evaluator = self._new_evaluator()
        try:
            return tuple([await judging.judge(flow, evaluator) for flow in asked])
        finally:
            await evaluator.close()


def is_asked(flow: IndexedFlow) -> bool:
    """Whether a flow has a webhook trigger, or is broken, so that its triggers are unknown."""
    return "webhook" in flow.triggers or bool(flow.problems)


class _Judging(Struct, frozen=True):
    """One delivery, as the flows look at it."""

    repo: RepoRecord
    hook: HookRecord
    delivery: Delivery
    is_again: bool
    bare: BareRepository

    @property
    def subject(self) -> dict[str, Any]:
        """What the run sees as `.trigger`, and the jq of the trigger as its input."""
        delivery = self.delivery
        return {
            "kind": "webhook",
            "repo": self.repo.id,
            "provider": self.hook.provider,
            "event": delivery.event,
            "ref": delivery.ref,
            "branch": delivery.branch,
            "sha": delivery.sha,
            "before": delivery.before,
            "who": delivery.who,
            "payload": delivery.payload,
        }

    async def judge(self, flow: IndexedFlow, evaluator: Evaluator) -> NewFiring:
        if flow.problems:
            first = flow.problems[0]
            return self.firing(flow, "refused", f"the flow file has errors: {first.file}:{first.line}: {first.message}")
        if flow.name in self.repo.settings.disabled_flows:
            return self.firing(flow, "skipped", "the flow is disabled in the settings of the repository")
        trigger = flow.triggers["webhook"] or {}
        verdict = judge_webhook(trigger, self.hook.provider, self.delivery.event)
        if isinstance(verdict, NoMatch):
            return self.firing(flow, "skipped", verdict.reason)
        try:
            condition, subject = trigger.get("if"), self.subject
            if condition and await _value_of(condition, subject, evaluator) in (None, False):
                return self.firing(flow, "skipped", f"`if: {condition}` is not true")
            wanted = (trigger.get("inputs") or {}).items()
            inputs = {name: await _value_of(expression, subject, evaluator) for name, expression in wanted}
            sha = await self.bare.resolve(self.repo.default_branch)
        except PitstopError as error:
            return self.firing(flow, "refused", str(error))
        return self.firing(flow, "pending", inputs=inputs, sha=sha)

    def firing(
        self,
        flow: IndexedFlow,
        outcome: FiringOutcome,
        reason: str | None = None,
        inputs: Mapping[str, Any] | None = None,
        sha: str | None = None,
    ) -> NewFiring:
        is_pending = outcome == "pending"
        subject = {**self.subject, "inputs": dict(inputs or {})}
        key = f"webhook:{self.hook.id}:{self.delivery.delivery_id}:{flow.name}"
        return NewFiring(
            repo=self.repo.id,
            flow=flow.name,
            kind="webhook",
            outcome=outcome,
            who=self.delivery.who or "",
            subject=subject if is_pending else {**subject, "payload": None},
            key=key if is_pending and not self.is_again else None,
            ref=self.repo.default_branch,
            sha=sha,
            reason=reason,
            run=new_run_id() if is_pending else None,
        )


async def _value_of(expression: str, subject: Mapping[str, Any], evaluator: Evaluator) -> Any:
    """The first value that some jq gives; None if it gives none. BadExpression."""
    found = await evaluator.evaluate(condition_text(expression), subject)
    return found[0] if found else None
