"""What every service promises of the files of a run: comparing them, coming into them, and running again elsewhere."""

import asyncio
import json
import os
import subprocess
from pathlib import Path

import pytest

from pitstop.errors import (
    BadCommit,
    BadFlow,
    CommandRefused,
    NoFiles,
    SeveralSteps,
    StepNotRunning,
    UnknownPoint,
    UnknownSnapshot,
)
from pitstop.runs import workspace_progress
from pitstop.service.caller import LOCAL
from pitstop.service.debugging import verbs
from pitstop.service.runs import ActiveRun, BreakpointRequest, DebugRequest, RerunRequest, WorkspaceProgress
from pitstop.service.workspaces import Terminal
from tests.contracts.service_desk import Desk, collected, next_stop, until
from tests.held_files import HeldFiles
from tests.patience import PATIENCE_SECONDS, wait_until

CHANGING = """\
    steps:
      - {id: first, run: "echo one > a.txt; echo kept > b.txt; printf '\\\\0\\\\1' > data"}
      - {id: second, run: "echo two > a.txt; rm b.txt; echo new > c.txt; chmod 755 data"}
      - {id: third, run: "echo three > a.txt; exit 3"}
    """

BEFORE_SPOIL = ("spoil", "before")
SPOILING = """\
    steps:
      - {id: make, run: "for each in a b c d; do printf '%-1000s' $each > $each; done"}
      - {id: spoil, run: "for each in a b c; do echo spoiled > $each; done"}
      - {id: last, run: "true"}
    """
HANG = "'until test -e go; do sleep 0.02; done'"


class WorkspaceContract:
    """The promises. `desk` is the subclass's fixture."""

    async def test_it_is_told_how_far_the_files_are_kept_and_put_back(
        self, desk: Desk, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(workspace_progress, "FIRST_SECONDS", 0.0)
        run = await desk.start(SPOILING, folder=None, debug=DebugRequest(stop_at_entry=True))
        stop = await next_stop(desk.service, run)
        heard: list[WorkspaceProgress] = []
        unhear = run.hear_progress(heard.append)

        async def told(text: str) -> bool:
            return any(each.text.startswith(text) for each in heard)

        async with asyncio.timeout(PATIENCE_SECONDS), asyncio.TaskGroup() as group:
            following = group.create_task(collected(run.events()))
            held = HeldFiles("c", monkeypatch)
            await desk.debugger(run).say(verbs.Step(stop.id, "to", "spoil"))
            await held.came()
            await until(lambda: told("storing the workspace files: 2 of 4 files, 2 of 4 kB"))
            held.let_go()
            stop = await next_stop(
                desk.service, run, stop.id
            )  # where no more is kept: whoever is slow is told the newest
            await until(lambda: told("stored the workspace files: 4 files, 4 kB, in "))
            await desk.debugger(run).say(verbs.Step(stop.id, "to", "last"))
            stop = await next_stop(desk.service, run, stop.id)

            held.hold_again()
            point, *_ = (
                each
                for each in await desk.debugger(run).say(verbs.History())
                if (each.step, each.position) == BEFORE_SPOIL
            )
            group.create_task(desk.debugger(run).say(verbs.Rewind(stop.id, point.number)))
            await held.came()
            await until(lambda: told("restoring the workspace files: 2 of 3 files, 2 of 3 kB"))
            held.let_go()
            stop = await next_stop(desk.service, run, stop.id)
            await until(lambda: told("restored the workspace files: 3 files, 3 kB, in "))
            await desk.debugger(run).say(verbs.Continue(stop.id))
            await following

        unhear()
        assert all("progress" not in event.kind for event in following.result())
        assert {each.doing for each in heard} == {"keeping", "putting_back"}
        assert heard[-1].is_over

    async def test_files_are_compared_between_any_two_points(self, desk: Desk) -> None:
        run = await desk.start(CHANGING, folder=None, debug=DebugRequest(stop_at_entry=True))
        stop = await next_stop(desk.service, run)
        await desk.debugger(run).say(verbs.Continue(stop.id))
        stop = await next_stop(desk.service, run, stop.id)
        points = {(point.step, point.position): point.number for point in await desk.debugger(run).say(verbs.History())}
        before = [points[step, "before"] for step in ("first", "second", "third")]

        whole = await desk.debugger(run).say(verbs.Files(before[0], before[2]))
        second = await desk.debugger(run).say(verbs.Files(before[1], points["second", "after"]))
        now = await desk.debugger(run).say(verbs.Files(before[2]))
        back = await desk.debugger(run).say(verbs.Files(before[2], before[1]))

        assert [(each.path, each.kind) for each in whole.changes] == [
            ("repo/a.txt", "added"),
            ("repo/c.txt", "added"),
            ("repo/data", "added"),
        ]
        assert {each.path: (each.kind, each.is_text) for each in second.changes} == {
            "repo/a.txt": ("changed", True),
            "repo/b.txt": ("removed", True),
            "repo/c.txt": ("added", True),
            "repo/data": ("mode", False),
        }
        assert [(each.path, each.kind) for each in now.changes] == [("repo/a.txt", "changed")]
        assert {each.path: each.kind for each in back.changes}["repo/b.txt"] == "added"
        cut = await desk.debugger(run).say(verbs.Files(before[1], before[2], limit=1))
        assert (len(cut.changes), cut.total) == (1, 4)

        diff = await desk.debugger(run).say(verbs.FilesDiff("repo/a.txt", before[1], before[2]))
        assert diff.diff == "--- a/repo/a.txt\n+++ b/repo/a.txt\n@@ -1 +1 @@\n-one\n+two\n"
        assert (await desk.debugger(run).say(verbs.FilesDiff("repo/data", before[0], before[1]))).diff == ""
        assert (await desk.debugger(run).say(verbs.FilesDiff("repo/c.txt", before[2]))).kind == ""
        with pytest.raises(UnknownSnapshot):
            await desk.debugger(run).say(verbs.FilesDiff("repo/nothing", before[1], before[2]))
        with pytest.raises(UnknownPoint):
            await desk.debugger(run).say(verbs.Files(before[1], 10_000))
        await desk.debugger(run).say(verbs.Abort())
        await run.wait()

        ended = await desk.service.runs.get(LOCAL, run.id)  # the points of a run that is over can be compared, too
        assert (await desk.debugger(ended).say(verbs.Files(before[1], before[2]))).total == 4
        with pytest.raises(NoFiles):
            await desk.debugger(ended).say(verbs.Files(before[1]))

    async def test_where_no_files_are_kept_none_are_compared(self, desk: Desk) -> None:
        run, _ = await desk.debug()
        (point, *_) = await desk.debugger(run).say(verbs.History())
        with pytest.raises(NoFiles):
            await desk.debugger(run).say(verbs.Files(point.number))
        await desk.debugger(run).say(verbs.Abort())
        await run.wait()

    async def test_secrets_are_not_in_what_changed(self, desk: Desk) -> None:
        text = """\
            steps:
              - {id: write, secrets: [TOKEN], run: "echo token=$TOKEN > conf; touch $TOKEN.txt"}
              - {id: fail, run: exit 1}
            """
        debug = DebugRequest(stop_at_entry=True)
        run = await desk.start(text, folder=None, secrets={"TOKEN": "sesame-open"}, debug=debug)
        await desk.debugger(run).say(verbs.Continue((await next_stop(desk.service, run)).id))
        await next_stop(desk.service, run, 1)
        before, *_ = [point.number for point in await desk.debugger(run).say(verbs.History()) if point.has_snapshot]

        assert "repo/***.txt" in [each.path for each in (await desk.debugger(run).say(verbs.Files(before))).changes]
        assert "+token=***\n" in (await desk.debugger(run).say(verbs.FilesDiff("repo/conf", before))).diff
        await desk.debugger(run).say(verbs.Abort())
        await run.wait()

    # --- Coming to a stop

    async def test_a_stop_tells_its_context(self, desk: Desk) -> None:
        sha = commit(desk.folder, "first words\n\nand more")
        text = "steps: [{id: one, run: 'true'}, {id: bad, name: Go wrong, run: echo told; exit 3}]"
        run, stop = await desk.debug(text, stop_at_entry=False, lease_seconds=600.0)

        context = await desk.debugger(run).say(verbs.Context(stop.id))

        assert (context.step, context.title, context.kind) == ("bad", "Go wrong", "run")
        assert (context.position, context.number, context.steps) == ("error", 2, 2)
        assert (context.executor, context.image, context.image_digest) == ("process", None, None)
        assert (context.machine, context.in_place) == (os.uname().nodename, True)
        assert Path(context.workspace) == desk.folder.resolve()
        assert context.log == ("told",)
        assert context.session == "connected"
        assert context.lease_ends_at is not None
        assert context.commit is not None
        assert (context.commit.sha, context.commit.message, context.commit.branch) == (sha, "first words", "main")
        assert context.commit.has_changes is False  # the flow's file is not git's
        assert (await run.info()).commit == context.commit
        await desk.debugger(run).say(verbs.Abort())
        await run.wait()
        with pytest.raises(CommandRefused):
            await desk.debugger(run).say(verbs.Context(stop.id))

    async def test_a_session_waits_is_come_to_and_ends(self, desk: Desk) -> None:
        text = "steps: [{id: a, run: 'true'}, {id: b, run: 'while test ! -e go; do sleep 0.02; done'}]"
        run, stop = await desk.debug(text)

        assert (await desk.debugger(run).say(verbs.State())).session == "waiting"
        assert (await run.info()).session == "waiting"
        await desk.debugger(run).say(verbs.Variables(stop.id))
        assert (await desk.debugger(run).say(verbs.State())).session == "connected"
        await desk.debugger(run).say(verbs.Continue(stop.id))
        assert (await desk.debugger(run).say(verbs.State())).session == "pending"
        (desk.folder / "go").touch()
        await run.wait()
        assert (await desk.debugger(run).say(verbs.State())).session == "ended"
        assert (await (await desk.service.runs.get(LOCAL, run.id)).info()).session == "ended"

    async def test_a_session_that_nobody_comes_to_times_out(self, desk: Desk) -> None:
        run = await desk.start(debug=DebugRequest(stop_at_entry=True, lease_seconds=0.05))

        assert (await run.wait()).status == "cancelled"
        assert (await desk.debugger(run).say(verbs.State())).session == "timeout"

    # --- Shells

    async def test_a_command_to_pitstop_is_entered_in_a_shell(self, desk: Desk) -> None:
        run, stop = await desk.debug("steps: [{id: a, run: test -e repaired}]", stop_at_entry=False)
        shell = await desk.service.workspaces.shell(LOCAL, run.id, stop.id)
        await shell.write(b"touch repaired; echo re''paired\r")
        await said_by(shell, b"repaired\r\n")
        await shell.write(b"@st")
        await said_by(shell, b"@st")
        await shell.write(b"atus\r")
        await said_by(shell, b"[pitstop] * stop 1: error a")
        await shell.write(b"@retry\r")

        rest = await said_until_end(shell)
        await shell.close()

        assert b"[pitstop] the run resumes; this shell closes" in rest
        summary = await run.wait()
        assert (summary.status, summary.intervened) == ("passed", True)

    async def test_a_shell_that_can_change_files_is_an_intervention(self, desk: Desk) -> None:
        text = "steps: [{id: a, run: echo one > made.txt}, {id: b, run: 'true'}, {id: c, run: 'true'}]"
        run = await desk.start(text, folder=None, debug=DebugRequest(breakpoints=(BreakpointRequest(step="b"),)))
        stop = await next_stop(desk.service, run)
        shell = await desk.service.workspaces.shell(LOCAL, run.id, stop.id)
        await shell.write(b"echo two > made.txt; exit\r")
        await said_until_end(shell)
        await shell.close()

        async def is_told() -> bool:
            state = await desk.debugger(run).say(verbs.State())
            return state.interventions == ("shell opened at b; changed: made.txt",)

        await until(is_told)
        shell = await desk.service.workspaces.shell(LOCAL, run.id, stop.id)
        await shell.write(b"@resume\r")
        await said_until_end(shell)
        await shell.close()
        summary = await run.wait()

        assert (summary.status, summary.intervened) == ("passed", True)
        (_, again) = (await desk.debugger(run).say(verbs.State())).interventions
        assert again == "shell opened at b; changed: nothing"
        opened = [event for event in await collected(run.events()) if event.kind == "debug.shell_opened"]
        assert [(each.fields["stop"], each.fields["step"]) for each in opened] == [(stop.id, "b")] * 2
        assert all(each.fields["by"] for each in opened)
        later = await desk.service.runs.rerun(LOCAL, run.id, RerunRequest(from_step="c"))
        assert (await later.wait()).intervened

    async def test_a_read_only_shell_is_no_intervention(self, desk: Desk) -> None:
        run, stop = await desk.debug("steps: [{id: a, run: 'true'}]")
        shell = await desk.service.workspaces.shell(LOCAL, run.id, stop.id, mode="sidecar")
        await shell.write(b"exit\r")
        await said_until_end(shell)
        await shell.close()
        await desk.debugger(run).say(verbs.Continue(stop.id))

        assert not (await run.wait()).intervened

    async def test_a_sidecar_sees_the_files_and_cannot_change_them(self, desk: Desk) -> None:
        (desk.folder / "app").write_text("as it was\n")
        run, stop = await desk.debug("steps: [{id: a, run: exit 1}]", stop_at_entry=False)

        shell = await desk.service.workspaces.shell(LOCAL, run.id, stop.id, mode="sidecar")
        await shell.write(b"cat app; echo changed > app || echo re''fused; exit\n")
        said = await said_until_end(shell)
        await shell.close()

        assert b"as it was" in said
        assert b"refused" in said
        assert (desk.folder / "app").read_text() == "as it was\n"
        await desk.debugger(run).say(verbs.Abort())
        await run.wait()

    async def test_a_step_that_hangs_can_be_entered(self, desk: Desk) -> None:
        text = f"steps: [{{id: around, steps: [{{id: hang, env: {{WORD: here}}, run: {HANG}}}]}}]"
        run = await desk.start(text)
        await until(lambda: is_running(run, "around.hang"))

        for name in ("hang", "around"):
            sidecar = await desk.service.workspaces.shell(LOCAL, run.id, name, mode="sidecar")
            await sidecar.write(b"echo w=$WORD; touch go || echo re''fused; exit\n")
            said = await said_until_end(sidecar)
            await sidecar.close()
            assert b"w=here" in said
            assert b"refused" in said
        assert (await run.info()).session == "none"  # a read-only shell does not make the run one that is debugged
        shell = await desk.service.workspaces.shell(LOCAL, run.id, "around.hang")
        await shell.write(b"@retry\r")
        await said_by(shell, b"[pitstop] around.hang is not paused")
        await shell.write(b"touch go; exit\n")
        await said_until_end(shell)
        await shell.close()

        assert (await run.wait()).status == "passed"

    async def test_a_shell_that_was_opened_in_a_running_step_can_retry_it(self, desk: Desk) -> None:
        script = "test -e repaired && exit 0; touch begun; until test -e go; do sleep 0.02; done; exit 1"
        run = await desk.start(f"steps: [{{id: a, run: '{script}'}}]")
        await wait_until((desk.folder / "begun").exists)
        shell = await desk.service.workspaces.shell(LOCAL, run.id, "a")
        await shell.write(b"touch repaired go; echo re''paired\r")
        await said_by(shell, b"repaired\r\n")
        await next_stop(desk.service, run)
        await shell.write(b"@retry\r")

        rest = await said_until_end(shell)
        await shell.close()

        assert b"[pitstop] the run resumes; this shell closes" in rest
        assert (await run.wait()).status == "passed"

    async def test_a_shell_is_in_one_step_that_runs(self, desk: Desk) -> None:
        both = f"parallel: [{{id: x, run: {HANG}}}, {{id: y, run: {HANG}}}]"
        run = await desk.start(f"steps: [{{id: both, {both}}}, {{id: z, run: 'true'}}]")
        await until(lambda: is_running(run, "both.x"))
        await until(lambda: is_running(run, "both.y"))

        with pytest.raises(SeveralSteps, match="choose one of both"):
            await desk.service.workspaces.shell(LOCAL, run.id, "both")
        with pytest.raises(StepNotRunning, match="step 'z' is not running; running now: both"):
            await desk.service.workspaces.shell(LOCAL, run.id, "z")
        (desk.folder / "go").touch()
        await run.wait()
        with pytest.raises(CommandRefused):
            await desk.service.workspaces.shell(LOCAL, run.id, "both")

    async def test_shells_end_with_the_run(self, desk: Desk) -> None:
        run, stop = await desk.debug("steps: [{id: a, run: exit 1}]", stop_at_entry=False)
        shells = [
            await desk.service.workspaces.shell(LOCAL, run.id, stop.id),
            await desk.service.workspaces.shell(LOCAL, run.id, stop.id, mode="sidecar"),
        ]
        for shell in shells:
            await shell.write(b"echo re''ady; sleep 1000\n")
            await said_by(shell, b"ready")

        await desk.debugger(run).say(verbs.Abort())
        await run.wait()

        for shell in shells:
            await said_until_end(shell)
            await shell.close()

    @pytest.mark.parametrize("record", ["screen", "keys"])
    async def test_a_shell_is_recorded_without_secrets(self, desk: Desk, record: str) -> None:
        text = "steps: [{id: a, secrets: [KEY], run: exit 1}]"
        run, stop = await desk.debug(text, stop_at_entry=False, secrets={"KEY": "sesame99", "OTHER": "sesame98"})
        shell = await desk.service.workspaces.shell(LOCAL, run.id, stop.id, rows=30, cols=100, record=record)  # type: ignore[arg-type]
        shell.resize(40, 120)
        await shell.write("stty -echo; echo grün $KEY ${OTHER-none}; read x; exit\r".encode())
        await said_by(shell, "grün sesame99 none".encode())
        await shell.write(b"unseen\r")
        await said_until_end(shell)
        await shell.close()
        await desk.debugger(run).say(verbs.Abort())
        await run.wait()

        (artifact,) = await run.artifacts()
        text = b"".join(await collected(run.artifact(artifact.path))).decode()

        assert artifact.path.startswith("shells/")
        assert artifact.path.endswith("-shell-a.cast")
        header, *lines = [json.loads(line) for line in text.splitlines()]
        assert (header["version"], header["width"], header["height"]) == (2, 100, 30)
        assert [line[0] for line in lines] == sorted(line[0] for line in lines)
        shown = "".join(line[2] for line in lines if line[1] == "o")
        typed = "".join(line[2] for line in lines if line[1] == "i")
        assert "grün ***" in shown
        assert "sesame99" not in text
        assert [line[2] for line in lines if line[1] == "r"] == ["120x40"]
        assert ("unseen\r" in typed) == (record == "keys")
        assert "unseen" not in shown

    # --- Running again on a commit

    async def test_a_run_again_is_of_the_same_commit_or_another(self, desk: Desk) -> None:
        (desk.folder / "app.txt").write_text("old\n")
        old = commit(desk.folder, "the old one")
        git(desk.folder, "tag", "v1")
        (desk.folder / "app.txt").write_text("new\n")
        new = commit(desk.folder, "the new one")
        text = "steps: [{id: show, run: cat app.txt}, {id: touch, run: echo x > made.txt}]"
        run = await desk.run_to_end(text)
        (desk.folder / "app.txt").write_text("not committed\n")

        again = await desk.service.runs.rerun(LOCAL, run.id, RerunRequest(commit="v1"))
        await again.wait()
        same = await desk.service.runs.rerun(LOCAL, run.id, RerunRequest(commit=new[:12]))
        await same.wait()
        same_again = await desk.service.runs.rerun(LOCAL, again.id, RerunRequest(from_step="touch"))
        await same_again.wait()

        assert (await run.info()).commit is not None
        assert await lines_of(again, "show") == ["old"]
        told = (await again.info()).commit
        assert told is not None
        assert (told.sha, told.message, told.has_changes) == (old, "the old one", False)
        assert await lines_of(same, "show") == ["new"]
        assert (await same_again.info()).commit == told
        assert (desk.folder / "app.txt").read_text() == "not committed\n"
        for wrong in ("no-such-branch", "-x", "HEAD~99"):
            with pytest.raises(BadCommit, match="cannot use commit"):
                await desk.service.runs.rerun(LOCAL, run.id, RerunRequest(commit=wrong))

    async def test_a_failure_is_debugged_with_the_flow_of_another_commit(self, desk: Desk) -> None:
        commit(desk.folder, "before the flow")
        desk.write("steps: [{id: build, run: echo built}, {id: tests, run: 'true'}]")
        git(desk.folder, "add", "flow.yaml")
        fixed = commit(desk.folder, "with tests that pass")
        desk.write("steps: [{id: build, run: echo built}]")
        git(desk.folder, "tag", "bare", commit(desk.folder, "without tests"))
        run = await desk.run_to_end("steps: [{id: build, run: echo built}, {id: tests, run: exit 3}]")
        debug = DebugRequest(breakpoints=(BreakpointRequest(step="tests"),))
        wanted = RerunRequest(from_step="tests", commit=fixed, use_file=True, debug=debug)

        again = await desk.service.runs.rerun(LOCAL, run.id, wanted)
        stop = await next_stop(desk.service, again)

        assert (stop.step, stop.position) == ("tests", "before")
        told = (await again.info()).commit
        assert told is not None
        assert told.sha == fixed
        await desk.debugger(again).say(verbs.Continue(stop.id))
        assert (await again.wait()).status == "passed"
        with pytest.raises(BadCommit, match="cannot use commit 'bare': its flow has no step 'tests'"):
            await desk.service.runs.rerun(LOCAL, run.id, RerunRequest(from_step="tests", commit="bare", use_file=True))
        with pytest.raises(BadFlow, match="it is not in commit"):
            await desk.service.runs.rerun(LOCAL, run.id, RerunRequest(commit=f"{fixed}~1", use_file=True))

    async def test_without_a_repository_there_is_no_commit_to_choose(self, desk: Desk) -> None:
        run = await desk.run_to_end("steps: [{run: 'true'}]")

        assert (await run.info()).commit is None
        with pytest.raises(BadCommit, match="not in a git repository"):
            await desk.service.runs.rerun(LOCAL, run.id, RerunRequest(commit="main"))


def git(folder: Path, *words: str) -> str:
    who = ("-c", "user.name=somebody", "-c", "user.email=somebody@example.org", "-c", "init.defaultBranch=main")
    done = subprocess.run(["git", *who, *words], cwd=folder, check=True, capture_output=True, text=True)
    return done.stdout.strip()


def commit(folder: Path, message: str) -> str:
    """Commit what git knows of, or a first file; gives the id."""
    if not (folder / ".git").exists():
        git(folder, "init", "--quiet")
        (folder / "app.txt").touch()
        git(folder, "add", "app.txt")
    git(folder, "commit", "--quiet", "--all", "--message", message)
    return git(folder, "rev-parse", "HEAD")


async def lines_of(run: ActiveRun, occurrence: str) -> list[str]:
    return [line.text for line in (await run.log(occurrence)).lines]


async def is_running(run: ActiveRun, occurrence: str) -> bool:
    """Whether the step has begun."""
    async for event in run.events():
        if event.kind == "step.started" and event.fields["occurrence"] == occurrence:
            return True
    return False


async def said_by(shell: Terminal, text: bytes) -> bytes:
    said = b""
    async with asyncio.timeout(PATIENCE_SECONDS):
        while text not in said:
            more = await shell.read()
            assert more, said
            said += more
    return said


async def said_until_end(shell: Terminal) -> bytes:
    said = b""
    async with asyncio.timeout(PATIENCE_SECONDS):
        while more := await shell.read():
            said += more
    return said
