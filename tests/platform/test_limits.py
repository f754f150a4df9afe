"""What an operator can make many of has a limit, and the error says which."""

import pytest

from pitstop.errors import BadRepoSetting, CommandRefused
from pitstop.platform import flow_index
from pitstop.platform.repo_values import MOST_PROTECTED
from pitstop.service.caller import LOCAL
from pitstop.service.local import hooks, repos
from pitstop.service.repos import NewRepo, RepoChanges
from tests.platform.workbench import Workbench


async def test_repositories_beyond_the_limit_are_refused(bench: Workbench, monkeypatch: pytest.MonkeyPatch) -> None:
    known = len(await bench.repos.list(LOCAL))
    monkeypatch.setattr(repos, "MOST_REPOS", known)

    with pytest.raises(CommandRefused, match=f"the server has {known} repositories, which is the limit"):
        await bench.repos.create(LOCAL, NewRepo(name="one-more"))


async def test_settings_beyond_the_limits_are_refused_and_nothing_changes(bench: Workbench) -> None:
    names = tuple(f"b{number}" for number in range(1 + max(MOST_PROTECTED, repos.MOST_DISABLED)))
    for changes, told in (
        (RepoChanges(protected=names), f"use at most {MOST_PROTECTED}"),
        (RepoChanges(disabled_flows=names), f"use at most {repos.MOST_DISABLED}"),
        (RepoChanges(title="t" * (repos.LONGEST_TITLE + 1)), f"1 to {repos.LONGEST_TITLE} printable characters"),
    ):
        with pytest.raises(BadRepoSetting, match=told):
            await bench.repos.update(LOCAL, bench.repo, changes)

    info = await bench.info()
    assert (info.protected, info.disabled_flows, info.title) == ((), (), bench.repo)


async def test_webhooks_beyond_the_limit_are_refused(bench: Workbench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hooks, "MOST_HOOKS", 1)
    desk = bench.house.service.hooks
    assert desk is not None
    await desk.add(LOCAL, bench.repo, "plain")

    with pytest.raises(CommandRefused, match="has 1 webhooks, which is the limit: remove some"):
        await desk.add(LOCAL, bench.repo, "plain")


async def test_a_flow_file_that_is_too_large_is_a_problem(bench: Workbench) -> None:
    text = "steps: [{run: 'true'}]\n" + "#" * flow_index.LONGEST_FLOW_BYTES
    await bench.push_flow(text, "large")

    (flow,) = await bench.triggers.flows(LOCAL, bench.repo)
    assert f"at most {flow_index.LONGEST_FLOW_BYTES:,} are allowed" in flow.problems[0].message
