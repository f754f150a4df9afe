"""Runs as folders: what only they do. The contract of every store is in tests/contracts."""

import asyncio
import fcntl
import json
import os
import signal
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from msgspec.structs import replace

from pitstop.engine.executor import LogChunk
from pitstop.errors import BadLog, InAnotherProcess, NotRunning
from pitstop.events.outcome import Outcome, Status
from pitstop.events.types import RunEnded, RunStarted, StepFinished
from pitstop.store import folder as folder_module
from pitstop.store import folder_records
from pitstop.store.folder import FolderStore
from pitstop.store.folder_records import KILLED, is_locked
from pitstop.store.port import Artifact, RunRecord
from tests.contracts.service_desk import collected
from tests.contracts.store import handed_on
from tests.patience import PATIENCE_SECONDS

RECORD = RunRecord(id="r1", flow="shop", file="/work/flow.yaml", created_at=1.0)


def chunk(data: bytes) -> LogChunk:
    return LogChunk("stdout", 0, 1.0, data)


def open_files() -> int:
    return sum(1 for _ in Path("/proc/self/fd").iterdir())


async def test_events_are_written_as_lines_that_any_program_can_read(tmp_path: Path) -> None:
    run = await FolderStore(tmp_path).create(RECORD)

    run.log.append(RunStarted(1.0, "shop", {}))
    run.log.append(StepFinished(2.0, "main", "a", "a", Outcome(Status.PASSED, {"odd": "\udc80"})))
    await run.close()

    lines = [json.loads(line) for line in (run.path / "events.jsonl").read_text().splitlines()]
    assert [(line["schema"], line["number"], line["kind"]) for line in lines] == [
        (1, 1, "run.started"),
        (1, 2, "step.finished"),
    ]
    assert [type(event) for event in (await FolderStore(tmp_path).open("r1")).log.read()] == [RunStarted, StepFinished]


async def test_what_is_kept_of_a_run_is_for_its_owner_alone(tmp_path: Path) -> None:
    run = await FolderStore(tmp_path).create(RECORD)
    run.append_output("a", chunk(b"hello\n"))
    await run.close()

    assert [path.stat().st_mode & 0o777 for path in (run.path, run.path / "logs")] == [0o700, 0o700]


async def test_the_last_line_of_a_run_that_was_killed_may_be_cut(tmp_path: Path) -> None:
    run = await FolderStore(tmp_path).create(RECORD)
    run.log.append(RunStarted(1.0, "shop", {}))
    await run.close()
    with (run.path / "events.jsonl").open("a") as file:
        file.write('{"kind":"step')

    reopened = await FolderStore(tmp_path).open("r1")

    assert len(reopened.log) == 1
    assert [number async for number, _ in reopened.log.follow()] == [1]


async def test_a_damaged_log_is_told(tmp_path: Path) -> None:
    run = await FolderStore(tmp_path).create(RECORD)
    await run.close()
    (run.path / "events.jsonl").write_text("nonsense\n")

    with pytest.raises(BadLog, match="the log of run r1 is damaged"):
        (await FolderStore(tmp_path).open("r1")).log.read()


async def test_a_run_whose_process_was_killed_has_ended_with_it(tmp_path: Path) -> None:
    program = (
        "import asyncio, sys, pathlib\n"
        "from pitstop.store.folder import FolderStore\n"
        "from pitstop.store.port import RunRecord\n"
        "record = RunRecord(id='r1', flow='shop', file='f', created_at=1.0, status='running')\n"
        f"asyncio.run(FolderStore(pathlib.Path({str(tmp_path)!r})).create(record))\n"
        "print('made', flush=True); sys.stdin.read()"
    )
    store = FolderStore(tmp_path)
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-c", program, stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE
    )
    assert process.stdout is not None
    await process.stdout.readline()

    assert (await (await store.open("r1")).record()).status == "running"
    assert store.owner_of("r1") == process.pid
    process.kill()
    await process.communicate()

    record = await (await store.open("r1")).record()
    assert (record.status, record.error) == ("cancelled", KILLED)
    assert store.owner_of("r1") is None


async def left(store: FolderStore) -> Path:
    """The folder of a run that its process has left, in the middle of an event."""
    run = await store.create(replace(RECORD, status="running"))
    run.log.append(RunStarted(1.0, "shop", {}))
    await run.update(status="paused", error="paused at a")
    await run.close()
    with (run.path / "events.jsonl").open("a") as file:
        file.write('{"kind":"step')
    return run.path


async def test_a_run_that_was_left_is_paused_and_continued_by_who_claims_it(tmp_path: Path) -> None:
    path = await left(FolderStore(tmp_path))
    store = FolderStore(tmp_path)
    record = await (await store.open("r1")).record()
    assert (record.status, record.error) == ("paused", "paused at a")

    run = await store.claim("r1")
    run.log.append(StepFinished(2.0, "main", "a", "a", Outcome(Status.PASSED)))
    await run.update(status="running")

    lines = [json.loads(line) for line in (path / "events.jsonl").read_text().splitlines()]
    assert [(line["number"], line["kind"]) for line in lines] == [(1, "run.started"), (2, "step.finished")]
    assert len(run.log) == len((await store.open("r1")).log) == 2
    record = await (await store.open("r1")).record()
    assert (record.status, record.error, store.owner_of("r1")) == ("running", None, os.getpid())
    await run.close()


async def test_a_run_is_claimed_by_one_process_and_not_after_its_end(tmp_path: Path) -> None:
    await left(FolderStore(tmp_path))
    run = await FolderStore(tmp_path).claim("r1")

    with pytest.raises(InAnotherProcess, match=f"in another process \\({os.getpid()}\\)"):
        await FolderStore(tmp_path).claim("r1")

    run.log.append(RunEnded(2.0, Outcome(Status.PASSED)))
    await run.update(status="passed")
    await run.close()
    with pytest.raises(NotRunning):
        await FolderStore(tmp_path).claim("r1")


async def test_asking_whether_a_run_is_in_a_process_keeps_nobody_from_claiming_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = await left(FolderStore(tmp_path))
    asking = os.open(path / "events.jsonl", os.O_RDONLY)
    fcntl.flock(asking, fcntl.LOCK_SH)

    def look_and_be_done(path: Path) -> bool:
        fcntl.flock(asking, fcntl.LOCK_UN)
        return is_locked(path)

    monkeypatch.setattr(folder_records, "is_locked", look_and_be_done)
    run = await FolderStore(tmp_path).claim("r1")

    assert (await run.record()).status == "paused"
    await run.close()
    os.close(asking)


async def test_following_a_run_ends_when_this_process_has_left_it(tmp_path: Path) -> None:
    run = await FolderStore(tmp_path).create(replace(RECORD, status="running"))
    run.log.append(RunStarted(1.0, "shop", {}))

    async with asyncio.TaskGroup() as group:
        following = group.create_task(collected(run.log.follow()))
        await asyncio.sleep(0)
        await run.update(status="paused")
        await run.close()

    assert [number for number, _ in following.result()] == [1]


async def test_a_run_that_ends_while_somebody_looks_was_not_killed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = FolderStore(tmp_path)
    run = await store.create(replace(RECORD, status="running"))
    seen = await store.open("r1")

    def look_after_its_end(path: Path) -> bool:
        if is_locked(path):
            run.note(status="passed")
            os.close(run._lock_fd)
            run._lock_fd = -1
        return is_locked(path)

    monkeypatch.setattr(folder_records, "is_locked", look_after_its_end)

    assert (await seen.record()).status == "passed"


async def test_a_run_is_pinned_from_elsewhere_whatever_its_own_process_writes(tmp_path: Path) -> None:
    run = await FolderStore(tmp_path).create(replace(RECORD, status="running"))
    other = await FolderStore(tmp_path).open("r1")

    await other.update(is_pinned=True)
    await run.update(status="passed")

    assert (await run.record()).is_pinned
    kept = await other.record()
    assert (kept.status, kept.is_pinned) == ("passed", True)
    await run.close()


async def test_two_processes_may_write_what_is_kept_with_a_flow(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store, replace_file = FolderStore(tmp_path), Path.replace
    others = iter([FolderStore(tmp_path)])

    def replace_after_another(path: Path, target: Path) -> Path:
        for other in others:
            with ThreadPoolExecutor(1) as thread:
                thread.submit(asyncio.run, other.write_flow_setting("flow", "breakpoints", ["theirs"])).result()
        return replace_file(path, target)

    monkeypatch.setattr(Path, "replace", replace_after_another)
    await store.write_flow_setting("flow", "breakpoints", ["ours"])

    assert await store.read_flow_setting("flow", "breakpoints") == ["ours"]
    assert len(list((tmp_path / "flows").iterdir())) == 1


COUNTS_SIGNALS = """
import asyncio, os, pathlib, signal, sys
from pitstop.store.folder import FolderStore
from pitstop.store.port import RunRecord

async def main(home):
    def hear(number, frame):
        os.write(1, b"heard\\n")  # the next signal may interrupt it, which `print` does not allow

    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, hear)
    if signal.getsignal(signal.SIGHUP) is not signal.SIG_IGN:
        signal.signal(signal.SIGHUP, hear)
    record = RunRecord(id="r1", flow="shop", file="f", created_at=1.0, status="running")
    run = await FolderStore(pathlib.Path(home)).create(record)
    print("made", flush=True)
    await asyncio.Event().wait()

asyncio.run(main(sys.argv[1]))
"""


@pytest.mark.parametrize("words", [(), ("nohup",)], ids=["in a terminal", "with nohup"])
async def test_a_process_that_is_busy_hears_that_its_run_is_to_end_at_once(
    tmp_path: Path, words: tuple[str, ...]
) -> None:
    pipe = asyncio.subprocess.PIPE
    process = await asyncio.create_subprocess_exec(
        *(*words, sys.executable, "-c", COUNTS_SIGNALS, str(tmp_path)), stdin=pipe, stdout=pipe
    )
    assert process.stdout is not None
    try:
        async with asyncio.timeout(PATIENCE_SECONDS):
            assert await process.stdout.readline() == b"made\n"
            process.send_signal(signal.SIGSTOP)
            FolderStore(tmp_path).end_elsewhere("r1", True)
            process.send_signal(signal.SIGCONT)

            assert [await process.stdout.readline() for _ in range(2)] == [b"heard\n", b"heard\n"]
    finally:
        process.kill()
        await process.communicate()


async def test_a_run_that_ends_as_it_is_asked_to_is_not_running(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    process = await asyncio.create_subprocess_exec(sys.executable, "-c", "")
    await process.wait()
    run = await FolderStore(tmp_path).create(replace(RECORD, status="running"))
    monkeypatch.setattr(folder_module, "read_owner", lambda path: process.pid)  # which was there a moment ago

    with pytest.raises(NotRunning):
        FolderStore(tmp_path).end_elsewhere("r1", False)
    await run.close()


async def test_following_ends_when_the_run_is_forgotten_meanwhile(tmp_path: Path) -> None:
    store = FolderStore(tmp_path)
    run = await store.create(replace(RECORD, status="running"))
    run.log.append(RunStarted(1.0, "shop", {}))
    await run.log.settled()
    events = (await store.open("r1")).log.follow()
    await anext(events)
    await store.delete("r1")

    async with asyncio.timeout(PATIENCE_SECONDS):
        assert [number async for number, _ in events] == []
    await run.close()


async def test_the_log_of_any_occurrence_has_a_file(tmp_path: Path) -> None:
    run = await FolderStore(tmp_path).create(RECORD)
    names = ["a", "mx[0].e2e#2", "../up", "x" * 500, "x" * 499 + "y"]

    for name in names:
        run.append_output(name, chunk(name.encode()))
        run.end_output(name)

    assert [(await run.output_end(name, 10_000)).decode() for name in names] == names
    assert run.problem is None
    assert all(path.parent == run.path / "logs" for path in run.path.rglob("*.log"))
    await run.close()


async def test_many_steps_at_once_do_not_use_up_the_files_of_the_process(tmp_path: Path) -> None:
    run = await FolderStore(tmp_path).create(RECORD)
    names = [f"s{number}" for number in range(300)]

    for text in (b"first\n", b"second\n"):
        for name in names:
            run.append_output(name, chunk(text))
    assert open_files() < 300
    await run.close()

    assert {await run.output_end(name, 100) for name in names} == {b"first\nsecond\n"}


async def test_what_cannot_be_written_is_a_problem_and_no_failure() -> None:
    run = await FolderStore(Path("/proc/nowhere")).create(RECORD)

    run.log.append(RunStarted(1.0, "shop", {}))
    run.append_output("a", chunk(b"text"))
    await run.update(status="passed")
    await run.close()

    assert run.problem is not None
    assert "No such file or directory" in run.problem


async def test_old_runs_are_those_that_have_ended_and_are_not_pinned(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(folder_records, "KEPT_RUNS", 3)
    store = FolderStore(tmp_path)
    open_runs = []
    for number in range(6):
        run = await store.create(replace(RECORD, id=f"r{number}", created_at=float(number), is_pinned=number == 1))
        open_runs.append(run)
        if number != 0:
            run.log.append(RunEnded(2.0, Outcome(Status.PASSED)))
            await run.update(status="passed")

    assert await store.old_runs() == ("r2",)
    for run in open_runs:
        await run.close()


async def test_the_files_of_a_run_that_is_deleted_meanwhile_are_those_that_are_left(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = await FolderStore(tmp_path / "home").create(RECORD)
    folder = tmp_path / "artifacts"
    folder.mkdir()
    for name in ("goes", "stays"):
        (folder / name).write_text(name)
    await run.keep_artifacts(handed_on(folder))
    is_file = Path.is_file

    def is_file_and_goes(path: Path) -> bool:
        found = is_file(path)
        if path.name == "goes":
            path.unlink()
        return found

    monkeypatch.setattr(Path, "is_file", is_file_and_goes)

    assert await run.artifacts() == (Artifact("stays", 5),)
