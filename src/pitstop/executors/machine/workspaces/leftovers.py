"""Ending what an executor left running that was killed together with its keeper and its supervisors.

Any one of the three ends everything when the others die, so this is for the case that all were killed at once. What
they had started is known by what they noted in the file of their epoch, by its session and by its ancestors, and by the
name of the epoch in its environment. One that hid from all of these cannot be told from a stranger.
"""

import os
import signal
import threading
import time
from pathlib import Path

from pitstop.executors.machine.process_table import Process, all_processes, environment_of
from pitstop.executors.machine.workspaces.epoch import SUFFIX, Epoch, take_dead

EPOCH_VARIABLE = "PITSTOP_EPOCH"
GIVE_UP_SECONDS = 5.0
LOOK_AGAIN_SECONDS = 0.01

_sweeping = threading.Lock()  # the first thread of this process does it, and the others find it done


def sweep_epochs(workspaces: Path) -> None:
    """End what is left of every epoch that is over, and forget the epochs."""
    for path in files_in(workspaces, SUFFIX):
        sweep_epoch(str(path))


def files_in(folder: Path, suffix: str) -> list[Path]:
    """The files of a folder with this suffix. Faster than a glob, which compiles a pattern when a run starts."""
    try:
        return sorted(path for path in folder.iterdir() if path.name.endswith(suffix))
    except FileNotFoundError:
        return []


def sweep_epoch(path: str) -> None:
    """The same for one epoch. One that lasts is left alone."""
    with _sweeping:
        epoch = take_dead(path)
        if epoch is not None:
            _end_leftovers(epoch)
            epoch.end()


def _end_leftovers(epoch: Epoch) -> None:
    """Kill whatever still runs of that epoch, and wait until it has ended."""
    killed: dict[int, int] = {}
    out_of_reach: set[int] = set()
    give_up_at = time.monotonic() + GIVE_UP_SECONDS
    while left := _left_of(epoch, {**epoch.noted(), **killed}, out_of_reach):
        for pid, start in left.items():
            try:
                os.kill(pid, signal.SIGKILL)
                killed[pid] = start
            except ProcessLookupError:
                pass
            except PermissionError:  # another user's: nothing can be done from here
                out_of_reach.add(pid)
        if time.monotonic() > give_up_at:
            break
        time.sleep(LOOK_AGAIN_SECONDS)


def _left_of(epoch: Epoch, known: dict[int, int], out_of_reach: set[int]) -> dict[int, int]:
    """When each process began that is one of those known, of a session of theirs, below one of them, or marked."""
    processes = all_processes()
    mark = f"{EPOCH_VARIABLE}={epoch.name}".encode()
    found = {pid for pid, start in known.items() if pid in processes and processes[pid].start == start}
    found |= {pid for pid, process in processes.items() if process.session in found}
    found |= {pid for pid in processes if mark in environment_of(pid)}
    below = found
    while below:
        below = {pid for pid, process in processes.items() if process.parent in below} - found
        found |= below
    return {pid: processes[pid].start for pid in found - _line_of_this_process(processes) - out_of_reach}


def _line_of_this_process(processes: dict[int, Process]) -> set[int]:
    """This process and those above it, which are nobody's leftovers: a Pitstop may run in a step of another one."""
    line, pid = set(), os.getpid()
    while pid in processes:
        line.add(pid)
        pid = processes[pid].parent
    return line
