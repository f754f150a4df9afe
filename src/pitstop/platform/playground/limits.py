"""What a trial may ask for, and how many trials there may be."""

import re

from pydantic import ValidationError

from pitstop.errors import BadRequest
from pitstop.git.names import is_writable_path
from pitstop.platform.playground.trial_values import NewTrial
from pitstop.steps.agents.agent_config import BudgetConfig

LONGEST_PROMPT = 100_000
MOST_PROFILES = 4
MOST_RUNNING = 10  # trials of a repository
MOST_A_MINUTE = 10  # new trials of a caller
MOST_KEPT = 1_000  # trials of a repository
KEPT_SECONDS = 7 * 24 * 3600.0
LONGEST_SAVE_NAME = 40

_SAVE_NAME = re.compile(rf"[A-Za-z0-9][A-Za-z0-9-]{{0,{LONGEST_SAVE_NAME - 1}}}")


def check_trial(new: NewTrial) -> str:
    """The repository. BadRequest for what cannot be tried."""
    if new.repo is None:
        raise BadRequest(
            "a trial needs a repository: name one; with the input `text`, the agent sees none of its files"
        )
    count = len(new.profiles)
    if not 1 <= count <= MOST_PROFILES or len(set(new.profiles)) < count:
        raise BadRequest(f"a trial needs 1 to {MOST_PROFILES} different agents, but {count} are named")
    if not new.prompt.strip():
        raise BadRequest("the prompt is empty: write what the agent is to do")
    if len(new.prompt) > LONGEST_PROMPT:
        raise BadRequest(f"the prompt has {len(new.prompt):,} characters, but at most {LONGEST_PROMPT:,} are allowed")
    settings = new.settings
    if (settings.path is not None) != (settings.input == "file"):
        raise BadRequest("the input `file` needs a `path`, and no other input takes one")
    if settings.path is not None and not is_writable_path(settings.path):
        raise BadRequest(f"{settings.path!r} cannot be the path of a file in a repository")
    if settings.save is not None:
        check_save_name(settings.save)
    try:
        BudgetConfig.model_validate(dict(settings.budget))
    except ValidationError as error:
        places = (".".join(map(str, each["loc"])) + ": " + each["msg"] for each in error.errors())
        raise BadRequest(f"invalid budget: {'; '.join(places)}") from error
    return new.repo


def check_save_name(name: str) -> str:
    """BadRequest."""
    if not _SAVE_NAME.fullmatch(name):
        raise BadRequest(
            f"invalid name {name!r}: use 1 to {LONGEST_SAVE_NAME} letters, digits and dashes, and no dash at the start"
        )
    return name
