"""Which tool call of an agent broke a command: a bisection over the files that were stored before its calls."""

import json
import shlex
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from msgspec import Struct

from pitstop.errors import NoFiles
from pitstop.service.agent_calls import StoredFiles, attempt_named, attempts_in
from pitstop.service.caller import Caller
from pitstop.service.runs import RunRequest

if TYPE_CHECKING:
    from pitstop.service.desks import Service

PROBE = "blame.yaml"  # what the flow of a probe is called


class Probe(Struct, frozen=True):
    """The command was run on stored files, as a run of its own."""

    files: StoredFiles
    passed: bool
    run: str


class Blame(Struct, frozen=True):
    """The call that broke the command; None if there is none, and then `reason` says why."""

    step: str
    call: str | None
    title: str
    reason: str
    probes: tuple[Probe, ...]


async def blame(
    service: "Service",
    caller: Caller,
    run: str,
    command: Sequence[str],
    *,
    step: str | None = None,
    image: str | None = None,
    on_probe: Callable[[StoredFiles], None] = lambda files: None,
) -> Blame:
    """Find the call after which the command fails. It takes as many runs of the command as a binary search does.

    CommandRefused if the run has no agent, or several and none is named; NoFiles if its files were not stored.
    """
    attempts = await attempts_in((await service.runs.get(caller, run)).events())
    attempt = attempt_named(attempts, run, step)
    files, probes = attempt.files, list[Probe]()
    if len(files) < 2:
        raise NoFiles(f"the tool calls of {attempt.occurrence}")

    async def passes(index: int) -> bool:
        on_probe(files[index])
        probes.append(await _probe(service, caller, run, files[index], command, image))
        return probes[-1].passed

    good, bad = 0, len(files) - 1
    while bad - good > 1:
        middle = (good + bad) // 2
        good, bad = (middle, bad) if await passes(middle) else (good, middle)
    reason = ""
    if good == 0 and not await passes(0):
        reason = "the command fails before the first call already"
    elif bad == len(files) - 1 and await passes(bad):
        reason = "the command passes after the last call"
    if reason:
        return Blame(attempt.occurrence, None, "", reason, tuple(probes))
    return Blame(attempt.occurrence, files[good].call, files[good].title, "", tuple(probes))


async def _probe(
    service: "Service", caller: Caller, run: str, files: StoredFiles, command: Sequence[str], image: str | None
) -> Probe:
    line = command[0] if len(command) == 1 else shlex.join(command)  # a single word is a line of a shell
    step = {"id": "probe", "run": line, **({"image": image} if image else {})}
    text = json.dumps({"name": f"blame {run}", "steps": [step]})
    request = RunRequest(flow=PROBE, text=text, files_run=run, files_event=files.event)
    probe = await service.runs.start(caller, request)
    return Probe(files, (await probe.wait()).status == "passed", probe.id)
