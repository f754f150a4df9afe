"""The API is described completely, as it is now; and what it says holds, whatever it is asked."""

import asyncio
import json
import sys
from pathlib import Path
from typing import Any

import pytest

from pitstop.doors.http.app import create_app
from pitstop.doors.http.openapi import text_of
from pitstop.service.desks import Service
from tests.amounts import amount
from tests.doors.http.bench import Bench
from tests.patience import PATIENCE_SECONDS

ROOT = Path(__file__).parents[3]
KEPT = ROOT / "docs/reference/openapi.json"
CHECKS = "not_a_server_error,status_code_conformance,content_type_conformance,response_schema_conformance"
ENDING = ("delete_run", "cancel_run", "debug_abort", "detach")  # what leaves no stopped run for the others
EXAMPLES = str(amount(1, soak=8))
STREAMS = ("follow_events", "follow_output")  # they do not end while the run lasts
PLATFORM = ("repositories", "triggers", "cards", "playground", "webhooks", "tests", "feed")  # what needs a database


def described() -> Any:
    nothing: Any = object()
    return json.loads(
        text_of(create_app(Service(**dict.fromkeys(Service.__struct_fields__, nothing)), nothing, nothing, web=None))
    )


def operations() -> list[Any]:
    return [each for methods in described()["paths"].values() for each in methods.values()]


def test_the_kept_description_is_not_stale() -> None:
    nothing: Any = object()
    text = text_of(create_app(Service(**dict.fromkeys(Service.__struct_fields__, nothing)), nothing, nothing, web=None))
    assert KEPT.read_text(encoding="utf-8") == text, "run .venv/bin/python docs/reference/generate.py"


def test_every_operation_says_what_it_is_and_how_it_can_fail() -> None:
    ids = [each["operationId"] for each in operations()]
    assert len(ids) == len(set(ids))
    for operation in operations():
        assert operation["summary"], operation["operationId"]
        assert operation["tags"], operation["operationId"]
        assert {"401", "403", "422"} <= set(operation["responses"]), operation["operationId"]
        for status, response in operation["responses"].items():
            if int(status) >= 400:
                assert list(response["content"]) == ["application/problem+json"]


def test_every_post_has_an_example_or_needs_no_body() -> None:
    told = described()
    for methods in told["paths"].values():
        for operation in methods.values():
            if operation["operationId"].startswith("debug_"):
                assert operation["requestBody"]["content"]["application/json"]["schema"]["examples"]
    assert told["components"]["schemas"]["RunForm"]["examples"]


def test_answers_have_all_their_fields_and_requests_may_leave_some_out() -> None:
    schemas = described()["components"]["schemas"]
    assert set(schemas["RunInfo"]["required"]) == set(schemas["RunInfo"]["properties"])
    assert schemas["RunForm"]["required"] == ["flow"]
    assert schemas["RunForm"]["additionalProperties"] is False


async def test_the_server_tells_its_description(bench: Bench) -> None:
    told = await bench.get("/openapi.json")
    paths = described()["paths"].items()
    assert told["paths"] == {path: methods for path, methods in paths if not is_of_platform(methods)}


def is_of_platform(methods: Any) -> bool:
    """Whether only a server with a database has it."""
    return any(tag in PLATFORM for operation in methods.values() for tag in operation["tags"])


async def fuzz(bench: Bench, folder: Path, config: str, *options: str) -> None:
    without = [option for tag in PLATFORM for option in ("--exclude-tag", tag)]
    await fuzz_server(bench.url, bench.token, folder, config, *options, *without)


async def fuzz_server(url: str, token: str, folder: Path, config: str, *options: str) -> None:
    """Let schemathesis ask everything that the description allows, and much that it does not."""
    (folder / "schemathesis.toml").write_text(config)
    command = [str(Path(sys.executable).with_name("st")), "--config-file", str(folder / "schemathesis.toml"), "run"]
    command += [str(KEPT), "--url", url, "--header", f"Authorization: Bearer {token}"]
    command += ["--checks", CHECKS, "--request-timeout", str(PATIENCE_SECONDS), "--seed", "1", *options]
    command += ["--suppress-health-check", "too_slow"]  # which is about this machine
    process = await asyncio.create_subprocess_exec(
        *command, cwd=folder, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.STDOUT
    )
    said, _ = await process.communicate()
    assert process.returncode == 0, said.decode()[-6000:]


@pytest.mark.repeats
@pytest.mark.timeout(900)
async def test_nothing_that_can_be_asked_is_a_server_error(own_bench: Bench, tmp_path: Path) -> None:
    await fuzz(own_bench, tmp_path, "", "--phases", "examples,fuzzing", "--max-examples", EXAMPLES)
    assert (await own_bench.get("/me"))["name"] == "owner"


@pytest.mark.repeats
@pytest.mark.timeout(900)
async def test_nothing_that_can_be_said_to_a_stopped_run_is_a_server_error(own_bench: Bench, tmp_path: Path) -> None:
    steps = ", ".join(f"{{id: s{number}, sleep: 0s}}" for number in range(300))
    run = await own_bench.start(f"vars: {{region: eu}}\nsteps: [{steps}]", debug={"stop_at_entry": True})
    await own_bench.wait_stops(run["id"])
    config = f'[parameters]\n"path.run" = "{run["id"]}"\n"query.stop" = 1\n'
    left_out = [option for each in (*ENDING, *STREAMS) for option in ("--exclude-operation-id", each)]

    await fuzz(own_bench, tmp_path, config, "--phases", "fuzzing", "--max-examples", EXAMPLES, *left_out)

    done = {entry["action"] for entry in (await own_bench.get("/audit", run=run["id"], limit=1000))["entries"]}
    assert len(done) > 5, "it did not get through to the debugger"
