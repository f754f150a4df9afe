"""Looking at this machine: what works, and what is missing."""

import os
import platform
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable, Iterable
from pathlib import Path

from pitstop.engine.executor import Command, Placement
from pitstop.engine.ports import Evaluator
from pitstop.errors import PitstopError
from pitstop.runs.workplaces import NewExecutor
from pitstop.service.flows import Finding
from pitstop.settings import Settings
from pitstop.steps.registry import find_step_types

LEAST_FREE_BYTES = 1024**3
ANSWER_SECONDS = 10.0
LEAST_GIT = (2, 38)  # the first with `git merge-tree --write-tree`
CGROUP = Path("/sys/fs/cgroup")
# What resolves the names of containers for Podman: the first with CNI networks, the second with Netavark
PODMAN_DNS = ("dnsname", "aardvark-dns")
PODMAN_PLUGIN_FOLDERS = (
    "/usr/lib/cni",
    "/usr/libexec/cni",
    "/usr/local/lib/cni",
    "/opt/cni/bin",
    "/usr/lib/podman",
    "/usr/libexec/podman",
    "/usr/local/libexec/podman",
)


async def examine_machine(
    settings: Settings,
    *,
    new_executor: NewExecutor,
    new_evaluator: Callable[[], Evaluator],
    describe_containers: Callable[[], Awaitable[str]],
) -> tuple[Finding, ...]:
    """Every finding; what is broken is one, and never an exception."""
    return (
        Finding("python", True, f"{platform.python_version()} ({sys.executable})"),
        _tool("bash", ("--version",), "steps run in sh without it", is_needed=False),
        _tool("sh", ("-c", "echo a POSIX shell"), "steps cannot run without it"),
        find_git(),
        await _jq(new_evaluator),
        await _commands(new_executor),
        _state_folder(settings),
        _cgroup(),
        _tool("docker", ("--version",), "steps with an `image` need it, or podman", is_needed=False),
        _tool("podman", ("--version",), "steps with an `image` need it, or docker", is_needed=False),
        *find_podman_dns(),
        await _containers(describe_containers),
        *_step_types(),
    )


def _tool(name: str, words: tuple[str, ...], without: str, *, is_needed: bool = True) -> Finding:
    path = shutil.which(name)
    if path is None:
        return Finding(name, False, f"not found in PATH: {without}", is_needed)
    try:
        asked = subprocess.run([path, *words], capture_output=True, text=True, timeout=ANSWER_SECONDS, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        return Finding(name, False, f"{path} does not answer: {error}", is_needed)
    said = (asked.stdout or asked.stderr).partition("\n")[0]
    return Finding(name, asked.returncode == 0, f"{said} ({path})", is_needed)


def find_git() -> Finding:
    """Whether git is there, and new enough to merge without a work tree."""
    found = _tool("git", ("--version",), "repositories and checkouts of commits need it", is_needed=False)
    version = re.search(r"(\d+)\.(\d+)", found.detail)
    if not found.works or version is None or (int(version[1]), int(version[2])) >= LEAST_GIT:
        return found
    least = ".".join(map(str, LEAST_GIT))
    return Finding("git", False, f"{found.detail} is older than {least}: `merge` steps cannot run", False)


def find_podman_dns(folders: Iterable[str] = PODMAN_PLUGIN_FOLDERS) -> list[Finding]:
    """Whether Podman, if it is installed, can resolve the name of a service."""
    if shutil.which("podman") is None:
        return []
    search = os.pathsep.join(folders)
    for program in PODMAN_DNS:
        if found := shutil.which(program, path=search):
            return [Finding("podman dns", True, f"services are reached by name ({found})", False)]
    without = "no DNS plugin: steps cannot reach services by name with Podman"
    cure = "install aardvark-dns, or on Debian 12 `apt install golang-github-containernetworking-plugin-dnsname`"
    return [Finding("podman dns", False, f"{without}; {cure}", False)]


async def _containers(describe: Callable[[], Awaitable[str]]) -> Finding:
    try:
        return Finding("containers", True, await describe(), False)
    except PitstopError as error:
        return Finding("containers", False, f"steps with an `image` cannot run: {error}", False)


async def _jq(new_evaluator: Callable[[], Evaluator]) -> Finding:
    async def ask() -> str:
        evaluator = new_evaluator()
        try:
            answer = await evaluator.evaluate("[.numbers[] * 2]", {"numbers": [1, 2]}, timeout_seconds=ANSWER_SECONDS)
        finally:
            await evaluator.close()
        return "evaluates expressions in a separate process" if answer == [[2, 4]] else f"answers {answer}"

    return await _tried("jq", ask, "evaluates")


async def _commands(new_executor: NewExecutor) -> Finding:
    """Run a command that leaves a child behind, and see that both are ended and heard."""

    async def run() -> str:
        executor = new_executor(None)
        try:
            workspace = await executor.acquire(Placement())
            command = await executor.start(workspace, Command(key="doctor", script="sleep 60 & echo pitstop"))
            said = b"".join([chunk.data async for chunk in executor.logs(command)])
            result = await executor.wait(command)
        finally:
            await executor.close()
        if result.state == "completed" and said == b"pitstop\n":
            return "run, produce output, and leave no processes behind"
        return f"ended with {result.state} {result.reason}, and printed {said[:100]!r}"

    return await _tried("commands", run, "run,")


async def _tried(name: str, attempt: Callable[[], Awaitable[str]], good: str) -> Finding:
    began = time.perf_counter()
    try:
        said = await attempt()
    except (PitstopError, OSError) as error:
        return Finding(name, False, str(error))
    return Finding(name, said.startswith(good), f"{said} ({(time.perf_counter() - began) * 1000:.0f} ms)")


def _state_folder(settings: Settings) -> Finding:
    try:
        settings.runs.mkdir(parents=True, exist_ok=True)
        free_bytes = shutil.disk_usage(settings.home).free
    except OSError as error:
        return Finding("state folder", False, f"{settings.home}: {error.strerror or error}")
    if not os.access(settings.runs, os.W_OK):
        return Finding("state folder", False, f"{settings.home} is not writable")
    free = f"{free_bytes / 1024**3:.1f} GB free"
    return Finding("state folder", free_bytes > LEAST_FREE_BYTES, f"{settings.home}, {free}")


def _cgroup() -> Finding:
    if not (CGROUP / "cgroup.controllers").exists():
        return Finding("cgroup", False, "no cgroup v2: out of memory cannot be distinguished from a kill", False)
    writable = os.access(CGROUP, os.W_OK)
    return Finding("cgroup", True, f"version 2, {'writable' if writable else 'read-only'}", False)


def _step_types() -> list[Finding]:
    types = find_step_types()
    broken = [Finding(f"step type {problem.name}", False, str(problem), False) for problem in types.problems]
    return [Finding("step types", True, ", ".join(types.names)), *broken]
