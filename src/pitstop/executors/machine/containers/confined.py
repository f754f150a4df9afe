"""What a command in a container is kept from."""

from pathlib import Path

from pitstop.engine.executor import Command, WorkspaceRef
from pitstop.executors.machine.containers.result import NotRun
from pitstop.executors.machine.workspaces.protected import Protected, protected_in


def protected_from(command: Command, workspace: WorkspaceRef) -> Protected:
    """What is read-only to the command. Raises NotRun if it asks for what a container cannot have."""
    if command.network == "none" and command.container.services:
        names = ", ".join(service.name for service in command.container.services)
        raise NotRun(f"a command without network cannot use services ({names}): remove them, or allow the network")
    try:
        return protected_in(Path(workspace.repo), command.read_only)
    except ValueError as error:
        raise NotRun(str(error)) from error
