import os
from pathlib import Path

import pytest

from pitstop.service.caller import LOCAL
from pitstop.service.repos import RepoChanges
from pitstop.service.runs import RunQuery
from tests.patience import wait_until
from tests.platform.workbench import PASSES, GitFailed, Workbench


async def test_a_push_starts_the_flows_of_its_commit(bench: Workbench) -> None:
    sha = await bench.push_flow("on: push\nsteps:\n  - {id: show, run: 'git log --oneline | wc -l; ls'}\n")

    (run,) = await bench.runs()
    assert (run.status, run.repo, run.ref, run.started_by) == ("passed", bench.repo, "main", "push by owner")
    assert run.commit is not None
    assert (run.commit.sha, run.commit.message) == (sha, "Add a flow")
    assert run.file == f"{bench.repo}:ci"
    assert (await bench.output(run.id, "show"))[0].strip() == "1"
    push = await bench.newest_push()
    assert (push.ref, push.old, push.new, push.who, push.via) == ("refs/heads/main", None, sha, "owner", "push")
    assert [(each.flow, each.outcome, each.run) for each in push.firings] == [("ci", "started", run.id)]


async def test_what_starts_nothing_says_why(bench: Workbench) -> None:
    await bench.commit(
        {
            ".pitstop/flows/other.yaml": "on: {push: {branches: [release/**]}}\nsteps: [{run: 'true'}]\n",
            ".pitstop/flows/docs.yaml": "on: {push: {paths: [docs/**]}}\nsteps: [{run: 'true'}]\n",
            ".pitstop/flows/off.yaml": "on: {push: {enabled: false}}\nsteps: [{run: 'true'}]\n",
            ".pitstop/flows/switched.yaml": PASSES,
            ".pitstop/flows/broken.yaml": "on: push\nsteps:\n  - run: [1]\n",
            ".pitstop/flows/manual.yaml": "on: manual\nsteps: [{run: 'true'}]\n",
        }
    )
    await bench.repos.update(LOCAL, bench.repo, RepoChanges(disabled_flows=("switched",)))
    await bench.push()

    found = {each.flow: (each.outcome, each.reason) for each in (await bench.newest_push()).firings}
    assert found == {
        "other": ("skipped", "branch 'main' does not match `branches: release/**`"),
        "docs": ("skipped", "no changed file matches `paths: docs/**`"),
        "off": ("skipped", "the trigger is disabled in the flow file"),
        "switched": ("skipped", "the flow is disabled in the settings of the repository"),
        "broken": found["broken"],
    }
    assert found["broken"][0] == "refused"
    assert ".pitstop/flows/broken.yaml:3" in (found["broken"][1] or "")
    assert await bench.runs() == []


async def test_the_same_commit_starts_a_flow_once_and_can_be_started_again(bench: Workbench) -> None:
    first = await bench.push_flow()
    await bench.commit()
    await bench.push()
    await bench.push("--force", f"{first}:main")

    outcomes = [each.outcome for each in await bench.firings()]
    assert outcomes == ["started", "started", "duplicate"]
    push = await bench.newest_push()
    assert push.is_forced
    again = await bench.triggers.fire_again(LOCAL, bench.repo, push.firings[0].id)
    assert again.outcome == "started"
    assert [run.commit and run.commit.sha for run in await bench.runs()][-1] == first


async def test_skip_ci_in_the_message_skips_push_triggers(bench: Workbench) -> None:
    await bench.push_flow(message="Fix the docs\n\n[skip ci]")

    (firing,) = await bench.firings()
    assert (firing.outcome, firing.reason) == ("skipped", "the commit message contains [skip ci]")


async def test_tags_start_only_flows_that_ask_for_them(bench: Workbench) -> None:
    await bench.push_flow(
        "on: {push: {tags: ['v*']}}\nsteps:\n  - {id: tag, run: 'echo $TAG', env: {TAG: '${{ .trigger.tag }}'}}\n"
    )
    await bench.git("tag", "-a", "v1", "-m", "The first")
    await bench.git("tag", "other")
    await bench.push("v1", "other")

    found = {(each.ref, each.outcome) for each in await bench.firings()}
    assert found == {("main", "skipped"), ("v1", "started"), ("other", "skipped")}
    (run,) = await bench.runs()
    assert (run.ref, await bench.output(run.id, "tag")) == ("v1", ["v1"])


async def test_a_branch_that_is_deleted_starts_nothing_and_is_known(bench: Workbench) -> None:
    await bench.push_flow()
    await bench.push("HEAD:topic")
    await bench.push("--delete", "topic")

    push = await bench.newest_push()
    assert (push.ref, push.new, push.firings) == ("refs/heads/topic", None, ())


async def test_pushes_made_while_no_server_ran_are_found(tmp_path: Path) -> None:
    bench = Workbench(tmp_path)
    async with bench.open():
        await bench.create()
        await bench.push_flow()
        assert len(await bench.runs()) == 1
    for number in range(2):  # as receive-pack does, when its server is killed right after it
        await bench.commit(message=f"Change {number}")
        await bench.git("push", str(bench.bare), "HEAD:main")

    async with bench.open():
        await wait_until(lambda: bench.count_pushes(3))
        runs = await bench.runs()
        pushes = (await bench.repos.pushes(LOCAL, bench.repo)).pushes

    assert {run.commit and run.commit.message for run in runs} == {"Add a flow", "Change 0", "Change 1"}
    assert len(runs) == 3
    assert [push.subject for push in pushes] == ["Change 1", "Change 0", "Add a flow"]


async def test_a_first_push_that_is_found_after_the_second_has_its_own_changes(tmp_path: Path) -> None:
    bench = Workbench(tmp_path)
    async with bench.open():
        await bench.create()
    flow = "on: {push: {paths: [src/**]}}\nsteps: [{run: 'true'}]\n"
    for files in ({".pitstop/flows/ci.yaml": flow, "src/a": ""}, {"docs/b": ""}):
        await bench.commit(files)
        await bench.git("push", str(bench.bare), "HEAD:main")

    async with bench.open():
        await wait_until(lambda: bench.count_pushes(2))
        firings = await bench.firings()

    assert [each.outcome for each in firings] == ["started", "skipped"]


async def test_a_protected_branch_is_refused_and_the_others_of_a_push_are_taken(bench: Workbench) -> None:
    await bench.push_flow()
    await bench.repos.update(LOCAL, bench.repo, RepoChanges(protected=("main",)))
    await bench.commit()

    with pytest.raises(GitFailed, match="hidden ref"):
        await bench.push("HEAD:main", "HEAD:topic")
    branches = (await bench.repos.branches(LOCAL, bench.repo)).branches
    assert {branch.name for branch in branches} == {"main", "topic"}
    assert (await bench.newest_push()).ref == "refs/heads/topic"


async def test_a_lock_that_a_killed_push_has_left_refuses_no_other(bench: Workbench) -> None:
    await bench.push_flow()
    lock = bench.bare / "refs/heads/main.lock"
    lock.touch()
    os.utime(lock, times=(0.0, 0.0))

    sha = await bench.commit()
    await bench.push()

    assert (await bench.newest_push()).new == sha


async def test_many_refs_at_once_are_known_and_start_nothing(bench: Workbench) -> None:
    await bench.commit({".pitstop/flows/ci.yaml": PASSES})
    await bench.push(*(f"HEAD:branch-{number}" for number in range(25)))

    pushes = (await bench.repos.pushes(LOCAL, bench.repo, limit=50)).pushes
    assert len(pushes) == 25
    assert {push.note for push in pushes} == {
        "nothing was started, because 25 branches and tags changed at once (limit: 20)"
    }
    assert await bench.runs() == []


async def test_a_flow_calls_others_of_the_same_commit(bench: Workbench) -> None:
    await bench.commit(
        {
            ".pitstop/flows/ci.yaml": "on: push\nsteps:\n  - {id: inner, call: ../parts/inner.yaml}\n",
            ".pitstop/parts/inner.yaml": "steps:\n  - {id: say, run: echo from the same commit}\n",
        }
    )
    await bench.push()

    (run,) = await bench.runs()
    assert await bench.output(run.id, "inner.say") == ["from the same commit"]


async def test_a_step_with_a_fresh_workspace_has_the_commit_too(bench: Workbench) -> None:
    await bench.commit(
        {
            ".pitstop/flows/ci.yaml": """\
                on: push
                steps:
                  - {id: change, run: echo changed > file}
                  - {id: fresh, workspace: fresh, run: cat file}
                """,
            "file": "as it was committed\n",
        }
    )
    await bench.push()

    (run,) = await bench.runs()
    assert await bench.output(run.id, "fresh") == ["as it was committed"]


async def test_a_run_list_can_be_limited_to_a_repository_and_a_branch(bench: Workbench) -> None:
    await bench.push_flow()
    await bench.push("HEAD:topic")
    await bench.runs()

    listed = await bench.house.service.runs.list(LOCAL, RunQuery(repo=bench.repo, ref="topic"))
    assert [run.ref for run in listed.runs] == ["topic"]
    assert (await bench.house.service.runs.list(LOCAL, RunQuery(repo="other"))).runs == ()
