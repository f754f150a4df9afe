import asyncio
import shutil
from pathlib import Path

import httpx
import pytest

from pitstop.errors import (
    BadRepoName,
    BadRepoSetting,
    NotPermitted,
    PitstopError,
    ProtectedRef,
    RefMoved,
    RepoExists,
    UnknownFlow,
    UnknownPath,
    UnknownRef,
    UnknownRepo,
)
from pitstop.service.caller import LOCAL, Caller
from pitstop.service.repos import NewRepo, RepoChanges
from pitstop.service.runs import RunRequest
from tests.git.repositories import git as plain_git
from tests.patience import wait_until
from tests.platform.workbench import PASSES, GitFailed, Workbench

VIEWER = Caller("guest", "viewer")


async def test_a_repository_with_a_bad_name_is_refused(bench: Workbench) -> None:
    for name in ("..", "a..b", ".hidden", "UPPER", "a/b", "x.git", "x.lock", "", "-x", "a" * 65, "a b"):
        with pytest.raises(BadRepoName):
            await bench.repos.create(LOCAL, NewRepo(name=name))
        assert name not in [repo.id for repo in await bench.repos.list(LOCAL)]


async def test_an_address_that_leads_out_of_the_repositories_is_unknown(bench: Workbench) -> None:
    await bench.push_flow()
    outside = (
        "..",
        "%2e%2e",
        "%2e%2e%2f" + bench.repo,
        f"{bench.repo}%2f..%2f{bench.repo}",
        f"..%5c{bench.repo}",
        "%00",
    )
    async with httpx.AsyncClient(
        base_url=bench.house.url, headers={"Authorization": f"Bearer {bench.token}"}, trust_env=False
    ) as client:
        for name in outside:
            git = await client.get(f"/git/{name}.git/info/refs?service=git-upload-pack")
            assert git.status_code == 404, (name, git.text)
            api = await client.get(f"/api/v1/repos/{name}/branches")
            assert api.status_code in (404, 422), (name, api.text)


async def test_a_ref_that_leads_out_of_the_repository_is_unknown(bench: Workbench) -> None:
    await bench.push_flow()
    before = sorted(bench.settings.repos.rglob("*"))
    for ref in ("../x", "refs/heads/../../x", "main/../main", "..", "main..main", "@{-1}", "main@{1}", ":/Add"):
        with pytest.raises(UnknownRef):
            await bench.repos.tree(LOCAL, bench.repo, ref)
        with pytest.raises(UnknownRef):
            await bench.triggers.fire(LOCAL, bench.repo, "ci", ref=ref)
        with pytest.raises(PitstopError):
            await bench.repos.write(LOCAL, bench.repo, ref, "file", "text")
        with pytest.raises(PitstopError):
            await bench.repos.delete_branches(LOCAL, bench.repo, {ref: "1" * 40})
    assert sorted(bench.settings.repos.rglob("*")) == before


async def test_a_name_that_is_taken_is_refused_and_nothing_changes(bench: Workbench) -> None:
    sha = await bench.push_flow()
    for is_ingest in (False, True):
        with pytest.raises(RepoExists):
            await bench.repos.create(LOCAL, NewRepo(name=bench.repo, ingest=is_ingest))
    head = (await bench.info()).head
    assert head is not None
    assert head.sha == sha


async def test_a_bad_setting_is_refused(bench: Workbench) -> None:
    before = await bench.info()
    for changes in (
        RepoChanges(remote_url="https://ada:secret@example.com/x.git"),
        RepoChanges(default_branch="../x"),
        RepoChanges(protected=("a..b",)),
        RepoChanges(title=" "),
        RepoChanges(protected=tuple(f"b{number}" for number in range(101))),
    ):
        with pytest.raises(BadRepoSetting) as refused:
            await bench.repos.update(LOCAL, bench.repo, changes)
        assert "secret" not in str(refused.value)
    assert await bench.info() == before


async def test_an_empty_repository_can_be_looked_at_and_says_that_it_is_empty(bench: Workbench) -> None:
    assert (await bench.info()).head is None
    assert (await bench.repos.branches(LOCAL, bench.repo)).branches == ()
    assert await bench.triggers.flows(LOCAL, bench.repo) == ()
    with pytest.raises(UnknownRef):
        await bench.repos.tree(LOCAL, bench.repo)
    with pytest.raises(UnknownRef, match="nothing was pushed yet"):
        await bench.triggers.fire(LOCAL, bench.repo, "ci")
    assert "empty repository" in await bench.git("clone", bench.url(), str(bench.clone.with_name("second")))


async def test_a_default_branch_that_vanishes_is_said_and_another_can_be_chosen(bench: Workbench) -> None:
    await bench.push_flow()
    await bench.push("HEAD:other")
    await plain_git(bench.bare, "update-ref", "-d", "refs/heads/main")

    with pytest.raises(UnknownRef, match="main"):
        await bench.triggers.fire(LOCAL, bench.repo, "ci")
    assert (await bench.info()).head is None
    await bench.repos.update(LOCAL, bench.repo, RepoChanges(default_branch="other"))
    assert (await bench.info()).head is not None
    assert (await bench.triggers.fire(LOCAL, bench.repo, "ci")).outcome == "started"
    cloned = await bench.git("clone", "--quiet", bench.url(), str(bench.clone.with_name("second")))
    assert "warning" not in cloned


async def test_the_default_branch_cannot_be_deleted_by_a_push(bench: Workbench) -> None:
    await bench.push_flow()
    with pytest.raises(GitFailed, match="deletion of the current branch prohibited"):
        await bench.push("--delete", "main")


async def test_200_flow_files_are_read_and_the_next_one_is_a_problem(bench: Workbench) -> None:
    await bench.commit({f".pitstop/flows/flow-{number:03}.yaml": "steps: [{run: 'true'}]\n" for number in range(201)})
    await bench.push()

    flows = await bench.triggers.flows(LOCAL, bench.repo)
    assert len(flows) == 201
    assert [flow.name for flow in flows if flow.problems] == ["flow-200"]
    assert "only the first 200 are read" in flows[-1].problems[0].message


async def test_a_link_or_a_second_file_of_the_same_name_is_a_problem_and_starts_nothing(bench: Workbench) -> None:
    await bench.commit({".pitstop/flows/two.yaml": PASSES, ".pitstop/flows/two.yml": PASSES})
    (bench.clone / ".pitstop/flows/link.yaml").symlink_to("/etc/passwd")
    await bench.commit()
    await bench.push()

    problems = {flow.path: flow.problems[0].message for flow in await bench.triggers.flows(LOCAL, bench.repo)}
    assert problems == {
        ".pitstop/flows/link.yaml": "it is a symbolic link, not a regular file",
        ".pitstop/flows/two.yaml": "two.yaml and two.yml are the same flow: remove one of the files",
        ".pitstop/flows/two.yml": "two.yaml and two.yml are the same flow: remove one of the files",
    }
    assert {each.outcome for each in await bench.firings()} == {"refused"}


async def test_a_folder_of_flows_that_is_a_link_is_a_problem(bench: Workbench) -> None:
    await bench.commit({"elsewhere/ci.yaml": PASSES})
    (bench.clone / ".pitstop").mkdir()
    (bench.clone / ".pitstop/flows").symlink_to("../elsewhere")
    await bench.commit()
    await bench.push()

    (flow,) = await bench.triggers.flows(LOCAL, bench.repo)
    assert "must be a folder" in flow.problems[0].message


async def test_a_folder_pitstop_that_is_a_link_is_not_followed(bench: Workbench) -> None:
    await bench.commit({"elsewhere/flows/ci.yaml": PASSES})
    (bench.clone / ".pitstop").symlink_to("elsewhere")
    await bench.commit()
    await bench.push()

    assert await bench.firings() == ()
    assert [flow.name for flow in await bench.triggers.flows(LOCAL, bench.repo) if not flow.problems] == []


async def test_a_flow_cannot_call_a_file_outside_of_the_repository(bench: Workbench) -> None:
    await bench.push_flow("on: push\nsteps: [{call: ../../../../../../etc/passwd}]\n")

    (flow,) = await bench.triggers.flows(LOCAL, bench.repo)
    assert "it is outside the repository" in flow.problems[0].message


async def test_hooks_and_configuration_in_a_pushed_repository_run_nothing(bench: Workbench, tmp_path: Path) -> None:
    trap = tmp_path / "trapped"
    hook = f"#!/bin/sh\ntouch {trap}\n"
    await bench.commit(
        {
            "hooks/post-receive": hook,
            ".githooks/post-checkout": hook,
            "config": f"[core]\n\tfsmonitor = touch {trap}\n",
            ".gitattributes": "* filter=trap diff=trap\n",
            ".gitmodules": '[submodule "x"]\n\tpath = x\n\turl = ext::sh -c touch% ' + str(trap) + "\n",
            ".pitstop/flows/ci.yaml": PASSES,
        }
    )
    await bench.push()

    (run,) = await bench.runs()
    assert run.status == "passed"
    assert not trap.exists()


async def test_a_repository_with_lfs_pointers_and_submodules_is_taken_as_it_is(bench: Workbench) -> None:
    pointer = "version https://git-lfs.github.com/spec/v1\noid sha256:" + "0" * 64 + "\nsize 5\n"
    await bench.commit({"large.bin": pointer, ".pitstop/flows/ci.yaml": PASSES})
    await bench.git("update-index", "--add", "--cacheinfo", f"160000,{'1' * 40},library")
    await bench.git("commit", "--quiet", "-m", "Add a submodule")
    await bench.push()

    assert (await bench.repos.file(LOCAL, bench.repo, "large.bin")).is_lfs
    kinds = {entry.name: entry.kind for entry in (await bench.repos.tree(LOCAL, bench.repo)).entries}
    assert kinds == {".pitstop": "folder", "large.bin": "file", "library": "submodule"}
    (run,) = await bench.runs()
    assert run.status == "passed"


async def test_two_pushes_at_once_are_both_known_and_each_starts_its_run(bench: Workbench) -> None:
    await bench.commit({".pitstop/flows/ci.yaml": PASSES})
    await asyncio.gather(*(bench.push(f"HEAD:topic-{number}") for number in range(4)))

    assert len((await bench.repos.pushes(LOCAL, bench.repo)).pushes) == 4
    assert {run.ref for run in await bench.runs()} == {f"topic-{number}" for number in range(4)}


async def test_a_flow_file_that_a_push_breaks_is_refused_and_starts_again_when_it_is_mended(bench: Workbench) -> None:
    await bench.push_flow()
    await bench.push_flow("on: push\nsteps:\n  - {id: hello, run: [1]}\n")
    (broken,) = await bench.triggers.flows(LOCAL, bench.repo)
    assert [(each.file, each.line) for each in broken.problems] == [(".pitstop/flows/ci.yaml", 3)]
    await bench.push_flow(PASSES + "# mended\n")

    assert [each.outcome for each in await bench.firings()] == ["started", "refused", "started"]
    (mended,) = await bench.triggers.flows(LOCAL, bench.repo)
    assert mended.problems == ()


async def test_a_force_push_is_known_as_one_and_the_old_commit_stays_readable(bench: Workbench) -> None:
    old = await bench.push_flow()
    await bench.git("commit", "--quiet", "--amend", "-m", "Another")
    with pytest.raises(GitFailed, match="non-fast-forward"):
        await bench.push()
    await bench.push("--force", "HEAD:main")

    push = await bench.newest_push()
    assert (push.is_forced, push.old, push.subject) == (True, old, "Another")
    assert {run.commit and run.commit.message for run in await bench.runs()} == {"Add a flow", "Another"}
    assert (await bench.repos.commits(LOCAL, bench.repo, old)).commits[0].sha == old


async def test_what_is_not_there_is_said(bench: Workbench) -> None:
    await bench.push_flow()
    for refused, question in (
        (UnknownRepo, bench.repos.get(LOCAL, "other")),
        (UnknownRef, bench.repos.commits(LOCAL, bench.repo, "nope")),
        (UnknownRef, bench.repos.tree(LOCAL, bench.repo, "--upload-pack=evil")),
        (UnknownPath, bench.repos.file(LOCAL, bench.repo, "../../etc/passwd")),
        (UnknownPath, bench.repos.file(LOCAL, bench.repo, "nope")),
        (UnknownFlow, bench.triggers.fire(LOCAL, bench.repo, "nope")),
        (UnknownFlow, bench.triggers.flow(LOCAL, bench.repo, "nope")),
        (UnknownRepo, bench.house.service.runs.start(LOCAL, RunRequest(flow="ci", repo="other"))),
        (PitstopError, bench.triggers.fire_again(LOCAL, bench.repo, 999)),
    ):
        with pytest.raises(refused):
            await question


async def test_a_branch_is_deleted_only_where_it_was_expected_and_never_a_protected_one(bench: Workbench) -> None:
    sha = await bench.push_flow()
    await bench.push("HEAD:topic", "HEAD:kept")
    await bench.repos.update(LOCAL, bench.repo, RepoChanges(protected=("kept",)))
    for refused, branches in (
        (RefMoved, {"topic": "1" * 40}),
        (ProtectedRef, {"kept": sha}),
        (ProtectedRef, {"main": sha, "topic": sha}),
    ):
        with pytest.raises(refused):
            await bench.repos.delete_branches(LOCAL, bench.repo, branches)
    await bench.repos.delete_branches(LOCAL, bench.repo, {"topic": sha})

    assert [branch.name for branch in (await bench.repos.branches(LOCAL, bench.repo)).branches] == ["kept", "main"]
    assert (await bench.newest_push()).who == "local"


async def test_a_viewer_can_fetch_and_not_push(bench: Workbench) -> None:
    await bench.push_flow()
    viewer = (await bench.house.access.add_token(LOCAL, "guest", "viewer")).token
    await bench.commit()

    with pytest.raises(GitFailed, match="403"):
        await bench.push(token=viewer)
    assert "main" in await bench.git("ls-remote", "origin", token=viewer)
    with pytest.raises(NotPermitted):
        await bench.triggers.fire(VIEWER, bench.repo, "ci")


async def test_a_token_for_git_is_for_nothing_else_and_for_one_repository(bench: Workbench) -> None:
    await bench.push_flow()
    await bench.repos.create(LOCAL, NewRepo(name="other"))
    add = bench.house.access.add_token
    reader = (await add(LOCAL, "reader", "viewer", scope="git:read", repo=bench.repo)).token
    writer = (await add(LOCAL, "writer", "operator", scope="git:write")).token
    expired = (await add(LOCAL, "late", "viewer", scope="git:read", lasts_seconds=-1)).token
    await bench.commit()

    assert "main" in await bench.git("ls-remote", bench.url(), token=reader)
    for refused, words, token in (
        ("not found", ("ls-remote", bench.url("other")), reader),
        ("not found", ("ls-remote", bench.url("missing")), writer),
        ("could not read Username|Authentication failed", ("ls-remote", bench.url()), expired),
        ("403", ("push", "origin", "HEAD:main"), reader),
    ):
        with pytest.raises(GitFailed, match=refused):
            await bench.git(*words, token=token)
    await bench.push(token=writer)
    assert (await bench.newest_push()).who == "writer"
    async with httpx.AsyncClient(base_url=bench.house.url, trust_env=False) as client:
        answered = await client.get("/api/v1/repos", headers={"Authorization": f"Bearer {reader}"})
        assert (answered.status_code, answered.json()["code"]) == (403, "access.scope")
        address = f"/git/{bench.repo}.git/info/refs?service=git-upload-pack"
        from_page = {"Authorization": f"Bearer {reader}", "Origin": "http://evil.example"}
        assert (await client.get(address, headers=from_page)).status_code == 403
        assert (await client.get(address)).headers["www-authenticate"].startswith("Basic")
        for dumb in ("HEAD", "objects/info/packs", "config", f"../{bench.repo}.git/HEAD"):
            got = await client.get(f"/git/{bench.repo}.git/{dumb}", headers={"Authorization": f"Bearer {reader}"})
            assert got.status_code == 404, dumb


async def test_a_deleted_repository_is_gone_and_its_runs_stay(bench: Workbench) -> None:
    await bench.push_flow()
    (run,) = await bench.runs()
    await bench.repos.delete(LOCAL, bench.repo)

    assert bench.repo not in [repo.id for repo in await bench.repos.list(LOCAL)]
    assert not bench.bare.exists()
    assert (await (await bench.house.service.runs.get(LOCAL, run.id)).info()).repo == bench.repo
    with pytest.raises(GitFailed, match="not found"):
        await bench.git("fetch", "origin")
    await bench.repos.create(LOCAL, NewRepo(name=bench.repo))
    await bench.push()
    assert [each.outcome for each in await bench.firings()] == ["started"]


async def test_a_broken_repository_keeps_neither_the_server_nor_other_repositories_from_working(tmp_path: Path) -> None:
    bench = Workbench(tmp_path)
    async with bench.open():
        await bench.create()
        await bench.repos.create(LOCAL, NewRepo(name="broken"))
        await bench.repos.create(LOCAL, NewRepo(name="gone"))
        await bench.repos.create(LOCAL, NewRepo(name="half", ingest=True))
    for name in ("broken", "gone", "half"):
        shutil.rmtree(bench.settings.repos / f"{name}.git")
    for name in ("broken", "half"):
        (bench.settings.repos / f"{name}.git").write_text("this is no repository")
    await bench.commit({".pitstop/flows/ci.yaml": PASSES})
    await bench.git("push", str(bench.bare), "HEAD:main")

    async with bench.open():
        await wait_until(lambda: bench.count_pushes(1))  # found by the scan of all repositories
        assert [run.status for run in await bench.runs()] == ["passed"]
        states = {repo.id: repo.state for repo in await bench.repos.list(LOCAL)}
        assert states == {"shop": "ready", "broken": "ready", "gone": "ready", "half": "failed"}
        with pytest.raises(PitstopError):
            await bench.repos.branches(LOCAL, "broken")
        await bench.repos.delete(LOCAL, "half")
