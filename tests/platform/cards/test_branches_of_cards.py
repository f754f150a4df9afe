"""What happens to the branch of a card while it is reviewed: it moves, it is gone, it conflicts, it has notes."""

from pathlib import Path

import pytest

from pitstop.errors import BadCard, MergeConflict, PitstopError, RefMoved, UnknownPath, UnknownRef
from pitstop.git.names import BRANCHES
from pitstop.service.caller import LOCAL
from pitstop.service.cards import Approval, CardInfo, CardMove, NewNote, Rejection, Work
from pitstop.service.repos import RepoChanges
from tests.amounts import amount
from tests.platform.card_bench import (
    JUDGE,
    approved_text,
    at_once,
    card_of,
    cards_of,
    http_of,
    profile,
    reviewed,
    run_of,
    settled,
    worked,
    write,
)
from tests.platform.workbench import Workbench

CONFLICTS = {"a.txt": "text", "b.bin": "binary", "c.txt": "deleted"}
CHANGES = Work(run="printf 'two\\n' > a.txt; printf 'b\\0two' > b.bin; rm c.txt")


async def main_of(bench: Workbench) -> str:
    return (await bench.repos.commits(LOCAL, bench.repo, "main")).commits[0].sha


async def conflicting(bench: Workbench, work: Work = CHANGES) -> CardInfo:
    """A card in review that conflicts with its base in a text file, in a binary one, and in one that it has deleted."""
    for path, text in (("a.txt", "one\n"), ("b.bin", "b\0one"), ("c.txt", "one\n")):
        await write(bench, path, text)
    card = await worked(bench, work)
    for path, text in (("a.txt", "three\n"), ("b.bin", "b\0three"), ("c.txt", "three\n")):
        await write(bench, path, text)
    with pytest.raises(MergeConflict) as refused:
        await cards_of(bench).approve(LOCAL, card.id)
    assert dict(refused.value.conflicts) == CONFLICTS
    return await cards_of(bench).get(LOCAL, card.id)


# --- It moves --------------------------------------------------------------------------------------------------------


async def test_what_nobody_has_reviewed_is_not_merged(bench: Workbench) -> None:
    await write(bench, "a.txt", "one\n")
    card = await reviewed(bench)
    before = await main_of(bench)
    pushed = await write(bench, "c.txt", "three\n", card.branch or "")
    with pytest.raises(RefMoved, match=f"is at {pushed[:12]}"):
        await cards_of(bench).approve(LOCAL, card.id, Approval(expect=card.head_sha))
    parent = (await bench.repos.commits(LOCAL, bench.repo, card.branch or "")).commits[1].sha
    await bench.plain_git("update-ref", f"{BRANCHES}{card.branch}", parent, at=bench.bare)  # and no scan has seen it
    for expect in (None, pushed):
        with pytest.raises(RefMoved):
            await cards_of(bench).approve(LOCAL, card.id, Approval(expect=expect))
    assert await main_of(bench) == before
    assert (await cards_of(bench).get(LOCAL, card.id)).status == "in_review"


@pytest.mark.repeats
async def test_a_push_while_a_card_is_being_approved_is_never_merged_with_it(bench: Workbench) -> None:
    await write(bench, "a.txt", "one\n")
    for number in range(amount(3, soak=50)):
        card = await reviewed(bench, f"{number}.txt", title=f"Card {number}")
        approval = Approval(expect=card.head_sha)
        approved, pushed = await at_once(
            cards_of(bench).approve(LOCAL, card.id, approval),
            write(bench, f"late {number}.txt", "late\n", card.branch or ""),
        )
        is_refused = isinstance(approved, RefMoved)
        assert is_refused or approved.status == "done", approved
        shown = await cards_of(bench).get(LOCAL, card.id)
        assert (shown.status, shown.head_sha) == (("in_review", pushed) if is_refused else ("done", card.head_sha))
        names = {entry.name for entry in (await bench.repos.tree(LOCAL, bench.repo, "main")).entries}
        assert (f"{number}.txt" in names, f"late {number}.txt" in names) == (not is_refused, False)


async def test_a_push_to_a_card_in_review_clears_its_conflict_and_is_judged(bench: Workbench) -> None:
    await write(bench, "work.txt", "one\n")
    card = await reviewed(bench, "work.txt", "two\n")
    await write(bench, "work.txt", "three\n")
    with pytest.raises(MergeConflict):
        await cards_of(bench).approve(LOCAL, card.id)
    assert (await cards_of(bench).get(LOCAL, card.id)).has_conflict
    await write(bench, ".pitstop/flows/judge.yaml", JUDGE)
    await bench.git("fetch", "--quiet", "origin")
    await bench.git("checkout", "--quiet", "-b", "mine", f"origin/{card.branch}")
    await bench.git("merge", "--quiet", "-s", "ours", "-m", "Resolve it", "origin/main")
    sha = await bench.commit({"work.txt": "good\n", "b.txt": "two\n"})
    await bench.push(f"HEAD:{card.branch}")
    shown = await cards_of(bench).get(LOCAL, card.id)
    assert (shown.head_sha, shown.conflict, len(shown.judges)) == (sha, None, 1)
    done = await settled(bench, card.id)
    assert (done.status, await approved_text(bench, "work.txt")) == ("done", "good\n")


async def test_a_branch_that_was_deleted_is_shown_and_the_next_attempt_makes_a_new_one(bench: Workbench) -> None:
    await write(bench, "a.txt", "one\n")
    cards, card = cards_of(bench), await reviewed(bench)
    await bench.push("--delete", card.branch or "")
    gone = await cards.get(LOCAL, card.id)
    assert (gone.is_branch_gone, gone.head_sha, gone.status) == (True, None, "in_review")
    for verb in (cards.approve(LOCAL, card.id), cards.update_branch(LOCAL, card.id)):
        with pytest.raises(UnknownRef, match=f"the branch of card {card.id} was deleted: retry the card"):
            await verb
    assert (await cards.diff(LOCAL, card.id)).files == ()
    assert await cards.notes(LOCAL, card.id) == ()
    begun = await cards.move(LOCAL, card.id, CardMove(status="in_progress"))
    assert (begun.is_branch_gone, begun.head_sha) == (False, await main_of(bench))
    await bench.push("--delete", card.branch or "")
    with pytest.raises(PitstopError, match="does not exist"):
        await cards.move(LOCAL, card.id, CardMove(status="in_review"))


async def test_a_branch_is_deleted_with_its_card_or_when_it_is_rejected_and_not_otherwise(bench: Workbench) -> None:
    await write(bench, "a.txt", "one\n")
    cards = cards_of(bench)
    kept, dropped, rejected, protected = [await reviewed(bench, title=title) for title in ("A", "B", "C", "D")]
    await cards.delete(LOCAL, kept.id)
    await cards.delete(LOCAL, dropped.id, delete_branch=True)
    todo = await cards.reject(LOCAL, rejected.id, Rejection(reason="Not now.", keep_branch=False))
    assert (todo.status, todo.head_sha, todo.is_branch_gone, todo.reason) == ("todo", None, False, "Not now.")
    await bench.repos.update(LOCAL, bench.repo, RepoChanges(protected=(protected.branch or "",)))
    for refused in (
        cards.delete(LOCAL, protected.id, delete_branch=True),
        cards.reject(LOCAL, protected.id, Rejection(keep_branch=False)),
    ):
        with pytest.raises(PitstopError, match="protected"):
            await refused
    assert (await cards.get(LOCAL, protected.id)).status == "in_review"
    names = [branch.name for branch in (await bench.repos.branches(LOCAL, bench.repo)).branches]
    assert sorted(names) == sorted(["main", kept.branch or "", protected.branch or ""])
    again = await cards.move(LOCAL, rejected.id, CardMove(status="in_progress"))
    assert (again.branch, again.head_sha) == (rejected.branch, await main_of(bench))


# --- It is merged ----------------------------------------------------------------------------------------------------


async def test_a_card_is_merged_in_each_way_and_can_go_on_afterwards(bench: Workbench) -> None:
    await write(bench, "a.txt", "one\n")
    cards = cards_of(bench)
    squashed, rebased, opened = [await reviewed(bench, f"{title}.txt", title=title) for title in ("s", "r", "o")]
    await write(bench, "z.txt", "zero\n")
    for card, approval in ((squashed, Approval(method="squash")), (rebased, Approval(method="rebase"))):
        done = await cards.approve(LOCAL, card.id, approval)
        assert (done.status, done.merged_sha) == ("done", await main_of(bench))
        (diff,) = (await cards.diff(LOCAL, card.id)).files
        assert diff.path == f"{card.title}.txt"
    subjects = [each.subject for each in (await bench.repos.commits(LOCAL, bench.repo, "main")).commits]
    assert subjects[:2] == ["Write r.txt", f"Merge card {squashed.number}: s"]

    going_on = await cards.approve(LOCAL, opened.id, Approval(keep_open=True))
    head = await main_of(bench)
    assert (going_on.status, going_on.head_sha, going_on.base_sha, going_on.merged_sha) == ("in_review", *[head] * 3)
    assert (await cards.diff(LOCAL, opened.id)).files == ()
    await write(bench, "more.txt", "more\n", opened.branch or "")
    assert [file.path for file in (await cards.diff(LOCAL, opened.id)).files] == ["more.txt"]
    done = await cards.approve(LOCAL, opened.id)
    assert (done.status, await approved_text(bench, "more.txt")) == ("done", "more\n")


async def test_a_card_that_changes_nothing_is_done_without_a_merge(bench: Workbench) -> None:
    await write(bench, "a.txt", "one\n")
    card = await worked(bench, Work(run="true"))
    assert (card.status, card.reason) == ("in_review", "the work changed nothing")
    before = await main_of(bench)
    done = await cards_of(bench).approve(LOCAL, card.id)
    assert (done.status, done.merged_sha, await main_of(bench)) == ("done", None, before)
    assert "nothing to merge" in (done.reason or "")


async def test_of_two_people_who_approve_a_card_at_once_one_merges_it(bench: Workbench) -> None:
    await write(bench, "a.txt", "one\n")
    card = await reviewed(bench)
    answers = await at_once(*(cards_of(bench).approve(LOCAL, card.id) for _ in range(3)))
    assert sorted(type(each).__name__ for each in answers) == ["BadMove", "BadMove", "CardInfo"]
    commits = (await bench.repos.commits(LOCAL, bench.repo, "main")).commits
    assert sum("Merge card" in each.subject for each in commits) == 1


async def test_a_card_that_was_reopened_is_not_done_again_by_a_restart(tmp_path: Path) -> None:
    bench = Workbench(tmp_path)
    async with bench.open():
        await bench.create()
        await write(bench, "a.txt", "one\n")
        cards, card = cards_of(bench), await reviewed(bench)
        await cards.approve(LOCAL, card.id)
        for status in ("todo", "in_progress", "in_review"):
            await cards.move(LOCAL, card.id, CardMove(status=status))
    async with bench.open():
        assert (await cards_of(bench).get(LOCAL, card.id)).status == "in_review"


async def test_what_was_landed_marks_the_cards_that_are_in_it(bench: Workbench) -> None:
    await write(bench, "a.txt", "one\n")
    cards = cards_of(bench)
    first, second, later = [await reviewed(bench, f"{title}.txt", title=title) for title in "abc"]
    await cards.approve(LOCAL, first.id)
    await cards.approve(LOCAL, second.id, Approval(method="squash"))
    landed = await main_of(bench)
    await cards.approve(LOCAL, later.id)
    async with http_of(bench) as client:
        body = {"branch": "main", "sha": landed, "remote": "git@example.com:shop"}
        assert (await client.post(f"/repos/{bench.repo}/landings", json=body)).is_success
    found = [(await cards.get(LOCAL, each.id)).landed_at for each in (first, second, later)]
    assert [at is not None for at in found] == [True, True, False]


# --- It conflicts ----------------------------------------------------------------------------------------------------


async def test_conflicts_of_every_kind_are_shown_and_resolved_by_a_person_in_a_paused_run(bench: Workbench) -> None:
    cards, card = cards_of(bench), await conflicting(bench)
    assert card.conflict is not None
    assert {file.path: file.kind for file in card.conflict.files} == CONFLICTS

    updated = await cards.update_branch(LOCAL, card.id, by_hand=True)
    assert (updated.is_clean, updated.files, updated.card.status) == (False, CONFLICTS, "in_progress")
    run = await run_of(bench, updated.card.run, "paused")
    place = bench.settings.workspaces / str(updated.card.run) / "repo"
    assert "<<<<<<<" in (place / "a.txt").read_text()
    (place / "a.txt").write_text("two and three\n")
    async with http_of(bench) as client:
        stop = {"stop": (await run.info()).stops[0]}
        assert (await client.post(f"/runs/{updated.card.run}/debug/continue", json=stop)).is_success
    resolved = await settled(bench, card.id)
    assert (resolved.status, resolved.conflict, resolved.reason) == ("in_review", None, None)
    (newest, *_) = (await bench.repos.commits(LOCAL, bench.repo, card.branch or "")).commits
    assert len(newest.parents) == 2
    await cards.approve(LOCAL, card.id)
    assert await approved_text(bench, "a.txt") == "two and three\n"


async def test_a_resolution_that_is_cancelled_or_leaves_markers_changes_nothing(bench: Workbench) -> None:
    await write(bench, ".pitstop/agents/lazy.yaml", profile("test -f ran || printf 'two\\n' > a.txt; touch ran"))
    await write(bench, "a.txt", "one\n")
    cards, card = cards_of(bench), await worked(bench, Work(agent="lazy"))
    await write(bench, "a.txt", "three\n")
    by_hand = await cards.update_branch(LOCAL, card.id, by_hand=True)
    await run_of(bench, by_hand.card.run, "paused")
    cancelled = await cards.cancel(LOCAL, card.id)
    assert (cancelled.status, cancelled.has_conflict) == ("in_review", True)

    await cards.update_branch(LOCAL, card.id)
    failed = await settled(bench, card.id)
    assert (failed.status, failed.head_sha, failed.has_conflict) == ("failed", card.head_sha, True)
    assert "conflict markers are left in a.txt" in (failed.reason or "")
    detail = await cards.attempt(LOCAL, card.id, 3)
    assert (detail.kind, detail.outcome, "- a.txt (text)" in detail.prompt) == ("update", "failed", True)


async def test_a_base_that_does_not_conflict_is_merged_at_once_and_judged(bench: Workbench) -> None:
    await write(bench, "a.txt", "one\n")
    cards, card = cards_of(bench), await reviewed(bench, "work.txt", "good\n")
    unchanged = await cards.update_branch(LOCAL, card.id)
    assert (unchanged.is_clean, unchanged.card.head_sha) == (True, card.head_sha)
    await write(bench, ".pitstop/flows/judge.yaml", JUDGE)
    updated = await cards.update_branch(LOCAL, card.id)
    assert (updated.is_clean, len(updated.card.judges)) == (True, 1)
    assert [file.path for file in (await cards.diff(LOCAL, card.id)).files] == ["work.txt"]
    assert (await settled(bench, card.id)).status == "done"
    script = await reviewed(bench, "a.txt", "mine\n")
    await write(bench, "a.txt", "theirs\n")
    with pytest.raises(BadCard, match="has no agent to resolve the conflicts: resolve them by hand"):
        await cards.update_branch(LOCAL, script.id)


# --- It has notes ----------------------------------------------------------------------------------------------------


async def test_a_note_is_on_a_line_that_exists_and_is_outdated_when_that_is_gone(bench: Workbench) -> None:
    await write(bench, "a.txt", "one\ntwo\n")
    await write(bench, "c.txt", "one\n")
    cards = cards_of(bench)
    early = await card_of(bench, Work())
    with pytest.raises(BadCard, match="has no commits to note something on yet"):
        await cards.note(LOCAL, early.id, NewNote(text="x", file="a.txt", line=1))
    card = await reviewed(bench, "a.txt", "zero\none\nthree")
    await write(bench, "b.bin", "b\0", card.branch or "")
    for refused, said, note in (
        (UnknownPath, "nope", NewNote(text="x", file="nope", line=1)),
        (UnknownPath, "passwd", NewNote(text="x", file="../../etc/passwd", line=1)),
        (BadCard, "has 3 lines at .*, so a note cannot be on line 4", NewNote(text="x", file="a.txt", line=4)),
        (BadCard, "cannot be on line 0", NewNote(text="x", file="a.txt", line=0)),
        (BadCard, "has 2 lines", NewNote(text="x", file="a.txt", line=3, side="old")),
        (BadCard, "b.bin is a binary file", NewNote(text="x", file="b.bin", line=1)),
        (UnknownRef, "1111", NewNote(text="x", file="a.txt", line=1, sha="1" * 40)),
    ):
        with pytest.raises(refused, match=said):
            await cards.note(LOCAL, card.id, note)
    for note in (
        NewNote(text="moves", file="a.txt", line=2),
        NewNote(text="vanishes", file="a.txt", line=3),
        NewNote(text="was there", file="a.txt", line=2, side="old"),
        NewNote(text="file goes", file="c.txt", line=1),
        NewNote(text="on all of it"),
    ):
        await cards.note(LOCAL, card.id, note)
    await write(bench, "a.txt", "minus\nzero\none\n", card.branch or "")
    await write(bench, "c.txt", None, card.branch or "")

    found = [(each.text, each.file_now, each.line_now, each.is_outdated) for each in await cards.notes(LOCAL, card.id)]
    assert found == [
        ("moves", "a.txt", 3, False),
        ("vanishes", None, None, True),
        ("was there", "a.txt", 2, False),
        ("file goes", None, None, True),
        ("on all of it", None, None, False),
    ]
    (first, *_) = await cards.notes(LOCAL, card.id)
    assert (await cards.get(LOCAL, card.id)).unresolved_notes == 5
    assert (await cards.resolve_note(LOCAL, card.id, first.id)).resolved
    assert (await cards.get(LOCAL, card.id)).unresolved_notes == 4
    assert not (await cards.resolve_note(LOCAL, card.id, first.id, resolved=False)).resolved
    await bench.push("--delete", card.branch or "")
    gone = await cards.notes(LOCAL, card.id)
    assert [each.is_outdated for each in gone] == [True, True, False, True, False]
