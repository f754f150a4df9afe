"""A step that runs in a container is entered there, through a service and against a real daemon."""

import pytest

from pitstop.service.caller import LOCAL
from tests.containers import BOX, Docker
from tests.contracts.service_workspace import said_until_end
from tests.patience import wait_until
from tests.service.desk import Desk

FLOW = f"""
steps:
  - id: hang
    image: {BOX}
    env: {{WORD: here}}
    run: echo of this container > /tmp/mark; touch begun; until test -e go; do sleep 0.02; done; cat /tmp/mark
"""


async def test_a_running_step_is_entered_in_its_own_container(
    desk: Desk, docker: Docker, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DOCKER_HOST", docker.host)
    async with desk.start(desk.write(FLOW)) as run:
        await wait_until((desk.folder / "begun").exists)
        shell = await desk.opened.workspaces.shell(LOCAL, run.id, "hang")
        await shell.write(b"echo $WORD; cat /tmp/mark; echo entered > /tmp/mark; touch go; exit\n")
        shown = await said_until_end(shell)
        await shell.close()
        summary = await run.wait()
        lines = [line.text for line in (await run.log("hang")).lines]

    assert b"here\r\nof this container\r\n" in shown
    assert (summary.status, lines) == ("passed", ["entered"])
    assert docker.left() == {}
