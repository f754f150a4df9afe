"""Fix loops that gave up: choosing how they continue, for every door."""

from pitstop.errors import BadRequest, NotGivenUp
from pitstop.service.caller import Caller
from pitstop.service.debugging import Debugging, DebugState, StopInfo, verbs

WAYS = ("take-over", "guide", "roll-back", "skip", "stop")
_ESCALATED = "escalated"  # among the reasons of the stop


async def escalated_stop(debugging: Debugging, caller: Caller, run: str) -> StopInfo | None:
    """The stop at which a fix loop of the run gave up; None if none has."""
    state = await debugging.say(caller, run, verbs.State())
    return next((stop for stop in state.stops if _ESCALATED in stop.reasons), None)


async def choose_way(debugging: Debugging, caller: Caller, run: str, way: str, text: str = "") -> DebugState:
    """Choose one of WAYS where a fix loop of the run gave up; NotGivenUp, BadRequest. Returns the state after it."""
    stop = await escalated_stop(debugging, caller, run)
    if stop is None:
        raise NotGivenUp(run)
    try:
        request = verbs.Decide(stop.id, way.replace("-", "_"), text)  # type: ignore[arg-type] # one of WAYS
    except ValueError as error:
        raise BadRequest(str(error)) from error
    await debugging.say(caller, run, request)
    return await debugging.say(caller, run, verbs.State())
