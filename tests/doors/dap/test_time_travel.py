"""Going back, starting again, going ahead."""

from pathlib import Path

from tests.doors.dap.adapter_client import AdapterClient
from tests.doors.dap.flows import line_of

CHECKS, LAST = line_of("shop.yaml", "id: checks"), line_of("shop.yaml", "id: last")


async def test_step_back_leads_to_the_stop_before(adapter: AdapterClient) -> None:
    await adapter.launch("shop.yaml", stopOnEntry=True)
    await adapter.stopped()
    await adapter.ask("next", threadId=1)
    await adapter.stopped()
    await adapter.ask("stepBack", threadId=1)

    stop = await adapter.stopped()
    assert (stop["reason"], (await adapter.stack(stop))[0]["name"]) == ("step", "version")
    assert await adapter.evaluate(".steps.version") == "null"
    assert "first step" in (await adapter.refusal("stepBack", threadId=1)).message
    await adapter.ask("continue", threadId=1)
    assert await adapter.ended() == 0


async def test_branches_that_do_not_exist_at_the_point_gone_back_to_are_over_before_the_stop(
    adapter: AdapterClient,
) -> None:
    await adapter.launch("shop.yaml", lines=(CHECKS,))
    await adapter.stopped()
    await adapter.ask("stepIn", threadId=1)
    stop = await adapter.stopped()
    frames = await adapter.stack(stop)
    await adapter.ask("restartFrame", frameId=frames[1]["id"])

    for _ in range(2):
        assert (await adapter.event("thread", lambda body: body["reason"] == "exited"))["threadId"] in (2, 3)
    again = await adapter.stopped()
    assert (again["reason"], again["threadId"]) == ("restart", 1)
    assert (await adapter.stack(again))[0]["name"] == "checks"
    assert len((await adapter.ask("threads"))["threads"]) == 1


async def test_a_failed_step_can_be_started_again_from_its_stack_frame(adapter: AdapterClient) -> None:
    await adapter.launch("broken.yaml", filters=("failed",))
    (frame, *_) = await adapter.stack(await adapter.stopped())
    assert frame["canRestart"]
    await adapter.ask("restartFrame", frameId=frame["id"])

    stop = await adapter.stopped()
    assert (stop["reason"], (await adapter.stack(stop))[0]["name"]) == ("restart", "connect")
    await adapter.evaluate("set .vars.port 5432")
    await adapter.ask("continue", threadId=1)
    assert await adapter.ended() == 0


async def test_values_set_at_a_failure_are_kept_when_the_step_is_started_again(adapter: AdapterClient) -> None:
    await adapter.launch("broken.yaml", filters=("failed",))
    (frame, *_) = await adapter.stack(await adapter.stopped())
    await adapter.ask("setExpression", expression=".vars.port", value="1", frameId=frame["id"])
    await adapter.evaluate("set .vars.port 5432")
    await adapter.evaluate("set .vars.other 1")
    await adapter.evaluate("undo")
    await adapter.ask("restartFrame", frameId=frame["id"])

    (frame, *_) = await adapter.stack(await adapter.stopped())
    assert (frame["name"], await adapter.evaluate(".vars")) == ("connect", '{"port": 5432}')
    await adapter.ask("continue", threadId=1)
    assert await adapter.ended() == 0


async def test_an_edit_that_cannot_be_made_again_is_named(adapter: AdapterClient, folder: Path) -> None:
    """At the start of the run there is no loop, so its number cannot be removed."""
    await adapter.launch("shop.yaml", lines=(line_of("shop.yaml", "id: turn"),))
    *_, whole = await adapter.stack(await adapter.stopped())
    await adapter.evaluate("unset .repeat.index")
    await adapter.ask("restartFrame", frameId=whole["id"])

    await adapter.stopped()
    assert "could not reapply an edit: " in adapter.output("stderr")


async def test_a_step_that_has_not_begun_cannot_be_started_again(adapter: AdapterClient) -> None:
    await adapter.launch("shop.yaml", stopOnEntry=True)
    (frame, *_) = await adapter.stack(await adapter.stopped())

    assert not frame["canRestart"]
    assert "has not started" in (await adapter.refusal("restartFrame", frameId=frame["id"])).message
    assert (await adapter.stack({"threadId": 1}))[0]["name"] == "version", "it stands where it was"


async def test_reverse_continue_leads_to_the_breakpoint_before_and_then_to_the_start(adapter: AdapterClient) -> None:
    await adapter.launch("shop.yaml", lines=(CHECKS, LAST))
    await adapter.stopped()
    await adapter.ask("continue", threadId=1)
    await adapter.stopped()
    await adapter.ask("reverseContinue", threadId=1)
    first = await adapter.stopped()
    assert (await adapter.stack(first))[0]["name"] == "checks"
    await adapter.ask("reverseContinue", threadId=1)

    assert (await adapter.stack(await adapter.stopped()))[0]["name"] == "version"


async def test_goto_skips_ahead_and_goes_back_in_a_sequence(adapter: AdapterClient, folder: Path) -> None:
    source = {"path": str(folder / "shop.yaml")}
    await adapter.launch("shop.yaml", stopOnEntry=True)
    await adapter.stopped()
    (ahead,) = (await adapter.ask("gotoTargets", source=source, line=LAST + 1))["targets"]
    assert (ahead["label"], ahead["line"]) == ("last", LAST)
    await adapter.ask("goto", threadId=1, targetId=ahead["id"])

    stop = await adapter.stopped()
    assert (stop["reason"], (await adapter.stack(stop))[0]["name"]) == ("goto", "last")
    assert await adapter.evaluate(".steps.version.status") == '"skipped"'
    inside = line_of("shop.yaml", "id: left")
    assert await adapter.ask("gotoTargets", source=source, line=inside) == {"targets": []}
    (back,) = (await adapter.ask("gotoTargets", source=source, line=CHECKS))["targets"]
    await adapter.ask("goto", threadId=1, targetId=back["id"])
    assert (await adapter.stack(await adapter.stopped()))[0]["name"] == "checks"
    assert "no such target" in (await adapter.refusal("goto", threadId=1, targetId=999)).message


async def test_what_cannot_be_undone_outside_is_asked_about(adapter: AdapterClient, folder: Path) -> None:
    (folder / "sent.yaml").write_text(
        "name: sent\nsteps:\n  - id: send\n    run: echo sent\n    effects: external\n  - id: end\n    run: echo end\n"
    )
    await adapter.launch("sent.yaml", stopOnEntry=True)
    await adapter.stopped()
    await adapter.ask("next", threadId=1)
    await adapter.stopped()
    refused = await adapter.refusal("stepBack", threadId=1)

    assert "cannot be undone" in refused.message and refused.error["showUser"]
    assert (await adapter.stack({"threadId": 1}))[0]["name"] == "end"
    assert await adapter.evaluate("back external") == "end rewound"
    await adapter.event("continued")
    assert (await adapter.stack(await adapter.stopped()))[0]["name"] == "send"
