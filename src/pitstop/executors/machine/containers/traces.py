"""Where the logs of a workspace's containers are: the folder is there if there may be containers."""

from pathlib import Path

from pitstop.engine.executor import WorkspaceRef


def traces_of(workspace: WorkspaceRef) -> Path:
    return Path(workspace.control, "containers")
