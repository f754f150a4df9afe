import asyncio
from typing import Any

import pytest

from pitstop.service.caller import Caller
from pitstop.service.debugging import Request
from pitstop.service.runs import BreakpointRequest
from tests.doors.http.bench import API, Bench

FLOW = """
    vars: {region: eu}
    steps:
      - {id: a, run: 'echo "word=from a" >> "$PITSTOP_OUTPUT"'}
      - {id: b, run: 'echo ${{ .vars.region }}'}
      - {id: c, run: 'true'}
"""


async def stopped_at(bench: Bench, step: str = "b", **more: Any) -> tuple[str, Any]:
    """The path of the debugger of a run that stands before a step, and its stop."""
    run = await bench.start(FLOW, debug={"breakpoints": [{"step": step}], **more})
    (stop,) = await bench.wait_stops(run["id"])
    return f"/runs/{run['id']}/debug", stop


def run_of(path: str) -> str:
    return path.split("/")[2]


async def test_a_run_stops_at_a_breakpoint_and_is_stepped(bench: Bench) -> None:
    path, stop = await stopped_at(bench, "a")
    assert (stop["step"], stop["position"], stop["reasons"]) == ("a", "before", ["breakpoint"])

    state = await bench.post(f"{path}/step", stop=stop["id"], kind="over")
    assert stop["id"] not in [each["id"] for each in state["stops"]]
    (second,) = await bench.wait_stops(run_of(path), above=stop["id"])
    await bench.post(f"{path}/step", stop=second["id"], kind="to", step="c")
    (third,) = await bench.wait_stops(run_of(path), above=second["id"])
    await bench.post(f"{path}/step", stop=third["id"], kind="back")
    (back,) = await bench.wait_stops(run_of(path), above=third["id"])
    await bench.post(f"{path}/continue", all=True)

    assert [second["step"], third["step"], back["step"]] == ["b", "c", "b"]
    assert (await bench.wait_ended(run_of(path)))["status"] == "passed"


async def test_a_second_command_at_one_stop_is_refused_and_changes_nothing(bench: Bench) -> None:
    path, stop = await stopped_at(bench, "a")

    answers = await asyncio.gather(
        *(bench.client.post(f"{API}{path}/step", json={"stop": stop["id"], "kind": "over"}) for _ in range(5))
    )

    assert sorted(answer.status_code for answer in answers) == [200, 409, 409, 409, 409]
    refused = next(answer.json() for answer in answers if answer.status_code == 409)
    assert (refused["code"], refused["stop"]) == ("refused.stale_stop", stop["id"])
    (following,) = await bench.wait_stops(run_of(path), above=stop["id"])
    assert following["step"] == "b"


async def test_values_are_looked_at_set_and_undone(bench: Bench) -> None:
    path, stop = await stopped_at(bench)
    at = {"stop": stop["id"]}

    page = await bench.get(f"{path}/variables", stop=stop["id"], path=".vars")
    assert [(each["name"], each["value"]) for each in page["variables"]] == [("region", "eu")]
    state = await bench.post(f"{path}/set", **at, path=".vars.region", value="us")
    assert [(edit["path"], edit["value"]) for edit in state["edits"]] == [(".vars.region", "us")]
    assert (await bench.post(f"{path}/evaluate", **at, expression=".vars.region"))["values"] == ["us"]
    assert (await bench.get(f"{path}/scope", **at))["scope"]["vars"] == {"region": "us"}
    assert (await bench.get(f"{path}/config", **at))["resolved"]["script"] == "echo us"
    await bench.post(f"{path}/undo", **at)
    assert (await bench.post(f"{path}/evaluate", **at, expression=".vars.region"))["values"] == ["eu"]
    await bench.post(f"{path}/set", **at, path=".vars.extra", value=None)
    await bench.post(f"{path}/unset", **at, path=".vars.extra")
    assert (await bench.get(f"{path}/scope", **at))["scope"]["vars"] == {"region": "eu"}


async def test_an_expression_that_fails_says_why(bench: Bench) -> None:
    path, stop = await stopped_at(bench)
    problem = await bench.post(f"{path}/evaluate", 422, stop=stop["id"], expression=".vars | nonsense(")
    assert problem["code"] == "expression"


async def test_a_step_is_put_in_skipped_and_changed(bench: Bench) -> None:
    path, stop = await stopped_at(bench)
    at = {"stop": stop["id"]}

    injected = await bench.post(
        f"{path}/inject", **at, step={"uses": "run", "with": {"script": "echo put in"}}, position="before"
    )
    await bench.post(f"{path}/config", **at, config={"script": "echo changed"})
    await bench.post(f"{path}/continue", **at)
    ended = await bench.wait_ended(run_of(path))

    assert ended["intervened"] is True
    steps = await bench.get(f"/runs/{run_of(path)}/steps")
    assert injected["path"] in [step["path"] for step in steps]
    page = await bench.get(f"/runs/{run_of(path)}/log", occurrence="b")
    assert [line["text"] for line in page["lines"]] == ["changed"]


async def test_a_skipped_step_has_the_outputs_that_it_was_given(bench: Bench) -> None:
    path, stop = await stopped_at(bench, "a")

    await bench.post(f"{path}/skip", stop=stop["id"], outputs={"word": "by hand"})
    await bench.wait_ended(run_of(path))

    (skipped, *_) = await bench.get(f"/runs/{run_of(path)}/steps")
    assert skipped["status"] == "skipped"


async def test_a_failed_step_is_tried_again_or_declared_passed(bench: Bench) -> None:
    run = await bench.start(
        "steps: [{id: a, run: test -f ready}, {id: b, run: 'false'}]", debug={"stop_on_error": True}
    )
    path = f"/runs/{run['id']}/debug"
    (failed,) = await bench.wait_stops(run["id"])
    (bench.folder / "ready").write_text("")

    await bench.post(f"{path}/retry", stop=failed["id"])
    (second,) = await bench.wait_stops(run["id"], above=failed["id"])
    await bench.post(f"{path}/force", stop=second["id"], status="passed")

    assert second["step"] == "b"
    assert (await bench.wait_ended(run["id"]))["status"] == "passed"


async def test_the_history_is_told_compared_and_gone_back_in(bench: Bench) -> None:
    path, stop = await stopped_at(bench, "a")
    await bench.post(f"{path}/set", stop=stop["id"], path=".vars.region", value="us")
    await bench.post(f"{path}/step", stop=stop["id"], kind="over")
    (second,) = await bench.wait_stops(run_of(path), above=stop["id"])

    points = await bench.get(f"{path}/history")
    changes = await bench.get(f"{path}/diff", stop=second["id"])
    between = await bench.client.get(
        f"{API}{path}/diff", params={"from": points[0]["number"], "to": points[-1]["number"]}
    )
    await bench.post(f"{path}/rewind", stop=second["id"], point=points[0]["number"])
    (again,) = await bench.wait_stops(run_of(path), above=second["id"])

    assert ".steps.a" in [change["path"] for change in changes]
    assert between.status_code == 200
    assert (again["step"], again["position"]) == ("a", "before")
    assert (await bench.get(f"{path}/diff", 422))["code"] == "request"


async def test_watches_are_kept_with_the_session(bench: Bench) -> None:
    path, stop = await stopped_at(bench)

    await bench.post(f"{path}/watch", expression=".vars.region")
    await bench.post(f"{path}/watch", expression=".nothing | error")
    values = await bench.get(f"{path}/watches", stop=stop["id"])
    state = await bench.post(f"{path}/unwatch", expression=".nothing | error")

    assert values[".vars.region"] == {"value": "eu"}
    assert "error" in values[".nothing | error"]
    assert state["watches"] == [".vars.region"]


async def test_breakpoints_are_set_changed_and_removed(bench: Bench) -> None:
    path, _ = await stopped_at(bench, "a")
    path = f"{path}/breakpoints"

    added = await bench.post(path, 201, step="c", group="late", condition='.vars.region == "eu"')
    changed = await bench.client.patch(f"{API}{path}/{added['id']}", json={"enabled": False, "condition": None})
    grouped = await bench.post(f"{path}/groups/late", enabled=True)
    removed = await bench.client.delete(f"{API}{path}/{added['id']}")

    assert added["paths"] == ["c"]
    assert (changed.json()["request"]["enabled"], changed.json()["request"]["condition"]) == (False, None)
    assert changed.json()["request"]["step"] == "c"
    assert [each["request"]["enabled"] for each in grouped if each["id"] == added["id"]] == [True]
    assert removed.status_code == 204
    assert added["id"] not in [each["id"] for each in await bench.get(path)]
    gone = await bench.client.patch(f"{API}{path}/{added['id']}", json={"enabled": False})
    assert (gone.status_code, gone.json()["code"]) == (409, "refused.unknown_breakpoint")


async def test_a_change_of_breakpoints_that_somebody_else_changed_is_refused(bench: Bench) -> None:
    path, _ = await stopped_at(bench, "a")
    listed = await bench.client.get(f"{API}{path}/breakpoints")
    etag = {"If-Match": listed.headers["etag"]}

    first = await bench.client.post(f"{API}{path}/breakpoints", json={"step": "c"}, headers=etag)
    second = await bench.client.post(f"{API}{path}/breakpoints", json={"step": "b"}, headers=etag)

    assert first.status_code == 201
    assert (second.status_code, second.json()["code"]) == (412, "request.changed")
    assert len(await bench.get(f"{path}/breakpoints")) == len(listed.json()) + 1


async def test_breakpoints_are_told_with_the_etag_of_what_is_told(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, _ = await stopped_at(bench, "a")
    debugging = bench.service.debugging
    say = debugging.say

    async def look_before_somebody_sets_one(caller: Caller, run: str, request: Request[Any]) -> Any:
        state = await say(caller, run, request)
        monkeypatch.setattr(debugging, "say", say)
        await say(caller, run, BreakpointRequest(step="c"))
        return state

    monkeypatch.setattr(debugging, "say", look_before_somebody_sets_one)
    listed = await bench.client.get(f"{API}{path}/breakpoints")
    late = await bench.client.post(
        f"{API}{path}/breakpoints", json={"step": "b"}, headers={"If-Match": listed.headers["etag"]}
    )

    assert "c" not in [each["request"]["step"] for each in listed.json()]
    assert late.status_code == 412


async def test_a_function_that_is_stepped_into_over_http_does_not_wait_on_the_server(bench: Bench) -> None:
    (bench.folder / "prices.py").write_text("def total():\n    return {'sum': 3}\n")
    flow = "steps: [{id: f, python: 'prices:total'}, {id: z, run: 'true'}]"
    run = await bench.start(flow, debug={"stop_at_entry": True})
    (stop,) = await bench.wait_stops(run["id"])

    await bench.post(f"/runs/{run['id']}/debug/step", stop=stop["id"], kind="into", code=True)
    (after,) = await bench.wait_stops(run["id"], above=stop["id"])
    await bench.post(f"/runs/{run['id']}/debug/continue", all=True)
    await bench.wait_ended(run["id"])

    assert after["step"] == "z"
    assert "debug.python_waited" not in [event["kind"] async for event in bench.events(run["id"])]


async def test_a_branch_is_cancelled_and_the_whole_run_is_evaluated(bench: Bench) -> None:
    text = "vars: {n: 1}\nsteps: [{id: g, parallel: [{id: x, run: 'true'}, {id: y, run: 'true'}]}]"
    run = await bench.start(text, debug={"breakpoints": [{"step": "x"}, {"step": "y"}]})
    path = f"/runs/{run['id']}/debug"
    await bench.wait_stops(run["id"], 2)

    found = await bench.post(f"{path}/evaluate", expression=".vars.n + 1")
    state = await bench.post(f"{path}/cancel_frame", frame="g.x", reason="enough")
    unknown = await bench.post(f"{path}/cancel_frame", 409, frame="nope")

    assert found["values"] == [2]
    assert "g.x" not in [stop["frame"] for stop in state["stops"]]
    assert unknown["code"] == "refused.unknown_frame"


async def test_switching_a_breakpoint_keeps_what_it_is_and_its_place_in_the_list(bench: Bench) -> None:
    path, _ = await stopped_at(bench, "a")
    added = await bench.post(f"{path}/breakpoints", 201, step="b")
    await bench.post(f"{path}/breakpoints", 201, step="c")

    off = await bench.client.patch(f"{API}{path}/breakpoints/{added['id']}", json={"enabled": False})
    twice = await bench.client.patch(f"{API}{path}/breakpoints/{added['id']}", json={"breakpoint": 9})

    assert off.json()["request"] == {**added["request"], "enabled": False}
    assert [each["request"]["step"] for each in await bench.get(f"{path}/breakpoints")][-2:] == ["b", "c"]
    assert (twice.status_code, twice.json()["problems"]) == (422, ["body.breakpoint: is in the path"])


async def test_a_breakpoint_that_is_none_is_refused(bench: Bench) -> None:
    path, _ = await stopped_at(bench, "a")
    problem = await bench.post(f"{path}/breakpoints", 409, step="c", hits="often")
    assert problem["code"] == "refused.bad_breakpoint"


async def test_the_state_says_when_nothing_has_happened_since(bench: Bench) -> None:
    path, stop = await stopped_at(bench)
    first = await bench.client.get(API + path)

    same = await bench.client.get(API + path, headers={"If-None-Match": first.headers["etag"]})
    await bench.post(f"{path}/set", stop=stop["id"], path=".vars.region", value="us")
    other = await bench.client.get(API + path, headers={"If-None-Match": first.headers["etag"]})

    assert first.headers["etag"] == f'"{first.json()["last_event"]}"'
    assert (same.status_code, other.status_code) == (304, 200)


async def test_a_running_run_is_paused_and_goes_on_when_nobody_wants_to_debug_it_any_more(bench: Bench) -> None:
    run = await bench.start(
        "steps: [{id: a, run: until test -f go; do sleep 0.05; done}, {id: b, run: 'true'}, {id: c, run: 'true'}]"
    )
    path = f"/runs/{run['id']}/debug"

    await bench.post(f"{path}/pause")
    (bench.folder / "go").touch()
    await bench.wait_stops(run["id"])
    detached = await bench.client.delete(API + path)

    assert detached.status_code == 204
    assert (await bench.wait_ended(run["id"]))["status"] == "passed"


async def test_a_session_is_extended_exported_and_aborted(bench: Bench) -> None:
    path, stop = await stopped_at(bench, lease_seconds=60)

    state = await bench.post(f"{path}/extend", seconds=600)
    exported = await bench.client.get(f"{API}{path}/export")
    await bench.post(f"{path}/abort", reason="enough")

    assert state["stops"][0]["lease_ends_at"] > stop["lease_ends_at"] + 500
    assert "attachment" in exported.headers["content-disposition"]
    assert exported.json()
    assert (await bench.wait_ended(run_of(path)))["status"] == "cancelled"


async def test_what_can_only_be_said_to_a_run_that_lives_is_refused_after_its_end(bench: Bench) -> None:
    run = await bench.start("steps: [{run: 'true'}]")
    await bench.wait_ended(run["id"])
    path = f"/runs/{run['id']}/debug"

    for verb, body in (("pause", {}), ("continue", {"stop": 1}), ("continue", {"all": True}), ("abort", {})):
        problem = await bench.post(f"{path}/{verb}", 409, **body)
        assert problem["code"].startswith("refused.")
    assert (await bench.get(path))["is_ended"] is True


async def test_breakpoints_are_kept_with_a_flow(bench: Bench) -> None:
    file = bench.folder / "kept.yaml"
    file.write_text("steps: [{id: a, run: 'true'}]")
    path = f"{API}/flows/{str(file).replace('/', '%2F')}/breakpoints"

    empty = await bench.client.get(path)
    kept = await bench.client.put(path, json=[{"step": "a", "once": True}], headers={"If-Match": empty.headers["etag"]})
    late = await bench.client.put(path, json=[], headers={"If-Match": empty.headers["etag"]})

    assert empty.json() == []
    assert [(each["step"], each["once"]) for each in kept.json()] == [("a", True)]
    assert late.status_code == 412
    assert (await bench.client.get(path)).json() == kept.json()
