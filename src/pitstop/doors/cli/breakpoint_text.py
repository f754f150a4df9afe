"""Breakpoints as people write them, such as `STEP[:after] [if JQ] [hits N] [group NAME] [log "TEXT"]`."""

import json
import re
from typing import TYPE_CHECKING, Any

from pitstop.errors import BadBreakpoint

if TYPE_CHECKING:
    from pitstop.service.runs import BreakpointRequest

POSITIONS = ("before", "after", "error")
USAGE = (
    "STEP[:before|after|error] or FILE:LINE, type:TYPE, *, STEP/TOOL [path PATTERN], "
    'then [if JQ] [hits N] [group NAME] [note "TEXT"] [log "TEXT"]'
)

_BREAKPOINT = re.compile(
    r"""(?: change \s+ (?P<state>.+?) (?: \s+ equals \s+ (?P<equals>.+?) )? | (?P<place>\S+) )
        (?: \s+ path \s+ (?P<path>\S+) )?
        (?: \s+ if \s+ (?P<condition>.+?) )?
        (?: \s+ hits \s+ (?P<hits> (?: >= | <= | == | > | < | % )? \s* \d+ ) )?
        (?: \s+ group \s+ (?P<group>\S+) )?
        (?: \s+ note \s+ (?P<note> " (?: [^"\\] | \\. )* " | ' [^']* ' ) )?
        (?: \s+ log \s+ (?P<log> " (?: [^"\\] | \\. )* " | ' [^']* ' ) )?""",
    re.VERBOSE | re.DOTALL,
)


def read_breakpoint(text: str) -> "BreakpointRequest":
    """BadBreakpoint. A line that is given without its file has an empty one."""
    from pitstop.service.runs import BreakpointRequest

    found = _BREAKPOINT.fullmatch(text.strip())
    if found is None:
        raise BadBreakpoint(f"invalid breakpoint {text!r}: use {USAGE}")
    parts: dict[str, Any] = {name: found[name] for name in ("path", "condition", "hits", "group", "state")}
    for name in ("note", "log"):
        if found[name] is not None:
            parts[name] = found[name][1:-1] if found[name][0] == "'" else _read_json(found[name])
    if found["state"] is None:
        return BreakpointRequest(**parts, **_read_place(found["place"]))
    if found["equals"] is not None:
        parts |= {"equals": _read_json(found["equals"]), "has_equals": True}
    return BreakpointRequest(**parts)


def _read_place(place: str) -> dict[str, Any]:
    """`STEP`, `FILE:LINE`, `:LINE`, `type:TYPE`, `STEP/TOOL` or `*`, and the position if one is given."""
    name, colon, position = place.rpartition(":")
    parts: dict[str, Any] = {}
    if colon and position in POSITIONS:
        place, parts["position"] = name, position
        name, colon, position = place.rpartition(":")
    if colon and position.isdigit():
        return {**parts, "file": name, "line": int(position)}
    if "/" in place:
        place, _, parts["tool"] = place.rpartition("/")
        name, colon, position = place.rpartition(":")
    if colon and name == "type":
        return {**parts, "kind": position}
    if colon:
        raise BadBreakpoint(f"{place!r}: invalid position {position!r}: use {', '.join(POSITIONS)}, or a line")
    return parts if place in ("", "*") else {**parts, "step": place}


def _read_json(text: str) -> Any:
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        raise BadBreakpoint(f"invalid JSON {text}: {error.msg.lower()} at character {error.colno}") from error
