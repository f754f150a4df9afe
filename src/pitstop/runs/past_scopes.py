"""How the scope of a run that is over was at its points: its log is replayed, and nothing is run."""

from collections.abc import Callable, Sequence

from pitstop.debugger.time_travel import point_numbered, points_in, scope_at
from pitstop.engine.ports import Evaluator
from pitstop.events.types import AnyEvent
from pitstop.plan.plan import Plan
from pitstop.plan.scope import Snapshot


async def past_scopes(
    plan: Plan, events: Sequence[AnyEvent], numbers: Sequence[int], new_evaluator: Callable[[], Evaluator]
) -> list[Snapshot]:
    """The scope at each of these points; UnknownPoint."""
    points = points_in(events)
    found = [point_numbered(points, number) for number in numbers]
    evaluator = new_evaluator()
    try:
        return [await scope_at(plan, evaluator, events, point) for point in found]
    finally:
        await evaluator.close()
