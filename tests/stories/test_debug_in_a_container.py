"""A step fails in its container; somebody looks into it there, repairs a file, and the run resumes."""

from pathlib import Path

from tests.containers import BOX, TALKATIVE, Docker
from tests.stories.clone import Clone

FLOW = f"""\
image: {BOX}
steps:
  - id: build
    run: echo broken > app
  - id: test
    image: {TALKATIVE}
    env: {{WANTED: repaired}}
    run: grep -x $WANTED app
  - id: ship
    run: echo shipping what was $(cat app)
"""


def test_a_failed_step_is_repaired_in_its_own_container(tmp_path: Path, docker: Docker) -> None:
    clone = Clone(tmp_path)
    (clone.path / "flow.yaml").write_text(FLOW)
    typed = ("c", "sh cat /proc/1/cmdline | head -c 17; echo; cat app; echo $WANTED > app", "retry", "c")
    words = " ".join(f"-c '{line}'" for line in typed)

    ended = clone.runs(f"pitstop debug flow.yaml {words}", {"DOCKER_HOST": docker.host})

    assert ended.returncode == 0, ended.stdout
    for text in ("✘ test  failed", "/sbin/docker-init\nbroken\n", "✔ test#2  passed", "shipping what was repaired"):
        assert text in ended.stdout.replace("\r", ""), ended.stdout
    assert "intervened" in ended.stdout
    assert docker.left() == {}
    assert clone.left_running() == {}
