"""Every flow in examples/ runs, and does what its first line says."""

from pathlib import Path
from typing import NamedTuple

import pytest

from tests.containers import BOX, Docker
from tests.ports import free_port
from tests.stories.clone import ROOT, Clone, Person

YAML = sorted(path.relative_to(ROOT) for path in ROOT.glob("examples/**/*.yaml"))
FLOWS = [path.as_posix() for path in YAML if ".pitstop" not in path.parts]  # which has profiles of agents


class Example(NamedTuple):
    """How an example is run, and what it says."""

    words: str
    said: tuple[str, ...]
    exit_code: int = 0
    env: tuple[tuple[str, str], ...] = ()


EXAMPLES = [
    Example("examples/parallel.yaml", ("report | format passed, types passed, tests passed",)),
    Example(
        "examples/matrix.yaml",
        tuple(f"testing on Python {version} with {db}" for version in (3.11, 3.13) for db in ("sqlite", "postgres")),
    ),
    Example("examples/server.yaml -i port={port}", ("home passed", "missing passed", "server cancelled")),
    Example("examples/poll.yaml", ("turn 0: starting", "turn 3: ready")),
    Example(
        "examples/retry.yaml --workspace fresh",
        ("connection reset", "download took 3 attempts, the update check timed_out"),
    ),
    Example("examples/call/flow.yaml --workspace fresh", ("releasing dist/app-1.4.0.tar, 32 bytes",)),
    Example("examples/call/flow.yaml --workspace fresh -i version=2.0.0", ("releasing dist/app-2.0.0.tar",)),
    Example("examples/call/build.yaml --workspace fresh -i target=app", ("pack passed",)),
    Example("examples/cleanup.yaml", ("the tests passed; stopping the database",)),
    Example("examples/cleanup.yaml -i fail=true", ("a test failed", "the tests failed; stopping the database"), 1),
    Example("examples/approve.yaml", ("no user can approve",), 1),
    Example("examples/reports.yaml --workspace fresh", ("2 passed, 1 skipped",)),
    Example("examples/python/flow.yaml --workspace examples/python", ("bill passed",)),
    Example("examples/secrets.yaml", ("token failed",), 1),
    Example(
        "examples/secrets.yaml --secret DEPLOY_TOKEN",
        ("logging in with ***",),
        env=(("DEPLOY_TOKEN", "correct-horse"),),
    ),
    Example("examples/choose.yaml", ("deploying to production", "announcing the release")),
    Example("examples/choose.yaml -i branch=release/2", ("deploying to staging", "announce skipped")),
    Example("examples/choose.yaml -i branch=idea", ("nothing to deploy for idea",)),
    Example("examples/broken/flow.yaml --workspace examples/broken", ("checks.tests failed",), 1),
    Example("examples/agent/flow.yaml --workspace fresh", ("fix | I replaced the comma.", "again | 12.50")),
    Example("examples/fix/flow.yaml --workspace examples/fix", ("tests fixed", "total | 12,50 is 1250 cents")),
    Example("examples/agent/stops.yaml --workspace examples/agent", ("fix | [3] shell: rm -rf cache", "test | 12.50")),
]


IN_CONTAINERS = "examples/containers.yaml"


@pytest.fixture
def clone(tmp_path: Path) -> Clone:
    return Clone(tmp_path)


def test_every_example_is_run_here() -> None:
    assert {example.words.split()[0] for example in EXAMPLES} | {IN_CONTAINERS} == set(FLOWS)


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: example.words)
def test_an_example_does_what_it_says(clone: Clone, example: Example) -> None:
    command = f"pitstop run {example.words.format(port=free_port())}"
    ended = clone.runs(command, dict(example.env))
    assert ended.returncode == example.exit_code, ended.stdout
    for text in example.said:
        assert text in ended.stdout
    assert not any(value in ended.stdout for _, value in example.env)  # they are secrets
    assert clone.left_running() == {}


def test_the_steps_of_an_example_run_in_containers(clone: Clone, docker: Docker) -> None:
    docker.says("tag", BOX, "busybox:1.37")  # which is what it is

    ended = clone.runs(f"pitstop run {IN_CONTAINERS} --workspace fresh", {"DOCKER_HOST": docker.host})

    assert ended.returncode == 0, ended.stdout
    for text in ("service clock is ready", "ask | hello from Linux", "in sha256:"):
        assert text in ended.stdout
    assert docker.left() == {}
    assert clone.left_running() == {}


def test_a_person_is_asked_and_the_run_goes_on(clone: Clone) -> None:
    with Person(clone, "pitstop run --plain examples/approve.yaml") as person:
        person.reads("Replace the 3 machines?")
        person.enters("y")
        person.reads("approved", "deploy passed")
        assert person.leaves() == 0


def test_a_person_who_says_no_ends_it(clone: Clone) -> None:
    with Person(clone, "pitstop run --plain examples/approve.yaml") as person:
        person.reads("Replace the 3 machines?")
        person.enters("n")
        person.reads("sure failed", "deploy failed")
        assert person.leaves() == 1


@pytest.mark.parametrize("flow", FLOWS)
def test_an_example_says_what_it_shows(flow: str) -> None:
    assert flow.endswith("build.yaml") or (ROOT / flow).read_text(encoding="utf-8").startswith("# ")
