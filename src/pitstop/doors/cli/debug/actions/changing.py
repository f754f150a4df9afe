"""Commands that change what the run sees and does."""

from typing import Any

from rich.text import Text

from pitstop.doors.cli.debug.arguments import Assignment, Injection
from pitstop.doors.cli.debug.console import Action, Console
from pitstop.doors.cli.debug.listings import config_lines
from pitstop.doors.cli.debug.render import short


async def set_value(console: Console, given: Assignment) -> None:
    await console.debugger.set(console.stopped().id, given.path, given.value, layer=given.layer)
    _done(console, f"{given.path} = {short(given.value)}")


async def unset_value(console: Console, given: Assignment) -> None:
    await console.debugger.unset(console.stopped().id, given.path, layer=given.layer)
    _done(console, f"removed {given.path}")


async def undo(console: Console, _: None) -> None:
    await console.debugger.undo(console.stopped().id)
    _done(console, "undid the last edit")


async def config(console: Console, keys: dict[str, Any] | None) -> None:
    stop = console.stopped()
    if keys is not None:
        await console.debugger.override_config(stop.id, keys)
        when = "when it runs" if stop.position == "before" else "with `retry`"
        _done(console, f"{', '.join(keys)} applies {when}" if keys else "restored the step's own config")
    console.screen.say(*config_lines(await console.debugger.config(stop.id)))


async def inject(console: Console, given: Injection) -> None:
    stop = console.stopped()
    path = await console.debugger.inject(stop.id, given.step, given.position)
    _done(console, f"{path} will run {given.position} {stop.occurrence}")


async def shell(console: Console, command: str | None) -> None:
    await console.open_shell(console, command, "shell")


def _done(console: Console, told: str) -> None:
    console.screen.say(Text("  ").append(told, style="green"))


ACTIONS: dict[str, Action] = {
    "set": set_value,
    "unset": unset_value,
    "undo": undo,
    "config": config,
    "inject": inject,
    "sh": shell,
}
