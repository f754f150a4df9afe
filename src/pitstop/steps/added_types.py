"""The step types that other packages have added: loaded by their entry points, and not trusted."""

import inspect
from importlib.metadata import EntryPoint
from typing import Any

from pydantic import BaseModel

from pitstop.engine.ports import StepType
from pitstop.errors import BrokenStepType
from pitstop.steps.described import DescribedStepType
from pitstop.steps.workplace import Workplace


def load(name: str, added: list[EntryPoint]) -> type[DescribedStepType]:
    """The type of that name; BrokenStepType."""
    first, *others = added
    if others:
        packages = ", ".join(repr(_package(each)) for each in others)
        raise broken(first, f"{packages} defines the same name: uninstall one of them")
    try:
        found = first.load()
    except (Exception, SystemExit) as error:  # the code of another package
        raise broken(first, f"{type(error).__name__}: {error}") from error
    missing = _what_is_missing(name, found)
    if missing:
        raise broken(first, missing)
    step_type: type[DescribedStepType] = found
    return step_type


def make(step_type: type[DescribedStepType], workplace: Workplace, entry_point: EntryPoint) -> StepType:
    """The type, made for a run; BrokenStepType."""
    try:
        return step_type(workplace)
    except Exception as error:  # the code of another package
        raise broken(entry_point, f"cannot instantiate it: {type(error).__name__}: {error}") from error


def _what_is_missing(name: str, found: Any) -> str:
    """Why this is no step type; nothing if it is one."""
    config = getattr(found, "Config", None)
    shorthand_field = getattr(found, "shorthand_field", None)
    if not inspect.isclass(found):
        return f"it is not a class but a {type(found).__name__}"
    if getattr(found, "name", None) != name:
        return f"its `name` is {getattr(found, 'name', None)!r}, not {name!r}"
    if not isinstance(getattr(found, "summary", None), str):
        return "it has no `summary`"
    if not (inspect.isclass(config) and issubclass(config, BaseModel)):
        return "its `Config` is not a pydantic model"
    if shorthand_field is not None and shorthand_field not in config.model_fields:
        return f"its `shorthand_field` {shorthand_field!r} is not a field of its `Config`"
    if not inspect.iscoroutinefunction(getattr(found, "act", None)):
        return "it has no `async def act(self, activation, config)`"
    return ""


def broken(entry_point: EntryPoint, reason: str) -> BrokenStepType:
    return BrokenStepType(entry_point.name, _package(entry_point), entry_point.value, reason)


def _package(entry_point: EntryPoint) -> str:
    return entry_point.dist.name if entry_point.dist is not None else "?"
