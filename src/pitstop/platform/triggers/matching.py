"""Whether an event starts a flow, and why not: the rules of triggers, without the jq of webhooks."""

import re
from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

from msgspec import Struct

from pitstop.platform.triggers.patterns import matches

_SKIP_MARKER = re.compile(r"\[(skip ci|ci skip|no ci)\]", re.IGNORECASE)
_BRANCH = "refs/heads/"
_TAG = "refs/tags/"
_SHOWN_WORDS = 10
_DISABLED = "the trigger is disabled in the flow file"


class PushSeen(Struct, frozen=True, kw_only=True):
    """A ref that was pushed. `message` is that of its new commit, and `paths` is None if the changes are unknown."""

    ref: str
    message: str = ""
    paths: tuple[str, ...] | None = None
    is_deleted: bool = False

    @property
    def branch(self) -> str | None:
        return self.ref.removeprefix(_BRANCH) if self.ref.startswith(_BRANCH) else None

    @property
    def tag(self) -> str | None:
        return self.ref.removeprefix(_TAG) if self.ref.startswith(_TAG) else None


class Matches(Struct, frozen=True):
    """The event starts the flow; `note` says what could not be checked."""

    note: str | None = None


class NoMatch(Struct, frozen=True):
    """The event does not start the flow; `reason` is a sentence for users."""

    reason: str


Verdict: TypeAlias = Matches | NoMatch


def judge_push(on_push: Mapping[str, Any] | None, event: PushSeen) -> Verdict:
    """Whether a push starts a flow, of which `on_push` is the trigger as the Flow has it."""
    if on_push is None:
        return NoMatch("the flow has no push trigger")
    reason = _why_not_pushed(on_push, event)
    if reason is not None:
        return NoMatch(reason)
    if on_push.get("paths") and event.tag is None and event.paths is None:
        return Matches("the changed files are unknown, so `paths` was not checked")
    return Matches()


def judge_webhook(on_webhook: Mapping[str, Any] | None, provider: str, event: str) -> Verdict:
    """Whether a delivery starts a flow, as far as its provider and event decide; `if` is for jq."""
    if on_webhook is None:
        return NoMatch("the flow has no webhook trigger")
    if not on_webhook.get("enabled", True):
        return NoMatch(_DISABLED)
    expected = on_webhook.get("provider", "plain")
    if provider != expected:
        return NoMatch(f"the webhook has provider {provider!r}, but the flow has `provider: {expected}`")
    events = on_webhook.get("events") or ()
    if events and _event_key(event) not in map(_event_key, events):
        return NoMatch(f"event {event!r} is not among `events: {_listed(events)}`")
    return Matches()


def _why_not_pushed(on_push: Mapping[str, Any], event: PushSeen) -> str | None:
    if not on_push.get("enabled", True):
        return _DISABLED
    if event.is_deleted:
        return f"the {'branch' if event.tag is None else 'tag'} was deleted"
    marker = _SKIP_MARKER.search(event.message)
    if marker is not None:
        return f"the commit message contains {marker[0].lower()}"
    if event.tag is not None:
        return _why_no_tag(on_push.get("tags") or (), event.tag)
    if event.branch is None:
        return f"{event.ref!r} is neither a branch nor a tag"
    return _why_no_branch(on_push, event.branch) or _why_no_path(on_push.get("paths") or (), event.paths)


def _why_no_tag(patterns: Sequence[str], tag: str) -> str | None:
    if not patterns:
        return "tags start only flows with `tags`"
    return None if matches(patterns, tag) else f"tag {tag!r} does not match `tags: {_listed(patterns)}`"


def _why_no_branch(on_push: Mapping[str, Any], branch: str) -> str | None:
    patterns = on_push.get("branches") or ()
    if not patterns:
        return "branches do not start a flow that has only `tags`" if on_push.get("tags") else None
    return None if matches(patterns, branch) else f"branch {branch!r} does not match `branches: {_listed(patterns)}`"


def _why_no_path(patterns: Sequence[str], changed: tuple[str, ...] | None) -> str | None:
    if not patterns or changed is None or any(matches(patterns, path) for path in changed):
        return None
    return f"no changed file matches `paths: {_listed(patterns)}`"


def _event_key(event: str) -> str:
    """The same for GitLab's `Merge Request Hook` and for `merge_request`, as its payloads say."""
    return event.lower().removesuffix(" hook").replace(" ", "_")


def _listed(words: Sequence[str]) -> str:
    more = f" and {len(words) - _SHOWN_WORDS} more" if len(words) > _SHOWN_WORDS else ""
    return ", ".join(words[:_SHOWN_WORDS]) + more
