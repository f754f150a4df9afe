"""A fix loop over HTTP: a failed run is put in one, and what it gave up on is decided."""

from pathlib import Path
from typing import Any

import pytest

from tests.doors.http.bench import API, Bench
from tests.platform.fix.loops import Loop

HOPELESS = {"fix": "echo guess >> notes.txt"}
FLOW = "steps: [{id: tests, run: sh check.sh}]"


def project(bench: Bench, tmp_path: Path, plays: dict[str, str] | None = None) -> Loop:
    """The project of a loop, as the folder that runs of the server work in."""
    loop = Loop(tmp_path / "project", ["a"], plays)
    bench.folder = loop.folder
    return loop


async def given_up(bench: Bench) -> tuple[str, dict[str, Any]]:
    """A run of which the loop gave up, and its stop."""
    failed = await bench.start(FLOW)
    await bench.wait_ended(failed["id"])
    options = {"agent": "scripted", "iterations": 1, "base": "none"}
    run = await bench.post(f"/runs/{failed['id']}/rerun", 201, fix={"options": options}, debug={"stop_on_error": False})
    (stop,) = await bench.wait_stops(run["id"])
    return run["id"], stop


async def test_a_failed_run_is_run_again_in_a_loop_and_a_user_skips_it(bench: Bench, tmp_path: Path) -> None:
    project(bench, tmp_path, HOPELESS)
    run, stop = await given_up(bench)
    assert (stop["step"], stop["reasons"]) == ("tests", ["escalated"])
    assert "decide" in stop["allowed"]

    await bench.post(f"/runs/{run}/fix/skip", text="known")

    assert (await bench.wait_ended(run))["status"] == "passed"


async def test_a_run_whose_loop_waits_for_nobody_refuses_a_choice(bench: Bench, tmp_path: Path) -> None:
    project(bench, tmp_path)
    failed = await bench.start(FLOW)
    await bench.wait_ended(failed["id"])

    answer = await bench.client.post(f"{API}/runs/{failed['id']}/fix/stop", json={})

    assert answer.status_code == 409
    assert "no fix loop" in answer.text or "ended" in answer.text


@pytest.mark.parametrize(("way", "text"), [("guide", ""), ("skip", " "), ("roll-back", "one")])
async def test_a_choice_without_what_it_needs_changes_nothing(
    bench: Bench, tmp_path: Path, way: str, text: str
) -> None:
    project(bench, tmp_path, HOPELESS)
    run, stop = await given_up(bench)

    answer = await bench.client.post(f"{API}/runs/{run}/fix/{way}", json={"text": text})

    assert answer.status_code in (400, 422)
    assert [each["id"] for each in await bench.wait_stops(run)] == [stop["id"]]
    await bench.post(f"/runs/{run}/fix/stop")
    assert (await bench.wait_ended(run))["status"] == "failed"


@pytest.mark.parametrize(
    ("fix", "said"),
    [
        ({"options": {"iterations": 99}}, "fix.iterations"),
        ({"options": {"agents": "claude"}}, "fix.agents"),
        ({"step": "nowhere"}, "nowhere"),
    ],
)
async def test_options_that_do_not_exist_are_named(
    bench: Bench, tmp_path: Path, fix: dict[str, Any], said: str
) -> None:
    project(bench, tmp_path)
    failed = await bench.start(FLOW)
    await bench.wait_ended(failed["id"])

    answer = await bench.client.post(f"{API}/runs/{failed['id']}/rerun", json={"fix": fix})

    assert 400 <= answer.status_code < 500
    assert said in answer.text
