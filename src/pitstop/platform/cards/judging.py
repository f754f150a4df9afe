"""Which flows judge a card: those of the default branch with a `card_complete` trigger, which no card can change."""

from collections.abc import Mapping, Sequence
from typing import Any

from pitstop.errors import TooDeep
from pitstop.platform.cards.card_values import CardRecord
from pitstop.platform.lives import CardStatus, FiringOutcome
from pitstop.platform.push_events import MOST_DEPTH
from pitstop.platform.repo_values import IndexedFlow, RepoRecord
from pitstop.platform.stored.firings import NewFiring
from pitstop.runs.run_ids import new_run_id
from pitstop.runs.run_maker import MERGE_INTO


def facts_of(card: CardRecord, status: CardStatus) -> dict[str, Any]:
    """What a run sees of a card, as `.trigger.card`."""
    return {
        "id": card.id,
        "number": card.number,
        "title": card.title,
        "description": card.description,
        "status": status,
        "labels": list(card.labels),
        "base": card.base,
        "branch": card.branch,
        "attempt": card.attempt,
        "agent": card.work.agent,
    }


def judge_firings(
    repo: RepoRecord,
    card: CardRecord,
    status: CardStatus,
    sha: str,
    flows: Sequence[IndexedFlow],
    flow_sha: str,
    depth: int,
) -> tuple[NewFiring, ...]:
    """What each flow makes of a card that has got a status at a commit; `flow_sha` is where the flows were read.

    What a broken flow wants is not known: it is refused.
    """
    found = []
    for flow in flows:
        trigger = flow.triggers.get("card_complete")
        is_wanted = trigger is not None and trigger.get("status", "in_review") == status
        if not is_wanted and not flow.problems:
            continue
        firing = _firing(repo, card, status, sha, flow, trigger or {}, flow_sha, depth)
        found.append(firing)
    return tuple(found)


def _firing(
    repo: RepoRecord,
    card: CardRecord,
    status: CardStatus,
    sha: str,
    flow: IndexedFlow,
    trigger: Mapping[str, Any],
    flow_sha: str,
    depth: int,
) -> NewFiring:
    outcome, reason = _verdict(repo, card, flow, trigger, depth)
    is_pending = outcome == "pending"
    subject: dict[str, Any] = {
        "kind": "card_complete",
        "repo": repo.id,
        "ref": f"refs/heads/{card.branch}",
        "branch": card.branch,
        "sha": sha,
        "who": card.by,
        "card": facts_of(card, status),
        "flow_sha": flow_sha,
        "on_fail": trigger.get("on_fail", "nothing"),
    }
    if trigger.get("on_pass") == "merge" and status == "in_review":
        subject[MERGE_INTO] = card.base
    return NewFiring(
        repo=repo.id,
        flow=flow.name,
        kind="card_complete",
        outcome=outcome,
        who=card.by,
        subject=subject,
        key=f"card:{card.id}:{flow.name}:{sha}:{card.attempt}" if is_pending else None,
        ref=card.branch,
        sha=sha,
        reason=reason,
        run=new_run_id() if is_pending else None,
        depth=depth,
        card=card.id,
    )


def _verdict(
    repo: RepoRecord, card: CardRecord, flow: IndexedFlow, trigger: Mapping[str, Any], depth: int
) -> tuple[FiringOutcome, str | None]:
    if flow.problems:
        first = flow.problems[0]
        return "refused", f"the flow file has errors: {first.file}:{first.line}: {first.message}"
    if flow.name in repo.settings.disabled_flows:
        return "skipped", "the flow is disabled in the settings of the repository"
    if not trigger.get("enabled", True):
        return "skipped", "the trigger is disabled in the flow file"
    wanted = trigger.get("labels") or ()
    if wanted and not set(wanted) & set(card.labels):
        return "skipped", f"the card has none of the labels {', '.join(wanted)}"
    if depth > MOST_DEPTH:
        return "refused", str(TooDeep(flow.name, MOST_DEPTH))
    return "pending", None
