"""Commands that let frames go on, stop them, and end the run."""

import asyncio
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
from rich.text import Text

from pitstop.doors.cli.debug.arguments import AGREED, Answer, Choice, Destination
from pitstop.doors.cli.debug.commands import find
from pitstop.doors.cli.debug.console import Action, Console
from pitstop.doors.cli.debug.listings import help_lines, history_list
from pitstop.errors import BadCommand, ExternalEffects
from pitstop.program import program
from pitstop.service.caller import LOCAL
from pitstop.service.debugging import Request, verbs

Make = Callable[[int, Any], Request[Any]]  # of the stop and the argument of a command


def _at_stop(make: Make) -> Action:
    """The action of a command that says one thing about the selected stop."""

    async def act(console: Console, given: Any) -> None:
        await console.debugger.say(make(console.stopped().id, given))

    return act


def _travel(name: str, make: Make) -> Action:
    """The same; repeating external effects needs a confirmation."""
    act = _at_stop(make)

    async def travel(console: Console, where: Destination) -> None:
        try:
            await act(console, where)
        except ExternalEffects as error:
            command = name if where.target is None else f"{name} {where.target}"
            raise BadCommand(
                f"this would repeat the external effects of {', '.join(error.steps)}, which cannot be undone: "
                f"confirm with `{command} {AGREED}`"
            ) from error

    return travel


async def forward(console: Console, _: None) -> None:
    way = await console.debugger.say(verbs.Forward(console.stopped().id))
    files = "restored" if way.restores_files else "not restored"
    console.screen.say(Text(f"returning to {way.position} {way.occurrence}; files are {files}", style="dim"))


async def decide(console: Console, given: Choice) -> None:
    request = {"stop": console.stopped().id, "choice": given.name, "text": given.text}
    try:
        await console.debugger.say(msgspec.convert(request, verbs.Decide))
    except msgspec.ValidationError as error:
        raise BadCommand(f"decide: {error}") from error
    if given.name == "take_over":
        console.screen.say(Text("it is yours: repair it, then `continue` runs the tests", style="green"))


async def continue_(console: Console, all_frames: bool) -> None:
    request = verbs.Continue(all=True) if all_frames else verbs.Continue(console.stopped().id)
    await console.debugger.say(request)


async def pause(console: Console, _: None) -> None:
    await console.debugger.say(verbs.Pause())
    await console.look()
    running = [frame.id for frame in console.state.frames if frame.state == "pausing"]
    if running:
        told = f"pausing {', '.join(running)}: each will pause at its next step"
        console.screen.say(Text(told, style="yellow"))


async def unpause(console: Console, _: None) -> None:
    await console.debugger.say(verbs.CancelPause())
    console.screen.say(Text("no pause is pending now", style="dim"))


async def stop(console: Console, step: str | None) -> None:
    await console.look()
    frame = next((each for each in console.state.frames if each.id == console.frame), None)
    name = step or (frame.occurrence if frame is not None else None)
    if name is None:
        raise BadCommand("the selected frame runs no step; `stop STEP` names one")
    await console.debugger.say(verbs.StopStep(name))
    console.screen.say(Text(f"stopping {name}", style="yellow"))


async def show_history(console: Console, _: None) -> None:
    console.screen.say(*history_list(await console.debugger.say(verbs.History()), console.frame_ids))


async def answer(console: Console, given: Answer) -> None:
    questions = await console.run.questions()
    if not questions:
        raise BadCommand("no step is waiting for approval")
    await console.service.runs.answer(
        LOCAL, console.run.id, questions[0].occurrence, approved=given.approved, comment=given.comment
    )


async def extend(console: Console, seconds: float) -> None:
    await console.debugger.say(verbs.Extend(seconds))


async def export(console: Console, file: str) -> None:
    text = json.dumps(await console.debugger.say(verbs.Export()), ensure_ascii=False, indent=1)
    try:
        await asyncio.to_thread(Path(file).write_text, text, encoding="utf-8")
    except OSError as error:
        raise BadCommand(f"cannot write {file}: {error.strerror}") from error
    console.screen.say(f"exported the session to {file}")


async def detach(console: Console, _: None) -> None:
    await console.debugger.say(verbs.Detach())
    where = ""
    if console.elsewhere is not None:
        where = f": `{program()} logs {console.run.id} --follow{console.elsewhere}` follows it"
    console.screen.say(Text(f"detached: the run continues without pausing{where}", style="dim"))
    if console.elsewhere is not None:
        console.leave()


async def leave(console: Console, _: None) -> None:
    if console.elsewhere is None:
        await console.service.runs.leave(LOCAL, console.run.id)
    command = f"{program()} debug {console.run.id}{console.elsewhere or ''}"
    console.screen.say(Text(f"left paused: `{command}` returns to it", style="dim"))
    console.leave()


async def quit_run(console: Console, _: None) -> None:
    if console.is_over:
        return
    await console.look()
    alive = [frame.id for frame in console.state.frames if frame.state != "done"]
    if await console.ask(f"Cancel the run? {', '.join(alive)} will be cancelled, then cleanup runs."):
        await console.end("cancelled in the debugger")


async def show_help(console: Console, name: str | None) -> None:
    console.screen.say(*help_lines(find(name) if name is not None else None))


ACTIONS: dict[str, Action] = {
    "next": _at_stop(lambda stop, _: verbs.Step(stop, "over")),
    "step": _at_stop(lambda stop, _: verbs.Step(stop, "into")),
    "return": _at_stop(lambda stop, _: verbs.Step(stop, "out")),
    "until": _at_stop(lambda stop, step: verbs.Step(stop, "to", step)),
    "skip": _at_stop(lambda stop, given: verbs.Skip(stop, given.outputs, given.message)),
    "retry": _at_stop(lambda stop, _: verbs.Retry(stop)),
    "force": _at_stop(lambda stop, given: verbs.Force(stop, given.status, given.outputs, given.message)),
    "back": _travel("back", lambda stop, where: verbs.Step(stop, "back", external=where.external)),
    "forward": forward,
    "restart": _travel("restart", lambda stop, where: verbs.Restart(stop, where.external)),
    "rewind": _travel("rewind", lambda stop, where: verbs.Rewind(stop, where.target, where.external)),
    "goto": _travel("goto", lambda stop, where: verbs.Goto(stop, where.target, where.external)),
    "continue": continue_,
    "pause": pause,
    "unpause": unpause,
    "stop": stop,
    "history": show_history,
    "answer": answer,
    "extend": extend,
    "export": export,
    "decide": decide,
    "detach": detach,
    "leave": leave,
    "quit": quit_run,
    "help": show_help,
}
