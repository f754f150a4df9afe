"""Puts the house together: the services, and what runs their commands."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pitstop.executors.jq_worker import JqWorker
from pitstop.settings import Settings, read_settings

if TYPE_CHECKING:  # what a run, or `--help`, need not pay for
    from pitstop.engine.executor import Executor
    from pitstop.engine.frame import Activation, Combine
    from pitstop.engine.ports import Clock
    from pitstop.events.outcome import Outcome
    from pitstop.executors.machine.containers.launcher import ContainerLauncher
    from pitstop.executors.machine.processes.keeper_process import KeeperProcess
    from pitstop.executors.machine.snapshots.store import SnapshotStore
    from pitstop.executors.masking import Masker
    from pitstop.runs.known_runs import Backends
    from pitstop.runs.server_runs import ServerOptions
    from pitstop.service.access import Access
    from pitstop.service.agents import EngineName
    from pitstop.service.attaching import Attaching
    from pitstop.service.audit import Audit
    from pitstop.service.desks import Service
    from pitstop.service.flows import Finding
    from pitstop.service.local.server import NewWorkshop, ServerService
    from pitstop.service.sealing import Seal
    from pitstop.service.secrets import Secrets
    from pitstop.steps.workplace import Workplace
    from pitstop.store.port import ServerStore


def open_service(
    settings: Settings | None = None,
    *,
    new_keeper: "Callable[[], KeeperProcess] | None" = None,
    audit: "Audit | None" = None,
    new_attaching: "Callable[[Service], Attaching] | None" = None,
) -> "AbstractAsyncContextManager[Service]":
    """The service in this process, with folders to keep runs in and the machine's own processes to run commands in."""
    from pitstop.service.local.opening import open_local_service
    from pitstop.store.folder import FolderStore

    settings = settings or read_settings()
    store = FolderStore(settings.home)
    backends = _choose_backends(settings, new_keeper)
    examine = partial(_examine, settings)
    return open_local_service(
        store, backends, examine, _find_engine, store.end_elsewhere, audit, new_attaching, limits=settings.limits
    )


def open_server_service(
    settings: Settings,
    store: "ServerStore",
    seal: "Seal",
    options: "ServerOptions",
    secrets: "Secrets",
    flow_folders: Sequence[Path] = (),
    *,
    access: "Access | None" = None,
    audit: "Audit | None" = None,
    clock: "Clock | None" = None,
    new_workshop: "NewWorkshop | None" = None,
) -> "AbstractAsyncContextManager[ServerService]":
    """The service of a server, whose runs are kept in `store`."""
    from pitstop.service.local import server

    given = settings, store, seal, options, secrets, _choose_backends(settings), partial(_examine, settings)
    return server.open_server_service(
        *given, flow_folders, access=access, audit=audit, clock=clock, new_workshop=new_workshop
    )


def _choose_backends(settings: Settings, new_keeper: "Callable[[], KeeperProcess] | None" = None) -> "Backends":
    from pitstop.runs.known_runs import Backends

    return Backends(
        partial(new_executor, settings, new_keeper=new_keeper),
        JqWorker,
        new_masker,
        partial(new_snapshots, settings),
        {"fix": partial(_fix_loop, settings)},
    )


def _fix_loop(settings: Settings, workplace: "Workplace") -> "Combine":
    async def run_fix(activation: "Activation", config: Mapping[str, Any]) -> "Outcome":
        from pitstop.platform.fix.loop import run_fix_loop

        return await run_fix_loop(workplace, activation, config, is_on=settings.has_fix_loops)

    return run_fix


def new_executor(
    settings: Settings,
    lease_seconds: float | None = None,
    *,
    new_keeper: "Callable[[], KeeperProcess] | None" = None,
) -> "Executor":
    """An executor of this machine's processes and containers. What it runs ends when it is silent for the lease."""
    from pitstop.executors.machine.placing import PlacingExecutor
    from pitstop.executors.machine.processes.executor import ProcessExecutor
    from pitstop.executors.machine.processes.keeper_process import spawn_keeper

    processes = ProcessExecutor(
        settings.workspaces,
        lease_seconds=lease_seconds,
        new_keeper=new_keeper or spawn_keeper,
        new_snapshots=partial(new_snapshots, settings),
    )
    return PlacingExecutor(processes, partial(_new_launcher, settings))


def _new_launcher(settings: Settings) -> "ContainerLauncher":
    from pitstop.executors.machine.containers.launcher import ContainerLauncher
    from pitstop.executors.machine.containers.shell import ShellOptions

    shells = ShellOptions(
        cpus=settings.shell_cpus,
        memory_bytes=settings.shell_memory_bytes,
        processes=settings.shell_processes,
        sidecar_image=settings.sidecar_image,
    )
    return ContainerLauncher(shells=shells)


def new_snapshots(settings: Settings) -> "SnapshotStore":
    """Where snapshots of workspaces are kept on this machine."""
    from pitstop.executors.machine.snapshots.store import SnapshotStore

    return SnapshotStore(
        settings.snapshots,
        snapshot_limit_bytes=settings.snapshot_limit_bytes,
        snapshot_limit_files=settings.snapshot_limit_files,
        new_sealing=partial(_new_sealing, settings),
    )


def _new_sealing(settings: Settings) -> "Seal":
    from pitstop.service.sealing import read_seal

    return read_seal(settings.key_file)


def new_masker(secrets: Mapping[str, str]) -> "Masker":
    from pitstop.executors.masking import Masker

    return Masker(secrets)


async def _find_engine() -> "tuple[EngineName, str]":
    from pitstop.executors.machine.containers.finding import find_engine

    engine, info = await find_engine()
    return "podman" if info.is_podman else "docker", engine.path


async def _examine(settings: Settings) -> "tuple[Finding, ...]":
    from pitstop.executors.machine.containers.finding import describe_engine
    from pitstop.service.examination import examine_machine

    return await examine_machine(
        settings,
        new_executor=partial(new_executor, settings),
        new_evaluator=JqWorker,
        describe_containers=describe_engine,
    )
