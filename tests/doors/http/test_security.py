"""Each way to come in that nobody may come in by."""

import asyncio
import base64
import json
import os
from collections.abc import AsyncIterator, Coroutine
from contextlib import suppress
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx
import pytest
import pytest_asyncio
import websockets
from websockets.asyncio.client import connect

from pitstop.doors.http.gate.gate import COOKIE
from pitstop.errors import CommandRefused
from pitstop.service.access import Access, NewToken, TokenRecord
from pitstop.service.caller import LOCAL, Caller
from pitstop.service.in_memory import MemoryTokens
from pitstop.serving import login
from tests.doors.http.bench import API, PATIENT, Bench
from tests.patience import PATIENCE_SECONDS


@pytest_asyncio.fixture(loop_scope="module")
async def browser(bench: Bench) -> AsyncIterator[httpx.AsyncClient]:
    """A browser that came with the login link."""
    async with bench.new_client() as client:
        await client.get("/login", params={"code": bench.access.new_login_code()})
        yield client


def socket_url(bench: Bench, run: str) -> str:
    return f"ws://{urlsplit(bench.url).netloc}{API}/runs/{run}/debug/socket"


# Tokens


@pytest.mark.parametrize(
    "authorization",
    [None, "Bearer", "Bearer wrong", "Basic b3duZXI6", "Bearer \u00ff", "bearer", "Bearer " + "x" * 4000],
)
async def test_nothing_is_told_without_a_valid_token(bench: Bench, authorization: str | None) -> None:
    headers = [] if authorization is None else [(b"Authorization", authorization.encode("latin-1"))]
    async with bench.new_client() as stranger:
        for path in ("/me", "/runs", "/flows", "/secrets", "/audit", "/runs/x/events", "/openapi.json"):
            response = await stranger.get(API + path, headers=headers)
            assert (response.status_code, response.json()["code"]) == (401, "access.not_known")
            assert "Bearer" in response.headers["www-authenticate"]
        assert (await stranger.get("/metrics", headers=headers)).status_code == 401


async def test_tokens_of_others_are_shown_once_and_kept_as_digests(bench: Bench) -> None:
    made = await bench.post("/tokens", 201, name="ci", role="operator")

    assert made["token"] not in repr(await bench.keeper.all())
    assert made["token"] not in json.dumps(await bench.get("/tokens"))


async def test_a_token_that_was_taken_away_lets_nobody_in(bench: Bench) -> None:
    made = await bench.post("/tokens", 201, name="ci", role="operator")
    async with bench.new_client(made["token"]) as client:
        assert (await client.get(f"{API}/me")).json()["name"] == "ci"
        await bench.client.delete(f"{API}/tokens/ci")
        assert (await client.get(f"{API}/me")).status_code == 401


async def test_the_last_operator_and_a_name_that_is_taken_are_refused(bench: Bench) -> None:
    last = await bench.client.delete(f"{API}/tokens/owner")
    await bench.post("/tokens", 201, name="ci", role="viewer")
    again = await bench.client.post(f"{API}/tokens", json={"name": "ci", "role": "operator"})
    assert (last.status_code, again.status_code) == (409, 409)


class SlowTokens(MemoryTokens):
    """A keeper that lets others in between what it reads and what it answers, as a database does."""

    def __init__(self) -> None:
        super().__init__()
        self.looked = asyncio.Event()
        self.answers = asyncio.Event()
        self.answers.set()
        self.asked = asyncio.Event()
        self.goes_on = asyncio.Event()
        self.goes_on.set()

    async def all(self) -> tuple[TokenRecord, ...]:
        found = await super().all()
        self.looked.set()
        await self.answers.wait()
        return found

    async def logged_out(self) -> frozenset[str]:
        self.asked.set()
        await self.goes_on.wait()
        return await super().logged_out()


async def test_a_token_that_is_taken_away_while_it_is_looked_up_lets_nobody_in_after_that() -> None:
    keeper = SlowTokens()
    access = Access(keeper)
    token = (await access.add_token(LOCAL, "ci", "operator")).token
    keeper.goes_on.clear()
    async with asyncio.timeout(PATIENCE_SECONDS), asyncio.TaskGroup() as group:
        group.create_task(access.who(bearer=token))
        await keeper.asked.wait()
        await access.remove_token(LOCAL, "ci")
        keeper.goes_on.set()

    assert await access.who(bearer=token) is None


async def test_of_two_who_change_the_tokens_at_once_the_second_sees_what_the_first_has_done() -> None:
    keeper = SlowTokens()
    access = Access(keeper)

    async def come_to(first: Coroutine[Any, Any, Any], second: Coroutine[Any, Any, Any]) -> list[type]:
        keeper.looked.clear()
        keeper.answers.clear()
        async with asyncio.timeout(PATIENCE_SECONDS), asyncio.TaskGroup() as group:
            both = [group.create_task(_outcome(first))]
            await keeper.looked.wait()  # and it has changed nothing yet
            both.append(group.create_task(_outcome(second)))
            await asyncio.sleep(0)
            keeper.answers.set()
        return [each.result() for each in both]

    assert await come_to(access.add_token(LOCAL, "ci", "operator"), access.add_token(LOCAL, "ci", "viewer")) == [
        NewToken,
        CommandRefused,
    ]
    # of whom one has to stay
    assert await come_to(access.remove_token(LOCAL, "ci"), access.remove_token(LOCAL, "owner")) == [
        type(None),
        CommandRefused,
    ]


async def _outcome(asked: Coroutine[Any, Any, Any]) -> type:
    try:
        return type(await asked)
    except CommandRefused as refused:
        return type(refused)


# Browsers


async def test_a_login_link_is_good_once(bench: Bench) -> None:
    code = bench.access.new_login_code()
    async with bench.new_client() as first, bench.new_client() as second:
        came_in = await first.get("/login", params={"code": code})
        refused = await second.get("/login", params={"code": code})

        assert (came_in.status_code, came_in.headers["location"]) == (303, "/")
        assert (refused.status_code, refused.headers["location"]) == (303, "/?login=expired")
        assert COOKIE not in refused.cookies


async def test_a_login_link_is_good_for_five_minutes(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    code = bench.access.new_login_code()
    now = bench.access._now()
    monkeypatch.setattr(bench.access, "_now", lambda: now + 301)
    async with bench.new_client() as browser:
        refused = await browser.get("/login", params={"code": code})
        assert (refused.headers["location"], COOKIE in refused.cookies) == ("/?login=expired", False)


async def test_the_session_is_a_cookie_that_no_script_and_no_other_site_can_use(bench: Bench) -> None:
    async with bench.new_client() as client:
        response = await client.get("/login", params={"code": bench.access.new_login_code()})
    attributes = {part.strip().lower() for part in response.headers["set-cookie"].split(";")[1:]}
    assert {"httponly", "samesite=strict", "path=/"} <= attributes


async def test_a_browser_may_look_and_with_our_origin_act(bench: Bench, browser: httpx.AsyncClient) -> None:
    assert (await browser.get(f"{API}/me")).json() == {"name": "owner", "role": "operator", "version": "0.1.0"}
    body = {"text": "steps: []"}
    assert (await browser.post(f"{API}/flows/check", json=body, headers={"Origin": bench.url})).status_code == 200


@pytest.mark.parametrize(
    "origin", [None, "null", "http://evil.example", "http://127.0.0.1:1", "http://localhost.evil.example", "file://"]
)
async def test_another_site_cannot_act_with_the_cookie(browser: httpx.AsyncClient, origin: str | None) -> None:
    headers = {} if origin is None else {"Origin": origin}
    for method, path in (("POST", "/flows/check"), ("PUT", "/secrets/A"), ("DELETE", "/runs/x")):
        response = await browser.request(method, API + path, json={"text": "steps: []"}, headers=headers)
        assert (response.status_code, response.json()["code"]) == (403, "access.foreign")


@pytest.mark.parametrize("forged", ["", "x", "a.b", "W10=.00", "é"])
async def test_a_cookie_that_we_did_not_sign_is_nobodys(bench: Bench, forged: str) -> None:
    async with bench.new_client() as stranger:
        headers = [(b"Cookie", f"{COOKIE}={forged}".encode())]
        assert (await stranger.get(f"{API}/me", headers=headers)).status_code == 401


async def test_a_cookie_cannot_be_changed_to_live_longer(bench: Bench, browser: httpx.AsyncClient) -> None:
    payload, _, signature = browser.cookies[COOKIE].rpartition(".")
    mark, ends_at, nonce = json.loads(base64.urlsafe_b64decode(payload))
    longer = base64.urlsafe_b64encode(json.dumps([mark, ends_at + 1e9, nonce]).encode()).decode()
    async with bench.new_client() as forger:
        headers = {"Cookie": f"{COOKIE}={longer}.{signature}"}
        assert (await forger.get(f"{API}/me", headers=headers)).status_code == 401


async def test_a_session_ends_by_itself(
    bench: Bench, browser: httpx.AsyncClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = bench.access._now()
    monkeypatch.setattr(bench.access, "_now", lambda: now + 8 * 24 * 3600)
    assert (await browser.get(f"{API}/me")).status_code == 401


async def test_who_logs_out_is_out_even_with_the_cookie_kept(bench: Bench, browser: httpx.AsyncClient) -> None:
    cookie = browser.cookies[COOKIE]
    assert (await browser.post("/logout", headers={"Origin": bench.url})).status_code == 204
    async with bench.new_client() as thief:
        assert (await thief.get(f"{API}/me", headers={"Cookie": f"{COOKIE}={cookie}"})).status_code == 401

    assert await Access(bench.keeper).who(session=cookie) is None  # after a restart, too


async def test_a_session_ends_with_its_token_even_if_the_name_is_used_again(bench: Bench) -> None:
    await bench.access.add_token(LOCAL, "guest", "viewer")
    cookie = await bench.access.login(bench.access.new_login_code("guest"))
    assert await bench.access.who(session=cookie) == Caller("guest", "viewer")

    await bench.access.remove_token(LOCAL, "guest")
    await bench.access.add_token(LOCAL, "guest", "operator")

    assert await bench.access.who(session=cookie) is None


# Names of the server


@pytest.mark.parametrize(
    "host", ["evil.example", "evil.example:80", "127.0.0.1.evil.example", "", "localhost:x", "[::2]"]
)
async def test_a_request_for_another_name_is_refused(bench: Bench, host: str) -> None:
    for path in (f"{API}/me", "/", "/health", "/login?code=x"):
        response = await bench.client.get(path, headers={"Host": host})
        assert (response.status_code, response.json()["code"]) == (403, "access.foreign")


@pytest.mark.parametrize("host", ["localhost", "LOCALHOST:8080", "127.0.0.1:9", "[::1]", "[::1]:80"])
async def test_the_names_of_this_machine_are_ours_whatever_the_port(bench: Bench, host: str) -> None:
    assert (await bench.client.get(f"{API}/me", headers={"Host": host})).status_code == 200


async def test_no_other_site_is_allowed_to_read_our_answers(bench: Bench) -> None:
    headers = {"Origin": "http://evil.example", "Access-Control-Request-Method": "POST"}
    for method in ("OPTIONS", "GET"):
        response = await bench.client.request(method, f"{API}/me", headers=headers)
        assert not [name for name in response.headers if name.startswith("access-control-")]


# Sockets


@pytest.mark.parametrize("origin", ["http://evil.example", "null"])
async def test_another_site_cannot_open_a_socket(bench: Bench, browser: httpx.AsyncClient, origin: str) -> None:
    run = await bench.start("steps: [{run: 'true'}]")
    cookie = {"Cookie": f"{COOKIE}={browser.cookies[COOKIE]}", "Origin": origin}
    token = {"Authorization": f"Bearer {bench.token}", "Origin": origin}
    for headers in (cookie, token, {"Cookie": cookie["Cookie"]}):
        with pytest.raises(websockets.InvalidStatus) as refused:
            async with connect(socket_url(bench, run["id"]), additional_headers=headers, **PATIENT):
                pass
        assert refused.value.response.status_code == 403


async def test_nobody_opens_a_socket_without_a_token(bench: Bench) -> None:
    with pytest.raises(websockets.InvalidStatus) as refused:
        async with connect(socket_url(bench, "x"), **PATIENT):
            pass
    assert refused.value.response.status_code == 401


# Roles


async def test_a_viewer_looks_and_changes_nothing(bench: Bench) -> None:
    run = await bench.start("steps: [{id: a, run: 'true'}]", debug={"stop_at_entry": True})
    (stop,) = await bench.wait_stops(run["id"])
    made = await bench.post("/tokens", 201, name="guest", role="viewer")
    at = {"stop": stop["id"]}
    async with bench.new_client(made["token"]) as viewer:
        for path in ("/me", "/runs", f"/runs/{run['id']}", f"/runs/{run['id']}/debug", "/audit", "/flows"):
            assert (await viewer.get(API + path)).status_code == 200
        for path in ("/secrets", "/tokens"):
            assert (await viewer.get(API + path)).status_code == 403
        for method, path, body in (
            ("POST", "/runs", {"flow": {"text": "steps: []"}}),
            ("POST", f"/runs/{run['id']}/cancel", {}),
            ("POST", f"/runs/{run['id']}/debug/continue", at),
            ("POST", f"/runs/{run['id']}/debug/evaluate", {**at, "expression": "."}),
            ("POST", f"/runs/{run['id']}/shell-tokens", at),
            ("DELETE", f"/runs/{run['id']}/debug", None),
            ("PUT", "/secrets/A", {"value": "x"}),
            ("POST", "/tokens", {"name": "more", "role": "operator"}),
            ("PATCH", f"/runs/{run['id']}/debug/breakpoints/1", {"enabled": False}),
        ):
            response = await viewer.request(method, API + path, json=body)
            assert (response.status_code, response.json()["code"]) == (403, "access.not_permitted"), path
    assert [stop["id"]] == [each["id"] for each in (await bench.get(f"/runs/{run['id']}/debug"))["stops"]]


async def test_a_viewer_logs_in_to_the_web_as_a_viewer(bench: Bench) -> None:
    made = await bench.post("/tokens", 201, name="guest", role="viewer")
    link = await login.new_link(bench.url, made["token"])
    async with bench.new_client() as browser:
        assert (await browser.get(link)).status_code == 303
        me = (await browser.get(f"{API}/me")).json()
        body, our_page = {"flow": {"text": "steps: []"}}, {"Origin": bench.url}
        refused = await browser.post(f"{API}/runs", json=body, headers=our_page)
    assert (me["name"], me["role"]) == ("guest", "viewer")
    assert refused.status_code == 403


async def test_a_viewer_hears_events_on_a_socket_and_may_say_nothing(bench: Bench) -> None:
    run = await bench.start("steps: [{id: a, run: 'true'}]", debug={"stop_at_entry": True})
    (stop,) = await bench.wait_stops(run["id"])
    made = await bench.post("/tokens", 201, name="guest", role="viewer")
    headers = {"Authorization": f"Bearer {made['token']}"}
    async with connect(socket_url(bench, run["id"]), additional_headers=headers, **PATIENT) as socket:
        await socket.send(json.dumps({"id": 1, "verb": "state"}))
        await socket.send(json.dumps({"id": 2, "verb": "continue", "stop": stop["id"]}))
        state, refused = [json.loads(await socket.recv()) for _ in range(2)]
    assert state["result"]["stops"]
    assert refused["problem"]["code"] == "access.not_permitted"


# Paths and bodies


async def raw(bench: Bench, request: bytes) -> bytes:
    """What is answered to these very bytes; clients would put a path in order before they send it."""
    reader, writer = await asyncio.open_connection("127.0.0.1", bench.port)
    try:
        writer.write(request)
        await writer.drain()
        async with asyncio.timeout(PATIENCE_SECONDS):
            return await reader.read()
    finally:
        writer.close()


@pytest.mark.parametrize(
    "path",
    [
        "/../../etc/passwd",
        "/assets/../../../../etc/passwd",
        "/assets/%2e%2e/%2e%2e/%2e%2e/etc/passwd",
        "/%2e%2e%2f%2e%2e%2fetc/passwd",
        "/api/v1/runs/{run}/artifacts/../../../../etc/passwd",
        "/api/v1/runs/{run}/artifacts/%2e%2e/%2e%2e/%2e%2e/etc/passwd",
        "/api/v1/runs/{run}/artifacts//etc/passwd",
        "/api/v1/runs/{run}/log/download?occurrence=../../../../../etc/passwd",
        "/api/v1/runs/..%2f..%2f..%2fetc/debug",
        "/api/v1/flows/..%2f..%2f..%2fetc%2fpasswd",
        "/api/v1/runs/%00/events",
        "/api/v1/runs/{run}/artifacts/%00",
    ],
)
async def test_no_path_leads_out_of_where_it_belongs(bench: Bench, path: str) -> None:
    run = await bench.start("steps: [{id: a, run: 'true'}]")
    await bench.wait_ended(run["id"])
    head = f"Host: localhost\r\nAuthorization: Bearer {bench.token}\r\nConnection: close\r\n"
    answer = await raw(bench, f"GET {path.format(run=run['id'])} HTTP/1.1\r\n{head}\r\n".encode())
    assert b"root:" not in answer
    assert b"HTTP/1.1 5" not in answer


async def test_a_body_of_a_gigabyte_is_refused_before_it_is_read(bench: Bench) -> None:
    head = f"Host: localhost\r\nAuthorization: Bearer {bench.token}\r\nContent-Type: application/json\r\n"
    answer = await raw(bench, f"POST {API}/runs HTTP/1.1\r\n{head}Content-Length: {1 << 30}\r\n\r\n{{".encode())
    assert answer.startswith(b"HTTP/1.1 413 ")
    assert b"request.too_large" in answer
    assert b"connection: close" in answer.lower()


async def test_a_body_without_a_length_is_read_up_to_the_limit_and_no_further(bench: Bench) -> None:
    sent = 0

    async def endless() -> AsyncIterator[bytes]:
        nonlocal sent
        while sent < 1 << 30:
            sent += 1 << 16
            yield b"x" * (1 << 16)

    async with bench.new_client(bench.token) as client:
        try:
            response = await client.post(f"{API}/runs", content=endless(), headers={"Content-Type": "application/json"})
        except httpx.TransportError:
            pass  # the server closed the connection while we were still sending
        else:
            assert response.status_code == 413
    assert sent < 64 << 20
    assert (await bench.get("/me"))["name"] == "owner"


# What browsers are told to keep to


async def test_answers_tell_browsers_what_not_to_do(bench: Bench) -> None:
    for path in (f"{API}/me", "/", "/health", "/nothing"):
        headers = (await bench.client.get(path)).headers
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["referrer-policy"] == "no-referrer"
        assert "frame-ancestors 'none'" in headers["content-security-policy"]
        assert "script-src 'self'" in headers["content-security-policy"]
    assert (await bench.client.get(f"{API}/me")).headers["cache-control"] == "no-store"


# Secrets


async def test_secrets_can_be_written_and_never_read(bench: Bench) -> None:
    secret = "s3cr3t-value-of-mine"
    put = await bench.client.put(f"{API}/secrets/API_TOKEN", json={"value": secret})
    listed = await bench.client.get(f"{API}/secrets")
    read = await bench.client.get(f"{API}/secrets/API_TOKEN")
    removed = await bench.client.delete(f"{API}/secrets/API_TOKEN")

    assert put.status_code == 204
    (told,) = listed.json()
    assert told.pop("created_at") > 0
    assert told == {"name": "API_TOKEN", "scope": "server", "repos": []}
    assert read.status_code == 405
    assert secret not in listed.text + read.text
    assert removed.status_code == 204
    assert (await bench.client.delete(f"{API}/secrets/API_TOKEN")).status_code == 404


async def test_a_secret_is_stored_by_name_and_scope(bench: Bench) -> None:
    kept = [("server", ["web", "*"]), ("repo:web", []), ("flow:web:ci", []), ("flow::ci", [])]
    for scope, repos in kept:
        body = {"value": f"value of {scope}", "repos": repos}
        put = await bench.client.put(f"{API}/secrets/KEY", params={"scope": scope}, json=body)
        assert put.status_code == 204
    listed = (await bench.client.get(f"{API}/secrets")).json()
    removed = await bench.client.delete(f"{API}/secrets/KEY", params={"scope": "repo:web"})
    again = await bench.client.delete(f"{API}/secrets/KEY", params={"scope": "repo:web"})

    assert sorted((each["scope"], each["repos"]) for each in listed) == sorted(kept)
    assert (removed.status_code, again.status_code) == (204, 404)
    assert len((await bench.client.get(f"{API}/secrets")).json()) == 3
    audit = (await bench.client.get(f"{API}/audit")).json()["entries"]
    assert {each["detail"]["scope"] for each in audit if each["action"] == "put_secret"} == {scope for scope, _ in kept}


@pytest.mark.parametrize(
    ("name", "scope", "repos", "told"),
    [
        ("A-KEY", "server", [], "invalid secret name 'A-KEY'"),
        ("KEY", "nowhere", [], "invalid scope 'nowhere': use server, repo:<repo> or flow:<repo>:<flow>"),
        ("KEY", "repo:web", ["web"], "only scope server can"),
        ("KEY", "server", ["../x"], "invalid repository '../x'"),
    ],
)
async def test_a_secret_that_cannot_be_is_refused(
    bench: Bench, name: str, scope: str, repos: list[str], told: str
) -> None:
    body = {"value": "hidden-value", "repos": repos}
    put = await bench.client.put(f"{API}/secrets/{name}", params={"scope": scope}, json=body)

    assert (put.status_code, put.json()["code"]) == (422, "request.secret")
    assert told in put.json()["detail"]
    assert (await bench.client.get(f"{API}/secrets")).json() == []


@pytest.mark.parametrize("value", ["", "k" * 70_000])
async def test_a_value_that_no_command_can_have_is_refused(bench: Bench, value: str) -> None:
    put = await bench.client.put(f"{API}/secrets/KEY", json={"value": value})

    assert (put.status_code, put.json()["code"]) == (422, "request.secret")
    assert (await bench.client.get(f"{API}/secrets")).json() == []


async def test_a_secret_of_a_run_is_found_in_no_answer_and_no_file(bench: Bench, tmp_path: Path) -> None:
    secret = "hunter2-of-the-story"
    run = await bench.start(
        "secrets: [TOKEN]\n"
        'steps: [{id: a, run: \'echo "$TOKEN"; echo "key=$TOKEN" >> "$PITSTOP_OUTPUT"\'}, {id: b, run: "false"}]',
        secrets={"TOKEN": secret},
        debug={"stop_on_error": True, "breakpoints": [{"step": "b"}]},
    )
    path = f"/runs/{run['id']}"
    (stop,) = await bench.wait_stops(run["id"])
    at = f"stop={stop['id']}"
    looks = [
        "",
        "/debug",
        "/steps",
        "/log?occurrence=a",
        "/log/download?occurrence=a",
        "/debug/history",
        "/debug/export",
    ]
    looks += [f"/debug/scope?{at}", f"/debug/variables?{at}&path=.steps", f"/debug/config?{at}"]
    texts = [(await bench.client.get(API + path + each)).text for each in looks]
    said = await bench.client.post(f"{API}{path}/debug/evaluate", json={"stop": stop["id"], "expression": "."})
    wrong = {"flow": {"text": "steps: []"}, "secrets": {"TOKEN": secret}, "inputs": secret}
    texts += [said.text, (await bench.client.post(f"{API}/runs", json=wrong)).text]
    await bench.client.delete(f"{API}{path}/debug")
    texts += [json.dumps(event) async for event in bench.events(run["id"])]
    texts += [(await bench.client.get(f"{API}/audit")).text, (await bench.client.get("/metrics")).text]

    assert len(texts) > 15
    assert [text[:200] for text in texts if secret in text] == []
    assert files_with(bench.settings.home, b"run.started")
    assert files_with(bench.settings.home, secret.encode()) + files_with(tmp_path, secret.encode()) == []


def files_with(folder: Path, text: bytes) -> list[Path]:
    """What is being removed meanwhile is left out."""
    found = []
    for parent, _, names in os.walk(folder):
        for name in names:
            with suppress(OSError):
                if text in Path(parent, name).read_bytes():
                    found.append(Path(parent, name))
    return found


# Who did what


async def test_what_was_carried_out_is_written_down_with_who_did_it_and_without_values(bench: Bench) -> None:
    made = await bench.post("/tokens", 201, name="ci", role="operator")
    async with bench.new_client(made["token"]) as ci:
        flow, debug = {"text": "steps: [{id: a, run: 'true'}]"}, {"stop_at_entry": True}
        body = {"flow": flow, "secrets": {"KEY": "value-of-key"}, "debug": debug}
        run = (await ci.post(f"{API}/runs", json=body)).json()["id"]
        (stop,) = await bench.wait_stops(run)
        edit = {"stop": stop["id"], "path": ".vars.x", "value": "value-of-x"}
        await ci.post(f"{API}/runs/{run}/debug/set", json=edit)
        await ci.post(f"{API}/runs/{run}/debug/continue", json={"stop": 999})
        await ci.put(f"{API}/secrets/PASSWORD", json={"value": "value-of-password"})

    page = await bench.get("/audit")
    of_run = await bench.get("/audit", run=run)

    told = [(entry["who"], entry["action"], entry["run"]) for entry in page["entries"]]
    assert told == [
        ("ci", "put_secret", None),
        ("ci", "debug_set", run),
        ("ci", "start_run", run),
        ("owner", "add_token", None),
    ]
    assert [entry["action"] for entry in of_run["entries"]] == ["debug_set", "start_run"]
    assert of_run["entries"][0]["detail"] == {"stop": stop["id"], "path": ".vars.x"}
    assert of_run["entries"][1]["detail"]["secrets"] == ["KEY"]
    assert "value-of-" not in json.dumps(page)
    assert made["token"] not in json.dumps(page)
