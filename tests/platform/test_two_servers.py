"""Two servers on one PostgreSQL: either answers for the repositories of both."""

import random
import shutil
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, aclosing, asynccontextmanager
from itertools import count
from pathlib import Path

import httpx
import pytest
import pytest_asyncio
from msgspec import Struct
from msgspec.structs import replace

from pitstop.doors.http.gate.forwarding import FORWARDED
from pitstop.platform.feed_values import PUSHED
from pitstop.platform.open_repos import SILENT_SECONDS, find_home
from pitstop.platform.triggers.webhooks import sign
from pitstop.service.caller import LOCAL
from pitstop.service.remote.connection import parse_stream
from pitstop.service.remote.opening import open_remote_service
from pitstop.service.runs import RunRequest
from pitstop.settings import Settings
from pitstop.store.port import ServerRecord
from tests.databases import Postgres, database_of, postgres_url
from tests.patience import wait_until
from tests.platform.card_bench import settled
from tests.platform.workbench import Workbench

__all__ = ["postgres_url"]

pytestmark = pytest.mark.asyncio(loop_scope="module")

NUMBERS = count(1)

SHARED = ("secrets.key", "token")  # what the state folders of both servers contain
FLOW = "on: {webhook: {provider: gitea}}\nsteps:\n  - {id: show, run: cat README}\n"
PAUSED = "steps:\n  - {id: ask, run: exit 1, on_failure: pause}\n  - {id: show, run: cat README, workspace: fresh}\n"
FILES = {"README": "fuel\n", ".pitstop/flows/ci.yaml": FLOW, ".pitstop/flows/asks.yaml": PAUSED}
RUNS = "/api/v1/runs"


class Pair(Struct, frozen=True):
    """`home` has a repository, and `other` is a server with a state folder of its own."""

    home: Workbench
    other: Workbench
    client: httpx.AsyncClient  # of the other
    closing_home: AsyncExitStack

    @property
    def repo(self) -> str:
        """The repository in the API."""
        return f"/api/v1/repos/{self.home.repo}"

    async def filled(self) -> "Pair":
        """The pair, once the repository has been created and pushed to."""
        await self.home.create()
        await self.home.commit(FILES)
        await self.home.push()
        return self


@asynccontextmanager
async def two_servers(folder: Path, database: str) -> AsyncIterator[Pair]:
    async with AsyncExitStack() as stack:
        closing_home = await stack.enter_async_context(AsyncExitStack())
        home = await closing_home.enter_async_context(bench_in(folder / "home", database).serving())
        settled = bench_in(folder / "other", database)
        for name in SHARED:
            shutil.copy(home.settings.home / name, settled.settings.home)
        other = await stack.enter_async_context(settled.serving())
        client = await stack.enter_async_context(client_of(other, home.token))
        yield Pair(home, other, client, closing_home)


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def both(tmp_path_factory: pytest.TempPathFactory, postgres: Postgres) -> AsyncIterator[Pair]:
    async with two_servers(tmp_path_factory.mktemp("both"), postgres.new_database()) as both:
        yield both


@pytest_asyncio.fixture(loop_scope="module")
async def pair(both: Pair, tmp_path: Path) -> AsyncIterator[Pair]:
    """The servers of the module, with a repository of this test."""
    name = f"shop-{next(NUMBERS)}"
    home, other = both.home.sharing(tmp_path, name), both.other.sharing(tmp_path, name)
    async with client_of(other, home.token) as client:
        yield await Pair(home, other, client, both.closing_home).filled()


@pytest_asyncio.fixture(loop_scope="module")
async def own_pair(tmp_path: Path, postgres_url: str) -> AsyncIterator[Pair]:
    """Servers of this test alone, of which it can stop the home."""
    async with two_servers(tmp_path, postgres_url) as pair:
        yield await pair.filled()


def bench_in(folder: Path, database: str) -> Workbench:
    settings = Settings(folder / "state", database)
    settings.home.mkdir(parents=True)
    return Workbench(folder, settings)


def client_of(bench: Workbench, token: str | None = None) -> httpx.AsyncClient:
    headers = {} if token is None else {"Authorization": f"Bearer {token}"}
    return httpx.AsyncClient(base_url=bench.house.url, headers=headers, trust_env=False, timeout=60)


async def stops_of(bench: Workbench, run: str) -> tuple[int, ...]:
    """The stops of a run once it is paused."""
    found = await bench.house.service.runs.get(LOCAL, run)

    async def ask() -> tuple[int, ...]:
        return (await found.info()).stops

    stops: tuple[int, ...] = await wait_until(ask)
    return stops


async def test_a_client_can_read_change_and_delete_a_repository_through_either_server(pair: Pair) -> None:
    for path in ("tree", "file?path=README", "branches", "commits", "flows/ci"):
        assert (await pair.client.get(f"{pair.repo}/{path}")).is_success, path

    first = (await pair.client.get(f"{pair.repo}/tree")).json()["sha"]
    written = await pair.client.put(f"{pair.repo}/file", json={"branch": "main", "path": "a%b/c", "text": "new"})
    diff = await pair.client.get(f"{pair.repo}/diff", params={"base": first, "head": "main"})
    missing = await pair.client.get(f"{pair.repo}/file", params={"path": "nowhere"})
    changed = await pair.client.patch(pair.repo, json={"title": "The shop", "default_branch": "main"})

    assert (await pair.home.repos.file(LOCAL, pair.home.repo, "a%b/c", written.json()["sha"])).text == "new"
    assert [each["path"] for each in diff.json()["files"]] == ["a%b/c"]
    assert (missing.status_code, missing.json()["code"]) == (404, "unknown.path")
    assert changed.json()["title"] == "The shop"
    assert (await pair.client.delete(pair.repo)).status_code == 204
    assert not pair.home.bare.exists()


async def test_an_interrupted_ingest_goes_on_at_the_home_through_either_server(pair: Pair) -> None:
    asked = {"name": f"{pair.home.repo}-more", "ingest": True}
    async with client_of(pair.home, pair.home.token) as client:
        assert (await client.post("/api/v1/repos", json=asked)).status_code == 201

    again = await pair.client.post("/api/v1/repos", json=asked)

    assert (again.status_code, again.json()["state"]) == (201, "creating")
    assert not any(pair.other.settings.repos.glob(f"{asked['name']}*"))


async def test_flows_that_are_started_through_either_server_run_where_the_files_are(pair: Pair) -> None:
    asked = {"flow": {"repo": pair.home.repo, "name": "ci"}}
    fired = await pair.client.post(f"{pair.repo}/flows/ci/fire", json={})
    again = await pair.client.post(f"{pair.repo}/firings/{fired.json()['id']}/again")
    started = [await pair.client.post(RUNS, json=asked, headers={"Idempotency-Key": "once"}) for _ in range(2)]
    await pair.home.runs()
    rerun = await pair.client.post(f"{RUNS}/{started[0].json()['id']}/rerun", json={})

    runs = await pair.home.runs()
    assert started[0].json() == started[1].json()
    assert [fired.json()["run"], again.json()["run"], started[0].json()["id"], rerun.json()["id"]] == [
        run.id for run in runs
    ]
    assert [run.status for run in runs] == ["passed"] * 4


async def test_git_can_clone_from_and_push_to_either_server(pair: Pair, tmp_path: Path) -> None:
    large = random.Random(1).randbytes(3_000_000).hex()  # more than git sends at once
    sha = await pair.home.commit({"large": large})
    await pair.home.git("push", "--quiet", pair.other.url(), "HEAD:main")
    await pair.home.git("clone", "--quiet", pair.other.url(), str(tmp_path / "another"), at=tmp_path)

    assert (tmp_path / "another" / "large").read_text() == large
    assert (await pair.home.newest_push()).new == sha


async def test_the_python_client_can_use_either_server_and_both_get_the_news(pair: Pair) -> None:
    async with open_remote_service(pair.other.house.url, pair.home.token) as service:
        assert service.repos is not None
        run = await service.runs.start(LOCAL, RunRequest(flow=f"{pair.home.repo}:ci"))
        await run.wait()
        await service.repos.write(LOCAL, pair.home.repo, "main", "README", "more fuel\n")

        assert await run.log_tail("show") == ["fuel"]
    followed = pair.client.stream("GET", "/api/v1/feed", params={"topic": f"repo:{pair.home.repo}", "after": 0})
    async with followed as answer, aclosing(parse_stream(answer.aiter_bytes())) as news:
        pushes = 0
        async for event in news:
            pushes += event.name == PUSHED
            if pushes == 2:
                break


async def test_a_card_can_be_worked_on_through_either_server_and_is_refused_where_it_has_changed(pair: Pair) -> None:
    created = await pair.client.post(f"{pair.repo}/cards", json={"title": "Do it", "work": {"run": "echo two > b"}})
    card, read = f"/api/v1/cards/{created.json()['id']}", {"If-Match": created.headers["etag"]}
    renamed = await pair.client.patch(card, json={"title": "Do it now"}, headers=read)
    late = await pair.client.post(f"{card}/start", json={}, headers=read)
    started = await pair.client.post(f"{card}/start", json={}, headers={"If-Match": renamed.headers["etag"]})
    await settled(pair.home, created.json()["id"])
    shown = await pair.client.get(card)
    diff = await pair.client.get(f"{card}/diff")
    board = await pair.client.get(f"{pair.repo}/cards")
    done = await pair.client.post(f"{card}/approve", json={"expect": shown.json()["head_sha"]})

    answers = (created, renamed, late, started, shown, diff, board, done)
    assert [answer.status_code for answer in answers] == [201, 200, 412, 200, 200, 200, 200, 200]
    assert (shown.headers["etag"], shown.json()["status"]) == (f'"{shown.json()["version"]}"', "in_review")
    assert [each["path"] for each in diff.json()["files"]] == ["b"]
    assert [column["count"] for column in board.json()["columns"]] == [0, 0, 1, 0, 0]
    assert (await pair.home.repos.file(LOCAL, pair.home.repo, "b", "main")).text == "two\n"
    assert not any(pair.other.settings.repos.glob(f"{pair.home.repo}*"))


async def test_a_webhook_is_delivered_to_either_server(pair: Pair) -> None:
    hook = (await pair.client.post(f"{pair.repo}/hooks", json={"provider": "gitea"})).json()
    body = b'{"ref": "refs/heads/main"}'
    known = {"x-gitea-event": "push", "x-gitea-delivery": "one"}
    sent = [
        await pair.client.post(hook["path"], content=body, headers={**known, **sign("gitea", secret, body, 0)})
        for secret in (hook["secret"], hook["secret"], "wrong")
    ]

    assert [answer.status_code for answer in sent] == [202, 202, 401]
    assert [firing.outcome for firing in await pair.home.firings()] == ["started", "duplicate"]
    assert [run.status for run in await pair.home.runs()] == ["passed"]


async def test_a_session_and_a_role_are_the_same_at_both_servers(pair: Pair) -> None:
    viewer = await pair.home.house.access.add_token(LOCAL, "vera", "viewer")
    asked = {"branch": "main", "path": "new", "text": "new"}
    async with client_of(pair.other) as browser:
        await browser.get(pair.other.house.login_link())
        origin = pair.other.house.url.rstrip("/")
        written = await browser.put(f"{pair.repo}/file", json=asked, headers={"Origin": origin})
        foreign = await browser.put(f"{pair.repo}/file", json=asked, headers={"Origin": "http://evil.example"})
    pair.client.headers["Authorization"] = f"Bearer {viewer.token}"

    async def tree() -> httpx.Response | None:
        answered = await pair.client.get(f"{pair.repo}/tree")
        return answered if answered.is_success else None

    known = await wait_until(tree)  # a server hears of a token of the other after two seconds
    assert known.json()["sha"] == written.json()["sha"]
    assert (await pair.client.put(f"{pair.repo}/file", json=asked)).json()["code"] == "access.not_permitted"
    assert foreign.json()["code"] == "access.foreign"


async def test_a_home_that_cannot_be_asked_is_named_with_the_way_out(
    own_pair: Pair, postgres: Postgres, postgres_url: str
) -> None:
    pair = own_pair
    pair.other.settings.token_file.write_text("of the other alone")
    pair.client.headers["Authorization"] = "Bearer of the other alone"
    unknown = await pair.client.get(f"{pair.repo}/tree")
    bounced = await pair.client.get(f"{pair.repo}/tree", headers={FORWARDED: "1"})
    postgres.execute("UPDATE servers SET address = 'http://127.0.0.1:1/'", database_of(postgres_url))
    refused = await pair.client.get(f"{pair.repo}/tree")
    await pair.closing_home.aclose()
    gone = await pair.client.delete(pair.repo)

    assert [answer.status_code for answer in (unknown, bounced, refused, gone)] == [503] * 4
    assert "does not know your token or session" in unknown.json()["detail"]
    assert bounced.json()["address"] == pair.home.house.url
    assert "'shop' is on the server at http://127.0.0.1:1/, which does not answer" in refused.json()["detail"]
    assert gone.json()["detail"] == "repository 'shop' is on another server, which is not running: start it"
    assert (await pair.client.get(f"{pair.repo}/pushes")).status_code == 200


async def test_a_run_that_is_taken_over_says_that_the_files_are_gone_and_a_copy_brings_them_back(
    own_pair: Pair, postgres: Postgres, postgres_url: str
) -> None:
    pair = own_pair
    run = (await pair.client.post(RUNS, json={"flow": {"repo": pair.home.repo, "name": "asks"}})).json()["id"]
    await stops_of(pair.home, run)
    await pair.closing_home.aclose()

    await pair.other.house.service.owned.renew_leases()
    (stop,) = await stops_of(pair.other, run)
    await pair.client.post(f"{RUNS}/{run}/debug/force", json={"stop": stop, "status": "passed"})
    taken = await pair.other.house.service.runs.get(LOCAL, run)
    await taken.wait()
    assert "repository 'shop' is on another server, which is not running" in ((await taken.info()).error or "")

    shutil.copytree(pair.home.settings.repos / "shop.git", pair.other.settings.repos / "shop.git")
    new_home = pair.other.settings.home_id_file.read_text().strip()
    postgres.execute(f"UPDATE repos SET home = '{new_home}' WHERE id = 'shop'", database_of(postgres_url))
    fired = (await pair.client.post(f"{pair.repo}/flows/ci/fire", json={})).json()
    assert (await pair.other.runs())[-1].id == fired["run"]
    assert await pair.other.output(fired["run"], "show") == ["fuel"]


async def test_a_home_is_asked_only_while_it_is_alive_and_where_it_can_be_reached() -> None:
    here = ServerRecord("here/1/2/3", "http://here:7878/", 0, 1000, "a")
    there = ServerRecord("there/1/2/3", "http://there:7878/", 0, 1000 - SILENT_SECONDS, "b")
    older = replace(there, address="http://old:7878/", seen_at=1)

    assert find_home([here, older, there], "b", "here") == (there.address, "")
    assert find_home([here], "b", "here") == ("", "which is not running: start it")
    assert find_home([here, older], "b", "here") == (older.address, "which was last seen 999 s ago: start it again")
    for address in ("http://127.0.0.1:7878/", "http://[::1]:7878/"):
        hidden = replace(there, address=address)
        assert "only its machine, there, can reach" in find_home([here, hidden], "b", "here")[1]
        assert find_home([here, hidden], "b", "there") == (address, "")
