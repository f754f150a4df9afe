"""A world in which servers die at any moment while people start runs, stop in them, edit and go on."""

import asyncio
import contextlib
import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx

from tests.ports import free_port

ROOT = Path(__file__).parents[2]
COUNT = 'printf "%s\\n" "$(date +%s.%N)" >> "$COUNTS/$PITSTOP_RUN.$PITSTOP_OCCURRENCE"'
PLAIN = f"""
name: plain
env: {{COUNTS: COUNTS_FOLDER}}
steps:
  - {{id: one, run: '{COUNT}'}}
  - parallel:
      - {{id: left, run: '{COUNT}; sleep 0.03'}}
      - {{id: right, run: '{COUNT}'}}
      - group: deep
        steps:
          - {{id: inner, run: '{COUNT}; sleep 0.02'}}
          - {{id: after_inner, run: '{COUNT}'}}
  - matrix: {{n: [1, 2]}}
    steps:
      - {{run: '{COUNT}'}}
  - {{id: last, run: '{COUNT}; sleep 0.01'}}
"""
STOPPING = f"""
name: stopping
env: {{COUNTS: COUNTS_FOLDER}}
vars: {{word: nothing}}
steps:
  - {{id: one, run: '{COUNT}'}}
  - {{id: gate, run: '{COUNT}; sleep 0.02'}}
  - {{id: two, run: '{COUNT}; echo "word=${{{{ .vars.word }}}}" >> "$PITSTOP_OUTPUT"'}}
  - {{id: last, run: '{COUNT}'}}
"""
BREAKPOINTS = [{"step": "gate"}, {"step": "two"}]


@dataclass
class Told:
    """What the client of one run was told for certain."""

    id: str
    is_stopping: bool
    word: str = "nothing"
    done: Counter[str] = field(default_factory=Counter)  # what was answered, as the audit calls it
    events: list[dict[str, Any]] = field(default_factory=list)
    audit: Counter[str] = field(default_factory=Counter)


class Servers:
    """Servers on one database, each at a port of its own; one that was killed is started again at the same."""

    def __init__(self, home: Path, database: str, count: int, lease_seconds: float) -> None:
        words = [sys.executable, "-m", "tests.chaos.forker", str(home), database, str(lease_seconds)]
        self._forker = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=ROOT)
        self.ports = [free_port() for _ in range(count)]
        self.pids: dict[int, int] = {}
        self.home = home

    def start(self, port: int) -> None:
        assert self._forker.stdin is not None
        assert self._forker.stdout is not None
        self._forker.stdin.write(f"{port}\n")
        self._forker.stdin.flush()
        self.pids[port] = int(self._forker.stdout.readline())

    def kill(self, port: int) -> None:
        os.kill(self.pids[port], signal.SIGKILL)
        with contextlib.suppress(ProcessLookupError):
            while True:  # until the system has taken all of it away
                os.kill(self.pids[port], 0)
                time.sleep(0.001)

    @contextlib.contextmanager
    def running(self) -> Iterator["Servers"]:
        try:
            for port in self.ports:
                self.start(port)
            yield self
        finally:
            for port in self.ports:
                with contextlib.suppress(ProcessLookupError, KeyError):
                    os.kill(self.pids[port], signal.SIGCONT)
                    self.kill(port)
            self._forker.kill()
            self._forker.wait()
            for pipe in (self._forker.stdin, self._forker.stdout):
                if pipe is not None:
                    pipe.close()


class People:
    """Clients that never give up: whatever a dead server did not answer is asked again."""

    def __init__(self, servers: Servers, counts: Path, seed: int) -> None:
        self._servers = servers
        self._counts = counts
        self._random = random.Random(seed)
        self._client = httpx.AsyncClient(timeout=5.0)
        self.told: list[Told] = []
        self.did: Counter[str] = Counter()

    async def close(self) -> None:
        await self._client.aclose()

    async def ask(
        self, method: str, path: str, *, key: str | None = None, token: str | None = None, **more: Any
    ) -> httpx.Response:
        """The first answer that a server gives which can give one; to the owner, unless another `token` is given."""
        deadline = time.monotonic() + 180
        while True:
            port = self._random.choice(self._servers.ports)
            if not (self._servers.home / "token").exists():
                await asyncio.sleep(0.02)
                continue
            headers = {"Authorization": f"Bearer {token or self._token()}"}
            headers |= {} if key is None else {"Idempotency-Key": key}
            try:
                answer = await self._client.request(
                    method, f"http://127.0.0.1:{port}/api/v1{path}", headers=headers, **more
                )
                if answer.status_code not in (421, 429, 500, 502, 503):
                    return answer
                self.did[f"{answer.status_code}"] += 1
            except httpx.TransportError:
                self.did["no answer"] += 1
            assert time.monotonic() < deadline, f"nobody answers {method} {path}"
            await asyncio.sleep(0.02)

    async def all_runs(self) -> set[str]:
        """The ids of all runs that there are."""
        found: set[str] = set()
        cursor: dict[str, str] = {}
        while True:
            page = (await self.ask("GET", "/runs", params={"limit": 500, **cursor})).json()
            found |= {run["id"] for run in page["runs"]}
            if page["next"] is None:
                return found
            cursor = {"cursor": page["next"]}

    def _token(self) -> str:
        return (self._servers.home / "token").read_text().strip()

    async def live_one_run(self, number: int) -> None:
        """Start a run, stop in it if it is of that kind, and see it end."""
        is_stopping = number % 2 == 1
        text = (STOPPING if is_stopping else PLAIN).replace("COUNTS_FOLDER", str(self._counts))
        body: dict[str, Any] = {"flow": {"text": text, "name": "flow.yaml"}}
        if is_stopping:
            body["debug"] = {"breakpoints": BREAKPOINTS, "stop_on_error": False}
        answer = await self.ask("POST", "/runs", json=body, key=f"start-{number}")
        assert answer.status_code == 201, answer.text
        told = Told(answer.json()["id"], is_stopping)
        told.done["start_run"] += 1
        self.told.append(told)
        deadline = time.monotonic() + 300
        while True:
            info = (await self.ask("GET", f"/runs/{told.id}")).json()
            if info["status"] in ("passed", "failed", "cancelled", "timed_out"):
                break
            assert time.monotonic() < deadline, f"run {told.id} does not end: {info}"
            if is_stopping:
                await self._attend(told)
            await asyncio.sleep(self._random.uniform(0.01, 0.1))
        await self._read_events(told)

    async def _attend(self, told: Told) -> None:
        answer = await self.ask("GET", f"/runs/{told.id}/debug")
        for stop in answer.json().get("stops", []) if answer.status_code == 200 else []:
            if stop["step"] == "gate":
                word = f"word-{self._random.randrange(10**9)}"
                body = {"stop": stop["id"], "path": ".vars.word", "value": word}
                done = await self._say(told, "set", body)
                if done:
                    told.word = word
                    self.did["edits"] += 1
                    await self._say(told, "continue", {"stop": stop["id"]})
            else:
                await self._say(told, self._random.choice(["continue", "step"]), {"stop": stop["id"], "kind": "over"})

    async def _say(self, told: Told, verb: str, body: dict[str, Any]) -> bool:
        if verb != "step":
            body = {name: value for name, value in body.items() if name != "kind"}
        answer = await self.ask("POST", f"/runs/{told.id}/debug/{verb}", json=body)
        assert answer.status_code in (200, 409), f"{verb}: {answer.status_code} {answer.text}"
        is_done = answer.status_code == 200
        self.did[verb if is_done else "refused"] += 1
        told.done[f"debug_{verb}"] += is_done
        return is_done

    async def _read_events(self, told: Told) -> None:
        answer = await self.ask("GET", f"/runs/{told.id}/events")
        for line in answer.text.splitlines():
            if line.startswith("data: {") and '"kind"' in line:
                told.events.append(httpx.Response(200, text=line[6:]).json())
        entries = (await self.ask("GET", "/audit", params={"run": told.id, "limit": 1000})).json()["entries"]
        told.audit.update(entry["action"] for entry in entries)
