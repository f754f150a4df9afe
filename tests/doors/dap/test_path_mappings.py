"""Files of a server that are at another place here: breakpoints and stack frames."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from pitstop.doors.dap.protocol.arguments import PathMapping
from pitstop.doors.dap.session.path_mappings import PathMappings
from pitstop.service.caller import LOCAL
from pitstop.service.runs import DebugRequest, RunRequest
from tests.doors.dap.adapter_client import AdapterClient
from tests.doors.dap.flows import SHOP, line_of
from tests.doors.dap.test_attach import attach
from tests.doors.http.bench import Bench

LAST = line_of("shop.yaml", "id: last")


@pytest.fixture
async def server(tmp_path: Path) -> AsyncIterator[Bench]:
    async with Bench(tmp_path).serving() as bench:
        yield bench


def test_the_longest_root_counts_and_other_paths_stay() -> None:
    pairs = [("/here", "/srv"), ("/here/lib", "/opt/lib"), ("/text", ".")]
    mappings = PathMappings(PathMapping(local_root=local, remote_root=remote) for local, remote in pairs)

    for local, remote in {
        "/here/a/b.yaml": "/srv/a/b.yaml",
        "/here/lib/c.yaml": "/opt/lib/c.yaml",
        "/text/d.yaml": "d.yaml",
        "/hereafter/e.yaml": "/hereafter/e.yaml",
    }.items():
        assert mappings.to_remote(local) == remote
        assert mappings.to_local(remote) == local


async def test_breakpoints_and_frames_are_those_of_the_copy_here(
    adapter: AdapterClient, server: Bench, folder: Path
) -> None:
    there, here = folder / "there", folder / "here"
    for each in (there, here):
        each.mkdir()
        (each / "shop.yaml").write_text(SHOP)
    request = RunRequest(flow=str(there / "shop.yaml"), folder=str(folder), debug=DebugRequest(stop_at_entry=True))
    run = await server.service.runs.start(LOCAL, request)
    await attach(
        adapter, server, run.id, pathMappings=[{"localRoot": str(here), "remoteRoot": str(there)}], tellSteps=True
    )
    (frame, *_) = await adapter.stack(await adapter.stopped())
    assert frame["source"] == {"name": "shop.yaml", "path": str(here / "shop.yaml")}

    told = await adapter.ask(
        "setBreakpoints", source={"path": str(here / "shop.yaml")}, breakpoints=[{"line": LAST + 1}]
    )
    (breakpoint,) = told["breakpoints"]
    assert (breakpoint["verified"], breakpoint["line"]) == (True, LAST)
    assert breakpoint["source"]["path"] == str(here / "shop.yaml")
    await adapter.ask("continue", threadId=1)
    stop = await adapter.stopped()
    assert (stop["hitBreakpointIds"], (await adapter.stack(stop))[0]["name"]) == ([breakpoint["id"]], "last")
    assert {each["source"]["path"] for each in adapter.events_named("output") if "source" in each} == {
        str(here / "shop.yaml")
    }
    assert adapter.events_named("pitstop/step")[0]["file"] == str(here / "shop.yaml")


async def test_a_copy_that_differs_takes_breakpoints_and_is_not_shown(
    adapter: AdapterClient, server: Bench, folder: Path
) -> None:
    here = folder / "here"
    here.mkdir()
    (here / "shop.yaml").write_text(f"{SHOP}# changed here\n")
    request = RunRequest(flow="shop.yaml", text=SHOP, folder=str(folder), debug=DebugRequest(stop_at_entry=True))
    run = await server.service.runs.start(LOCAL, request)
    await attach(adapter, server, run.id, pathMappings=[{"localRoot": str(here), "remoteRoot": "."}])
    (frame, *_) = await adapter.stack(await adapter.stopped())
    told = await adapter.ask("setBreakpoints", source={"path": str(here / "shop.yaml")}, breakpoints=[{"line": LAST}])

    assert frame["source"]["sourceReference"] > 0
    assert told["breakpoints"][0]["verified"]
