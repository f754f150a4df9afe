"""Where Pitstop keeps things on this machine, as the environment says."""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Settings:
    """`home` is the state folder: runs with their logs, and workspaces."""

    home: Path

    @property
    def runs(self) -> Path:
        return self.home / "runs"

    @property
    def workspaces(self) -> Path:
        return self.home / "workspaces"


def read_settings(environment: Mapping[str, str] = os.environ) -> Settings:
    """$PITSTOP_HOME, or `pitstop` in the state folder of the XDG convention."""
    named = environment.get("PITSTOP_HOME")
    if named:
        return Settings(Path(named).absolute())
    state = environment.get("XDG_STATE_HOME")
    if state and Path(state).is_absolute():  # the convention says to ignore any other
        return Settings(Path(state, "pitstop"))
    return Settings(Path(environment.get("HOME") or "~").expanduser() / ".local/state/pitstop")
