"""What debugging costs an editor: the adapter beside debugpy on a script of the same shape, in one run.

    .venv/bin/python bench/dap.py                # about two minutes
    .venv/bin/python bench/dap.py --quick        # few rounds: to see that it works, not to quote

Both are driven by the same client over pipes. Times are what the client waits, on the wall; rounds are interleaved.
"""

import argparse
import json
import os
import platform
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

STEPS = 300
ENTRIES = 100_000
PAGE = {"start": 50_000, "count": 100}

Body = dict[str, Any]


class Client:
    """Sends requests and reads what comes, one message after the other."""

    def __init__(self, words: list[str], folder: Path) -> None:
        env = {**os.environ, "PITSTOP_HOME": str(folder / "home")}
        pipe = subprocess.PIPE
        self._adapter = subprocess.Popen(words, cwd=folder, env=env, stdin=pipe, stdout=pipe, stderr=subprocess.DEVNULL)
        self._seq = 0
        self._events: list[Body] = []
        self._answers: dict[int, Body] = {}

    def send(self, command: str, **arguments: Any) -> int:
        self._seq += 1
        body = json.dumps({"seq": self._seq, "type": "request", "command": command, "arguments": arguments}).encode()
        assert self._adapter.stdin is not None
        self._adapter.stdin.write(b"Content-Length: %d\r\n\r\n%b" % (len(body), body))
        self._adapter.stdin.flush()
        return self._seq

    def answer(self, number: int) -> Body:
        while number not in self._answers:
            message = self._read()
            if message["type"] == "response":
                self._answers[message["request_seq"]] = message
            else:
                self._events.append(message)
        answer = self._answers.pop(number)
        assert answer["success"], answer
        body: Body = answer.get("body", {})
        return body

    def ask(self, command: str, **arguments: Any) -> Body:
        return self.answer(self.send(command, **arguments))

    def event(self, name: str) -> Body:
        while True:
            message = self._events.pop(0) if self._events else self._read()
            if message["type"] == "response":
                self._answers[message["request_seq"]] = message
            elif message.get("event") == name:
                body: Body = message.get("body", {})
                return body

    def close(self) -> None:
        self.ask("disconnect", terminateDebuggee=True)
        for stream in (self._adapter.stdin, self._adapter.stdout):
            assert stream is not None
            stream.close()
        self._adapter.wait(timeout=30)

    def _read(self) -> Body:
        stream = self._adapter.stdout
        assert stream is not None
        length = 0
        while line := stream.readline().strip():
            name, _, value = line.partition(b":")
            length = int(value) if name.lower() == b"content-length" else length
        assert length, "the adapter has ended"
        message: Body = json.loads(stream.read(length))
        return message


@dataclass(frozen=True, slots=True)
class Contender:
    """A way to debug: how its adapter is started, the program in a folder, and where its first stop is."""

    name: str
    words: list[str]
    write: Callable[[Path], Path]
    first_line: int
    launch: Body


def write_flow(folder: Path) -> Path:
    steps = "".join(f"  - id: s{number}\n    check: .inputs.yes\n" for number in range(STEPS))
    flow = folder / "flow.yaml"
    flow.write_text(f"name: bench\ninputs:\n  yes: {{default: true}}\n  entries: {{default: []}}\nsteps:\n{steps}")
    return flow


def write_script(folder: Path) -> Path:
    steps = "".join(f"s{number} = yes\n" for number in range(STEPS))
    script = folder / "script.py"
    script.write_text(f"yes = True\nentries = list(range({ENTRIES}))\n{steps}")
    return script


CONTENDERS = (
    Contender(
        "pitstop",
        [sys.executable, "-m", "pitstop", "dap"],
        write_flow,
        6,
        {"inputs": {"entries": list(range(ENTRIES))}},
    ),
    Contender(
        "debugpy",
        [sys.executable, "-m", "debugpy.adapter"],
        write_script,
        3,
        {"console": "internalConsole", "python": [sys.executable]},
    ),
)


def stop_at_first(contender: Contender, folder: Path) -> tuple[Client, int, float]:
    """A client at the first breakpoint, the thread that has stopped, and how long it took from the adapter's start."""
    program = str(contender.write(folder))
    began = time.perf_counter()
    client = Client(contender.words, folder)
    client.ask("initialize", adapterID="bench", supportsVariablePaging=True, pathFormat="path")
    launching = client.send("launch", program=program, cwd=str(folder), **contender.launch)
    client.event("initialized")
    client.ask("setBreakpoints", source={"path": program}, breakpoints=[{"line": contender.first_line}])
    client.ask("configurationDone")
    client.answer(launching)
    thread: int = client.event("stopped")["threadId"]
    return client, thread, time.perf_counter() - began


def measure_steps(client: Client, thread: int, count: int) -> list[float]:
    """From `next` to the stop that it leads to."""
    taken = []
    for _ in range(count):
        began = time.perf_counter()
        client.ask("next", threadId=thread)
        client.event("stopped")
        taken.append(time.perf_counter() - began)
    return taken


def measure_variables(client: Client, thread: int, count: int) -> list[float]:
    """A page out of the middle of a long list."""
    (frame, *_) = client.ask("stackTrace", threadId=thread)["stackFrames"]
    (scope, *_) = client.ask("scopes", frameId=frame["id"])["scopes"]
    found = client.ask("variables", variablesReference=scope["variablesReference"])["variables"]
    given = next((each for each in found if each["name"] == "inputs"), None)
    if given is not None:
        found = client.ask("variables", variablesReference=given["variablesReference"])["variables"]
    reference = next(each for each in found if each["name"] == "entries")["variablesReference"]
    taken = []
    for _ in range(count):
        began = time.perf_counter()
        shown = client.ask("variables", variablesReference=reference, filter="indexed", **PAGE)["variables"]
        taken.append(time.perf_counter() - began)
        assert shown
    return taken


def percentile(samples: list[float], part: float) -> float:
    return sorted(samples)[min(len(samples) - 1, int(len(samples) * part))]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="few rounds")
    parser.add_argument("--rounds", type=int, default=8, help="how often each of the two is started (8)")
    parser.add_argument("--json", metavar="FILE", type=Path, help="write the figures there, too")
    options = parser.parse_args()
    rounds, steps, pages = (2, 50, 10) if options.quick else (options.rounds, 250, 40)
    taken: dict[str, dict[str, list[float]]] = {each.name: {} for each in CONTENDERS}
    for _ in range(rounds):
        for contender in CONTENDERS:
            with tempfile.TemporaryDirectory() as folder:
                client, thread, started = stop_at_first(contender, Path(folder))
                kept = taken[contender.name]
                kept.setdefault("launch", []).append(started)
                kept.setdefault("variables", []).extend(measure_variables(client, thread, pages))
                kept.setdefault("next", []).extend(measure_steps(client, thread, steps))
                client.close()
    figures = figures_of(taken)
    show(figures)
    if options.json is not None:
        about = {"python": platform.python_version(), "debugpy": version("debugpy"), "load": os.getloadavg()[0]}
        options.json.write_text(json.dumps({"about": about, "rounds": rounds, "figures": figures}, indent=1) + "\n")


def figures_of(taken: dict[str, dict[str, list[float]]]) -> dict[str, dict[str, float]]:
    """Each row, with what both have taken in milliseconds."""
    rows: list[tuple[str, str, Callable[[list[float]], float]]] = [
        ("launch to first stop, median", "launch", statistics.median),
        ("next to stopped, p50", "next", statistics.median),
        ("next to stopped, p99", "next", lambda samples: percentile(samples, 0.99)),
        (f"variables: a page of {ENTRIES:,} entries, p50", "variables", statistics.median),
        (f"variables: a page of {ENTRIES:,} entries, p99", "variables", lambda samples: percentile(samples, 0.99)),
    ]
    return {
        title: {name: round(figure(samples[kind]) * 1000, 2) for name, samples in taken.items()}
        for title, kind, figure in rows
    }


def show(figures: dict[str, dict[str, float]]) -> None:
    print(f"{'':46} {'pitstop':>10} {'debugpy':>10} {'ratio':>7}")
    for title, found in figures.items():
        ours, theirs = found["pitstop"], found["debugpy"]
        verdict = "reached" if ours <= theirs else "MISSED"
        print(f"{title:46} {ours:7.2f} ms {theirs:7.2f} ms {ours / theirs:6.2f}x  {verdict}")


if __name__ == "__main__":
    main()
