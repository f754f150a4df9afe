"""What a step type is: a class that describes itself."""

from typing import TYPE_CHECKING, ClassVar, Protocol, runtime_checkable

from pitstop.engine.ports import StepType
from pitstop.steps.workplace import Workplace

if TYPE_CHECKING:  # what a run of our own types need not wait for
    from pydantic import BaseModel


class DescribedStepType(StepType, Protocol):
    """A step type as a class: it says what it is and takes, and is made once for each run."""

    name: ClassVar[str]
    summary: ClassVar[str]  # one line
    shorthand_field: ClassVar[str | None]  # of Config, for the value in `name: value`; None if that is the whole of it
    Config: ClassVar["type[BaseModel]"]

    def __init__(self, workplace: Workplace) -> None: ...


@runtime_checkable
class ClosedStepType(StepType, Protocol):
    """A step type that holds something until the run is over."""

    async def close(self) -> None: ...
