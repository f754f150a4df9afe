"""A pipeline of four steps failed in the third. Somebody who was not there debugs it, from another terminal.

Nobody had switched debugging on. The run begins again at its third step, with the first two taken from its log and the
files as they were. A shell is opened where the step works, the file is repaired, `@retry` passes, the fourth step runs.
Going back three times brings the files of then back too, and the step fails again.
"""

from pathlib import Path

import pytest

from tests.containers import BOX, TALKATIVE, Docker
from tests.stories.clone import Clone, Person, serving

ON_THIS_MACHINE = """\
name: release
steps:
  - {id: fetch, run: "echo broken > app.txt; echo fetched; echo version=7 >> $PITSTOP_OUTPUT"}
  - {id: build, run: cp app.txt built.txt}
  - id: tests
    env: {WANTED: mended}
    run: |
      grep -qx $WANTED app.txt || { echo "app.txt is not $WANTED"; exit 3; }
  - {id: publish, run: "cp app.txt published.txt; rm built.txt; echo published ${{ .steps.fetch.outputs.version }}"}
"""
IN_CONTAINERS = ON_THIS_MACHINE.replace("steps:", f"image: {BOX}\nsteps:").replace(
    "  - id: tests\n", f"  - id: tests\n    image: {TALKATIVE}\n"
)


@pytest.mark.timeout(300)
def test_a_failed_run_is_debugged_in_its_containers(tmp_path: Path, docker: Docker) -> None:
    clone = Clone(tmp_path)
    with serving(clone, DOCKER_HOST=docker.host) as url:
        debug_the_release(clone, url, IN_CONTAINERS, "/sbin/docker-init", f"{TALKATIVE} sha256:")

    assert docker.left() == {}


@pytest.mark.timeout(300)
def test_a_failed_run_is_debugged_on_this_machine(tmp_path: Path) -> None:
    clone = Clone(tmp_path)
    with serving(clone) as url:
        debug_the_release(clone, url, ON_THIS_MACHINE, Path("/proc/1/cmdline").read_bytes().split(b"\0")[0].decode())


def debug_the_release(clone: Clone, url: str, flow: str, first_process: str, image: str = "") -> None:
    (clone.path / "release.yaml").write_text(flow)
    ended = clone.runs(f"pitstop run release.yaml --workspace fresh --server {url}")
    assert ended.returncode == 1, ended.stdout
    assert "app.txt is not mended" in ended.stdout
    run = clone.runs(f"pitstop runs --server {url}").stdout.split()[0]

    with Person(clone, f"pitstop debug {run} --server {url} --break publish:after") as person:
        person.reads("tests", "(main)")  # before the step; those before it come from the log
        person.enters("context")
        person.reads("tests (tests), 3 of 4", "machine", image, "attach", "--shell")
        person.enters("c")
        person.reads("✘ tests", "failed", "(main)")
        person.enters("sh")
        person.reads("shell in the workspace of tests")
        person.enters("head -c 17 /proc/1/cmdline; echo; cat app.txt built.txt; echo $WANTED > app.txt; echo do''ne")
        person.reads(first_process[:17], "broken", "broken", "done")
        person.enters("@retry")
        person.reads("[pitstop] the run resumes; this shell closes", "✔ tests#2", "after publish", "(main)")
        person.enters("log publish")
        person.reads("published 7", "(main)")
        person.enters("files")
        person.reads("- repo/built.txt", "+ repo/published.txt", "(main)")

        person.enters("back")
        person.reads("before publish", "(main)")
        person.enters("back")
        person.reads("error tests", "(main)")
        person.enters("back")
        person.reads("before tests", "(main)")
        person.enters("sh cat app.txt; ls published.txt || echo not published")
        person.reads("broken", "not published", "(main)")
        person.enters("c")
        person.reads("✘ tests", "failed", "(main)")
        person.enters("c")
        person.reads("the run failed", "intervened")
        assert person.leaves() == 1
        assert "✔ fetch" not in person.said
        assert "✔ build" not in person.said
