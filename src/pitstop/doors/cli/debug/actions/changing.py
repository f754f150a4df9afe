"""Commands that change what the run sees and does."""

from functools import partial
from typing import Any

import msgspec
from rich.text import Text

from pitstop.doors.cli.debug.arguments import Assignment, Injection
from pitstop.doors.cli.debug.console import Action, Console
from pitstop.doors.cli.debug.listings import config_lines
from pitstop.doors.cli.debug.render import json_text, short
from pitstop.doors.cli.debug.shell import open_shell
from pitstop.doors.cli.debug.table import UNSPOKEN
from pitstop.errors import BadCommand
from pitstop.service.debugging import Verb, verbs


async def set_value(console: Console, given: Assignment) -> None:
    await console.debugger.say(verbs.Set(console.stopped().id, given.path, given.value, layer=given.layer))
    _done(console, f"{given.path} = {short(given.value)}")


async def unset_value(console: Console, given: Assignment) -> None:
    await console.debugger.say(verbs.Unset(console.stopped().id, given.path, layer=given.layer))
    _done(console, f"removed {given.path}")


async def undo(console: Console, _: None) -> None:
    await console.debugger.say(verbs.Undo(console.stopped().id))
    _done(console, "undid the last edit")


async def config(console: Console, keys: dict[str, Any] | None) -> None:
    stop = console.stopped()
    if keys is not None:
        await console.debugger.say(verbs.Config(stop.id, keys))
        when = "when it runs" if stop.position == "before" else "with `retry`"
        _done(console, f"{', '.join(keys)} applies {when}" if keys else "restored the step's own config")
    console.screen.say(*config_lines(await console.debugger.say(verbs.ReadConfig(stop.id))))


async def inject(console: Console, given: Injection | None) -> None:
    stop = console.stopped()
    if given is None:
        await _list_injected(console)
        return
    position = given.position or (stop.positions or ("before",))[0]
    injected = await console.debugger.say(verbs.Inject(stop.id, dict(given.step), position))
    _done(console, f"{injected.path} will run {position} {stop.occurrence}")


async def uninject(console: Console, path: str) -> None:
    await console.debugger.say(verbs.Uninject(console.stopped().id, path))
    _done(console, f"removed {path}")


async def _list_injected(console: Console) -> None:
    await console.look()
    waiting = [each for each in console.state.injected if each.is_waiting]
    lines = [f"{each.step.path}  {each.position} {each.occurrence}  {each.step.title}" for each in waiting]
    console.screen.say(*(Text(f"  {line}") for line in lines or ["no injected step is waiting"]))


async def say_verb(verb: Verb, console: Console, given: dict[str, Any]) -> None:
    """Say a verb that has no command of its own, about the selected stop, and show its answer."""
    if verb.has_stop and "stop" not in given:
        given = {"stop": console.stopped().id, **given}
    try:
        request = msgspec.convert(given, verb.request)
    except msgspec.ValidationError as error:
        raise BadCommand(f"{verb.name}: {error}") from error
    answer = await console.debugger.say(request)
    if answer is not None:
        console.screen.say(json_text(msgspec.to_builtins(answer), indent=2))


def _done(console: Console, told: str) -> None:
    console.screen.say(Text("  ").append(told, style="green"))


ACTIONS: dict[str, Action] = {
    "set": set_value,
    "unset": unset_value,
    "undo": undo,
    "config": config,
    "inject": inject,
    "uninject": uninject,
    "sh": partial(open_shell, "shell"),
    **{verb.name: partial(say_verb, verb) for verb in UNSPOKEN},
}
