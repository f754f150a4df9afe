"""Breakpoints: one shape, found by the step they name, so that all the others cost nothing."""

import inspect
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from typing import Any

from msgspec import UNSET, Struct, field

from pitstop.definition.name_patterns import pattern_regex
from pitstop.engine.frame import Paths
from pitstop.engine.verdict import Position
from pitstop.errors import BadBreakpoint, BadExpression, CommandRefused, UnknownBreakpoint
from pitstop.plan.addresses import has_marks, occurrence_in
from pitstop.plan.expressions import parse_template
from pitstop.plan.plan import Plan
from pitstop.plan.values import as_json

Condition = str | Callable[[dict[str, Any]], object]

_OPTIONAL = (
    *("step", "kind", "file", "line", "tool", "path"),
    *("condition", "hits", "log", "once", "group", "state", "note"),
)
_HITS = re.compile(r"\s*(>=|<=|==|>|<|%)?\s*(\d+)\s*")


class Breakpoint(Struct):
    """Where and when a frame stops. It has one place at most; without a place it applies to every step."""

    id: int
    step: str | None = None  # a place: a step's path or id, or the address of one occurrence
    kind: str | None = None  # a place: every step of this type
    file: str | None = None  # a place: a line of a file
    line: int | None = None
    tool: str | None = None  # stops at tool calls in an agent: their class, such as `shell`, their name, or `any`
    path: str | None = None  # stops at tool calls about a file that matches this pattern, such as `src/**`
    position: Position = "before"  # `before`, `after` or `error`
    condition: Condition | None = None  # jq on the scope, or a function that takes it
    hits: str | None = None  # which hits stop, such as `>= 3`, `== 5` or `% 2`
    log: str | None = None  # a text with `${{ }}` to write instead of stopping: a log point
    once: bool = False  # removed after its first stop
    enabled: bool = True
    group: str | None = None  # enabled and disabled together with the rest of its group
    note: str | None = None  # a text that is shown in lists and where it stops
    state: str | None = None  # a jq path to watch: it stops when the value changes
    equals: Any = UNSET  # with `state`: it stops when the value becomes this one, which may be None
    hit_count: int = 0
    paths: list[str] = field(default_factory=list)  # the steps it matches, once there is a plan
    occurrence: str | None = None  # the only execution it matches, if it names one

    def __post_init__(self) -> None:
        if sum(place is not None for place in (self.step, self.kind, self.line)) > 1:
            raise BadBreakpoint("a breakpoint needs exactly one location: a step, a step type, or a line")
        if self.is_for_calls and self.state is not None:
            raise BadBreakpoint("a breakpoint for tool calls cannot watch a value: use `condition` instead of `state`")
        if self.position not in ("before", "after", "error"):
            raise BadBreakpoint(f"invalid position {self.position!r}: use before, after or error")
        if self.line is not None and self.file is None:
            raise BadBreakpoint(f"line {self.line} needs a file: pass file=...")
        if self.path is not None:
            try:
                pattern_regex(self.path)
            except ValueError as error:
                raise BadBreakpoint(f"the path pattern {self.path!r} {error}") from error
        if self.hits is not None and not _HITS.fullmatch(str(self.hits)):
            raise BadBreakpoint(f"invalid hit count {self.hits!r}: use for example '>= 3', '== 5' or '% 2'")
        if self.equals is not UNSET and self.state is None:
            raise BadBreakpoint("equals needs state=..., the path of the value to compare")
        if self.equals is not UNSET:
            self.equals = as_json(self.equals)
        if inspect.iscoroutinefunction(self.condition):
            raise BadBreakpoint("a condition function cannot be async")
        if self.log is not None:
            try:
                parse_template(self.log)
            except BadExpression as error:
                raise BadBreakpoint(f"invalid log message: {error}") from error

    @property
    def is_for_calls(self) -> bool:
        """Whether it stops at tool calls inside a step, and not at the step."""
        return self.tool is not None or self.path is not None

    @property
    def is_everywhere(self) -> bool:
        """Whether it has no place of its own."""
        return self.step is None and self.kind is None and self.line is None

    @property
    def is_found(self) -> bool:
        """Whether the plan has the place it names."""
        return self.is_everywhere or bool(self.paths)

    def is_due(self) -> bool:
        """Whether the hit that was just counted is one to stop at."""
        if self.hits is None:
            return True
        wanted = _HITS.fullmatch(str(self.hits))
        if wanted is None:
            return True
        number = int(wanted[2])
        match wanted[1]:
            case ">=":
                return self.hit_count >= number
            case ">":
                return self.hit_count > number
            case "<=":
                return self.hit_count <= number
            case "<":
                return self.hit_count < number
            case "%":
                return number > 0 and self.hit_count % number == 0
            case _:
                return self.hit_count == number

    def fits(self, position: Position, *, is_propagated: bool) -> bool:
        """Whether it is meant for this position. A step that failed has ended too, so `after` fits an error.

        A failure that only passes through the steps around it is none of theirs, unless one is named.
        """
        if self.position == "error":
            return position == "error" and not (is_propagated and self.is_everywhere)
        if self.position == "after":
            return position == "after" or (position == "error" and not (is_propagated and self.is_everywhere))
        return position == "before"

    def is_for_call(self, tool: Mapping[str, Any]) -> bool:
        """Whether it is meant for this tool call, as `.tool` describes it."""
        if self.tool not in (None, "any", tool["tool"], tool["name"]):
            return False
        return self.path is None or any(re.fullmatch(pattern_regex(self.path), path) for path in tool["paths"])

    def as_dict(self) -> dict[str, Any]:
        """Everything that JSON can say of it; a condition that is a function cannot be kept."""
        shown: dict[str, Any] = {"id": self.id, "position": self.position, "enabled": self.enabled}
        for name in _OPTIONAL:
            value = getattr(self, name)
            if value is not None and value is not False:
                shown[name] = value
        if self.hit_count:
            shown["hit_count"] = self.hit_count
        if self.equals is not UNSET:
            shown["equals"] = self.equals
        if callable(self.condition):
            del shown["condition"]
            shown["condition_was"] = getattr(self.condition, "__name__", "a function")
        return shown

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> "Breakpoint":
        known = set(cls.__struct_fields__) - {"paths", "occurrence"}
        try:
            return cls(**{name: value for name, value in data.items() if name in known})
        except TypeError as error:
            raise BadBreakpoint(f"invalid breakpoint: {error}") from error


class Everywhere:
    """A set that has everything in it."""

    def __contains__(self, path: object) -> bool:
        return True

    def __len__(self) -> int:
        return sys.maxsize


EVERYWHERE = Everywhere()


class BreakpointTable:
    """The breakpoints of a session, indexed by the steps they stop at."""

    def __init__(self) -> None:
        self.watching: list[Breakpoint] = []  # those that watch a value
        self.is_muted = False  # then none of them stops or logs
        self._all: dict[int, Breakpoint] = {}
        self._shown: dict[int, dict[str, Any]] = {}  # each as it was when it was added
        self._by_step: dict[str | None, list[Breakpoint]] = {}  # those at a place, by the step they name, if any
        self._by_path: dict[str, list[Breakpoint]] = {}
        self._everywhere: list[Breakpoint] = []
        self._for_calls: dict[int, Breakpoint] = {}
        self._plan: Plan | None = None
        self._last_id = 0

    def __iter__(self) -> Iterator[Breakpoint]:
        return iter(self._all.values())

    def __contains__(self, breakpoint: Breakpoint) -> bool:
        return self._all.get(breakpoint.id) is breakpoint

    def __getitem__(self, breakpoint_id: int) -> Breakpoint:
        try:
            return self._all[breakpoint_id]
        except KeyError:
            raise UnknownBreakpoint(breakpoint_id) from None

    def new(self, **parts: Any) -> Breakpoint:
        return Breakpoint(self._last_id + 1, **parts)

    def add(self, breakpoint: Breakpoint) -> None:
        if not breakpoint.is_everywhere:
            self._find_paths(breakpoint)  # which may refuse it
        self._last_id = max(self._last_id, breakpoint.id)
        self._all[breakpoint.id] = breakpoint
        self._shown[breakpoint.id] = breakpoint.as_dict()
        if breakpoint.state is not None:
            self.watching.append(breakpoint)
        if breakpoint.is_for_calls:
            self._for_calls[breakpoint.id] = breakpoint
        elif breakpoint.is_everywhere:
            self._everywhere.append(breakpoint)
        else:
            self._by_step.setdefault(_step_named_by(breakpoint), []).append(breakpoint)

    def take_up(self, left: Iterable[Mapping[str, Any]], ever: Iterable[Mapping[str, Any]]) -> None:
        """Put the breakpoints that a log has `left` in place of the own ones, but for those it never told of.

        `ever` has each breakpoint as it was at any time.
        A function as a condition is in no log: it is taken from the own breakpoint that is like the one left, or that
        one is off.
        """
        own, ever = list(self), list(ever)
        for breakpoint in own:
            self.remove(breakpoint.id)
        self._last_id = max((int(each["id"]) for each in ever), default=0)
        for data in left:
            self.add(Breakpoint.from_dict({**data, "enabled": data["enabled"] and "condition_was" not in data}))
        for breakpoint in own:
            parts = _parts(breakpoint.as_dict())
            alike = [int(each["id"]) for each in ever if _parts(each) == parts]
            if not alike:
                breakpoint.id = self._last_id + 1
                self.add(breakpoint)
            elif alike[-1] in self._all and callable(breakpoint.condition):
                known = self.remove(alike[-1])
                breakpoint.id, breakpoint.hit_count = known.id, known.hit_count
                self.add(breakpoint)

    def remove(self, breakpoint_id: int) -> Breakpoint:
        breakpoint = self[breakpoint_id]
        del self._all[breakpoint_id], self._shown[breakpoint_id]
        if breakpoint in self.watching:
            self.watching.remove(breakpoint)
        if self._for_calls.pop(breakpoint_id, None) is not None:
            return breakpoint
        if breakpoint.is_everywhere:
            self._everywhere.remove(breakpoint)
        else:
            self._by_step[_step_named_by(breakpoint)].remove(breakpoint)
        for path in breakpoint.paths:
            self._by_path[path].remove(breakpoint)
            if not self._by_path[path]:
                del self._by_path[path]
        return breakpoint

    def shown(self) -> Iterator[dict[str, Any]]:
        """Each as a dict. They are made when breakpoints are added, because attaching many must not take long."""
        for breakpoint, shown in zip(self._all.values(), self._shown.values(), strict=True):
            is_same = breakpoint.enabled is shown["enabled"] and not breakpoint.hit_count
            yield shown if is_same else breakpoint.as_dict()

    def find_places(self, plan: Plan) -> None:
        """Look the breakpoints up in a plan, now that there is one. Those that it does not have cost nothing."""
        self._plan = plan
        self._by_path.clear()
        names = (None, *plan.names_among(self._by_step.keys()))
        known = [breakpoint for name in names for breakpoint in self._by_step.get(name, ())]
        for breakpoint in sorted(known, key=lambda each: each.id):
            with suppress(CommandRefused):  # of another plan: it matches nothing here
                self._find_paths(breakpoint)
        for breakpoint in self._for_calls.values():
            with suppress(CommandRefused):
                self._find_paths(breakpoint)

    def gate(self) -> Paths:
        """The steps before or after which somebody wants to be asked. The set is alive: it follows what is added."""
        if self.is_muted:
            return frozenset()
        if any(each.enabled and (each.state is not None or each.position != "error") for each in self._everywhere):
            return EVERYWHERE
        return self._by_path

    def call_gate(self) -> Paths:
        """The steps whose tool calls have breakpoints."""
        enabled = [each for each in self._for_calls.values() if each.enabled and not self.is_muted]
        if any(each.is_everywhere for each in enabled):
            return EVERYWHERE
        return frozenset(path for each in enabled for path in each.paths)

    def at_call(self, step: str, occurrence: str) -> Iterable[Breakpoint]:
        """The enabled breakpoints for the tool calls of this occurrence of a step."""
        if self.is_muted:
            return ()
        here = [
            each for each in self._for_calls.values() if each.enabled and (each.is_everywhere or step in each.paths)
        ]
        return [each for each in here if each.occurrence in (None, occurrence)]

    def at(self, path: str, occurrence: str) -> Iterable[Breakpoint]:
        """The enabled breakpoints that may stop at this occurrence of a step."""
        candidates = self.candidates(path)
        return [each for each in candidates if each.enabled and each.occurrence in (None, occurrence)]

    def candidates(self, path: str) -> Iterable[Breakpoint]:
        """The breakpoints at this step and those at every step, enabled or not; none while they are muted."""
        if self.is_muted:
            return ()
        named = self._by_path.get(path)
        return [*named, *self._everywhere] if named else self._everywhere

    def _find_paths(self, breakpoint: Breakpoint) -> None:
        breakpoint.paths = self._paths(breakpoint)
        if breakpoint.is_for_calls:
            return  # the step itself is none of its business
        for path in breakpoint.paths:
            self._by_path.setdefault(path, []).append(breakpoint)

    def _paths(self, breakpoint: Breakpoint) -> list[str]:
        plan = self._plan
        breakpoint.occurrence, breakpoint.paths = None, []
        if plan is None:
            return []
        if breakpoint.step is not None:
            found = occurrence_in(plan, breakpoint.step)
            if found is None:
                return list(plan.paths_named(breakpoint.step))
            breakpoint.occurrence = found.address
            return [found.path]
        if breakpoint.kind is not None:
            return list(plan.paths_of_kind(breakpoint.kind))
        path = plan.path_at_line(str(breakpoint.file), int(breakpoint.line or 0))
        return [path] if path is not None else []


def _step_named_by(breakpoint: Breakpoint) -> str | None:
    """The step that it names; None if only a plan can say: a kind, a line, or the address of an occurrence."""
    step = breakpoint.step
    return None if step is None or has_marks(step) else step


def _parts(shown: Mapping[str, Any]) -> dict[str, Any]:
    """What makes a breakpoint what it is, whatever its number and whatever came of it."""
    return {name: value for name, value in shown.items() if name not in ("id", "hit_count", "enabled")}
