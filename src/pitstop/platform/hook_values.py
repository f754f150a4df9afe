"""Webhooks and what was delivered to them, as plain values."""

from collections.abc import Mapping

from msgspec import Struct, field

from pitstop.platform.repo_info import FiringInfo
from pitstop.platform.triggers.payload_facts import Provider


class HookRecord(Struct, frozen=True, kw_only=True):
    """A webhook of a repository, for all of its flows or for one."""

    id: str
    repo: str
    provider: Provider
    sealed_secret: bytes
    created_at: float
    flow: str | None = None
    enabled: bool = True
    last_at: float | None = None


class HookInfo(Struct, frozen=True, kw_only=True):
    """A webhook as users see it. `path` is where deliveries go; the secret is shown only when it is created."""

    id: str
    repo: str
    provider: Provider
    path: str
    created_at: float
    flow: str | None = None
    enabled: bool = True
    last_at: float | None = None
    secret: str | None = None


class DeliveryInfo(Struct, frozen=True, kw_only=True):
    """Something that was delivered, how it was answered, and what each flow made of it.

    A large one is stored without its body.
    """

    id: int
    hook: str
    event: str
    delivery: str
    status: int
    at: float
    size: int
    reason: str | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    can_repeat: bool = False
    firings: tuple[FiringInfo, ...] = ()


class Delivered(Struct, frozen=True):
    """The answer to a delivery: what each flow made of it."""

    delivery: str
    firings: tuple[FiringInfo, ...] = ()
    is_ping: bool = False


class NewDelivery(Struct, frozen=True, kw_only=True):
    """A delivery that is to be stored."""

    hook: str
    repo: str
    event: str
    delivery: str
    status: int
    headers: dict[str, str]
    size: int
    body: bytes | None = None
    reason: str | None = None


def shown_headers(headers: Mapping[str, str]) -> dict[str, str]:
    """The headers that are stored: those that say what it is, and none that could have a secret."""
    return {name: value[:_LONGEST] for name, value in headers.items() if _is_shown(name)}


_LONGEST = 500
_SHOWN = (
    "content-type",
    "user-agent",
    "x-github-",
    "x-gitlab-event",
    "x-gitea-event",
    "x-gitea-delivery",
    "x-pitstop-",
)


def _is_shown(name: str) -> bool:
    return name.startswith(_SHOWN) and "signature" not in name and "token" not in name
