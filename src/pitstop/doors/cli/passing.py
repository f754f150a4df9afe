"""The stops of a run that is to end: nobody is there any more to look at them."""

from contextlib import suppress
from typing import TYPE_CHECKING

from pitstop.errors import CommandRefused
from pitstop.service.caller import LOCAL

if TYPE_CHECKING:  # what a run that never stops need not pay for
    from pitstop.service.desks import Service


async def pass_stops(service: "Service", run: str) -> None:
    """Let cleanup go on where it has stopped, and the end of the run.

    Any other stop ends with the cancelled run. Let go before that, a step would begin that nobody wants any more.
    """
    from pitstop.service.debugging import Debugger, verbs

    debugger = Debugger(service.debugging, LOCAL, run)
    for stop in (await debugger.say(verbs.State())).stops:
        if stop.is_cleanup or not stop.step:
            with suppress(CommandRefused):  # it is over
                await debugger.say(verbs.Continue(stop.id))
