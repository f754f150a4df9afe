"""What there is to know about flow files: their schema, and the kinds of steps."""

from types import SimpleNamespace
from typing import Any

from pitstop.definition.combining_forms import CombiningForm
from pitstop.definition.schema import flow_schema
from pitstop.definition.step_kinds import StepKind, combining_kinds
from pitstop.service.flows import StepTypeHelp
from pitstop.steps.reference import help_for, usage_of
from pitstop.steps.registry import find_step_types


class Reference:
    """Answers from the models that flows are checked by."""

    def __init__(self) -> None:
        self._types = find_step_types()

    def schema(self) -> dict[str, Any]:
        return flow_schema(self._types.usable())

    def step_types(self) -> tuple[StepTypeHelp, ...]:
        combining = map(_as_step_type, combining_kinds().values())
        return tuple(_tell(each) for each in (*self._types.usable().values(), *combining))

    def step_type(self, name: str) -> StepTypeHelp:
        """UnknownStepType, BrokenStepType."""
        combining = combining_kinds().get(name)
        return _tell(self._types.find(name) if combining is None else _as_step_type(combining))


def _tell(step_type: Any) -> StepTypeHelp:
    config = None if issubclass(step_type.Config, CombiningForm) else step_type.Config.model_json_schema()
    return StepTypeHelp(step_type.name, step_type.summary, usage_of(step_type), help_for(step_type), config)


def _as_step_type(kind: StepKind) -> Any:
    """A way of combining, described like a step type."""
    return SimpleNamespace(
        name=kind.key, summary=kind.summary, shorthand_field=kind.shorthand, Config=kind.model, __doc__=""
    )
