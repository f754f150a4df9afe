"""Which stored secrets the runs of a server have, and where a flow is warned of."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from pitstop.runs.flow_info import SecretUse
from pitstop.service.caller import LOCAL
from pitstop.service.local.server import ServerService
from pitstop.service.runs import FixRequest, RerunRequest, RunRequest
from tests.patience import wait_until
from tests.service.test_server import Server

SHOWS = 'echo "${KEY-none} ${OTHER-none}" > seen'


class Stored(Server):
    """A server with a flows folder, and secrets to put into it."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.flows = folder / "flows"
        self.flows.mkdir()

    def write(self, name: str, text: str) -> Path:
        path = self.flows / f"{name}.yaml"
        path.write_text(text)
        return path

    async def put(self, name: str, value: str, scope: str = "server") -> None:
        await self.secrets.put(LOCAL, name, scope, value, ())

    async def run(self, service: ServerService, flow: str, text: str | None = None) -> str:
        run = await service.runs.start(LOCAL, RunRequest(flow=flow, text=text, folder=str(self.folder)))
        summary = await run.wait()
        assert summary.status == "passed", summary
        seen = self.folder / "seen"
        return seen.read_text().strip() if seen.exists() else ""


@pytest.fixture
def server(tmp_path: Path) -> Stored:
    return Stored(tmp_path)


@pytest.fixture
async def service(server: Stored) -> AsyncIterator[ServerService]:
    async with server.open(flow_folders=[server.flows]) as opened:
        await server.put("KEY", "of-the-server")
        await server.put("OTHER", "of-others")
        yield opened


async def test_a_word_in_the_text_gives_a_run_no_secret(server: Stored, service: ServerService) -> None:
    text = f"# KEY and OTHER\nsteps: [{{run: '{SHOWS}'}}, {{check: '(.secrets | length) == 0'}}]"
    assert await server.run(service, "a.yaml", text) == "none none"


async def test_a_listed_secret_is_in_the_environment_and_in_expressions(server: Stored, service: ServerService) -> None:
    text = f"steps: [{{run: '{SHOWS}', secrets: [KEY]}}, {{check: '.secrets == {{KEY: \"of-the-server\"}}'}}]"
    assert await server.run(service, "a.yaml", text) == "of-the-server none"


@pytest.mark.parametrize(
    "step",
    [
        "check: '.secrets.OTHER == \"of-others\"'",
        'check: \'.secrets["OTHER"] == "of-others"\'',
        "run: 'test of-others = ${{ .secrets.OTHER }}'",
        "run: 'test of-others = \"$IT\"', env: {IT: '${{ .secrets.OTHER }}'}",
        "run: 'true', if: '.secrets.OTHER == \"of-others\" or error(\"none\")'",
        "repeat: {until: '.secrets.OTHER == \"of-others\"', times: 1}, steps: [{run: 'true'}]",
    ],
)
async def test_a_secret_that_an_expression_reads_is_in_no_environment(
    server: Stored, service: ServerService, step: str
) -> None:
    assert await server.run(service, "a.yaml", f"steps: [{{run: '{SHOWS}'}}, {{{step}}}]") == "none none"


async def test_a_stored_flow_has_the_secrets_of_its_own_scope(server: Stored, service: ServerService) -> None:
    text = f"secrets: [KEY]\nsteps: [{{run: '{SHOWS}'}}]"
    path = server.write("ci", text)
    await server.put("KEY", "of-the-flow", "flow::ci")

    assert await server.run(service, "ci") == "of-the-flow none"
    assert await server.run(service, str(path)) == "of-the-flow none"
    assert await server.run(service, "other.yaml", text) == "of-the-server none"


async def test_another_text_with_the_name_of_a_stored_flow_has_not_its_secrets(
    server: Stored, service: ServerService
) -> None:
    path = server.write("ci", "steps: [{run: 'true'}]")
    await server.put("KEY", "of-the-flow", "flow::ci")

    text = f"secrets: [KEY]\nsteps: [{{run: '{SHOWS}'}}]"
    assert await server.run(service, str(path), text) == "of-the-server none"


async def test_the_check_of_a_server_knows_what_is_stored(server: Stored, service: ServerService) -> None:
    told = await service.flows.check(LOCAL, "a.yaml", "steps: [{run: 'echo $KEY $HOME'}]")
    assert [(each.line, each.column, each.hint) for each in told.warnings] == [
        (1, 21, "add `secrets: [KEY]` to the step")
    ]


async def test_the_check_lists_the_secrets_of_a_flow_and_which_are_stored(
    server: Stored, service: ServerService
) -> None:
    text = "secrets: [KEY]\nsteps: [{check: '.secrets.THIRD != null'}]"
    told = await service.flows.check(LOCAL, "a.yaml", text)
    assert told.secrets == (SecretUse("KEY", True), SecretUse("THIRD", False))


async def test_agents_of_a_fix_loop_that_a_run_is_given_have_its_secrets(
    server: Stored, service: ServerService
) -> None:
    agents = server.folder / ".pitstop" / "agents"
    agents.mkdir(parents=True)
    (agents / "spy.yaml").write_text(f"extends: command\ncommand: [sh, -c, '{SHOWS}']\n")
    test = "echo 'FAILED tests/test_a.py::test_a - AssertionError: no'; exit 1"
    started = RunRequest(flow="a.yaml", text=f"steps: [{{id: test, run: {test!r}}}]", folder=str(server.folder))
    failed = await service.runs.start(LOCAL, started)
    assert (await failed.wait()).status == "failed"

    options = {"agent": "spy", "secrets": ["KEY"], "iterations": 1}
    run = await service.runs.rerun(LOCAL, failed.id, RerunRequest(fix=FixRequest(options=options)))
    seen = server.folder / "seen"
    await wait_until(lambda: seen.exists() and seen.read_text())
    assert seen.read_text() == "of-the-server none\n"
    await service.runs.cancel(LOCAL, run.id, "seen enough")
    await run.wait()
