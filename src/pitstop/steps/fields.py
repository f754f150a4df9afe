"""The kinds of fields that configurations of steps are made of."""

import shlex
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, WithJsonSchema

from pitstop.definition.durations import parse_duration


class StepConfig(BaseModel):
    """What a step of one type can be told: strict, so that a typo is a mistake and not a default."""

    # Built when it is first used: a run needs few of the types, and building them all takes longer than a short run
    model_config = ConfigDict(extra="forbid", frozen=True, defer_build=True)


def _as_tuple(value: Any) -> Any:
    """One value where a list of them may stand."""
    return value if isinstance(value, list | tuple) else (value,)


def _as_words(value: Any) -> Any:
    """The words of a command that may be written as one text."""
    return tuple(shlex.split(value)) if isinstance(value, str) else value


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
Words = Annotated[tuple[str, ...], BeforeValidator(_as_words, json_schema_input_type=str | list[str])]
OneOrMoreTexts = Annotated[tuple[str, ...], BeforeValidator(_as_tuple, json_schema_input_type=str | list[str])]
OneOrMoreCodes = Annotated[tuple[int, ...], BeforeValidator(_as_tuple, json_schema_input_type=int | list[int])]
