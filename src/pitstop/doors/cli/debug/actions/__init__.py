"""What each command does: a few lines that call the debugger and show the answer."""

from collections.abc import Mapping

from pitstop.doors.cli.debug.actions import breaking, changing, looking, moving
from pitstop.doors.cli.debug.commands import REPEATED, allowed_commands, parse
from pitstop.doors.cli.debug.console import Action, Console
from pitstop.doors.cli.debug.render import error_line
from pitstop.doors.cli.debug.table import TABLE
from pitstop.errors import NotAllowed, PitstopError
from pitstop.service.debugging import StopInfo

ACTIONS: Mapping[str, Action] = {**moving.ACTIONS, **looking.ACTIONS, **changing.ACTIONS, **breaking.ACTIONS}


async def carry_out(console: Console, line: str) -> bool:
    """Do what a line says; an empty one repeats the last move. False when it was refused, which is told."""
    line = line.strip() or (console.last_move if console.stop is not None else None) or ""
    if not line:
        return True
    try:
        spec, argument = parse(line)
        await ACTIONS[spec.name](console, argument)
    except NotAllowed as error:
        console.screen.say(error_line(_in_our_words(error, console.stop)))
        return False
    except PitstopError as error:
        console.screen.say(error_line(error))
        return False
    if spec.moves:
        await console.went_on(line if spec.name in REPEATED else None)
    elif not console.has_left:
        await console.look()
    return True


def _in_our_words(error: NotAllowed, stop: StopInfo | None) -> str:
    """What a stop allows, as it can be typed; where the reason is another one, that one."""
    if stop is None or error.verb in stop.allowed:
        return str(error)
    command = next((spec.name for spec in TABLE if spec.verb == error.verb), error.verb)
    allowed = " ".join(name for names in allowed_commands(stop.allowed).values() for name in names)
    where = "at the failure of" if stop.position == "error" else stop.position
    return f"{command} is not possible {where} {stop.occurrence or 'the end'}; possible: {allowed}"
