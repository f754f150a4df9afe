"""What every service promises. A subclass gives `desk`, with the service open; each test is then run on it."""

import json
import textwrap
from typing import Any

import pytest

from pitstop.errors import (
    BadBreakpoint,
    BadCursor,
    BadFlow,
    BadInputs,
    CommandRefused,
    NotEnded,
    NotRunning,
    PitstopError,
    UnknownArtifact,
    UnknownFlow,
    UnknownRun,
    UnknownStep,
)
from pitstop.service.caller import LOCAL
from pitstop.service.debugging import verbs
from pitstop.service.runs import BreakpointRequest, DebugRequest, Output, RerunRequest, RunQuery, RunRequest
from tests.contracts.service_debugger import DebuggerContract
from tests.contracts.service_desk import SHOP, Desk, collected, next_stop, until, wait_for
from tests.contracts.service_terminal_steps import TerminalStepContract
from tests.contracts.service_workspace import WorkspaceContract

__all__ = ["Desk", "ServiceContract"]

JUNIT = """\
    <testsuite><testcase classname="shop" name="sells"/><testcase classname="shop" name="buys">%s</testcase></testsuite>
    """


class ServiceContract(DebuggerContract, WorkspaceContract, TerminalStepContract):
    """The promises. `desk` is the subclass's fixture."""

    # --- Flows

    async def test_a_flow_in_a_file_or_a_text_is_told_as_plain_values(self, desk: Desk) -> None:
        told = await desk.service.flows.check(LOCAL, desk.write(SHOP))

        assert told.name == "shop"
        assert [(step.path, step.title, step.line) for step in told.steps][:2] == [
            ("hello", "Say hello", 5),
            ("2", "2", 6),
        ]
        assert [(each.name, each.type, each.default) for each in told.inputs] == [("who", "string", "world")]
        assert (await desk.service.flows.check(LOCAL, "typed.yaml", "steps: [{id: a, run: 'true'}]")).steps[
            0
        ].path == "a"

    async def test_every_mistake_of_a_flow_is_told_with_its_place(self, desk: Desk) -> None:
        with pytest.raises(BadFlow) as refused:
            await desk.service.flows.check(LOCAL, "typed.yaml", "steps: [{rnu: 'true'}]\nnope: 1")

        assert len(refused.value.found) == 2
        assert {mistake.line for mistake in refused.value.found} == {1, 2}

    async def test_a_flow_is_resolved_as_far_as_its_inputs_tell(self, desk: Desk) -> None:
        told = await desk.service.flows.resolve(LOCAL, RunRequest(flow=desk.write(SHOP), inputs={"who": "you"}))

        assert told.steps[0].detail.startswith("echo hello you")
        assert told.inputs[0].default == "you"
        with pytest.raises(BadInputs):
            await desk.service.flows.resolve(LOCAL, RunRequest(flow=desk.write(SHOP), inputs={"nope": 1}))

    async def test_stored_flows_are_started_by_their_names(self, desk: Desk) -> None:
        desk.store_flow("nightly", "steps: [{id: a, run: echo nightly}]")
        desk.store_flow("broken", "steps: 3")

        told = {flow.name: flow for flow in await desk.service.flows.list(LOCAL)}

        assert told["nightly"].problem is None
        assert told["broken"].problem is not None
        assert await desk.service.flows.text(LOCAL, "nightly") == "steps: [{id: a, run: echo nightly}]"
        with pytest.raises(UnknownFlow):
            await desk.service.flows.text(LOCAL, "weekly")
        run = await desk.service.runs.start(LOCAL, RunRequest(flow="nightly", folder=str(desk.folder)))
        assert (await run.wait()).status == "passed"
        assert run.flow.name == "nightly"

    async def test_breakpoints_are_kept_with_a_flow(self, desk: Desk) -> None:
        flow = desk.write(SHOP)
        wanted = (
            BreakpointRequest(step="tests", position="after", condition=".vars.region == 1", hits="% 2", group="slow"),
            BreakpointRequest(state=".vars.region", equals={"a": [1]}, has_equals=True, enabled=False),
        )
        assert await desk.service.flows.breakpoints(LOCAL, flow) == ()

        await desk.service.flows.store_breakpoints(LOCAL, flow, wanted)

        assert await desk.service.flows.breakpoints(LOCAL, flow) == wanted
        await desk.service.flows.store_breakpoints(LOCAL, flow, [])
        assert await desk.service.flows.breakpoints(LOCAL, flow) == ()

    async def test_a_breakpoint_whose_jq_is_invalid_is_refused_wherever_it_is_added(self, desk: Desk) -> None:
        flow = desk.write("steps: [{id: a, sleep: 0s}]")
        bad = BreakpointRequest(step="a", condition=".vars.a >")
        found = await desk.service.flows.check_breakpoints(
            LOCAL,
            (
                bad,
                BreakpointRequest(step="a", condition=".vars.a", log="plain ${{ .vars }}"),
                BreakpointRequest(step="a", condition="${{ .vars.a > 1 }}", hits="% 2"),
                BreakpointRequest(step="a", log="it is ${{ nope }}"),
                BreakpointRequest(state=".vars |"),
                BreakpointRequest(step="a", condition="${{ 1 }} or so"),
            ),
        )
        reason = found[0] or ""
        assert reason.startswith("invalid condition '.vars.a >': syntax error")
        assert [problem is None for problem in found] == [False, True, True, False, False, False]
        assert "nope/0 is not defined" in (found[3] or "")
        asked = RunRequest(flow=flow, debug=DebugRequest(breakpoints=(bad,), stop_at_entry=True))
        for refused in (
            desk.service.runs.start(LOCAL, asked),
            desk.service.flows.store_breakpoints(LOCAL, flow, [bad]),
        ):
            with pytest.raises(BadBreakpoint, match="invalid condition"):
                await refused

        run = await desk.service.runs.start(LOCAL, RunRequest(flow=flow, debug=DebugRequest(stop_at_entry=True)))
        await next_stop(desk.service, run)
        with pytest.raises(BadBreakpoint) as raised:
            await desk.debugger(run).say(bad)
        assert str(raised.value) == reason
        good = await desk.debugger(run).say(BreakpointRequest(step="a", condition=".vars.a > 1"))
        with pytest.raises(BadBreakpoint):
            await desk.debugger(run).say(verbs.ChangeBreakpoint(good.id, condition="1 +"))
        breakpoints = [each.request.condition for each in (await desk.debugger(run).say(verbs.State())).breakpoints]
        assert breakpoints[-1] == ".vars.a > 1"
        await desk.debugger(run).say(verbs.Detach())
        await run.wait()

    async def test_a_run_that_is_debugged_has_the_breakpoints_that_are_kept_with_its_flow(self, desk: Desk) -> None:
        flow = desk.write("steps: [{id: a, sleep: 0s}, {id: b, sleep: 0s}, {id: c, sleep: 0s}]")
        kept = [
            BreakpointRequest(step="b"),
            BreakpointRequest(step="c"),
            BreakpointRequest(step="it was there when they were kept"),
        ]
        await desk.service.flows.store_breakpoints(LOCAL, flow, kept)

        asked = DebugRequest(breakpoints=(BreakpointRequest(step="c", enabled=False),))
        run = await desk.service.runs.start(LOCAL, RunRequest(flow=flow, debug=asked))
        stop = await next_stop(desk.service, run)

        assert stop.step == "b"
        breakpoints = [each.request for each in (await desk.debugger(run).say(verbs.State())).breakpoints]
        assert [(each.step, each.enabled) for each in breakpoints if each.step] == [("c", False), ("b", True)]
        await desk.debugger(run).say(verbs.Continue(stop.id))
        await run.wait()
        again = await desk.service.runs.rerun(LOCAL, run.id, RerunRequest(debug=DebugRequest()))
        assert (await next_stop(desk.service, again)).step == "b"
        await desk.debugger(again).say(verbs.Detach())
        await again.wait()

    async def test_a_run_may_leave_out_the_breakpoints_of_its_flow(self, desk: Desk) -> None:
        flow = desk.write("steps: [{id: a, sleep: 0s}]")
        await desk.service.flows.store_breakpoints(LOCAL, flow, [BreakpointRequest(step="a")])

        alone = await desk.service.runs.start(LOCAL, RunRequest(flow=flow, debug=DebugRequest(flow_breakpoints=False)))
        nobody = await desk.service.runs.start(LOCAL, RunRequest(flow=flow))

        assert (await alone.wait()).status == "passed"
        assert (await nobody.wait()).status == "passed"

    async def test_what_is_set_in_a_session_is_there_in_the_next_one(self, desk: Desk) -> None:
        request = RunRequest(
            flow=desk.write("steps: [{id: a, sleep: 0s}, {id: b, sleep: 0s}]"),
            debug=DebugRequest(stop_at_entry=True, breakpoints=(BreakpointRequest(step="a"),)),
        )
        run = await desk.service.runs.start(LOCAL, request)
        await next_stop(desk.service, run)
        debugger = desk.debugger(run)
        kept = await debugger.say(BreakpointRequest(step="b", note="look"))
        await debugger.say(verbs.ChangeBreakpoint(kept.id, enabled=False))
        await debugger.say(BreakpointRequest(step="b", once=True))
        removed = await debugger.say(BreakpointRequest(kind="sleep"))
        await debugger.say(verbs.RemoveBreakpoint(removed.id))
        await debugger.say(verbs.Watch(".steps"))
        await debugger.say(verbs.Abort())
        await run.wait()
        (stored,) = await desk.service.flows.breakpoints(LOCAL, request.flow)
        assert (stored.step, stored.note, stored.enabled) == ("b", "look", False)

        run = await desk.service.runs.start(LOCAL, request)
        await next_stop(desk.service, run)
        state = await desk.debugger(run).say(verbs.State())
        assert [each.request.step for each in state.breakpoints if each.request.step] == ["a", "b"]
        assert state.watches == (".steps",)
        await desk.debugger(run).say(verbs.ClearBreakpoints())
        await desk.debugger(run).say(verbs.Unwatch(".steps"))
        await desk.debugger(run).say(verbs.Abort())
        await run.wait()
        assert await desk.service.flows.breakpoints(LOCAL, request.flow) == ()

    async def test_a_session_that_remembers_nothing_neither_uses_nor_changes_what_is_stored(self, desk: Desk) -> None:
        flow = desk.write("steps: [{id: a, sleep: 0s}]")
        stored = (BreakpointRequest(step="a"),)
        await desk.service.flows.store_breakpoints(LOCAL, flow, stored)
        debug = DebugRequest(stop_at_entry=True, flow_breakpoints=False, remembers=False)
        run = await desk.service.runs.start(LOCAL, RunRequest(flow=flow, debug=debug))
        await next_stop(desk.service, run)
        await desk.debugger(run).say(BreakpointRequest(kind="sleep"))
        await desk.debugger(run).say(verbs.Watch(".steps"))
        await desk.debugger(run).say(verbs.Abort())
        await run.wait()

        assert await desk.service.flows.breakpoints(LOCAL, flow) == stored

    async def test_the_reference_knows_the_schema_and_the_types_of_steps(self, desk: Desk) -> None:
        assert "steps" in (await desk.service.flows.schema(LOCAL))["properties"]
        types = {each.name: each for each in await desk.service.flows.step_types(LOCAL)}
        assert {"run", "approve", "parallel", "matrix"} <= types.keys()
        assert types["run"].config is not None
        assert "script" in types["run"].config["properties"]
        assert types["parallel"].config is None
        assert (await desk.service.flows.step_type(LOCAL, "run")).text.startswith("run: ")
        with pytest.raises(PitstopError, match="did you mean 'run'"):
            await desk.service.flows.step_type(LOCAL, "rnu")

    async def test_the_machine_is_examined(self, desk: Desk) -> None:
        findings = {each.name: each for each in await desk.service.flows.examine(LOCAL)}

        assert findings["jq"].works
        assert findings["commands"].works

    # --- A run and what is known of it

    async def test_a_run_tells_its_events_and_how_it_ended(self, desk: Desk) -> None:
        run = await desk.start(inputs={"who": "you"})

        events = await collected(run.events())
        summary = await run.wait()

        assert [event.number for event in events] == [*range(1, len(events) + 1)]
        assert (events[0].kind, events[-1].kind) == ("run.started", "run.ended")
        assert (summary.run, summary.status, summary.intervened) == (run.id, "failed", False)
        assert [(each.step, each.type) for each in summary.failures] == [("2.tests", "CommandFailed")]
        info = await run.info()
        assert (info.id, info.flow, info.status, info.session) == (run.id, "shop", "failed", "none")
        assert info.inputs["who"] == "you"
        assert info.failures == summary.failures
        assert info.last_event == len(events)
        assert (info.started_at, info.ended_at) == (events[0].at, events[-1].at)
        assert info.created_at <= events[0].at <= events[-1].at
        assert [event.number for event in await collected(run.events(3))] == [event.number for event in events[3:]]

    async def test_a_run_of_a_text_has_that_text(self, desk: Desk) -> None:
        text = "name: typed\nsteps: [{id: a, run: echo typed}]"
        run = await desk.service.runs.start(LOCAL, RunRequest(flow="typed.yaml", text=text, folder=str(desk.folder)))

        assert (await run.wait()).status == "passed"
        assert text in run.texts.values()
        assert run.flow.name == "typed"
        assert await run.log_tail("a") == ["typed"]

    async def test_output_is_heard_as_it_comes(self, desk: Desk) -> None:
        heard: list[Output] = []
        run = await desk.start("steps: [{id: a, run: 'echo out; sleep 0.05; echo err >&2'}]")
        unhear = run.hear_output(heard.append)
        await run.wait()
        unhear()

        said = {
            stream: b"".join(each.data for each in heard if each.stream == stream) for stream in ("stdout", "stderr")
        }
        assert said == {"stdout": b"out\n", "stderr": b"err\n"}
        assert {each.occurrence for each in heard} == {"a"}

    async def test_what_a_step_wrote_is_heard_before_its_end_is_told(self, desk: Desk) -> None:
        heard: dict[str, bytes] = {}

        def hear(output: Output) -> None:
            heard[output.occurrence] = heard.get(output.occurrence, b"") + output.data

        run = await desk.start("steps: [{id: a, run: seq 1 3}, {id: b, run: seq 4 5}, {id: c, run: printf six}]")
        unhear = run.hear_output(hear)
        heard_by_then = {
            event.fields["occurrence"]: heard.get(event.fields["occurrence"])
            async for event in run.events()
            if event.kind == "step.finished"
        }
        unhear()

        assert heard_by_then == {"a": b"1\n2\n3\n", "b": b"4\n5\n", "c": b"six"}

    async def test_the_log_of_a_step_is_read_in_pages_searched_and_taken_whole(self, desk: Desk) -> None:
        run = await desk.run_to_end("steps: [{id: a, run: 'seq 1 250; printf \"\\033[1mTHE End\\033[0m\"'}]")

        first = await run.log("a", limit=100)
        assert [line.text for line in first.lines[:2]] == ["1", "2"]
        assert (len(first.lines), first.next, first.is_ended) == (100, 100, True)
        last = await run.log("a", after=200, limit=100)
        assert (last.lines[0].number, len(last.lines), last.next) == (201, 51, None)
        assert [line.number for line in (await run.log("a", search="the end")).lines] == [251]
        assert [line.text for line in (await run.log("a", search="24", limit=2)).lines] == ["24", "124"]
        assert await run.log_tail("a", 2) == ["250", "THE End"]
        assert b"".join(await collected(run.log_bytes("a"))).startswith(b"1\n2\n3\n")
        assert (await run.log("nobody")).lines == ()
        assert await run.log_tail("nobody") == []

    async def test_an_artifact_can_have_any_name_that_a_file_can_have(self, desk: Desk) -> None:
        names = ["line\nbreak\n", 'quo"te;\t', "100%25?#", "back\\slash", " ", "ü", "\x1b[1m"]
        env = {f"NAME_{number}": name for number, name in enumerate(names)}
        script = (
            "cd $PITSTOP_ARTIFACTS; for name in ${!NAME_*}; do echo $name > \"${!name}\"; done; : > $'not\\xffUTF-8'"
        )
        run = await desk.run_to_end(json.dumps({"steps": [{"run": script, "env": env, "shell": "bash"}]}))

        made = [each.path for each in await run.artifacts()]

        (not_utf_8,) = set(made) - {*names}
        assert not_utf_8 in ("not\udcffUTF-8", "not\\xffUTF-8")
        for number, name in enumerate(names):
            assert b"".join(await collected(run.artifact(name))) == b"NAME_%d\n" % number
        assert b"".join(await collected(run.artifact(not_utf_8))) == b""

    async def test_what_steps_hand_on_can_be_fetched(self, desk: Desk) -> None:
        run = await desk.run_to_end("steps: [{run: 'mkdir d; echo made > d/a.txt', artifacts: 'd/*.txt'}]")

        (made,) = await run.artifacts()

        assert made.size == 5
        assert made.path.endswith("a.txt")
        assert b"".join(await collected(run.artifact(made.path))) == b"made\n"
        for path in ("nope.txt", "../run.json", "/etc/passwd"):
            with pytest.raises(UnknownArtifact):
                await collected(run.artifact(path))

    async def test_tests_are_compared_with_the_run_before(self, desk: Desk) -> None:
        flow = "steps: [{id: tests, run: 'cp report.xml out.xml', tests: out.xml}]"
        report = textwrap.dedent(JUNIT)

        async def cases(xml: str) -> list[tuple[str, str, str]]:
            (desk.folder / "report.xml").write_text(xml)
            run = await desk.run_to_end(flow)
            return [(each.name, each.status, each.change) for each in await run.tests()]

        assert await cases(report % "<failure message='no'/>") == [("buys", "failed", "")]
        assert await cases(report % "<failure message='no'/>") == [("buys", "failed", "still_failing")]
        assert await cases(report % "") == [("buys", "passed", "fixed")]
        assert await cases(report % "<error message='no'/>") == [("buys", "error", "new")]

    async def test_a_comparison_of_tests_says_with_which_run(self, desk: Desk) -> None:
        flow = "steps: [{id: tests, run: 'cp report.xml out.xml', tests: out.xml}]"
        report = textwrap.dedent(JUNIT) % ""
        (desk.folder / "report.xml").write_text(report)
        first = await desk.run_to_end(flow)
        (desk.folder / "report.xml").write_text(report.replace('"buys"', '"lends"'))
        second = await desk.run_to_end(flow)

        alone, compared = await first.test_comparison(), await second.test_comparison()

        assert (alone.cases, alone.compared_with) == ((), None)
        assert compared.compared_with is not None
        assert (compared.compared_with.run, compared.compared_with.ref) == (first.id, None)
        assert [(each.name, each.change) for each in compared.cases] == [("buys", "removed")]
        assert [(each.step, each.total, each.compared_with) for each in compared.steps] == [
            ("tests", 2, compared.compared_with)
        ]

    async def test_a_question_is_answered(self, desk: Desk) -> None:
        run = await desk.start("steps: [{id: ask, approve: Ship it?}]", can_ask=True)
        (question,) = await until(run.questions)
        assert (question.occurrence, question.prompt) == ("ask", "Ship it?")
        with pytest.raises(CommandRefused):
            await desk.service.runs.answer(LOCAL, run.id, "other", approved=True)

        await desk.service.runs.answer(LOCAL, run.id, "ask", approved=False, by="ann", comment="not yet")

        assert "ann did not approve 'Ship it?': not yet" in (await run.wait()).failures[0].message
        assert await run.questions() == ()

    async def test_secrets_are_nowhere_in_what_is_told(self, desk: Desk) -> None:
        secret = "hunter2-hunter2"
        text = """\
            steps:
              - id: leak
                secrets: [TOKEN]
                run: |
                  echo "it is $TOKEN"
                  echo "token=$TOKEN" >> "$PITSTOP_OUTPUT"
              - {id: bad, fail: "no entry with ${{ .secrets.TOKEN }}"}
            """
        run, _ = await desk.debug(text, stop_at_entry=False, secrets={"TOKEN": secret, "PIN": "7"})
        debugger = desk.debugger(run)
        state = await debugger.say(verbs.State())
        (stop,) = state.stops
        told = [
            state,
            await run.info(),
            (await debugger.say(verbs.Scope(stop.id))).scope,
            await debugger.say(verbs.Variables(stop.id, ".secrets")),
            (await debugger.say(verbs.Evaluate(".secrets.TOKEN, (.secrets.TOKEN | @base64)", stop.id))).values,
            await debugger.say(verbs.ReadConfig(stop.id)),
            await debugger.say(verbs.Export()),
            await debugger.say(verbs.Diff(stop.id)),
            await run.log("leak"),
        ]
        await debugger.say(verbs.Continue(all=True))
        told += [await run.wait(), await collected(run.events())]

        assert secret not in repr(told)
        assert "aHVudGVyMi1odW50ZXIy" not in repr(told)
        assert "'PIN': '7'" not in repr(told)
        assert "it is ***" in repr(told)

    # --- Ending a run

    async def test_cancelling_ends_the_steps_and_cleans_up(self, desk: Desk) -> None:
        run = await desk.start("steps: [{id: nap, run: exec sleep 1000}]\ncleanup: [{run: touch cleaned}]")
        await wait_for(run, "step.started")
        assert (await run.info()).status == "running"

        await desk.service.runs.cancel(LOCAL, run.id, "enough")

        summary = await run.wait()
        assert (summary.status, summary.error) == ("cancelled", "Aborted: enough")
        assert (desk.folder / "cleaned").exists()

    async def test_killing_does_not_wait_for_those_who_refuse(self, desk: Desk) -> None:
        script = "trap '' TERM; echo >> lives; echo up; while :; do sleep 0.1; echo >> lives; done"
        run = await desk.start(f'steps: [{{id: a, run: "{script}"}}]')
        await until(lambda: run.log_tail("a"))
        lives = desk.folder / "lives"
        before = len(lives.read_text())
        await desk.service.runs.cancel(LOCAL, run.id, "enough")
        await desk.service.runs.kill(LOCAL, run.id)

        assert (await run.wait()).status == "cancelled"
        assert len(lives.read_text()) - before < 80  # they would have had 10 seconds, which is 100 turns

    # --- Leaving a run, and taking it up

    async def test_a_paused_run_is_left_and_taken_up_at_the_same_stop(self, desk: Desk) -> None:
        (desk.folder / "repaired").unlink(missing_ok=True)
        run, stop = await desk.debug(stop_at_entry=False)
        runs = desk.service.runs

        await runs.leave(LOCAL, run.id)
        assert (await (await runs.get(LOCAL, run.id)).info()).status == "paused"
        await runs.leave(LOCAL, run.id)
        again = await runs.take_up(LOCAL, run.id, {})

        assert again.id == run.id
        state = await desk.debugger(again).say(verbs.State())
        assert [(each.id, each.occurrence) for each in state.stops] == [(stop.id, stop.occurrence)]
        (desk.folder / "repaired").touch()
        await desk.debugger(again).say(verbs.Retry(stop.id))
        assert (await again.wait()).status == "passed"

    async def test_a_run_that_is_active_is_taken_up_as_it_is(self, desk: Desk) -> None:
        run, stop = await desk.debug()

        again = await desk.service.runs.take_up(LOCAL, run.id, {})

        assert again.id == run.id
        assert [each.id for each in (await desk.debugger(again).say(verbs.State())).stops] == [stop.id]
        await desk.service.runs.cancel(LOCAL, run.id, "enough")
        await again.wait()

    async def test_a_run_that_has_ended_is_not_taken_up(self, desk: Desk) -> None:
        run = await desk.run_to_end("steps: [{id: a, sleep: 0s}]")

        with pytest.raises(NotRunning):
            await desk.service.runs.take_up(LOCAL, run.id, {})
        with pytest.raises(UnknownRun):
            await desk.service.runs.take_up(LOCAL, "nobody", {})
        with pytest.raises(UnknownRun):
            await desk.service.runs.leave(LOCAL, "nobody")

    # --- Starting, and starting again

    @pytest.mark.parametrize(
        ("options", "error"),
        [
            ({"inputs": {"nope": 1}}, BadInputs),
            ({"only": "nope"}, UnknownStep),
            ({"from_step": "nope"}, UnknownStep),
            ({"debug": DebugRequest(breakpoints=(BreakpointRequest(step="nope"),))}, UnknownStep),
            ({"debug": DebugRequest(breakpoints=(BreakpointRequest(step="hello", hits="often"),))}, CommandRefused),
            ({"text": "steps: 3"}, BadFlow),
        ],
    )
    async def test_a_bad_request_starts_nothing(
        self, desk: Desk, options: dict[str, Any], error: type[Exception]
    ) -> None:
        with pytest.raises(error):
            await desk.start(**options)

        assert (await desk.service.runs.list(LOCAL, RunQuery())).runs == ()

    async def test_a_run_again_has_the_flow_and_the_inputs_of_then(self, desk: Desk) -> None:
        old = await desk.run_to_end(inputs={"who": "you"})
        (desk.folder / "repaired").touch()
        desk.write(SHOP.replace("hello ${{", "goodbye ${{"))

        same = await desk.service.runs.rerun(LOCAL, old.id, RerunRequest())
        other = await desk.service.runs.rerun(LOCAL, old.id, RerunRequest(inputs={"who": "all"}, use_file=True))

        assert [(await run.wait()).status for run in (same, other)] == ["passed", "passed"]
        assert await same.log_tail("hello") == ["hello you"]
        assert await other.log_tail("hello") == ["goodbye all"]
        assert (await same.info()).from_run == old.id
        with pytest.raises(UnknownRun):
            await desk.service.runs.rerun(LOCAL, "nope", RerunRequest())

    async def test_a_run_goes_on_from_a_step_and_leaves_alone_what_passed_beside_it(self, desk: Desk) -> None:
        old = await desk.run_to_end()
        (desk.folder / "repaired").touch()

        run = await desk.service.runs.rerun(LOCAL, old.id, RerunRequest(from_step="tests"))

        assert (await run.wait()).status == "passed"
        started = [
            event.fields["step"]
            for event in await collected(run.events(run.carried_over))
            if event.kind == "step.started"
        ]
        assert started == ["2.tests", "package", "tidy"]
        info = await run.info()
        assert (info.from_run, info.from_step, info.carried_over) == (old.id, "tests", run.carried_over)
        assert run.carried_over > 0
        with pytest.raises(PitstopError, match="did not reach 'package'"):
            await desk.service.runs.rerun(LOCAL, old.id, RerunRequest(from_step="package"))

    async def test_the_last_run_of_a_flow_is_gone_on_from_when_none_is_named(self, desk: Desk) -> None:
        await desk.run_to_end(inputs={"who": "you"})
        (desk.folder / "repaired").touch()

        run = await desk.start(from_step="tests")

        assert (await run.wait()).status == "passed"
        assert (await run.info()).inputs["who"] == "you"

    async def test_one_step_alone_sees_what_the_last_run_knows(self, desk: Desk) -> None:
        text = """\
            steps:
              - {id: one, run: "echo tag=v1 >> $PITSTOP_OUTPUT"}
              - {id: two, run: "echo tag is ${{ .steps.one.outputs.tag }}"}
            """
        await desk.run_to_end(text)

        run = await desk.run_to_end(text, only="two")

        assert await run.log_tail("two") == ["tag is v1"]
        assert await run.log_tail("one") == []

    # --- Runs of the past

    async def test_a_run_is_found_again_with_all_that_is_known_of_it(self, desk: Desk) -> None:
        old = await desk.run_to_end()
        events = await collected(old.events())

        run = await desk.service.runs.get(LOCAL, old.id)

        assert (run.id, run.flow) == (old.id, old.flow)
        assert run.texts == old.texts
        assert await collected(run.events()) == events
        assert await run.wait() == await old.wait()
        assert await run.log_tail("hello") == ["hello world"]
        assert (await desk.debugger(run).say(verbs.State())).is_ended
        assert len(await desk.debugger(run).say(verbs.History())) > 4
        for command in (
            desk.debugger(run).say(verbs.Pause()),
            desk.debugger(run).say(verbs.Continue(1)),
            desk.service.runs.cancel(LOCAL, run.id, "too late"),
        ):
            with pytest.raises(NotRunning):
                await command
        with pytest.raises(UnknownRun):
            await desk.service.runs.get(LOCAL, "nope")

    async def test_runs_are_listed_in_pages_and_filtered(self, desk: Desk) -> None:
        good = "name: good\nsteps: [{run: 'true'}]"
        runs = [(await desk.run_to_end(text)).id for text in (good, SHOP, good)]

        page = await desk.service.runs.list(LOCAL, RunQuery(limit=2))
        rest = await desk.service.runs.list(LOCAL, RunQuery(limit=2, cursor=page.next))

        assert [run.id for run in (*page.runs, *rest.runs)] == runs[::-1]
        assert page.next is not None
        assert rest.next is None
        found = await desk.service.runs.list(LOCAL, RunQuery(status=("failed",)))
        assert [(run.id, run.status, run.failures[0].step) for run in found.runs] == [(runs[1], "failed", "2.tests")]
        assert [run.id for run in (await desk.service.runs.list(LOCAL, RunQuery(flow="shop"))).runs] == [runs[1]]
        assert [
            run.id for run in (await desk.service.runs.list(LOCAL, RunQuery(search=runs[0][-6:].upper()))).runs
        ] == [runs[0]]
        with pytest.raises(BadCursor):
            await desk.service.runs.list(LOCAL, RunQuery(cursor="nonsense"))

    async def test_a_run_is_pinned_and_forgotten(self, desk: Desk) -> None:
        run = await desk.run_to_end()

        await desk.service.runs.pin(LOCAL, run.id)
        assert (await (await desk.service.runs.get(LOCAL, run.id)).info()).is_pinned
        await desk.service.runs.pin(LOCAL, run.id, pinned=False)
        assert not (await (await desk.service.runs.get(LOCAL, run.id)).info()).is_pinned
        await desk.service.runs.delete(LOCAL, run.id)

        with pytest.raises(UnknownRun):
            await desk.service.runs.get(LOCAL, run.id)
        for refused in (desk.service.runs.delete(LOCAL, run.id), desk.service.runs.pin(LOCAL, run.id)):
            with pytest.raises(UnknownRun):
                await refused

    async def test_a_run_that_has_not_ended_cannot_be_forgotten(self, desk: Desk) -> None:
        run = await desk.start("steps: [{id: nap, run: exec sleep 1000}]")
        await wait_for(run, "step.started")

        with pytest.raises(NotEnded):
            await desk.service.runs.delete(LOCAL, run.id)

        await desk.service.runs.cancel(LOCAL, run.id, "enough")
        await run.wait()
