"""Profiles: what Pitstop has to know of an agent's CLI, as data."""

import difflib
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import Any, Literal

import msgspec
from msgspec import Struct, field

from pitstop.steps.failures import BadConfig

OWN_PROFILES = ".pitstop/agents"  # the folder of a repository with its profiles
StdinUse = Literal["prompt", "control", "none"]
StreamName = Literal["claude", "codex", "gemini", "opencode", "aider", "lines"]
GateName = Literal["control", "hooks-codex", "hooks-gemini", "none"]
ApiName = Literal["anthropic", "openai", "google"]


class Api(Struct, frozen=True, forbid_unknown_fields=True):
    """The API that the CLI uses, and the secret with its key. `{api}` in words is its URL, or that of the relay."""

    name: ApiName
    url: str
    secret: str


class Profile(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """An agent. `{model}`, `{session}`, `{prompt}` (a file), `{home}`, `{api}` and `{gate}` in words are filled in.

    `secrets` are names of which one must be given; `files` are written to its home, for settings that no flag has.
    """

    name: str
    title: str = ""
    command: tuple[str, ...]
    model_arguments: tuple[str, ...] = ()
    resume_arguments: tuple[str, ...] = ()
    gate_arguments: tuple[str, ...] = ()
    last_arguments: tuple[str, ...] = ()
    stdin: StdinUse = "prompt"
    stream: StreamName = "lines"
    gate: GateName = "none"
    secrets: tuple[str, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict)
    files: Mapping[str, str] = field(default_factory=dict)
    image: str | None = None
    instructions: str = ""
    install: str = ""
    api: Api | None = None

    @property
    def is_guarded(self) -> bool:
        """Whether a held call cannot run, even if Pitstop ends. The hooks of other CLIs may let it run."""
        return self.gate == "control"

    @property
    def program(self) -> str:
        return self.command[0]

    def argv(self, words: Mapping[str, str]) -> tuple[str, ...]:
        """The command line, with the arguments for which a word is given."""
        argv = [*self.command]
        argv += self.model_arguments if words.get("model") else ()
        argv += self.gate_arguments if words.get("gate") else ()
        argv += self.resume_arguments if words.get("session") else ()
        argv += self.last_arguments
        return tuple(filled(word, words) for word in argv)


def filled(text: str, words: Mapping[str, str]) -> str:
    """The text with its placeholders replaced. Other braces stay as they are."""
    for name, word in words.items():
        text = text.replace(f"{{{name}}}", word)
    return text


@cache
def built_in_profiles() -> Mapping[str, Profile]:
    """The profiles that Pitstop has, by name."""
    found = sorted(files("pitstop.steps.agents.profiles").iterdir(), key=lambda each: each.name)
    texts = [each.read_bytes() for each in found if each.name.endswith(".yaml")]
    return {profile.name: profile for profile in map(read_profile, texts)}


def read_profile(text: bytes) -> Profile:
    """A profile from YAML. msgspec.ValidationError says what is wrong with it."""
    written: Any = msgspec.yaml.decode(text)
    return msgspec.convert(written, Profile)


def own_profile(name: str, text: str, cli: str | None = None) -> Profile:
    """A profile of a repository: a built-in one that it extends, or the given one, with other fields. BadConfig."""
    file = f"{OWN_PROFILES}/{name}.yaml"
    try:
        written: Any = msgspec.yaml.decode(text)
        base = profile_named(cli or written.pop("extends", "claude"))
        return msgspec.convert({**msgspec.to_builtins(base), **written, "name": name}, Profile)
    except (msgspec.DecodeError, AttributeError, TypeError) as error:
        raise BadConfig("agent", [f"invalid profile {file}: {error}"]) from error


def profile_named(name: str) -> Profile:
    """A built-in profile; BadConfig for one that does not exist."""
    known = built_in_profiles()
    if name in known:
        return known[name]
    nearest = difflib.get_close_matches(name, known, n=1)
    others = f"use {', '.join(known)}, a file {OWN_PROFILES}/{name}.yaml, or `command` with a command line"
    raise BadConfig(
        "agent", [f"there is no agent profile {name!r}: {f'did you mean {nearest[0]!r}?' if nearest else others}"]
    )
