"""How git is run in a folder of a user: with the user's configuration, but without programs that it names there."""

from collections.abc import Collection
from pathlib import Path

from pitstop.git.commands import finish_git
from pitstop.settings import environment_for_commands

TIMEOUT_SECONDS = 10.0
# A repository may name programs that git runs by itself: none is run only because a folder is looked at
_PLAIN = ("-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null")


def place_of(folder: str | Path) -> tuple[str, ...]:
    """The words that let git work in a folder."""
    return (*_PLAIN, "-C", str(folder))


def environment_of_user() -> dict[str, str]:
    return {**environment_for_commands(), "GIT_OPTIONAL_LOCKS": "0", "GIT_TERMINAL_PROMPT": "0", "LC_ALL": "C"}


async def git_in(
    folder: str | Path, *words: str, codes: Collection[int] = (0,), timeout_seconds: float | None = None
) -> str:
    """What git prints in a folder. Raises `GitProblem`; cancelling it kills git."""
    outcome = await finish_git(
        place_of(folder),
        words,
        environment=environment_of_user(),
        codes=codes,
        timeout_seconds=timeout_seconds or TIMEOUT_SECONDS,
    )
    return outcome.output.decode(errors="replace")
