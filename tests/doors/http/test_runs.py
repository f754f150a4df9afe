from typing import Any

from tests.doors.http.bench import API, Bench

TWO_STEPS = """
    inputs: {word: {default: hello}}
    steps:
      - {id: greet, run: 'echo ${{ .inputs.word }}; echo again'}
      - {id: build, run: 'echo made > "$PITSTOP_ARTIFACTS/made.txt"'}
"""


async def test_a_run_is_started_from_a_text_and_can_be_looked_at(bench: Bench) -> None:
    response = await bench.client.post(
        f"{API}/runs",
        json={"flow": {"text": "steps: [{id: a, run: echo hi}]", "name": "ci.yaml"}, "folder": str(bench.folder)},
    )
    started = response.json()

    assert response.status_code == 201
    assert response.headers["location"] == f"{API}/runs/{started['id']}"
    ended = await bench.wait_ended(started["id"])
    assert ended["status"] == "passed"
    assert [step["path"] for step in ended["flow_info"]["steps"]] == ["a"]
    assert "echo hi" in next(iter(ended["texts"].values()))


async def test_a_run_is_started_from_a_file(bench: Bench) -> None:
    file = bench.folder / "ci.yaml"
    file.write_text("steps: [{run: 'true'}]")

    started = await bench.post("/runs", 201, flow={"path": str(file)})

    assert (await bench.wait_ended(started["id"]))["file"] == str(file)


async def test_inputs_reach_the_steps(bench: Bench) -> None:
    run = await bench.start(TWO_STEPS, inputs={"word": "ahoy"})
    await bench.wait_ended(run["id"])

    page = await bench.get(f"/runs/{run['id']}/log", occurrence="greet")

    assert [line["text"] for line in page["lines"]] == ["ahoy", "again"]


async def test_a_flow_with_mistakes_is_refused_with_each_place(bench: Bench) -> None:
    problem = await bench.post(
        "/runs", 422, flow={"text": "steps:\n  - {run: a, tiemout: 3s}\n  - {wait: 1}\n", "name": "x.yaml"}
    )

    assert problem["code"] == "definition.flow"
    assert [(each["line"], each["file"]) for each in problem["mistakes"]] == [(2, "x.yaml"), (3, "x.yaml")]


async def test_inputs_that_the_flow_does_not_ask_for_are_refused(bench: Bench) -> None:
    body = {"flow": {"text": "steps: [{run: 'true'}]"}, "inputs": {"nobody": 1}}
    assert (await bench.post("/runs", 422, **body))["code"] == "definition.inputs"


async def test_runs_are_listed_page_by_page_the_newest_first(bench: Bench) -> None:
    ids = []
    for _ in range(3):
        run = await bench.start("steps: [{run: 'true'}]")
        await bench.wait_ended(run["id"])
        ids.append(run["id"])

    first = await bench.get("/runs", limit=2)
    second = await bench.get("/runs", limit=2, cursor=first["next"])

    assert [run["id"] for run in (*first["runs"], *second["runs"])] == ids[::-1]
    assert second["next"] is None


async def test_runs_are_found_by_status_and_text(bench: Bench) -> None:
    passed = await bench.start("steps: [{run: 'true'}]")
    failed = await bench.start("steps: [{run: 'false'}]")
    await bench.wait_ended(passed["id"])
    await bench.wait_ended(failed["id"])

    def ids(page: Any) -> list[str]:
        return [run["id"] for run in page["runs"]]

    assert ids(await bench.get("/runs", status="failed")) == [failed["id"]]
    assert ids(await bench.get("/runs", search=passed["id"])) == [passed["id"]]
    assert ids(await bench.get("/runs", flow="no such flow")) == []
    both = await bench.client.get(f"{API}/runs", params={"status": ["failed", "passed"]})
    assert set(ids(both.json())) == {passed["id"], failed["id"]}


async def test_a_cursor_that_no_page_gave_is_refused(bench: Bench) -> None:
    assert (await bench.get("/runs", 422, cursor="what"))["code"] == "cursor"


async def test_a_run_is_cancelled(bench: Bench) -> None:
    run = await bench.start("steps: [{id: a, run: sleep 60}]")

    await bench.post(f"/runs/{run['id']}/cancel", reason="no time")

    ended = await bench.wait_ended(run["id"])
    assert ended["status"] == "cancelled"
    assert "no time" in ended["error"]


async def test_a_run_is_ended_at_once(bench: Bench) -> None:
    run = await bench.start("steps: [{run: \"trap '' TERM; sleep 60\"}]")

    await bench.post(f"/runs/{run['id']}/cancel", now=True)

    assert (await bench.wait_ended(run["id"]))["status"] == "cancelled"


async def test_a_run_is_forgotten_when_it_has_ended_and_not_before(bench: Bench) -> None:
    run = await bench.start("steps: [{run: sleep 60}]")
    early = await bench.client.delete(f"{API}/runs/{run['id']}")
    await bench.post(f"/runs/{run['id']}/cancel")
    await bench.wait_ended(run["id"])
    late = await bench.client.delete(f"{API}/runs/{run['id']}")

    assert (early.status_code, early.json()["code"]) == (409, "refused.not_ended")
    assert late.status_code == 204
    assert (await bench.get(f"/runs/{run['id']}", 404))["code"] == "unknown.run"


async def test_a_run_is_pinned(bench: Bench) -> None:
    run = await bench.start("steps: [{run: 'true'}]")

    assert (await bench.post(f"/runs/{run['id']}/pin", pinned=True))["is_pinned"] is True
    assert (await bench.wait_ended(run["id"]))["is_pinned"] is True
    assert (await bench.post(f"/runs/{run['id']}/pin", pinned=False))["is_pinned"] is False


async def test_a_run_is_run_again_from_a_step(bench: Bench) -> None:
    (bench.folder / "count").write_text("")
    run = await bench.start("steps: [{id: a, run: echo x >> count}, {id: b, run: test -f ready}]")
    assert (await bench.wait_ended(run["id"]))["status"] == "failed"
    (bench.folder / "ready").write_text("")

    again = await bench.post(f"/runs/{run['id']}/rerun", 201, from_step="b")

    assert (await bench.wait_ended(again["id"]))["status"] == "passed"
    assert again["from_run"] == run["id"]
    assert (bench.folder / "count").read_text() == "x\n"


async def test_steps_are_told_with_their_times(bench: Bench) -> None:
    run = await bench.start("steps: [{id: a, run: 'true'}, {id: b, run: 'false', retry: {times: 1}}]")
    await bench.wait_ended(run["id"])

    steps = await bench.get(f"/runs/{run['id']}/steps")

    assert [(step["occurrence"], step["status"], step["attempt"]) for step in steps] == [
        ("a", "passed", 1),
        ("b", "failed", 1),
        ("b#2", "failed", 2),
    ]
    assert all(step["started_at"] <= step["ended_at"] for step in steps)


async def test_logs_are_paged_searched_and_downloaded(bench: Bench) -> None:
    run = await bench.start("steps: [{id: a, run: seq 1 50}]")
    await bench.wait_ended(run["id"])
    path = f"/runs/{run['id']}/log"

    first = await bench.get(path, occurrence="a", limit=20)
    second = await bench.get(path, occurrence="a", limit=40, after=first["next"])
    found = await bench.get(path, occurrence="a", search="4")
    download = await bench.client.get(f"{API}{path}/download", params={"occurrence": "a"})

    assert [line["text"] for line in first["lines"] + second["lines"]] == [str(number) for number in range(1, 51)]
    assert [line["number"] for line in found["lines"]] == [4, 14, 24, 34, *range(40, 50)]
    assert download.text == "".join(f"{number}\n" for number in range(1, 51))
    assert "attachment" in download.headers["content-disposition"]
    assert await bench.get(f"{path}/tail", occurrence="a", lines=2) == ["49", "50"]


async def test_artifacts_are_listed_and_handed_out_as_files_to_keep(bench: Bench) -> None:
    run = await bench.start(TWO_STEPS)
    await bench.wait_ended(run["id"])

    listed = await bench.get(f"/runs/{run['id']}/artifacts")
    made = await bench.client.get(f"{API}/runs/{run['id']}/artifacts/made.txt")

    assert [(each["path"], each["size"]) for each in listed] == [("made.txt", 5)]
    assert made.text == "made\n"
    assert made.headers["content-type"] == "application/octet-stream"
    assert "sandbox" in made.headers["content-security-policy"]
    assert (await bench.get(f"/runs/{run['id']}/artifacts/other", 404))["code"] == "unknown.artifact"


async def test_a_question_is_answered(bench: Bench) -> None:
    run = await bench.start("steps: [{id: ask, approve: really?}]", can_ask=True)
    questions = await bench.wait_for(f"/runs/{run['id']}/questions")

    await bench.post(f"/runs/{run['id']}/questions/{questions[0]['occurrence']}", 204, approved=True, comment="yes")

    assert questions[0]["prompt"] == "really?"
    assert (await bench.wait_ended(run["id"]))["status"] == "passed"


async def test_tests_that_a_step_reported_are_told(bench: Bench) -> None:
    report = (
        '<testsuite name="s"><testcase name="one"/><testcase name="two"><failure message="no"/></testcase></testsuite>'
    )
    (bench.folder / "kept.xml").write_text(report)
    run = await bench.start("steps: [{id: t, run: cat kept.xml > report.xml, tests: report.xml}]")
    await bench.wait_ended(run["id"])

    tests = await bench.get(f"/runs/{run['id']}/tests")

    assert ("two", "failed") in [(test["name"], test["status"]) for test in tests]


async def test_the_tests_of_a_flow_are_told_over_its_last_runs(bench: Bench) -> None:
    def report(*failing: str) -> str:
        cases = [
            f'<testcase name="{name}">{"<failure/>" if name in failing else ""}</testcase>' for name in ("one", "two")
        ]
        return f'<testsuite name="s">{"".join(cases)}</testsuite>'

    (bench.folder / "flow.yaml").write_text("steps: [{id: t, run: cat kept.xml > report.xml, tests: report.xml}]")
    runs: list[str] = []
    for failing in (("two",), ("one", "two"), ()):
        (bench.folder / "kept.xml").write_text(report(*failing))
        started = await bench.post(
            "/runs", 201, flow={"path": str(bench.folder / "flow.yaml")}, folder=str(bench.folder)
        )
        await bench.wait_ended(started["id"])
        runs.insert(0, started["id"])

    history = await bench.get(f"/runs/{runs[0]}/tests/history")

    assert [each["run"] for each in history] == runs
    assert [(each["total"], each["failed"], each["status"]) for each in history] == [
        (2, 0, "passed"),
        (2, 2, "passed"),
        (2, 1, "passed"),
    ]
    assert [[test["name"] for test in each["failing"]] for each in history] == [[], ["one", "two"], ["two"]]
    assert [each["run"] for each in await bench.get(f"/runs/{runs[1]}/tests/history", limit=1)] == runs[1:2]


async def test_what_is_not_there_is_told_as_a_problem(bench: Bench) -> None:
    for path in ("/runs/nope", "/runs/nope/events", "/runs/nope/debug", "/runs/nope/log?occurrence=a", "/nothing/here"):
        response = await bench.client.get(API + path)
        assert response.status_code == 404
        assert response.headers["content-type"] == "application/problem+json"
        assert response.json()["code"].startswith("unknown.")


async def test_an_artifact_with_a_line_break_in_its_name_is_handed_out(bench: Bench) -> None:
    run = await bench.start("""steps: [{run: "echo made > $PITSTOP_ARTIFACTS/$'a\\\\nb'"}]""")
    await bench.wait_ended(run["id"])

    (listed,) = await bench.get(f"/runs/{run['id']}/artifacts")
    made = await bench.client.get(f"{API}/runs/{run['id']}/artifacts/a%0Ab")

    assert (listed["path"], made.text) == ("a\nb", "made\n")
