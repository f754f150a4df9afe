"""A few step types, and the reader with its two ports at hand."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from pitstop.definition.flow import Flow, StepTypeInfo
from pitstop.definition.yaml_reader import read_flow
from pitstop.errors import BadFlow, Mistake
from pitstop.plan.expressions import parse_template


class Config(BaseModel):
    model_config = ConfigDict(extra="forbid")


class RunConfig(Config):
    script: str = Field(description="What to run.")
    image: str | None = None
    shell: str = "bash"
    tests: str | None = None
    requires: dict[str, Any] = Field(default_factory=dict)


class Expectation(Config):
    status: int = 200
    header: str | None = None


class HttpConfig(Config):
    url: str = Field(description="Where to.")
    retries: int = Field(0, ge=0, le=9)
    verify: bool = True
    check: str | None = None
    expect: Expectation = Field(default_factory=Expectation, description="What must come back.")
    codes: list[int] | int = 200


class CheckConfig(Config):
    expression: str


class WaitConfig(Config):
    port: int | None = None
    file: str | None = None


class AgentConfig(Config):
    agent: str
    prompt: str


class PythonConfig(Config):
    call: str
    arguments: dict[str, Any] = Field(default_factory=dict, alias="with")


@dataclass
class Type:
    name: str
    Config: type[BaseModel]
    shorthand_field: str | None
    summary: str = "Does something."


@dataclass
class TextType(Type):
    text_fields: frozenset[str] = frozenset()


STEP_TYPES: Mapping[str, StepTypeInfo] = {
    each.name: each
    for each in (
        TextType("run", RunConfig, "script", "Run a script.", frozenset(("script", "shell"))),
        Type("http", HttpConfig, "url", "Send a request."),
        Type("check", CheckConfig, "expression"),
        Type("wait", WaitConfig, None),
        Type("agent", AgentConfig, "agent"),
        Type("python", PythonConfig, "call"),
    )
}


def read(text: str | bytes, files: Mapping[str, str | bytes] | None = None, file: str = "flow.yaml") -> Flow:
    """The flow in `text`; `files` is the folder that it is in."""

    def read_file(path: str) -> str | bytes:
        if files is None or path not in files:
            raise FileNotFoundError(2, "No such file or directory", path)
        return files[path]

    return read_flow(text, file, STEP_TYPES, read_file=read_file, parse_template=parse_template)


def mistakes_in(text: str | bytes, files: Mapping[str, str | bytes] | None = None) -> tuple[Mistake, ...]:
    """What the reader has to say about a file."""
    try:
        read(text, files)
    except BadFlow as error:
        return error.found
    return ()


def only_mistake(text: str | bytes, files: Mapping[str, str | bytes] | None = None) -> Mistake:
    (mistake,) = mistakes_in(text, files)
    return mistake
