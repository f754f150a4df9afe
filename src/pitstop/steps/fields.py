"""The kinds of fields that configurations of steps are made of."""

import math
import re
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, WithJsonSchema

_SECONDS = {"d": 86_400.0, "h": 3_600.0, "m": 60.0, "s": 1.0, "ms": 0.001}
_PART = re.compile(r"(?P<number>[0-9]+(?:\.[0-9]+)?)(?P<unit>ms|[dhms])")
_NUMBER = re.compile(r"[0-9]+(?:\.[0-9]+)?")
_LONGEST_SECONDS = 366 * _SECONDS["d"]


class StepConfig(BaseModel):
    """What a step of one type can be told: strict, so that a typo is a mistake and not a default."""

    # Built when it is first used: a run needs few of the types, and building them all takes longer than a short run
    model_config = ConfigDict(extra="forbid", frozen=True, defer_build=True)


def parse_duration(value: object) -> float:
    """Seconds, from a number of them or from text such as `500ms`, `2s` or `1m30s`. ValueError says what is wrong."""
    if isinstance(value, int | float) and not isinstance(value, bool):
        seconds = float(value)
    elif isinstance(value, str):
        seconds = _parse_text(value.strip())
    else:
        raise ValueError("a duration is a number of seconds, or text such as 500ms, 2s or 1m30s")
    if not math.isfinite(seconds) or not 0 <= seconds <= _LONGEST_SECONDS:
        raise ValueError("a duration is between 0 and 366 days")
    return seconds


def format_duration(seconds: float) -> str:
    """The shortest way to write it: `500ms`, `2s`, `1m30s`."""
    if seconds < 1:
        return f"{seconds * 1000:.4g}ms"
    text = ""
    for unit in ("d", "h", "m"):
        count, seconds = divmod(seconds, _SECONDS[unit])
        text += f"{count:.0f}{unit}" if count else ""
    return text + (f"{seconds:.4g}s" if seconds or not text else "")


def _parse_text(text: str) -> float:
    if _NUMBER.fullmatch(text):
        return float(text)
    parts = list(_PART.finditer(text))
    units = [part["unit"] for part in parts]
    in_order = sorted(set(units), key=list(_SECONDS).index)
    if not parts or "".join(part[0] for part in parts) != text or units != in_order:
        raise ValueError(f"{text!r} is no duration: write 500ms, 2s, 1m30s, or a number of seconds")
    return sum(float(part["number"]) * _SECONDS[part["unit"]] for part in parts)


def _as_tuple(value: Any) -> Any:
    """One value where a list of them may stand."""
    return value if isinstance(value, list | tuple) else (value,)


Duration = Annotated[
    float,
    BeforeValidator(parse_duration),
    WithJsonSchema(
        {
            "title": "Duration",
            "anyOf": [
                {"type": "number", "minimum": 0},
                {"type": "string", "examples": ["500ms", "2s", "1m30s"]},
            ],
        }
    ),
]
OneOrMoreTexts = Annotated[tuple[str, ...], BeforeValidator(_as_tuple, json_schema_input_type=str | list[str])]
OneOrMoreCodes = Annotated[tuple[int, ...], BeforeValidator(_as_tuple, json_schema_input_type=int | list[int])]
