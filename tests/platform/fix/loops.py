"""A project with mistakes, agents that act out a script, and the fix loop that brings them together."""

import asyncio
import shlex
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import yaml

from pitstop.app import open_service
from pitstop.service.caller import LOCAL
from pitstop.service.debugging import Debugger, StopInfo, verbs
from pitstop.service.desks import Service
from pitstop.service.runs import ActiveRun, DebugRequest, EventInfo, RunRequest, RunSummary
from pitstop.settings import Settings

# A mistake is a line of code.txt; the tests report the first one, or all of them
CHECK = """\
first=1
[ ! -e all ] || first=
code=0
for each in $(cat code.txt); do
  case $each in
    ok*) continue ;;
  esac
  echo "FAILED tests/test_code.py::test_$each - AssertionError: $each is wrong"
  code=1
  [ -z "$first" ] || break
done
exit $code
"""
AGENT = """\
mkdir -p {prompts}
cat > {prompts}/$PITSTOP_FIX_ROLE-$PITSTOP_FIX_ITERATION-$PITSTOP_FIX_ATTEMPT.md
repair() {{ sed -i "s/^$1\\$/${{2:-ok_$1}}/" code.txt; }}
report() {{
  path=$(echo "$PITSTOP_FIX_REPORT" | sed "s/SLUG/$1/")
  mkdir -p "$(dirname "$path")"
  cause=${{2:-$1 is wrong}}
  sed "s/CAUSE/$cause/" {report} > "$path"
  printf 'DEBUG_REPORT_PATH: %s\\nRoot cause: %s\\n' "$path" "$cause"
  echo 'Recommended fix: Option 1 - repair it'
}}
first() {{ grep -v '^ok' code.txt | head -n 1; }}
play={plays}/$PITSTOP_FIX_ROLE
for each in $play-$PITSTOP_FIX_ITERATION-$PITSTOP_FIX_ATTEMPT $play-$PITSTOP_FIX_ITERATION $play; do
  if [ -e "$each" ]; then . "$each"; exit; fi
done
case $PITSTOP_FIX_ROLE in
  diagnose) report "cause_$PITSTOP_FIX_ITERATION" ;;
  fix) repair "$(first)"; echo "Changes made: repaired one" ;;
esac
"""
REPORT = """\
## Failure

A test fails.

## Root cause

CAUSE.

## Evidence

code.txt

## Options

### Option 1: Repair it

Trade-offs: none.
Files: code.txt
Steps: change the line.

### Option 2: Rewrite it

Trade-offs: larger.
Files: code.txt
Steps: write it again.

## Recommendation

Option 1.

## Why the last fix failed

It repaired something else.
"""


class Loop:
    """A folder with a project. `plays` are what the agents do, by `ROLE`, `ROLE-ITERATION` or with `-ATTEMPT`."""

    def __init__(self, folder: Path, mistakes: Sequence[str] = ("a",), plays: Mapping[str, str] | None = None) -> None:
        self.folder = folder / "work"
        self.settings = Settings(folder / "state")
        self.prompts, plays_folder = folder / "prompts", folder / "plays"
        self.folder.mkdir(parents=True)
        plays_folder.mkdir()
        (folder / "report.md").write_text(REPORT)
        for name, text in (plays or {}).items():
            (plays_folder / name).write_text(text)
        agents = self.folder / ".pitstop" / "agents"
        agents.mkdir(parents=True)
        (agents / "scripted.yaml").write_text("extends: command\ncommand: [sh, agent.sh]\n")
        places = {"prompts": self.prompts, "plays": plays_folder, "report": folder / "report.md"}
        text = AGENT.format(**{name: shlex.quote(str(place)) for name, place in places.items()})
        (self.folder / "agent.sh").write_text(text)
        (self.folder / "check.sh").write_text(CHECK)
        (self.folder / "code.txt").write_text("".join(f"{each}\n" for each in mistakes))
        self.service: Service
        self.events: list[EventInfo] = []

    def flow(self, script: str = "sh check.sh", step: Mapping[str, Any] | None = None, **fix: Any) -> str:
        given = {"id": "tests", "run": script, **(step or {}), "fix": {"agent": "scripted", **fix}}
        return yaml.safe_dump({"name": "loop", "steps": [given, {"id": "after", "run": "echo after"}]})

    @asynccontextmanager
    async def start(self, flow: str | None = None, *, debug: bool = False, **options: Any) -> AsyncIterator[ActiveRun]:
        request = RunRequest(
            flow="flow.yaml",
            text=flow or self.flow(),
            debug=DebugRequest(stop_on_error=False, remembers=False) if debug else None,
            **{"folder": str(self.folder), **options},
        )
        async with open_service(self.settings) as service:
            self.service = service
            yield await service.runs.start(LOCAL, request)

    async def run(self, flow: str | None = None, **options: Any) -> RunSummary:
        """Run to the end, and take the events."""
        async with self.start(flow, **options) as run:
            return await self.end_of(run)

    async def end_of(self, run: ActiveRun) -> RunSummary:
        self.events = [event async for event in run.events()]
        return await run.wait()

    def debugger(self, run: ActiveRun) -> Debugger:
        return Debugger(self.service.debugging, LOCAL, run.id)

    async def escalation(self, run: ActiveRun, after: int = 0) -> StopInfo:
        """Wait for the next stop at which the loop gives up."""
        async for event in run.events():
            if event.kind == "debug.stopped" and event.fields["stop"] > after:
                assert "escalated" in event.fields["reasons"], event
                break
        state = await self.debugger(run).say(verbs.State())
        return state.stops[-1]

    def notes(self, name: str) -> list[dict[str, Any]]:
        """The data of all notes with a name."""
        return [
            event.fields["data"]
            for event in self.events
            if event.kind == "step.noted" and event.fields["note"] == f"fix.{name}"
        ]

    @property
    def ended(self) -> dict[str, Any]:
        (ended,) = self.notes("ended")
        return ended

    @property
    def verdicts(self) -> list[str]:
        return [data["verdict"] for data in self.notes("judged")]

    def finished(self) -> list[str]:
        """Occurrences that ended, with their status."""
        return [
            f"{event.fields['occurrence']} {event.fields['outcome']['status']}"
            for event in self.events
            if event.kind == "step.finished"
        ]

    def asked(self) -> list[str]:
        """The prompts that agents were given, by role, iteration and attempt."""
        return sorted(path.stem for path in self.prompts.iterdir()) if self.prompts.exists() else []

    def prompt(self, name: str) -> str:
        return (self.prompts / f"{name}.md").read_text()

    @property
    def code(self) -> list[str]:
        return (self.folder / "code.txt").read_text().split()

    def git(self, *words: str) -> str:
        """Run git in the folder, in a test that is not asynchronous or before its run."""
        import subprocess

        identity = ("-c", "user.name=a", "-c", "user.email=a@localhost", "-c", "init.defaultBranch=main")
        words = ("git", *identity, *words)
        done = subprocess.run(words, cwd=self.folder, check=True, capture_output=True, text=True)
        return done.stdout.strip()

    def commit(self) -> None:
        self.git("init", "-q")
        self.git("add", "-A")
        self.git("commit", "-qm", "first")


__all__ = ["Loop", "asyncio"]
