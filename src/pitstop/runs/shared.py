"""Parts that the runs of a server share: a few evaluators, and one executor with a workspace for each run."""

from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import AbstractContextManager, asynccontextmanager, contextmanager, suppress
from itertools import cycle
from typing import Any

from pitstop.engine.executor import Command, CommandRef, CommandResult, Executor, LogChunk, Placement, WorkspaceRef
from pitstop.engine.ports import Evaluator
from pitstop.engine.workspace_files import FoundFile, Part, WorkspaceFiles
from pitstop.errors import WorkspaceLost
from pitstop.runs.workplaces import KillableWorkplace, NewMasker, workplace_in

EVALUATORS = 4


class Evaluators:
    """A few evaluators for any number of runs, in turn."""

    def __init__(self, new_evaluator: Callable[[], Evaluator], count: int = EVALUATORS) -> None:
        self._all = [new_evaluator() for _ in range(count)]
        self._turns = cycle(self._all)

    def lend(self) -> Evaluator:
        return _Lent(next(self._turns))

    async def close(self) -> None:
        for evaluator in self._all:
            await evaluator.close()


class _Lent:
    """An evaluator that others use too: closing it leaves it to them."""

    def __init__(self, evaluator: Evaluator) -> None:
        self._evaluator = evaluator

    async def evaluate(
        self, expression: str, values: Mapping[str, object], *, timeout_seconds: float = 1.0
    ) -> list[object]:
        return await self._evaluator.evaluate(expression, values, timeout_seconds=timeout_seconds)

    async def close(self) -> None:
        """It is closed with the server."""


class GuardedExecutor:
    """An executor that tells when it has lost a workspace or what ran there, because this server stood still.

    That is no failure of a step: whoever goes on with the run takes it as interrupted.
    """

    def __init__(self, executor: Executor, on_lost: Callable[[], None]) -> None:
        self._executor = executor
        self._on_lost = on_lost

    async def start(self, workspace: WorkspaceRef, command: Command) -> CommandRef:
        with self._watching():
            return await self._executor.start(workspace, command)

    async def find_ended(self, workspace: WorkspaceRef, key: str) -> CommandRef | None:
        with self._watching():
            return await self._executor.find_ended(workspace, key)

    async def logs(self, command: CommandRef, offset: int = 0) -> AsyncIterator[LogChunk]:
        with self._watching():
            async for chunk in self._executor.logs(command, offset):
                yield chunk

    async def wait(self, command: CommandRef) -> CommandResult:
        with self._watching():
            result = await self._executor.wait(command)
        if result.state == "lost":
            self._on_lost()
        return result

    def files(self, workspace: WorkspaceRef) -> "_GuardedFiles":
        return _GuardedFiles(self._executor.files(workspace), self._watching)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._executor, name)

    @contextmanager
    def _watching(self) -> Iterator[None]:
        try:
            yield
        except WorkspaceLost:
            self._on_lost()
            raise


class _GuardedFiles:
    """The files of a workspace, under the eyes of a GuardedExecutor."""

    def __init__(self, files: WorkspaceFiles, watching: Callable[[], AbstractContextManager[None]]) -> None:
        self._files = files
        self._watching = watching

    def stream(self, part: Part, below: str = ".") -> AsyncIterator[tuple[FoundFile, bytes]]:
        return self._files.stream(part, below)

    def __getattr__(self, name: str) -> Any:
        method = getattr(self._files, name)

        async def watched(*arguments: Any, **options: Any) -> Any:
            with self._watching():
                return await method(*arguments, **options)

        return watched


class Workplaces:
    """Workspaces of one executor, each by the id of its run: it is kept when the run leaves it, until it is removed."""

    def __init__(
        self, executor: Executor, new_masker: NewMasker, deadline_seconds: float, on_lost: Callable[[str], None]
    ) -> None:
        self._executor = executor
        self._new_masker = new_masker
        self._deadline_seconds = deadline_seconds  # how long a server that was cut off may hold one
        self._on_lost = on_lost

    @asynccontextmanager
    async def open(
        self, *, run: str, folder: str | None, secrets: Mapping[str, str], workspace: str | None = None, **more: Any
    ) -> AsyncIterator[KillableWorkplace]:
        placement = Placement(folder=folder, workspace=workspace or run, deadline_seconds=self._deadline_seconds)
        place = await self._executor.acquire(placement)
        try:
            guarded: Any = GuardedExecutor(self._executor, lambda: self._on_lost(run))
            more = {"run": run, "is_resumable": True, "folder": folder, "secrets": secrets, **more}
            yield workplace_in(guarded, place, self._new_masker, **more)
        finally:
            with suppress(WorkspaceLost):  # then it is another's, or nobody's
                await self._executor.release(place, keep=True)
