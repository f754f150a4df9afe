"""The tests of a repository over HTTP."""

from typing import Any

import httpx

from tests.patience import wait_until
from tests.platform.workbench import Workbench

FLOW = "on: push\nsteps:\n  - {id: test, run: cp given.xml report.xml, tests: report.xml, continue_on_error: true}\n"


def report(cases: dict[str, bool]) -> str:
    failure = '<failure message="no"/>'
    found = (
        f'<testcase classname="shop" name="{name}">{"" if ok else failure}</testcase>' for name, ok in cases.items()
    )
    return f"<testsuite>{''.join(found)}</testsuite>"


async def test_tests_are_listed_compared_and_have_a_history(bench: Workbench) -> None:
    for cases in ({"a": True, "b": False}, {"a": False, "b": False, "c": True}):
        await bench.commit({".pitstop/flows/ci.yaml": FLOW, "given.xml": report(cases)})
        await bench.push()
        await bench.runs()
    await bench.push("HEAD:topic")
    runs = await bench.runs()
    async with httpx.AsyncClient(
        base_url=f"{bench.house.url}api/v1", headers={"Authorization": f"Bearer {bench.token}"}, trust_env=False
    ) as client:

        async def get(path: str, **params: Any) -> Any:
            answered = await client.get(path, params=params)
            assert answered.status_code == 200, answered.text
            return answered.json()

        async def listed() -> Any:
            found = await get(f"/repos/{bench.repo}/tests")
            return found["tests"] if len(found["tests"]) == 3 else None

        tests = await wait_until(listed)
        assert {each["name"]: each["state"] for each in tests} == {"a": "failing", "b": "failing", "c": "passing"}
        failing = (await get(f"/repos/{bench.repo}/tests", state="failing", ref="main"))["tests"]
        assert {each["name"] for each in failing} == {"a", "b"}
        where = {"flow": "ci", "step": "test", "case": "shop::a"}
        history = (await get(f"/repos/{bench.repo}/tests/history", ref="main", **where))["results"]
        assert [each["status"] for each in history] == ["failed", "passed"]
        trend = await get(f"/repos/{bench.repo}/tests/trend", flow="ci")
        assert [(each["total"], each["failed"]) for each in trend] == [(3, 2), (2, 1)]

        compared = await get(f"/runs/{runs[1].id}/tests/comparison")
        assert compared["compared_with"]["run"] == runs[0].id
        assert {case["name"]: case["change"] for case in compared["cases"]} == {"a": "new", "b": "still_failing"}
        topic = await get(f"/runs/{runs[2].id}/tests/comparison")
        assert (topic["compared_with"]["run"], topic["compared_with"]["ref"]) == (runs[1].id, "main")
        assert (await client.get("/repos/none/tests")).status_code == 404
