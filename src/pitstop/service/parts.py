"""What the service is given by whoever puts the house together: the tools that it does not choose itself."""

from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from pitstop.engine.executor import Executor
from pitstop.engine.ports import Evaluator
from pitstop.lazy_dataclass import dataclass
from pitstop.service.api import DebugRequest, Terminal
from pitstop.steps.registry import StepTypes
from pitstop.steps.workplace import MaskedStream, Masker

if TYPE_CHECKING:  # a run need not pay for what it does not use
    from pitstop.service.debugging import Debugger
    from pitstop.service.graphs import Graphs
    from pitstop.service.local_debugger import Debugged
    from pitstop.service.reference import Reference
    from pitstop.service.run_snapshots import SnapshotKeeping
    from pitstop.service.sessions import LocalSession


@dataclass(frozen=True, slots=True)
class Masking:
    """What takes the secrets of one run out of texts, and out of streams that come in chunks."""

    masker: Masker
    new_stream: Callable[[], MaskedStream]


@dataclass(frozen=True, slots=True)
class Parts:
    """The makers of what a run needs. `built_in_types` has no types of other packages, which take time to find."""

    new_executor: Callable[[Path, float | None], Executor]  # with the lease after which others may take over
    describe_containers: Callable[[], Awaitable[str]]  # which engine answers; PitstopError if none does
    new_evaluator: Callable[[], Evaluator]
    new_masking: Callable[[Mapping[str, str]], Masking]
    new_snapshots: Callable[[Path], "SnapshotKeeping"]
    new_session: Callable[[DebugRequest], "LocalSession"]
    new_debugger: Callable[["Debugged"], "Debugger"]
    open_shell: Callable[..., Awaitable[Terminal]]  # as `shells.open_shell` takes it
    new_reference: Callable[[], "Reference"]
    new_graphs: Callable[[], "Graphs"]
    built_in_types: Callable[[], StepTypes]
    all_types: Callable[[], StepTypes]
