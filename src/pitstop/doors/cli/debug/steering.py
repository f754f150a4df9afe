"""One run from its first stop to its end: steered by a list of commands, then at a prompt if there is a terminal."""

from collections.abc import Sequence

from rich.text import Text

from pitstop.doors.cli.debug.actions import carry_out
from pitstop.doors.cli.debug.console import Console
from pitstop.doors.cli.debug.listings import summary_lines
from pitstop.doors.cli.debug.screen import Screen
from pitstop.doors.cli.debug.script import ScriptLine
from pitstop.doors.cli.exit_codes import BAD_USAGE, DETACHED, FAILED, INTERRUPTED, PASSED
from pitstop.doors.cli.interrupts import Interrupts
from pitstop.doors.cli.run_options import has_terminal
from pitstop.service.debugging import verbs
from pitstop.service.desks import Service
from pitstop.service.runs import ActiveRun, RunSummary
from pitstop.service.workspaces import ShellRecord
from pitstop.settings import read_settings

HISTORY = "debug_history"


async def steer(
    service: Service,
    run: ActiveRun,
    interrupts: Interrupts,
    commands: Sequence[ScriptLine] = (),
    *,
    elsewhere: str | None = None,
    record: ShellRecord | None = None,
    told: int | None = None,
    is_resumed: bool = False,
) -> int:
    """Steer a run until it has ended: by these commands, then at a prompt if there is a terminal. Gives the exit code.

    `told` is the event up to which it was shown already; None for a run of another process, which this one joins.
    One that was resumed, and is paused after the commands, is left there.
    """
    screen = Screen()
    async with Console(service, run, screen, elsewhere=elsewhere, record=record, told=told) as console:
        with interrupts.taken_by(console.take_signal):
            is_good = await run_script(console, commands, is_joined=told is None or is_resumed)
            if is_good and not console.is_ending:
                if has_terminal():
                    from pitstop.doors.cli.debug.prompt import Prompt

                    await Prompt(console, read_settings().home / HISTORY).converse()
                else:
                    await carry_out(console, "leave" if is_resumed else "detach")
            await console.wait_over()
    if console.has_left:
        left = PASSED if console.elsewhere is not None else DETACHED
        return left if is_good else BAD_USAGE
    summary = await run.wait()
    screen.say(*summary_lines(summary, (await console.debugger.say(verbs.State())).interventions))
    return BAD_USAGE if not is_good else exit_code(summary, has_quit=console.has_quit)


async def run_script(console: Console, commands: Sequence[ScriptLine], *, is_joined: bool = False) -> bool:
    """Execute commands in order, a move up to its stop. False when one was refused.

    Then the run is cancelled; one that did not begin here is left as it is.
    """
    for number, line in enumerate(commands):
        await console.wait_settled()
        if console.is_ending:
            left = ", ".join(line.text for line in commands[number:])
            console.screen.say(Text(f"the run ended before these commands: {left}", style="yellow"))
            return True
        console.screen.say(f"({console.frame}) {line.text}")
        if not await carry_out(console, line.text):
            why = "" if is_joined else ", so the run is cancelled"
            console.screen.say(Text(f"{line.place}: {line.text}: the command failed{why}", style="yellow"))
            if is_joined and console.elsewhere is None:
                await console.wait_settled()  # a run of this process can only be left where it is paused
            if not console.is_ending:
                await carry_out(console, "leave" if is_joined else "quit")
            return False
        if console.has_quit:
            return True
    await console.wait_settled()
    return True


def exit_code(summary: RunSummary, *, has_quit: bool) -> int:
    if summary.status == "passed":
        return PASSED
    return INTERRUPTED if has_quit else FAILED
