"""Writes the pages of this folder from the models and tables of Pitstop, and puts examples into pages that show them.

    .venv/bin/python docs/reference/generate.py

A test fails when a page is not what this script would write.
"""

import argparse
import json
import re
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from pydantic import BaseModel

sys.path.append(str(Path(__file__).parents[2]))  # as a script it does not see its own package

from docs.reference.python_pages import event_parts, python_parts
from pitstop.__main__ import COMMANDS, load_command
from pitstop.app import open_service
from pitstop.definition.durations import format_duration
from pitstop.definition.forms import FixForm, FlowForm, InputForm, RetryForm, StepForm
from pitstop.definition.step_kinds import combining_kinds
from pitstop.definition.trigger_forms import (
    CardForm,
    ConcurrencyForm,
    ManualForm,
    PushForm,
    ScheduleForm,
    TriggersForm,
    WebhookForm,
)
from pitstop.doors.cli.interrupts import Interrupts
from pitstop.doors.http.app import create_app
from pitstop.doors.http.openapi import text_of
from pitstop.service.desks import Service
from pitstop.steps.described import DescribedStepType
from pitstop.steps.reference import kind_of
from pitstop.steps.registry import BUILT_IN, StepTypes

FOLDER = Path(__file__).parent
DOCS = FOLDER.parent
ROOT = DOCS.parent
PAGES = (
    FOLDER / "flow-file.md",
    FOLDER / "command-line.md",
    FOLDER / "python.md",
    FOLDER / "events.md",
    DOCS / "cookbook.md",
    DOCS / "start.md",
)

MADE = re.compile(r"(?P<begin>^<!-- made: (?P<name>.+?) -->\n).*?(?P<end>^<!-- end -->$)", re.MULTILINE | re.DOTALL)
INCLUDED = re.compile(r"(?P<fence>^```yaml (?P<file>examples/\S+)\n).*?^```$", re.MULTILINE | re.DOTALL)
SNIPPET = re.compile(r"^(?P<key>[a-z]+):\n(?P<steps>(?: +.*\n)+)", re.MULTILINE)


def made_page(text: str) -> str:
    """The page with everything in it that is made: what is between marks, and blocks that name an example."""
    parts = {**flow_file_parts(), **command_line_parts(), **python_parts(table), **event_parts(table)}

    def made(part: re.Match[str]) -> str:
        return f"{part['begin']}\n{parts[part['name']]}\n\n{part['end']}"

    def included(block: re.Match[str]) -> str:
        return f"{block['fence']}{(ROOT / block['file']).read_text(encoding='utf-8')}```"

    return INCLUDED.sub(included, MADE.sub(made, text))


# --- The flow file ---------------------------------------------------------------------------------------------------


def flow_file_parts() -> dict[str, str]:
    text = (FOLDER / "snippets.yaml").read_text(encoding="utf-8")
    snippets = {each["key"]: each["steps"] for each in SNIPPET.finditer(text)}
    types = StepTypes()
    combining = (
        kind_section(key, kind.summary, "", snippets[key], kind.model) for key, kind in combining_kinds().items()
    )
    return {
        "flow": model_table(FlowForm),
        "input": model_table(InputForm),
        "triggers": model_table(TriggersForm),
        "push": model_table(PushForm),
        "card_complete": model_table(CardForm),
        "schedule": model_table(ScheduleForm),
        "webhook": model_table(WebhookForm),
        "manual": model_table(ManualForm),
        "concurrency": model_table(ConcurrencyForm),
        "step": model_table(StepForm),
        "retry": model_table(RetryForm),
        "fix": model_table(FixForm),
        "combining": "\n\n".join(combining),
        "types": "\n\n".join(type_section(types.find(name), snippets[name]) for name in BUILT_IN),
    }


def type_section(step_type: type[DescribedStepType], snippet: str) -> str:
    told = " ".join((step_type.__doc__ or "").split())
    return kind_section(step_type.name, step_type.summary, told, snippet, step_type.Config)


def kind_section(key: str, summary: str, told: str, snippet: str, model: type[BaseModel]) -> str:
    indent = len(snippet) - len(snippet.lstrip(" "))
    yaml = "".join(line[indent:] for line in snippet.splitlines(keepends=True))
    said = f"{summary} {told}" if told else summary
    return f"### `{key}`\n\n{said}\n\n```yaml\n{yaml}```\n\n{model_table(model)}"


def model_table(model: type[BaseModel]) -> str:
    schema = model.model_json_schema()
    rows = [
        (f"`{name}`", kind, default_text(name, kind, field, schema), field.get("description", ""))
        for name, field in schema["properties"].items()
        for kind in [kind_of(field)]
    ]
    return table(("key", "takes", "default", "meaning"), rows)


def default_text(name: str, kind: str, field: Mapping[str, Any], schema: Mapping[str, Any]) -> str:
    if name in schema.get("required", ()):
        return "required"
    value = field.get("default")
    if value in (None, "", {}, [], 0.0) and value is not False:
        return ""
    if kind == "duration":
        return f"`{format_duration(value)}`"
    return f"`{value if isinstance(value, str) else json.dumps(value)}`"


# --- The command line ------------------------------------------------------------------------------------------------


def command_line_parts() -> dict[str, str]:
    summaries = [(f"[`pitstop {name}`](#pitstop-{name})", summary) for name, (summary, _) in COMMANDS.items()]
    return {
        "commands": table(("command", "does"), summaries),
        "options": "\n\n".join(part for name in COMMANDS for part in command_section(name)),
    }


def command_section(name: str) -> Iterator[str]:
    parser = parser_of(name)
    yield f"## `pitstop {name}`"
    yield (parser.description or COMMANDS[name][0]).strip()
    rows = [row for action in parser._actions if (row := option_row(action)) is not None]
    if rows:
        yield table(("argument", "meaning"), rows)


def option_row(action: argparse.Action) -> tuple[str, str] | None:
    if isinstance(action, argparse._HelpAction):
        return None
    value = action.metavar or ("|".join(map(str, action.choices)) if action.choices else "")
    takes = f" {value}" if value and action.nargs != 0 else ""
    names = ", ".join(f"`{option}{takes}`" for option in action.option_strings) or f"`{value or action.dest}`"
    return names, (action.help or "").strip()


def parser_of(name: str) -> argparse.ArgumentParser:
    """The parser of a command, caught when it is asked for help."""
    caught: list[argparse.ArgumentParser] = []
    print_help = argparse.ArgumentParser.print_help
    argparse.ArgumentParser.print_help = lambda self, file=None: caught.append(self)  # type: ignore[method-assign]
    try:
        load_command(name)(["--help"], open_service, Interrupts())
    except SystemExit:
        pass
    finally:
        argparse.ArgumentParser.print_help = print_help  # type: ignore[method-assign]
    return caught[0]


# --- Both ------------------------------------------------------------------------------------------------------------


def table(titles: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [titles, ["---"] * len(titles), *rows]
    return "\n".join("| " + " | ".join(map(cell_text, line)) + " |" for line in lines)


def cell_text(text: str) -> str:
    """Text as it may stand in a table; what is not code may have signs that HTML would take for its own."""
    parts = text.replace("|", "\\|").split("`")
    return "`".join(part if number % 2 else part.replace("<", "&lt;") for number, part in enumerate(parts))


def openapi_text() -> str:
    """The OpenAPI description of an app that serves nothing."""
    nothing: Any = object()
    return text_of(create_app(Service(**dict.fromkeys(Service.__struct_fields__, nothing)), nothing, nothing, web=None))


if __name__ == "__main__":
    (FOLDER / "openapi.json").write_text(openapi_text(), encoding="utf-8")
    for page in PAGES:
        page.write_text(made_page(page.read_text(encoding="utf-8")), encoding="utf-8")
