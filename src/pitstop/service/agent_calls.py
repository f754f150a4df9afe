"""The tool calls of the agents of a run, as its events tell them."""

from collections.abc import AsyncIterator, Mapping
from typing import Any

from msgspec import Struct, field

from pitstop.errors import CommandRefused
from pitstop.service.runs import EventInfo


class MadeCall(Struct):
    """A call. `state` is `ok`, `failed`, `refused`, or `open` if its end is not known."""

    number: str
    tool: str
    title: str
    input: Mapping[str, Any]
    state: str = "open"
    output: str = ""


class StoredFiles(Struct, frozen=True):
    """An event of a run that its files were stored at: before a call, or after the last one if `call` is None."""

    event: int
    call: str | None
    title: str


class Attempt(Struct):
    """One execution of an agent step. Of several `files` that are the same, it has the last."""

    occurrence: str
    profile: str = ""
    model: str | None = None
    calls: dict[str, MadeCall] = field(default_factory=dict)
    files: list[StoredFiles] = field(default_factory=list)
    ended: Mapping[str, Any] = field(default_factory=dict)  # status, turns, cost and tokens


async def attempts_in(events: AsyncIterator[EventInfo]) -> dict[str, Attempt]:
    """The attempts of the agents of a run, by occurrence."""
    attempts: dict[str, Attempt] = {}
    last = ""
    async for event in events:
        fields = event.fields
        if event.kind == "step.noted" and fields["note"].startswith("agent."):
            attempt = attempts.setdefault(fields["occurrence"], Attempt(fields["occurrence"]))
            _note(attempt, fields["note"], fields["data"])
        elif event.kind == "snapshot.taken":
            occurrence, _, call = fields["occurrence"].partition("/")
            if occurrence in attempts and (call or fields["position"] == "after"):
                _store(attempts[occurrence], event.number, call, is_same=fields["snapshot"] == last)
            last = fields["snapshot"]
    return attempts


def attempt_named(attempts: Mapping[str, Attempt], run: str, step: str | None) -> Attempt:
    """The attempt of a step, the last one if there are several. CommandRefused names those that there are."""
    found = [each for name, each in attempts.items() if step is None or step in (name, name.rpartition("#")[0])]
    steps = {each.occurrence.rpartition("#")[0] or each.occurrence for each in found}
    if not attempts:
        raise CommandRefused(f"run {run} has no agent step")
    if not found:
        raise CommandRefused(f"run {run} has no agent step {step!r}: use {', '.join(attempts)}")
    if len(steps) > 1:
        raise CommandRefused(f"run {run} has several agent steps: name one of {', '.join(attempts)} with --step")
    return found[-1]


def _note(attempt: Attempt, note: str, told: Mapping[str, Any]) -> None:
    call = attempt.calls.get(str(told.get("call")))
    match note:
        case "agent.started":
            attempt.profile, attempt.model = told["profile"], told.get("model")
        case "agent.called":
            attempt.calls[told["call"]] = MadeCall(told["call"], told["tool"], title_of(told), told["input"])
        case "agent.returned" if call is not None:
            call.state, call.output = "ok" if told["ok"] else "failed", told["output"]
        case "agent.refused" if call is not None:
            call.state, call.output = "refused", told["reason"]
        case "agent.ended":
            attempt.ended = told


def _store(attempt: Attempt, event: int, call: str, *, is_same: bool) -> None:
    if is_same and attempt.files:
        if not call:
            return
        attempt.files.pop()  # what is between them has changed nothing
    title = attempt.calls[call].title if call in attempt.calls else ""
    attempt.files.append(StoredFiles(event, call or None, title))


def title_of(call: Mapping[str, Any]) -> str:
    """A call in a few words."""
    about = call.get("command") or ", ".join(call.get("paths") or ())
    return f"{call['tool']}: {' '.join(about.split())}" if about else str(call["name"])
