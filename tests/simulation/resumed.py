"""A stop that was resumed stays resumed, whenever the process is killed."""

from collections.abc import Sequence

from pitstop.events.counting import FORWARD, GOING_BACK
from pitstop.events.types import AnyEvent, Resumed, Rewound, Stopped

ASKED_FOR = {"interrupted", "pause"}  # reasons to stop there all the same


def check_resumed_stay_resumed(events: Sequence[AnyEvent], killed_after: int) -> None:
    """No stop after the kill is where one was resumed before it, unless the run went back or something asks for it."""
    stops: dict[int, tuple[str, str]] = {}
    resumed: set[tuple[str, str]] = set()
    for event in events[:killed_after]:
        if isinstance(event, Stopped):
            stops[event.stop] = (event.occurrence, event.position)
        elif isinstance(event, Resumed) and event.verb not in (*GOING_BACK, FORWARD):
            resumed.add(stops[event.stop])
        elif isinstance(event, Rewound):
            resumed.clear()
    for event in events[killed_after:]:
        if isinstance(event, Rewound):
            return
        if isinstance(event, Stopped) and not ASKED_FOR & set(event.reasons):
            place = (event.occurrence, event.position)
            assert place not in resumed, f"stop {event.stop}, {event.reasons}, is where one was resumed: {place}"
