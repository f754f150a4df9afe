"""Somebody debugs a release from far away: two services are tested side by side, and everything is said over HTTP.

They schedule the run with breakpoints, see each branch stop by itself, step one while the other waits, mend a value,
put a step in, leave one out, let all go on, and take the session home as a file.
"""

import asyncio
from typing import Any

import pytest

from tests.doors.http.bench import API, Bench

RELEASE = """
    name: release
    vars: {region: eu}
    steps:
      - {id: build, run: 'echo built; echo "version=1.2" >> "$PITSTOP_OUTPUT"'}
      - id: check
        parallel:
          - id: shop
            steps:
              - {id: migrate, run: 'echo migrating'}
              - {id: smoke, run: 'echo smoke in ${{ .vars.region }}; test "${{ .vars.region }}" = us'}
          - id: search
            steps:
              - {id: reindex, run: 'echo reindexing; touch reindexed'}
              - {id: query, run: 'echo querying'}
      - {id: deploy, run: 'echo deploying ${{ .steps.build.outputs.version }}'}
"""


class Caller:
    """Who debugs. What they have seen of the run is what the event stream told them."""

    def __init__(self, bench: Bench, run: str) -> None:
        self.bench = bench
        self.run = run
        self.seen: list[Any] = []
        self._news = asyncio.Condition()

    async def listen(self) -> None:
        async for event in self.bench.events(self.run):
            async with self._news:
                self.seen.append(event)
                self._news.notify_all()

    async def stop_at(self, step: str, above: int = 0) -> Any:
        """The event of a stop at a step, as soon as it was told."""

        def found() -> Any:
            stops = [event for event in self.seen if event["kind"] == "debug.stopped"]
            return next((each for each in stops if each["step"] == step and each["stop"] > above), None)

        async with asyncio.timeout(90), self._news:
            await self._news.wait_for(found)
        return found()

    async def end(self) -> None:
        """Until all was told."""
        async with asyncio.timeout(90), self._news:
            await self._news.wait_for(lambda: self.seen and self.seen[-1]["kind"] == "run.ended")

    async def say(self, verb: str, **body: Any) -> Any:
        return await self.bench.post(f"/runs/{self.run}/debug/{verb}", **body)

    async def state(self) -> Any:
        return await self.bench.get(f"/runs/{self.run}/debug")

    async def look(self, what: str, **query: Any) -> Any:
        return await self.bench.get(f"/runs/{self.run}/debug/{what}", **query)


async def test_a_release_is_debugged_from_far_away(bench: Bench) -> None:
    breakpoints = [{"step": "migrate"}, {"step": "reindex", "condition": '.vars.region == "eu"'}]
    scheduled = await bench.start(RELEASE, debug={"breakpoints": breakpoints, "stop_on_error": True})
    caller = Caller(bench, scheduled["id"])
    async with asyncio.TaskGroup() as group:
        group.create_task(caller.listen())
        await debug(caller)
    kinds = [event["kind"] for event in caller.seen]
    assert [event["number"] for event in caller.seen] == list(range(1, len(kinds) + 1))
    assert kinds[-1] == "run.ended"


async def debug(caller: Caller) -> None:
    # The two branches are frames of their own, and each stops by itself.
    shop, search = await caller.stop_at("check.shop.migrate"), await caller.stop_at("check.search.reindex")
    state = await caller.state()
    assert {frame["id"]: frame["state"] for frame in state["frames"]} == {
        "main": "paused",  # all that it waits for is
        "check.shop": "paused",
        "check.search": "paused",
    }
    assert {stop["id"] for stop in state["stops"]} == {shop["stop"], search["stop"]}

    # One is stepped; the other stays where it is.
    await caller.say("step", stop=shop["stop"], kind="over")
    smoke = await caller.stop_at("check.shop.smoke")
    assert [stop["id"] for stop in (await caller.state())["stops"]] == [search["stop"], smoke["stop"]]

    # A second click on the same button does nothing.
    late = await caller.bench.client.post(
        f"{API}/runs/{caller.run}/debug/step", json={"stop": shop["stop"], "kind": "over"}
    )
    assert (late.status_code, late.json()["code"]) == (409, "refused.stale_stop")

    # They look around, and see why the next step would fail.
    page = await caller.look("variables", stop=smoke["stop"], path=".vars")
    assert [(each["name"], each["value"]) for each in page["variables"]] == [("region", "eu")]
    assert (await caller.say("evaluate", stop=smoke["stop"], expression=".steps.build.outputs.version"))["values"] == [
        "1.2"
    ]
    assert "smoke in eu" in (await caller.look("config", stop=smoke["stop"]))["resolved"]["script"]

    # They mend the value, and the config follows.
    edited = await caller.say("set", stop=smoke["stop"], path=".vars.region", value="us")
    assert [(edit["path"], edit["value"]) for edit in edited["edits"]] == [(".vars.region", "us")]
    assert "smoke in us" in (await caller.look("config", stop=smoke["stop"]))["resolved"]["script"]

    # A step is put in before it, to look at the machine; in the other branch one is left out.
    step = {"uses": "run", "id": "look", "with": {"script": "ls; touch looked"}}
    injected = await caller.say("inject", stop=smoke["stop"], step=step, position="before")
    await caller.say("skip", stop=search["stop"], outputs={"count": 0})

    # Everything goes on, to the end.
    await caller.say("continue", all=True)
    ended = await caller.bench.wait_ended(caller.run)
    assert (ended["status"], ended["intervened"]) == ("passed", True)

    # What happened is all there: each step as it ended, what was done by hand, and the session as a file.
    steps = {step["path"]: step["status"] for step in await caller.bench.get(f"/runs/{caller.run}/steps")}
    assert steps["check.search.reindex"] == "skipped"
    assert steps[injected["path"]] == "passed"
    assert (steps["check.shop.smoke"], steps["deploy"]) == ("passed", "passed")
    assert (caller.bench.folder / "looked").exists()
    assert not (caller.bench.folder / "reindexed").exists()
    page = await caller.bench.get(f"/runs/{caller.run}/log", occurrence="deploy")
    assert [line["text"] for line in page["lines"]] == ["deploying 1.2"]
    assert len((await caller.state())["interventions"]) == 3
    await caller.end()
    exported = await caller.look("export")
    assert [event["kind"] for event in exported["events"]] == [event["kind"] for event in caller.seen]


@pytest.fixture
async def bench(tmp_path: Any) -> Any:
    async with Bench(tmp_path).serving() as serving:
        yield serving
