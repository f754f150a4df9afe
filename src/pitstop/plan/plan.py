"""A plan: a definition that was checked and frozen; only plans run."""

import difflib
from collections.abc import Iterator, Mapping, Set
from typing import Any

import msgspec
from msgspec import Struct, field
from msgspec.structs import force_setattr

from pitstop.definition.values import NO_RETRY, Effects, OnInterrupt, Reducer, Retry, Source, Workspace
from pitstop.limits import DEFAULTS, Limits
from pitstop.plan.expressions import expressions_in

__all__ = ["NO_RETRY", "Plan", "Reducer", "Retry", "Source", "Step"]


class Step(Struct, frozen=True, eq=False, omit_defaults=True):
    """One unit of a plan. `path` is its stable address; `local` is its last part, `id` its name in `.steps`.

    `secrets` names those in the environment of its commands: its own, and those of every step around it.
    """

    path: str
    kind: str
    config: Mapping[str, Any] = field(default_factory=dict)
    children: tuple["Step", ...] = ()
    cleanup: tuple["Step", ...] = ()
    id: str | None = None
    name: str | None = None
    condition: str | None = None
    env: Mapping[str, Any] = field(default_factory=dict)
    secrets: tuple[str, ...] = ()
    timeout_seconds: float | None = None
    retry: Retry = NO_RETRY
    continue_on_error: bool = False
    effects: Effects = "workspace"
    requires: Mapping[str, Any] = field(default_factory=dict)
    workspace: Workspace = "keep"
    on_success: str = "next"
    on_failure: str = "stop"
    on_interrupt: OnInterrupt = "repeat"
    snapshot: bool = False
    source: Source | None = None
    is_cleanup: bool = False
    is_injected: bool = False
    follows_failure: bool = False  # what is done when the step before it has failed; that failure still counts
    is_templated: bool = False  # computed
    is_log_read: bool = False  # by an expression, as `.steps.<id>.log`
    fills_context: bool = False  # its commands get the logs of earlier steps as files, as all steps of the flow do

    def __post_init__(self) -> None:
        templated = any(True for value in (self.config, self.env) for _ in expressions_in(value))
        force_setattr(self, "is_templated", templated)

    @property
    def stores_log(self) -> bool:
        """Whether the end of its log is part of its outcome, because a later step may read it."""
        return self.is_log_read or self.fills_context

    @property
    def local(self) -> str:
        return self.path.rpartition(".")[2]

    @property
    def title(self) -> str:
        return self.name or self.id or self.path or "run"

    def walk(self) -> Iterator["Step"]:
        """This step and every one under it, in the order they are written."""
        yield self
        for child in (*self.children, *self.cleanup):
            yield from child.walk()


def more_of(step: Step) -> dict[str, Any]:
    """All that an injected step has besides path, kind, config and id, as JSON."""
    told: dict[str, Any] = msgspec.to_builtins(msgspec.structs.replace(step, config={}))
    return {name: value for name, value in told.items() if name not in _OF_EVERY_INJECTED}


def injected_again(path: str, kind: str, config: Mapping[str, Any], name: str | None, more: Mapping[str, Any]) -> Step:
    """The injected step that `more_of` was made of."""
    step = msgspec.convert({**more, "path": path, "kind": kind}, Step)
    return msgspec.structs.replace(step, config=config, id=name, is_injected=True)


_OF_EVERY_INJECTED = ("path", "kind", "id", "is_injected", "is_templated")


class Plan:
    """A root step and the ways to find the steps under it."""

    def __init__(self, root: Step, name: str = "run", limits: Limits = DEFAULTS) -> None:
        self.root = root
        self.name = name
        self.limits = limits
        self.steps: dict[str, Step] = {step.path: step for step in root.walk() if step is not root}
        self._paths_by_id: dict[str, list[str]] = {}
        self._paths_by_kind: dict[str, list[str]] = {}
        for path, step in self.steps.items():
            self._paths_by_id.setdefault(step.id or step.local, []).append(path)
            self._paths_by_kind.setdefault(step.kind, []).append(path)

    def names_among(self, names: Set[str | None]) -> Set[str | None]:
        """Those that a step has as its path or id. Quick when the plan or `names` is small."""
        return (names & self.steps.keys()) | (names & self._paths_by_id.keys())

    def paths_named(self, name: str) -> list[str]:
        """The steps with this path, or else with this id (a sub-flow may repeat one)."""
        return [name] if name in self.steps else self._paths_by_id.get(name, [])

    def paths_of_kind(self, kind: str) -> list[str]:
        return self._paths_by_kind.get(kind, [])

    def path_at_line(self, file: str, line: int) -> str | None:
        """The innermost step written at this line of the file; None when the line belongs to none."""
        found: Step | None = None
        for step in self.steps.values():
            source = step.source
            if source is None or source.file != file or not source.line <= line <= (source.end_line or source.line):
                continue
            if found is None or found.source is None or source.line >= found.source.line:
                found = step
        return found.path if found else None

    def nearest(self, name: str) -> str | None:
        """The step whose path or id is most like `name`, for a hint in an error."""
        return next(iter(difflib.get_close_matches(name, [*self.steps, *self._paths_by_id], n=1)), None)
