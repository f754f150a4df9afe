"""A server that is told to end twice, because somebody is in a hurry."""

import json
import signal
import subprocess
from contextlib import suppress
from pathlib import Path

from tests.patience import PATIENCE_SECONDS, wait_here_until
from tests.serving.test_commands import House


def test_a_server_that_is_told_twice_to_end_ends_at_once_and_its_runs_go_on_in_the_next(tmp_path: Path) -> None:
    done, go = tmp_path / "done", tmp_path / "go"
    text = f"""
steps: [{{id: wait, run: "echo began >> {done}; test -e {go} || exec sleep 1000"}}]
cleanup: [{{run: "echo cleaned >> {done}"}}]
"""
    with House(tmp_path, command="serve").open() as first:
        run = first.ask("POST", "/runs", json={"flow": {"text": text, "name": "wait.yaml"}}).json()["id"]
        wait_here_until(done.exists)
        assert first.process is not None
        assert first.process.stderr is not None
        first.process.send_signal(signal.SIGTERM)
        while "shutting down" not in json.loads(first.process.stderr.readline())["message"]:
            pass
        with suppress(subprocess.TimeoutExpired):  # it begins no step any more by then, and waits for the one at work
            first.process.wait(1)
        first.process.send_signal(signal.SIGTERM)
        first.process.wait(PATIENCE_SECONDS)

    go.touch()
    with House(tmp_path, command="serve").open() as second:
        wait_here_until(lambda: second.ask("GET", f"/runs/{run}").json()["status"] == "passed")

    assert done.read_text().split() == ["began", "began", "cleaned"]
