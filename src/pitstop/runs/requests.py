"""What was asked for, as it is kept with a run: JSON, without the secrets."""

from collections.abc import Mapping
from typing import Any

import msgspec

from pitstop.plan.values import as_json
from pitstop.runs.run_info import CommitInfo
from pitstop.runs.run_request import BreakpointRequest, RunRequest
from pitstop.runs.telling import MaskText, masked


def kept_request(request: RunRequest, mask: MaskText | None = None, commit: CommitInfo | None = None) -> dict[str, Any]:
    """The request to keep, and the commit that the run is of. Of secrets only the names; the text is kept elsewhere."""
    told: dict[str, Any] = msgspec.to_builtins(msgspec.structs.replace(request, secrets={}, inputs={}))
    told["inputs"] = as_json(dict(request.inputs))
    kept = {name: value for name, value in told.items() if name not in ("secrets", "text", "run_id")}
    kept["secret_names"] = sorted(request.secrets)
    kept["at_commit"] = None if commit is None else msgspec.to_builtins(commit)
    shown: dict[str, Any] = kept if mask is None else masked(kept, mask)
    return shown


def request_of(kept: Mapping[str, Any], secrets: Mapping[str, str]) -> RunRequest:
    """The request that was kept, with its secrets."""
    fields = {name: value for name, value in kept.items() if name not in ("secret_names", "at_commit")}
    if debug := fields.get("debug"):
        fields["debug"] = {**debug, "breakpoints": breakpoints_of(debug["breakpoints"])}
    return msgspec.convert({**fields, "secrets": dict(secrets)}, RunRequest)


def commit_of(kept: Mapping[str, Any]) -> CommitInfo | None:
    """The commit that was kept with a request."""
    told = kept.get("at_commit")
    return None if told is None else CommitInfo(**told)


def breakpoints_of(kept: Any) -> tuple[BreakpointRequest, ...]:
    return tuple(BreakpointRequest(**each) for each in kept or ())
