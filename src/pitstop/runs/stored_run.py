"""What is stored of a run, for doors to look at."""

from collections.abc import AsyncIterator
from typing import Any

from pitstop.events.types import StepFinished
from pitstop.events.written_text import shown_line
from pitstop.runs.flow_info import FlowInfo
from pitstop.runs.log_pages import pages_of
from pitstop.runs.requests import commit_of
from pitstop.runs.run_info import ENDED, Failure, RunInfo
from pitstop.runs.run_output import ArtifactInfo, EventInfo, LogLine, LogPage
from pitstop.runs.telling import tell_event
from pitstop.runs.test_results import TestCase, TestComparison, TestedRun
from pitstop.store.port import KeptRun, RunRecord, RunStore

TAIL_BYTES = 64 * 1024

_SHOWN = (
    *("id", "flow", "file", "status", "created_at", "started_at", "ended_at", "error", "intervened"),
    *("from_run", "from_step", "carried_over", "priority", "kept_until", "is_pinned", "repo", "ref", "started_by"),
)


class StoredRun:
    """The looking half of an ActiveRun, the same for a run of this process and any other."""

    def __init__(self, store: RunStore, kept: KeptRun, record: RunRecord, flow: FlowInfo) -> None:
        self.id = kept.id
        self.kept = kept
        self.record = record  # as it was when it was read
        self.flow = flow
        self.commit = commit_of(record.request)
        self._store = store

    async def events(self, after: int = 0) -> AsyncIterator[EventInfo]:
        async for number, event in self.kept.log.follow(after):
            yield tell_event(number, event)

    async def log_tail(self, occurrence: str, lines: int = 20) -> list[str]:
        text = (await self.kept.output_end(occurrence, TAIL_BYTES)).decode(errors="replace")
        return [shown_line(line) for line in text.rstrip("\n").split("\n")[-lines:]] if text.strip() else []

    async def log(self, occurrence: str, *, after: int = 0, limit: int = 1000, search: str | None = None) -> LogPage:
        is_ended = await self._is_ended(occurrence)
        lines: list[LogLine] = []
        async for block in self.kept.output_lines(occurrence, after=after, search=search):
            for line in block:
                if len(lines) == limit:
                    return LogPage(occurrence, tuple(lines), lines[-1].number if lines else after, is_ended)
                lines.append(LogLine(line.number, line.stream, line.time, line.data.decode(errors="replace")))
        return LogPage(occurrence, tuple(lines), None, is_ended)

    async def _is_ended(self, occurrence: str) -> bool:
        """Whether its end is stored, and so all that it wrote."""
        if (await self.kept.record()).status in ENDED:
            return True
        async for page in pages_of(self.kept.log):
            if any(isinstance(event, StepFinished) and event.occurrence == occurrence for _, event in page):
                return True
        return False

    async def artifacts(self) -> tuple[ArtifactInfo, ...]:
        return tuple(ArtifactInfo(artifact.path, artifact.size) for artifact in await self.kept.artifacts())

    async def tests(self, default_branch: str | None = None) -> tuple[TestCase, ...]:
        return (await self.test_comparison(default_branch)).cases

    async def test_comparison(self, default_branch: str | None = None) -> TestComparison:
        from pitstop.runs.reports import compared_tests

        return await compared_tests(self._store, self.kept, default_branch)

    async def test_history(self, limit: int = 20) -> tuple[TestedRun, ...]:
        from pitstop.runs.reports import tests_over_runs

        return await tests_over_runs(self._store, self.kept, limit)


def tell_run(record: RunRecord, **more: Any) -> RunInfo:
    """A record as a list shows it."""
    shown: dict[str, Any] = {name: getattr(record, name) for name in _SHOWN}
    had_session = record.status in ENDED and record.request.get("debug") is not None
    shown["session"] = "ended" if had_session else "none"
    shown["inputs"] = record.request.get("inputs", {})
    shown["card"] = ((record.request.get("trigger") or {}).get("card") or {}).get("id")
    return RunInfo(**{**shown, "failures": failures_in(record), "commit": commit_of(record.request), **more})


def failures_in(record: RunRecord) -> tuple[Failure, ...]:
    return tuple(Failure(**failure) for failure in record.failures)
