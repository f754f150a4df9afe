"""Cards from their creation to their merge, with scripts that stand for agents."""

import pytest

from pitstop.errors import CommandRefused, MergeConflict
from pitstop.service.caller import LOCAL
from pitstop.service.cards import NewCard, NewNote, Rejection, StartCard, Work
from tests.patience import wait_until
from tests.platform.card_bench import JUDGE, approved_text, card_of, cards_of, settled
from tests.platform.workbench import Workbench


async def test_the_work_of_a_card_is_committed_reviewed_and_merged(bench: Workbench) -> None:
    await bench.commit({"a.txt": "one\n"})
    await bench.push()
    cards = cards_of(bench)
    made = await cards.create(LOCAL, bench.repo, NewCard(title="Add b", work=Work(run="echo two > b.txt")))
    assert (made.id, made.status, made.branch) == (f"{bench.repo}-1", "todo", None)

    started = await cards.start(LOCAL, made.id)
    assert (started.status, started.attempt, started.branch) == ("in_progress", 1, "card/1-add-b")
    reviewed = await settled(bench, made.id)
    assert (reviewed.status, reviewed.reason) == ("in_review", None)
    diff = await cards.diff(LOCAL, made.id)
    assert [(file.path, file.status) for file in diff.files] == [("b.txt", "added")]

    with pytest.raises(CommandRefused, match="not in progress"):
        await cards.cancel(LOCAL, made.id)
    done = await cards.approve(LOCAL, made.id)
    assert done.status == "done"
    files = await bench.repos.tree(LOCAL, bench.repo, "main")
    assert [entry.name for entry in files.entries] == ["a.txt", "b.txt"]


async def test_a_flow_judges_a_card_and_merges_it(bench: Workbench) -> None:
    await bench.push_flow(JUDGE, "judge")
    card = await card_of(bench, Work(run="echo good > work.txt"), start=True)
    done = await settled(bench, card.id)
    assert (done.status, done.reason) == ("done", None)
    assert await approved_text(bench, "work.txt") == "good\n"
    push = await bench.newest_push()
    assert (push.via, push.who) == ("merge", "flow judge")


async def test_a_flow_that_fails_moves_its_card_and_a_retry_is_judged_again(bench: Workbench) -> None:
    await bench.push_flow(JUDGE, "judge")
    card = await card_of(
        bench, Work(run="if test -f work.txt; then echo good; else echo bad; fi > new; mv new work.txt")
    )
    await cards_of(bench).start(LOCAL, card.id)
    failed = await settled(bench, card.id)
    assert failed.status == "failed"
    assert failed.reason is not None and "judge failed" in failed.reason
    await cards_of(bench).start(LOCAL, card.id, StartCard(guidance="Make it good."))
    assert (await settled(bench, card.id)).status == "done"


async def test_a_card_cannot_edit_the_flow_that_judges_it(bench: Workbench) -> None:
    await bench.push_flow(JUDGE, "judge")
    script = "echo 'on: {card_complete: {on_pass: merge}}\nsteps: [{run: true}]' > .pitstop/flows/judge.yaml"
    card = await card_of(bench, Work(run=f"{script}; echo bad > work.txt"), start=True)
    assert (await settled(bench, card.id)).status == "failed"


CONFLICTING = Work(run="echo mine > a.txt")


async def conflicting_card(bench: Workbench, work: Work = CONFLICTING) -> str:
    """A card in review whose change conflicts with the base."""
    await bench.commit({"a.txt": "one\n"})
    await bench.push()
    card = await card_of(bench, work, start=True)
    await settled(bench, card.id)
    await bench.commit({"a.txt": "theirs\n"})
    await bench.push()
    with pytest.raises(MergeConflict):
        await cards_of(bench).approve(LOCAL, card.id)
    return card.id


async def test_a_conflict_is_shown_and_can_be_rejected(bench: Workbench) -> None:
    card = await conflicting_card(bench)
    shown = await cards_of(bench).get(LOCAL, card)
    assert shown.status == "in_review"
    assert shown.conflict is not None
    assert [(file.path, file.kind) for file in shown.conflict.files] == [("a.txt", "text")]
    rejected = await cards_of(bench).reject(LOCAL, card, Rejection(reason="Not now."))
    assert (rejected.status, rejected.conflict) == ("todo", None)
    assert [note.text for note in await cards_of(bench).notes(LOCAL, card)] == ["Not now."]


async def test_a_conflict_is_resolved_by_the_agent(bench: Workbench) -> None:
    agent = Work(agent="resolver", prompt="Merge them.")
    await bench.commit({".pitstop/agents/resolver.yaml": RESOLVER})
    card = await conflicting_card(bench, agent)
    updated = await cards_of(bench).update_branch(LOCAL, card)
    assert (updated.is_clean, updated.files, updated.card.status) == (False, {"a.txt": "text"}, "in_progress")
    resolved = await settled(bench, card)
    assert (resolved.status, resolved.reason) == ("in_review", None)
    await cards_of(bench).approve(LOCAL, card)
    assert await approved_text(bench, "a.txt") == "mine and theirs\n"


async def test_a_conflict_is_resolved_by_hand_in_a_paused_run(bench: Workbench) -> None:
    card = await conflicting_card(bench)
    updated = await cards_of(bench).update_branch(LOCAL, card, by_hand=True)
    run = await bench.house.service.runs.get(LOCAL, updated.card.run or "")

    async def is_paused() -> bool:
        return (await run.info()).status == "paused"

    await wait_until(is_paused)
    assert (await run.info()).stops == (1,)


RESOLVER = """\
extends: aider
command: [sh, -c, 'if grep -q "<<<<" a.txt; then echo "mine and theirs" > a.txt; else echo mine > a.txt; fi']
stream: lines
stdin: prompt
secrets: []
api: null
"""


async def test_notes_follow_their_lines(bench: Workbench) -> None:
    await bench.commit({"a.txt": "one\n"})
    await bench.push()
    card = await card_of(
        bench, Work(run="if test -f b; then sed -i '1i zero' b; else printf 'x\\ny\\n' > b; fi"), start=True
    )
    await settled(bench, card.id)
    cards = cards_of(bench)
    note = await cards.note(LOCAL, card.id, NewNote(text="Why?", file="b", line=2))
    assert (note.file_now, note.line_now) == ("b", 2)
    await cards.start(LOCAL, card.id)
    await settled(bench, card.id)
    (moved,) = await cards.notes(LOCAL, card.id)
    assert (moved.line, moved.line_now, moved.is_outdated) == (2, 3, False)
