"""Trials of agents: what they work on, what is stored of it, and what can be made of that."""

import asyncio
import os
from pathlib import Path

import pytest

from pitstop.errors import BadRequest, CommandRefused, Unknown, UnknownPath, UnknownRef
from pitstop.service.caller import LOCAL
from pitstop.service.playground import NewTrial, TrialSettings
from pitstop.service.runs import RerunRequest
from tests.patience import wait_until
from tests.platform.card_bench import cards_of
from tests.platform.playground.trial_bench import (
    begin,
    branches,
    end_of,
    hidden_refs,
    playground_of,
    reach,
    someone,
    tried,
)
from tests.platform.workbench import Workbench

TALK = """\
{"type": "system", "subtype": "init", "session_id": "s", "model": "m"}
{"type": "assistant", "message": {"id": "m", "content": [\
{"type": "tool_use", "id": "c", "name": "Bash", "input": {"command": "ls -l"}}]}}
{"type": "user", "message": {"content": [{"type": "tool_result", "tool_use_id": "c", "content": "b"}]}}
{"type": "result", "subtype": "success", "is_error": false, "num_turns": 2, "total_cost_usd": 0.25, \
"usage": {"input_tokens": 10, "output_tokens": 5}, "result": "done"}
"""
TAKES_TIME_TO_END = """\
trap 'cd {0}; touch told; until test -e "is over"; do sleep 0.01; done; touch ended; exit' TERM
sleep 300 & touch {0}/begun; wait
"""
HANGS = "echo $$ > {0}/pid; sleep 300 & echo $! > {0}/child; wait"


async def test_a_trial_stores_its_result_and_moves_no_branch(shop: Workbench) -> None:
    before, head = await branches(shop), (await shop.info()).head
    trial = await begin(shop, "echo two > b.txt\nrm a.txt")
    assert head is not None
    assert (trial.state, trial.profile, trial.ref, trial.sha) == ("queued", "script", "main", head.sha)
    ended = await end_of(shop, trial)

    assert (ended.state, ended.reason) == ("passed", None)
    assert ended.started_at is not None
    diff = await playground_of(shop).diff(LOCAL, trial.id)
    assert [(file.path, file.status) for file in diff.files] == [("a.txt", "deleted"), ("b.txt", "added")]
    assert "+two" in (await playground_of(shop).patch(LOCAL, trial.id, "b.txt")).text
    assert (await branches(shop), (await shop.info()).head) == (before, head)
    assert f"refs/pitstop/trials/{trial.id}" in await hidden_refs(shop)
    run = await (await shop.house.service.runs.get(LOCAL, trial.run)).info()
    assert (run.status, run.ref, run.started_by) == ("passed", "main", f"trial by {trial.by}")


async def test_a_prompt_is_data_and_no_template(shop: Workbench) -> None:
    trial = await tried(shop, "Write ${{ .trigger.repo }} and `$(id)`", "writer")
    text = (await playground_of(shop).patch(LOCAL, trial.id, "prompt.txt")).text
    assert "+Write ${{ .trigger.repo }} and `$(id)`" in text


async def test_a_trial_that_changes_nothing_passes_and_has_no_result(shop: Workbench) -> None:
    before = await branches(shop)
    trial = await tried(shop, "echo thinking", save="nothing")
    assert (trial.state, trial.reason, trial.to_sha) == ("passed", "the agent changed nothing", None)
    assert (await playground_of(shop).diff(LOCAL, trial.id)).files == ()
    with pytest.raises(CommandRefused, match="has changed nothing"):
        await playground_of(shop).save(LOCAL, trial.id, "it")
    assert await branches(shop) == before
    assert f"refs/pitstop/trials/{trial.id}" not in await hidden_refs(shop)


async def test_what_a_failed_agent_has_changed_is_shown(shop: Workbench) -> None:
    trial = await tried(shop, "echo half > b.txt; echo no more >&2; exit 3")
    assert trial.state == "failed"
    assert trial.reason is not None
    assert "exit code 3" in trial.reason
    assert [file.path for file in (await playground_of(shop).diff(LOCAL, trial.id)).files] == ["b.txt"]


async def test_an_agent_without_a_key_fails_with_the_way_to_store_it(shop: Workbench) -> None:
    trial = await tried(shop, "Do it", "claude")
    assert trial.state == "failed"
    assert "`pitstop secrets set ANTHROPIC_API_KEY --scope repo:NAME` stores it" in (trial.reason or "")


async def test_one_prompt_is_compared_on_two_agents(shop: Workbench) -> None:
    new = NewTrial(repo=shop.repo, profiles=("script", "writer"), prompt="echo same > a.txt")
    made = await playground_of(shop).create(someone(), new)
    assert len({trial.group for trial in made}) == 1
    a, b = [await end_of(shop, trial) for trial in made]
    compared = await playground_of(shop).compare(LOCAL, a.id, b.id)
    assert [file.path for file in compared.a.files] == ["a.txt"]
    assert [file.path for file in compared.b.files] == ["a.txt", "prompt.txt"]
    assert [file.path for file in compared.between.files] == ["a.txt", "prompt.txt"]
    assert compared.a.seconds is not None
    assert (compared.a.trial.state, compared.b.trial.state) == ("passed", "passed")


async def test_what_an_agent_does_and_costs_is_shown(shop: Workbench) -> None:
    trial = await tried(shop, f"cat <<'END'\n{TALK}END", "talker")
    live = trial.live
    assert (trial.state, live.tool, live.about) == ("passed", "shell", "ls -l"), trial.reason
    assert (live.calls, live.cost, live.tokens) == (1, 0.25, 15)


async def test_a_copy_of_a_run_of_a_trial_moves_no_branch(shop: Workbench) -> None:
    trial = await tried(shop, "echo two > b.txt")
    before = (await branches(shop), (await shop.info()).head)
    copy = await shop.house.service.runs.rerun(LOCAL, trial.run, RerunRequest())
    await copy.wait()
    info = await copy.info()
    assert info.status == "failed"
    assert "only the first run of a trial stores its result" in (info.error or "")
    assert (await branches(shop), (await shop.info()).head) == before
    assert await playground_of(shop).get(LOCAL, trial.id) == trial


async def test_cancel_ends_all_processes_of_the_agent(shop: Workbench, tmp_path: Path) -> None:
    trial = await begin(shop, HANGS.format(tmp_path))
    await reach(shop, trial.id, "running")
    await wait_until((tmp_path / "child").exists)
    processes = [int(await wait_until((tmp_path / name).read_text)) for name in ("pid", "child")]
    with pytest.raises(CommandRefused, match="cancel it first"):
        await playground_of(shop).delete(LOCAL, trial.id)

    cancelled = await playground_of(shop).cancel(LOCAL, trial.id)
    assert (cancelled.state, cancelled.to_sha) == ("cancelled", None)
    assert not any(is_alive(each) for each in processes)
    with pytest.raises(CommandRefused, match="has ended"):
        await playground_of(shop).cancel(LOCAL, trial.id)


async def test_an_agent_that_is_cancelled_has_time_to_end(shop: Workbench, tmp_path: Path) -> None:
    trial = await begin(shop, TAKES_TIME_TO_END.format(tmp_path))
    await wait_until((tmp_path / "begun").exists)
    async with asyncio.TaskGroup() as group:
        cancelling = group.create_task(playground_of(shop).cancel(LOCAL, trial.id))
        await wait_until((tmp_path / "told").exists)
        await tried(shop, "true")  # at whose end all that are being cancelled are looked at
        (tmp_path / "is over").touch()
    assert cancelling.result().state == "cancelled"
    assert (tmp_path / "ended").exists()


def is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return Path(f"/proc/{pid}/stat").read_text().split(") ")[1][0] != "Z"


async def test_only_the_named_file_may_change(shop: Workbench) -> None:
    trial = await tried(shop, "Do it", "writer", input="file", path="a.txt")
    assert trial.state == "failed"
    assert "only a.txt may change in this trial, but the agent changed prompt.txt" in (trial.reason or "")
    assert trial.to_sha is None
    allowed = await tried(shop, "echo changed > a.txt", input="file", path="a.txt")
    assert [file.path for file in (await playground_of(shop).diff(LOCAL, allowed.id)).files] == ["a.txt"]
    with pytest.raises(UnknownPath):
        await begin(shop, "Do it", input="file", path="nowhere.txt")


async def test_a_text_is_tried_without_the_files_of_the_repository(shop: Workbench) -> None:
    trial = await tried(shop, "find . -name .git -prune -o -type f -print > found", input="text")
    assert trial.state == "passed", trial.reason
    text = (await playground_of(shop).patch(LOCAL, trial.id, "found")).text
    assert [line for line in text.splitlines() if line.startswith("+.")] == [
        "+./.pitstop/agents/script.yaml",
        "+./found",
    ]


async def test_results_that_are_saved_under_one_name_at_once_get_two_branches(shop: Workbench) -> None:
    begun = [await begin(shop, f"echo {number} > b.txt") for number in range(2)]
    trials = [await end_of(shop, trial) for trial in begun]
    saved = await asyncio.gather(*(playground_of(shop).save(LOCAL, trial.id, "try") for trial in trials))
    assert sorted(each.branch or "" for each in saved) == ["agent-test/try-001", "agent-test/try-002"]
    again = await playground_of(shop).save(LOCAL, trials[0].id, "try")
    assert again.branch == saved[0].branch
    listed = [each for each in await playground_of(shop).branches(LOCAL, shop.repo) if "/try-" in each.name]
    assert sorted((each.name, each.is_merged) for each in listed) == [
        ("agent-test/try-001", False),
        ("agent-test/try-002", False),
    ]
    await shop.git("pull", "--quiet", "origin", "agent-test/try-001")
    await shop.push()
    merged = [each.name for each in await playground_of(shop).branches(LOCAL, shop.repo) if each.is_merged]
    assert merged == ["agent-test/try-001"]
    await shop.repos.delete_branches(LOCAL, shop.repo, {each.name: each.commit.sha for each in listed})
    assert not any("/try-" in name for name in await branches(shop))


async def test_a_result_is_saved_at_the_end_if_that_was_asked_for(shop: Workbench) -> None:
    trial = await tried(shop, "echo two > b.txt", save="auto")
    assert trial.branch == "agent-test/auto-001"
    assert (await shop.repos.file(LOCAL, shop.repo, "b.txt", trial.branch)).text == "two\n"
    again = await end_of(shop, await playground_of(shop).again(someone(), trial.id))
    assert (again.branch, again.prompt, again.settings) == ("agent-test/auto-002", trial.prompt, trial.settings)


async def test_a_trial_becomes_a_card_in_review(shop: Workbench) -> None:
    trial = await tried(shop, "echo two > b.txt")
    card = await playground_of(shop).make_card(LOCAL, trial.id, "Add b")
    assert (card.status, card.branch, card.head_sha) == ("in_review", f"card/{card.number}-add-b", trial.to_sha)
    assert (card.work_details.agent, card.work_details.prompt) == ("script", "echo two > b.txt")
    await playground_of(shop).delete(LOCAL, trial.id)
    assert (await cards_of(shop).approve(LOCAL, card.id)).status == "done"
    unchanged = await tried(shop, "true")
    assert (await playground_of(shop).make_card(LOCAL, unchanged.id, "Think")).status == "todo"


async def test_trials_are_listed_newest_first_and_can_be_deleted(shop: Workbench) -> None:
    trials = [await begin(shop, f"echo {number} > b.txt # {'long ' * 200}") for number in range(2)]
    for trial in trials:
        await end_of(shop, trial)
    page = await playground_of(shop).list(LOCAL, shop.repo, limit=1)
    rest = await playground_of(shop).list(LOCAL, shop.repo, page.next, 1)
    assert [each.id for each in (*page.trials, *rest.trials)] == [trial.id for trial in reversed(trials)]
    assert len(page.trials[0].prompt) == 500
    await playground_of(shop).delete(LOCAL, trials[0].id)
    assert f"refs/pitstop/trials/{trials[0].id}" not in await hidden_refs(shop)
    with pytest.raises(Unknown, match="forgotten"):
        await playground_of(shop).get(LOCAL, trials[0].id)


async def test_what_cannot_be_tried_is_refused_with_a_reason(shop: Workbench) -> None:
    for error, words, new in (
        (BadRequest, "needs a repository", NewTrial(repo=None, profiles=("script",), prompt="x")),
        (BadRequest, "1 to 4 different agents", NewTrial(repo=shop.repo, profiles=("script",) * 2, prompt="x")),
        (BadRequest, "but 5 are named", NewTrial(repo=shop.repo, profiles=tuple("abcde"), prompt="x")),
        (BadRequest, "nobody", NewTrial(repo=shop.repo, profiles=("nobody",), prompt="x")),
        (BadRequest, "100,000", NewTrial(repo=shop.repo, profiles=("script",), prompt="x" * 100_001)),
        (BadRequest, "needs a `path`", with_settings(shop, input="file")),
        (BadRequest, "invalid name 'a/b'", with_settings(shop, save="a/b")),
        (BadRequest, "1 to 40 letters", with_settings(shop, save="x" * 41)),
        (BadRequest, "invalid budget: time", with_settings(shop, budget={"time": "soon"})),
        (UnknownRef, "nowhere", with_settings(shop, ref="nowhere")),
    ):
        with pytest.raises(error, match=words):
            await playground_of(shop).create(someone(), new)


def with_settings(bench: Workbench, **settings: object) -> NewTrial:
    return NewTrial(repo=bench.repo, profiles=("script",), prompt="x", settings=TrialSettings(**settings))  # type: ignore[arg-type]


async def test_a_trial_pauses_at_tool_calls_if_it_is_debugged(shop: Workbench) -> None:
    trial = await tried(shop, "true", debug=True)
    record = await (await shop.house.service.runs.get(LOCAL, trial.run)).info()
    assert (trial.state, record.session) == ("passed", "ended")
