"""Configurations as they come in: checked against their model, with every mistake told."""

from collections.abc import Callable, Mapping
from difflib import get_close_matches
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from pitstop.plan.expressions import shown
from pitstop.steps.failures import BadConfig

_OUR_WORDS = "Value error, "  # what pydantic puts before the message of a validator

Model = TypeVar("Model", bound=BaseModel)


def read_config(
    step_type: str, model: type[Model], config: Mapping[str, Any], mask: Callable[[str], str] = str
) -> Model:
    """The configuration as its model; BadConfig names each field that is wrong and the value that it has."""
    try:
        return model.model_validate(dict(config))
    except ValidationError as error:
        mistakes = [mask(_mistake(details, model)) for details in error.errors(include_url=False)]
        raise BadConfig(step_type, dict.fromkeys(mistakes)) from None  # pydantic's own text is not for people


def field_names(model: type[BaseModel]) -> list[str]:
    """The fields as the user writes them."""
    return [field.alias or name for name, field in model.model_fields.items()]


def _mistake(details: ErrorDetails, model: type[BaseModel]) -> str:
    where = ".".join(str(part) for part in details["loc"] if not _is_of_pydantic(part))
    match details["type"]:
        case "missing":
            return f"{where} is missing"
        case "extra_forbidden":
            nearest = get_close_matches(where, field_names(model), n=1)
            return f"there is no field {where!r}" + (f"; did you mean {nearest[0]!r}?" if nearest else "")
    reason = details["msg"].removeprefix(_OUR_WORDS)
    return f"{where} is {shown(details['input'])}: {reason}" if where else reason


def _is_of_pydantic(part: str | int) -> bool:
    """Whether it names a member of a union in the model, and no place in what the user wrote."""
    return isinstance(part, str) and ("[" in part or part in ("str", "int", "bool", "float"))
