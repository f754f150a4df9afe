from pathlib import Path

import pytest

from tests.doors.http.bench import Bench


@pytest.fixture
def stored(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with stored flows, where the server looks for them."""
    monkeypatch.chdir(bench.folder)
    folder = bench.folder / ".pitstop/flows"
    folder.mkdir(parents=True)
    (folder / "deploy.yaml").write_text("steps: [{id: a, run: echo deployed}]")
    (folder / "broken.yaml").write_text("steps: [{rnu: a}]")
    return folder


async def test_stored_flows_are_listed_shown_and_started_by_name(bench: Bench, stored: Path) -> None:
    listed = await bench.get("/flows")
    flow = await bench.get("/flows/deploy")
    run = await bench.post("/runs", 201, flow={"name": "deploy"})

    assert [(each["name"], each["problem"] is None) for each in listed] == [("broken", False), ("deploy", True)]
    assert "echo deployed" in flow["text"]
    assert [step["path"] for step in flow["info"]["steps"]] == ["a"]
    assert (await bench.wait_ended(run["id"]))["status"] == "passed"


async def test_a_stored_flow_that_cannot_run_is_shown_with_its_mistakes(bench: Bench, stored: Path) -> None:
    flow = await bench.get("/flows/broken")
    assert flow["info"] is None
    assert flow["mistakes"][0]["line"] == 1


async def test_a_name_that_no_stored_flow_has_is_unknown_even_if_a_file_is_called_so(
    bench: Bench, stored: Path
) -> None:
    (bench.folder / "outside").write_text("steps: [{run: 'true'}]")
    for name in ("missing", "outside", "../outside", "../../etc/passwd", "deploy.yaml"):
        assert (await bench.post("/runs", 404, flow={"name": name}))["code"] == "unknown.flow"
        assert (await bench.post("/flows/check", 404, name=name))["code"] == "unknown.flow"


async def test_a_text_is_checked_with_all_its_mistakes(bench: Bench) -> None:
    good = await bench.post("/flows/check", text="steps: [{id: a, run: 'true'}]")
    bad = await bench.post("/flows/check", text="steps:\n  - {rnu: a}\n  - {slep: 1s}\n")

    assert (good["flow"]["steps"][0]["path"], good["mistakes"]) == ("a", [])
    assert bad["flow"] is None
    assert [mistake["line"] for mistake in bad["mistakes"]] == [2, 3]


async def test_a_flow_is_shown_as_it_would_run(bench: Bench) -> None:
    text = "inputs: {word: {required: true}}\nsteps: [{id: a, run: 'echo ${{ .inputs.word }}'}]"
    told = await bench.post("/flows/resolve", flow={"text": text}, inputs={"word": "hi"})
    assert told["steps"][0]["detail"] == "echo hi"


async def test_step_types_are_told(bench: Bench) -> None:
    types = {each["name"]: each for each in await bench.get("/steps")}
    assert {"run", "sleep", "parallel"} <= set(types)
    assert "script" in types["run"]["text"]
    assert (await bench.get("/steps/sleep"))["name"] == "sleep"
    assert (await bench.get("/steps/nope", 404))["code"] == "step_type.unknown"


async def test_the_schema_of_flows_and_the_state_of_the_machine_are_told(bench: Bench) -> None:
    assert "properties" in await bench.get("/flows/schema")
    assert all({"name", "works", "detail"} <= set(finding) for finding in await bench.get("/doctor"))


async def test_a_stored_flow_that_is_started_by_name_finds_the_files_of_its_project(bench: Bench, stored: Path) -> None:
    (stored / "version.yaml").write_text("steps: [{id: a, run: cat VERSION}]")
    (bench.folder / "VERSION").write_text("1.2.3\n")  # of the project whose `.pitstop` it is in

    run = await bench.post("/runs", 201, flow={"name": "version"})
    ended = await bench.wait_ended(run["id"])

    assert ended["status"] == "passed", ended["error"]
