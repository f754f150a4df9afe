"""Where a stop is, told to somebody who comes to it from elsewhere."""

import platform
from collections.abc import Mapping, Sequence
from typing import Any

from pitstop.debugger.stops import Stop
from pitstop.events.types import AnyEvent, StepFinished
from pitstop.runs.flow_info import FlowInfo
from pitstop.runs.run_info import CommitInfo, SessionState
from pitstop.runs.stop_info import ContextInfo
from pitstop.steps.containers import container_of
from pitstop.steps.workplace import Workplace


async def context_at(
    stop: Stop,
    config: Mapping[str, Any],
    *,
    workplace: Workplace,
    flow: FlowInfo,
    events: Sequence[AnyEvent],
    commit: CommitInfo | None,
    in_place: bool,
    session: SessionState,
    log: Sequence[str],
    lease_ends_at: float | None,
) -> ContextInfo:
    path = stop.step.partition("+")[0]
    step = flow.step(path)
    order = [each.path for each in flow.steps]
    image, container = container_of(dict(config)) if step is not None and step.kind == "run" else (None, None)
    digest = None
    if image is not None:
        digest = await workplace.executor.image_digest(image) or digest_in(events, stop.step)
    return ContextInfo(
        stop=stop.id,
        step=stop.step,
        occurrence=stop.occurrence,
        kind="" if step is None else step.kind,
        title=stop.step if step is None else step.title,
        position=stop.position,
        number=order.index(path) + 1 if path in order else 0,
        steps=len(order),
        machine=platform.node(),
        platform=(container.platform if container is not None else None) or f"{platform.system()} {platform.machine()}",
        executor="process" if image is None else "container",
        workspace=workplace.workspace.repo,
        in_place=in_place,
        session=session,
        commit=commit,
        image=image,
        image_digest=digest or None,
        log=tuple(log),
        lease_ends_at=lease_ends_at,
    )


def digest_in(events: Sequence[AnyEvent], step: str) -> str | None:
    """The image that the step ran in last, as it told itself."""
    for event in reversed(events):
        if isinstance(event, StepFinished) and event.step == step:
            outputs = event.outcome.outputs
            if isinstance(outputs, Mapping) and outputs.get("image_digest"):
                return str(outputs["image_digest"])
    return None
