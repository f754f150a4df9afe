from pathlib import Path

from tests.doors.dap.adapter_client import AdapterClient
from tests.held_files import held_store


async def test_files_that_take_long_to_be_kept_are_shown_as_progress(adapter: AdapterClient, folder: Path) -> None:
    (folder / "kept.yaml").write_text("name: kept\nsteps:\n  - {id: first, run: echo hello, snapshot: true}\n")
    with held_store(folder / "home"):
        await adapter.launch("kept.yaml", initialize={"supportsProgressReporting": True})
        started = await adapter.event("progressStart")
        updated = await adapter.event("progressUpdate")
    ended = await adapter.event("progressEnd")
    await adapter.ended()

    told = "storing the workspace files: scanning"
    assert (started["title"], started["message"], started["cancellable"]) == ("Snapshot", told, False)
    assert updated == {"progressId": started["progressId"], "message": told}
    assert ended == {"progressId": started["progressId"]}
