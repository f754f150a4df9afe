"""`pitstop logs` of a run whose step was interrupted and ran again."""

from argparse import Namespace
from pathlib import Path

import pytest

from pitstop.doors.cli.logs import _show
from pitstop.service.caller import LOCAL
from pitstop.service.runs import ActiveRun
from tests.patience import wait_until
from tests.service.test_server import Server

REPEATED = """
    name: repeated
    steps:
      - {id: it, run: "echo try; while [ ! -e go ]; do sleep 0.02; done; echo ends"}
"""


async def has_lines(run: ActiveRun) -> bool:
    return bool((await run.log("it")).lines)


@pytest.mark.parametrize("follow", [False, True])
async def test_the_lines_of_a_step_that_was_repeated_are_shown_once(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], follow: bool
) -> None:
    server = Server(tmp_path)
    async with server.open() as service:
        run = await service.runs.start(LOCAL, server.request(REPEATED))
        await wait_until(lambda: has_lines(run))  # a server that ends does not wait for what was just written
    (server.folder / "go").touch()
    async with server.open() as service:
        await (await service.runs.get(LOCAL, run.id)).wait()
        await _show(service, Namespace(run=run.id, step=None, search=None, follow=follow))

    assert capsys.readouterr().out.splitlines() == ["it | try", "it | try", "it | ends"]
