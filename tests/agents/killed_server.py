"""Runs of agents on a server that is killed while a tool call is held, and on the server after it."""

import json
from collections.abc import Iterable, Mapping
from typing import Any

from tests.executors.processes import left_running
from tests.patience import PATIENCE_SECONDS, wait_here_until
from tests.serving.test_commands import House


def start(
    house: House,
    step: Mapping[str, Any],
    *breakpoints: Mapping[str, Any],
    secrets: Iterable[str] = (),
    stop_on_error: bool = False,
) -> str:
    """The id of a run with this step alone, which is debugged."""
    flow = {"name": "killed", "secrets": [*secrets], "steps": [step]}
    debug = {"breakpoints": breakpoints, "stop_on_error": stop_on_error}
    body = {"flow": {"text": json.dumps(flow), "name": "killed.yaml"}, "debug": debug}
    answer = house.ask("POST", "/runs", json=body)
    assert answer.status_code == 201, answer.text
    run: str = answer.json()["id"]
    return run


def start_at_call(house: House, step: Mapping[str, Any], call: int, **more: Any) -> str:
    """The same, when it is held before that call of the step."""
    run = start(house, step, {"tool": "any", "hits": f"== {call}"}, **more)
    assert stop_of(house, run)["step"] == f"{step['id']}/{call}"
    wait_stored(house, run)
    return run


def wait_stored(house: House, run: str) -> None:
    """Until all that has happened in the run is stored: a stop is shown a moment before, a change is answered after."""
    assert house.ask("POST", f"/runs/{run}/debug/watch", json={"expression": ".run.id"}).is_success


def stop_of(house: House, run: str) -> dict[str, Any]:
    """The stop that the run is paused at, as soon as it is."""

    def stops() -> Any:
        info = house.ask("GET", f"/runs/{run}").json()
        assert info["ended_at"] is None, info["error"]
        return house.ask("GET", f"/runs/{run}/debug").json().get("stops")

    stop: dict[str, Any] = wait_here_until(stops, f"run {run} does not pause")[0]
    return stop


def kill(house: House) -> None:
    """Kill the server. Returns when it and all that it had started are gone."""
    assert house.process is not None
    house.process.kill()
    house.process.wait(PATIENCE_SECONDS)
    assert left_running(str(house.state)) == {}


def end_of(house: House, run: str) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """The run when it has ended, and its events."""
    stream = house.ask("GET", f"/runs/{run}/events").text
    lines = (line.removeprefix("data: ") for line in stream.splitlines() if line.startswith("data: "))
    return house.ask("GET", f"/runs/{run}").json(), [event for line in lines if "kind" in (event := json.loads(line))]


def rerun(house: House, run: str) -> None:
    """Run it once more from its beginning; it passes."""
    again = house.ask("POST", f"/runs/{run}/rerun", json={}).json()["id"]
    info, _ = end_of(house, again)
    assert info["status"] == "passed", info["error"]
