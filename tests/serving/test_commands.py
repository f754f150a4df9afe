"""`pitstop up`, `serve`, `backup`, `restore` and `gc` as people start them: real processes, an empty home."""

import json
import os
import re
import signal
import socket
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.patience import PATIENCE_SECONDS, wait_here_until
from tests.ports import free_port

PITSTOP = [sys.executable, "-m", "pitstop"]
HELLO = {"flow": {"text": "steps: [{id: a, run: echo hello}]", "name": "hello.yaml"}}


class House:
    """A server in a process of its own, and its owner."""

    def __init__(self, home: Path, *words: str, command: str = "up", **environment: str) -> None:
        self.home = home
        self.state = home / ".local/state/pitstop"
        self.environment = {**without_ours(), "HOME": str(home), **environment}
        self.words = [*PITSTOP, command, *words]
        self.process: subprocess.Popen[str] | None = None
        self.url = ""
        self.said = self.complained = ""

    @contextmanager
    def open(self) -> Iterator["House"]:
        port = free_port()
        self.url = f"http://127.0.0.1:{port}"
        pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
        self.process = subprocess.Popen([*self.words, "--port", str(port)], env=self.environment, **pipes)  # type: ignore[call-overload]
        try:
            self._wait_ready()
            yield self
        finally:
            self.process.send_signal(signal.SIGTERM)
            self.said, self.complained = self.process.communicate(timeout=PATIENCE_SECONDS)

    def _wait_ready(self) -> None:
        assert self.process is not None
        process = self.process

        def is_ready() -> bool:
            assert process.poll() is None, process.communicate()
            try:
                return httpx.get(f"{self.url}/ready").status_code == 200
            except httpx.TransportError:
                return False

        wait_here_until(is_ready, "it does not get ready")

    def ask(self, method: str, path: str, **more: Any) -> httpx.Response:
        token = (self.state / "token").read_text().strip()
        headers = {"Authorization": f"Bearer {token}"}
        return httpx.request(method, f"{self.url}/api/v1{path}", headers=headers, timeout=PATIENCE_SECONDS, **more)

    def run_to_end(self, body: dict[str, Any]) -> dict[str, Any]:
        run = self.ask("POST", "/runs", json=body).json()["id"]
        self.ask("GET", f"/runs/{run}/events")  # the stream ends with the run
        info: dict[str, Any] = self.ask("GET", f"/runs/{run}").json()
        return info


def test_up_serves_from_an_empty_home_and_lets_its_owner_in(tmp_path: Path) -> None:
    with House(tmp_path, "--no-browser").open() as house:
        info = house.run_to_end(HELLO)
        assert info["status"] == "passed"
        assert httpx.get(f"{house.url}/api/v1/runs", timeout=PATIENCE_SECONDS).status_code == 401

    assert f"Pitstop is running at {house.url}/" in house.said
    assert house.process is not None
    assert house.process.returncode == 0
    assert (house.state / "token").stat().st_mode & 0o777 == 0o600
    assert (house.state / "secrets.key").stat().st_mode & 0o777 == 0o600


def test_the_link_logs_a_browser_in_once(tmp_path: Path) -> None:
    with House(tmp_path, "--no-browser").open() as house:
        assert house.process is not None
        assert house.process.stdout is not None
        house.process.stdout.readline()
        link = house.process.stdout.readline().split()[-1]
        with httpx.Client(timeout=PATIENCE_SECONDS) as browser:
            assert browser.get(link).status_code == 303
            assert browser.get(f"{house.url}/api/v1/me").json()["role"] == "operator"
        with httpx.Client(timeout=PATIENCE_SECONDS) as thief:
            assert thief.get(link).headers["location"] == "/?login=expired"
            assert thief.get(f"{house.url}/api/v1/me").status_code == 401


def test_a_server_that_runs_can_be_asked_for_another_link(tmp_path: Path) -> None:
    with House(tmp_path, "--no-browser").open() as house:
        for words in (["login", "--no-browser"], ["up", "--no-browser"]):
            asked = subprocess.run(
                [*PITSTOP, *words], env=house.environment, capture_output=True, text=True, check=True
            )
            link = asked.stdout.split()[-1]
            assert link.startswith(f"{house.url}/login?code=")
            with httpx.Client(timeout=PATIENCE_SECONDS) as browser:
                assert browser.get(link).status_code == 303
                assert browser.get(f"{house.url}/api/v1/me").json()["name"] == "owner"

    gone = subprocess.run([*PITSTOP, "login"], env=house.environment, capture_output=True, text=True, check=False)
    assert gone.returncode == 1
    assert "no server is running here: start one with `" in gone.stderr
    assert "pitstop up`, or pass --server" in gone.stderr


@pytest.mark.needs("curl")
def test_the_guide_keeps_a_secret_as_it_says(tmp_path: Path) -> None:
    guide = (Path(__file__).parents[2] / "docs/guides/run-a-server.md").read_text()
    (command,) = re.findall(r"^    (curl (?:.*\\\n)*.*)$", guide, re.MULTILINE)
    with House(tmp_path, "--no-browser").open() as house:
        shell = command.replace("http://127.0.0.1:7878", house.url)
        subprocess.run(["bash", "-ec", shell], env=house.environment, check=True)
        assert [each["name"] for each in house.ask("GET", "/secrets").json()] == ["DEPLOY_KEY"]


def test_serve_logs_as_json_and_tells_systemd(tmp_path: Path) -> None:
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as systemd:
        systemd.bind(str(tmp_path / "notify"))
        with House(tmp_path, command="serve", NOTIFY_SOCKET=str(tmp_path / "notify")).open() as house:
            assert systemd.recv(100) == b"READY=1"
        assert systemd.recv(100) == b"STOPPING=1"

    lines = [json.loads(line) for line in house.complained.splitlines()]
    assert [line["message"] for line in lines] == ["serving", "shutting down: handing over active runs"]
    assert lines[0]["url"] == f"{house.url}/"


def test_a_port_that_is_taken_is_told_with_the_way_out(tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = str(taken.getsockname()[1])
        ended = pitstop(tmp_path, "up", "--no-browser", "--port", port)

    assert ended.returncode == 1
    assert f"cannot listen on 127.0.0.1:{port}" in ended.stderr
    assert "--port" in ended.stderr


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["--workers", "0"], "must be at least 1"),
        (["--keep", "soon"], "--keep soon"),
        (["--db", "mysql://x"], "mysql"),
        (["--port", "99999"], "99999"),
    ],
)
def test_what_cannot_be_is_told_in_one_line(tmp_path: Path, words: list[str], told: str) -> None:
    ended = pitstop(tmp_path, "serve", *words)

    assert ended.returncode != 0
    assert told in ended.stderr
    assert "Traceback" not in ended.stderr


def test_a_backup_fills_another_database_and_gc_forgets_what_is_old(tmp_path: Path) -> None:
    with House(tmp_path, "--no-browser", "--keep", "0s").open() as house:
        info = house.run_to_end(HELLO)
        backed_up = pitstop(tmp_path, "backup", str(tmp_path / "all.zip"))
        assert backed_up.returncode == 0, backed_up.stderr

    other = f"sqlite:///{tmp_path}/other.db"
    assert pitstop(tmp_path, "restore", str(tmp_path / "all.zip"), "--db", other).returncode == 0
    again = pitstop(tmp_path, "restore", str(tmp_path / "all.zip"), "--db", other)
    assert again.returncode == 1
    assert "Traceback" not in again.stderr

    with House(tmp_path, "--no-browser", "--db", other).open() as house:
        page = house.ask("GET", f"/runs/{info['id']}/log", params={"occurrence": "a"}).json()
        assert [line["text"] for line in page["lines"]] == ["hello"]

    with closing(sqlite3.connect(tmp_path / "other.db")) as database, database:
        database.execute("INSERT INTO idempotency VALUES ('old key', '', x'00', x'00', 1.0)")
    collected = pitstop(tmp_path, "gc", "--older-than", "0s", "--keep-last", "0", "--db", other)
    assert collected.stdout.startswith("deleted 1 runs")
    with closing(sqlite3.connect(tmp_path / "other.db")) as database:
        assert list(database.execute("SELECT key FROM idempotency")) == []
    with House(tmp_path, "--no-browser", "--db", other).open() as house:
        assert house.ask("GET", "/runs").json()["runs"] == []


def test_a_secret_is_found_nowhere(tmp_path: Path) -> None:
    """Not in the database, the logs, the events, the answers or the files that are left: byte for byte."""
    secret = "hunter2-Zx91-correct-horse"
    flow = """
        secrets: [DEPLOY_KEY]
        steps:
          - {id: say, run: 'echo "$DEPLOY_KEY"; echo "key=$DEPLOY_KEY" >> "$PITSTOP_OUTPUT"; echo "$DEPLOY_KEY" >&2'}
          - {id: tell, run: 'echo ${{ .secrets.DEPLOY_KEY }} ${{ .steps.say.outputs.key }}'}
          - {id: fail, run: 'echo "failed with $DEPLOY_KEY"; exit 1'}
    """
    with House(tmp_path, "--no-browser", "--keep", "0s").open() as house:
        assert house.ask("PUT", "/secrets/DEPLOY_KEY", json={"value": secret}).status_code == 204
        info = house.run_to_end({"flow": {"text": flow, "name": "leak.yaml"}})
        run = info["id"]
        answers = [
            house.ask("GET", path).text
            for path in (
                "/secrets",
                "/runs",
                f"/runs/{run}",
                f"/runs/{run}/events",
                f"/runs/{run}/log?occurrence=say",
                f"/runs/{run}/log/download?occurrence=fail",
                f"/runs/{run}/steps",
                f"/runs/{run}/debug",
                f"/runs/{run}/debug/export",
                "/audit",
            )
        ]
        log = house.ask("GET", f"/runs/{run}/log", params={"occurrence": "say"}).json()

    assert info["status"] == "failed"
    assert [line["text"] for line in log["lines"]] == ["***", "***"]
    assert not [answer for answer in answers if secret in answer]
    assert secret not in house.said + house.complained
    kept = [path for path in house.state.rglob("*") if path.is_file() and "workspaces" not in path.parts]
    assert house.state / "pitstop.db" in kept
    assert [path for path in kept if secret.encode() in path.read_bytes()] == []


def test_a_run_is_given_the_secrets_that_its_flow_names_and_no_others(tmp_path: Path) -> None:
    flow = """
        steps:
          - {id: look, secrets: [DEPLOY_KEY], run: 'test -n "$DEPLOY_KEY" && test $(env | grep -c "=value of") = 1'}
    """
    with House(tmp_path, "--no-browser").open() as house:
        for name in ("DEPLOY_KEY", "DEPLOY", "KEY"):
            assert house.ask("PUT", f"/secrets/{name}", json={"value": f"value of {name}"}).status_code == 204

        assert house.run_to_end({"flow": {"text": flow, "name": "look.yaml"}})["status"] == "passed"


def pitstop(home: Path, *words: str) -> "subprocess.CompletedProcess[str]":
    environment = {**without_ours(), "HOME": str(home)}
    return subprocess.run(
        [*PITSTOP, *words], env=environment, capture_output=True, text=True, timeout=PATIENCE_SECONDS, check=False
    )


def without_ours() -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if not name.startswith(("PITSTOP_", "XDG_"))}
