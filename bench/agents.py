"""Agents: a step around a CLI beside the CLI alone, tool events beside jq, and a held call beside a hook of the CLI.

    python bench/agents.py                       # everything, about 2 minutes
    python bench/agents.py --only calls          # some of it: step, events, calls
    python bench/agents.py --quick               # small amounts: to see that it works, not to quote

The CLI is `tests/agents/scripted.py`, which writes what the real ones write. Both sides of a row are measured in turn,
in the same run, after a warm-up; times are wall times, with the load beside them. A row has several rounds: the figure
of each side is the median of its own best round, because other work on the machine only adds to it; in parentheses are
the medians of all rounds, and of the differences those within a round. Events are stored in folders, as `pitstop run`
does, and in SQLite, as a server does; the run has a secret, so all of them are searched for it. claude has no hook of
its own here, so its peer is that of codex.
"""

import argparse
import asyncio
import json
import os
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, closing
from datetime import UTC, datetime
from pathlib import Path
from statistics import median
from typing import Any

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from pitstop.app import open_service  # noqa: E402
from pitstop.service.caller import LOCAL  # noqa: E402
from pitstop.service.debugging import Debugger, verbs  # noqa: E402
from pitstop.service.desks import Service  # noqa: E402
from pitstop.service.runs import ActiveRun, BreakpointRequest, DebugRequest, RunRequest  # noqa: E402
from pitstop.settings import Settings  # noqa: E402
from store import format_table, judge  # noqa: E402
from tests.git.repositories import client_environment  # noqa: E402
from workshop import Server, new_clone, pitstop, wait_for  # noqa: E402

CLI = [sys.executable, "-S", "-E", str(ROOT / "tests/agents/scripted.py")]
KEYS = {"claude": "ANTHROPIC_API_KEY", "codex": "OPENAI_API_KEY", "gemini": "GEMINI_API_KEY"}
SECRETS = {"TOKEN": "not-a-real-token-1234567890"}
PROMPT = "Make it work"
OUTPUT = "ok 12 passed in 3.4 s\n" * 8
CALLS = 9_900  # an agent may have 20,000 events
ENDED = ("passed", "failed", "cancelled", "timed_out")
MORE_STEP_MS = 150.0
EVENTS_PER_SECOND = 10_000
MORE_CALL_MS = 20.0

Line = dict[str, Any]
Rounds = list[list[float]]  # the samples of each round
Measure = Callable[[], Awaitable[float]]


# --- Runs ------------------------------------------------------------------------------------------------------------


def flow_of(config: Line) -> str:
    """A flow of one agent, as JSON, which is YAML."""
    return json.dumps({"steps": [{"id": "fix", **config}]})


def scripted(folder: Path, agent: str, steps: Sequence[Line]) -> list[str]:
    """A command that acts out the steps as this CLI would."""
    script = folder / f"{agent}.json"
    script.write_text(json.dumps({"format": agent, "steps": steps}))
    return [*CLI, "--script", str(script)]


def agent_config(folder: Path, agent: str, steps: Sequence[Line]) -> Line:
    command = scripted(folder, agent, steps)
    return {"agent": agent, "prompt": PROMPT, "command": command, "env": {KEYS[agent]: "not-a-key"}}


@asynccontextmanager
async def started(service: Service, flow: str, **more: Any) -> AsyncIterator[ActiveRun]:
    run = await service.runs.start(LOCAL, RunRequest(flow="bench.yaml", text=flow, secrets=SECRETS, **more))
    yield run
    ended = await run.wait()
    if ended.status != "passed":
        raise RuntimeError(f"the run has {ended.status}: {ended}")


def seconds_in(events: Sequence[Line]) -> float:
    """How long the agent's step took, by the times of its events."""
    times = {event["kind"]: event["at"] for event in events if event.get("occurrence") == "fix"}
    return float(times["step.finished"] - times["step.started"])


async def events_of(run: ActiveRun) -> list[Line]:
    return [event.as_json() async for event in run.events()]


def run_and_wait(words: Sequence[str], **more: Any) -> float:
    """Run a command without its output; the seconds it took. Nothing else has to go on in this process meanwhile."""
    began = time.perf_counter()
    subprocess.run(words, check=True, stdout=subprocess.DEVNULL, **more)
    return time.perf_counter() - began


# --- A step ----------------------------------------------------------------------------------------------------------


async def measure_step(folder: Path, rounds: int, samples: int) -> list[Line]:
    """The step in a process that has run one before, as on a server, and in one that has not, as `pitstop run`."""
    repo = folder / "repo"
    new_clone(repo, {})
    config = agent_config(folder, "claude", [{"say": "Done."}])
    flow = folder / "agent.yaml"
    flow.write_text(flow_of(config))
    asked = {"type": "control_request", "request_id": "begin", "request": {"subtype": "initialize", "hooks": {}}}
    prompt = {"type": "user", "message": {"role": "user", "content": PROMPT}, "parent_tool_use_id": None}
    stdin = b"".join(json.dumps(line).encode() + b"\n" for line in (asked, prompt))

    async with open_service(Settings(folder / "warm")) as service:

        async def in_this_process() -> float:
            async with started(service, flow.read_text(), folder=str(repo)) as run:
                await run.wait()
            return seconds_in(await events_of(run))

        async def in_a_new_process() -> float:
            home = folder / "cold"
            words = [sys.executable, "-m", "pitstop", "run", str(flow)]
            env = {**os.environ, "PITSTOP_HOME": str(home)}
            run_and_wait(words, cwd=repo, env=env, stderr=subprocess.DEVNULL)
            (log,) = home.glob("runs/*/events.jsonl")
            events = [json.loads(line) for line in log.read_text().splitlines()]
            shutil.rmtree(home)
            return seconds_in(events)

        async def alone() -> float:
            return run_and_wait(config["command"], cwd=repo, input=stdin)

        sides = {"warm": in_this_process, "cold": in_a_new_process, "alone": alone}
        taken = await measure_in_turn(sides, rounds, samples)
    return [
        more_line(f"agent step around the CLI, {where}", taken[side], taken["alone"], "the CLI alone", MORE_STEP_MS)
        for side, where in (("warm", "in a process that has run one"), ("cold", "the first one of `pitstop run`"))
    ]


async def measure_in_turn(sides: Mapping[str, Measure], rounds: int, samples: int) -> dict[str, Rounds]:
    taken: dict[str, Rounds] = {side: [] for side in sides}
    for measure in sides.values():
        await measure()  # the first one warms up
    for _ in range(rounds):
        for side in sides:
            taken[side].append([])
        for _ in range(samples):
            for side, measure in sides.items():
                taken[side][-1].append(await measure())
    return taken


def more_line(work: str, ours: Rounds, theirs: Rounds, peer: str, most_ms: float) -> Line:
    """Each side has its own best round: the least difference would be that of a round in which the peer was slow."""
    mine, floors = ([1000 * median(samples) for samples in rounds] for rounds in (ours, theirs))
    more, differences = min(mine) - min(floors), [one - other for one, other in zip(mine, floors, strict=True)]
    return {
        "work": work,
        "pitstop": f"{min(mine):.1f} ms ({min(mine):.1f} to {max(mine):.1f})",
        "peer": f"{peer} {min(floors):.1f} ms ({min(floors):.1f} to {max(floors):.1f})",
        "ratio": f"{more:+.1f} ms ({min(differences):+.1f} to {max(differences):+.1f})",
        "to reach": f"<= +{most_ms:g} ms",
        "verdict": judge(more <= most_ms),
    }


# --- Tool events -----------------------------------------------------------------------------------------------------


def stream_lines(calls: int) -> Iterator[Line]:
    """What claude writes around tool calls."""
    yield {"type": "system", "subtype": "init", "session_id": "s", "model": "m"}
    for number in range(calls):
        ids = {"parent_tool_use_id": None, "session_id": "s", "uuid": f"00000000-0000-4000-8000-{number:012}"}
        given = {"command": f"npm test -- --shard {number}", "description": "Run a part of the tests"}
        call = {"type": "tool_use", "id": f"toolu_{number}", "name": "Bash", "input": given}
        yield {"type": "assistant", "message": {"id": f"m{number}", "role": "assistant", "content": [call]}, **ids}
        result = {"type": "tool_result", "tool_use_id": f"toolu_{number}", "content": f"shard {number}\n{OUTPUT}"}
        yield {"type": "user", "message": {"role": "user", "content": [{**result, "is_error": False}]}, **ids}
    usage = {"input_tokens": 1000, "output_tokens": 500}
    yield {"type": "result", "subtype": "success", "is_error": False, "num_turns": calls, "result": "", "usage": usage}


async def measure_events(folder: Path, rounds: int, calls: int) -> list[Line]:
    stream = folder / "stream.jsonl"
    stream.write_text("".join(json.dumps(line) + "\n" for line in stream_lines(calls)))
    config = {"agent": "command", "prompt": PROMPT, "command": ["cat", str(stream)], "stream": "claude"}
    flow, wanted = flow_of(config), 2 * calls + 2

    async def in_folders() -> float:
        async with open_service(Settings(folder / "folders")) as service:
            async with started(service, flow) as run:
                await run.wait()
            events = await events_of(run)
        return check(seconds_in(events), sum(event["kind"] == "step.noted" for event in events), wanted)

    async def with_jq() -> float:
        return run_and_wait(["jq", "-c", ".", str(stream)])

    with pitstop(folder, "server") as server:

        async def in_sqlite() -> float:
            return check(*run_on_server(server, folder / "server/pitstop.db", flow), wanted)

        sides = {"folders": in_folders, "SQLite": in_sqlite, "jq": with_jq}
        taken = await measure_in_turn(sides, rounds, 1)
    work = f"{2 * calls:,} tool events, parsed, stored and shown"
    return [rate_line(f"{work}, {side}", 2 * calls, taken[side], taken["jq"]) for side in ("folders", "SQLite")]


def check(seconds: float, notes: int, wanted: int) -> float:
    assert notes == wanted, f"{notes} notes are stored, not {wanted}"
    return seconds


def run_on_server(server: Server, database: Path, flow: str) -> tuple[float, int]:
    """The seconds of the step, and how many notes of it the database has."""
    run = server.ask("POST", "/runs", {"flow": {"text": flow, "name": "bench.yaml"}, "secrets": SECRETS})["id"]
    # The database is asked, because answering so often would take the server's time
    wait_for(lambda: server.count(f"SELECT count(*) FROM runs WHERE id = '{run}' AND status IN {ENDED}") == 1)
    with closing(sqlite3.connect(f"file:{database}?mode=ro", uri=True, timeout=30)) as connection:
        rows = connection.execute("SELECT kind, at FROM events WHERE run = ? ORDER BY number", (run,)).fetchall()
    events = [{"kind": kind, "at": at, "occurrence": "fix"} for kind, at in rows if kind.startswith("step.")]
    return seconds_in(events), sum(event["kind"] == "step.noted" for event in events)


def rate_line(work: str, events: int, ours: Rounds, theirs: Rounds) -> Line:
    rates, floors = ([events / seconds for (seconds,) in rounds] for rounds in (ours, theirs))
    return {
        "work": work,
        "pitstop": f"{max(rates):,.0f}/s ({min(rates):,.0f} to {max(rates):,.0f})",
        "peer": f"jq -c . {max(floors):,.0f}/s ({min(floors):,.0f} to {max(floors):,.0f})",
        "ratio": f"{max(floors) / max(rates):.1f}x",
        "to reach": f">= {EVENTS_PER_SECOND:,}/s",
        "verdict": judge(max(rates) >= EVENTS_PER_SECOND),
    }


# --- Held calls ------------------------------------------------------------------------------------------------------


async def measure_calls(folder: Path, rounds: int, calls: int) -> list[Line]:
    ran, hooked = folder / "ran", folder / "hooked"
    steps = [{"tool": "shell", "command": f"date +%s%N >> {ran}"}] * (calls + 1)  # the first one warms up
    taken: dict[tuple[str, str], Rounds] = {}
    async with open_service(Settings(folder / "calls")) as service:
        for _ in range(rounds):
            for agent in KEYS:
                decided = await run_held(service, flow_of(agent_config(folder, agent, steps)))
                taken.setdefault((agent, "pitstop"), []).append(delays(decided, take_times(ran)))
                own = "codex" if agent == "claude" else agent
                run_with_own_hook(folder, own, steps, f"date +%s%N >> {hooked}; exit 0")
                taken.setdefault((agent, "peer"), []).append(delays(take_times(hooked), take_times(ran)))
    lines = []
    for agent in KEYS:
        peer = f"{'codex' if agent == 'claude' else agent} with a hook `exit 0`"
        work = f"{agent}: a held call is continued -> it runs, p50 of {calls}"
        lines.append(more_line(work, taken[agent, "pitstop"], taken[agent, "peer"], peer, MORE_CALL_MS))
    return lines


async def run_held(service: Service, flow: str) -> list[int]:
    """Continue at each call; the times of these decisions."""
    decided = []
    debug = DebugRequest(breakpoints=(BreakpointRequest(tool="any"),), remembers=False)
    async with started(service, flow, debug=debug) as run:
        debugger = Debugger(service.debugging, LOCAL, run.id)
        async for event in run.events():
            if event.kind == "debug.stopped":
                decided.append(time.time_ns())
                await debugger.say(verbs.Continue(event.fields["stop"]))
    return decided


def run_with_own_hook(folder: Path, agent: str, steps: Sequence[Line], hook: str) -> None:
    """The CLI without Pitstop, whose hook decides at once."""
    command = scripted(folder, agent, steps)
    home = folder / "home"
    (home / ".gemini").mkdir(parents=True, exist_ok=True)
    hooks = [{"matcher": ".*", "hooks": [{"type": "command", "command": hook}]}]
    (home / ".gemini/settings.json").write_text(json.dumps({"hooks": {"BeforeTool": hooks}}))
    (home / ".codex").mkdir(exist_ok=True)
    (home / ".codex/hooks.json").write_text(json.dumps({"hooks": {"PreToolUse": hooks}}))
    words = [*command, "--skip-trust", "--dangerously-bypass-hook-trust"]
    env = {**client_environment(), "HOME": str(home)}
    run_and_wait(words, input=PROMPT.encode(), cwd=folder, env=env)


def take_times(file: Path) -> list[int]:
    times = [int(line) for line in file.read_text().split()]
    file.unlink()
    return times


def delays(decided: Sequence[int], ran: Sequence[int]) -> list[float]:
    """Seconds from each decision until its call ran, without the first one."""
    return [(after - before) / 1e9 for before, after in zip(decided, ran, strict=True)][1:]


# --- The table -------------------------------------------------------------------------------------------------------


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="step,events,calls", help="which rows")
    parser.add_argument("--rounds", type=int, default=5, help="how often everything is measured")
    parser.add_argument("--quick", action="store_true", help="small amounts: to see it work, not to quote")
    parser.add_argument("--json", type=Path, default=ROOT / "bench/agents.json", help="where the results go")
    options = parser.parse_args()
    is_quick: bool = options.quick
    rounds = 1 if is_quick else options.rounds
    measures: dict[str, Callable[[Path], Coroutine[Any, Any, list[Line]]]] = {
        "step": lambda folder: measure_step(folder, rounds, 1 if is_quick else 7),
        "events": lambda folder: measure_events(folder, rounds, 500 if is_quick else CALLS),
        "calls": lambda folder: measure_calls(folder, rounds, 3 if is_quick else 30),
    }
    names = options.only.split(",")
    if unknown := [name for name in names if name not in measures]:
        parser.error(f"no such row: {', '.join(unknown)}; there are {', '.join(measures)}")
    lines: list[Line] = []
    for name in names:
        folder = Path(tempfile.mkdtemp(prefix="pitstop-bench-"))
        try:
            measured = asyncio.run(measures[name](folder))
            lines += [{**line, "load": f"{os.getloadavg()[0]:.1f}"} for line in measured]
        finally:
            shutil.rmtree(folder, ignore_errors=True)
    print(format_table(lines))
    if is_quick:
        return 0
    measured_at = datetime.now(UTC).isoformat(timespec="seconds")
    options.json.write_text(json.dumps({"measured_at": measured_at, "lines": lines}, indent=1) + "\n")
    return 1 if any(line["verdict"] == "MISSED" for line in lines) else 0


if __name__ == "__main__":
    sys.exit(main())
