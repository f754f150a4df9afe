"""Commands of the debug console: what a flow can be told at a stop, and editors have no button for."""

import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any, Literal, NamedTuple

from pitstop.doors.dap.protocol.failures import RequestFailed, stale
from pitstop.doors.dap.requests.terminal import open_shell
from pitstop.doors.dap.requests.variables import edit, read_json, stop_for
from pitstop.doors.dap.session.adapter import Adapter
from pitstop.doors.dap.session.conductor import Conductor
from pitstop.service.caller import LOCAL
from pitstop.service.debugging import Debugger, StopInfo, verbs
from pitstop.service.runs import BreakpointRequest


class Command(NamedTuple):
    usage: str
    summary: str
    act: Callable[[Adapter, str, int | None], Awaitable[str]]


def is_command(text: str) -> bool:
    """Whether it begins with the name of a command; jq has words of the same name, which are followed by `(`."""
    return text.split(maxsplit=1)[0] in COMMANDS if text else False


async def carry_out(adapter: Adapter, text: str, frame_id: int | None) -> str:
    name, _, rest = text.partition(" ")
    return await COMMANDS[name].act(adapter, rest.strip(), frame_id)


# --- Looking ---------------------------------------------------------------------------------------------------------


async def _help(adapter: Adapter, rest: str, frame_id: int | None) -> str:
    width = max(len(each.usage) for each in COMMANDS.values())
    lines = [f"{each.usage:{width}}  {each.summary}" for each in COMMANDS.values()]
    return "\n".join([*lines, "Anything else is a jq expression, such as .vars or .steps | keys"])


async def _frames(adapter: Adapter, rest: str, frame_id: int | None) -> str:
    state = await adapter.session().live()[0].say(verbs.State())
    live = [each for each in state.frames if each.state != "done"]
    return "\n".join(f"{each.id}  {each.state}  {each.occurrence or ''}".rstrip() for each in live)


async def _log(adapter: Adapter, rest: str, frame_id: int | None) -> str:
    session = adapter.session()
    occurrence = rest
    if not occurrence:
        stop = await session.stop(await stop_for(adapter, frame_id))
        if stop is None:
            raise stale("this step")
        occurrence = stop.occurrence
    lines = [] if session.run is None else await session.run.log_tail(occurrence, 100)
    return "\n".join(lines) or f"{occurrence} has no output"


async def _config(adapter: Adapter, rest: str, frame_id: int | None) -> str:
    config = await adapter.session().live()[0].say(verbs.ReadConfig(await stop_for(adapter, frame_id)))
    lines = [json.dumps(dict(config.resolved), ensure_ascii=False, indent=2)]
    return "\n".join([*lines, *(f"{path}: {problem}" for path, problem in config.problems.items())])


# --- Changing --------------------------------------------------------------------------------------------------------


async def _set(adapter: Adapter, rest: str, frame_id: int | None) -> str:
    path, _, value = rest.partition(" ")
    if not value.strip():
        raise RequestFailed('usage: set PATH JSON, for example: set .vars.region "eu"')
    stop = await stop_for(adapter, frame_id)
    await edit(adapter, verbs.Set(stop, path, read_json(value.removeprefix("= "))))
    adapter.editor.references.forget_under(stop, path)
    return f"set {path}"


async def _unset(adapter: Adapter, rest: str, frame_id: int | None) -> str:
    stop = await stop_for(adapter, frame_id)
    await edit(adapter, verbs.Unset(stop, rest))
    adapter.editor.references.forget_under(stop, rest)
    return f"removed {rest}"


async def _undo(adapter: Adapter, rest: str, frame_id: int | None) -> str:
    stop = await stop_for(adapter, frame_id)
    await adapter.session().live()[0].say(verbs.Undo(stop))
    adapter.editor.edits[stop] = adapter.editor.edits.get(stop, ())[:-1]
    return "undone"


async def _override(adapter: Adapter, rest: str, frame_id: int | None) -> str:
    config = read_json(rest)
    if not isinstance(config, dict):
        raise RequestFailed('usage: override JSON, for example: override {"script": "make"}')
    await edit(adapter, verbs.Config(await stop_for(adapter, frame_id), config))
    return "overrode the step's config"


async def _inject(adapter: Adapter, rest: str, frame_id: int | None) -> str:
    word, _, step = rest.partition(" ")
    given = read_json(step if word in ("before", "after") else rest)
    debugger, _ = adapter.session().live()
    number = await stop_for(adapter, frame_id)
    possible = next((stop.positions for stop in (await debugger.say(verbs.State())).stops if stop.id == number), ())
    position: Literal["before", "after"] = "before" if word == "before" or "before" in possible else "after"
    if word == "after":
        position = "after"
    injected = await debugger.say(verbs.Inject(number, given, position))
    return f"{injected.path} will run {position} this step"


async def _uninject(adapter: Adapter, rest: str, frame_id: int | None) -> str:
    await adapter.session().live()[0].say(verbs.Uninject(await stop_for(adapter, frame_id), rest))
    return f"removed {rest}"


async def _break(adapter: Adapter, rest: str, frame_id: int | None) -> str:
    """One more, of this console: editors do not know of it."""
    place, _, note = rest.partition(" note ")
    step, _, condition = place.partition(" if ")
    step, slash, tool = step.strip().rpartition("/") if "/" in step else (step.strip(), "", "")
    debugger, _ = adapter.session().live()
    wanted = BreakpointRequest(
        step=None if slash and step in ("", "*") else step,
        tool=tool or None,
        condition=condition.strip() or None,
        note=note.strip() or None,
    )
    added = await debugger.say(wanted)
    if slash and wanted.step is None:
        return f"breakpoint {added.id} at {tool} calls of every agent"
    if not added.paths:
        await debugger.say(verbs.RemoveBreakpoint(added.id))
        raise RequestFailed(f"there is no step {step}")
    return f"breakpoint {added.id} at {', '.join(added.paths)}"


async def _stop_step(adapter: Adapter, rest: str, frame_id: int | None) -> str:
    await adapter.session().live()[0].say(verbs.StopStep(rest))
    return f"stopping {rest}"


async def _unpause(adapter: Adapter, rest: str, frame_id: int | None) -> str:
    await adapter.session().live()[0].say(verbs.CancelPause())
    return "no pause is pending now"


async def _shell(adapter: Adapter, rest: str, frame_id: int | None) -> str:
    stop = await adapter.session().stop(await stop_for(adapter, frame_id))
    if stop is None:
        raise stale("this step")
    return await open_shell(adapter, stop, rest)


async def _answer(adapter: Adapter, rest: str, frame_id: int | None) -> str:
    session = adapter.session()
    word, _, comment = rest.partition(" ")
    questions = () if session.run is None or session.is_over else await session.run.questions()
    if word not in ("yes", "no") or session.run is None:
        raise RequestFailed("usage: answer yes|no [COMMENT]")
    if not questions:
        raise RequestFailed("no step is waiting for approval")
    occurrence = questions[0].occurrence
    runs = session.origin.service.runs
    await runs.answer(LOCAL, session.run.id, occurrence, approved=word == "yes", comment=comment)
    return f"answered {occurrence}"


async def _mute(adapter: Adapter, rest: str, frame_id: int | None) -> str:
    await adapter.session().live()[0].say(verbs.Mute())
    return "all breakpoints are ignored until `unmute`"


async def _unmute(adapter: Adapter, rest: str, frame_id: int | None) -> str:
    await adapter.session().live()[0].say(verbs.Mute(muted=False))
    return "breakpoints are active again"


async def _clear(adapter: Adapter, rest: str, frame_id: int | None) -> str:
    """All of the run, also those that the editor still shows."""
    await adapter.session().live()[0].say(verbs.ClearBreakpoints())
    return "removed all breakpoints of this run; those in the editor are set again in the next run"


# --- Moving: the client does not know that the run goes on, so it is told --------------------------------------------


async def _skip(adapter: Adapter, rest: str, frame_id: int | None) -> str:
    outputs, message = _outputs_or_text(rest)
    async with _moving(adapter, frame_id) as (debugger, stop):
        await debugger.say(verbs.Skip(stop.id, outputs, message, pauses=True))
    return f"{stop.occurrence} {'skipped' if stop.call is None else 'refused'}"


async def _decide(adapter: Adapter, rest: str, frame_id: int | None) -> str:
    word, _, text = rest.partition(" ")
    choice: Any = word.replace("-", "_")  # any other than the known ones is refused
    try:
        request = verbs.Decide(await stop_for(adapter, frame_id), choice, text.strip())
    except ValueError as error:
        raise RequestFailed(f"decide: {error}") from error
    if choice == "take_over":
        await adapter.session().live()[0].say(request)
        return "it is yours: repair it, then continue; the tests run again"
    async with _moving(adapter, frame_id) as (debugger, stop):
        await debugger.say(request)
    return f"{stop.occurrence}: {word}"


async def _retry(adapter: Adapter, rest: str, frame_id: int | None) -> str:
    """And continue, as everywhere: a step that fails again stops again."""
    async with _at_stop(adapter, frame_id) as (conductor, stop):
        await conductor.retry(stop)
        _tell_continued(adapter, stop, is_all=conductor.stops_all)
    return f"{stop.occurrence} retried"


async def _force(adapter: Adapter, rest: str, frame_id: int | None) -> str:
    status: Any
    status, _, outputs = rest.partition(" ")  # any other than the known ones is refused
    given, message = _outputs_or_text(outputs.strip())
    if message is not None and status == "passed":
        given, message = {"output": message}, None
    async with _moving(adapter, frame_id) as (debugger, stop):
        await debugger.say(verbs.Force(stop.id, status, given, message, pauses=True))
    return f"{stop.occurrence} forced to {status}"


def _outputs_or_text(text: str) -> tuple[Any, str | None]:
    """Outputs as JSON, or a message in words."""
    if not text:
        return None, None
    try:
        return read_json(text), None
    except RequestFailed:
        if text[0] in "{[":
            raise
        return None, text


async def _back(adapter: Adapter, rest: str, frame_id: int | None) -> str:
    async with _moving(adapter, frame_id) as (debugger, stop):
        await debugger.say(verbs.Step(stop.id, "back", external=rest == "external"))
    return f"{stop.occurrence} rewound"


async def _forward(adapter: Adapter, rest: str, frame_id: int | None) -> str:
    async with _moving(adapter, frame_id) as (debugger, stop):
        way = await debugger.say(verbs.Forward(stop.id))
    return f"returning to {way.occurrence}; files are {'restored' if way.restores_files else 'not restored'}"


@asynccontextmanager
async def _moving(adapter: Adapter, frame_id: int | None) -> AsyncIterator[tuple[Debugger, StopInfo]]:
    """For a command that resumes the branch, which stops again."""
    debugger, _ = adapter.session().live()
    async with _at_stop(adapter, frame_id) as (conductor, stop):
        with conductor.moving(stop, (stop.id,), is_step=True, expected="step"):
            yield debugger, stop
        _tell_continued(adapter, stop, is_all=False)


@asynccontextmanager
async def _at_stop(adapter: Adapter, frame_id: int | None) -> AsyncIterator[tuple[Conductor, StopInfo]]:
    _, conductor = adapter.session().live()
    number = await stop_for(adapter, frame_id)
    async with adapter.editor.turn:
        stop = await adapter.session().stop(number)
        if stop is None:
            raise stale("this step")
        yield conductor, stop


def _tell_continued(adapter: Adapter, stop: StopInfo, *, is_all: bool) -> None:
    thread = adapter.editor.threads.number(stop.frame)
    adapter.editor.tell("continued", {"threadId": thread, "allThreadsContinued": is_all})


COMMANDS = {
    "help": Command("help", "List the commands", _help),
    "frames": Command("frames", "List the frames and where they are", _frames),
    "log": Command("log [OCCURRENCE]", "Show the end of a step's log", _log),
    "config": Command("config", "Show the step's resolved config", _config),
    "set": Command("set PATH JSON", "Set a value", _set),
    "unset": Command("unset PATH", "Remove a value", _unset),
    "undo": Command("undo", "Undo the last edit at this stop", _undo),
    "override": Command("override JSON", "Override keys of the step's config", _override),
    "inject": Command("inject [before|after] JSON", 'Inject a step, such as {"run": "make clean"}', _inject),
    "uninject": Command("uninject STEP", "Remove an injected step that has not run", _uninject),
    "break": Command("break STEP [if JQ] [note TEXT]", "Pause before a step", _break),
    "mute": Command("mute", "Mute all breakpoints", _mute),
    "unmute": Command("unmute", "Unmute all breakpoints", _unmute),
    "clear": Command("clear", "Remove all breakpoints", _clear),
    "shell": Command(
        "shell [sidecar|step]",
        "Open a terminal where the step works; `sidecar` is read-only, `step` runs the step in it",
        _shell,
    ),
    "answer": Command("answer yes|no [COMMENT]", "Answer the step that is waiting for approval", _answer),
    "skip": Command(
        "skip [JSON | REASON]", "Skip the step, with outputs, or refuse a tool call; pause at the next", _skip
    ),
    "retry": Command("retry", "Retry the step with your changes, and continue", _retry),
    "decide": Command(
        "decide take-over|guide|roll-back|skip|stop [TEXT]", "Choose how a fix loop that gave up continues", _decide
    ),
    "force": Command(
        "force STATUS [JSON | TEXT]", "Force passed, failed or skipped, or the result of a tool call", _force
    ),
    "stop": Command("stop STEP", "Stop a running step, and pause at its failure", _stop_step),
    "unpause": Command("unpause", "Cancel a pending pause", _unpause),
    "forward": Command("forward", "Undo the last step back, until a step has finished since", _forward),
    "back": Command("back [external]", "Step back; `external` confirms repeating external effects", _back),
}
