import asyncio
import json
from pathlib import Path
from typing import Any

import httpx
import pytest

from pitstop.doors.http.gate.limits import Limits
from tests.doors.http.bench import API, Bench
from tests.patience import PATIENCE_SECONDS

JSON = {"Content-Type": "application/json"}


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{",
        b"nonsense",
        b"null",
        b"[]",
        b'"text"',
        b'{"flow": null}',
        b'{"flow": {}}',
        b'{"flow": {"path": "a.yaml", "text": "steps: []"}}',
        b'{"flow": {"path": "a\\u0000b"}}',
        b'{"flow": {"text": "\\ud800"}}',
        b'{"flow": {"text": "steps: []"}, "inputs": {"a": NaN}}',
        b'{"flow": {"text": "steps: []"}, "inputs": {"a": 1e999}}',
        b'{"flow": {"text": "steps: []"}, "inputs": {"a": ' + b"9" * 5000 + b"}}",
        b'{"flow": {"text": "steps: []"}, "inputs": ' + b'{"a":' * 5000 + b"1" + b"}" * 5000 + b"}",
        b'{"flow": {"text": "steps: []"}, "inputs": {"a": ' + b"[" * 150 + b"]" * 150 + b"}}",
        b'{"flow": {"text": "steps: []"}, "unknown": 1}',
        b'{"flow": {"text": "steps: []"}, "priority": "high"}',
        b'{"flow": {"text": "steps: []"}, "priority": 1.5}',
        b'{"flow": {"text": "steps: []"}, "debug": {"lease_seconds": -1}}',
        b'{"flow": {"text": "steps: []"}, "debug": {"breakpoints": [{"line": 0}]}}',
        b"\xff\xfe",
        b'{"flow": {"text": "\xff"}}',
    ],
)
async def test_a_body_that_cannot_be_understood_is_told_where(bench: Bench, body: bytes) -> None:
    response = await bench.client.post(f"{API}/runs", content=body, headers=JSON)

    assert response.status_code == 422, response.text
    assert response.headers["content-type"] == "application/problem+json"
    assert response.json()["code"] == "request"
    assert response.json()["problems"]


async def test_a_body_that_says_it_is_no_json_is_not_read_as_json(bench: Bench) -> None:
    body = json.dumps({"text": "steps: []"})
    for kind in ("text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x"):
        response = await bench.client.post(f"{API}/flows/check", content=body, headers={"Content-Type": kind})
        assert response.status_code == 422


@pytest.mark.parametrize(
    "query",
    ["limit=0", "limit=x", "limit=99999999999999999999", "status=odd", "cursor=%00", "cursor=%ff", "search=%00"],
)
async def test_a_query_that_cannot_be_understood_is_refused(bench: Bench, query: str) -> None:
    assert (await bench.client.get(f"{API}/runs?{query}")).status_code == 422


@pytest.mark.parametrize(
    ("verb", "body"),
    [
        ("continue", {}),
        ("continue", {"stop": 1, "all": True}),
        ("continue", {"stop": "1"}),
        ("continue", {"stop": 1.0}),
        ("continue", {"stop": True}),
        ("continue", {"stop": 10**30}),
        ("step", {"stop": 1, "kind": "sideways"}),
        ("step", {"stop": 1, "kind": "to"}),
        ("step", {"stop": 1, "kind": "over", "step": "a"}),
        ("force", {"stop": 1, "status": "great"}),
        ("set", {"stop": 1, "path": ".a"}),
        ("set", {"stop": 1, "value": 1}),
        ("extend", {"seconds": "long"}),
        ("inject", {"stop": 1, "step": []}),
        ("evaluate", {"stop": 1, "expression": "x" * 5000}),
    ],
)
async def test_a_verb_that_is_not_said_right_changes_nothing(bench: Bench, verb: str, body: dict[str, Any]) -> None:
    run = await bench.start("steps: [{id: a, run: 'true'}]", debug={"stop_at_entry": True})
    (stop,) = await bench.wait_stops(run["id"])
    problem = await bench.post(f"/runs/{run['id']}/debug/{verb}", 422, **body)
    assert problem["code"] == "request"
    assert [each["id"] for each in (await bench.get(f"/runs/{run['id']}/debug"))["stops"]] == [stop["id"]]


@pytest.mark.parametrize(
    ("content", "kind"),
    [
        (b"", "application/json"),
        (b'{"all": true', "application/json"),
        (b"[]", "application/json"),
        (b'{"all": NaN}', "application/json"),
        (b'{"all": \xff}', "application/json"),
        (b"[" * 5000, "application/json"),
        (b'{"all": true}', "text/plain"),
        (b'{"all": true}', "application/x-www-form-urlencoded"),
        (b'{"all": true}', ""),
    ],
)
async def test_a_verb_whose_body_is_no_json_object_changes_nothing(bench: Bench, content: bytes, kind: str) -> None:
    run = await bench.start("steps: [{id: a, run: 'true'}]", debug={"stop_at_entry": True})
    (stop,) = await bench.wait_stops(run["id"])
    url = f"{API}/runs/{run['id']}/debug/continue"

    response = await bench.client.post(url, content=content, headers={"Content-Type": kind} if kind else {})

    assert (response.status_code, response.json()["code"]) == (422, "request")
    assert [each["id"] for each in (await bench.get(f"/runs/{run['id']}/debug"))["stops"]] == [stop["id"]]


@pytest.mark.parametrize("run", ["r" * 101, "a%00b", "a%0A"])
@pytest.mark.parametrize("verb", ["", "/continue"])
async def test_a_run_id_that_no_run_can_have_is_refused_by_every_verb(bench: Bench, run: str, verb: str) -> None:
    method, body = ("POST", {"all": True}) if verb else ("GET", None)
    response = await bench.client.request(method, f"{API}/runs/{run}/debug{verb}", json=body)
    assert (response.status_code, response.json()["code"]) == (422, "request")


async def test_json_of_another_name_is_json(bench: Bench) -> None:
    run = await bench.start("steps: [{id: a, run: 'true'}]", debug={"stop_at_entry": True})
    await bench.wait_stops(run["id"])
    kind = {"Content-Type": "Application/Vnd.Pitstop+JSON; charset=utf-8"}
    response = await bench.client.post(f"{API}/runs/{run['id']}/debug/continue", content='{"all": true}', headers=kind)
    assert response.status_code == 200


async def test_an_address_that_there_is_not_is_unknown_and_a_method_that_it_has_not_is_refused(bench: Bench) -> None:
    for method, path, status in (
        ("POST", "/runs/x/debug/explode", 404),
        ("GET", "/runs/x/debug/explode", 404),
        ("DELETE", "/", 404),
        ("PUT", "/me", 405),
        ("GET", "/runs/x/debug/continue", 405),
        ("PATCH", "/runs", 405),
        ("GET", "/me/", 404),
    ):
        response = await bench.client.request(method, API + path, json={})
        assert (response.status_code, path) == (status, path)
        assert response.headers["content-type"] == "application/problem+json"


async def test_a_client_that_leaves_in_the_middle_of_a_command_leaves_nothing_half_done(bench: Bench) -> None:
    run = await bench.start("steps: [{id: a, run: 'true'}, {id: b, run: 'true'}]", debug={"stop_at_entry": True})
    (stop,) = await bench.wait_stops(run["id"])
    path = f"{API}/runs/{run['id']}/debug/step"
    body = json.dumps({"stop": stop["id"], "kind": "over"})
    head = f"Host: localhost\r\nAuthorization: Bearer {bench.token}\r\nContent-Type: application/json\r\n"
    request = f"POST {path} HTTP/1.1\r\n{head}Content-Length: {len(body)}\r\n\r\n{body}".encode()

    _, cut_short = await asyncio.open_connection("127.0.0.1", bench.port)
    cut_short.write(request[:-5])
    await cut_short.drain()
    cut_short.transport.abort()
    state = await bench.get(f"/runs/{run['id']}/debug")
    assert [each["id"] for each in state["stops"]] == [stop["id"]]

    _, whole = await asyncio.open_connection("127.0.0.1", bench.port)
    whole.write(request)
    await whole.drain()
    whole.transport.abort()
    (second,) = await bench.wait_stops(run["id"], above=stop["id"])
    assert second["step"] == "b"


@pytest.mark.parametrize("key", ["", "Idempotency-Key: once\r\n"])
async def test_a_client_that_leaves_before_its_body_has_come_is_no_bug(
    bench: Bench, key: str, caplog: pytest.LogCaptureFixture
) -> None:
    run = await bench.start("steps: [{id: a, run: 'true'}]", debug={"stop_at_entry": True})
    await bench.wait_stops(run["id"])
    head = f"Host: localhost\r\nAuthorization: Bearer {bench.token}\r\nContent-Type: application/json\r\n{key}"
    path = f"{API}/runs/{run['id']}/debug/continue"

    reader, writer = await asyncio.open_connection("127.0.0.1", bench.port)
    writer.write(f'POST {path} HTTP/1.1\r\n{head}Content-Length: 100\r\n\r\n{{"all"'.encode())
    await writer.drain()
    await bench.get("/me")  # by its answer, the request above is being read
    writer.write_eof()
    async with asyncio.timeout(PATIENCE_SECONDS):
        await reader.read()
    writer.close()

    assert not [record for record in caplog.records if record.levelname == "ERROR"]
    assert len((await bench.get(f"/runs/{run['id']}/debug"))["stops"]) == 1


async def test_a_body_that_does_not_come_is_not_waited_for_for_ever(tmp_path: Path) -> None:
    async with Bench(tmp_path, Limits(body_seconds=0.1)).serving() as bench:
        reader, writer = await asyncio.open_connection("127.0.0.1", bench.port)
        head = f"Host: localhost\r\nAuthorization: Bearer {bench.token}\r\nContent-Type: application/json\r\n"
        writer.write(f"POST {API}/runs HTTP/1.1\r\n{head}Content-Length: 100\r\n\r\n{{".encode())
        async with asyncio.timeout(PATIENCE_SECONDS):
            answer = await reader.read()
        writer.close()
        assert answer.startswith(b"HTTP/1.1 408 ")


async def test_a_page_of_very_long_lines_is_cut_and_says_where_to_go_on(tmp_path: Path) -> None:
    async with Bench(tmp_path, Limits(page_bytes=30_000)).serving() as bench:
        run = await bench.start(
            "steps: [{id: a, run: 'for i in 1 2 3 4 5; do head -c 20000 /dev/zero | tr \"\\\\0\" $i; echo; done'}]"
        )
        await bench.wait_ended(run["id"])
        texts, after = [], 0
        while after is not None:
            page = await bench.get(f"/runs/{run['id']}/log", occurrence="a", after=after)
            assert sum(len(line["text"]) for line in page["lines"]) <= 40_000
            texts += [line["text"] for line in page["lines"]]
            after = page["next"]
        assert texts == [str(number) * 20_000 for number in range(1, 6)]


async def test_a_scope_that_is_too_large_is_cut_and_says_where(tmp_path: Path) -> None:
    async with Bench(tmp_path, Limits(scope_bytes=20_000)).serving() as bench:
        run = await bench.start("vars: {small: 1}\nsteps: [{id: a, run: 'true'}]", debug={"stop_at_entry": True})
        (stop,) = await bench.wait_stops(run["id"])
        body = {"stop": stop["id"], "path": ".vars.large", "value": "x" * 100_000}
        await bench.post(f"/runs/{run['id']}/debug/set", **body)

        told = await bench.get(f"/runs/{run['id']}/debug/scope", stop=stop["id"])
        said = await bench.post(f"/runs/{run['id']}/debug/evaluate", stop=stop["id"], expression=".vars")

        assert told["cut"] == [".vars.large"]
        assert told["scope"]["vars"]["small"] == 1
        assert told["scope"]["vars"]["large"].endswith("…")
        assert said["cut"]


# The same request twice


async def test_a_request_with_the_same_key_acts_once(bench: Bench) -> None:
    body = {"flow": {"text": "steps: [{run: 'true'}]"}}
    key = {"Idempotency-Key": "deploy-1"}

    answers = await asyncio.gather(*(bench.client.post(f"{API}/runs", json=body, headers=key) for _ in range(4)))

    assert {answer.status_code for answer in answers} == {201}
    assert len({answer.json()["id"] for answer in answers}) == 1
    assert len({answer.headers["location"] for answer in answers}) == 1
    assert sum("idempotency-replayed" in answer.headers for answer in answers) == 3
    assert len((await bench.get("/runs"))["runs"]) == 1


async def test_a_key_that_came_with_another_request_is_refused(bench: Bench) -> None:
    key = {"Idempotency-Key": "one"}
    await bench.client.post(f"{API}/runs", json={"flow": {"text": "steps: [{run: 'true'}]"}}, headers=key)
    other = await bench.client.post(f"{API}/runs", json={"flow": {"text": "steps: [{run: 'false'}]"}}, headers=key)
    assert (other.status_code, other.json()["code"]) == (422, "request.key_reused")


async def test_keys_of_different_people_are_different_keys(bench: Bench) -> None:
    made = await bench.post("/tokens", 201, name="ci", role="operator")
    body, key = {"flow": {"text": "steps: [{run: 'true'}]"}}, {"Idempotency-Key": "one"}
    mine = await bench.client.post(f"{API}/runs", json=body, headers=key)
    async with bench.new_client(made["token"]) as other:
        theirs = await other.post(f"{API}/runs", json=body, headers=key)
    assert mine.json()["id"] != theirs.json()["id"]


async def test_a_token_is_never_given_twice_whatever_the_key(bench: Bench) -> None:
    key, body = {"Idempotency-Key": "one"}, {"name": "ci", "role": "viewer"}
    first = await bench.client.post(f"{API}/tokens", json=body, headers=key)
    second = await bench.client.post(f"{API}/tokens", json=body, headers=key)
    assert (first.status_code, second.status_code) == (201, 409)


async def test_two_clients_racing_on_one_stop_step_once(bench: Bench) -> None:
    run = await bench.start(
        "steps: [{id: a, run: 'true'}, {id: b, run: 'true'}, {id: c, run: 'true'}]", debug={"stop_at_entry": True}
    )
    (stop,) = await bench.wait_stops(run["id"])

    async def step(client: httpx.AsyncClient) -> int:
        body = {"stop": stop["id"], "kind": "over"}
        return (await client.post(f"{API}/runs/{run['id']}/debug/step", json=body)).status_code

    async with bench.new_client(bench.token) as one, bench.new_client(bench.token) as two:
        assert sorted(await asyncio.gather(step(one), step(two))) == [200, 409]
    (second,) = await bench.wait_stops(run["id"], above=stop["id"])
    assert second["step"] == "b"


async def test_very_many_inputs_are_refused(bench: Bench) -> None:
    inputs = {f"name{number}": 1 for number in range(10_001)}
    problem = await bench.post("/runs", 422, flow={"text": "steps: [{run: 'true'}]"}, inputs=inputs)
    assert "10000" in str(problem)
