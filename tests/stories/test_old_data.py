"""Pitstop is upgraded: runs and secrets that an earlier version stored are still there, and can be worked with.

The archives are made by `tests/fixtures/old_data/make.py`. The processes that wrote them were killed, so one run was
in the middle of its commands and two were paused.
"""

import json
import tarfile
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from tests.databases import postgres, postgres_url
from tests.doors.http.bench import Bench
from tests.stories.clone import Clone, serving

__all__ = ["postgres", "postgres_url"]

OLD_DATA = Path(__file__).parents[1] / "fixtures" / "old_data"
FINISHED_LINES = [
    "combos[0].combo | sqlite 1",
    "combos[1].combo | sqlite 2",
    "combos[2].combo | postgres 1",
    "combos[3].combo | postgres 2",
    "sign | signed with ***",
    "sign | length 13",
    "publish | published 7 built",
]


def unpack(archive: str, tmp_path: Path) -> Clone:
    """A clone whose home is the archive's."""
    clone = Clone(tmp_path)
    home = tmp_path / "state"
    with tarfile.open(OLD_DATA / archive) as packed:
        if hasattr(tarfile, "tar_filter"):  # not in Python 3.11.2, which Debian has
            packed.extraction_filter = staticmethod(tarfile.tar_filter)
        packed.extractall(home)
    clone.env["PITSTOP_HOME"] = str(home)
    return clone


def say(clone: Clone, command: str) -> str:
    """What a command that succeeds prints."""
    ended = clone.runs(command)
    assert ended.returncode == 0, ended.stdout
    return ended.stdout


def find_runs(clone: Clone) -> dict[str, Any]:
    """The oldest run of each flow, by the flow's name."""
    listed = [json.loads(line) for line in say(clone, "pitstop runs --json").splitlines()]
    return {run["flow"]: run for run in listed}


class Server:
    """A server of today with the data of then: `http` asks it, and so do the commands of `clone`."""

    def __init__(self, clone: Clone, http: Bench) -> None:
        self.clone = clone
        self.http = http
        self.runs = {flow: run["id"] for flow, run in find_runs(clone).items()}

    async def debug(self, flow: str, verb: str, **body: Any) -> Any:
        return await self.http.post(f"/runs/{self.runs[flow]}/debug/{verb}", **body)

    async def wait_stop(self, flow: str, above: int = 0) -> Any:
        (stop,) = await self.http.wait_stops(self.runs[flow], above=above)
        return stop

    async def lines(self, flow: str, occurrence: str) -> list[str]:
        page = await self.http.get(f"/runs/{self.runs[flow]}/log", occurrence=occurrence)
        return [line["text"] for line in page["lines"]]

    async def vars(self, flow: str, stop: int) -> Any:
        return (await self.debug(flow, "evaluate", stop=stop, expression=".vars"))["values"][0]


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=pytest.mark.needs("postgres"))])
async def server(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Server]:
    """The SQLite file as it was when its server was killed, or a PostgreSQL that its backup was restored to."""
    clone = unpack("server.tar.xz", tmp_path)
    if request.param == "postgres":
        clone.env["PITSTOP_DB"] = request.getfixturevalue("postgres_url")
        say(clone, f"pitstop restore {OLD_DATA / 'backup.zip'}")
    http = Bench(tmp_path)
    with serving(clone) as http.url:
        token = say(clone, 'cat "$PITSTOP_HOME/token"').strip()
        clone.env |= {"PITSTOP_SERVER": http.url, "PITSTOP_TOKEN": token}
        async with http.new_client(token) as http.client:
            yield Server(clone, http)


async def test_a_finished_run_of_a_server_is_read_and_run_again(server: Server) -> None:
    run = server.runs["finished"]
    look_at_finished(server.clone, run)

    again = say(server.clone, f"pitstop rerun {run}")
    assert [line for line in again.splitlines() if line in FINISHED_LINES] == FINISHED_LINES  # the secret is stored
    assert "flaky is retried" in again

    from_sign = say(server.clone, f"pitstop rerun {run} --from sign")
    assert "build started" not in from_sign
    assert [line for line in from_sign.splitlines() if line in FINISHED_LINES] == FINISHED_LINES[4:]
    assert [secret["name"] for secret in await server.http.get("/secrets")] == ["DEPLOY_KEY"]


async def test_a_paused_run_of_a_server_is_at_its_stop_and_goes_on(server: Server) -> None:
    stop = await server.wait_stop("paused")
    assert (stop["id"], stop["step"], stop["position"]) == (2, "tests", "before")
    assert await server.vars("paused", 2) == {"region": "us", "color": "blue"}

    await server.debug("paused", "continue", stop=2)
    assert (await server.wait_stop("paused", above=2))["step"] == "deploy"
    await server.debug("paused", "step", stop=3, kind="back")
    assert (await server.wait_stop("paused", above=3))["step"] == "tests"
    await server.debug("paused", "set", stop=4, path=".vars.color", value="green")
    await server.debug("paused", "continue", stop=4)
    await server.wait_stop("paused", above=4)
    await server.debug("paused", "continue", stop=5)

    ended = await server.http.wait_ended(server.runs["paused"])
    assert (ended["status"], ended["intervened"]) == ("passed", True)
    assert await server.lines("paused", "deploy") == ["region.txt", "tested.txt", "deploying us in green"]


async def test_a_rewound_run_of_a_server_is_at_its_stop_and_goes_on(server: Server) -> None:
    stop = await server.wait_stop("rewound")
    assert (stop["id"], stop["step"], stop["position"]) == (4, "tests", "before")
    assert await server.vars("rewound", 4) == {"region": "us", "color": "red"}

    await server.debug("rewound", "step", stop=4, kind="back")
    assert (await server.wait_stop("rewound", above=4))["step"] == "build"
    await server.debug("rewound", "set", stop=5, path=".vars.region", value="asia")
    await server.debug("rewound", "continue", stop=5)
    assert (await server.wait_stop("rewound", above=5))["step"] == "tests"
    await server.debug("rewound", "continue", stop=6)
    await server.wait_stop("rewound", above=6)
    await server.debug("rewound", "continue", stop=7)

    assert (await server.http.wait_ended(server.runs["rewound"]))["status"] == "passed"
    assert await server.lines("rewound", "deploy") == ["region.txt", "tested.txt", "deploying asia in red"]


async def test_an_interrupted_run_of_a_server_goes_on_as_its_steps_say(server: Server) -> None:
    stop = await server.wait_stop("interrupted")
    assert (stop["step"], stop["reasons"]) == ("jobs.pauses", ["interrupted"])
    assert await server.lines("interrupted", "jobs.pauses") == ["1"]  # it was not started again

    await server.debug("interrupted", "continue", stop=stop["id"])
    run = server.runs["interrupted"]
    assert (await server.http.wait_ended(run))["status"] == "passed"

    statuses = {step["occurrence"]: step["status"] for step in await server.http.get(f"/runs/{run}/steps")}
    assert statuses == {
        "before": "passed",
        "jobs": "passed",
        "jobs.repeats": "passed",
        "jobs.fails": "failed",
        "jobs.pauses": "passed",
        "after": "passed",
    }
    assert await server.lines("interrupted", "jobs.repeats") == ["1", "2"]
    assert await server.lines("interrupted", "jobs.fails") == ["1"]
    assert await server.lines("interrupted", "jobs.pauses") == ["1", "2"]
    assert await server.lines("interrupted", "after") == ["once"]


def test_a_finished_run_of_a_folder_is_read_and_run_again(tmp_path: Path) -> None:
    clone = unpack("folder.tar.xz", tmp_path)
    run = find_runs(clone)["finished"]["id"]
    look_at_finished(clone, run)

    again = say(clone, f"pitstop rerun {run} --secret DEPLOY_KEY=correct-horse")
    assert [line for line in again.splitlines() if line in FINISHED_LINES] == FINISHED_LINES
    from_combos = say(clone, f"pitstop rerun {run} --from combos --secret DEPLOY_KEY=correct-horse")
    assert "build started" not in from_combos
    assert [line for line in from_combos.splitlines() if line in FINISHED_LINES] == FINISHED_LINES[:6]


def look_at_finished(clone: Clone, run: str) -> None:
    assert find_runs(clone)["finished"]["status"] == "passed"
    assert say(clone, f"pitstop logs {run}").splitlines() == FINISHED_LINES
    assert say(clone, f"pitstop artifacts {run}").split() == ["app.txt"]
    assert say(clone, f"pitstop artifacts {run} app.txt") == "built\n"
    history = say(clone, f"pitstop history {run}")
    assert [" ".join(line.split()[3:]) for line in history.splitlines()[:6]] == [
        "before build",
        "after build passed",
        "before flaky",
        "error flaky failed",
        "before flaky#2",
        "after flaky#2 passed",
    ]


@pytest.mark.parametrize("flow", ["paused", "rewound"])
def test_a_paused_run_of_a_folder_begins_again_at_its_stop(tmp_path: Path, flow: str) -> None:
    """Without a server a run ends with its process; a new one takes over what was done, with its edit and files."""
    clone = unpack("folder.tar.xz", tmp_path)
    run = find_runs(clone)[flow]
    assert (run["status"], run["error"]) == ("cancelled", "the process that ran it was killed")

    commands = ("p .vars", "sh ls", "break deploy", "continue", "back", "sh ls", "continue", "continue")
    words = " ".join(f"-c '{command}'" for command in commands)
    said = say(clone, f"pitstop debug {run['id']} --from tests {words}")

    assert '{"region": "us", "color": "red"}' in said
    assert said.count("(main) sh ls\nregion.txt\n(main)") == 2  # going back removes what `tests` has written
    assert said.count("testing us in red") == 2
    assert "deploying us in red" in said
    assert "the run passed, intervened" in said


def test_an_interrupted_run_of_a_folder_is_run_again_when_asked(tmp_path: Path) -> None:
    clone = unpack("folder.tar.xz", tmp_path)
    run = find_runs(clone)["interrupted"]
    assert (run["status"], run["error"]) == ("cancelled", "the process that ran it was killed")
    logs = say(clone, f"pitstop logs {run['id']}").splitlines()
    assert sorted(logs) == ["before | once", "jobs.fails | 1", "jobs.pauses | 1", "jobs.repeats | 1"]

    again = say(clone, f"pitstop rerun {run['id']} --from jobs -i seconds=0")

    assert "before started" not in again
    assert [again.count(f"jobs.{job} | 1\n") for job in ("repeats", "fails", "pauses")] == [1, 1, 1]
    assert say(clone, f"pitstop logs {run['id']}").splitlines() == logs  # the run of then stays as it was
