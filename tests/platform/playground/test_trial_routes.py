"""The playground over HTTP: through the remote desk, for operators and viewers, and as news."""

import asyncio

import httpx
import pytest

from pitstop.errors import CommandRefused, NotPermitted
from pitstop.service.access import Access
from pitstop.service.caller import LOCAL, Role
from pitstop.service.desks import Service
from pitstop.service.feed import News
from pitstop.service.playground import NewTrial, Playground, TrialSettings
from pitstop.service.remote.opening import open_remote_service
from tests.platform.playground.trial_bench import end_of, someone, tried
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
