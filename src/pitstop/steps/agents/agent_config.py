"""The model of what an `agent` step can be told."""

from typing import Any, Literal, Self

from pydantic import Field, field_validator, model_validator

from pitstop.definition.name_patterns import pattern_regex
from pitstop.steps.agents.profile import StreamName
from pitstop.steps.containers import InContainer
from pitstop.steps.fields import Duration, OneOrMoreTexts, StepConfig, Words

HITS_PATTERN = r"^\s*(>=|<=|==|>|<|%)?\s*\d+\s*$"


def _checked_pattern(pattern: str) -> str:
    try:
        pattern_regex(pattern)
    except ValueError as error:
        raise ValueError(f"the pattern {error}") from error
    return pattern


class BudgetConfig(StepConfig):
    cost: float | None = Field(None, description="Maximum cost in US dollars.", gt=0)
    turns: int | None = Field(None, description="Maximum number of answers of the model.", ge=1)
    time: Duration | None = Field(None, description="Maximum time at work, such as `20m`; pauses do not count.", gt=0)
    lines: int | None = Field(None, description="Maximum number of changed lines; needs a git repository.", ge=1)
    tokens: int | None = Field(None, description="Maximum number of tokens in and out.", ge=1)


class PriceConfig(StepConfig):
    input: float = Field(description="US dollars for a million tokens in.", ge=0)
    output: float = Field(description="US dollars for a million tokens out.", ge=0)
    cached: float | None = Field(None, description="US dollars for a million tokens from the cache.", ge=0)


class BreakConfig(StepConfig):
    tool: str | None = Field(
        None,
        description="Class of tool calls to pause at: `read`, `edit`, `shell`, `search`, `web`, `mcp`, `task` or "
        "`other`; or the name of a tool, or `any`.",
        min_length=1,
    )
    path: str | None = Field(None, description="Pattern of files, such as `migrations/**`.", min_length=1)
    condition: str | None = Field(None, alias="if", description='jq condition, such as `.tool.command | test("rm")`.')
    position: Literal["before", "after", "error"] = Field("before", description="Where to pause.")
    hits: str | None = Field(None, description="Which hits pause, such as `>= 3`.", pattern=HITS_PATTERN)
    log: str | None = Field(None, description="Text to log instead of pausing.")
    once: bool = Field(False, description="Whether it is removed after its first stop.")
    note: str | None = Field(None, description="Text to show where it pauses.")

    @field_validator("path")
    @classmethod
    def _is_a_pattern(cls, path: str | None) -> str | None:
        return None if path is None else _checked_pattern(path)

    @model_validator(mode="after")
    def _names_calls(self) -> Self:
        if self.tool is None and self.path is None:
            raise ValueError("needs `tool` or `path`; use `tool: any` for every call")
        return self


class AgentConfig(InContainer):
    profile: str = Field(
        "command",
        description="Agent to run: `claude`, `codex`, `gemini`, `opencode`, `aider`, or the name of a file in "
        "`.pitstop/agents`.",
        pattern=r"^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$",
    )
    cli: str | None = Field(None, description="Agent that a profile of the repository runs on, instead of its own.")
    prompt: str = Field(description="What the agent is to do.", min_length=1)
    command: Words = Field(
        (),
        description="Program to run instead of the profile's, with its first arguments. Without a profile it is the "
        "whole command line, and gets the prompt on standard input.",
    )
    stream: StreamName | None = Field(None, description="Format of the command's output; `lines` is plain text.")
    model: str | None = Field(None, description="Model to use; the agent's default if not set.", min_length=1)
    api: str | None = Field(None, description="URL of the model's API, such as that of a proxy.", min_length=1)
    relay: bool | None = Field(
        None,
        description="Whether the agent works without the key of its model: a relay in Pitstop adds it, counts tokens "
        "and records. On by default where it is possible.",
    )
    prices: dict[str, PriceConfig] = Field(
        {}, description="Prices of models, for an exact `budget.cost`.", max_length=50
    )
    instructions: str = Field("", description="Text before the prompt, such as the role of the agent.")
    rules: bool = Field(True, description="Whether `AGENTS.md`, `CLAUDE.md` and `GEMINI.md` are added to the prompt.")
    log: bool = Field(True, description="Whether the log of the previous step is added to the prompt.")
    budget: BudgetConfig = Field(default_factory=BudgetConfig, description="Limits; the agent is ended beyond them.")
    breaks: tuple[BreakConfig, ...] = Field((), alias="break", description="Breakpoints for tool calls.", max_length=50)
    protect: OneOrMoreTexts = Field(
        (),
        description="Patterns of files that the agent cannot change, such as `tests/**`: they are mounted read-only.",
        max_length=100,
    )
    network: Literal["all", "model", "none"] = Field(
        "all", description="What the agent can reach: everything, only its model through the relay, or nothing."
    )
    pids: int | None = Field(None, description="Maximum number of processes and threads at a time.", ge=10)
    commit: bool = Field(False, description="Whether Pitstop commits the changes when the agent has passed.")
    message: str | None = Field(None, description="Commit message; made from the prompt by default.", min_length=1)
    session: Literal["new", "continue"] = Field(
        "new", description="`continue` continues the conversation of the last agent of this profile in the run."
    )
    env: dict[str, Any] = Field({}, description="Environment variables; the agent inherits none.")

    @field_validator("protect")
    @classmethod
    def _are_patterns(cls, protect: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(map(_checked_pattern, protect))
