"""What the agent of a run is doing, as a fold of the events of the run."""

from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from pitstop.events.types import AnyEvent, StepNoted

LONGEST_ABOUT = 200


class Live(Struct, frozen=True, kw_only=True):
    """What an agent is doing: its last tool call in a few words, how many there were, and what they cost."""

    tool: str | None = None
    about: str = ""
    calls: int = 0
    cost: float | None = None
    tokens: int | None = None


def with_event(live: Live, event: AnyEvent) -> Live:
    """What an agent is doing after an event of its run."""
    if not isinstance(event, StepNoted):
        return live
    if event.note == "agent.called":
        return replace(live, tool=str(event.data.get("tool") or ""), about=_about(event.data), calls=live.calls + 1)
    if event.note == "agent.ended":
        tokens = event.data.get("tokens") or {}
        total = sum(value for name, value in tokens.items() if name in ("in", "out") and isinstance(value, int))
        return replace(live, cost=event.data.get("cost"), tokens=total or None)
    return live


def _about(data: dict[str, Any]) -> str:
    about = data.get("command") or ", ".join(data.get("paths") or ()) or data.get("name") or ""
    return " ".join(str(about).split())[:LONGEST_ABOUT]
