"""The values in the triggers of a flow file: patterns, cron expressions, timezones and jq."""

from collections.abc import Sequence
from typing import Annotated, Literal
from zoneinfo import available_timezones

from pydantic import AfterValidator, BeforeValidator, Field
from pydantic.json_schema import SkipJsonSchema
from pydantic_core import PydanticCustomError

from pitstop.definition.cron import cron_problem, find_timezone
from pitstop.definition.mistakes import did_you_mean, quoted
from pitstop.definition.name_patterns import pattern_regex

MOST_PATTERNS = 100  # in one list
MOST_SCHEDULES = 20


def mistake(message: str, hint: str | None = None) -> PydanticCustomError:
    return PydanticCustomError("trigger", "{told}", {"told": message, "hint": hint})


# --- Patterns --------------------------------------------------------------------------------------------------------


def _check_pattern(written: str) -> str:
    pattern = written.removeprefix("!")
    if not pattern.strip():
        raise mistake("the pattern is empty", "remove it, or use `**` to match everything")
    if "${{" in pattern:
        raise mistake("expressions are not evaluated in patterns", "use `*` and `**`")
    if pattern.startswith("/") or pattern.endswith("/"):
        hint = f"did you mean {quoted(pattern.strip('/') + ('/**' if pattern.endswith('/') else ''))}?"
        raise mistake("the pattern matches nothing, because no name begins or ends with `/`", hint)
    try:
        pattern_regex(pattern)
    except ValueError as error:
        raise mistake(f"the pattern {error}", "put a `\\` before a special character to match it") from error
    return written


def _check_ref_pattern(written: str) -> str:
    for prefix in ("refs/heads/", "refs/tags/"):
        if written.removeprefix("!").startswith(prefix):
            hint = f"did you mean {quoted(written.replace(prefix, '', 1))}?"
            raise mistake(f"names are matched without `{prefix}`", hint)
    return written


def _check_patterns(patterns: list[str]) -> list[str]:
    check_count(patterns, "patterns", MOST_PATTERNS)
    if all(each.startswith("!") for each in patterns):
        raise mistake("all patterns begin with `!`, so nothing matches", "put `**` first")
    return patterns


def check_count(written: Sequence[object], what: str, limit: int) -> None:
    if not written:
        raise mistake("the list is empty", f"remove it, or add {what}")
    if len(written) > limit:
        raise mistake(f"there are {len(written)} {what}, but at most {limit} are allowed")


def _one_or_more(written: object) -> object:
    """A single text as the list that it is short for."""
    return [written] if isinstance(written, str) else written


_Pattern = Annotated[str, AfterValidator(_check_pattern)]
_RefPattern = Annotated[_Pattern, AfterValidator(_check_ref_pattern)]
_OneOrMore = BeforeValidator(_one_or_more, json_schema_input_type=str | list[str])
Patterns = Annotated[list[_Pattern], _OneOrMore, AfterValidator(_check_patterns)]
RefPatterns = Annotated[list[_RefPattern], _OneOrMore, AfterValidator(_check_patterns)]
Texts = Annotated[list[Annotated[str, Field(min_length=1)]], _OneOrMore, Field(max_length=MOST_PATTERNS)]


# --- Values ----------------------------------------------------------------------------------------------------------


def _check_cron(written: str) -> str:
    problem = cron_problem(written)
    if problem is not None:
        raise mistake(problem.message, problem.hint)
    return written


def _check_timezone(written: str) -> str:
    try:
        find_timezone(written)
    except ValueError as error:
        raise mistake(str(error), did_you_mean(written, available_timezones())) from error
    return written


def _check_push_on_fail(written: object) -> object:
    if written in ("fail", "reject"):
        raise mistake(f"a push has no card to {written}", "remove it; `card_complete` has this key")
    return written


def _refuse_action(written: object) -> None:
    raise mistake("there is no card or branch to act on", "remove it; only `push` and `card_complete` have this key")


def _as_jq(written: object) -> object:
    """`true` and numbers are jq as well."""
    return str(written).lower() if isinstance(written, bool | int | float) else written


Jq = Annotated[
    str,
    BeforeValidator(_as_jq, json_schema_input_type=str | bool | float),
    Field(min_length=1, json_schema_extra={"format": "jq"}),
]
Cron = Annotated[str, AfterValidator(_check_cron)]
Timezone = Annotated[str, AfterValidator(_check_timezone)]
PushOnFail = Annotated[Literal["nothing"], BeforeValidator(_check_push_on_fail)]
NoAction = Annotated[SkipJsonSchema[None], BeforeValidator(_refuse_action)]
