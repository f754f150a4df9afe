"""Looking for the programs of agents on this machine, and asking each for its version."""

import asyncio
import os
import re
import shutil
import signal
from asyncio.subprocess import DEVNULL, PIPE
from contextlib import suppress

from msgspec import Struct

from pitstop.service.agents import AgentInfo, Stops
from pitstop.steps.agents.image_recipes import image_recipes
from pitstop.steps.agents.profile import Profile, built_in_profiles

ANSWER_SECONDS = 10.0
SHOWN_CHARACTERS = 80
_VERSION = re.compile(r"\d+\.\d+[\w.+-]{0,40}")


class Answer(Struct, frozen=True):
    """What a program said about its version, or why it did not."""

    version: str | None = None
    problem: str | None = None


async def find_agents(answer_seconds: float = ANSWER_SECONDS) -> tuple[AgentInfo, ...]:
    """Every profile that has a program of its own; all programs are asked at the same time."""
    profiles = [profile for profile in built_in_profiles().values() if profile.install]
    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(_find(profile, answer_seconds)) for profile in profiles]
    return tuple(task.result() for task in tasks)


async def _find(profile: Profile, answer_seconds: float) -> AgentInfo:
    path = shutil.which(profile.program)
    answer = Answer() if path is None else await ask_version(path, answer_seconds)
    recipe = image_recipes().get(profile.name)
    return AgentInfo(
        name=profile.name,
        title=profile.title,
        program=profile.program,
        install=profile.install,
        secrets=profile.secrets,
        stops=stops_of(profile),
        path=path,
        version=answer.version,
        problem=answer.problem,
        image=None if recipe is None else recipe.image,
    )


def stops_of(profile: Profile) -> Stops:
    """What a stop at a tool call of this agent is worth."""
    if profile.gate == "none":
        return "none"
    return "guarantee" if profile.is_guarded else "convenience"


async def ask_version(path: str, answer_seconds: float) -> Answer:
    """What `--version` prints. A program that does not answer in time is killed, with all that it started."""
    try:
        process = await asyncio.create_subprocess_exec(
            path, "--version", stdin=DEVNULL, stdout=PIPE, stderr=PIPE, start_new_session=True
        )
    except OSError as error:
        return Answer(problem=f"it cannot be started: {error.strerror or error}")
    has_answered = False
    try:
        async with asyncio.timeout(answer_seconds):
            said, complained = await process.communicate()
        has_answered = True
    except TimeoutError:
        return Answer(problem=f"`--version` did not answer within {answer_seconds:g} seconds")
    finally:
        if not has_answered:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            await process.communicate()  # which closes its pipes too
    return read_answer(process.returncode, said.decode(errors="replace"), complained.decode(errors="replace"))


def read_answer(code: int | None, said: str, complained: str) -> Answer:
    """The first thing that looks like a version, because some programs print a greeting or their name first."""
    if code != 0:
        reason = (complained.strip() or said.strip() or "without a message").splitlines()[-1]
        return Answer(problem=f"`--version` failed with exit code {code}: {reason[:SHOWN_CHARACTERS]}")
    found = _VERSION.search(said)
    return Answer(problem="`--version` printed no version") if found is None else Answer(found[0])
