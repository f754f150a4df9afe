"""Branches as threads: one stop at a time, steps that stick to their branch, joins that never hang."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from tests.doors.dap.adapter_client import AdapterClient, written
from tests.doors.dap.flows import BRANCHES, line_of
from tests.patience import PATIENCE_SECONDS

CHECKS = line_of("shop.yaml", "id: checks")


async def place(adapter: AdapterClient, stop: dict[str, Any]) -> str:
    name: str = (await adapter.stack(stop, levels=1))[0]["name"]
    return name


async def names(adapter: AdapterClient) -> dict[str, int]:
    return {each["name"]: each["id"] for each in (await adapter.ask("threads"))["threads"]}


async def test_each_branch_is_a_thread_with_the_steps_around_it_as_its_stack(
    adapter: AdapterClient, folder: Path
) -> None:
    await adapter.launch("shop.yaml", lines=(CHECKS,))
    await adapter.stopped()
    await adapter.ask("stepIn", threadId=1)

    stop = await adapter.stopped()
    assert await names(adapter) == {"main": 1, "checks.left": 2, "checks.right": 3}
    frames = await adapter.stack(stop)
    assert [each["name"] for each in frames] == ["checks.left", "checks", "shop"]
    left = line_of("shop.yaml", "id: left")
    assert (frames[0]["line"], frames[0]["column"], frames[0]["endLine"]) == (left, 9, left)
    assert all(each["source"]["path"] == str(folder / "shop.yaml") for each in frames)


async def test_a_long_stack_is_given_in_parts(adapter: AdapterClient) -> None:
    """As VS Code asks for it: the first frame, then the rest."""
    await adapter.launch("shop.yaml", lines=(line_of("shop.yaml", "id: left"),))
    stop = await adapter.stopped()
    first = await adapter.ask("stackTrace", threadId=stop["threadId"], startFrame=0, levels=1)
    rest = await adapter.ask("stackTrace", threadId=stop["threadId"], startFrame=1, levels=19)

    assert [each["name"] for each in first["stackFrames"] + rest["stackFrames"]] == ["checks.left", "checks", "shop"]
    assert first["totalFrames"] == rest["totalFrames"] == 3


async def test_frame_ids_are_never_used_twice(adapter: AdapterClient) -> None:
    await adapter.launch("shop.yaml", lines=(CHECKS,))
    await adapter.stopped()
    seen = [each["id"] for each in await adapter.stack({"threadId": 1})]
    await adapter.ask("stepIn", threadId=1)
    await adapter.stopped()
    for thread in (2, 3):
        seen += [each["id"] for each in await adapter.stack({"threadId": thread})]

    assert len(seen) == len(set(seen))
    refused = await adapter.refusal("scopes", frameId=seen[0])
    assert "a stop that has ended" in refused.message and not refused.error["showUser"]


async def test_next_runs_a_whole_block_and_stops_at_the_step_after_it(adapter: AdapterClient) -> None:
    await adapter.launch("shop.yaml", lines=(CHECKS,))
    await adapter.stopped()
    await adapter.ask("next", threadId=1)

    stop = await adapter.stopped()
    assert (stop["reason"], await place(adapter, stop)) == ("step", "loop")
    assert {"left", "right"} <= set(adapter.output("stdout").split())


async def test_step_out_runs_to_what_follows_the_block(adapter: AdapterClient) -> None:
    await adapter.launch("shop.yaml", lines=(line_of("shop.yaml", "id: turn"),))
    await adapter.stopped()
    await adapter.ask("setBreakpoints", source={"path": str(adapter.folder / "shop.yaml")}, breakpoints=[])
    await adapter.ask("stepOut", threadId=1)

    assert await place(adapter, await adapter.stopped()) == "last"


async def test_a_step_sticks_to_its_branch(adapter: AdapterClient) -> None:
    await adapter.launch("branches.yaml", lines=(line_of("branches.yaml", "id: quick_one"),))
    stop = await adapter.stopped()
    await adapter.ask("next", threadId=stop["threadId"])

    second = await adapter.stopped()
    assert second["threadId"] == stop["threadId"]
    assert await place(adapter, second) == "both.quick.quick_two"
    (adapter.folder / "go").touch()


async def test_a_branch_that_was_parked_is_shown_before_its_step_and_next_runs_that(adapter: AdapterClient) -> None:
    await adapter.launch("shop.yaml", lines=(CHECKS,))
    await adapter.stopped()
    await adapter.ask("stepIn", threadId=1)
    stop = await adapter.stopped()
    other = ({2, 3} - {stop["threadId"]}).pop()
    async with asyncio.timeout(PATIENCE_SECONDS):
        while (parked := await place(adapter, {"threadId": other})) not in ("checks.left", "checks.right"):
            pass  # it is on its way
    await adapter.ask("next", threadId=other)

    after = await adapter.stopped()
    assert after["threadId"] != other, "its branch is at its end"
    assert parked.removeprefix("checks.") in adapter.output("stdout").split()


async def test_two_branches_that_hit_at_the_same_time_are_told_one_after_the_other(adapter: AdapterClient) -> None:
    left, right = line_of("shop.yaml", "id: left"), line_of("shop.yaml", "id: right")
    told = await adapter.launch("shop.yaml", lines=(left, right))
    first = await adapter.stopped()
    await adapter.ask("continue", threadId=first["threadId"])
    second = await adapter.stopped()
    await adapter.ask("continue", threadId=second["threadId"])

    assert await adapter.ended() == 0
    hit = first["hitBreakpointIds"] + second["hitBreakpointIds"]
    assert sorted(hit) == sorted(each["id"] for each in told)
    assert (first["allThreadsStopped"], second["allThreadsStopped"]) == (True, True)


async def test_a_join_that_waits_for_a_parked_branch_says_so(adapter: AdapterClient) -> None:
    await adapter.launch("shop.yaml", lines=(line_of("shop.yaml", "id: left"), line_of("shop.yaml", "id: right")))
    first = await adapter.stopped()
    answer = await adapter.ask("continue", threadId=first["threadId"], singleThread=True)
    second = await adapter.stopped()

    assert answer == {"allThreadsContinued": False}
    assert second["threadId"] != first["threadId"]
    assert second["description"].startswith("Nothing else can run: waiting for checks.")
    assert "all frames are paused" in adapter.output("console")


async def test_continue_frees_all_whichever_thread_it_names(adapter: AdapterClient) -> None:
    """Helix names the thread that was told last, dead or alive."""
    await adapter.launch("shop.yaml", lines=(CHECKS,))
    await adapter.stopped()
    await adapter.ask("stepIn", threadId=1)
    await adapter.stopped()

    assert await adapter.ask("continue", threadId=9999) == {"allThreadsContinued": True}
    assert await adapter.ended() == 0


async def test_next_of_a_thread_that_is_no_more_steps_the_one_that_has_stopped(adapter: AdapterClient) -> None:
    await adapter.launch("shop.yaml", lines=(7,))
    await adapter.stopped()
    await adapter.ask("next", threadId=77)

    assert await place(adapter, await adapter.stopped()) == "checks"


async def test_next_of_the_main_thread_runs_its_branches_to_the_join(adapter: AdapterClient) -> None:
    await adapter.launch("shop.yaml", lines=(CHECKS,))
    await adapter.stopped()
    await adapter.ask("stepIn", threadId=1)
    await adapter.stopped()
    await adapter.ask("next", threadId=1)

    stop = await adapter.stopped()
    assert (stop["threadId"], await place(adapter, stop)) == (1, "checks (after)")


async def test_next_of_the_main_thread_lets_a_branch_through_that_was_to_wait_for_another(
    adapter: AdapterClient, folder: Path
) -> None:
    held = BRANCHES.replace("run: until", "run: touch holding; until")
    (folder / "held.yaml").write_text(held.replace("echo quick one", "until test -e holding; do sleep 0.05; done"))
    await adapter.launch("held.yaml", lines=(line_of("branches.yaml", "id: quick_two"),))
    await adapter.stopped()
    await adapter.ask("next", threadId=1)
    (folder / "go").touch()

    stop = await adapter.stopped()
    assert (stop["threadId"], await place(adapter, stop)) == (1, "both (after)")
    assert {"slow end", "quick two"} <= set(adapter.output("stdout").splitlines())


async def test_all_branches_go_on_while_one_is_stepped_if_that_is_wanted(adapter: AdapterClient) -> None:
    await adapter.launch("shop.yaml", lines=(CHECKS,), steppingResumesAllBranches=True)
    await adapter.stopped()
    await adapter.ask("stepIn", threadId=1)
    stop = await adapter.stopped()
    await adapter.ask("next", threadId=stop["threadId"])

    assert await place(adapter, await adapter.stopped()) == "loop"


async def test_a_step_goes_on_past_what_was_to_wait_when_all_branches_go_on(
    adapter: AdapterClient, folder: Path
) -> None:
    lines = (line_of("branches.yaml", "id: quick_two"),)
    await adapter.launch("branches.yaml", lines=lines, steppingResumesAllBranches=True)
    stop = await adapter.stopped()  # the other branch is at work, so it and the main one are asked to wait
    await adapter.ask("next", threadId=stop["threadId"])
    (folder / "go").touch()

    assert await place(adapter, await adapter.stopped()) == "joined"


async def test_a_step_goes_on_past_a_failure_that_is_not_to_stop_it(adapter: AdapterClient, folder: Path) -> None:
    (folder / "lenient.yaml").write_text(
        "name: lenient\nsteps:\n  - id: block\n    repeat: {times: 2}\n    steps:\n"
        "      - {id: fails, run: exit 1, continue_on_error: true}\n"
        "      - {id: follows, run: echo follows}\n"
        "  - {id: last, run: echo last}\n"
    )
    await adapter.launch("lenient.yaml", lines=(3,), filters=("uncaught",))
    await adapter.stopped()
    await adapter.ask("next", threadId=1)

    assert await place(adapter, await adapter.stopped()) == "last"


async def test_each_branch_stops_alone_if_that_is_wanted(adapter: AdapterClient) -> None:
    (adapter.folder / "go").touch()
    lines = (line_of("branches.yaml", "id: slow_end"), line_of("branches.yaml", "id: quick_two"))
    await adapter.launch("branches.yaml", lines=lines, stopMode="one")
    stops = [await adapter.stopped(), await adapter.stopped()]

    assert [each["allThreadsStopped"] for each in stops] == [False, False]
    for stop in stops:
        assert (await adapter.scopes(stop))["State"], "also when the other one has gone on"
        assert await adapter.ask("continue", threadId=stop["threadId"]) == {"allThreadsContinued": False}
    assert await adapter.ended() == 0


async def test_step_in_targets_are_the_branches(adapter: AdapterClient) -> None:
    await adapter.launch("shop.yaml", lines=(CHECKS,))
    (frame, *_) = await adapter.stack(await adapter.stopped())
    targets = (await adapter.ask("stepInTargets", frameId=frame["id"]))["targets"]
    assert [each["label"] for each in targets] == ["left", "right"]
    await adapter.ask("stepIn", threadId=1, targetId=targets[1]["id"])

    assert await place(adapter, await adapter.stopped()) == "checks.right"


async def test_pause_stops_at_the_next_step(adapter: AdapterClient, folder: Path) -> None:
    (folder / "many.yaml").write_text(
        "name: many\nsteps:\n  - repeat:\n      times: 100000\n    steps:\n      - sleep: 20ms\n"
    )
    await adapter.launch("many.yaml")
    await adapter.event("thread")
    await adapter.ask("pause", threadId=1)

    assert (await adapter.stopped())["reason"] == "pause"


async def test_a_pause_in_a_long_step_tells_what_is_still_at_work(adapter: AdapterClient, folder: Path) -> None:
    (folder / "branches.yaml").write_text(BRANCHES.replace("run: until", "run: touch holding; until"))
    await adapter.launch("branches.yaml")
    await adapter.event("thread", lambda body: body["reason"] == "exited")  # the quick branch has ended
    await written(folder / "holding")
    await adapter.ask("pause", threadId=1)
    stop = await adapter.stopped()

    assert stop["description"] == "Will pause after the current step both.slow.hold"
    (frame, *_) = await adapter.stack(stop)
    assert frame["name"] == "both.slow.hold (running)"
    assert (await adapter.ask("scopes", frameId=frame["id"])) == {"scopes": []}
    await adapter.ask("next", threadId=stop["threadId"])
    (folder / "go").touch()
    assert (await place(adapter, await adapter.stopped())).startswith("both.slow")


async def test_a_thread_can_be_ended_alone(adapter: AdapterClient) -> None:
    await adapter.launch("branches.yaml", lines=(line_of("branches.yaml", "id: quick_one"),))
    stop = await adapter.stopped()
    await adapter.ask("terminateThreads", threadIds=[stop["threadId"]])
    await adapter.event("thread", lambda body: body == {"reason": "exited", "threadId": stop["threadId"]})
    (adapter.folder / "go").touch()

    parked = await adapter.stopped()
    assert (await place(adapter, parked)).startswith("both.slow")
    await adapter.ask("continue", threadId=parked["threadId"])
    assert await adapter.ended() == 1


async def test_a_thread_that_is_at_work_can_be_ended_too(adapter: AdapterClient) -> None:
    await adapter.launch("branches.yaml", lines=(line_of("branches.yaml", "id: quick_two"),))
    stop = await adapter.stopped()
    slow = (await names(adapter))["both.slow"]
    await adapter.ask("terminateThreads", threadIds=[slow])
    await adapter.event("thread", lambda body: body == {"reason": "exited", "threadId": slow})
    assert await place(adapter, stop) == "both.quick.quick_two", "the other one stands where it stood"
    await adapter.ask("continue", threadId=stop["threadId"])

    assert await adapter.ended() == 1
    assert "quick two\n" in adapter.output("stdout") and "slow end" not in adapter.output("stdout")


async def test_a_thread_is_ended_whatever_its_steps_make_of_failures(adapter: AdapterClient, folder: Path) -> None:
    (folder / "lenient.yaml").write_text(
        "name: lenient\nsteps:\n  - parallel:\n"
        "      - id: one\n        steps:\n          - {id: a, run: echo a, continue_on_error: true}\n"
        "          - {id: b, run: echo b}\n"
        "      - {id: two, run: until test -e go; do sleep 0.1; done}\n"
    )
    await adapter.launch("lenient.yaml", lines=(6,))
    stop = await adapter.stopped()
    await adapter.ask("terminateThreads", threadIds=[stop["threadId"]])
    (folder / "go").touch()
    parked = await adapter.stopped()
    await adapter.ask("continue", threadId=parked["threadId"])

    assert await adapter.ended() == 1
    assert not {"a", "b"} & set(adapter.output("stdout").split())


async def test_threads_are_told_at_any_time(adapter: AdapterClient) -> None:
    await adapter.initialize()
    main = {"threads": [{"id": 1, "name": "main"}]}
    assert await adapter.ask("threads") == main
    await adapter.launch("shop.yaml")
    assert (await adapter.ask("threads"))["threads"][0] == {"id": 1, "name": "main"}
    await adapter.ended()

    assert await adapter.ask("threads") == main


async def test_of_very_many_branches_only_some_are_listed_and_always_the_stopped_one(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PITSTOP_MATRIX_LIMIT", "2000")
    items = ", ".join(map(str, range(1100)))
    flow = f"name: wide\nsteps:\n  - matrix: {{n: [{items}]}}\n    parallel: true\n    steps:\n      - sleep: 1ms\n"
    (folder / "wide.yaml").write_text(flow)
    wanted = [{"line": 6, "condition": ".matrix.n == 1099"}]
    async with AdapterClient(folder) as adapter:
        await adapter.launch("wide.yaml", breakpoints=wanted)
        stop = await adapter.stopped()
        listed = (await adapter.ask("threads"))["threads"]

    assert stop["threadId"] in [each["id"] for each in listed]
    assert len(listed) <= 1025


async def test_helix_is_told_of_no_threads(folder: Path) -> None:
    async with AdapterClient(folder) as adapter:
        await adapter.launch("shop.yaml", initialize={"clientID": "hx"})
        await adapter.ended()
    assert adapter.events_named("thread") == []


async def test_zed_is_not_told_that_single_threads_can_be_moved(folder: Path) -> None:
    async with AdapterClient(folder) as adapter:
        assert "supportsSingleThreadExecutionRequests" not in await adapter.initialize(clientID="zed")
    async with AdapterClient(folder) as adapter:
        assert (await adapter.initialize(clientID="vscode"))["supportsSingleThreadExecutionRequests"]
