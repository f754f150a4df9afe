"""What every store of runs promises. A subclass gives `store`; each test is then run on it."""

import asyncio
import os
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from pitstop.engine.executor import LogChunk, Stream, WorkspaceRef
from pitstop.engine.workspace_files import FoundFile
from pitstop.errors import UnknownArtifact, UnknownRun
from pitstop.events.outcome import Outcome, Status, StepError
from pitstop.events.types import AnyEvent, RunEnded, RunStarted, StepFinished, StepRouted, StepStarted, Stopped
from pitstop.executors.machine.workspaces.files import LocalFiles
from pitstop.store.port import LONGEST_LINE, Artifact, FileChunk, KeptRun, OutputLine, RunFilter, RunRecord, RunStore
from tests.patience import PATIENCE_SECONDS

STARTED = RunStarted(1.0, "build", {"count": 3, "names": ["a", "b"], "nothing": None})
ENDED = RunEnded(9.0, Outcome(Status.PASSED, {"done": True}))


def record(id: str = "run-1", **fields: Any) -> RunRecord:
    known: dict[str, Any] = {"flow": "build", "file": "flows/build.yaml", "created_at": 100.0}
    return RunRecord(id=id, **(known | fields))


def step(number: int) -> StepStarted:
    return StepStarted(float(number), "main", "build", f"build#{number}")


async def chunks(path: str, data: bytes) -> AsyncIterator[FileChunk]:
    yield FoundFile(path, len(data)), data


def handed_on(folder: Path) -> AsyncIterator[FileChunk]:
    """The files of a folder, as those of a workspace come to a store."""
    workspace = WorkspaceRef("w", "local", "", "", str(folder), "")
    return LocalFiles(workspace, lambda: None).stream("artifacts")


async def collect(items: AsyncIterator[Any]) -> list[Any]:
    async with asyncio.timeout(PATIENCE_SECONDS):
        return [each async for each in items]


async def lines_of(run: KeptRun, occurrence: str, **wanted: Any) -> list[OutputLine]:
    return [line for block in await collect(run.output_lines(occurrence, **wanted)) for line in block]


def write(run: KeptRun, occurrence: str, data: bytes, stream: Stream = "stdout", time: float = 1.0) -> None:
    run.append_output(occurrence, LogChunk(stream, 0, time, data))


async def written(store: RunStore, *chunks: bytes, occurrence: str = "build") -> KeptRun:
    """A run with what one of its steps wrote."""
    run = await store.create(record())
    for chunk in chunks:
        write(run, occurrence, chunk)
    run.end_output(occurrence)
    await run.log.settled()
    return run


class StoreContract:
    # Records

    async def test_a_run_is_kept_with_everything_that_is_known_of_it(self, store: RunStore) -> None:
        kept = record(
            status="failed",
            started_at=101.5,
            ended_at=102.25,
            error="a line\nand 'another' ✗",
            failures=({"step": "test", "exit_code": 3, "tags": ["x"]},),
            intervened=True,
            request={"inputs": {"depth": {"of": [1, 2.5, None, True]}}},
            texts={"flows/build.yaml": "steps:\n- run: make ✓\n"},
            sealed_secrets=bytes(range(256)),
            workspace="ws-7",
            from_run="run-0",
            from_step="test",
            is_partial=True,
            priority=-5,
            kept_until=1e10,
            is_pinned=True,
        )
        run = await store.create(kept)

        assert run.id == "run-1"
        assert await run.record() == kept
        await run.close()
        assert await (await store.open("run-1")).record() == kept

    async def test_nothing_that_was_not_given_is_made_up(self, store: RunStore) -> None:
        run = await store.create(record())

        assert await run.record() == record()
        assert run.problem is None

    async def test_fields_are_changed_together_and_whoever_looks_sees_them(self, store: RunStore) -> None:
        run = await store.create(record())
        await run.update(status="running", started_at=101.0)
        await run.update(failures=({"step": "x"},), error="no", request={"y": [1]})

        seen = await (await store.open("run-1")).record()
        assert seen.status == "running"
        assert seen == record(
            status="running", started_at=101.0, failures=({"step": "x"},), error="no", request={"y": [1]}
        )

    async def test_a_field_that_a_record_has_not_is_refused(self, store: RunStore) -> None:
        run = await store.create(record())

        with pytest.raises(TypeError):
            await run.update(colour="red")

    async def test_a_run_that_is_not_there_is_unknown(self, store: RunStore) -> None:
        with pytest.raises(UnknownRun):
            await store.open("run-1")
        with pytest.raises(UnknownRun):
            await store.delete("../run-1")

    async def test_a_deleted_run_is_gone_and_the_others_are_not(self, store: RunStore) -> None:
        for name in ("one", "other"):
            run = await store.create(record(name), [STARTED])
            write(run, "build", b"said\n")
            await run.update(status="passed")
            await run.close()
        await store.delete("one")

        with pytest.raises(UnknownRun):
            await store.open("one")
        assert [each.id for each in await store.find(RunFilter())] == ["other"]
        assert await collect((await store.open("other")).output_bytes("build")) == [b"said\n"]

    # Finding

    async def test_runs_are_found_newest_first_and_in_pages(self, store: RunStore) -> None:
        for number in range(7):
            await store.create(record(f"run-{number}", created_at=100.0 + number // 2))
        found: list[str] = []
        page = await store.find(RunFilter(limit=3))
        while page:
            found += [each.id for each in page]
            page = await store.find(RunFilter(limit=3, before=(page[-1].created_at, page[-1].id)))

        assert found == [f"run-{number}" for number in reversed(range(7))]

    async def test_runs_are_found_by_status_flow_and_file(self, store: RunStore) -> None:
        await store.create(record("a", flow="build", file="one.yaml"))
        for name, status in (("b", "passed"), ("c", "failed")):
            run = await store.create(record(name, flow="deploy", file="two.yaml"))
            await run.update(status=status)

        async def ids(**wanted: Any) -> set[str]:
            return {each.id for each in await store.find(RunFilter(**wanted))}

        assert await ids(status=("passed", "failed")) == {"b", "c"}
        assert await ids(flow="build") == {"a"}
        assert await ids(file="two.yaml", status=("failed",)) == {"c"}
        assert await ids(flow="nothing") == set()

    async def test_a_search_finds_text_in_any_case_and_takes_it_as_it_is(self, store: RunStore) -> None:
        await store.create(record("run-1", flow="Build 100%", file="a_b.yaml"))
        await store.create(record("run-2", flow="deploy", file="axb.yaml"))

        async def ids(text: str) -> list[str]:
            return [each.id for each in await store.find(RunFilter(search=text))]

        assert await ids("bUiLd") == ["run-1"]
        assert await ids("0%") == ["run-1"]
        assert await ids("%") == ["run-1"]
        assert await ids("a_b") == ["run-1"]
        assert await ids("RUN-2") == ["run-2"]

    # Events

    async def test_events_come_back_in_their_order_with_all_their_values(self, store: RunStore) -> None:
        error = StepError("ValueError", "no ✗", "build#1", "trace\n")
        events: list[AnyEvent] = [
            STARTED,
            step(1),
            Stopped(2.0, 1, "main", "build", "build#1", "before", ("breakpoint",), (1, 2)),
            StepRouted(3.0, "main", "build", "build#1", ("a", "b")),
            StepFinished(4.0, "main", "build", "build#1", Outcome(Status.FAILED, {"x": [1, {"y": "z"}]}, error, 1.5)),
            ENDED,
        ]
        run = await store.create(record())
        for event in events:
            run.log.append(event)
        assert list(run.log.read()) == events  # at once, kept or not
        await run.log.settled()
        await run.close()

        again = await store.open("run-1")
        assert list(again.log.read()) == events
        assert len(again.log) == len(events)
        assert list(again.log.read(after=4)) == events[4:]

    async def test_a_run_may_begin_with_the_events_of_another(self, store: RunStore) -> None:
        before: list[AnyEvent] = [STARTED, step(1)]
        run = await store.create(record(carried_over=2), before)
        run.log.append(step(2))
        await run.log.settled()

        assert run.log.carried_over == 2
        assert list(run.log.read()) == [*before, step(2)]
        again = await store.open("run-1")
        assert again.log.carried_over == 2
        assert (await again.record()).carried_over == 2
        assert list(again.log.read()) == [*before, step(2)]

    async def test_a_long_log_is_paged_without_being_read(self, store: RunStore) -> None:
        run = await store.create(record())
        for number in range(1, 2501):
            run.log.append(step(number))
        await run.log.settled()

        opened = await store.open("run-1", events=False)

        assert await opened.log.page(2, 2) == [(3, step(3)), (4, step(4))]
        assert [number for number, _ in await opened.log.page()] == list(range(1, 1001))
        assert await opened.log.page(2499) == await run.log.page(2499) == [(2500, step(2500))]
        assert list(await opened.log.page(2500)) == []

    async def test_a_change_that_is_noted_is_kept_with_what_is_appended_after_it(self, store: RunStore) -> None:
        run = await store.create(record())
        run.note(status="running", workspace="ws-1")
        run.log.append(STARTED)
        await run.log.settled()

        other = await store.open("run-1")
        kept = await other.record()
        assert (kept.status, kept.workspace, list(other.log.read())) == ("running", "ws-1", [STARTED])

    async def test_a_large_value_comes_back_whole(self, store: RunStore) -> None:
        outputs = {"text": "x" * 300_000, "list": list(range(20_000)), "small": 1}
        event = StepFinished(1.0, "main", "build", "build#1", Outcome(Status.PASSED, outputs))
        run = await store.create(record())
        run.log.append(event)
        await run.log.settled()

        assert list((await store.open("run-1")).log.read()) == [event]

    async def test_a_follower_hears_of_all_that_was_and_all_that_comes_until_the_end(self, store: RunStore) -> None:
        run = await store.create(record(), [STARTED])
        async with asyncio.TaskGroup() as group:
            here = group.create_task(collect(run.log.follow()))
            late = group.create_task(collect(run.log.follow(after=2)))
            elsewhere = group.create_task(collect((await store.open("run-1")).log.follow()))
            for number in range(1, 50):
                run.log.append(step(number))
                await run.log.settled()
            run.log.append(ENDED)
            await run.log.settled()

        told = list(enumerate([STARTED, *map(step, range(1, 50)), ENDED], 1))
        assert here.result() == told
        assert late.result() == told[2:]
        assert elsewhere.result() == told

    async def test_following_a_run_that_has_ended_ends(self, store: RunStore) -> None:
        run = await store.create(record())
        run.log.append(ENDED)
        await run.log.settled()
        await run.update(status="passed")
        await run.close()

        log = (await store.open("run-1")).log
        assert await collect(log.follow()) == [(1, ENDED)]
        assert await collect(log.follow(after=1)) == []

    async def test_a_run_that_ended_before_it_began_can_be_followed(self, store: RunStore) -> None:
        run = await store.create(record())
        async with asyncio.TaskGroup() as group:
            following = group.create_task(collect((await store.open("run-1")).log.follow()))
            await run.update(status="cancelled")

        assert following.result() == []

    # What steps write

    async def test_output_comes_back_byte_for_byte(self, store: RunStore) -> None:
        data = bytes(range(256)) * 3 + b"\r\nprogress 1\rprogress 2\n\n\nno newline"
        run = await written(store, *(data[at : at + 7] for at in range(0, len(data), 7)))
        await run.close()

        again = await store.open("run-1")
        assert b"".join(await collect(again.output_bytes("build"))) == data
        assert [line.data for line in await lines_of(again, "build")] == data.split(b"\n")

    async def test_lines_are_numbered_and_have_their_stream_and_time(self, store: RunStore) -> None:
        run = await store.create(record())
        write(run, "build", b"one\ntwo", time=1.0)
        write(run, "build", b"oops\n", "stderr", time=2.0)
        write(run, "build", b" more\n", time=3.0)
        run.end_output("build")
        await run.log.settled()

        assert await lines_of(run, "build") == [
            OutputLine(1, "stdout", 1.0, b"one"),
            OutputLine(2, "stderr", 2.0, b"oops"),
            OutputLine(3, "stdout", 3.0, b"two more"),
        ]

    async def test_occurrences_are_kept_apart_whatever_they_are_called(self, store: RunStore) -> None:
        names = ["build", "build@2", "a/b#1[x=1]", "ü ✓", "../up", "x" * 500, "x" * 501, "é" * 5000, "é" * 4999 + "e"]
        run = await store.create(record())
        for name in names:
            write(run, name, f"{len(name)} {name}\n".encode())
        await run.close()

        again = await store.open("run-1")
        for name in names:
            assert [line.data for line in await lines_of(again, name)] == [f"{len(name)} {name}".encode()]
        assert await lines_of(again, "never ran") == []
        assert await again.output_end("never ran", 100) == b""
        assert await collect(again.output_bytes("never ran")) == []

    async def test_output_goes_on_where_an_occurrence_that_is_run_again_left_it(self, store: RunStore) -> None:
        run = await written(store, b"first\n", b"half")
        write(run, "build", b"second\n")
        run.end_output("build")
        await run.log.settled()

        assert [(line.number, line.data) for line in await lines_of(run, "build")] == [
            (1, b"first"),
            (2, b"half"),
            (3, b"second"),
        ]

    async def test_the_size_of_what_is_stored_since_a_time_is_known_for_each_stream(self, store: RunStore) -> None:
        run = await store.create(record())
        write(run, "build", b"old\n", "stdout", 1.0)
        write(run, "build", b"oops\n", "stderr", 2.0)
        write(run, "build", b"new\nx", "stdout", 3.0)
        await run.log.settled()

        assert await run.output_sizes("build", 2.0) == {"stdout": len(b"new\n"), "stderr": len(b"oops\n")}
        assert await run.output_sizes("never ran", 0.0) == {}

    async def test_lines_are_read_from_any_number_on(self, store: RunStore) -> None:
        count = 30_000
        text = b"".join(b"line %d\n" % number for number in range(1, count + 1))
        run = await written(store, *(text[at : at + 50_000] for at in range(0, len(text), 50_000)))

        for after in (0, 1, 12_345, count - 1, count, count + 5):
            found = await lines_of(run, "build", after=after)
            assert [line.number for line in found] == list(range(after + 1, count + 1))
            assert all(line.data == b"line %d" % line.number for line in found)

    async def test_a_search_in_output_finds_lines_in_any_case(self, store: RunStore) -> None:
        run = await written(
            store, "Error: Straße\nfine\nan ERROR\nerr\xffor\n".encode("latin-1"), "STRASSE ÄÖ\nstraße\n".encode()
        )

        assert [line.number for line in await lines_of(run, "build", search="error")] == [1, 3]
        assert [line.number for line in await lines_of(run, "build", search="äö")] == [5]
        assert [line.number for line in await lines_of(run, "build", search="error", after=1)] == [3]
        assert [line.number for line in await lines_of(run, "build", search="Strasse")] == [5, 6]
        assert await lines_of(run, "build", search="nowhere") == []

    async def test_a_line_that_never_ends_is_kept_as_several(self, store: RunStore) -> None:
        data = b"x" * (2 * LONGEST_LINE + 10)
        for name, chunks in (
            ("at once", [data]),
            ("by and by", [data[at : at + 1000] for at in range(0, len(data), 1000)]),
        ):
            run = await store.create(record(name))
            for chunk in [b"short\n", *chunks, b"\nend\n"]:
                write(run, "build", chunk)
            await run.log.settled()
            sizes = [len(line.data) for line in await lines_of(run, "build")]
            assert sizes == [5, LONGEST_LINE, LONGEST_LINE, 10, 3]
            assert b"".join(await collect(run.output_bytes("build"))) == b"short\n" + data + b"\nend\n"

    async def test_the_end_of_output_has_the_line_that_goes_on(self, store: RunStore) -> None:
        run = await store.create(record())
        write(run, "build", b"one\ntwo\nthr")

        assert await run.output_end("build", 100) == b"one\ntwo\nthr"
        assert await run.output_end("build", 5) == b"o\nthr"
        assert await run.output_end("build", 0) == b""

    async def test_the_end_of_long_output_is_found(self, store: RunStore) -> None:
        text = b"".join(b"line %d\n" % number for number in range(200_000))
        run = await written(store, *(text[at : at + 60_000] for at in range(0, len(text), 60_000)))

        assert await run.output_end("build", 1000) == text[-1000:]
        assert await run.output_end("build", 700_000) == text[-700_000:]

    # Artifacts

    async def test_files_that_are_handed_on_are_kept(self, store: RunStore, tmp_path: Path) -> None:
        folder = tmp_path / "artifacts"
        (folder / "deep" / "er").mkdir(parents=True)
        large = os.urandom(3_000_000)
        (folder / "deep" / "er" / "large.bin").write_bytes(large)
        (folder / "empty").touch()
        (folder / "ü.txt").write_text("text")
        run = await store.create(record())
        await run.keep_artifacts(handed_on(folder))
        await run.close()

        again = await store.open("run-1")
        assert set(await again.artifacts()) == {
            Artifact("deep/er/large.bin", 3_000_000),
            Artifact("empty", 0),
            Artifact("ü.txt", 4),
        }
        assert b"".join(await collect(again.artifact("deep/er/large.bin"))) == large
        assert b"".join(await collect(again.artifact("empty"))) == b""
        for path in ("deep", "nothing", "../artifacts/empty", "/etc/passwd", ""):
            with pytest.raises(UnknownArtifact):
                await collect(again.artifact(path))

    async def test_a_file_that_has_changed_is_kept_again_and_one_that_is_gone_stays(
        self, store: RunStore, tmp_path: Path
    ) -> None:
        run = await store.create(record())
        for text in ("first", "second"):
            folder = tmp_path / text
            folder.mkdir()
            (folder / "report").write_text(text)
            (folder / f"only-{text}").write_text(text)
            await run.keep_artifacts(handed_on(folder))

        assert sorted(each.path for each in await run.artifacts()) == ["only-first", "only-second", "report"]
        assert b"".join(await collect(run.artifact("report"))) == b"second"

    async def test_a_file_is_there_all_the_time_and_seen_when_it_is_complete(self, store: RunStore) -> None:
        run = await store.create(record())
        await run.keep_artifacts(chunks("report", b"first"))
        seen: list[bytes] = []

        async def in_pieces() -> AsyncIterator[FileChunk]:
            for piece in (b"sec", b"ond", b" text"):
                yield FoundFile("report", 3), piece  # it has grown since it was found
                seen.extend(await collect(run.artifact("report")))

        await run.keep_artifacts(in_pieces())

        assert seen == [b"first"] * 3
        assert await run.artifacts() == (Artifact("report", 11),)
        assert b"".join(await collect(run.artifact("report"))) == b"second text"

    async def test_of_two_that_keep_files_at_once_the_later_one_counts(self, store: RunStore) -> None:
        run = await store.create(record())

        async with asyncio.TaskGroup() as group:

            async def while_another_begins() -> AsyncIterator[FileChunk]:
                yield FoundFile("report", 5), b"fir"
                group.create_task(run.keep_artifacts(chunks("report", b"second")))
                await asyncio.sleep(0)  # it begins
                yield FoundFile("report", 5), b"st"

            await run.keep_artifacts(while_another_begins())

        assert b"".join(await collect(run.artifact("report"))) == b"second"

    async def test_links_that_lead_out_are_left_out(self, store: RunStore, tmp_path: Path) -> None:
        (tmp_path / "secret").write_text("secret")
        folder = tmp_path / "artifacts"
        folder.mkdir()
        (folder / "real").write_text("real")
        (folder / "inside").symlink_to("real")
        (folder / "outside").symlink_to("../secret")
        (folder / "broken").symlink_to("nowhere")
        (folder / "loop").symlink_to("loop")
        run = await store.create(record())
        await run.keep_artifacts(handed_on(folder))

        assert {each.path for each in await run.artifacts()} == {"real", "inside"}
        assert b"".join(await collect(run.artifact("inside"))) == b"real"

    async def test_what_goes_while_files_are_kept_is_left_out(
        self, store: RunStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        folder = tmp_path / "artifacts"
        folder.mkdir()
        for number in range(5):
            (folder / f"goes-{number}").touch()
        (folder / "stays").write_text("stays")
        is_file = Path.is_file

        def is_file_and_goes(path: Path) -> bool:
            found = is_file(path)
            if path.name.startswith("goes"):
                path.unlink(missing_ok=True)
            return found

        run = await store.create(record())
        with monkeypatch.context() as patch:
            patch.setattr(Path, "is_file", is_file_and_goes)
            await run.keep_artifacts(handed_on(folder))

        assert [each.path for each in await run.artifacts()] == ["stays"]
        assert run.problem is None

    async def test_a_folder_that_is_not_there_has_no_files(self, store: RunStore, tmp_path: Path) -> None:
        run = await store.create(record())
        await run.keep_artifacts(handed_on(tmp_path / "nothing"))

        assert await run.artifacts() == ()

    # Flows

    async def test_what_is_kept_with_a_flow_is_there_for_its_next_run(self, store: RunStore) -> None:
        assert await store.read_flow_setting("build", "breakpoints") is None
        await store.write_flow_setting("build", "breakpoints", [{"step": "test"}])
        await store.write_flow_setting("build", "watches", {"x": 1})
        await store.write_flow_setting("other/flow", "breakpoints", [])
        await store.write_flow_setting("build", "breakpoints", [{"step": "deploy"}])

        assert await store.read_flow_setting("build", "breakpoints") == [{"step": "deploy"}]
        assert await store.read_flow_setting("build", "watches") == {"x": 1}
        assert await store.read_flow_setting("other/flow", "breakpoints") == []

    # Closing

    async def test_what_is_on_its_way_is_kept_when_the_run_is_closed(self, store: RunStore) -> None:
        run = await store.create(record())
        for number in range(1000):
            run.log.append(step(number))
        write(run, "build", b"half a line")
        await run.close()

        again = await store.open("run-1")
        assert len(again.log) == 1000
        assert [line.data for line in await lines_of(again, "build")] == [b"half a line"]

    async def test_runs_are_written_side_by_side(self, store: RunStore) -> None:
        async def work(name: str) -> None:
            run = await store.create(record(name))
            for number in range(40):
                run.log.append(step(number))
                write(run, "build", b"%d\n" % number)
                if number % 10 == 0:
                    await run.log.settled()
            await run.update(status="passed")
            await run.close()

        names = [f"run-{number}" for number in range(20)]
        async with asyncio.TaskGroup() as group:
            for name in names:
                group.create_task(work(name))

        for name in names:
            run = await store.open(name)
            assert list(run.log.read()) == [step(number) for number in range(40)]
            assert [line.data for line in await lines_of(run, "build")] == [b"%d" % number for number in range(40)]
            assert await run.record() == replace(record(name), status="passed")
