import json
from pathlib import Path
from typing import Any

import httpx
import pytest
from msgspec.structs import replace

from pitstop.service.caller import LOCAL
from pitstop.service.cards import NewNote
from tests.amounts import amount
from tests.doors.http.test_openapi import KEPT, PLATFORM, fuzz_server
from tests.platform.card_bench import cards_of, http_of, reviewed, settled, write
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
    card = await reviewed(bench)
    note = await cards_of(bench).note(LOCAL, card.id, NewNote(text="Fine"))
    access: Any = bench.house.access
    viewer = (await access.add_token(LOCAL, "guest", "viewer")).token
    async with httpx.AsyncClient(
        base_url=bench.house.url, headers={"Authorization": f"Bearer {viewer}"}, trust_env=False
    ) as client:
        for method, path in changing_operations():
            address = path.replace("{repo}", bench.repo).replace("{flow}", "ci").replace("{firing}", "1")
            address = address.replace("{card}", card.id).replace("{note}", str(note.id))
            refused = await client.request(method, address, json={})
            assert refused.status_code == 403, (method, path, refused.text)
        for path in ("", "/branches", "/tree", "/commits", "/pushes", "/flows", "/flows/ci", "/firings"):
            assert (await client.get(f"/api/v1/repos/{bench.repo}{path}")).status_code == 200, path
        for path in ("", "/attempts", "/notes", "/diff", "/patch?path=b.txt"):
            assert (await client.get(f"/api/v1/cards/{card.id}{path}")).status_code == 200, path
        for path in ("/cards", "/columns/in_review"):
            assert card.id in (await client.get(f"/api/v1/repos/{bench.repo}{path}")).text
        listed = (await client.get("/api/v1/repos")).json()
    assert bench.repo in [repo["id"] for repo in listed]
    assert await cards_of(bench).get(LOCAL, card.id) == replace(card, unresolved_notes=1)


async def test_each_answer_about_a_card_has_its_version_and_each_change_is_in_the_audit(bench: Workbench) -> None:
    await write(bench, "a.txt", "one\n")
    async with http_of(bench) as client:
        created = await client.post(f"/repos/{bench.repo}/cards", json={"title": "Do it"})
        card = created.json()["id"]
        assert (created.status_code, created.headers["location"]) == (201, f"/api/v1/cards/{card}")
        answers = [created, await client.get(f"/cards/{card}")]
        for method, path, body in (
            ("PATCH", "", {"title": "Do it now", "labels": ["ui"]}),
            ("POST", "/move", {"status": "in_progress"}),
            ("POST", "/move", {"status": "in_review"}),
            ("POST", "/reject", {"reason": "Not yet."}),
            ("PATCH", "", {"work": {"run": "exit 3"}}),
            ("POST", "/start", {}),
        ):
            answers.append(await client.request(method, f"/cards/{card}{path}", json=body))
        assert (await settled(bench, card)).status == "failed"
        key = {"Idempotency-Key": f"note {card}"}
        noted = [await client.post(f"/cards/{card}/notes", json={"text": "Why?"}, headers=key) for _ in range(2)]
        assert [each.status_code for each in noted] == [201, 201]
        assert noted[0].json() == noted[1].json()
        await client.put(f"/cards/{card}/notes/{noted[0].json()['id']}/resolved", json={"resolved": True})
        assert (await client.post(f"/cards/{card}/update-branch", json={})).json()["is_clean"]
        attempt = (await client.get(f"/cards/{card}/attempts/1")).json()
        assert (attempt["outcome"], "exit 3" in attempt["text"]) == ("failed", True)
        refused = await client.post(f"/cards/{card}/approve", json={})
        assert (refused.status_code, refused.json()["code"]) == (409, "refused.move")
        assert (await client.delete(f"/cards/{card}")).status_code == 204
        for path in ("", "/attempts", "/attempts/1", "/notes", "/diff", "/patch?path=b.txt"):
            gone = await client.get(f"/cards/{card}{path}")
            assert (gone.status_code, gone.headers["content-type"]) == (404, "application/problem+json")
        for nowhere in ("nope", "-", f"{bench.repo}-x", "%2e%2e-1"):
            assert (await client.post(f"/cards/{nowhere}/approve", json={})).status_code == 404
        entries = (await client.get("/audit", params={"limit": 1000})).json()["entries"]
    assert [each.headers["etag"] for each in answers] == [f'"{each.json()["version"]}"' for each in answers]
    about = [each["action"] for each in entries if f"'card': '{card}'" in str(each)]
    twice = ("update_card", "move_card")
    once = (
        "create_card",
        "reject_card",
        "start_card",
        "note_card",
        "resolve_note",
        "update_card_branch",
        "delete_card",
    )
    assert sorted(about) == sorted([*twice, *twice, *once])
