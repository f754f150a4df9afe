"""Commands that let frames go on, stop them, and end the run."""

import asyncio
import json
from pathlib import Path
from typing import Any

from rich.text import Text

from pitstop.doors.cli.debug.arguments import AGREED, Answer, Destination, Return, Verdict
from pitstop.doors.cli.debug.commands import find
from pitstop.doors.cli.debug.console import Action, Console
from pitstop.doors.cli.debug.listings import help_lines, history_list
from pitstop.errors import BadCommand, ExternalEffects


async def step_over(console: Console, _: None) -> None:
    await console.debugger.step_over(console.stopped().id)


async def step_into(console: Console, _: None) -> None:
    await console.debugger.step_into(console.stopped().id)


async def step_out(console: Console, _: None) -> None:
    await console.debugger.step_out(console.stopped().id)


async def continue_(console: Console, all_frames: bool) -> None:
    if all_frames:
        await console.debugger.continue_all()
    else:
        await console.debugger.continue_(console.stopped().id)


async def run_to(console: Console, step: str) -> None:
    await console.debugger.run_to(console.stopped().id, step)


async def pause(console: Console, _: None) -> None:
    await console.debugger.pause()
    await console.look()
    running = [frame.id for frame in console.state.frames if frame.state == "pausing"]
    if running:
        told = f"pausing {', '.join(running)}: each will pause at its next step"
        console.screen.say(Text(told, style="yellow"))


async def skip(console: Console, outputs: dict[str, Any] | None) -> None:
    await console.debugger.skip(console.stopped().id, outputs)


async def retry(console: Console, _: None) -> None:
    await console.debugger.retry(console.stopped().id)


async def force(console: Console, verdict: Verdict) -> None:
    await console.debugger.force(console.stopped().id, verdict.status, verdict.outputs)


async def back(console: Console, where: Return) -> None:
    try:
        await console.debugger.step_back(console.stopped().id, external=where.external)
    except ExternalEffects as error:
        raise _ask_to_agree(error, "back") from error


async def restart(console: Console, where: Return) -> None:
    try:
        await console.debugger.restart_frame(console.stopped().id, external=where.external)
    except ExternalEffects as error:
        raise _ask_to_agree(error, "restart") from error


async def rewind(console: Console, where: Return) -> None:
    try:
        await console.debugger.rewind(console.stopped().id, where.point or 0, external=where.external)
    except ExternalEffects as error:
        raise _ask_to_agree(error, f"rewind {where.point}") from error


async def goto(console: Console, where: Destination) -> None:
    try:
        await console.debugger.goto(console.stopped().id, where.step, external=where.external)
    except ExternalEffects as error:
        raise _ask_to_agree(error, f"goto {where.step}") from error


def _ask_to_agree(error: ExternalEffects, command: str) -> BadCommand:
    steps = ", ".join(error.steps)
    return BadCommand(
        f"this would repeat the external effects of {steps}, which cannot be undone: confirm with `{command} {AGREED}`"
    )


async def show_history(console: Console, _: None) -> None:
    console.screen.say(*history_list(await console.debugger.history(), console.frame_ids))


async def answer(console: Console, given: Answer) -> None:
    questions = await console.run.questions()
    if not questions:
        raise BadCommand("no step is waiting for an answer")
    await console.run.answer(questions[0].occurrence, approved=given.approved, comment=given.comment)


async def extend(console: Console, seconds: float) -> None:
    await console.debugger.extend(seconds)


async def export(console: Console, file: str) -> None:
    text = json.dumps(await console.debugger.export(), ensure_ascii=False, indent=1)
    try:
        await asyncio.to_thread(Path(file).write_text, text, encoding="utf-8")
    except OSError as error:
        raise BadCommand(f"cannot write {file}: {error.strerror}") from error
    console.screen.say(f"exported the session to {file}")


async def detach(console: Console, _: None) -> None:
    await console.debugger.detach()
    where = f" on the server: `logs {console.run.id} --follow` shows it" if console.is_on_server else ""
    console.screen.say(Text(f"detached: the run continues without pausing{where}", style="dim"))
    if console.is_on_server:
        console.leave()


async def leave(console: Console, _: None) -> None:
    if not console.is_on_server:
        raise BadCommand("this run belongs to this process: `quit` cancels it, `detach` lets it finish")
    console.screen.say(Text(f"left paused: `debug {console.run.id}` returns to it", style="dim"))
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
    "next": step_over,
    "step": step_into,
    "return": step_out,
    "continue": continue_,
    "until": run_to,
    "pause": pause,
    "skip": skip,
    "retry": retry,
    "force": force,
    "back": back,
    "restart": restart,
    "rewind": rewind,
    "goto": goto,
    "history": show_history,
    "answer": answer,
    "extend": extend,
    "export": export,
    "detach": detach,
    "leave": leave,
    "quit": quit_run,
    "help": show_help,
}
