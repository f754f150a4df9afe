"""Every verb of the table means the same in this process and over HTTP."""

from pathlib import Path
from typing import Any, TypeVar

import msgspec
import pytest

from pitstop.app import open_service
from pitstop.errors import PitstopError
from pitstop.runs.verb_table import VERB_OF
from pitstop.service.debugging import VERBS, Request, verbs
from pitstop.service.remote.opening import open_remote_service
from pitstop.service.runs import ActiveRun, BreakpointRequest, DebugRequest
from pitstop.settings import Settings
from tests.contracts.service_desk import Desk, next_stop, wait_for
from tests.doors.http.bench import Bench

A = TypeVar("A")

FLOW = """\
    vars: {n: 1, list: [1, 2]}
    steps:
      - {id: a, run: "echo a > file"}
      - {id: g, steps: [{id: b, run: echo b}, {id: c, run: echo c}]}
      - {id: d, run: "false"}
      - {id: e, run: echo e}
    """
BRANCHES = "steps: [{id: both, parallel: [{id: x, run: echo x}, {id: y, run: echo y}]}, {id: z, run: echo z}]"
HANG = "'while true; do sleep 0.02; done'"
VARYING = (
    *("at", "created_at", "events", "executor", "file", "join", "join_sidecar", "lease_ends_at"),
    *("machine", "options", "paused_seconds", "run", "session", "workspace"),
)


class Dialogue:
    """What was said to the debugger of a run, and what it answered."""

    def __init__(self) -> None:
        self.said: list[tuple[str, Any]] = []
        self.desk: Desk
        self.run: ActiveRun
        self.stop = 0

    async def begin(self, desk: Desk, text: str, **debug: Any) -> None:
        self.desk = desk
        self.run = await desk.start(text, folder=None, debug=DebugRequest(**debug))
        self.stop = 0
        await self.wait_stop()

    async def wait_stop(self) -> int:
        self.stop = (await next_stop(self.desk.service, self.run, self.stop)).id
        return self.stop

    async def say(self, request: Request[A]) -> A:
        answer = await self.desk.debugger(self.run).say(request)
        self.said.append((VERB_OF[type(request)].name, plain(answer)))
        return answer

    async def be_refused(self, request: Request[Any]) -> None:
        with pytest.raises(PitstopError) as refused:
            await self.desk.debugger(self.run).say(request)
        self.said.append((VERB_OF[type(request)].name, (refused.value.code, str(refused.value))))


def plain(value: Any) -> Any:
    """An answer as JSON, without what differs between two runs."""
    match msgspec.to_builtins(value):
        case dict(fields):
            return {name: plain(each) for name, each in fields.items() if name not in VARYING}
        case list(items) | tuple(items):
            return [plain(each) for each in items]
        case other:
            return other


async def look_and_change(talk: Dialogue) -> None:
    stop = talk.stop
    await talk.say(verbs.State())
    added = await talk.say(BreakpointRequest(step="e", group="late", state=".vars.n", equals=3, has_equals=True))
    await talk.say(verbs.ChangeBreakpoint(added.id, step="d", has_equals=None, position=None))
    await talk.be_refused(verbs.ChangeBreakpoint(added.id, state=None))
    await talk.say(verbs.ChangeBreakpoint(added.id, has_equals=False, state=None, condition="true"))
    await talk.say(verbs.ChangeBreakpoint(added.id, enabled=False))
    await talk.say(verbs.EnableBreakpointGroup("late", True))
    await talk.say(verbs.Breakpoints())
    await talk.say(verbs.RemoveBreakpoint(added.id))
    await talk.be_refused(verbs.RemoveBreakpoint(added.id))
    await talk.be_refused(verbs.EnableBreakpointGroup("late", True))
    await talk.say(BreakpointRequest(step="e", note="look here"))
    await talk.say(verbs.Mute())
    await talk.say(verbs.State())
    await talk.say(verbs.Mute(muted=False))
    await talk.say(verbs.ClearBreakpoints())
    await talk.say(verbs.Breakpoints())
    await talk.say(BreakpointRequest(position="error"))
    await talk.say(verbs.Watch(".vars.n"))
    await talk.say(verbs.Watch(".nope | error"))
    await talk.say(verbs.Watches(stop))
    await talk.say(verbs.Unwatch(".nope | error"))
    await talk.say(verbs.Evaluate(".vars.list[]", stop))
    await talk.say(verbs.Evaluate(".vars"))
    await talk.be_refused(verbs.Evaluate(".vars |", stop))
    await talk.say(verbs.Variables(stop, ".vars.list", cursor=1, limit=1, search="2"))
    await talk.say(verbs.Variables(stop, ".vars", sort="bytes"))
    await talk.say(verbs.Scope(stop))
    await talk.say(verbs.Set(stop, ".vars.n", None))
    await talk.say(verbs.Set(stop, ".vars.more", {"a": [1]}, layer="run"))
    await talk.say(verbs.Unset(stop, ".vars.list"))
    await talk.say(verbs.State())
    await talk.say(verbs.Undo(stop))
    await talk.say(verbs.Config(stop, {"script": "echo changed > file"}))
    await talk.say(verbs.ReadConfig(stop))
    await talk.say(verbs.Context(stop))
    await talk.say(verbs.Extend(600.0))
    await talk.be_refused(verbs.Extend(-1.0))
    await talk.be_refused(verbs.Set(stop, ".vars.list.deeper", 1))


async def move(talk: Dialogue) -> None:
    first = talk.stop
    await talk.say(verbs.Step(first, "over"))
    await talk.be_refused(verbs.Retry(await talk.wait_stop()))
    await talk.be_refused(verbs.Continue(first))
    await talk.be_refused(verbs.Decide(talk.stop, "stop"))
    points = {(each.step, each.position): each.number for each in await talk.say(verbs.History())}
    await talk.say(verbs.Diff(talk.stop))
    await talk.say(verbs.Diff(before=points["a", "before"], after=points["a", "after"]))
    await talk.say(verbs.Files(points["a", "before"]))
    await talk.say(verbs.FilesDiff("repo/file", points["a", "before"]))
    await talk.say(verbs.Step(talk.stop, "into"))
    await talk.say(verbs.Step(await talk.wait_stop(), "out"))
    await talk.wait_stop()
    await talk.be_refused(verbs.Step(talk.stop, "to", "nope"))
    await talk.be_refused(verbs.Forward(talk.stop))
    await talk.say(verbs.Step(talk.stop, "back"))
    await talk.wait_stop()
    await talk.say(verbs.State())
    await talk.say(verbs.Forward(talk.stop))
    await talk.say(verbs.Step(await talk.wait_stop(), "back"))
    await talk.say(verbs.Rewind(await talk.wait_stop(), points["a", "before"]))
    await talk.say(verbs.Step(await talk.wait_stop(), "to", "g"))
    await talk.say(verbs.Restart(await talk.wait_stop()))
    await talk.say(verbs.Goto(await talk.wait_stop(), "d"))
    await talk.wait_stop()
    await talk.say(verbs.State())
    await talk.say(verbs.Inject(talk.stop, {"uses": "run", "with": {"script": "echo in"}}))
    await talk.say(verbs.Inject(talk.stop, {"steps": [{"run": "echo out", "timeout": "1m"}]}, "after"))
    await talk.say(verbs.Uninject(talk.stop, "d+2"))
    await talk.be_refused(verbs.Uninject(talk.stop, "d+2"))
    await talk.be_refused(verbs.Inject(talk.stop, {"rum": "echo"}))
    await talk.say(verbs.Continue(talk.stop, keeps_step=True))
    await talk.say(verbs.Retry(await talk.wait_stop()))
    await talk.say(verbs.Force(await talk.wait_stop(), "passed", {"by": "test"}, pauses=True))
    await talk.wait_stop()
    await talk.say(verbs.Export())
    await talk.say(verbs.Skip(talk.stop, {"x": 1}))
    assert (await talk.run.wait()).status == "passed"
    await talk.be_refused(verbs.Pause())
    await talk.be_refused(verbs.Scope(talk.stop))


async def end_branches(talk: Dialogue, desk: Desk) -> None:
    both = (BreakpointRequest(step="x"), BreakpointRequest(step="y"))
    await talk.begin(desk, BRANCHES, breakpoints=both)
    await next_stop(talk.desk.service, talk.run, 1)  # the other one
    await talk.be_refused(verbs.CancelFrame("nope"))
    await talk.be_refused(verbs.CancelFrame("main"))
    await talk.say(verbs.CancelFrame("both.x", "enough"))
    await talk.say(verbs.Pause())
    await talk.say(verbs.Detach())
    assert (await talk.run.wait()).status != "passed"
    talk.said.append(("log", [line async for line in logged(talk.run)]))


async def logged(run: ActiveRun) -> Any:
    async for event in run.events():
        if event.kind == "debug.frame_cancelled":
            yield event.fields["frame"], event.fields["reason"]


async def stop_a_step(talk: Dialogue, desk: Desk) -> None:
    await talk.begin(desk, f"steps: [{{id: h, run: {HANG}}}, {{id: z, run: echo z}}]", stop_at_entry=True)
    await talk.be_refused(verbs.StopStep("h"))
    await talk.be_refused(verbs.CancelPause())
    await talk.say(verbs.Continue(talk.stop))
    await wait_for(talk.run, "step.started")
    await talk.say(verbs.Pause())
    await talk.say(verbs.CancelPause())
    await talk.say(verbs.StopStep("h"))
    await talk.wait_stop()
    await talk.say(verbs.State())
    await talk.say(verbs.Force(talk.stop, "passed"))
    assert (await talk.run.wait()).status == "passed"


async def abort_after_entering_code(talk: Dialogue, desk: Desk) -> None:
    await talk.begin(desk, "steps: [{id: f, run: echo f}, {id: z, run: echo z}]", stop_at_entry=True)
    await talk.say(verbs.Step(talk.stop, "into", code=True))
    await talk.wait_stop()
    await talk.say(verbs.State())
    await talk.say(verbs.Abort("seen"))
    assert (await talk.run.wait()).error == "Aborted: seen"


async def dialogue(desk: Desk) -> list[tuple[str, Any]]:
    talk = Dialogue()
    await talk.begin(desk, FLOW, stop_at_entry=True)
    await look_and_change(talk)
    await move(talk)
    await end_branches(talk, desk)
    await stop_a_step(talk, desk)
    await abort_after_entering_code(talk, desk)
    return talk.said


async def test_every_verb_gets_the_same_answers_here_and_over_http(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    near, far = tmp_path / "near", tmp_path / "far"
    near.mkdir()
    far.mkdir()
    monkeypatch.chdir(near)
    async with open_service(Settings(tmp_path / "state")) as service:
        here = await dialogue(Desk(service, near, near))
    async with Bench(far).serving() as bench, open_remote_service(bench.url, bench.token) as service:
        there = await dialogue(Desk(service, bench.folder, bench.folder))

    assert {verb for verb, _ in here if verb in VERBS} == set(VERBS)
    for said, same in zip(here, there, strict=True):
        assert said == same


@pytest.mark.parametrize("verb", VERBS.values(), ids=lambda verb: verb.name)
def test_the_example_of_a_verb_can_be_said(verb: Any) -> None:
    named = {name: {"group": "slow", "breakpoint": 1}[name] for name in verb.path_fields}
    if verb.method in ("POST", "PATCH"):
        msgspec.convert({**verb.example, **named}, verb.request)
