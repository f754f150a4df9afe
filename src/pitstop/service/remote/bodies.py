"""What a server is told of this machine's files.

To a server on this machine a flow's file and a run's folder are named. To another one the text of the file is sent, and
the run has a fresh workspace there.
"""

from pathlib import Path
from typing import Any

import msgspec

from pitstop.runs.graph_targets import read_target
from pitstop.runs.repositories import read_address
from pitstop.runs.run_request import RunRequest
from pitstop.runs.stored_flows import FLOW_ENDINGS


def flow_choice(flow: str, text: str | None, *, is_here: bool) -> dict[str, str]:
    """How the server is told which flow is meant."""
    if text is not None:
        return {"text": text, "name": flow}
    path = Path(flow)
    if path.is_file() and not is_here:
        return {"text": path.read_text(encoding="utf-8"), "name": path.name}
    if path.suffix in FLOW_ENDINGS or path.is_file():
        return {"path": str(path.absolute())}
    named = read_address(flow)
    if named is not None:
        return {"repo": named.repo, "name": named.flow, **({} if named.ref is None else {"ref": named.ref})}
    if read_target(flow) is not None:  # which the server refuses, and says why
        return {"path": flow}
    return {"name": flow}


def run_body(request: RunRequest, *, is_here: bool) -> dict[str, Any]:
    flow = flow_choice(request.flow, request.text, is_here=is_here)
    has_folder = request.folder is not None and is_here and "repo" not in flow
    folder = str(Path(request.folder or "").absolute()) if has_folder else None
    body: dict[str, Any] = msgspec.to_builtins(msgspec.structs.replace(request, folder=folder))
    # What is in `flow`, or known to the server
    for name in ("text", "run_id", "repo", "ref", "flow_commit", "trigger", "by", "fix"):
        del body[name]
    return {**body, "flow": flow}
