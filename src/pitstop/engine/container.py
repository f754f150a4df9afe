"""What a command asks of the container that it runs in."""

from collections.abc import Mapping
from typing import Literal

from msgspec import Struct, field

LINE_FOR_SHELL = ("sh", "-c")  # what a health check that is text begins with

PullPolicy = Literal["missing", "always", "never"]


class Health(Struct, frozen=True, kw_only=True):
    """How to ask a service whether it is ready: `command` exits with 0 in its container.

    Without a command the image's own health check counts. `start_seconds` is how long it may take to become ready.
    """

    command: tuple[str, ...] = ()
    interval_seconds: float = 1.0
    timeout_seconds: float = 10.0
    start_seconds: float = 60.0


def is_text(check: tuple[str, ...]) -> bool:
    """Whether a health check is a line for `sh`, as opposed to words of the user's own."""
    return check[:2] == LINE_FOR_SHELL and len(check) == len(LINE_FOR_SHELL) + 1


class Service(Struct, frozen=True, kw_only=True):
    """A container beside the command, which reaches it by its name.

    `argv` is given to the entry point of the image, as `docker run` would. With `shared` it is started once for a
    workspace and lives as long; else it is the command's own.
    """

    name: str
    image: str
    argv: tuple[str, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict)
    health: Health = field(default_factory=Health)
    shared: bool = False


class ContainerOptions(Struct, frozen=True, kw_only=True):
    """How the container of a command is made.

    `user` None is the owner of the workspace, so that files stay the user's; `image` is whoever the image says; else a
    name or id, with a group after a colon. With `entrypoint` the command is given to the entry point of the image; else
    it takes its place. `platform` is that of the image to take, such as `linux/arm64`.
    """

    pull: PullPolicy = "missing"
    user: str | None = None
    cpus: float | None = None
    memory_bytes: int | None = None
    entrypoint: bool = False
    platform: str | None = None
    services: tuple[Service, ...] = ()
