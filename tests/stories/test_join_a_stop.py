"""A run stands still on a server. People come to it from other terminals: one only looks, another repairs it."""

import json
from pathlib import Path

import pytest

from tests.containers import BOX, Docker
from tests.stories.clone import Clone, Person, serving

ON_THIS_MACHINE = """\
steps:
  - {id: build, run: echo broken > app.txt}
  - {id: tests, run: grep -q mended app.txt}
"""
IN_CONTAINERS = f"image: {BOX}\n{ON_THIS_MACHINE}"


@pytest.mark.timeout(300)
def test_a_stop_in_a_container_is_joined_from_other_terminals(tmp_path: Path, docker: Docker) -> None:
    clone = Clone(tmp_path)
    with serving(clone, DOCKER_HOST=docker.host) as url:
        join_and_repair(clone, url, IN_CONTAINERS)

    assert docker.left() == {}


@pytest.mark.timeout(300)
def test_a_stop_on_this_machine_is_joined_from_other_terminals(tmp_path: Path) -> None:
    clone = Clone(tmp_path)
    with serving(clone) as url:
        join_and_repair(clone, url, ON_THIS_MACHINE)


def join_and_repair(clone: Clone, url: str, flow: str) -> None:
    (clone.path / "flow.yaml").write_text(flow)
    with Person(clone, f"pitstop debug flow.yaml --workspace fresh --server {url}") as author:
        author.reads("(main)")
        author.enters("c")
        author.reads("✘ tests", "(main)")
        author.enters("leave")
        assert author.leaves() == 0
    run = clone.runs(f"pitstop runs --server {url}").stdout.split()[0]

    with Person(clone, f"pitstop debug {run} --server {url} --sidecar") as visitor:
        visitor.reads("read-only shell in the workspace of tests")
        visitor.enters("cat app.txt; echo mended > app.txt || echo re''fused")
        visitor.reads("broken", "refused")
        visitor.enters("exit")
        visitor.reads("(main)")
        visitor.enters("leave")
        assert visitor.leaves() == 0

    with Person(clone, f"pitstop debug {run} --server {url} --shell --record") as mender:
        mender.reads("shell in the workspace of tests")
        mender.enters("cat app.txt; echo mended > app.txt; echo do''ne")
        mender.reads("broken", "done")
        mender.enters("@retry")
        mender.reads("the run resumes", "the run passed", "intervened")
        assert mender.leaves() == 0

    with Person(clone, f"pitstop debug {run} --server {url} --shell") as late:  # it is over: it begins again
        late.reads("shell in the workspace of build")
        late.ends_shell()
        late.reads("(main)")
        late.enters("quit")
        late.reads("Cancel the run?")
        late.enters("y")
        assert late.leaves() != 0
    (recording,) = clone.runs(f"pitstop artifacts {run} --server {url}").stdout.split()
    cast = clone.runs(f"pitstop artifacts {run} {recording} --server {url}").stdout.splitlines()
    assert json.loads(cast[0])["version"] == 2
    assert any("done" in line for line in cast)


def test_a_run_of_this_terminal_is_debugged_with_a_shell_at_once(tmp_path: Path) -> None:
    clone = Clone(tmp_path)
    (clone.path / "flow.yaml").write_text(ON_THIS_MACHINE)
    assert clone.runs("pitstop run flow.yaml").returncode == 1
    run = clone.runs("pitstop runs").stdout.split()[0]

    with Person(clone, f"pitstop debug {run} --shell") as person:
        person.reads("shell in the workspace of tests")
        person.enters("echo mended > app.txt; echo do''ne")
        person.reads("done")
        person.enters("@resume")
        person.reads("the run resumes; this shell closes", "✔ tests", "the run passed")
        assert person.leaves() == 0

    refused = clone.runs(f"pitstop debug {run} --shell")
    assert (refused.returncode, "there is no terminal" in refused.stdout) == (77, True)
