"""The playground over HTTP: through the remote desk, for operators and viewers, and as news."""

import asyncio
import json
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from pitstop.errors import CommandRefused, NotPermitted
from pitstop.service.access import Access
from pitstop.service.caller import LOCAL, Role
from pitstop.service.cards import NewNote
from pitstop.service.desks import Service
from pitstop.service.feed import News
from pitstop.service.playground import NewTrial, Playground, TrialSettings
from pitstop.service.remote.opening import open_remote_service
from tests.doors.http.test_openapi import KEPT
from tests.patience import wait_until
from tests.platform.card_bench import SCRIPT, cards_of, worked
from tests.platform.playground.test_trials import TAKES_TIME_TO_END
from tests.platform.playground.trial_bench import ENDED, end_of, playground_of, reach, someone, tried
from tests.platform.workbench import Workbench


async def token_for(shop: Workbench, role: Role) -> str:
    access: Access = shop.house.access
    return (await access.add_token(LOCAL, someone().name, role)).token


def desk(service: Service) -> Playground:
    assert service.playground is not None
    return service.playground


async def test_all_that_the_desk_does_can_be_done_over_http(shop: Workbench) -> None:
    async with open_remote_service(shop.house.url, await token_for(shop, "operator")) as service:
        playground = desk(service)
        settings = TrialSettings(budget={"time": "5m"}, save="remote")
        new = NewTrial(repo=shop.repo, profiles=("script", "writer"), prompt="echo two > b.txt", settings=settings)
        made = await playground.create(LOCAL, new)
        ended = [await end_of(shop, trial) for trial in made]
        assert [await playground.get(LOCAL, each.id) for each in ended] == ended
        assert ended[0].settings == settings
        assert {each.branch for each in ended} == {"agent-test/remote-001", "agent-test/remote-002"}
        assert [file.path for file in (await playground.diff(LOCAL, ended[0].id)).files] == ["b.txt"]
        assert "+two" in (await playground.patch(LOCAL, ended[0].id, "b.txt")).text
        assert (await playground.compare(LOCAL, ended[0].id, ended[1].id)).b.trial == ended[1]
        assert (await playground.list(LOCAL, shop.repo, limit=1)).next is not None
        assert (await playground.save(LOCAL, ended[0].id, "more")).branch == "agent-test/more-001"
        assert {each.name for each in await playground.branches(LOCAL, shop.repo)} >= {"agent-test/more-001"}
        assert (await playground.make_card(LOCAL, ended[0].id, "Keep it")).status == "in_review"
        again = await playground.again(LOCAL, ended[0].id)
        assert (await playground.cancel(LOCAL, again.id)).state in ("cancelled", "passed")
        await playground.delete(LOCAL, ended[1].id)
        audit = shop.house.service.audit
        assert audit is not None
        actions = {each.action for each in (await audit.page()).entries if each.detail.get("trial") is not None}
        verbs = {"create_trial", "save_trial", "repeat_trial", "cancel_trial", "delete_trial", "create_card"}
        assert actions >= verbs
        with pytest.raises(CommandRefused, match="has ended"):
            await playground.cancel(LOCAL, ended[0].id)


async def test_viewers_read_and_change_nothing(shop: Workbench) -> None:
    trial = await tried(shop, "true")
    token = await token_for(shop, "viewer")
    async with open_remote_service(shop.house.url, token) as service:
        assert (await desk(service).get(LOCAL, trial.id)).id == trial.id
        assert (await desk(service).diff(LOCAL, trial.id)).files == ()
        for refused in (
            desk(service).create(LOCAL, NewTrial(repo=shop.repo, profiles=("script",), prompt="x")),
            desk(service).cancel(LOCAL, trial.id),
            desk(service).save(LOCAL, trial.id, "x"),
            desk(service).again(LOCAL, trial.id),
            desk(service).make_card(LOCAL, trial.id, "x"),
            desk(service).delete(LOCAL, trial.id),
        ):
            with pytest.raises(NotPermitted):
                await refused


async def test_each_route_of_cards_and_trials_is_closed_to_strangers_and_viewers_only_read(shop: Workbench) -> None:
    a, b = [await tried(shop, f"echo {text} > b.txt") for text in ("two", "three")]
    card = await worked(shop, SCRIPT)
    note = await cards_of(shop).note(LOCAL, card.id, NewNote(text="Fine"))
    parts = {"repo": shop.repo, "trial": a.id, "card": card.id, "note": note.id, "number": 1, "status": "in_review"}
    asked = {"path": "b.txt", "a": a.id, "b": b.id}
    viewer = await token_for(shop, "viewer")
    async with httpx.AsyncClient(base_url=shop.house.url, trust_env=False) as client:
        for method, path, reads in operations("cards", "playground"):
            for token, status in (("nobody", 401), (viewer, 200 if reads else 403)):
                request = client.build_request(
                    method,
                    path.format(**parts),
                    headers={"Authorization": f"Bearer {token}"},
                    params=asked if reads else None,
                    json=None if reads else {},
                )
                answered = await client.send(request)
                assert answered.status_code == status, (method, path, answered.text)
    assert await playground_of(shop).get(LOCAL, a.id) == a
    assert (await cards_of(shop).get(LOCAL, card.id)).version == card.version


def operations(*tags: str) -> Iterator[tuple[str, str, bool]]:
    """The method and the path of each operation with one of these tags, and whether it changes nothing."""
    for path, methods in json.loads(KEPT.read_text(encoding="utf-8"))["paths"].items():
        for method, operation in methods.items():
            if set(operation["tags"]) & set(tags):
                yield method, path, method == "get"


async def test_a_trial_goes_on_or_ends_as_it_was_asked_to_when_its_client_is_gone(
    shop: Workbench, tmp_path: Path
) -> None:
    headers = {"Authorization": f"Bearer {await token_for(shop, 'operator')}"}
    new = {"repo": shop.repo, "profiles": ["script"]}
    async with httpx.AsyncClient(base_url=f"{shop.house.url}api/v1", headers=headers, trust_env=False) as client:
        (left,) = (await client.post("/trials", json={**new, "prompt": "echo two > b.txt"})).json()
        (other,) = (await client.post("/trials", json={**new, "prompt": TAKES_TIME_TO_END.format(tmp_path)})).json()
        await wait_until((tmp_path / "begun").exists)
        async with asyncio.TaskGroup() as group:
            cancelling = group.create_task(client.post(f"/trials/{other['id']}/cancel"))
            await wait_until((tmp_path / "told").exists)
            cancelling.cancel()
    assert (await reach(shop, left["id"], *ENDED)).state == "passed"
    await tried(shop, "true")  # at whose end all that are being cancelled are looked at
    (tmp_path / "is over").touch()
    assert (await reach(shop, other["id"], *ENDED)).state == "cancelled"
    assert (tmp_path / "ended").exists()


async def test_bad_requests_are_refused_by_status(shop: Workbench) -> None:
    headers = {"Authorization": f"Bearer {await token_for(shop, 'operator')}"}
    good = {"repo": shop.repo, "profiles": ["script"], "prompt": "true"}
    async with httpx.AsyncClient(base_url=f"{shop.house.url}api/v1", headers=headers, trust_env=False) as client:
        for status, body in (
            (422, {**good, "profiles": ["script"] * 5}),
            (422, {**good, "profiles": ["nobody"]}),
            (422, {**good, "repo": None}),
            (422, {**good, "promt": "x"}),
            (404, {**good, "repo": "nowhere"}),
            (404, {**good, "ref": "nowhere"}),
        ):
            answered = await client.post("/trials", json=body)
            assert answered.status_code == status, answered.text
        for path in ("nowhere", "nowhere/diff", "compare?a=nowhere&b=nowhere"):
            assert (await client.get(f"/trials/{path}")).status_code == 404
        once = {"Idempotency-Key": "once"}
        created, repeated = [await client.post("/trials", json=good, headers=once) for _ in range(2)]
        assert (created.status_code, repeated.headers["Idempotency-Replayed"]) == (201, "true")
        assert created.json() == repeated.json()


async def test_a_request_that_is_repeated_after_a_crash_finds_its_trials(shop: Workbench) -> None:
    new = NewTrial(repo=shop.repo, profiles=("script", "writer"), prompt="true", group="g-reserved")
    caller = someone()
    made = await playground_of(shop).create(caller, new)
    assert [trial.profile for trial in made] == ["script", "writer"]
    again = await playground_of(shop).create(caller, new)
    assert [trial.id for trial in again] == [trial.id for trial in made]
    repeated = [await playground_of(shop).again(caller, made[0].id, "g-other") for _ in range(2)]
    assert repeated[0].id == repeated[1].id


async def test_the_feed_tells_of_trials(shop: Workbench) -> None:
    feed = shop.house.service.feed
    assert feed is not None
    told: list[News] = []
    is_following = asyncio.Event()

    async def follow() -> None:
        async for news in feed.follow(LOCAL, ["trials"]):
            is_following.set()
            told.extend([] if news is None else [news])
            saved = {each.body["trial"] for each in told if each.kind == "trial.saved"}
            if any(each.kind == "trial.ended" and each.body["trial"] in saved for each in told):
                return

    async with asyncio.TaskGroup() as group:
        group.create_task(follow())
        await is_following.wait()
        trial = await tried(shop, "echo two > b.txt", save="told")
    of_it = [news for news in told if news.body["trial"] == trial.id]
    assert (of_it[0].kind, of_it[-1].kind) == ("trial.started", "trial.ended")
    assert {news.topic for news in of_it} == {f"repo:{shop.repo}"}
    assert of_it[-1].body == {"trial": trial.id, "group": trial.group, "state": "passed", "run": trial.run}
