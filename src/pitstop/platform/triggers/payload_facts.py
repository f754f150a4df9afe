"""What a delivery is about: ref, commits and user, wherever the payload of a provider has them."""

import re
from collections.abc import Mapping
from typing import Any, Literal, TypeAlias

from msgspec import Struct

Provider: TypeAlias = Literal["github", "gitlab", "gitea", "plain"]

_LONGEST = 1_000  # characters of a name
_PREFIX = {"branch": "refs/heads/", "tag": "refs/tags/"}


class Facts(Struct, frozen=True):
    """None is what the payload does not have; a commit that is all zeros is none."""

    ref: str | None = None
    sha: str | None = None
    before: str | None = None
    who: str | None = None


def facts_in(provider: Provider, payload: Any) -> Facts:
    """The facts of a payload, which may be anything."""
    if not isinstance(payload, Mapping):
        return Facts()
    match provider:
        case "gitlab":
            return _of_gitlab(payload)
        case "plain":
            ref, sha, before, who = (_text(payload, name) for name in ("ref", "sha", "before", "who"))
            return Facts(_ref(ref), _sha(sha), _sha(before), who)
    return _of_github(payload)


def _of_github(payload: Mapping[str, Any]) -> Facts:
    """GitHub, and Gitea, whose payloads have the same shape."""
    who = _text(payload, "sender", "login") or _text(payload, "pusher", "login") or _text(payload, "pusher", "name")
    before = _sha(_text(payload, "before"))
    if "pull_request" in payload:
        head = ("pull_request", "head")
        return Facts(_ref(_text(payload, *head, "ref"), "branch"), _sha(_text(payload, *head, "sha")), before, who)
    if "release" in payload:
        sha = _sha(_text(payload, "release", "target_commitish"))  # or a branch
        return Facts(_ref(_text(payload, "release", "tag_name"), "tag"), sha, None, who)
    # a tag with a message has an object of its own, which `after` names
    sha = _sha(_text(payload, "head_commit", "id") or _text(payload, "after") or _text(payload, "sha"))
    return Facts(_ref(_text(payload, "ref"), _text(payload, "ref_type")), sha, before, who)


def _of_gitlab(payload: Mapping[str, Any]) -> Facts:
    who = _text(payload, "user_username") or _text(payload, "user", "username")
    match payload.get("object_kind"):
        case "merge_request":
            change = "object_attributes"
            return Facts(
                _ref(_text(payload, change, "source_branch"), "branch"),
                _sha(_text(payload, change, "last_commit", "id")),
                _sha(_text(payload, change, "oldrev")),
                who,
            )
        case "release":
            return Facts(_ref(_text(payload, "tag"), "tag"), _sha(_text(payload, "commit", "id")), None, who)
    sha = _sha(_text(payload, "checkout_sha") or _text(payload, "after"))
    return Facts(_ref(_text(payload, "ref")), sha, _sha(_text(payload, "before")), who)


def _text(payload: object, *path: str) -> str | None:
    for name in path:
        payload = payload.get(name) if isinstance(payload, Mapping) else None
    return payload if isinstance(payload, str) and 0 < len(payload) <= _LONGEST else None


def _ref(name: str | None, kind: str | None = None) -> str | None:
    """The full name of a ref; None for a short name of neither a branch nor a tag."""
    if name is None or name.startswith("refs/"):
        return name
    return _PREFIX[kind] + name if kind in _PREFIX else None


def _sha(text: str | None) -> str | None:
    is_sha = text is not None and re.fullmatch("[0-9a-f]{40}|[0-9a-f]{64}", text)
    return text if is_sha and text is not None and text.strip("0") else None
