"""Where Pitstop keeps things on this machine, as the environment says."""

import os
from collections.abc import Iterable, Mapping
from pathlib import Path

from msgspec import Struct

from pitstop.limits import DEFAULTS, Limits


class Settings(Struct, frozen=True):
    """`home` is the state folder: runs with their logs, workspaces, and what a server keeps.

    `database` is the URL of the server's database; the file beside the rest where none is given. The `snapshot_`
    limits are those of one snapshot of a workspace.
    """

    home: Path
    database_url: str | None = None
    snapshot_limit_bytes: int = 20 * 1024**3
    snapshot_limit_files: int = 1_000_000
    shell_cpus: int = 1  # the limits of the container of a shell, where its step sets none; 0 is no limit
    shell_memory_bytes: int = 2 * 1024**3
    shell_processes: int = 512
    sidecar_image: str | None = None  # for a read-only shell in a step whose image has no shell
    limits: Limits = DEFAULTS
    has_fix_loops: bool = True  # without them, the tests of a fix loop just run

    @property
    def database(self) -> str:
        return self.database_url or f"sqlite:///{self.home / 'pitstop.db'}"

    @property
    def key_file(self) -> Path:
        """What secrets are sealed with; whoever backs the database up keeps it elsewhere."""
        return self.home / "secrets.key"

    @property
    def token_file(self) -> Path:
        """How programs of this user come in."""
        return self.home / "token"

    @property
    def address_file(self) -> Path:
        """Where a server of this user was last reached; whoever reads it asks there whether it still is."""
        return self.home / "address"

    @property
    def repos(self) -> Path:
        """The bare repositories of a server."""
        return self.home / "repos"

    @property
    def home_id_file(self) -> Path:
        """What distinguishes this state folder from those of other servers on the same database."""
        return self.home / "home-id"

    @property
    def snapshots(self) -> Path:
        return self.home / "snapshots"

    @property
    def runs(self) -> Path:
        return self.home / "runs"

    @property
    def workspaces(self) -> Path:
        return self.home / "workspaces"


OWN_VARIABLES = "PITSTOP_"  # what Pitstop's own settings begin with
SERVER_CREDENTIALS = frozenset(
    ("PGPASSWORD", "OTEL_EXPORTER_OTLP_HEADERS", "OTEL_EXPORTER_OTLP_TRACES_HEADERS", "NOTIFY_SOCKET")
)

_NUMBERS = ("snapshot_limit_bytes", "snapshot_limit_files", "shell_cpus", "shell_memory_bytes", "shell_processes")


def read_settings(environment: Mapping[str, str] = os.environ) -> Settings:
    """$PITSTOP_HOME, or `pitstop` in the state folder of the XDG convention; $PITSTOP_DB names a database.

    $PITSTOP_SNAPSHOT_LIMIT_BYTES and the other limits are numbers; a value that is not a number is ignored.
    """
    return Settings(
        _home(environment),
        environment.get("PITSTOP_DB") or None,
        sidecar_image=environment.get("PITSTOP_SIDECAR_IMAGE") or None,
        has_fix_loops=environment.get("PITSTOP_NO_FIX", "0") in ("", "0"),
        limits=Limits(**_numbers(Limits.__struct_fields__, environment)),
        **_numbers(_NUMBERS, environment),
    )


def _numbers(names: Iterable[str], environment: Mapping[str, str]) -> dict[str, int]:
    """The settings that are given as numbers, by their names."""
    values = {name: environment.get(f"PITSTOP_{name.upper()}", "") for name in names}
    return {name: int(value) for name, value in values.items() if value.isascii() and value.isdigit()}


def _home(environment: Mapping[str, str]) -> Path:
    named = environment.get("PITSTOP_HOME")
    if named:
        return Path(named).absolute()
    state = environment.get("XDG_STATE_HOME")
    if state and Path(state).is_absolute():  # the convention says to ignore any other
        return Path(state, "pitstop")
    return Path(environment.get("HOME") or "~").expanduser() / ".local/state/pitstop"


def environment_for_commands(environment: Mapping[str, str] = os.environ, *, on_server: bool = False) -> dict[str, str]:
    """What commands inherit: the environment without Pitstop's own settings, and without the server's credentials."""
    own = SERVER_CREDENTIALS if on_server else ()
    return {
        name: value for name, value in environment.items() if not name.startswith(OWN_VARIABLES) and name not in own
    }
