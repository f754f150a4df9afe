"""The table of everything that can be said to the debugger of a run: every door speaks from it."""

import re
from functools import cache
from typing import Any, Literal, get_args

import msgspec

from pitstop.runs import verbs
from pitstop.runs.run_request import BreakpointRequest, Request

_fields = cache(msgspec.structs.fields)  # which evaluates the annotations each time


class Verb(msgspec.Struct, frozen=True):
    """A row. Without a path of its own it is said with `POST /runs/{run}/debug/NAME`; a GET needs no operator.

    `operation` is its name in the description of the API and in the audit log, which has those that change something.
    """

    name: str
    request: type[Request[Any]]
    summary: str
    example: dict[str, Any] = {}
    method: Literal["GET", "POST", "PATCH", "DELETE"] = "POST"
    path: str | None = None
    operation: str | None = None
    changes: bool = True

    @property
    def answer(self) -> Any:
        """The type of the answer; None if there is none."""
        (kind,) = get_args(self.request.__orig_bases__[0])  # type: ignore[attr-defined]
        return None if kind is type(None) else kind

    @property
    def fields(self) -> tuple[msgspec.structs.FieldInfo, ...]:
        return _fields(self.request)

    @property
    def has_stop(self) -> bool:
        return "stop" in self.request.__struct_fields__

    @property
    def place(self) -> str:
        """The path below `/debug`, with the fields it takes in braces."""
        return self.name if self.path is None else self.path

    @property
    def path_fields(self) -> list[str]:
        return re.findall(r"{(\w+)}", self.place) if "{" in self.place else []

    @property
    def operation_id(self) -> str:
        return self.operation or (f"debug_{self.name}" if self.path is None else self.name)


def _look(name: str, request: type[Request[Any]], summary: str, operation: str, path: str | None = None) -> Verb:
    return Verb(name, request, summary, method="GET", path=path, operation=operation, changes=False)


_STOP = {"stop": 3}
_ONE = "breakpoints/{breakpoint}"

VERBS = {
    verb.name: verb
    for verb in (
        Verb("continue", verbs.Continue, "Resume a paused frame, or all", _STOP),
        Verb("pause", verbs.Pause, "Pause a frame at its next point, or all"),
        Verb("cancel_pause", verbs.CancelPause, "Cancel a pending pause"),
        Verb("stop_step", verbs.StopStep, "Stop a running step, and pause at its failure", {"step": "tests"}),
        Verb("step", verbs.Step, "Step into, over, out, to or back", {**_STOP, "kind": "over"}),
        Verb("cancel_frame", verbs.CancelFrame, "Cancel a branch", {"frame": "2.tests"}),
        Verb("skip", verbs.Skip, "Skip the step", {**_STOP, "outputs": {}}),
        Verb("retry", verbs.Retry, "Retry the step, with your changes", _STOP),
        Verb(
            "decide",
            verbs.Decide,
            "Choose how a step that gave up continues",
            {**_STOP, "choice": "guide", "text": "The rounding is done in tax.py."},
        ),
        Verb("force", verbs.Force, "Force the outcome of the step", {**_STOP, "status": "passed"}),
        Verb(
            "inject",
            verbs.Inject,
            "Inject a step that runs once",
            {**_STOP, "step": {"run": "ls -l", "timeout": "1m"}, "position": "before"},
        ),
        Verb("uninject", verbs.Uninject, "Remove an injected step that has not run", {**_STOP, "step": "test+1"}),
        Verb("set", verbs.Set, "Set a value in the scope", {**_STOP, "path": ".vars.region", "value": "us"}),
        Verb("unset", verbs.Unset, "Remove a value from the scope", {**_STOP, "path": ".vars.region"}),
        Verb("undo", verbs.Undo, "Undo the last edit", _STOP),
        Verb(
            "config",
            verbs.Config,
            "Override the step's config for this execution",
            {**_STOP, "config": {"script": "make test"}},
        ),
        Verb("rewind", verbs.Rewind, "Rewind to a point in the history", {**_STOP, "point": 12}),
        Verb("forward", verbs.Forward, "Undo the last step back, rewind, restart or jump", _STOP),
        Verb("restart", verbs.Restart, "Restart the frame", _STOP),
        Verb("goto", verbs.Goto, "Jump to another step of the same sequence", {**_STOP, "step": "deploy"}),
        Verb("abort", verbs.Abort, "Cancel and clean up"),
        Verb("extend", verbs.Extend, "Extend the timeout of the stops", {"seconds": 3600}),
        Verb("watch", verbs.Watch, "Add a watch", {"expression": ".vars"}),
        Verb("unwatch", verbs.Unwatch, "Remove a watch", {"expression": ".vars"}),
        Verb("detach", verbs.Detach, "Resume all frames, and do not pause again", method="DELETE", path=""),
        Verb("add_breakpoint", BreakpointRequest, "Add a breakpoint", {"step": "test"}, path="breakpoints"),
        Verb(
            "change_breakpoint",
            verbs.ChangeBreakpoint,
            "Change a breakpoint; omitted fields stay as they are",
            {"enabled": False},
            method="PATCH",
            path=_ONE,
        ),
        Verb("remove_breakpoint", verbs.RemoveBreakpoint, "Remove a breakpoint", method="DELETE", path=_ONE),
        Verb(
            "clear_breakpoints",
            verbs.ClearBreakpoints,
            "Remove all breakpoints",
            method="DELETE",
            path="breakpoints",
        ),
        Verb("mute", verbs.Mute, "Mute or unmute all breakpoints", {"muted": True}),
        Verb(
            "enable_breakpoint_group",
            verbs.EnableBreakpointGroup,
            "Enable or disable a breakpoint group",
            {"enabled": False},
            path="breakpoints/groups/{group}",
        ),
        _look("state", verbs.State, "Snapshot of the session", "get_debug_state", path=""),
        _look("breakpoints", verbs.Breakpoints, "List the breakpoints of the session", "list_breakpoints"),
        Verb(
            "evaluate",
            verbs.Evaluate,
            "Evaluate a jq expression at a stop, or on the run as a whole",
            {**_STOP, "expression": ".vars"},
            changes=False,
        ),
        _look("watches", verbs.Watches, "List the watches and their values", "get_watch_values"),
        _look("variables", verbs.Variables, "Page of one level of a step's scope", "list_variables"),
        _look("scope", verbs.Scope, "A step's whole scope", "get_scope"),
        _look("read_config", verbs.ReadConfig, "A step's config, raw and resolved", "get_config", path="config"),
        _look("history", verbs.History, "List the points you can rewind to", "get_history"),
        _look("diff", verbs.Diff, "Changed values since the previous stop, or between two points", "get_diff"),
        _look("files", verbs.Files, "Changed files between two points, or since a point", "list_file_changes"),
        _look(
            "files_diff",
            verbs.FilesDiff,
            "Diff of a file between two points, or since a point",
            "get_file_diff",
            path="files/diff",
        ),
        _look("context", verbs.Context, "Context of a stop, and how to attach", "get_context"),
        _look("export", verbs.Export, "Export the session as a file, without secrets", "export_session"),
    )
}
VERB_OF = {verb.request: verb for verb in VERBS.values()}


def fields_of(request: Request[Any]) -> dict[str, Any]:
    """The fields of a request that are not left at their defaults, by their names in JSON."""
    return {
        each.encode_name: value
        for each in VERB_OF[type(request)].fields
        if (value := getattr(request, each.name)) is not msgspec.UNSET and value != each.default
    }
