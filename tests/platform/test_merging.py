"""`merge:<branch>` after a step, and at the end of a run that a push has started."""

from typing import Any

import pytest

from pitstop.platform import push_events
from pitstop.service.caller import LOCAL
from pitstop.service.debugging import Debugger, verbs
from pitstop.service.repos import FiringInfo, RepoChanges
from pitstop.service.runs import BreakpointRequest, DebugRequest, RerunRequest, RunInfo, RunRequest
from tests.amounts import amount
from tests.patience import wait_until
from tests.platform.workbench import Workbench

MOST_DEPTH = amount(2, soak=push_events.MOST_DEPTH)
MERGES = """\
on: {push: {branches: [topic]}}
steps:
  - {id: test, run: test -f ready, on_success: merge:main}
  - {id: after, run: echo after}
"""


async def begin(bench: Workbench, flow: str = MERGES) -> str:
    """A main branch with the flow on it; the clone is on the branch `topic` then."""
    sha = await bench.push_flow(flow)
    await bench.git("checkout", "--quiet", "-b", "topic")
    return sha


async def head(bench: Workbench, branch: str = "main") -> str:
    found = {each.name: each.commit.sha for each in (await bench.repos.branches(LOCAL, bench.repo)).branches}
    return found[branch]


async def test_a_step_that_passes_merges_the_branch_of_its_run(bench: Workbench) -> None:
    await begin(bench)
    sha = await bench.commit({"ready": "yes\n"}, "Make it ready")
    await bench.push("topic")

    (run,) = await bench.runs()
    assert run.status == "passed"
    merged = await head(bench)
    (commit, *_) = (await bench.repos.commits(LOCAL, bench.repo, "main")).commits
    assert (commit.sha, commit.parents[1], commit.subject) == (merged, sha, "Merge topic into main")
    assert run.id in commit.body
    push = await bench.newest_push()
    assert (push.ref, push.via, push.who) == ("refs/heads/main", "merge", "pitstop")
    steps = (await bench.house.service.runs.get(LOCAL, run.id)).flow.steps
    assert [step.path for step in steps] == ["test", "test!merge", "after"]


async def test_a_step_that_fails_or_is_skipped_merges_nothing(bench: Workbench) -> None:
    await bench.push_flow()
    for more in ("if: 'false', run: 'true'", "continue_on_error: true, run: 'false'"):
        text = MERGES.replace("run: test -f ready", more)
        await bench.commit({".pitstop/flows/ci.yaml": text})
        await bench.push("HEAD:topic")
    runs = await bench.runs()
    assert {(run.ref, run.status) for run in runs} == {("main", "passed"), ("topic", "passed")}
    assert (await bench.repos.commits(LOCAL, bench.repo, "main")).commits[0].subject == "Add a flow"


async def test_a_conflict_fails_the_step_and_names_the_files(bench: Workbench) -> None:
    await begin(bench)
    await bench.commit({"ready": "mine\n"})
    await bench.git("checkout", "--quiet", "main")
    other = await bench.commit({"ready": "theirs\n"})
    await bench.push("main", "topic")

    (run,) = await bench.runs()
    assert run.failures[0].step == "test!merge"
    assert "both change ready" in run.failures[0].message
    assert await head(bench) == other


async def test_a_branch_that_has_moved_since_is_not_merged(bench: Workbench) -> None:
    before = await begin(bench)
    await bench.commit({"ready": "yes\n"})
    await bench.push("topic")
    service = bench.house.service
    (first,) = await bench.runs()
    assert first.status == "passed"
    merged = await head(bench)
    assert merged != before
    await bench.commit({"more": "yes\n"}, "More [skip ci]")
    await bench.push("topic")
    rerun = await service.runs.rerun(LOCAL, first.id, RerunRequest())

    ended = await rerun.wait()
    assert ended.status == "failed"
    assert "look at the new commits" in ended.failures[0].message
    assert await head(bench) == merged


async def test_a_protected_branch_is_merged_into_only_by_a_flow_that_is_on_it(bench: Workbench) -> None:
    before = await begin(bench)
    await bench.repos.update(LOCAL, bench.repo, RepoChanges(protected=("main",)))
    await bench.commit({".pitstop/flows/ci.yaml": MERGES.replace("test -f ready", "'true'")}, "Edit the judge")
    await bench.push("topic")

    (run,) = await bench.runs()
    assert "ci.yaml differs from the file on that branch" in run.failures[0].message
    assert await head(bench) == before
    await bench.commit({".pitstop/flows/ci.yaml": MERGES, "ready": "yes\n"}, "With the judge of main")
    await bench.push("topic")
    assert [run.status for run in await bench.runs()] == ["failed", "passed"]
    assert await head(bench) != before


async def test_a_merge_can_be_debugged_and_skipped(bench: Workbench) -> None:
    before = await begin(bench)
    await bench.commit({"ready": "yes\n"}, "Make it ready [skip ci]")
    await bench.push("topic")
    service = bench.house.service
    debug = DebugRequest(breakpoints=(BreakpointRequest(step="test!merge"),))
    run = await service.runs.start(LOCAL, RunRequest(flow="ci", repo=bench.repo, ref="topic", debug=debug))
    debugger = Debugger(service.debugging, LOCAL, run.id)
    state = await wait_until(lambda: _stopped(debugger))
    await debugger.say(verbs.Skip(state.stops[0].id))

    assert (await run.wait()).status == "passed"
    assert await head(bench) == before


async def _stopped(debugger: Debugger) -> Any:
    state = await debugger.say(verbs.State())
    return state if state.stops else None


async def test_a_push_trigger_merges_when_its_run_passes(bench: Workbench) -> None:
    flow = "on: {push: {on_pass: merge}}\nsteps: [{id: test, run: test -f ready}]\n"
    await begin(bench, flow)
    assert [run.status for run in await bench.runs()] == ["failed"]
    sha = await bench.commit({"ready": "yes\n"}, "Make it ready")
    await bench.push("topic")

    runs = await bench.runs()
    assert [(run.ref, run.status) for run in runs[:2]] == [("main", "failed"), ("topic", "passed")]
    (commit, *_) = (await bench.repos.commits(LOCAL, bench.repo, "main")).commits
    assert commit.parents[1] == sha
    steps = (await bench.house.service.runs.get(LOCAL, runs[1].id)).flow.steps
    assert [step.path for step in steps] == ["test", "!merge"]
    again = await wait_until(lambda: _run_of_merge(bench))
    assert again.started_by == "merge by pitstop"


async def _run_of_merge(bench: Workbench) -> RunInfo | None:
    runs = await bench.runs()
    return runs[2] if len(runs) == 3 else None


@pytest.mark.repeats
async def test_a_chain_of_merges_ends_at_its_limit(bench: Workbench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(push_events, "MOST_DEPTH", MOST_DEPTH)
    flow = "on: {{push: {{branches: [{}]}}}}\nsteps:\n  - {{id: go, run: 'true', on_success: 'merge:{}'}}\n"
    there = flow.format("main", "next"), flow.format("next", "main")
    await bench.commit(
        {f".pitstop/flows/{name}.yaml": text for name, text in zip("ab", there, strict=True)}, "[skip ci]"
    )
    await bench.push("HEAD:main", "HEAD:next")
    await bench.commit()
    await bench.push("HEAD:main")

    refused = await wait_until(lambda: _refused(bench))
    assert f"at most {MOST_DEPTH} are allowed" in (refused.reason or "")
    assert len(await bench.runs()) == MOST_DEPTH + 1


async def _refused(bench: Workbench) -> FiringInfo | None:
    return next((each for each in await bench.firings() if each.outcome == "refused"), None)


async def test_without_a_server_a_merge_says_what_it_needs(bench: Workbench) -> None:
    run = await bench.house.service.runs.start(LOCAL, RunRequest(flow="a.yaml", text="steps: [{merge: main}]"))
    ended = await run.wait()
    assert "needs a repository on a Pitstop server" in ended.failures[0].message


async def test_a_step_that_pauses_itself_waits_for_a_debugger_on_a_server(bench: Workbench) -> None:
    service = bench.house.service
    text = "steps: [{id: a, run: 'false', on_failure: pause}]"
    run = await service.runs.start(LOCAL, RunRequest(flow="a.yaml", text=text))
    debugger = Debugger(service.debugging, LOCAL, run.id)
    state = await wait_until(lambda: _stopped(debugger))
    assert (await run.info()).status == "paused"
    await debugger.say(verbs.Continue(state.stops[0].id))
    assert (await run.wait()).status == "failed"
