"""Fix loops that are left at random moments and taken up again: nothing is counted, noted or handed over wrongly."""

import asyncio
import random
import subprocess
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from pitstop.app import open_service
from pitstop.errors import NotRunning
from pitstop.runs.live_run import LiveRun
from pitstop.service.caller import LOCAL
from pitstop.service.debugging import Debugger, verbs
from pitstop.service.desks import Service
from pitstop.service.runs import DebugRequest, EventInfo, RunRequest
from tests.amounts import amount
from tests.platform.fix.loops import Loop

ITERATIONS, ROUNDS, RETRIES = 3, 3, 2
MOST_CRASHES = 4
MOST_EVENTS = 30  # between two crashes
MOST_SECONDS = 0.05  # after the event of a crash, so that it may come in the middle of what follows

FIXES = {
    "repairs": 'repair "$(first)"; echo "Changes made: repaired one"',
    "guesses": 'echo "guess $PITSTOP_FIX_ITERATION" >> notes.txt',
    "makes it worse": "echo z$PITSTOP_FIX_ITERATION >> code.txt",
    "moves it": 'repair "$(first)" "m$PITSTOP_FIX_ITERATION"',
    "goes back": 'sed -i "s/^ok_//" code.txt',
    "changes nothing": "true",
    "changes what is tested with": "echo exit 0 > check.sh",
    "adds to the report": 'echo "And more." >> "$PITSTOP_FIX_REPORT"',
    "fails": "echo half >> code.txt; exit 3",
    "fails once": '[ "$PITSTOP_FIX_ATTEMPT" -gt 1 ] || exit 3; repair "$(first)"',
}
COMMITS = 'repair "$(first)"; git -c user.name=a -c user.email=a@b commit -qam mine'  # in place it would stay staged
DIAGNOSES = {
    "reports": 'report "cause_$PITSTOP_FIX_ITERATION"',
    "repairs as well": 'report cause; repair "$(first)"; touch left.txt',
    "says nothing": "true",
    "fails once": '[ "$PITSTOP_FIX_ATTEMPT" -gt 1 ] || exit 3; report again',
    "fails": "exit 3",
}
DECISIONS = ("guide", "guide", "roll_back", "roll_back 1", "take_over", "repair", "skip", "stop")


@pytest.mark.repeats
@pytest.mark.parametrize("seed", range(amount(2, soak=150)))
async def test_whatever_happens_nothing_is_counted_noted_or_handed_over_wrongly(tmp_path: Path, seed: int) -> None:
    chance = random.Random(seed)
    life = Life(tmp_path, chance)

    await life.live()

    told = Told(life)
    told.check_notes()
    told.check_files()


async def test_a_refused_fix_is_not_tested_although_its_verdict_was_lost(tmp_path: Path) -> None:
    loop = Loop(tmp_path, ["a"], {"fix": FIXES["changes what is tested with"]})
    flow = loop.flow(iterations=1)
    async with loop.start(flow, debug=True) as run:
        assert isinstance(run, LiveRun)
        await loop.escalation(run)
        run.leave()
        await run.is_gone.wait()
    log = loop.settings.runs / run.id / "events.jsonl"
    before, applied, after = log.read_text().partition('"fix.applied"')
    line, _, _ = after.partition("\n")
    log.write_text(f"{before}{applied}{line}\n")  # killed between two notes
    (loop.folder / "check.sh").write_text("exit 0\n")

    async with open_service(loop.settings) as loop.service:
        again = await loop.service.runs.take_up(LOCAL, run.id, {})
        await loop.escalation(again)
        await loop.debugger(again).say(verbs.Decide(1, "stop"))
        await loop.end_of(again)

    assert loop.verdicts == ["refused"]
    assert "exit 0" not in (loop.folder / "check.sh").read_text()


async def test_what_a_killed_git_leaves_does_not_stop_the_loop(tmp_path: Path) -> None:
    loop = Loop(tmp_path, ["a"], {"fix-1": "echo guess > notes.txt"})
    loop.commit()
    async with loop.start(loop.flow(iterations=1), debug=True) as run:
        assert isinstance(run, LiveRun)
        await loop.escalation(run)
        run.leave()
        await run.is_gone.wait()
    branch = loop.folder / f".git/refs/heads/fix/{run.id}"
    branch.with_name(f"{branch.name}.lock").touch()
    branch.write_text(f"{loop.git('rev-parse', 'HEAD')}\n")
    (loop.folder / "debug/tests_failures/001_cause_1.md").unlink()

    async with open_service(loop.settings) as loop.service:
        again = await loop.service.runs.take_up(LOCAL, run.id, {})
        await loop.debugger(again).say(verbs.Decide(1, "guide", "look there"))
        await loop.end_of(again)

    assert loop.verdicts == ["same", "fixed"]
    assert loop.git("rev-parse", f"fix/{run.id}") == loop.ended["commit"]
    assert all((loop.folder / path).exists() for path in loop.ended["reports"])


class Life:
    """A loop with random plays, on a random place, that crashes at random moments."""

    def __init__(self, folder: Path, chance: random.Random) -> None:
        self.is_in_place = chance.random() < 0.5
        fixes = [*FIXES.values(), *([] if self.is_in_place else [COMMITS])]
        plays = {f"fix-{n}": chance.choice(fixes) for n in range(1, ITERATIONS * ROUNDS + 1)}
        plays |= {
            f"diagnose-{n}": DIAGNOSES[chance.choices([*DIAGNOSES], (6, 2, 1, 1, 1))[0]]
            for n in range(1, 1 + len(plays))
        }
        self.loop = Loop(folder, "abcd"[: chance.randint(1, 4)], plays)
        if chance.random() < 0.6:
            (self.loop.folder / "all").touch()
        self.loop.commit()
        self.crashes = chance.randint(1, MOST_CRASHES)
        self.decisions = [chance.choice(DECISIONS) for _ in range(ROUNDS + 2)]
        self.events: list[EventInfo] = []
        self.run = ""
        self._chance = chance
        self._flow = self.loop.flow(
            iterations=chance.randint(1, ITERATIONS), early_stop=chance.random() < 0.5, base="none"
        )

    async def live(self) -> None:
        """Run it to its end, with a new service after each crash."""
        is_over = False
        while not is_over:
            async with open_service(self.loop.settings) as service:
                try:
                    run = await self._begin(service)
                except NotRunning:  # it crashed after its end was logged
                    break
                is_over = await self._follow(service, run)
        async with open_service(self.loop.settings) as service:
            past = await service.runs.get(LOCAL, self.run)
            self.events = [event async for event in past.events()]
            self.patch = b"".join([block async for block in past.artifact("tests.patch")])
            self.bundle = b"".join([block async for block in past.artifact("tests.bundle")])

    async def _begin(self, service: Service) -> LiveRun:
        if self.run:
            run = await service.runs.take_up(LOCAL, self.run, {})
        else:
            request = RunRequest(
                flow="flow.yaml",
                text=self._flow,
                folder=str(self.loop.folder),
                commit=None if self.is_in_place else "HEAD",
                debug=DebugRequest(stop_on_error=False, remembers=False),
            )
            run = await service.runs.start(LOCAL, request)
        assert isinstance(run, LiveRun)
        self.run = run.id
        return run

    async def _follow(self, service: Service, run: LiveRun) -> bool:
        """Choose a way at each escalation, until it ends or crashes; whether it has ended."""
        known = (await run.info()).last_event
        crash_at = known + self._chance.randint(1, MOST_EVENTS) if self.crashes else None
        debugger = Debugger(service.debugging, LOCAL, run.id)
        number, chosen = 0, 0
        async for _ in run.events():
            number += 1
            if crash_at is not None and number >= crash_at:
                self.crashes -= 1
                await asyncio.sleep(self._chance.random() * MOST_SECONDS)
                run.leave()
                await run.is_gone.wait()
                return False
            if number >= known:
                stops = (await debugger.say(verbs.State())).stops
                for stop in (each for each in stops if each.id > chosen):
                    chosen = stop.id
                    await self._choose(debugger, stop.id)
        return True

    async def _choose(self, debugger: Debugger, stop: int) -> None:
        way = self.decisions.pop(0) if self.decisions else "stop"
        if way in ("take_over", "repair"):
            workspace = Path((await debugger.say(verbs.Context(stop))).workspace)
            await debugger.say(verbs.Decide(stop, "take_over"))
            code = workspace / "code.txt"
            code.write_text(code.read_text() + "ok_user\n" if way == "take_over" else "ok_all\n")
            await debugger.say(verbs.Continue(stop))
            return
        name, _, text = way.partition(" ")
        choice: Any = name
        await debugger.say(verbs.Decide(stop, choice, text or ("look there" if name in ("guide", "skip") else "")))


class Told:
    """What the log of a loop says, and what it left."""

    def __init__(self, life: Life) -> None:
        self.life, self.folder = life, life.loop.folder
        self.notes: list[tuple[str, Mapping[str, Any]]] = [
            (event.fields["note"].removeprefix("fix."), event.fields["data"])
            for event in life.events
            if event.kind == "step.noted" and event.fields["note"].startswith("fix.")
        ]

    def of(self, name: str) -> list[Mapping[str, Any]]:
        return [data for each, data in self.notes if each == name]

    def check_notes(self) -> None:
        (started,), (ended,) = self.of("started"), self.of("ended")
        assert self.notes[0][0] == "started"
        assert self.notes[-1][0] == "ended"
        assert all(each["reason"] != "state" for each in self.of("escalated")), self.of("escalated")
        numbers = [each["n"] for each in self.of("iteration_started")]
        assert numbers == [*range(1, len(numbers) + 1)]
        rounds = Counter(each["round"] for each in self.of("iteration_started"))
        assert all(count <= started["limits"]["iterations"] for count in rounds.values())
        assert [*rounds] == [*range(1, len(rounds) + 1)]
        assert len(self.of("round_opened")) + 1 <= ROUNDS
        for name in ("reported", "judged"):
            assert [each["n"] for each in self.of(name)] == numbers, name
        assert len({each["path"] for each in self.of("reported")}) == len(numbers)
        self._check_not_twice(("triaged",))
        self._check_not_twice(("applied",), "n")
        self._check_not_twice(("tested",), "n", "after", "attempt")
        retries = Counter((each["n"], each["role"]) for each in self.of("agent_retried"))
        assert all(count <= RETRIES for count in retries.values()), retries
        assert ended["iterations"] == len(numbers)
        assert ended["reports"] == [each["path"] for each in self.of("reported")]
        self._check_escalations()

    def _check_not_twice(self, names: Sequence[str], *keys: str) -> None:
        for name in names:
            counted = Counter(tuple(each[key] for key in keys) for each in self.of(name))
            assert all(count == 1 for count in counted.values()), (name, counted)

    def _check_escalations(self) -> None:
        """Each follows from an iteration, or from what a user chose at the one before."""
        is_new = True
        for event in self.life.events:
            note = event.fields.get("note", "") if event.kind == "step.noted" else ""
            if note == "fix.escalated":
                assert is_new
                is_new = False
            elif event.kind == "debug.step_decided" or note in ("fix.judged", "fix.triaged"):
                is_new = True

    def check_files(self) -> None:
        """The best files are handed over, with all reports; the user's branch and index are as they were."""
        (ended,) = self.of("ended")
        branch = f"fix/{self.life.run}"
        assert self.git("rev-list", "--count", "HEAD") == "1"
        assert self.git("diff", "--cached", "--name-only") == ""
        if not self.life.is_in_place:
            assert self.git("status", "--porcelain") == ""
            self._take_artifacts(branch)
        if self.git("branch", "--list", branch):
            assert self.git("rev-parse", branch) == ended["commit"]
        best, number = self._best()
        assert self._differing(best, "--", ".", ":(exclude)debug") == []
        assert self._differing(ended["commit"]) == []
        for path in ended["reports"]:
            assert (self.folder / path).is_file()
        written = sorted(path.relative_to(self.folder).as_posix() for path in self.folder.glob("debug/*/*.md"))
        assert written == sorted(ended["reports"])
        done = subprocess.run(["sh", "check.sh"], cwd=self.folder, capture_output=True, text=True, check=False)
        tested = [each for each in self.of("tested") if each["n"] == number]
        assert len(done.stdout.splitlines()) == tested[-1]["total"]
        assert (done.returncode == 0) is (ended["outcome"] in ("fixed", "taken_over"))

    def _take_artifacts(self, branch: str) -> None:
        """As `pitstop fix` does."""
        if self.life.patch:
            self.git("apply", "-", given=self.life.patch)
        if self.life.bundle:
            (self.folder.parent / "bundle").write_bytes(self.life.bundle)
            self.git("fetch", "-q", str(self.folder.parent / "bundle"), f"{branch}:{branch}")

    def _best(self) -> tuple[str, int]:
        """The commit and the number of the best files."""
        base = self.of("started")[0]["base"]
        commits, commit, best = {0: base}, base, 0
        for name, data in self.notes:
            if name == "applied" and data["commit"] and not data["refused"]:
                commits[data["n"]] = data["commit"]
            elif name == "tested" and data["after"] == "user":
                commit, best = data["commit"], data["n"]
            elif name == "judged" and data["best"] != best:
                commit, best = commits[data["best"]], data["best"]
            elif name == "rolled_back":
                commit, best = commits[data["to"]], data["to"]
        return commit, best

    def _differing(self, *words: str) -> list[str]:
        self.git("add", "--intent-to-add", ".")
        try:
            return self.git("diff", "--name-only", *words).split()
        finally:
            self.git("reset", "-q")

    def git(self, *words: str, given: bytes | None = None) -> str:
        done = subprocess.run(["git", *words], cwd=self.folder, input=given, capture_output=True, check=False)
        assert done.returncode == 0, (words, done.stderr)
        return done.stdout.decode().strip()
