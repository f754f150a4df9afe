"""What every executor promises. A subclass names its place; each test is then run there."""

import asyncio
import os
import subprocess
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager, closing
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path, PurePath
from signal import SIGKILL, SIGTERM
from typing import Any, Protocol

import pytest

from pitstop.engine.executor import (
    LIVE_INPUT,
    Command,
    CommandRef,
    CommandResult,
    Executor,
    ExecutorEvent,
    LogChunk,
    Placement,
    Shell,
    ShellRequest,
    WorkspaceRef,
)
from pitstop.engine.workspace_files import COMMAND_FILES, Part
from pitstop.errors import (
    BadCommit,
    FileMissing,
    FileProblem,
    FileTooLarge,
    NoRunner,
    NotAFile,
    PathOutside,
    Unavailable,
    UnknownSnapshot,
    WorkspaceLost,
)
from pitstop.executors.fake import FakeCommand

# What places and shells may give a command that inherits nothing
GIVEN = {"PATH", "HOME", "HOSTNAME", "PWD", "OLDPWD", "SHLVL", "_", "TINI_KILL_PROCESS_GROUP", "container"}
PARTS: tuple[Part, ...] = ("repo", "home", "artifacts", "control")


@dataclass(frozen=True)
class Program:
    """The same behaviour twice: as a script for real places, as a function for the fake."""

    script: str
    fake: Callable[[FakeCommand], None]


def _says_hello(command: FakeCommand) -> None:
    command.say("hello\n")
    command.say("oops\n", "stderr")
    command.exit(3)


def _ends_itself(command: FakeCommand) -> None:
    command.die(SIGKILL)


def _runs_on(command: FakeCommand) -> None:
    command.say("up\n")


def _ignores_term(command: FakeCommand) -> None:
    command.on_term = lambda: command.say("no\n")
    command.say("up\n")


def _ends_well_on_term(command: FakeCommand) -> None:
    command.on_term = command.exit
    command.say("up\n")


def _counts(command: FakeCommand) -> None:
    for number in range(1, 2001):
        command.say(f"{number}\n")
    command.exit()


def _says_bytes(command: FakeCommand) -> None:
    command.say(bytes(range(256)))
    command.exit()


def _repeats_input(command: FakeCommand) -> None:
    stdin = command.command.stdin
    command.say(stdin if isinstance(stdin, bytes) else b"")
    command.exit()


def _answers_lines(command: FakeCommand) -> None:
    def answer(data: bytes) -> None:
        command.say(f"got {data.decode()}" if data else "end\n")
        if not data:
            command.exit()

    command.on_input = answer


def _tells_colour(command: FakeCommand) -> None:
    command.say(command.command.env["COLOUR"])
    command.exit()


def _writes_a_and_b(command: FakeCommand) -> None:
    (command.repo / "a").write_text("first")
    (command.repo / "b").write_text("second")
    command.exit()


def _spoils_a_and_adds_c(command: FakeCommand) -> None:
    (command.repo / "a").write_text("spoiled")
    (command.repo / "b").unlink(missing_ok=True)
    (command.repo / "c").write_text("third")
    command.exit()


def _shows_files(command: FakeCommand) -> None:
    for path in sorted(command.repo.iterdir()):
        command.say(f"{path.name}={path.read_text()}\n")
    command.exit()


def _tells_variables(command: FakeCommand) -> None:
    command.say("".join(f"{name}={value}\n" for name, value in command.command.env.items()))
    command.exit()


def _tells_interfaces(command: FakeCommand) -> None:
    command.say("lo: 127.0.0.1\n" if command.command.network == "none" else "eth0: 127.0.0.1\n")
    command.exit()


def _spoils_what_it_can(command: FakeCommand) -> None:
    for path in ("a", "tests/a", "src/made/code"):
        if not any(PurePath(path).is_relative_to(each) for each in command.command.read_only):
            (command.repo / path).write_text("spoiled")
            command.say(f"could spoil {path}\n")
    (command.repo / "src/free").write_text("new\n")
    command.exit()


def _links_out(command: FakeCommand) -> None:
    (command.repo / "out").symlink_to("../home")
    (command.repo / "x-out").symlink_to("../home/x")
    command.exit()


def _links_inside(command: FakeCommand) -> None:
    (command.repo / "folder").mkdir()
    (command.repo / "folder" / "file").write_text("inside")
    (command.repo / "link").symlink_to("folder")
    command.exit()


SPOILING = """
attempt() { if sh -c "$1" 2>/dev/null; then echo "could $1"; fi; }
attempt 'echo spoiled > tests/a'
attempt 'echo more > tests/more'
attempt 'rm tests/a'
attempt 'mv tests elsewhere'
attempt 'echo spoiled > src/made/code'
attempt 'rm src/made/code'
attempt 'mv src/made/code code'
attempt 'ln src/made/code linked && echo spoiled > linked'
attempt 'mv src/made src/kept'
attempt 'mv src kept'
attempt 'cd .. && mv repo kept'
attempt 'mount -o remount,bind,rw tests || umount tests'
echo new > src/free
"""
PROGRAMS: Mapping[str, Program] = {
    "says hello": Program("echo hello; echo oops >&2; exit 3", _says_hello),
    "does nothing": Program("true", FakeCommand.exit),
    "ends itself": Program("kill -KILL $$", _ends_itself),
    "runs on": Program("echo up; exec sleep 1000", _runs_on),
    "ignores TERM": Program("trap 'echo no' TERM; echo up; while true; do sleep 0.01 || true; done", _ignores_term),
    "ends well on TERM": Program(
        "trap 'exit 0' TERM; echo up; while true; do sleep 0.01 || true; done", _ends_well_on_term
    ),
    "counts": Program("seq 2000", _counts),
    "says bytes": Program('for i in $(seq 0 255); do printf "\\\\$(printf %o $i)"; done', _says_bytes),
    "repeats its input": Program("cat", _repeats_input),
    "answers lines": Program('while read -r line; do echo "got $line"; done; echo end', _answers_lines),
    "tells its colour": Program("printf %s $COLOUR", _tells_colour),
    "writes a and b": Program("printf first > a; printf second > b", _writes_a_and_b),
    "spoils a, adds c": Program("printf spoiled > a; rm -f b; printf third > c", _spoils_a_and_adds_c),
    "tells its variables": Program("env", _tells_variables),
    "tells its interfaces": Program(
        "cut -d: -f1 /proc/net/dev | tail -n +3 | tr -d ' \\n'; echo : $(grep -om1 127.0.0.1 /proc/net/fib_trie)",
        _tells_interfaces,
    ),
    "spoils what it can": Program(SPOILING, _spoils_what_it_can),
    "links out": Program("ln -s ../home out; ln -s ../home/x x-out", _links_out),
    "links inside": Program("mkdir folder; printf inside > folder/file; ln -s folder link", _links_inside),
    "shows files": Program('for f in *; do echo "$f=$(cat $f)"; done', _shows_files),
}


class Place(Protocol):
    """One implementation, as the contract needs it."""

    executor: Executor
    question: bytes  # to type into a shell,
    answer: bytes  # and what is then to be read
    attempt: bytes  # to write to the file `a`, typed into a read-only shell,
    refusal: bytes  # and what is then to be read

    def command(self, program: str, key: str, **fields: Any) -> Command:
        """The command that behaves like the program of that name."""
        ...

    def another(self) -> Executor:
        """Another executor at the same place, as a second process or the next one has it. It is closed at the end."""
        ...

    def lapsing(self) -> Executor:
        """The same with a lease, for `lapse`. It is closed at the end."""
        ...

    def lapse(self, executor: Executor) -> None:
        """Let the lease run out, as if this process had been stopped for so long."""
        ...


class ExecutorContract:
    """The promises. `place` is the subclass's fixture."""

    @pytest.fixture
    async def workspace(self, place: Place) -> WorkspaceRef:
        return await place.executor.acquire(Placement())

    # --- How a command ends

    async def test_a_command_tells_what_it_said_on_each_stream_and_how_it_ended(
        self, place: Place, workspace: WorkspaceRef
    ) -> None:
        command = await place.executor.start(workspace, place.command("says hello", "k"))

        chunks = await all_chunks(place, command)
        result = await place.executor.wait(command)

        assert said(chunks, "stdout") == b"hello\n"
        assert said(chunks, "stderr") == b"oops\n"
        assert (result.state, result.exit_code, result.signal) == ("failed", 3, None)
        assert result.started_at <= chunks[0].time <= chunks[-1].time <= result.ended_at

    async def test_exit_code_0_is_completed_and_has_no_reason(self, place: Place, workspace: WorkspaceRef) -> None:
        result = await run(place, workspace, "does nothing")

        assert (result.state, result.exit_code, result.reason) == ("completed", 0, "")
        assert result.duration_seconds >= 0

    async def test_the_end_by_a_signal_is_told_from_an_exit_code(self, place: Place, workspace: WorkspaceRef) -> None:
        result = await run(place, workspace, "ends itself")

        assert (result.state, result.exit_code, result.signal) == ("failed", None, SIGKILL)
        assert "SIGKILL" in result.reason
        assert not result.out_of_memory

    async def test_a_command_that_does_not_exist_fails_with_127_and_its_log_names_it(
        self, place: Place, workspace: WorkspaceRef
    ) -> None:
        command = await place.executor.start(workspace, Command(key="k", argv=("no-such-command",)))

        log = said(await all_chunks(place, command), "stderr")
        result = await place.executor.wait(command)

        assert (result.state, result.exit_code) == ("failed", 127)
        assert "no-such-command" in result.reason
        assert b"no-such-command" in log

    async def test_a_folder_outside_the_workspace_is_refused(self, place: Place, workspace: WorkspaceRef) -> None:
        for number, cwd in enumerate(("..", "../home", "a/../../b", "/")):
            result = await run(place, workspace, "does nothing", key=str(number), cwd=cwd)

            assert (result.state, result.exit_code) == ("failed", 126)
            assert "outside the workspace" in result.reason

    async def test_many_may_wait_and_each_gets_the_one_result(self, place: Place, workspace: WorkspaceRef) -> None:
        command = await place.executor.start(workspace, place.command("says hello", "k"))

        first, second = await asyncio.gather(place.executor.wait(command), place.executor.wait(command))

        assert first == second == await place.executor.wait(command)

    async def test_a_command_that_nobody_started_is_lost(self, place: Place, workspace: WorkspaceRef) -> None:
        result = await place.executor.wait(CommandRef(workspace.id, "never started"))

        assert result.state == "lost"

    # --- What a command is given

    async def test_a_command_gets_its_input_and_an_empty_one_if_there_is_none(
        self, place: Place, workspace: WorkspaceRef
    ) -> None:
        given = bytes(range(256)) * 1000

        assert await output(place, workspace, "repeats its input", key="1", stdin=given) == given
        assert await output(place, workspace, "repeats its input", key="2", stdin=b"") == b""
        assert await output(place, workspace, "repeats its input", key="3") == b""

    async def test_live_input_reaches_a_command_while_it_runs_and_ends_when_it_is_closed(
        self, place: Place, workspace: WorkspaceRef
    ) -> None:
        command = await place.executor.start(workspace, place.command("answers lines", "k", stdin=LIVE_INPUT))
        await place.executor.write(command, b"one\n")
        await wait_said(place, command, b"got one\n")
        await place.executor.write(command, b"two\n")
        await wait_said(place, command, b"got two\n")
        await place.executor.close_input(command)
        await place.executor.close_input(command)

        assert said(await all_chunks(place, command), "stdout") == b"got one\ngot two\nend\n"
        assert (await place.executor.wait(command)).state == "completed"

    async def test_live_input_that_a_command_does_not_read_is_dropped_with_its_end(
        self, place: Place, workspace: WorkspaceRef
    ) -> None:
        command = await place.executor.start(workspace, place.command("runs on", "k", stdin=LIVE_INPUT))
        await wait_said(place, command, b"up\n")
        async with asyncio.TaskGroup() as group:
            for _ in range(2):
                group.create_task(place.executor.write(command, bytes(1_000_000)))
            await asyncio.sleep(0)  # they begin
            await place.executor.cancel(command, grace=0)
        await place.executor.write(command, b"late")
        await place.executor.close_input(command)

        assert (await place.executor.wait(command)).state == "cancelled"

    async def test_a_command_gets_its_environment(self, place: Place, workspace: WorkspaceRef) -> None:
        assert await output(place, workspace, "tells its colour", env={"COLOUR": "grün"}) == "grün".encode()

    async def test_a_command_that_inherits_nothing_gets_path_and_what_is_its_own(
        self, place: Place, workspace: WorkspaceRef
    ) -> None:
        said = await output(place, workspace, "tells its variables", inherits=False, env={"COLOUR": "red"})
        names = {line.partition("=")[0] for line in said.decode().splitlines()}

        assert "COLOUR" in names
        assert {name for name in names if not name.startswith("PITSTOP_")} <= {"COLOUR", *GIVEN}

    async def test_what_is_read_only_to_a_command_cannot_be_changed_removed_renamed_or_replaced(
        self, place: Place, workspace: WorkspaceRef
    ) -> None:
        files = place.executor.files(workspace)
        paths = ("a", "tests/a", "src/made/code")
        for path in paths:
            await files.write("repo", path, b"first")

        guarded = ("a", "tests", "src/made/code")
        said = await confined_output(place, workspace, "spoils what it can", key="1", read_only=guarded)

        assert said == b""
        assert {await files.read("repo", path) for path in paths} == {b"first"}
        assert await files.read("repo", "src/free") == b"new\n"
        assert (await run(place, workspace, "spoils a, adds c", key="2")).state == "completed"  # others still can

    async def test_a_path_that_is_not_there_cannot_be_read_only_and_the_command_is_refused(
        self, place: Place, workspace: WorkspaceRef
    ) -> None:
        result = await run(place, workspace, "does nothing", read_only=("missing",))

        assert (result.state, result.exit_code) == ("failed", 126)
        assert result.reason == "cannot protect missing: there is no such file or folder"

    async def test_a_command_without_network_has_only_a_loopback(self, place: Place, workspace: WorkspaceRef) -> None:
        said = await confined_output(place, workspace, "tells its interfaces", network="none")

        assert said == b"lo: 127.0.0.1\n"

    async def test_a_second_start_with_the_same_key_starts_nothing(self, place: Place, workspace: WorkspaceRef) -> None:
        first = await place.executor.start(workspace, place.command("says hello", "k"))
        second = await place.executor.start(workspace, place.command("does nothing", "k"))

        assert first == second
        assert (await place.executor.wait(second)).exit_code == 3

    # --- Logs

    async def test_a_log_can_be_read_while_the_command_runs(self, place: Place, workspace: WorkspaceRef) -> None:
        async with running(place, workspace, "runs on") as command:
            async for chunk in place.executor.logs(command):
                assert chunk.data == b"up\n"
                break

    async def test_a_log_can_be_read_again_from_any_offset(self, place: Place, workspace: WorkspaceRef) -> None:
        command = await place.executor.start(workspace, place.command("counts", "k"))
        whole = said(await all_chunks(place, command))

        for offset in (0, 1, 5, len(whole) // 2, len(whole) - 1, len(whole), len(whole) + 10):
            chunks = await all_chunks(place, command, offset)
            assert said(chunks) == whole[offset:]
            assert not chunks or chunks[0].offset == offset
            assert all(chunk.end == following.offset for chunk, following in pairwise(chunks))

    async def test_every_reader_gets_everything_and_none_holds_up_another(
        self, place: Place, workspace: WorkspaceRef
    ) -> None:
        command = await place.executor.start(workspace, place.command("counts", "k"))
        stuck = place.executor.logs(command)
        first = await anext(stuck)  # and never goes on while the others read

        logs = await asyncio.gather(*(all_chunks(place, command) for _ in range(5)))
        result = await place.executor.wait(command)

        assert result.state == "completed"
        assert {said(log) for log in logs} == {"".join(f"{number}\n" for number in range(1, 2001)).encode()}
        assert first.data + b"".join([chunk.data async for chunk in stuck]) == said(logs[0])

    async def test_bytes_that_are_no_text_survive(self, place: Place, workspace: WorkspaceRef) -> None:
        assert await output(place, workspace, "says bytes") == bytes(range(256))

    # --- Cancelling

    async def test_a_cancelled_command_is_told_from_one_that_took_too_long(
        self, place: Place, workspace: WorkspaceRef
    ) -> None:
        async with running(place, workspace, "runs on", "1") as command:
            await place.executor.cancel(command)
            result = await place.executor.wait(command)
            assert (result.state, result.signal) == ("cancelled", SIGTERM)

        async with running(place, workspace, "runs on", "2") as command:
            await place.executor.cancel(command, timed_out=True)
            result = await place.executor.wait(command)
            assert (result.state, result.signal) == ("timeout", SIGTERM)

    async def test_a_command_that_ignores_term_is_killed_when_its_grace_is_over(
        self, place: Place, workspace: WorkspaceRef
    ) -> None:
        heard = b""
        for grace in (0.1, 1.0, 10.0, 60.0):  # on a busy machine it may be killed before it has said no
            async with running(place, workspace, "ignores TERM", str(grace)) as command:
                await place.executor.cancel(command, grace=grace)
                result = await place.executor.wait(command)
            assert (result.state, result.signal) == ("cancelled", SIGKILL)
            heard = said(await all_chunks(place, command))
            if b"no\n" in heard:
                break

        assert b"no\n" in heard

    async def test_a_command_that_ends_well_on_term_was_cancelled_all_the_same(
        self, place: Place, workspace: WorkspaceRef
    ) -> None:
        async with running(place, workspace, "ends well on TERM") as command:
            await place.executor.cancel(command)
            result = await place.executor.wait(command)

        assert (result.state, result.exit_code) == ("cancelled", 0)

    async def test_a_second_cancel_with_less_grace_shortens_the_first(
        self, place: Place, workspace: WorkspaceRef
    ) -> None:
        async with running(place, workspace, "ignores TERM") as command, asyncio.TaskGroup() as group:
            group.create_task(place.executor.cancel(command, grace=1000))
            await wait_said(place, command, b"no\n")
            await place.executor.cancel(command, grace=0)

        assert (await place.executor.wait(command)).signal == SIGKILL

    async def test_cancelling_what_has_ended_changes_nothing(self, place: Place, workspace: WorkspaceRef) -> None:
        command = await place.executor.start(workspace, place.command("says hello", "k"))
        before = await place.executor.wait(command)

        await place.executor.cancel(command)

        assert await place.executor.wait(command) == before

    async def test_cancelling_a_wait_does_not_cancel_the_command(self, place: Place, workspace: WorkspaceRef) -> None:
        async with running(place, workspace, "ends well on TERM") as command:
            with pytest.raises(TimeoutError):
                async with asyncio.timeout(0.01):
                    await place.executor.wait(command)
            await place.executor.cancel(command)

            assert (await place.executor.wait(command)).exit_code == 0

    # --- Workspaces

    async def test_a_placement_that_cannot_be_met_says_what_was_asked_and_what_there_is(self, place: Place) -> None:
        with pytest.raises(NoRunner) as caught:
            await place.executor.acquire(Placement(requires={"arch": "pdp-11"}))

        (runner,) = await place.executor.runners()
        assert "pdp-11" in str(caught.value)
        assert runner.id in str(caught.value)

    async def test_a_runner_can_be_asked_for_by_its_id(self, place: Place) -> None:
        (runner,) = await place.executor.runners()

        workspace = await place.executor.acquire(Placement(requires={"runner": runner.id}))

        assert workspace.runner == runner.id

    async def test_a_released_workspace_is_lost_and_what_ran_in_it_has_ended(
        self, place: Place, workspace: WorkspaceRef
    ) -> None:
        async with running(place, workspace, "runs on") as command, asyncio.TaskGroup() as group:
            waiting = group.create_task(place.executor.wait(command))
            await asyncio.sleep(0)  # the task begins
            await place.executor.release(workspace)
            await place.executor.release(workspace)

        assert waiting.result().state == "cancelled"
        with pytest.raises(WorkspaceLost):
            await place.executor.start(workspace, place.command("does nothing", "later"))
        with pytest.raises(WorkspaceLost):
            await anext(place.executor.logs(command))

    async def test_two_workspaces_do_not_see_each_other(self, place: Place, workspace: WorkspaceRef) -> None:
        other = await place.executor.acquire(Placement())
        await run(place, workspace, "writes a and b")

        assert other.id != workspace.id
        assert b"first" not in await output(place, other, "shows files", key="other")

    # --- Files

    async def test_what_is_written_can_be_read_and_added_to_in_every_part(
        self, place: Place, workspace: WorkspaceRef
    ) -> None:
        files = place.executor.files(workspace)
        for part in PARTS:
            written = await files.write(part, "deep/er/file", b"one\0", mode=0o600)
            added = await files.write(part, "deep/er/file", b"two", append=True)

            assert (written.path, written.size, written.mode, added.size) == ("deep/er/file", 4, 0o600, 7)
            assert await files.read(part, "deep/er/file") == b"one\0two"
            assert await files.exists(part, "deep")
            await files.remove(part, "deep/er/file")
            await files.remove(part, "deep/er/file")
            assert not await files.exists(part, "deep/er/file")

    async def test_commands_and_files_are_the_same_workspace(self, place: Place, workspace: WorkspaceRef) -> None:
        await run(place, workspace, "writes a and b", key="1")
        await place.executor.files(workspace).write("repo", "b", b"changed")

        assert await place.executor.files(workspace).read("repo", "a") == b"first"
        assert await output(place, workspace, "shows files", key="2") == b"a=first\nb=changed\n"

    async def test_a_file_that_is_missing_too_large_or_none_is_told(
        self, place: Place, workspace: WorkspaceRef
    ) -> None:
        files = place.executor.files(workspace)
        await files.write("repo", "folder/large", bytes(1000))

        with pytest.raises(FileMissing):
            await files.read("repo", "missing/file")
        with pytest.raises(NotAFile):
            await files.read("repo", "folder")
        with pytest.raises(FileTooLarge) as caught:
            await files.read("repo", "folder/large", limit=999)
        with pytest.raises(FileProblem):
            await files.write("repo", "folder", b"")
        assert (caught.value.size, caught.value.limit) == (1000, 999)
        assert len(await files.read("repo", "folder/large", limit=1000)) == 1000

    @pytest.mark.parametrize("path", ["../home/x", "/etc/passwd", "out/x", "deep/../../x", "x-out"])
    async def test_nothing_is_reached_outside_the_part(self, place: Place, workspace: WorkspaceRef, path: str) -> None:
        files = place.executor.files(workspace)
        await files.write("home", "x", b"not yours")
        await run(place, workspace, "links out")

        for attempt in (files.read("repo", path), files.write("repo", path, b""), files.exists("repo", path)):
            with pytest.raises(PathOutside):
                await attempt
        with pytest.raises(PathOutside):
            await files.keep([path])
        with pytest.raises(PathOutside):
            await files.find("repo", [path])
        assert [file.path async for file, _ in files.stream("repo")] == []
        assert await files.read("home", "x") == b"not yours"

    async def test_links_inside_the_part_are_followed(self, place: Place, workspace: WorkspaceRef) -> None:
        files = place.executor.files(workspace)
        await run(place, workspace, "links inside")

        assert await files.read("repo", "link/file") == b"inside"
        assert (await files.write("repo", "link/new", b"")).path == "folder/new"

    async def test_each_pattern_has_its_files_also_when_they_are_many(
        self, place: Place, workspace: WorkspaceRef
    ) -> None:
        files = place.executor.files(workspace)
        for number in range(2000):
            await files.write("control", f"many/{number % 10}/{number:04}.txt", b"x" * (number % 3))

        in_folder, none, by_suffix, one = await files.find("control", ["3", "*.none", "**/*.txt", "0/0000.txt"], "many")

        assert (len(in_folder), none, len(by_suffix), len(one)) == (200, [], 2000, 1)
        assert in_folder[:2] == [file for file in by_suffix if file.path in ("many/3/0003.txt", "many/3/0013.txt")]
        assert (in_folder[0].size, in_folder[1].size, one[0].path) == (0, 1, "many/0/0000.txt")
        with pytest.raises(FileProblem, match="invalid file pattern"):
            await files.find("control", [""])

    async def test_files_that_are_kept_are_among_the_artifacts(self, place: Place, workspace: WorkspaceRef) -> None:
        files = place.executor.files(workspace)
        await files.write("repo", "dist/tool", b"program", mode=0o755)
        await run(place, workspace, "writes a and b")

        kept = await files.keep(["dist/tool", "a"])
        streamed = {file.path: (data, file.mode) async for file, data in files.stream("artifacts")}

        assert [(file.path, file.size) for file in kept] == [("dist/tool", 7), ("a", 5)]
        assert streamed["dist/tool"] == (b"program", 0o755)
        assert streamed["a"][0] == b"first"

    async def test_a_stream_has_every_file_in_its_chunks(self, place: Place, workspace: WorkspaceRef) -> None:
        files = place.executor.files(workspace)
        large = bytes(range(256)) * 10_000
        for path, data in {"all/empty": b"", "all/large": large, "all/small/one": b"1", "other": b"2"}.items():
            await files.write("home", path, data)

        found: dict[str, bytes] = {}
        async for file, data in files.stream("home", "all"):
            found[file.path] = found.get(file.path, b"") + data

        assert found == {"empty": b"", "large": large, "small/one": b"1"}
        assert [file async for file in files.stream("home", "nowhere")] == []

    async def test_a_git_bundle_is_checked_out(self, place: Place, workspace: WorkspaceRef, tmp_path: Path) -> None:
        bundle, commit = git_bundle(tmp_path / "origin")

        await place.executor.files(workspace).check_out(stream_of(bundle), commit)

        assert await place.executor.files(workspace).read("repo", "a") == b"committed"
        with pytest.raises(BadCommit):
            await place.executor.files(workspace).check_out(stream_of([b"nonsense"]), commit)

    async def test_files_of_a_released_workspace_are_lost(self, place: Place, workspace: WorkspaceRef) -> None:
        files, snapshots = place.executor.files(workspace), place.executor.snapshots(workspace)
        await place.executor.release(workspace)

        for attempt in (files.read("repo", "a"), files.write("repo", "a", b""), snapshots.take()):
            with pytest.raises(WorkspaceLost):
                await attempt

    # --- Snapshots

    async def test_a_restored_workspace_has_exactly_the_files_of_the_snapshot(
        self, place: Place, workspace: WorkspaceRef
    ) -> None:
        await run(place, workspace, "writes a and b", key="1")
        with closing(place.executor.snapshots(workspace)) as snapshots:
            first = await snapshots.take(owner="run-1")
            unchanged = await snapshots.take(first)
            await run(place, workspace, "spoils a, adds c", key="2")
            second = await snapshots.take(first)
            await snapshots.restore(first)

            assert await snapshots.diff(first, unchanged) == []
            assert await output(place, workspace, "shows files", key="3") == b"a=first\nb=second\n"
            changes = {(change.path, change.kind) for change in await snapshots.diff(first, second)}
            assert changes == {("repo/a", "changed"), ("repo/b", "removed"), ("repo/c", "added")}
            assert await snapshots.file(second, "repo/a") == b"spoiled"
            with pytest.raises(UnknownSnapshot):
                await snapshots.file(second, "repo/b")

    async def test_a_snapshot_can_be_restored_in_part_and_in_another_workspace(
        self, place: Place, workspace: WorkspaceRef
    ) -> None:
        await run(place, workspace, "writes a and b", key="1")
        await place.executor.files(workspace).write("home", "cache", b"then")
        other = await place.executor.acquire(Placement())
        await place.executor.files(other).write("home", "cache", b"now")

        with closing(place.executor.snapshots(workspace)) as snapshots:
            taken = await snapshots.take()
        with closing(place.executor.snapshots(other)) as snapshots:
            await snapshots.restore(taken, parts=["repo"])

        assert await output(place, other, "shows files", key="2") == b"a=first\nb=second\n"
        assert await place.executor.files(other).read("home", "cache") == b"now"

    # --- Workspaces that are taken up again

    async def test_a_kept_workspace_can_be_taken_up_by_its_id_as_it_was_left(self, place: Place) -> None:
        first = await place.executor.acquire(Placement(workspace="run-1"))
        await run(place, first, "writes a and b", key="1")
        await place.executor.release(first, keep=True)
        other = place.another()

        assert (await other.kept(), await other.orphans()) == (["run-1"], [])
        second = await other.acquire(Placement(workspace="run-1"))

        assert second == first
        assert await output(place, second, "shows files", key="1", executor=other) == b"a=first\nb=second\n"
        assert await other.kept() == []

    async def test_what_commands_were_given_is_gone_when_a_workspace_is_taken_up(self, place: Place) -> None:
        first = await place.executor.acquire(Placement(workspace="run-1"))
        await place.executor.files(first).write("control", f"{COMMAND_FILES}/1.output", b"tag=stale")
        await place.executor.release(first, keep=True)
        other = place.another()
        second = await other.acquire(Placement(workspace="run-1"))

        assert not await other.files(second).exists("control", f"{COMMAND_FILES}/1.output")
        assert await other.files(second).exists("control", COMMAND_FILES)

    async def test_a_command_that_ended_is_found_with_its_log_and_result_when_its_workspace_is_taken_up(
        self, place: Place
    ) -> None:
        first = place.lapsing()
        workspace = await first.acquire(Placement(workspace="run-1"))
        result = await run(place, workspace, "says hello", key="1", executor=first)
        await first.files(workspace).write("control", f"{COMMAND_FILES}/1.output", b"tag=1")
        running = await first.start(workspace, place.command("runs on", "2"))
        await wait_said(place, running, b"up\n", executor=first)
        await first.files(workspace).write("control", f"{COMMAND_FILES}/2.output", b"tag=2")

        place.lapse(first)
        other = place.another()
        taken = await other.acquire(Placement(workspace="run-1", deadline_seconds=60))
        found = await other.find_ended(taken, "1")

        assert found == CommandRef("run-1", "1")
        assert await other.start(taken, place.command("does nothing", "1")) == found  # which starts nothing
        assert await other.wait(found) == result
        assert sorted([chunk.data async for chunk in other.logs(found)]) == [b"hello\n", b"oops\n"]
        assert await other.files(taken).read("control", f"{COMMAND_FILES}/1.output") == b"tag=1"
        assert await other.find_ended(taken, "2") is None  # it was killed
        assert not await other.files(taken).exists("control", f"{COMMAND_FILES}/2.output")

    async def test_commands_that_are_forgotten_are_not_found_as_ended(self, place: Place) -> None:
        first = await place.executor.acquire(Placement(workspace="run-1"))
        await run(place, first, "says hello", key="1")
        await place.executor.forget_ended(first)
        await place.executor.release(first, keep=True)
        other = place.another()

        assert await other.find_ended(await other.acquire(Placement(workspace="run-1")), "1") is None

    async def test_a_command_that_was_cancelled_is_not_found_as_ended(self, place: Place) -> None:
        first = await place.executor.acquire(Placement(workspace="run-1"))
        command = await place.executor.start(first, place.command("runs on", "1"))
        await wait_said(place, command, b"up\n")
        await place.executor.cancel(command, 0)
        await place.executor.release(first, keep=True)
        other = place.another()

        assert await other.find_ended(await other.acquire(Placement(workspace="run-1")), "1") is None

    async def test_a_command_that_ended_and_is_not_looked_for_runs_again_without_what_it_left(
        self, place: Place
    ) -> None:
        first = await place.executor.acquire(Placement(workspace="run-1"))
        await run(place, first, "says hello", key="1")
        await place.executor.release(first, keep=True)
        other = place.another()
        second = await other.acquire(Placement(workspace="run-1"))

        assert await output(place, second, "writes a and b", key="1", executor=other) == b""
        assert await output(place, second, "shows files", key="2", executor=other) == b"a=first\nb=second\n"

    async def test_an_id_that_nobody_had_makes_a_new_workspace(self, place: Place) -> None:
        workspace = await place.executor.acquire(Placement(workspace="fresh"))

        assert workspace.id == "fresh"
        assert (await run(place, workspace, "does nothing")).state == "completed"

    async def test_a_workspace_that_was_kept_without_a_name_is_known_by_the_id_it_got(
        self, place: Place, workspace: WorkspaceRef
    ) -> None:
        await run(place, workspace, "writes a and b", key="1")
        await place.executor.release(workspace, keep=True)

        again = await place.executor.acquire(Placement(workspace=workspace.id))

        assert await output(place, again, "shows files", key="2") == b"a=first\nb=second\n"

    async def test_a_workspace_is_used_by_one_executor_at_a_time(self, place: Place) -> None:
        await place.executor.acquire(Placement(workspace="run-1"))
        other = place.another()

        for executor in (place.executor, other):
            with pytest.raises(Unavailable, match="run-1"):
                await executor.acquire(Placement(workspace="run-1"))
            with pytest.raises(Unavailable, match="run-1"):
                await executor.remove_workspace("run-1")
        assert (await other.orphans(), await other.kept()) == ([], [])

    async def test_closing_keeps_named_workspaces_if_asked_to_and_only_these(
        self, place: Place, workspace: WorkspaceRef
    ) -> None:
        await place.executor.acquire(Placement(workspace="run-1"))
        await place.executor.close(keep=True)
        other = place.another()

        assert await other.kept() == ["run-1"]
        await other.remove_workspace("run-1")
        await other.remove_workspace("run-1")  # is gone already

        assert await other.kept() == []

    async def test_one_who_stood_still_for_his_lease_has_lost_his_commands_and_workspaces(self, place: Place) -> None:
        stopped, other = place.lapsing(), place.another()
        workspace = await stopped.acquire(Placement(workspace="run-1"))
        await run(place, workspace, "writes a and b", key="1", executor=stopped)
        command = await stopped.start(workspace, place.command("runs on", "2"))
        await wait_said(place, command, b"up\n", executor=stopped)

        place.lapse(stopped)
        taken = await other.acquire(Placement(workspace="run-1", deadline_seconds=60))

        assert await output(place, taken, "shows files", key="3", executor=other) == b"a=first\nb=second\n"
        assert (await stopped.wait(command)).state == "lost"
        with pytest.raises(WorkspaceLost):
            await stopped.start(workspace, place.command("does nothing", "4"))
        await stopped.release(workspace)  # which is another's now
        assert await output(place, taken, "shows files", key="5", executor=other) == b"a=first\nb=second\n"

    async def test_one_who_lost_his_workspaces_can_acquire_them_anew(self, place: Place) -> None:
        stopped = place.lapsing()
        lost = await stopped.acquire(Placement(workspace="run-1"))
        await run(place, lost, "writes a and b", key="1", executor=stopped)
        command = await stopped.start(lost, place.command("runs on", "2"))
        await wait_said(place, command, b"up\n", executor=stopped)

        place.lapse(stopped)
        await stopped.wait(command)
        await stopped.release(lost)
        again = await stopped.acquire(Placement(workspace="run-1", deadline_seconds=60))

        assert await output(place, again, "shows files", key="3", executor=stopped) == b"a=first\nb=second\n"

    # --- Shells, and the end of all

    async def test_a_shell_answers_what_is_typed_and_ends_when_it_is_closed(
        self, place: Place, workspace: WorkspaceRef
    ) -> None:
        shell = await place.executor.shell(workspace, ShellRequest())
        await shell.write(place.question)
        await wait_answered(shell, place.answer)
        shell.resize(50, 132)

        await shell.close()

        assert (await shell.wait()).state == "cancelled"
        assert await read_to_end(shell) is not None

    async def test_a_read_only_shell_sees_the_workspace_and_cannot_change_it(
        self, place: Place, workspace: WorkspaceRef
    ) -> None:
        await run(place, workspace, "writes a and b", key="1")
        try:
            shell = await place.executor.shell(workspace, ShellRequest(read_only=True))
        except NoRunner as error:  # this machine cannot do it, and says what it would need
            assert "read-only" in str(error)
            assert "needs" in str(error)
            return

        await shell.write(place.attempt)
        await wait_answered(shell, place.refusal)
        await shell.close()

        assert await output(place, workspace, "shows files", key="2") == b"a=first\nb=second\n"
        assert (await run(place, workspace, "spoils a, adds c", key="3")).state == "completed"  # others still can

    async def test_closing_ends_everything(self, place: Place, workspace: WorkspaceRef) -> None:
        shell = await place.executor.shell(workspace, ShellRequest())
        async with asyncio.TaskGroup() as group:
            command = await place.executor.start(workspace, place.command("runs on", "k"))
            waiting = group.create_task(place.executor.wait(command))
            events = group.create_task(all_events(place))
            await wait_said(place, command, b"up\n")
            await place.executor.close()

        assert waiting.result().state == "cancelled"
        assert (await shell.wait()).state == "cancelled"
        assert [event.state for event in events.result()] == ["ready"]
        with pytest.raises(Unavailable):
            await place.executor.acquire(Placement())


# --- In one breath


@asynccontextmanager
async def running(place: Place, workspace: WorkspaceRef, program: str, key: str = "k") -> AsyncIterator[CommandRef]:
    """The command, once it has said `up`; it does not outlive the block."""
    command = await place.executor.start(workspace, place.command(program, key))
    try:
        await wait_said(place, command, b"up\n")
        yield command
    finally:
        await place.executor.cancel(command, grace=0)


async def run(
    place: Place,
    workspace: WorkspaceRef,
    program: str,
    *,
    key: str = "k",
    executor: Executor | None = None,
    **fields: Any,
) -> CommandResult:
    executor = executor or place.executor
    return await executor.wait(await executor.start(workspace, place.command(program, key, **fields)))


async def output(
    place: Place,
    workspace: WorkspaceRef,
    program: str,
    *,
    key: str = "k",
    executor: Executor | None = None,
    **fields: Any,
) -> bytes:
    executor = executor or place.executor
    command = await executor.start(workspace, place.command(program, key, **fields))
    return said([chunk async for chunk in executor.logs(command)], "stdout")


async def confined_output(
    place: Place, workspace: WorkspaceRef, program: str, *, key: str = "k", **fields: Any
) -> bytes:
    """The same, where this machine can confine commands. Where it cannot, the test ends with what that needs."""
    said = await output(place, workspace, program, key=key, **fields)
    result = await place.executor.wait(CommandRef(workspace.id, key))
    if "needs root or user namespaces" in result.reason:
        pytest.skip(result.reason)
    return said


async def all_chunks(place: Place, command: CommandRef, offset: int = 0) -> list[LogChunk]:
    return [chunk async for chunk in place.executor.logs(command, offset)]


async def all_events(place: Place) -> list[ExecutorEvent]:
    return [event async for event in place.executor.events()]


async def wait_said(place: Place, command: CommandRef, text: bytes, *, executor: Executor | None = None) -> None:
    log = b""
    async for chunk in (executor or place.executor).logs(command):
        log += chunk.data
        if text in log:
            return
    raise AssertionError(f"it ended and had said {log!r}")


async def wait_answered(shell: Shell, text: bytes) -> None:
    seen = b""
    while text not in seen:
        said_now = await shell.read()
        assert said_now, f"the shell ended and had said {seen!r}"
        seen += said_now


async def read_to_end(shell: Shell) -> bytes:
    seen = b""
    while said_now := await shell.read():
        seen += said_now
    return seen


def git_bundle(repository: Path) -> tuple[list[bytes], str]:
    """A repository with one commit, in two chunks, and the id of the commit."""
    repository.mkdir()
    (repository / "a").write_text("committed")
    people = {f"GIT_{who}_{what}": "a" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}

    def git(*words: str) -> bytes:
        environment = {**os.environ, **people}
        return subprocess.run(("git", *words), cwd=repository, capture_output=True, check=True, env=environment).stdout

    git("init", "--quiet")
    git("add", "a")
    git("commit", "--quiet", "--message", "a")
    bundle = git("bundle", "create", "--quiet", "-", "--all")
    return [bundle[:100], bundle[100:]], git("rev-parse", "HEAD").decode().strip()


async def stream_of(chunks: list[bytes]) -> AsyncIterator[bytes]:
    for chunk in chunks:
        yield chunk


def said(chunks: list[LogChunk], stream: str | None = None) -> bytes:
    return b"".join(chunk.data for chunk in chunks if stream in (None, chunk.stream))
