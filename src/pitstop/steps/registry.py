"""The step types that there are: our own, and those that other packages have added."""

import importlib
import inspect
from collections.abc import Callable, Iterable, Mapping
from difflib import get_close_matches
from importlib.metadata import EntryPoint, entry_points
from typing import Any, ClassVar, Protocol, runtime_checkable

from pydantic import BaseModel

from pitstop.engine.ports import StepType
from pitstop.errors import BrokenStepType, UnknownStepType
from pitstop.steps.workplace import Workplace

GROUP = "pitstop.step_types"

# A table and not entry points of our own: it needs no installed package, and a run need not search for them
BUILT_IN = {
    "run": "pitstop.steps.run:RunStep",
    "sleep": "pitstop.steps.sleep:SleepStep",
    "check": "pitstop.steps.check:CheckStep",
    "http": "pitstop.steps.http:HttpStep",
    "wait": "pitstop.steps.wait:WaitStep",
    "write": "pitstop.steps.write:WriteStep",
    "fail": "pitstop.steps.fail:FailStep",
    "approve": "pitstop.steps.approve:ApproveStep",
    "python": "pitstop.steps.python:PythonStep",
}


class DescribedStepType(StepType, Protocol):
    """A step type as a class: it says what it is and takes, and is made once for each run."""

    name: ClassVar[str]
    summary: ClassVar[str]  # one line
    shorthand_field: ClassVar[str | None]  # of Config, for the value in `name: value`; None if that is the whole of it
    Config: ClassVar[type[BaseModel]]

    def __init__(self, workplace: Workplace) -> None: ...


@runtime_checkable
class ClosedStepType(StepType, Protocol):
    """A step type that holds something until the run is over."""

    async def close(self) -> None: ...


class StepTypes:
    """Step types by name, each loaded when it is first asked for. One that is broken is no hindrance to the others."""

    def __init__(self, added: Iterable[EntryPoint] = ()) -> None:
        self._added: dict[str, list[EntryPoint]] = {}
        for entry_point in added:
            self._added.setdefault(entry_point.name, []).append(entry_point)
        self._loaded: dict[str, type[DescribedStepType]] = {}

    @property
    def names(self) -> tuple[str, ...]:
        """Ours in the order of the table, then those of others."""
        return tuple(dict.fromkeys((*BUILT_IN, *sorted(self._added))))

    @property
    def problems(self) -> tuple[BrokenStepType, ...]:
        """What is wrong with the types of other packages. Loads them all."""
        found = []
        for name, added in self._added.items():
            if name in BUILT_IN:
                found += [_broken(each, "Pitstop has a step type of that name itself") for each in added]
            else:
                try:
                    self.find(name)
                except BrokenStepType as problem:
                    found.append(problem)
        return tuple(found)

    def find(self, name: str) -> type[DescribedStepType]:
        """The step type; UnknownStepType, BrokenStepType."""
        if name not in self._loaded:
            if name in BUILT_IN:
                module, _, attribute = BUILT_IN[name].partition(":")
                self._loaded[name] = getattr(importlib.import_module(module), attribute)
            elif name in self._added:
                self._loaded[name] = _load(name, self._added[name])
            else:
                raise UnknownStepType(name, next(iter(get_close_matches(name, self.names, n=1)), None))
        return self._loaded[name]

    def usable(self) -> dict[str, type[DescribedStepType]]:
        """Every type that can be used, by name."""
        broken = {problem.name for problem in self.problems} - set(BUILT_IN)
        return {name: self.find(name) for name in self.names if name not in broken}

    def for_run(self, workplace: Workplace, names: Iterable[str]) -> Mapping[str, StepType]:
        """The types that a run needs, made for it; UnknownStepType, BrokenStepType."""
        return {name: self._make(name, workplace) for name in dict.fromkeys(names)}

    def _make(self, name: str, workplace: Workplace) -> StepType:
        step_type = self.find(name)
        if name in BUILT_IN:
            return step_type(workplace)
        try:
            return step_type(workplace)
        except Exception as error:  # the code of another package
            raise _broken(self._added[name][0], f"it cannot be made: {type(error).__name__}: {error}") from error


def find_step_types(search: Callable[..., Iterable[EntryPoint]] = entry_points) -> StepTypes:
    """Our own step types, and those in the entry point group `pitstop.step_types` of the installed packages."""
    return StepTypes(search(group=GROUP))


def _load(name: str, added: list[EntryPoint]) -> type[DescribedStepType]:
    first, *others = added
    if others:
        packages = ", ".join(repr(_package(each)) for each in others)
        raise _broken(first, f"{packages} has one of the same name: uninstall one of them")
    try:
        found = first.load()
    except (Exception, SystemExit) as error:  # the code of another package
        raise _broken(first, f"{type(error).__name__}: {error}") from error
    missing = _what_is_missing(name, found)
    if missing:
        raise _broken(first, missing)
    step_type: type[DescribedStepType] = found
    return step_type


def _what_is_missing(name: str, found: Any) -> str:
    """Why this is no step type; nothing if it is one."""
    config = getattr(found, "Config", None)
    shorthand_field = getattr(found, "shorthand_field", None)
    if not inspect.isclass(found):
        return f"it is no class, but {type(found).__name__}"
    if getattr(found, "name", None) != name:
        return f"its `name` is {getattr(found, 'name', None)!r}, not {name!r}"
    if not isinstance(getattr(found, "summary", None), str):
        return "it has no `summary`"
    if not (inspect.isclass(config) and issubclass(config, BaseModel)):
        return "it has no `Config` that is a pydantic model"
    if shorthand_field is not None and shorthand_field not in config.model_fields:
        return f"its `shorthand_field` {shorthand_field!r} is no field of its `Config`"
    if not inspect.iscoroutinefunction(getattr(found, "act", None)):
        return "it has no `async def act(self, activation, config)`"
    return ""


def _broken(entry_point: EntryPoint, reason: str) -> BrokenStepType:
    return BrokenStepType(entry_point.name, _package(entry_point), entry_point.value, reason)


def _package(entry_point: EntryPoint) -> str:
    return entry_point.dist.name if entry_point.dist is not None else "?"
