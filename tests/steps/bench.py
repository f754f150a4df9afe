"""A bench for step types: one step at a time, with a real engine, real jq and real processes."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Iterable, Mapping
from pathlib import Path
from typing import Any

from pitstop.engine.clock import SystemClock
from pitstop.engine.executor import LogChunk, Placement, WorkspaceRef
from pitstop.engine.ports import Ports, StepType
from pitstop.engine.run import Run
from pitstop.events.log import EventLog
from pitstop.events.outcome import Outcome, Status
from pitstop.executors.far import FarExecutor
from pitstop.executors.jq_worker import JqWorker
from pitstop.executors.machine.processes.executor import ProcessExecutor
from pitstop.executors.masking import MaskedStream, Masker
from pitstop.limits import DEFAULTS
from pitstop.plan.plan import Plan, Step
from pitstop.steps.approvals import Approvals
from pitstop.steps.artifact_secrets import ArtifactScan
from pitstop.steps.registry import StepTypes
from pitstop.steps.workplace import Workplace

KEPT_BYTES = 1024 * 1024
OUR_TYPES = StepTypes()


class Bench:
    """Runs steps in one workspace, and hears what their commands write."""

    def __init__(self, workplace: Workplace, evaluator: JqWorker, workspace: WorkspaceRef) -> None:
        self.workplace = workplace
        self.workspace = workspace  # with the folders of this machine
        self.evaluator = evaluator
        self._said = bytearray()
        self._said_more = asyncio.Event()
        self.said_bytes = 0
        self.limits = DEFAULTS
        self.raised: BaseException | None = None  # by the last step

    @property
    def repo(self) -> Path:
        return Path(self.workspace.repo)

    def files_in(self, folder: str) -> dict[str, str]:
        """The files in a folder of the workspace, or below it."""
        paths = [path for path in Path(folder).rglob("*") if path.is_file()]
        return {str(path.relative_to(folder)): path.read_text() for path in paths}

    @property
    def said(self) -> str:
        return self._said.decode(errors="replace")

    def hear(self, occurrence: str, chunk: LogChunk) -> None:
        self.said_bytes += len(chunk.data)
        self._said += chunk.data
        del self._said[:-KEPT_BYTES]
        self._said_more.set()

    async def wait_said(self, text: str) -> None:
        """Until a command has written this."""
        while text not in self.said:
            self._said_more.clear()
            await self._said_more.wait()

    async def act(
        self,
        kind: str,
        config: Mapping[str, Any],
        *,
        values: Mapping[str, Any] | None = None,
        step_types: StepTypes = OUR_TYPES,
        **step: Any,
    ) -> Outcome:
        """The outcome of one step. Further arguments are the step's own: `env`, `timeout_seconds`, `retry`."""
        root = Step("", "sequence", children=(Step("it", kind, dict(config), id="it", **step),))
        run = await self.execute(root, values or {}, step_types.for_run(self.workplace, [kind]))
        self.raised = run.exception
        outcome: Outcome = run.done["it"]
        return outcome

    async def execute(
        self,
        root: Step,
        values: Mapping[str, Any],
        step_types: Mapping[str, StepType],
        *,
        log: EventLog | None = None,
    ) -> Run:
        """A run of a whole plan, to its end."""
        run = Run(
            Plan(root, limits=self.limits), dict(values), Ports(self.evaluator, SystemClock(), step_types), log=log
        )
        await run.execute()
        return run

    async def outputs(self, kind: str, config: Mapping[str, Any], **more: Any) -> Any:
        """The outputs of a step that passes."""
        outcome = await self.act(kind, config, **more)
        assert outcome.status is Status.PASSED, outcome.error
        return outcome.outputs

    async def failure(self, kind: str, config: Mapping[str, Any], **more: Any) -> str:
        """The error of a step that fails: its type and its message."""
        outcome = await self.act(kind, config, **more)
        assert outcome.status is Status.FAILED, outcome
        assert outcome.error is not None
        return str(outcome.error)


@contextlib.asynccontextmanager
async def open_bench(
    folder: Path,
    *,
    secrets: Mapping[str, str] | None = None,
    approvals: Approvals | None = None,
    env: Mapping[str, str] | None = None,
    shell: Iterable[str] | None = None,
    is_far: bool = False,
) -> AsyncIterator[Bench]:
    masker = Masker(secrets or {})
    async with contextlib.AsyncExitStack() as parts:
        executor: Any = ProcessExecutor(folder / "workspaces")
        parts.push_async_callback(executor.close)
        if is_far:
            executor = FarExecutor(executor)
        evaluator = JqWorker()
        parts.push_async_callback(evaluator.close)
        workspace = await executor.acquire(Placement())
        options: dict[str, Any] = {} if shell is None else {"shell": tuple(shell)}
        workplace = Workplace(
            executor=executor,
            workspace=workspace,
            run="bench",
            env=env or {},
            secrets=secrets or {},
            grace_seconds=0.2,
            mask=masker.mask_text,
            masked_stream=(lambda: MaskedStream(masker)) if secrets else None,
            artifact_scan=ArtifactScan(masker.new_scan) if secrets else None,
            approvals=approvals or Approvals(),
            on_output=lambda occurrence, chunk: bench.hear(occurrence, chunk),
            **options,
        )
        bench = Bench(workplace, evaluator, executor.real(workspace) if is_far else workspace)
        yield bench


def is_alive(pid: int) -> bool:
    """Whether the process runs; one that nobody has waited for yet does not."""
    try:
        status = Path(f"/proc/{pid}/stat").read_text()
    except FileNotFoundError:
        return False
    return status.rpartition(")")[2].split()[0] != "Z"
