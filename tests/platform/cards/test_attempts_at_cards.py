"""The work of cards: what runs, from where it starts, what its agent is told, and how it is ended."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from pitstop.errors import BadCard
from pitstop.service.caller import LOCAL
from pitstop.service.cards import CardInfo, DiffRange, NewCard, NewNote, Rejection, StartCard, Work
from pitstop.service.repos import RepoChanges
from pitstop.serving.house import Serving
from tests.amounts import amount
from tests.executors.processes import processes_with
from tests.patience import wait_until
from tests.platform.card_bench import (
    approved_text,
    at_once,
    card_of,
    cards_of,
    http_of,
    profile,
    run_of,
    scripted_profile,
    settled,
    summary_of,
    worked,
    write,
)
from tests.platform.workbench import Workbench

FLOW = """\
inputs: {name: {description: Who}, config: {description: How, default: {}}}
steps:
  - id: build
    run: printf '%s' "$NAME" > name.txt; printf '%s' "$CONFIG" > config.txt
    env: {NAME: "${{ .inputs.name }}", CONFIG: "${{ .inputs.config | tojson }}"}
"""
WORKER = "cat > prompt.txt; grep -q Guidance prompt.txt && echo good >> work.txt || echo bad > work.txt"
MAKEFILE = "test:\n\t@echo looking for good work\n\t@grep -q good work.txt\n"
APPENDS = Work(run="echo x >> work.txt")
WAITS = "while [ ! -e {gate} ]; do sleep 0.02; done; echo done > {file}"


async def again(bench: Workbench, card: str, **options: Any) -> CardInfo:
    """The card after another attempt."""
    await cards_of(bench).start(LOCAL, card, StartCard(**options))
    return await settled(bench, card)


# --- What runs -------------------------------------------------------------------------------------------------------


async def test_a_flow_gets_the_inputs_of_a_card_as_they_are(bench: Workbench) -> None:
    await write(bench, ".pitstop/flows/deep/build.yaml", FLOW)
    name, config = "${{ 1 + 1 }} $(id) '\"\n\u05e9", {"a": [1, None, {"b}}": "${{ .secrets.X }}"}], "c": 1.5}
    card, wrong, missing = [
        await card_of(bench, Work(flow="deep/build", inputs=inputs), start=True)
        for inputs in ({"name": name, "config": config}, {"name": "x", 'x"]}} ${{ 1': 1}, {})
    ]
    shown = await settled(bench, card.id)
    assert (shown.status, shown.reason) == ("in_review", None)
    assert await approved_text(bench, "name.txt", shown.branch or "") == name
    assert json.loads(await approved_text(bench, "config.txt", shown.branch or "") or "") == config
    for each in (wrong, missing):
        failed = await settled(bench, each.id)
        assert (failed.status, failed.head_sha) == ("failed", failed.base_sha)
        assert "input" in (failed.reason or "")


async def test_the_command_that_tests_the_work_of_an_agent_is_found_or_set(bench: Workbench) -> None:
    await write(bench, "README", "nothing\n")
    new = NewCard(title="Do it", work=Work(agent="claude"))

    async def found() -> str | None:
        preview = await cards_of(bench).preview(LOCAL, bench.repo, new)
        assert (preview.test is not None) == ("id: test" in preview.text)
        return preview.test

    assert await found() is None
    for path, text, test in (
        ("Makefile", "build:\n\ttrue\n", None),
        ("Makefile", MAKEFILE, "make test"),
        ("Cargo.toml", "[package]\n", "cargo test"),
        ("go.mod", "module shop\n", "go test ./..."),
        ("package.json", '{"scripts": {"test": "echo \\"Error: no test specified\\" && exit 1"}}', "go test ./..."),
        ("package.json", "[]", "go test ./..."),
        ("package.json", '{"scripts": {"test": "vitest"}}', "npm test"),
        ("pyproject.toml", "[tool.ruff]\n", "npm test"),
        ("pyproject.toml", "[tool.pytest.ini_options]\n", "python3 -m pytest"),
    ):
        await write(bench, path, text)
        assert await found() == test, path
    for setting, test in (("none", None), ("./check 'a b'", "./check 'a b'"), ("", "python3 -m pytest")):
        await bench.repos.update(LOCAL, bench.repo, RepoChanges(test=setting))
        assert await found() == test
    script = await cards_of(bench).preview(LOCAL, bench.repo, NewCard(title="Do it", work=Work(run="true")))
    assert (script.test, script.prompt) == (None, "")


async def test_work_that_fails_its_tests_is_kept_and_the_next_agent_is_told_all_about_it(bench: Workbench) -> None:
    for name in ("worker", "other"):
        await write(bench, f".pitstop/agents/{name}.yaml", profile(WORKER))
    await write(bench, "Makefile", MAKEFILE)
    cards, work = cards_of(bench), Work(agent="worker", prompt="Use plain words.")
    card = await worked(bench, work, "Write it", description="It has to be good.")
    assert (card.status, card.test, "exit code" in (card.reason or "")) == ("failed", "make test", True)
    assert {file.path for file in (await cards.diff(LOCAL, card.id)).files} == {"work.txt", "prompt.txt"}
    assert await approved_text(bench, "prompt.txt", card.branch or "") == (
        "Write it\n\nIt has to be good.\n\nUse plain words.\n"
    )
    await cards.note(LOCAL, card.id, NewNote(text="On the line", file="work.txt", line=1))
    await cards.note(LOCAL, card.id, NewNote(text="On all of it"))
    resolved = await cards.note(LOCAL, card.id, NewNote(text="Resolved", file="work.txt", line=1))
    await cards.resolve_note(LOCAL, card.id, resolved.id)

    passed = await again(bench, card.id, guidance="Write good.", profile="other")
    assert (passed.status, passed.reason, passed.profile) == ("in_review", None, "worker")
    told = await approved_text(bench, "prompt.txt", card.branch or "") or ""
    assert told.strip() == (await cards.attempt(LOCAL, card.id, 2)).prompt.strip()
    assert "- work.txt:1: On the line\n- On all of it\n\n" in told
    assert "Resolved" not in told
    assert "Guidance for this attempt:\nWrite good.\n\n" in told
    assert "looking for good work" in told
    assert "test failed" in told
    assert await approved_text(bench, "work.txt", card.branch or "") == "bad\ngood\n"
    found = [(each.number, each.profile, each.outcome) for each in await cards.attempts(LOCAL, card.id)]
    assert found == [(2, "other", "passed"), (1, "worker", "failed")]

    await cards.start(LOCAL, card.id, StartCard(start_from="base"))  # where the line of the note is not yet
    told = (await cards.attempt(LOCAL, card.id, 3)).prompt
    assert "- On the line\n- On all of it" in told
    assert "looking for good work" not in told


async def test_a_card_whose_branch_moves_under_its_run_fails_and_one_whose_branch_is_gone_gets_it_again(
    bench: Workbench, tmp_path: Path
) -> None:
    await write(bench, "a.txt", "one\n")
    gate = tmp_path / "gate"
    work = Work(run=WAITS.format(gate=gate, file="b.txt"))
    moved, gone = [await card_of(bench, work, title, start=True) for title in ("moved", "gone")]
    sha = await write(bench, "c.txt", "three\n", moved.branch or "")
    await bench.push("--delete", gone.branch or "")
    gate.touch()

    failed = await settled(bench, moved.id)
    assert (failed.status, f"is at {sha[:12]}" in (failed.reason or "")) == ("failed", True)

    async def is_noticed() -> bool:
        return (await summary_of(bench, moved.id)).head_sha == sha

    await wait_until(is_noticed)
    made_again = await settled(bench, gone.id)
    assert (made_again.status, made_again.is_branch_gone) == ("in_review", False)
    assert [file.path for file in (await cards_of(bench).diff(LOCAL, gone.id)).files] == ["b.txt"]
    retried = await again(bench, moved.id)
    assert {file.path for file in (await cards_of(bench).diff(LOCAL, retried.id)).files} == {"b.txt", "c.txt"}


# --- From where it starts --------------------------------------------------------------------------------------------


async def test_an_attempt_starts_where_it_is_told_and_nothing_of_the_others_is_lost(bench: Workbench) -> None:
    base = await write(bench, "a.txt", "one\n")
    cards, card = cards_of(bench), await worked(bench, APPENDS)
    await again(bench, card.id)
    await again(bench, card.id, start_from="base")
    await again(bench, card.id, start_from=2)
    attempts = (await cards.attempts(LOCAL, card.id))[::-1]
    results = [each.to_sha for each in attempts]
    assert [each.from_sha for each in attempts] == [base, results[0], base, results[1]]
    assert len(set(results)) == 4
    assert all(card.created_at <= each.started_at <= (each.ended_at or 0) for each in attempts)

    async def added(**range: int) -> int | None:
        (file,) = (await cards.diff(LOCAL, card.id, DiffRange(**range))).files
        return file.added

    await prune(bench)
    assert [await added(from_attempt=old, to_attempt=new) for old, new in ((0, 2), (0, 4), (3, 4))] == [2, 3, 2]
    for wrong in (DiffRange(from_attempt=1), DiffRange(to_attempt=1)):
        with pytest.raises(BadCard, match="to compare two attempts, give both"):
            await cards.diff(LOCAL, card.id, wrong)
    assert (await cards.reject(LOCAL, card.id, Rejection(keep_branch=False))).branch is None
    await prune(bench)
    assert [await added(attempt=each.number) for each in attempts] == [1, 1, 1, 1]
    await cards.delete(LOCAL, card.id)
    assert "pitstop/cards" not in await bench.plain_git("for-each-ref", at=bench.bare)


async def prune(bench: Workbench) -> None:
    """Let git remove every object that nothing needs."""
    await bench.plain_git("reflog", "expire", "--expire=now", "--all", at=bench.bare)
    await bench.plain_git("gc", "--prune=now", "--quiet", at=bench.bare)


# --- How it is paused and ended --------------------------------------------------------------------------------------


async def test_a_card_can_be_started_paused_at_the_first_step_or_tool_call(bench: Workbench, tmp_path: Path) -> None:
    calls = [{"tool": "shell", "command": "touch first"}, {"tool": "shell", "command": "touch second"}]
    await write(bench, ".pitstop/agents/scripted.yaml", scripted_profile(tmp_path, calls))
    cards = cards_of(bench)
    await write(bench, ".pitstop/agents/plain.yaml", profile("touch first second"))  # its calls cannot be held
    for work, stopped in (
        (Work(run="touch first second"), "work"),
        (Work(agent="plain"), "work"),
        (Work(agent="scripted"), "work/1"),
    ):
        card = await card_of(bench, work)
        await cards.start(LOCAL, card.id, StartCard(debug=True))
        shown = await summary_of(bench, card.id)
        run = await run_of(bench, shown.run, "paused")
        place = bench.settings.workspaces / str(shown.run) / "repo"
        assert not (place / "first").exists()
        async with http_of(bench) as client:
            (stop,) = (await client.get(f"/runs/{shown.run}/debug")).json()["stops"]
            assert stop["occurrence"] == stopped
            assert (await summary_of(bench, card.id)).run_status == "paused"
            assert (await client.post(f"/runs/{shown.run}/debug/continue", json={"stop": stop["id"]})).is_success
        await run.wait()
        ended = await settled(bench, card.id)
        assert (ended.status, ended.reason) == ("in_review", None)
        assert {file.path for file in (await cards.diff(LOCAL, card.id)).files} == {"first", "second"}


async def test_a_card_is_in_progress_until_the_last_process_of_its_cancelled_run_is_gone(bench: Workbench) -> None:
    await write(bench, "a.txt", "one\n")
    mark = f"86400.{abs(hash(bench.repo)) % 10**9:09}"
    card = await card_of(bench, Work(run=f"sleep {mark}"), start=True)
    await wait_until(lambda: processes_with(mark))
    async with asyncio.TaskGroup() as group:
        cancelling = group.create_task(cards_of(bench).cancel(LOCAL, card.id))

        async def is_todo() -> bool:
            return (await summary_of(bench, card.id)).status == "todo"

        await wait_until(is_todo)
        assert not processes_with(mark)
    cancelled = cancelling.result()
    (attempt,) = await cards_of(bench).attempts(LOCAL, card.id)
    assert (cancelled.status, cancelled.run_status, attempt.outcome) == ("todo", None, "cancelled")
    assert attempt.ended_at is not None


async def test_a_card_that_waits_for_a_slot_or_is_just_being_started_can_be_cancelled(
    bench: Workbench, tmp_path: Path
) -> None:
    await write(bench, "a.txt", "one\n")
    cards, gate = cards_of(bench), tmp_path / "gate"
    work = Work(run=WAITS.format(gate=gate, file="b.txt"))
    running = [await card_of(bench, work, start=True) for _ in range(Serving(settings=bench.settings).slots)]
    for each in running:
        await run_of(bench, each.run, "running")
    waiting = await card_of(bench, work, start=True)
    await run_of(bench, waiting.run, "pending")
    assert (await cards.cancel(LOCAL, waiting.id)).status == "todo"
    for _ in range(amount(3, soak=30)):
        started = await cards.start(LOCAL, waiting.id)
        assert started.status == "in_progress"
        assert (await cards.cancel(LOCAL, waiting.id)).status == "todo"
    outcomes = {each.outcome for each in await cards.attempts(LOCAL, waiting.id)}
    ended = await at_once(*(cards.cancel(LOCAL, each.id) for each in running))
    assert (outcomes, {each.status for each in ended}) == ({"cancelled"}, {"todo"})
    gate.touch()
    runs = [run for run in await bench.runs() if run.id.startswith("2")]
    assert {run.status for run in runs} == {"cancelled"}
