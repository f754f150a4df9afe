"""The step types that there are: our own, and those that other packages have added."""

import difflib
from collections.abc import Iterable, Mapping
from importlib import import_module
from typing import TYPE_CHECKING

from pitstop.engine.ports import StepType
from pitstop.errors import BrokenStepType, UnknownStepType
from pitstop.steps.described import DescribedStepType
from pitstop.steps.workplace import Workplace

if TYPE_CHECKING:  # what a run of our own types need not wait for
    from importlib.metadata import EntryPoint

GROUP = "pitstop.step_types"  # of entry points
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
    "merge": "pitstop.steps.merge:MergeStep",
    "card": "pitstop.steps.card:CardStep",
    "commit": "pitstop.steps.commit:CommitStep",
    "agent": "pitstop.steps.agents.agent:AgentStep",
}


class StepTypes:
    """Step types by name, each loaded when it is first asked for. One that is broken is no hindrance to the others."""

    def __init__(self, added: "Iterable[EntryPoint]" = ()) -> None:
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
        from pitstop.steps.added_types import broken

        found = []
        for name, added in self._added.items():
            if name in BUILT_IN:
                found += [broken(each, "Pitstop already has a built-in step type with that name") for each in added]
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
                self._loaded[name] = getattr(import_module(module), attribute)
            elif name in self._added:
                from pitstop.steps.added_types import load

                self._loaded[name] = load(name, self._added[name])
            else:
                raise UnknownStepType(name, next(iter(difflib.get_close_matches(name, self.names, n=1)), None))
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
        from pitstop.steps.added_types import make

        return make(step_type, workplace, self._added[name][0])


def find_step_types() -> StepTypes:
    """Our own step types, and those that installed packages have as entry points."""
    from importlib.metadata import entry_points

    return StepTypes(entry_points(group=GROUP))
