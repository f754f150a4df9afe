"""The life of a session, as an editor drives it."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.doors.dap.adapter_client import AdapterClient, gone, written
from tests.doors.dap.flows import SHOP, line_of


async def test_a_flow_runs_to_its_end(adapter: AdapterClient) -> None:
    await adapter.launch("shop.yaml")

    assert await adapter.ended() == 0
    said = adapter.output("stdout").splitlines()
    assert said[0] == "reading" and said[3:] == ["turn 0", "turn 1", "turn 2", "eu Ada", "tidy"]
    assert sorted(said[1:3]) == ["left", "right"], "side by side, in whichever order they come"
    assert adapter.output("stderr") == "warning\n"
    assert await adapter.leave() == 0


async def test_what_a_step_writes_is_a_link_to_it(adapter: AdapterClient, folder: Path) -> None:
    await adapter.launch("shop.yaml")
    await adapter.ended()

    (first,) = [each for each in adapter.events_named("output") if each["output"] == "reading\n"]
    assert (first["source"]["path"], first["line"]) == (str(folder / "shop.yaml"), line_of("shop.yaml", "id: version"))


async def test_the_process_is_named_after_the_flow(adapter: AdapterClient, folder: Path) -> None:
    await adapter.launch("shop.yaml")

    told = await adapter.event("process")
    assert told == {"name": str(folder / "shop.yaml"), "isLocalProcess": True, "startMethod": "launch"}


async def test_a_failed_flow_has_exit_code_1(adapter: AdapterClient) -> None:
    await adapter.launch("broken.yaml")

    assert await adapter.ended() == 1


async def test_inputs_secrets_and_folder_reach_the_run(adapter: AdapterClient, folder: Path) -> None:
    (folder / "work").mkdir()
    (folder / "given.yaml").write_text(
        "name: given\ninputs: {who: {required: true}}\nsecrets: [KEY]\n"
        'steps:\n  - run: echo "$KEY ${{ .inputs.who }}"; pwd > where\n'
    )
    await adapter.launch("given.yaml", inputs={"who": "Ada"}, secrets={"KEY": "hush-hush"}, folder="work")

    assert await adapter.ended() == 0
    assert adapter.output("stdout") == "*** Ada\n"
    assert (folder / "work/where").read_text().strip() == str(folder / "work")


@pytest.mark.parametrize(
    ("program", "inputs", "told"),
    [("shop.yaml", ["customer=Bo=b"], '"Bo=b"'), ("sums.py:app", ["count=1", "port=5432", "customer=x"], "1")],
)
async def test_inputs_can_be_a_list(adapter: AdapterClient, program: str, inputs: list[str], told: str) -> None:
    """For clients whose templates have only text and lists of it."""
    await adapter.initialize()
    refused = await adapter.refusal("launch", program="shop.yaml", inputs=["customer"])
    assert refused.message == "invalid input 'customer': use name=value"
    await adapter.launch(program, source=program.partition(":")[0], inputs=inputs, stopOnEntry=True)
    await adapter.stopped()

    assert await adapter.evaluate(".inputs.customer // .count") == told


async def test_variables_are_added_to_the_environment_and_taken_out_of_it(folder: Path) -> None:
    (folder / "given.yaml").write_text(
        'name: given\nsteps:\n  - run: echo "${ADDED-none} ${TAKEN-none} ${KEPT-none}"\n'
    )
    async with AdapterClient(folder, env={"TAKEN": "1", "KEPT": "1"}) as adapter:
        await adapter.launch("given.yaml", env={"ADDED": "1", "TAKEN": None}, stopOnEntry=True)
        await adapter.stopped()
        await adapter.ask("restart", arguments={"program": str(folder / "given.yaml"), "env": {"KEPT": "2"}})
        assert await adapter.ended() == 0
        assert adapter.output("stdout") == "none 1 2\n", "each launch has its own"
    async with AdapterClient(folder, env={"TAKEN": "1", "KEPT": "1"}) as adapter:
        await adapter.launch("given.yaml", env={"ADDED": "1", "TAKEN": None})
        assert await adapter.ended() == 0
        assert adapter.output("stdout") == "1 none 1\n"


async def test_secrets_can_be_named_and_are_then_taken_from_the_environment(folder: Path) -> None:
    (folder / "given.yaml").write_text(
        'name: given\nsteps:\n  - {secrets: [KEY], run: test "$KEY" = hush-hush}\n  - run: test -z "${KEY+set}"\n'
    )
    async with AdapterClient(folder, env={"KEY": "hush-hush"}) as adapter:
        await adapter.launch("given.yaml", secrets=["KEY"])

        assert await adapter.ended() == 0
        assert "hush" not in json.dumps([message for sender, message in adapter.trace if sender == "adapter"])


async def test_a_secret_is_in_no_message(adapter: AdapterClient, folder: Path) -> None:
    """Also where a client opens every scope, as Helix does with expensive ones."""
    (folder / "given.yaml").write_text(
        'secrets: [KEY]\nsteps:\n  - id: a\n    run: echo $KEY\n    env: {COPY: "${{ .secrets.KEY }}"}\n'
    )
    await adapter.launch("given.yaml", secrets={"KEY": "hush-hush"}, stopOnEntry=True)
    stop = await adapter.stopped()
    for scope in (await adapter.scopes(stop)).values():
        await _open_everything(adapter, scope["variablesReference"])
    await adapter.evaluate(".secrets")
    await adapter.ask("continue", threadId=1)
    await adapter.ended()

    assert "hush" not in json.dumps([message for sender, message in adapter.trace if sender == "adapter"])


async def _open_everything(adapter: AdapterClient, reference: int) -> None:
    for each in (await adapter.variables(reference)).values():
        if each["variablesReference"]:
            await _open_everything(adapter, each["variablesReference"])


async def test_without_debugging_nothing_stops(adapter: AdapterClient) -> None:
    await adapter.launch("broken.yaml", lines=(5,), filters=("failed",), noDebug=True)

    assert await adapter.ended() == 1
    assert adapter.events_named("stopped") == []


async def test_it_stops_on_entry_if_that_is_wanted(adapter: AdapterClient) -> None:
    await adapter.launch("shop.yaml", stopOnEntry=True)

    stop = await adapter.stopped()
    assert stop["reason"] == "entry"
    assert (await adapter.stack(stop))[0]["name"] == "version"


async def test_it_stops_at_the_end_if_that_is_wanted(adapter: AdapterClient) -> None:
    await adapter.launch("shop.yaml", stopAtEnd=True)

    stop = await adapter.stopped()
    assert stop["description"] == "Paused at the end of the run"
    assert await adapter.evaluate(".steps.last.status") == '"passed"'
    await adapter.ask("continue", threadId=stop["threadId"])
    assert await adapter.ended() == 0


async def test_a_run_begins_at_a_step_with_what_came_before_from_the_last_run(
    adapter: AdapterClient, folder: Path
) -> None:
    async with AdapterClient(folder) as earlier:
        await earlier.launch("broken.yaml")
        await earlier.ended()
    again: dict[str, Any] = {"from": "connect", "stopOnEntry": True}
    await adapter.launch("broken.yaml", **again)

    stop = await adapter.stopped()
    assert (await adapter.stack(stop))[0]["name"] == "connect"
    assert await adapter.evaluate(".steps.start.status") == '"passed"'


async def test_restart_runs_the_flow_as_it_is_now_in_the_same_session(adapter: AdapterClient, folder: Path) -> None:
    await adapter.launch("shop.yaml", lines=(line_of("shop.yaml", "id: last"),))
    first = await adapter.stopped()
    (folder / "shop.yaml").write_text(SHOP.replace("region: eu", "region: us"))
    await adapter.ask("restart", arguments={"program": str(folder / "shop.yaml"), "__sessionId": "x"})

    second = await adapter.stopped()
    assert second["hitBreakpointIds"] == first["hitBreakpointIds"]
    assert await adapter.evaluate(".vars.region") == '"us"'
    assert adapter.events_named("terminated") == []


async def test_a_restart_with_a_mistake_leaves_the_run_as_it_is(adapter: AdapterClient, folder: Path) -> None:
    await adapter.launch("shop.yaml", stopOnEntry=True)
    await adapter.stopped()
    refused = await adapter.refusal("restart", arguments={"program": str(folder / "wrong.yaml")})

    assert "did you mean" in refused.message
    assert await adapter.evaluate(".vars.region") == '"eu"'


async def test_terminate_ends_the_run_and_lets_it_clean_up(adapter: AdapterClient) -> None:
    await adapter.launch("shop.yaml", stopOnEntry=True)
    await adapter.stopped()
    await adapter.ask("terminate")

    assert await adapter.ended() == 1
    assert adapter.output("stdout") == "tidy\n"


async def test_stop_while_paused_runs_no_further_step(adapter: AdapterClient, folder: Path) -> None:
    (folder / "two.yaml").write_text("name: two\nsteps:\n  - run: touch one\n  - run: touch two\n")
    await adapter.launch("two.yaml", lines=(4,))
    await adapter.stopped()
    await adapter.leave()

    assert (folder / "one").exists()
    assert not (folder / "two").exists()


async def test_disconnect_ends_a_step_that_hangs_within_a_second_or_so(adapter: AdapterClient, folder: Path) -> None:
    (folder / "deaf.yaml").write_text("name: deaf\nsteps:\n  - run: trap '' TERM INT; echo $$ > pid; sleep 60\n")
    await adapter.launch("deaf.yaml")
    pid = int(await written(folder / "pid", "\n"))

    assert await adapter.leave() == 0
    assert await gone(pid)


async def test_a_run_can_go_on_without_the_editor(adapter: AdapterClient, folder: Path) -> None:
    (folder / "two.yaml").write_text("name: two\nsteps:\n  - run: touch one\n  - run: touch two\n")
    await adapter.launch("two.yaml", lines=(4,))
    await adapter.stopped()

    assert await adapter.leave(terminateDebuggee=False) == 0
    assert (folder / "two").exists()


async def test_the_log_of_the_run_is_written_before_disconnect_is_answered(
    adapter: AdapterClient, folder: Path
) -> None:
    """Some editors kill the adapter as soon as they have the answer."""
    await adapter.launch("shop.yaml", lines=(line_of("shop.yaml", "id: last"),))
    await adapter.stopped()
    await adapter.ask("disconnect")
    adapter.kill()
    await adapter.exit_code()

    (log,) = (folder / "home").glob("runs/*/events.jsonl")
    assert '"run.ended"' in log.read_text()


async def test_the_launch_can_be_answered_when_the_run_has_begun(folder: Path) -> None:
    async with AdapterClient(folder, "--launch-response", "late") as adapter:
        await adapter.initialize()
        launching = adapter.send("launch", {"program": str(folder / "shop.yaml"), "stopOnEntry": True})
        await adapter.event("initialized")
        await adapter.ask("threads")
        assert not any(message.get("command") == "launch" for sender, message in adapter.trace if sender == "adapter")
        await adapter.ask("configurationDone")

        assert (await adapter.answer(launching))["success"]
        await adapter.stopped()


async def test_configuration_may_be_done_before_the_launch(adapter: AdapterClient, folder: Path) -> None:
    await adapter.initialize()
    path = str(folder / "shop.yaml")
    (pending,) = (await adapter.ask("setBreakpoints", source={"path": path}, breakpoints=[{"line": 8}]))["breakpoints"]
    await adapter.ask("configurationDone")
    await adapter.ask("launch", program=path)

    assert (pending["verified"], pending["reason"]) == (False, "pending")
    changed = (await adapter.event("breakpoint"))["breakpoint"]
    assert (changed["id"], changed["verified"], changed["line"]) == (pending["id"], True, 7)
    assert (await adapter.stopped())["hitBreakpointIds"] == [pending["id"]]
