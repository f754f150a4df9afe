"""What the tests of the playground share: agents that execute their prompts as scripts."""

from itertools import count
from typing import Any

from pitstop.service.caller import LOCAL, Caller
from pitstop.service.playground import NewTrial, Playground, TrialInfo, TrialSettings
from tests.patience import wait_until
from tests.platform.workbench import Workbench

SCRIPT = """\
extends: aider
command: [sh]
stream: lines
stdin: prompt
secrets: []
api: null
"""
WRITER = SCRIPT.replace("[sh]", "[sh, -c, 'cat > prompt.txt; echo changed > a.txt']")
TALKER = SCRIPT.replace("stream: lines", "stream: claude")
FILES = {"a.txt": "one\n", ".pitstop/agents/script.yaml": SCRIPT, ".pitstop/agents/writer.yaml": WRITER}
FILES[".pitstop/agents/talker.yaml"] = TALKER
USERS = count(1)
ENDED = ("passed", "failed", "cancelled")


def playground_of(bench: Workbench) -> Playground:
    assert bench.house.service.playground is not None
    return bench.house.service.playground


def someone() -> Caller:
    """An operator who has started no trial yet: each may start a few a minute."""
    return Caller(f"user-{next(USERS)}", "operator")


async def fill(bench: Workbench) -> None:
    await bench.commit(FILES)
    await bench.push()


async def begin(bench: Workbench, prompt: str, profile: str = "script", **settings: Any) -> TrialInfo:
    new = NewTrial(repo=bench.repo, profiles=(profile,), prompt=prompt, settings=TrialSettings(**settings))
    (trial,) = await playground_of(bench).create(someone(), new)
    return trial


async def reach(bench: Workbench, trial: str, *states: str) -> TrialInfo:
    async def is_there() -> TrialInfo | None:
        found = await playground_of(bench).get(LOCAL, trial)
        return found if found.state in states else None

    found: TrialInfo = await wait_until(is_there)
    return found


async def end_of(bench: Workbench, trial: TrialInfo) -> TrialInfo:
    return await reach(bench, trial.id, *ENDED)


async def tried(bench: Workbench, prompt: str, profile: str = "script", **settings: Any) -> TrialInfo:
    """A trial that has ended."""
    return await end_of(bench, await begin(bench, prompt, profile, **settings))


async def branches(bench: Workbench) -> list[str]:
    return [each.name for each in (await bench.repos.branches(LOCAL, bench.repo, limit=100)).branches]


async def hidden_refs(bench: Workbench) -> list[str]:
    printed = await bench.plain_git("for-each-ref", "--format=%(refname)", "refs/pitstop", at=bench.bare)
    return printed.split()
