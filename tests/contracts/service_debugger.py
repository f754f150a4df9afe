"""What the debugger of every service promises."""

import asyncio
import re
from collections.abc import Coroutine
from typing import Any, Literal

import pytest

from pitstop.errors import (
    BadEdit,
    BadExpression,
    CommandRefused,
    StaleStop,
    UnknownBreakpoint,
    UnknownPoint,
    UnknownStep,
)
from pitstop.service.caller import LOCAL
from pitstop.service.debugging import DebugState, verbs
from pitstop.service.runs import BreakpointRequest, DebugRequest
from tests.contracts.service_desk import Desk, collected, next_stop, wait_for
from tests.patience import PATIENCE_SECONDS


class DebuggerContract:
    """The promises. `desk` is the subclass's fixture."""

    # --- Looking

    async def test_a_stop_tells_where_it_is_and_what_can_be_done(self, desk: Desk) -> None:
        run, stop = await desk.debug()

        assert (stop.step, stop.occurrence, stop.position, stop.reasons) == ("hello", "hello", "before", ("entry",))
        assert (stop.line, stop.will_run, stop.outcome) == (5, True, None)
        assert {"continue", "step_over", "skip", "set"} <= set(stop.allowed)
        assert stop.lease_ends_at is not None
        state = await desk.debugger(run).say(verbs.State())
        assert [(frame.id, frame.state, frame.step) for frame in state.frames] == [("main", "paused", "hello")]
        assert not state.is_ended
        info = await run.info()
        assert (info.status, info.stops) == ("paused", (stop.id,))
        assert info.session in ("waiting", "connected")
        await desk.debugger(run).say(verbs.Detach())
        assert (await run.wait()).status == "failed"
        ended = await desk.debugger(run).say(verbs.State())
        assert (ended.is_ended, ended.stops) == (True, ())

    async def test_a_failure_is_a_stop_with_its_outcome(self, desk: Desk) -> None:
        run, stop = await desk.debug(stop_at_entry=False)

        assert (stop.step, stop.position, stop.reasons) == ("2.tests", "error", ("failure",))
        assert stop.outcome is not None
        assert (stop.outcome.status, stop.outcome.error_type) == ("failed", "CommandFailed")
        assert "exit code 1" in (stop.outcome.error or "")
        await desk.debugger(run).say(verbs.Force(stop.id, "passed"))
        summary = await run.wait()
        assert (summary.status, summary.intervened) == ("passed", True)
        assert (await desk.debugger(run).say(verbs.State())).interventions == ("forced 2.tests to passed",)

    async def test_values_are_evaluated_and_opened_level_by_level(self, desk: Desk) -> None:
        run, stop = await desk.debug()
        debugger = desk.debugger(run)

        assert (await debugger.say(verbs.Evaluate(".vars.tags[], (.inputs.who | ascii_upcase)", stop.id))).values == [
            "a",
            "b",
            "WORLD",
        ]
        with pytest.raises(BadExpression):
            await debugger.say(verbs.Evaluate(".vars |", stop.id))
        top = await debugger.say(verbs.Variables(stop.id))
        by_name = {each.name: each for each in top.variables}
        assert (by_name["vars"].path, by_name["vars"].type, by_name["vars"].size) == (".vars", "object", 2)
        assert by_name["vars"].layer == "run"
        page = await debugger.say(verbs.Variables(stop.id, ".vars.tags", limit=1))
        assert [(each.path, each.value) for each in page.variables] == [(".vars.tags[0]", "a")]
        assert (page.total, page.next) == (2, 1)
        following = await debugger.say(verbs.Variables(stop.id, ".vars.tags", cursor=1))
        assert [each.value for each in following.variables] == ["b"]
        assert [
            each.name for each in (await debugger.say(verbs.Variables(stop.id, ".vars", search="EU"))).variables
        ] == ["region"]
        assert (await debugger.say(verbs.Scope(stop.id))).scope["vars"] == {"region": "eu", "tags": ["a", "b"]}
        config = await debugger.say(verbs.ReadConfig(stop.id))
        assert "${{ .inputs.who }}" in config.raw["script"]
        assert config.resolved["script"].startswith("echo hello world")
        await debugger.say(verbs.Abort())
        await run.wait()

    async def test_long_values_are_cut_where_they_are_only_mentioned(self, desk: Desk) -> None:
        run, stop = await desk.debug("vars: {long: 'x'}\nsteps: [{id: a, run: 'true'}]")
        await desk.debugger(run).say(verbs.Set(stop.id, ".vars.long", "x" * 50_000))

        (long,) = (await desk.debugger(run).say(verbs.Variables(stop.id, ".vars"))).variables

        assert long.is_cut
        assert len(long.value) < 50_000
        assert len(long.preview) < 500
        await desk.debugger(run).say(verbs.Abort())
        await run.wait()

    async def test_watches_are_kept_and_told_with_their_values(self, desk: Desk) -> None:
        run, stop = await desk.debug()
        debugger = desk.debugger(run)
        await debugger.say(verbs.Watch(".inputs.who"))
        await debugger.say(verbs.Watch(".nope | error"))

        values = await debugger.say(verbs.Watches(stop.id))

        assert values[".inputs.who"] == {"value": "world"}
        assert "error" in values[".nope | error"]
        await debugger.say(verbs.Unwatch(".nope | error"))
        assert (await debugger.say(verbs.State())).watches == (".inputs.who",)
        await debugger.say(verbs.Abort())
        await run.wait()

    # --- Moving

    async def test_stepping_goes_over_into_and_out_of_steps(self, desk: Desk) -> None:
        text = """\
            steps:
              - {id: a, run: "true"}
              - {id: g, steps: [{id: b, run: "true"}, {id: c, run: "true"}]}
              - {id: d, run: "true"}
            """
        run, stop = await desk.debug(text)
        debugger, seen = desk.debugger(run), []

        kinds: tuple[Literal["over", "into", "out"], ...] = ("over", "into", "out", "over")
        for kind in kinds:
            await debugger.say(verbs.Step(stop.id, kind))
            if kind == "over" and stop.step == "d":
                break
            stop = await next_stop(desk.service, run, stop.id)
            seen.append(stop.step)

        assert seen == ["g", "g.b", "d"]
        assert (await run.wait()).status == "passed"

    async def test_a_stop_that_is_over_is_refused_and_nothing_changes(self, desk: Desk) -> None:
        run, stop = await desk.debug()
        debugger = desk.debugger(run)
        await debugger.say(verbs.Step(stop.id, "over"))
        later = await next_stop(desk.service, run, stop.id)

        said: tuple[Coroutine[Any, Any, Any], ...] = (
            debugger.say(verbs.Continue(stop.id)),
            debugger.say(verbs.Set(stop.id, ".vars.x", 1)),
            debugger.say(verbs.Scope(stop.id)),
        )
        for command in said:
            with pytest.raises(StaleStop):
                await command

        assert [each.id for each in (await debugger.say(verbs.State())).stops] == [later.id]
        await debugger.say(verbs.Abort())
        await run.wait()

    async def test_a_run_that_nobody_asked_to_debug_can_be_paused(self, desk: Desk) -> None:
        text = "steps: [{id: a, run: 'until test -e go; do sleep 0.02; done'}, {id: b, run: echo b}]"
        run = await desk.start(text)
        await wait_for(run, "step.started")

        await desk.debugger(run).say(verbs.Pause())
        (desk.folder / "go").touch()
        stop = await next_stop(desk.service, run)

        assert (stop.step, stop.position, stop.reasons) == ("a", "after", ("pause",))
        await desk.debugger(run).say(verbs.Continue(stop.id))
        assert (await run.wait()).status == "passed"

    async def test_frames_stop_apart_and_go_on_together(self, desk: Desk) -> None:
        run, stop = await desk.debug(breakpoints=(BreakpointRequest(step="lint"), BreakpointRequest(step="tests")))
        debugger = desk.debugger(run)
        await debugger.say(verbs.Continue(stop.id))
        await next_stop(desk.service, run, stop.id + 1)

        state = await debugger.say(verbs.State())
        assert {each.frame for each in state.stops} == {"2.lint", "2.tests"}
        assert {frame.id: frame.state for frame in state.frames} == {
            "main": "paused",
            "2.lint": "paused",
            "2.tests": "paused",
        }
        await debugger.say(verbs.Detach())
        assert (await run.wait()).status == "failed"

    async def test_aborting_ends_the_run_as_cancelled(self, desk: Desk) -> None:
        run, _ = await desk.debug()

        await desk.debugger(run).say(verbs.Abort("enough"))

        summary = await run.wait()
        assert (summary.status, summary.error) == ("cancelled", "Aborted: enough")
        assert await run.log_tail("tidy") == ["tidied"]

    # --- Changing

    async def test_edits_take_effect_are_listed_and_can_be_undone(self, desk: Desk) -> None:
        run, stop = await desk.debug()
        debugger = desk.debugger(run)
        await debugger.say(verbs.Set(stop.id, ".inputs.who", "edited"))
        await debugger.say(verbs.Set(stop.id, ".vars.extra", {"a": [1]}))
        await debugger.say(verbs.Unset(stop.id, ".vars.region"))
        await debugger.say(verbs.Undo(stop.id))

        state = await debugger.say(verbs.State())

        assert [(edit.path, edit.value, edit.preview, edit.removes) for edit in state.edits] == [
            (".inputs.who", "edited", '"edited"', False),
            (".vars.extra", None, '{"a": [1]}', False),
        ]
        assert (await debugger.say(verbs.Scope(stop.id))).scope["vars"] == {
            "region": "eu",
            "tags": ["a", "b"],
            "extra": {"a": [1]},
        }
        with pytest.raises(BadEdit):
            await debugger.say(verbs.Set(stop.id, ".vars.region.deeper", 1))
        await debugger.say(verbs.Detach())
        assert (await run.wait()).intervened
        assert await run.log_tail("hello") == ["hello edited"]

    async def test_the_state_is_small_however_large_an_edit_is(self, desk: Desk) -> None:
        run, stop = await desk.debug()

        await desk.debugger(run).say(verbs.Set(stop.id, ".vars.text", "x" * 1_000_000))
        await desk.debugger(run).say(verbs.Set(stop.id, ".vars.list", ["x" * 1000] * 1000))

        text, items = (await desk.debugger(run).say(verbs.State())).edits
        assert (len(text.value), text.is_cut) == (10_000, True)
        assert (items.value, len(items.preview)) == (None, 120)
        await desk.debugger(run).say(verbs.Detach())
        await run.wait()

    async def test_a_step_is_repaired_and_tried_again(self, desk: Desk) -> None:
        run, stop = await desk.debug(stop_at_entry=False)
        await desk.debugger(run).say(verbs.Config(stop.id, {"script": "echo repaired"}))
        await desk.debugger(run).say(verbs.Retry(stop.id))

        assert (await run.wait()).status == "passed"
        assert await run.log_tail("2.tests#2") == ["repaired"]

    async def test_steps_are_skipped_with_outputs_and_put_in(self, desk: Desk) -> None:
        run, stop = await desk.debug()
        debugger = desk.debugger(run)
        step = {"uses": "run", "with": {"script": "echo injected"}}
        path = (await debugger.say(verbs.Inject(stop.id, step, "after"))).path
        (desk.folder / "repaired").touch()
        await debugger.say(verbs.Skip(stop.id, {"who": "nobody"}))

        assert (await run.wait()).status == "passed"
        events = await collected(run.events())
        finished = {
            e.fields["step"]: e.fields["outcome"] for e in events if e.kind in ("step.finished", "debug.outcome_forced")
        }
        assert (finished["hello"]["status"], finished["hello"]["outputs"]) == ("skipped", {"who": "nobody"})
        assert finished[path]["status"] == "passed"
        assert len((await debugger.say(verbs.State())).interventions) == 2

    async def test_any_step_of_a_flow_file_is_injected(self, desk: Desk) -> None:
        run, stop = await desk.debug("steps: [{id: a, run: 'true'}, {id: b, run: 'true'}]")
        debugger = desk.debugger(run)
        script = "echo $WORD; test -e tried || { touch tried; exit 3; }"
        tried = {
            "id": "extra",
            "run": script,
            "env": {"WORD": "grün \N{GRINNING FACE}"},
            "retry": {"times": 1},
            "timeout": "1m",
        }
        group = {"parallel": [{"id": "x", "run": "echo x"}, {"id": "y", "run": "echo y", "if": "false"}]}

        first = (await debugger.say(verbs.Inject(stop.id, tried))).path
        state = await debugger.say(verbs.Inject(stop.id, group, "after"))
        second, third = state.path, (await debugger.say(verbs.Inject(stop.id, {"run": "echo no"}))).path
        await debugger.say(verbs.Uninject(stop.id, third))
        with pytest.raises(BadEdit, match=f"waiting: {re.escape(first)}, {re.escape(second)}"):
            await debugger.say(verbs.Uninject(stop.id, third))

        extra, parallel = (await debugger.say(verbs.State())).injected
        assert (extra.step.path, extra.step.title, extra.step.kind, extra.step.retries) == (first, "extra", "run", 1)
        assert (extra.config["script"], extra.position, extra.is_waiting) == (script, "before", True)
        assert [each.path for each in parallel.steps] == [f"{second}.x", f"{second}.y"]
        await debugger.say(verbs.Continue(stop.id))
        stop = await next_stop(desk.service, run, stop.id)  # an injected step that fails stops
        assert (stop.step, stop.is_injected, stop.positions) == (first, True, ("after",))
        await debugger.say(verbs.Continue(stop.id))

        assert (await run.wait()).status == "passed"
        ended = [e.fields for e in await collected(run.events()) if e.kind == "step.finished"]
        assert {each["occurrence"]: each["outcome"]["status"] for each in ended} == {
            first: "failed",
            f"{first}#2": "passed",
            "a": "passed",
            f"{second}.x": "passed",
            f"{second}.y": "skipped",
            second: "passed",
            "b": "passed",
        }
        assert await run.log_tail(first) == ["grün \N{GRINNING FACE}"]
        assert [each.is_waiting for each in (await debugger.say(verbs.State())).injected] == [False, False]

    @pytest.mark.parametrize(
        ("step", "message"),
        [
            ({"rn": "make"}, "cannot inject this step: .*did you mean `run`"),
            ({"run": "make", "timeout": "soon"}, "timeout"),
            ({"run": "make", "if": 3}, "`if` must be text"),
            ({"uses": "run", "with": {"scirpt": "x"}}, "scirpt.*did you mean `script`"),
            ({"steps": []}, "`steps`"),
            ({"include": "other.yaml"}, "include|cannot read"),
        ],
        ids=str,
    )
    async def test_a_wrong_step_is_refused_with_the_words_of_the_reader(
        self, desk: Desk, step: dict[str, Any], message: str
    ) -> None:
        run, stop = await desk.debug()
        with pytest.raises(BadEdit, match=message):
            await desk.debugger(run).say(verbs.Inject(stop.id, step))

        assert (await desk.debugger(run).say(verbs.State())).injected == ()
        assert stop.positions == ("before", "after")
        await desk.debugger(run).say(verbs.Abort())
        await run.wait()

    async def test_time_goes_back(self, desk: Desk) -> None:
        run, first = await desk.debug()
        debugger = desk.debugger(run)
        await debugger.say(verbs.Step(first.id, "over"))
        second = await next_stop(desk.service, run, first.id)
        changes = {change.path: change for change in await debugger.say(verbs.Diff(second.id))}
        assert changes[".steps.hello"].kind == "added"
        await debugger.say(verbs.Step(second.id, "back"))
        third = await next_stop(desk.service, run, second.id)
        assert (third.step, third.position) == ("hello", "before")

        await debugger.say(verbs.Step(third.id, "over"))
        fourth = await next_stop(desk.service, run, third.id)
        points = await debugger.say(verbs.History())
        before = next(point for point in points if point.step == "hello" and point.position == "before")
        after = next(point for point in points if point.step == "hello" and point.position == "after")
        assert after.status == "passed"
        assert ".steps.hello" in {
            change.path for change in await debugger.say(verbs.Diff(before=before.number, after=after.number))
        }
        await debugger.say(verbs.Rewind(fourth.id, before.number))
        fifth = await next_stop(desk.service, run, fourth.id)
        assert fifth.step == "hello"
        await debugger.say(verbs.Step(fifth.id, "to", "2"))
        sixth = await next_stop(desk.service, run, fifth.id)
        await debugger.say(verbs.Restart(sixth.id))
        assert (await next_stop(desk.service, run, sixth.id)).step == "hello"
        await debugger.say(verbs.Detach())
        assert (await run.wait()).intervened

    async def test_values_at_two_points_of_a_run_that_is_over_can_be_compared(self, desk: Desk) -> None:
        text = """
          vars: {n: 1}
          steps:
            - {id: a, run: 'echo x=1 >> "$PITSTOP_OUTPUT"'}
            - {id: both, parallel: [{id: b, run: echo b}, {id: c, run: echo c}]}
            - {id: d, if: '.vars.n == 1', run: echo d}
            - {id: e, run: 'echo x=2 >> "$PITSTOP_OUTPUT"; false'}
        """
        run, stop = await desk.debug(text)
        await desk.debugger(run).say(verbs.Step(stop.id, "over"))
        stop = await next_stop(desk.service, run, stop.id)
        await desk.debugger(run).say(verbs.Set(stop.id, ".vars.n", 2))
        await desk.debugger(run).say(verbs.Detach())
        assert (await run.wait()).status == "failed"

        for ended in (run, await desk.service.runs.get(LOCAL, run.id)):
            debugger = desk.debugger(ended)
            at = {(point.occurrence, point.position): point.number for point in await debugger.say(verbs.History())}
            changes = await debugger.say(verbs.Diff(before=at["a", "after"], after=at["e", "error"]))
            found = {change.path: (change.kind, change.before, change.after) for change in changes}
            assert found[".vars.n"] == ("changed", 1, 2)
            assert found[".steps.d"][2]["status"] == "skipped"
            assert {".steps.b", ".steps.c", ".steps.both", ".steps.e"} < found.keys()
            assert ".steps.a" not in found
            assert await debugger.say(verbs.Diff(before=at["e", "before"], after=at["e", "before"])) == ()
            (outputs,) = await debugger.say(verbs.Diff(before=at["a", "before"], after=at["a", "after"]))
            assert (outputs.path, outputs.after["outputs"]["x"]) == (".steps.a", "1")
            with pytest.raises(UnknownPoint):
                await debugger.say(verbs.Diff(before=1, after=100_000))
        assert len([event for event in await collected(run.events()) if event.kind == "run.started"]) == 1

    async def test_a_frame_goes_to_another_step_of_its_sequence(self, desk: Desk) -> None:
        text = "steps: [{id: a, run: echo a}, {id: b, run: echo b}, {id: c, run: echo c}]"
        run, stop = await desk.debug(text)
        debugger = desk.debugger(run)
        await debugger.say(verbs.Goto(stop.id, "c"))
        stop = await next_stop(desk.service, run, stop.id)
        assert (stop.step, stop.position) == ("c", "before")
        assert (await debugger.say(verbs.Scope(stop.id))).scope["steps"]["b"]["status"] == "skipped"
        await debugger.say(verbs.Goto(stop.id, "b"))
        stop = await next_stop(desk.service, run, stop.id)
        assert (stop.step, stop.position) == ("b", "before")
        with pytest.raises(UnknownStep):
            await debugger.say(verbs.Goto(stop.id, "nope"))
        await debugger.say(verbs.Continue(stop.id))

        assert (await run.wait()).status == "passed"
        assert await run.log_tail("b") == ["b"]
        assert await run.log_tail("a") == []

    # --- Breakpoints, and the session

    async def test_breakpoints_are_added_changed_switched_and_removed(self, desk: Desk) -> None:
        run, stop = await desk.debug(stop_on_error=False)
        debugger = desk.debugger(run)
        added = await debugger.say(BreakpointRequest(step="package", group="slow"))
        assert (added.paths, added.hit_count) == (("package",), 0)
        assert (await debugger.say(BreakpointRequest(kind="run"))).paths[0] == "hello"
        line = await debugger.say(BreakpointRequest(file=run.flow.file, line=8))
        assert line.paths == ("2.tests",)
        for breakpoint in (line.id, line.id - 1):
            await debugger.say(verbs.RemoveBreakpoint(breakpoint))
        changed = await debugger.say(verbs.ChangeBreakpoint(added.id, step="tests", condition="true"))
        assert (changed.id, changed.paths) == (added.id, ("2.tests",))
        await debugger.say(verbs.EnableBreakpointGroup("slow", False))
        assert [each.request.enabled for each in (await debugger.say(verbs.State())).breakpoints] == [False]
        await debugger.say(verbs.ChangeBreakpoint(added.id, enabled=True))
        with pytest.raises(UnknownBreakpoint):
            await debugger.say(verbs.RemoveBreakpoint(99))
        with pytest.raises(CommandRefused):
            await debugger.say(BreakpointRequest(step="tests", kind="run"))

        await debugger.say(verbs.Continue(stop.id))
        stop = await next_stop(desk.service, run, stop.id)

        assert (stop.step, stop.breakpoints) == ("2.tests", (added.id,))
        assert [each.hit_count for each in (await debugger.say(verbs.State())).breakpoints] == [1]
        await debugger.say(verbs.Continue(all=True))
        assert (await run.wait()).status == "failed"

    async def test_a_log_point_writes_and_never_stops(self, desk: Desk) -> None:
        wanted = BreakpointRequest(step="package", log="who is ${{ .inputs.who }}")
        (desk.folder / "repaired").touch()
        run = await desk.start(debug=DebugRequest(breakpoints=(wanted,)))

        assert (await run.wait()).status == "passed"
        (logged,) = [event for event in await collected(run.events()) if event.kind == "debug.logged"]
        assert logged.fields["message"] == "who is world"

    async def test_a_session_is_extended_and_exported(self, desk: Desk) -> None:
        run, stop = await desk.debug(lease_seconds=60.0)
        debugger = desk.debugger(run)
        before = stop.lease_ends_at
        await debugger.say(verbs.Extend(1800.0))

        (stop,) = (await debugger.say(verbs.State())).stops

        assert before is not None
        assert stop.lease_ends_at is not None
        assert stop.lease_ends_at > before + 1000
        exported = await debugger.say(verbs.Export())
        assert exported["version"] == 1
        assert exported["events"][0]["kind"] == "run.started"
        with pytest.raises(CommandRefused):
            await debugger.say(verbs.Extend(-1))
        await debugger.say(verbs.Abort())
        await run.wait()

    async def test_a_stop_nobody_attends_to_ends_by_itself(self, desk: Desk) -> None:
        (desk.folder / "repaired").touch()
        run = await desk.start(debug=DebugRequest(stop_at_entry=True, lease_seconds=0.05, on_lease_end="continue"))

        assert (await run.wait()).status == "passed"
        assert "debug.lease_ended" in [event.kind for event in await collected(run.events())]

    async def test_a_snapshot_and_the_events_after_it_are_all_there_is_to_know(self, desk: Desk) -> None:
        run, stop = await desk.debug()
        snapshot: DebugState = await desk.debugger(run).say(verbs.State())
        await desk.debugger(run).say(verbs.Continue(all=True))
        await desk.debugger(run).say(verbs.Detach())
        await run.wait()

        events = await collected(run.events(snapshot.last_event))

        assert events[0].number == snapshot.last_event + 1
        assert events[-1].kind == "run.ended"
        assert stop.id in [event.fields["stop"] for event in events if event.kind == "debug.resumed"]

    async def test_a_shell_at_a_stop_is_where_the_step_works_with_what_it_sees(self, desk: Desk) -> None:
        (desk.folder / "inner").mkdir()
        text = """\
            env: {REGION: eu}
            steps:
              - id: bad
                env: {COLOUR: "${{ .env.REGION }}-red"}
                working_directory: inner
                run: exit 3
            """
        run, stop = await desk.debug(text, stop_at_entry=False)

        shell = await desk.service.workspaces.shell(LOCAL, run.id, stop.id, rows=30, cols=100)
        shell.resize(40, 120)
        await shell.write(b'echo "<$PWD|$COLOUR|$PITSTOP_STEP>"; exit\n')
        said = b""
        async with asyncio.timeout(PATIENCE_SECONDS):
            while chunk := await shell.read():
                said += chunk
        await shell.close()

        assert f"<{desk.folder.resolve()}/inner|eu-red|bad>".encode() in said
        await desk.debugger(run).say(verbs.Abort())
        await run.wait()
        with pytest.raises(CommandRefused):
            await desk.service.workspaces.shell(LOCAL, run.id, stop.id)
