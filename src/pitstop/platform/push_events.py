"""A push as triggers look at it, and what each flow makes of it."""

from collections.abc import Sequence
from typing import Any

from msgspec import Struct

from pitstop.errors import TooDeep
from pitstop.git.bare import BareRepository
from pitstop.git.names import ZEROS
from pitstop.git.ref_values import RefValue
from pitstop.platform.lives import FiringOutcome
from pitstop.platform.repo_values import BRANCHES, TAGS, IndexedFlow, RepoRecord, Via, branch_of, short_ref
from pitstop.platform.stored.firings import NewFiring
from pitstop.platform.triggers.matching import NoMatch, PushSeen, judge_push
from pitstop.runs.run_ids import new_run_id
from pitstop.runs.run_maker import MERGE_INTO

MOST_DEPTH = 8  # of runs that start each other


class PushEvent(Struct, frozen=True, kw_only=True):
    """A move of a branch or tag to a commit; `old` is None for a new one."""

    repo: RepoRecord
    ref: str
    old: str | None
    sha: str
    who: str
    via: Via
    is_forced: bool
    message: str

    @property
    def tag(self) -> str | None:
        return self.ref.removeprefix(TAGS) if self.ref.startswith(TAGS) else None

    @property
    def subject(self) -> dict[str, Any]:
        """What the run sees as `.trigger`."""
        return {
            "kind": "push",
            "repo": self.repo.id,
            "ref": self.ref,
            "branch": branch_of(self.ref),
            "tag": self.tag,
            "sha": self.sha,
            "before": self.old,
            "who": self.who,
            "via": self.via,
            "message": self.message.partition("\n")[0],
            "is_forced": self.is_forced,
        }

    def firing(self, flow: IndexedFlow, outcome: FiringOutcome, reason: str | None = None, depth: int = 0) -> NewFiring:
        is_pending = outcome == "pending"
        default = self.repo.default_branch
        is_merged = (flow.triggers.get("push") or {}).get("on_pass") == "merge" and branch_of(self.ref) != default
        return NewFiring(
            repo=self.repo.id,
            flow=flow.name,
            kind="push",
            outcome=outcome,
            who=self.who,
            subject={**self.subject, MERGE_INTO: default} if is_merged and self.tag is None else self.subject,
            key=f"push:{self.repo.id}:{flow.name}:{self.ref}:{self.sha}" if is_pending else None,
            ref=short_ref(self.ref),
            sha=self.sha,
            reason=reason,
            run=new_run_id() if is_pending else None,
            depth=depth,
        )


async def decide(
    bare: BareRepository, event: PushEvent, flows: Sequence[IndexedFlow], depth: int, default: RefValue | None
) -> tuple[NewFiring, ...]:
    """What each flow with a push trigger makes of the event. What a broken one wants is not known: it is refused."""
    has_paths = any((flow.triggers.get("push") or {}).get("paths") for flow in flows)
    paths = await _changed_paths(bare, event, default) if has_paths else None
    found = (_judge(event, flow, paths, depth) for flow in flows)
    return tuple(each for each in found if each is not None)


def _judge(event: PushEvent, flow: IndexedFlow, paths: tuple[str, ...] | None, depth: int) -> NewFiring | None:
    if flow.problems:
        first = flow.problems[0]
        reason = f"the flow file has errors: {first.file}:{first.line}: {first.message}"
        return event.firing(flow, "refused", reason)
    on_push = flow.triggers.get("push")
    if on_push is None:
        return None
    if flow.name in event.repo.settings.disabled_flows:
        return event.firing(flow, "skipped", "the flow is disabled in the settings of the repository")
    verdict = judge_push(on_push, PushSeen(ref=event.ref, message=event.message, paths=paths))
    if isinstance(verdict, NoMatch):
        return event.firing(flow, "skipped", verdict.reason)
    if depth > MOST_DEPTH:
        return event.firing(flow, "refused", str(TooDeep(flow.name, MOST_DEPTH)), depth)
    return event.firing(flow, "pending", verdict.note, depth)


async def _changed_paths(bare: BareRepository, event: PushEvent, default: RefValue | None) -> tuple[str, ...] | None:
    """The files that the push changed; None when they are too many to say.

    A new branch is compared with the commit where it began to differ from the default branch.
    """
    old = event.old
    is_default = event.ref == BRANCHES + event.repo.default_branch  # which may have moved on before it was scanned
    if old is None and default is not None and not is_default and default.sha != event.sha:
        old = await bare.merge_base(default.sha, event.sha)
    found = await bare.changed_paths(old or ZEROS, event.sha)
    return None if found.is_cut else found.paths
