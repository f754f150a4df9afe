"""What stands after the name of a command, read: text in, values out."""

import json
import re
from collections.abc import Callable, Mapping
from typing import Any, Literal, TypeVar, get_args

from msgspec import Struct

from pitstop.errors import BadCommand

T = TypeVar("T")
Status = Literal["passed", "failed", "skipped"]
STATUSES: tuple[Status, ...] = get_args(Status)
AGREED = "!"

_FIELD = re.compile(r"(?:^|\s)(\w+)=")
_ASSIGNMENT = re.compile(r"(?:@(?P<layer>\S+)\s+)?(?P<path>\..*?)\s*(?<!=)=(?!=)\s*(?P<value>.+)", re.DOTALL)
# Without an equals sign, a path ends at the first space outside of quotes and brackets
_SPACED = re.compile(
    r"""(?: @(?P<layer>\S+) \s+ )?
        (?P<path> \. (?: [^\s"\[=] | \[ [^\]]* \] | " (?: [^"\\] | \\. )* " )* ) \s+
        (?P<value> [^=\s].* )""",
    re.DOTALL | re.VERBOSE,
)
_IN_LAYER = re.compile(r"(?:@(?P<layer>\S+)\s+)?(?P<path>\..*)", re.DOTALL)


class Assignment(Struct, frozen=True):
    """`[@LAYER] PATH = JSON`; without a value, what `unset` takes."""

    path: str
    value: Any = None
    layer: str | None = None


CHOICES = ("take_over", "guide", "roll_back", "skip", "stop")


class Choice(Struct, frozen=True):
    """How a step that gave up continues: one of CHOICES, and its text."""

    name: str
    text: str


class Verdict(Struct, frozen=True):
    """How a step, or a tool call, is to have ended: `passed|failed|skipped [JSON | TEXT]`."""

    status: Status
    outputs: dict[str, Any] | None = None
    message: str | None = None


class Injection(Struct, frozen=True):
    """`[before|after] TYPE {json}`, or the whole step as JSON. Without a position, the first possible one."""

    position: Literal["before", "after"] | None
    step: Mapping[str, Any]


class Destination(Struct, frozen=True):
    """A point of the past or a step, and whether steps with external effects may run again: `[POINT|STEP] [!]`."""

    target: int | str | None
    external: bool


class Answer(Struct, frozen=True):
    """`y|n [COMMENT]`."""

    approved: bool
    comment: str


class FilesWanted(Struct, frozen=True):
    """`[A [B]] [PATH]`."""

    before: int | None = None
    after: int | None = None
    path: str | None = None


class LogPart(Struct, frozen=True):
    """`[STEP] [LINES]`."""

    step: str | None
    lines: int


def optional(read: Callable[[str], T]) -> Callable[[str], T | None]:
    """The same, where nothing needs to be given."""
    return lambda text: read(text) if text else None


def read_nothing(text: str) -> None:
    if text:
        raise BadCommand(f"it takes no argument, but got {text!r}")


def read_word(text: str) -> str:
    if len(text.split()) != 1:
        raise BadCommand("it takes one word")
    return text


def read_text(text: str) -> str:
    if not text:
        raise BadCommand("it needs an argument")
    return text


def read_all_flag(text: str) -> bool:
    """Whether all frames are meant, not the selected one alone."""
    if text not in ("", "all"):
        raise BadCommand(f"it takes no argument or 'all', not {text!r}")
    return text == "all"


def read_by_size(text: str) -> bool:
    """Whether the largest are to come first."""
    if text not in ("", "--by-size"):
        raise BadCommand(f"it takes no argument or --by-size, not {text!r}")
    return bool(text)


def read_numbers_or_group(text: str) -> tuple[int, ...] | str:
    """Breakpoints by their numbers, or a group of them by its name."""
    words = text.replace(",", " ").split()
    if words and all(word.isdigit() for word in words):
        return tuple(int(word) for word in words)
    if len(words) != 1:
        raise BadCommand("it takes breakpoint numbers, or the name of a group")
    return words[0]


def read_json(text: str) -> Any:
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        is_word = re.fullmatch(r"[\w./:-]+", text)
        reason = "text needs quotes" if is_word else f"{error.msg.lower()} at character {error.colno}"
        raise BadCommand(f"invalid JSON {text}: {reason}") from error


def read_object(text: str) -> dict[str, Any]:
    value = read_json(text)
    if not isinstance(value, dict):
        raise BadCommand(f"{text} is not a JSON object")
    return value


def read_fields(text: str) -> dict[str, Any]:
    """`name=JSON name=JSON`."""
    start, *rest = _FIELD.split(text)
    if start:
        raise BadCommand("it takes arguments of the form name=JSON")
    return {name: read_json(value.strip()) for name, value in zip(rest[::2], rest[1::2], strict=True)}


def read_assignment(text: str) -> Assignment:
    found = _SPACED.fullmatch(text) or _ASSIGNMENT.fullmatch(text)
    if found is None:
        raise BadCommand("it takes a path and a JSON value")
    return Assignment(found["path"], read_json(found["value"]), found["layer"])


def read_path(text: str) -> Assignment:
    found = _IN_LAYER.fullmatch(text)
    if found is None:
        raise BadCommand("it takes a path")
    return Assignment(found["path"], layer=found["layer"])


def read_verdict(text: str) -> Verdict:
    word, _, outputs = text.partition(" ")
    status = next((each for each in STATUSES if each == word), None)
    if status is None:
        raise BadCommand(f"it needs an outcome: {', '.join(STATUSES)}")
    return _verdict(status, outputs.strip())


def read_skip(text: str) -> Verdict:
    """Nothing, outputs as a JSON object, or a reason in words."""
    return _verdict("skipped", text)


def read_choice(text: str) -> Choice:
    """One of the five ways to continue where a step gave up, by name or number, and its text."""
    word, _, more = text.partition(" ")
    names = dict(zip("12345", CHOICES, strict=True))
    name = names.get(word, word.replace("-", "_"))
    if name not in CHOICES:
        raise BadCommand(f"it needs one of {', '.join(CHOICES)}")
    return Choice(name, more.strip())


def _is_json(text: str) -> bool:
    """Whether the text is JSON, or is meant to be an object or a list with a mistake in it."""
    if text[0] in "{[":
        return True
    try:
        json.loads(text)
    except ValueError:
        return False
    return True


def _verdict(status: Status, text: str) -> Verdict:
    if not text or _is_json(text):
        return Verdict(status, optional(read_object)(text))
    return Verdict(status, {"output": text}) if status == "passed" else Verdict(status, message=text)


def read_config(text: str) -> dict[str, Any] | None:
    """The keys to put in place of the step's own; nothing to look at them, an empty object to take it all back."""
    if not text:
        return None
    if text == "reset":
        return {}
    key, equals, value = text.partition("=")
    if not equals or not key.strip():
        raise BadCommand("it takes a key and a JSON value")
    return {key.strip(): read_json(value.strip())}


def read_injection(text: str) -> Injection:
    first, _, rest = text.partition(" ")
    position: Literal["before", "after"] | None = None
    if first in ("before", "after"):
        position = "before" if first == "before" else "after"
        text = rest.strip()
        first, _, rest = text.partition(" ")
    if not first:
        raise BadCommand("it takes a step type and its config, or a step as JSON")
    if first.startswith("{"):
        return Injection(position, read_object(text))
    rest = rest.strip()
    is_script = first == "run" and rest and not rest.startswith("{")
    config = {"script": rest} if is_script else optional(read_object)(rest)
    return Injection(position, {"uses": first, "with": config or {}})


def read_agreement(text: str) -> Destination:
    if text not in ("", AGREED):
        raise BadCommand(f"it takes no argument, or {AGREED} to repeat steps with external effects")
    return Destination(None, text == AGREED)


def read_point(text: str) -> Destination:
    number, agreed = text.removesuffix(AGREED).strip(), text.endswith(AGREED)
    if not number.isdigit():
        raise BadCommand("it takes the number of a point, as `history` shows it")
    return Destination(int(number), agreed)


def read_place(text: str) -> Destination:
    step, agreed = text.removesuffix(AGREED).strip(), text.endswith(AGREED)
    return Destination(read_word(step), agreed)


def read_points(text: str) -> tuple[int, int] | None:
    words = text.split()
    if not words:
        return None
    if len(words) != 2 or not all(word.isdigit() for word in words):
        raise BadCommand("it takes two points, as `history` shows them, or none")
    return int(words[0]), int(words[1])


def read_files(text: str) -> FilesWanted:
    numbers: list[int] = []
    rest = text
    while len(numbers) < 2 and (first := rest.split(" ", 1))[0].isdigit():
        numbers.append(int(first[0]))
        rest = first[1].strip() if len(first) > 1 else ""
    before, after = [*numbers, None, None][:2]
    return FilesWanted(before, after, rest or None)


def read_line_number(text: str) -> int | None:
    """A line; 0 for the current one, None to go on from the last one shown."""
    if text in ("", "."):
        return 0 if text else None
    if not text.isdigit():
        raise BadCommand("it takes a line number, or a dot for the current line")
    return int(text)


def read_log_part(text: str) -> LogPart:
    *step, last = text.split() or [""]
    lines = int(last) if last.isdigit() else 20
    if last and not last.isdigit():
        step.append(last)
    if len(step) > 1:
        raise BadCommand("it takes a step, a number of lines, or both")
    return LogPart(step[0] if step else None, lines)


def read_answer(text: str) -> Answer:
    said, _, comment = text.partition(" ")
    if said not in ("y", "yes", "n", "no"):
        raise BadCommand("it takes y or n")
    return Answer(said in ("y", "yes"), comment.strip())


def read_minutes(text: str) -> float:
    if not text.isdigit():
        raise BadCommand("it takes a number of minutes")
    return int(text) * 60.0
