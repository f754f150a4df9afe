"""A bench for agents: one `agent` step with a scripted CLI, and a debugger if a test wants one."""

import asyncio
import contextlib
import json
import subprocess
import sys
from collections.abc import AsyncIterator, Iterable, Mapping
from pathlib import Path
from typing import Any

from pitstop.debugger.session import Session
from pitstop.debugger.stops import Stop
from pitstop.engine.clock import SystemClock
from pitstop.engine.ports import Ports
from pitstop.engine.run import Run
from pitstop.events.log import MemoryLog
from pitstop.events.outcome import Outcome, Status
from pitstop.events.types import StepNoted
from pitstop.plan.plan import Plan, Step
from tests.containers import Docker
from tests.patience import PATIENCE_SECONDS
from tests.steps.bench import OUR_TYPES, Bench, open_bench
from tests.steps.test_containers import open_containers

SCRIPTED = Path(__file__).parents[2] / "agents" / "scripted.py"
KEYS = {"claude": "ANTHROPIC_API_KEY", "codex": "OPENAI_API_KEY", "gemini": "GEMINI_API_KEY"}
KEY = "sk-not-a-real-key-1234567890"
GATED = ("claude", "codex", "gemini")


class AgentBench:
    """Runs agents in one workspace, which is a git repository with a commit."""

    def __init__(self, bench: Bench, folder: Path, python: str) -> None:
        """`folder` is for the files of the scripted CLI, and `python` is what it is run with."""
        self.bench = bench
        self.log = MemoryLog()
        self._folder = folder
        self._python = python
        self._steps: dict[str, Step] = {}

    @property
    def repo(self) -> Path:
        return self.bench.repo

    def git(self, *words: str) -> str:
        identity = ("-c", "user.name=Test", "-c", "user.email=test@localhost")
        return subprocess.run(
            ["git", *identity, *words], cwd=self.repo, text=True, capture_output=True, check=True
        ).stdout

    def write(self, name: str, text: str) -> None:
        path = self.repo / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def config(self, agent: str, steps: Iterable[Mapping[str, Any]] = (), **more: Any) -> dict[str, Any]:
        """The config of a step whose CLI acts out these steps; `script` has other keys of the script."""
        script = {
            "format": agent,
            "steps": [*steps],
            "record_calls": str(self._folder / "calls"),
            **more.pop("script", {}),
        }
        path = self._folder / "script.json"
        path.write_text(json.dumps(script))
        profile = agent if agent != "lines" else "command"
        command = [self._python, "-S", "-E", str(SCRIPTED), "--script", str(path)]
        return {"profile": profile, "prompt": "Make it work", "command": command, **more}

    @property
    def calls(self) -> list[dict[str, Any]]:
        """The calls that the scripted CLI made or was refused, and what its model was told."""
        path = self._folder / "calls"
        return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []

    def notes(self, note: str) -> list[dict[str, Any]]:
        return [event.data for event in self.log.read() if isinstance(event, StepNoted) and event.note == note]

    async def run(self, config: Mapping[str, Any], session: Session | None = None, **step: Any) -> Outcome:
        """The outcome of the step `fix`, or of that with another `path`, which runs after it in the same run."""
        parts = {"path": "fix", "secrets": tuple(self.bench.workplace.secrets), **step}
        self._steps[parts["path"]] = Step(kind="agent", config=dict(config), id=parts["path"], **parts)
        run = Run(
            Plan(Step("", "sequence", children=tuple(self._steps.values()))),
            {"steps": {}},
            Ports(self.bench.evaluator, SystemClock(), OUR_TYPES.for_run(self.bench.workplace, ["agent", "run"])),
            log=self.log,
            hook=session,
        )
        await run.execute()
        outcome: Outcome = run.done[parts["path"]]
        return outcome

    async def outputs(self, config: Mapping[str, Any], session: Session | None = None, **step: Any) -> dict[str, Any]:
        outcome = await self.run(config, session, **step)
        assert outcome.status is Status.PASSED, outcome.error
        outputs: dict[str, Any] = outcome.outputs
        return outputs

    async def failure(self, config: Mapping[str, Any], session: Session | None = None, **step: Any) -> str:
        outcome = await self.run(config, session, **step)
        assert outcome.status is Status.FAILED, outcome
        return str(outcome.error)

    @contextlib.asynccontextmanager
    async def debugging(
        self, config: Mapping[str, Any], **breakpoint: Any
    ) -> AsyncIterator[tuple[Session, "asyncio.Task[Outcome]"]]:
        """The step in a task of its own, with a session that has this breakpoint."""
        session = Session(stop_on_error=False)
        session.add_breakpoint(**breakpoint)
        async with asyncio.TaskGroup() as group:
            task = group.create_task(self.run(config, session))
            yield session, task


async def next_stop(session: Session) -> Stop:
    async with asyncio.timeout(PATIENCE_SECONDS):
        stop = await session.next_stop()
    assert stop is not None
    return stop


@contextlib.asynccontextmanager
async def open_agent_bench(
    folder: Path, *, docker: Docker | None = None, is_far: bool = False
) -> AsyncIterator[AgentBench]:
    """A bench whose run has the key of each agent as a secret; with `docker`, one for agents with an image."""
    secrets, place = dict.fromkeys(KEYS.values(), KEY), folder / "bench"
    async with (
        open_bench(place, secrets=secrets, is_far=is_far)
        if docker is None
        else open_containers(docker, place, secrets=secrets, is_far=is_far)
    ) as bench:
        here, inside = (folder, sys.executable), (Path(bench.workspace.home), "python3")
        opened = AgentBench(bench, *(here if docker is None else inside))
        opened.git("init", "--quiet")
        opened.write("README.md", "hello\n")
        opened.git("add", "-A")
        opened.git("commit", "--quiet", "--message=first")
        yield opened


def processes_with(*marks: str, file: str = "cmdline") -> list[int]:
    """The processes that have all of these texts among their arguments, or in their environment."""
    found = []
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            try:
                words = (folder / file).read_bytes().replace(b"\0", b" ")
            except OSError:
                continue
            if all(mark.encode() in words for mark in marks):
                found.append(int(folder.name))
    return found
