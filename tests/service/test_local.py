"""The service in this process: what a door can rely on."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest
from msgspec.structs import replace

from pitstop.errors import BadFlow, BadInputs, BadLog, CommandRefused, UnknownStep
from pitstop.executors.machine.placing import PlacingExecutor
from pitstop.limits import Limits
from pitstop.runs import run_workplace
from pitstop.runs.live_run import LiveRun
from pitstop.service.caller import LOCAL
from pitstop.service.debugging import verbs
from pitstop.service.runs import ActiveRun, BreakpointRequest, DebugRequest, Output, RunRequest
from pitstop.store.folder import FolderRun
from pitstop.store.port import FileChunk, RunRecord
from tests.contracts.service_desk import collected
from tests.patience import PATIENCE_SECONDS
from tests.service.desk import Desk

TWO_STEPS = """\
    name: shop
    inputs: {who: {default: world}}
    steps:
      - {id: hello, name: Say hello, run: "echo hello ${{ .inputs.who }}"}
      - {id: bad, run: "echo oops >&2; exit 3"}
    """


async def fields_of_first(run: ActiveRun, kind: str) -> dict[str, Any]:
    async for event in run.events():
        if event.kind == kind:
            return dict(event.fields)
    raise AssertionError(f"the run ended without {kind}")


async def test_a_flow_is_told_as_plain_values(desk: Desk) -> None:
    flow = desk.write(TWO_STEPS)

    async with desk.service as service:
        told = await service.flows.check(LOCAL, flow)

    assert (told.name, told.file) == ("shop", flow)
    assert [(step.path, step.title, step.line) for step in told.steps] == [("hello", "Say hello", 4), ("bad", "bad", 5)]
    assert told.steps[0].place == f"{flow}:4"
    assert [(each.name, each.type, each.default) for each in told.inputs] == [("who", "string", "world")]


async def test_a_run_tells_its_events_its_output_and_how_it_ended(desk: Desk) -> None:
    heard: list[Output] = []
    async with desk.start(desk.write(TWO_STEPS), inputs={"who": "you"}) as run:
        run.hear_output(heard.append)
        events = [event async for event in run.events()]
        summary = await run.wait()

    assert [event.number for event in events] == [*range(1, len(events) + 1)]
    assert (events[0].kind, events[-1].kind) == ("run.started", "run.ended")
    assert [(each.occurrence, each.stream, each.data) for each in heard] == [
        ("hello", "stdout", b"hello you\n"),
        ("bad", "stderr", b"oops\n"),
    ]
    assert summary.status == "failed"
    assert [(each.step, each.type) for each in summary.failures] == [("bad", "CommandFailed")]


async def test_the_end_of_a_log_can_be_read_during_and_after_the_run(desk: Desk) -> None:
    async with desk.start(desk.write("steps: [{id: a, run: 'seq 50; printf \"\\033[1mbold\\033[0m\"'}]")) as run:
        await run.wait()

        assert await run.log_tail("a", 3) == ["49", "50", "bold"]
        assert await run.log_tail("nobody") == []


async def test_the_source_is_that_of_when_the_flow_was_read(desk: Desk) -> None:
    flow = desk.write("steps: [{run: 'true'}]")
    async with desk.start(flow) as run:
        desk.write("something else")

        assert run.texts[flow] == "steps: [{run: 'true'}]"
        assert "other.yaml" not in run.texts


@pytest.mark.parametrize(
    ("options", "error"),
    [
        ({"inputs": {"nope": 1}}, BadInputs),
        ({"only": "nope"}, UnknownStep),
        ({"from_step": "nope"}, UnknownStep),
        ({"debug": DebugRequest(breakpoints=(BreakpointRequest(step="nope"),))}, UnknownStep),
    ],
)
async def test_a_bad_request_starts_nothing_and_leaves_nothing(
    desk: Desk, options: dict[str, Any], error: type[Exception]
) -> None:
    with pytest.raises(error):
        await desk.run(desk.write(TWO_STEPS), **options)

    assert not desk.settings.runs.exists()


async def test_a_file_that_is_not_there_is_a_mistake_with_a_place(desk: Desk) -> None:
    with pytest.raises(BadFlow, match=r"missing\.yaml:1:1: cannot read the file"):
        await desk.run("missing.yaml")


async def test_cancelling_ends_the_steps_and_cleans_up(desk: Desk) -> None:
    flow = desk.write("steps: [{id: nap, run: exec sleep 1000}]\ncleanup: [{run: touch cleaned}]")

    async with desk.start(flow) as run:
        await fields_of_first(run, "step.started")
        await desk.opened.runs.cancel(LOCAL, run.id, "enough")
        summary = await run.wait()

    assert (summary.status, summary.error) == ("cancelled", "Aborted: enough")
    assert (desk.folder / "cleaned").exists()


async def test_closing_the_service_ends_a_run_that_is_not_over(desk: Desk) -> None:
    async with desk.start(desk.write("steps: [{id: nap, run: exec sleep 1000}]")) as run:
        await fields_of_first(run, "step.started")

    assert (await run.wait()).status == "cancelled"


async def test_whoever_asks_for_a_run_may_give_up_before_it_is_ready(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    is_asked, may_go_on = asyncio.Event(), asyncio.Event()

    async def look_for_machines(*_: object) -> None:
        is_asked.set()
        await may_go_on.wait()

    monkeypatch.setattr(run_workplace, "refuse_unmet", look_for_machines)
    request = desk.request(desk.write("steps: [{run: touch begun}]"))
    async with asyncio.timeout(90), desk.service as service, asyncio.TaskGroup() as group:
        starting = group.create_task(service.runs.start(LOCAL, request))
        await is_asked.wait()
        starting.cancel()
        may_go_on.set()

    assert starting.cancelled()
    assert not (desk.folder / "begun").exists()
    assert list(desk.settings.runs.iterdir()) == []


async def test_what_its_user_raises_comes_out_as_it_is(desk: Desk) -> None:
    with pytest.raises(ZeroDivisionError):
        async with desk.start(desk.write("steps: [{id: nap, run: exec sleep 1000}]")):
            raise ZeroDivisionError


async def test_killing_does_not_wait_for_those_who_refuse(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    flow = desk.write("""\
        steps:
          - parallel: [{run: "trap '' TERM; echo up; while :; do sleep 0.1; done"}]
        """)
    cancel, up = PlacingExecutor.cancel, asyncio.Event()

    async def cancel_patiently(self: PlacingExecutor, command: Any, grace: float = 10.0, **more: Any) -> None:
        await cancel(self, command, 2 * PATIENCE_SECONDS if grace else 0, **more)

    monkeypatch.setattr(PlacingExecutor, "cancel", cancel_patiently)
    async with desk.start(flow) as run:
        run.hear_output(lambda output: up.set())
        await up.wait()
        await desk.opened.runs.cancel(LOCAL, run.id, "enough")
        await desk.opened.runs.kill(LOCAL, run.id)
        async with asyncio.timeout(PATIENCE_SECONDS):
            summary = await run.wait()

    assert summary.status == "cancelled"


async def test_a_session_is_there_before_the_first_step(desk: Desk) -> None:
    async with desk.start(desk.write(TWO_STEPS), debug=DebugRequest(stop_at_entry=True)) as run:
        stop = await fields_of_first(run, "debug.stopped")
        assert (stop["step"], stop["reasons"]) == ("hello", ["entry"])
        await desk.debugger(run).say(verbs.Continue(all=True))
        await desk.debugger(run).say(verbs.Detach())
        assert (await run.wait()).status == "failed"


async def test_a_stop_can_be_gone_on_from_and_the_run_is_marked(desk: Desk) -> None:
    async with desk.start(desk.write(TWO_STEPS), debug=DebugRequest()) as run:
        stop = await fields_of_first(run, "debug.stopped")
        await desk.debugger(run).say(verbs.Force(stop["stop"], "passed"))
        summary = await run.wait()

    assert (summary.status, summary.intervened) == ("passed", True)


async def test_what_a_run_tells_of_itself_is_of_one_moment(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    async with desk.start(desk.write(TWO_STEPS), debug=DebugRequest(stop_at_entry=True)) as run:
        assert isinstance(run, LiveRun)
        stop = await fields_of_first(run, "debug.stopped")
        read_record = run.kept.record

        async def read_while_it_goes_on() -> RunRecord:
            record = await read_record()
            await desk.debugger(run).say(verbs.Continue(stop["stop"]))
            return record

        monkeypatch.setattr(run.kept, "record", read_while_it_goes_on)
        info = await run.info()
        monkeypatch.undo()
        await desk.opened.runs.cancel(LOCAL, run.id, "enough")

    assert stop["stop"] not in info.stops  # who follows after `last_event` would not hear that it is over


async def test_whoever_waits_elsewhere_is_told_how_a_run_ended_however_late_that_is_kept(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    keep_artifacts, may_keep = FolderRun.keep_artifacts, asyncio.Event()
    read_record, is_read_again = FolderRun.record, asyncio.Event()

    async def keep_later(self: FolderRun, files: AsyncIterator[FileChunk]) -> None:
        await may_keep.wait()
        await keep_artifacts(self, files)

    async def read_again(self: FolderRun) -> RunRecord:
        is_read_again.set()
        return await read_record(self)

    monkeypatch.setattr(FolderRun, "keep_artifacts", keep_later)
    async with desk.start(desk.write(TWO_STEPS)) as run, desk.service as elsewhere:
        seen = await elsewhere.runs.get(LOCAL, run.id)
        async with asyncio.TaskGroup() as group:
            waiting = group.create_task(seen.wait())
            assert (await collected(seen.events()))[-1].kind == "run.ended"
            monkeypatch.setattr(FolderRun, "record", read_again)
            await is_read_again.wait()  # and it does not tell of the end yet
            may_keep.set()

    assert waiting.result().status == "failed"


async def test_a_shell_at_a_stop_is_where_the_step_works_with_what_it_sees(desk: Desk) -> None:
    (desk.folder / "inner").mkdir()
    flow = desk.write("""\
        env: {REGION: eu}
        steps:
          - id: bad
            env: {COLOUR: "${{ .env.REGION }}-red"}
            working_directory: inner
            run: exit 3
        """)
    async with desk.start(flow, debug=DebugRequest()) as run:
        stop = await fields_of_first(run, "debug.stopped")
        shell = await desk.opened.workspaces.shell(LOCAL, run.id, stop["stop"])
        await shell.write(b'echo "<$PWD|$COLOUR|$PITSTOP_STEP>"; history | tail -2; exit\n')
        said = b""
        while chunk := await shell.read():
            said += chunk
        await shell.close()
        await desk.debugger(run).say(verbs.Abort())
        await run.wait()
        with pytest.raises(CommandRefused):
            await desk.opened.workspaces.shell(LOCAL, run.id, stop["stop"])

    assert f"<{desk.folder.resolve()}/inner|eu-red|bad>".encode() in said
    assert b"exit 3" in said


async def test_a_question_waits_for_its_answer(desk: Desk) -> None:
    asked = asyncio.Event()
    async with desk.start(desk.write("steps: [{id: ask, approve: Ship it?}]"), can_ask=True) as run:
        run.hear_output(lambda output: asked.set())
        await asked.wait()
        (question,) = await run.questions()
        assert (question.occurrence, question.prompt) == ("ask", "Ship it?")
        with pytest.raises(CommandRefused):
            await desk.opened.runs.answer(LOCAL, run.id, "other", approved=True)
        await desk.opened.runs.answer(LOCAL, run.id, "ask", approved=False, by="ann", comment="not yet")
        summary = await run.wait()

    assert "ann did not approve 'Ship it?': not yet" in summary.failures[0].message


async def test_a_run_goes_on_from_a_step_with_what_the_last_one_finished(desk: Desk) -> None:
    flow = desk.write("""\
        steps:
          - {id: slow, run: "echo once >> slow; echo tag=v1 >> $PITSTOP_OUTPUT"}
          - {id: bad, run: "test -e repaired && echo ${{ .steps.slow.outputs.tag }} > tag"}
        """)
    await desk.run(flow)
    (desk.folder / "repaired").touch()

    async with desk.start(flow, from_step="bad") as run:
        assert run.carried_over > 0
        told = [event.kind async for event in run.events(run.carried_over)]
        summary = await run.wait()

    assert summary.status == "passed"
    assert told.count("step.started") == 1
    assert (desk.folder / "slow").read_text() == "once\n"
    assert (desk.folder / "tag").read_text() == "v1\n"
    assert (await desk.run(flow, from_step="bad"))[0].status == "passed"  # the log of the new run is a whole one


async def test_what_a_machine_needs_is_examined(desk: Desk) -> None:
    async with desk.service as service:
        findings = {each.name: each for each in await service.flows.examine(LOCAL)}

    assert all(each.works for each in findings.values() if each.is_needed)
    assert {"python", "jq", "commands", "docker", "containers"} <= findings.keys()


async def test_the_plan_is_resolved_as_far_as_the_inputs_tell(desk: Desk) -> None:
    desk.write("inputs: {region: {default: eu}}\nsteps: [{id: ship, run: 'ship ${{ .inputs.region }}'}]", "inner.yaml")
    flow = desk.write("""\
        inputs: {n: {default: 2}}
        steps:
          - {id: a, run: "seq ${{ .inputs.n + 1 }} ${{ .secrets.TOKEN }}"}
          - {id: b, call: inner.yaml, with: {region: "r${{ .inputs.n }}"}}
        """)

    async with desk.service as service:
        told = await service.flows.resolve(LOCAL, RunRequest(flow=flow, inputs={"n": 4}))

    assert {step.path: step.detail for step in told.steps} == {
        "a": "seq ${{ .inputs.n + 1 }} ${{ .secrets.TOKEN }}",
        "b": "inner.yaml",
        "b.ship": "ship r4",
    }
    assert told.inputs[0].default == 4


async def test_a_run_whose_log_does_not_fit_any_more_ends_and_says_why(desk: Desk) -> None:
    flow = desk.write(TWO_STEPS)
    await desk.run(flow)
    desk.write(TWO_STEPS.replace("id: hello", "id: hi"))

    with pytest.raises(BadLog, match="has a step 'hello' that 'shop' does not have"):
        await desk.run(flow, from_step="bad")


async def test_artifacts_beyond_the_limit_are_not_stored_and_the_run_says_so(desk: Desk) -> None:
    desk.settings = replace(desk.settings, limits=Limits(artifact_limit_files=2))
    flow = desk.write("steps: [{run: 'for name in a b c d; do echo 1 > $PITSTOP_ARTIFACTS/$name; done'}]")

    async with desk.start(flow) as run:
        summary = await run.wait()
        stored = await run.artifacts()

    assert summary.status == "passed"
    assert summary.error is not None
    assert summary.error.endswith(
        "are not stored: the run has at least 3 artifacts, but at most 2 are allowed: "
        "pack them into one file, or raise PITSTOP_ARTIFACT_LIMIT_FILES"
    )
    assert len(stored) == 2


async def test_an_artifact_whose_path_is_too_long_is_not_stored_and_the_run_says_so(desk: Desk) -> None:
    flow = desk.write("""
        steps:
          - run: |
              cd "$PITSTOP_ARTIFACTS"; echo 1 > z
              for level in $(seq 20); do mkdir $(printf 'a%.0s' $(seq 100)); cd a*; done; echo 1 > file
    """)

    async with desk.start(flow) as run:
        summary = await run.wait()
        stored = await run.artifacts()

    assert summary.status == "passed"
    assert summary.error == (
        f"not everything is stored: artifact '{'a' * 50}…': its path has 2,024 characters, "
        "but at most 1,000 are allowed: use fewer folders"
    )
    assert [artifact.path for artifact in stored] == ["z"]
