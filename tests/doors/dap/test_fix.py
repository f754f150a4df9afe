"""A fix loop in an editor: giving up is a stop, with the reasons and the ways to continue."""

import shutil
from pathlib import Path

from tests.doors.dap.adapter_client import AdapterClient
from tests.platform.fix.loops import Loop


async def test_a_loop_that_gives_up_stops_and_is_decided_about_in_the_console(
    adapter: AdapterClient, folder: Path, tmp_path: Path
) -> None:
    loop = Loop(tmp_path / "project", ["a"], {"fix": "echo guess >> notes.txt"})
    shutil.copytree(loop.folder, folder, dirs_exist_ok=True)
    (folder / "flow.yaml").write_text(loop.flow(iterations=1))

    await adapter.launch("flow.yaml")
    stop = await adapter.stopped()

    assert stop["description"] == "Step tests gave up and needs you: `decide` in the console"
    assert "Maximum iterations reached" in stop["text"]
    frame = (await adapter.stack(stop))[0]["id"]
    asked = {"expression": "decide skip", "frameId": frame, "context": "repl"}
    refused = await adapter.answer(adapter.send("evaluate", asked))
    assert "needs a `text`" in refused["message"]
    assert await adapter.evaluate("decide skip known since May", frame) == "tests: skip"
    assert await adapter.ended() == 0
