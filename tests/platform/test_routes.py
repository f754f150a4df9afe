import json
from pathlib import Path
from typing import Any

import httpx
import pytest

from pitstop.service.caller import LOCAL
from tests.amounts import amount
from tests.doors.http.test_openapi import KEPT, PLATFORM, fuzz_server
from tests.platform.workbench import Workbench

EXAMPLES = str(amount(1, soak=8))
ENDLESS = ("follow_feed",)
REMOVING = ("delete_repo",)  # it would leave nothing for the others


@pytest.mark.repeats
@pytest.mark.timeout(900)
async def test_nothing_that_can_be_asked_of_a_repository_is_a_server_error(bench: Workbench, tmp_path: Path) -> None:
    await bench.push_flow()
    config = f'[parameters]\n"path.repo" = "{bench.repo}"\n"path.flow" = "ci"\n"query.ref" = "main"\n'
    only = [option for tag in PLATFORM for option in ("--include-tag", tag)]
    left_out = [option for each in (*ENDLESS, *REMOVING) for option in ("--exclude-operation-id", each)]

    await fuzz_server(
        bench.house.url.rstrip("/"),
        bench.token,
        tmp_path,
        config,
        *("--phases", "fuzzing", "--max-examples", EXAMPLES, *only, *left_out),
    )

    assert (await bench.info()).state == "ready"


def changing_operations() -> list[tuple[str, str]]:
    return [
        (method, path)
        for path, methods in json.loads(KEPT.read_text(encoding="utf-8"))["paths"].items()
        for method, operation in methods.items()
        if method != "get" and set(operation["tags"]) & set(PLATFORM)
    ]


async def test_a_viewer_may_read_all_and_change_nothing(bench: Workbench) -> None:
    await bench.push_flow()
    access: Any = bench.house.access
    viewer = (await access.add_token(LOCAL, "guest", "viewer")).token
    async with httpx.AsyncClient(
        base_url=bench.house.url, headers={"Authorization": f"Bearer {viewer}"}, trust_env=False
    ) as client:
        for method, path in changing_operations():
            address = path.replace("{repo}", bench.repo).replace("{flow}", "ci").replace("{firing}", "1")
            refused = await client.request(method, address, json={})
            assert refused.status_code == 403, (method, path, refused.text)
        for path in ("", "/branches", "/tree", "/commits", "/pushes", "/flows", "/flows/ci", "/firings"):
            assert (await client.get(f"/api/v1/repos/{bench.repo}{path}")).status_code == 200, path
        listed = (await client.get("/api/v1/repos")).json()
    assert bench.repo in [repo["id"] for repo in listed]
