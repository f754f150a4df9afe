"""Rows of steps that are open in a frame, and where one of them can be started again."""

from collections.abc import Mapping, Sequence

from msgspec import Struct

from pitstop.plan.plan import Step
from pitstop.plan.scope import Layer, Scope, Values


class Start(Struct, frozen=True):
    """Where a step began: the layer it writes to, as it was then, and the last event before any of the step's own."""

    layer: Layer
    mark: tuple[Values, int]
    after: int


class Body:
    """Steps that run one after the other; `index` is the one that they have come to."""

    __slots__ = ("address", "index", "is_replayed", "scope", "steps")

    def __init__(self, steps: Sequence[Step], scope: Scope, address: str, *, is_replayed: bool) -> None:
        self.steps = steps
        self.scope = scope
        self.address = address
        self.index = 0
        self.is_replayed = is_replayed  # its end is known, and what is in it is only gone through

    def base(self, index: int) -> str:
        """The address of one of the steps."""
        local = self.steps[index].local
        return f"{self.address}.{local}" if self.address else local


class Restart(Struct, frozen=True):
    """A body that starts again at one of its steps. What led there stays as it is: none of it is gone through again."""

    body: Body
    index: int
    start: Start

    @property
    def base(self) -> str:
        return self.body.base(self.index)


def restart_at(bodies: Sequence[Body], starts: Mapping[str, Start]) -> Restart | None:
    """The innermost of the bodies that has come past one of these steps, by address, and still has their layer."""
    for body in reversed([each for each in bodies if not each.is_replayed]):
        for base, start in starts.items():
            address, _, local = base.rpartition(".")
            if address != body.address or start.layer is not body.scope.own or not start.after:
                continue
            for index in range(body.index, -1, -1):
                if body.steps[index].local == local:
                    return Restart(body, index, start)
    return None
