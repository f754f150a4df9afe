"""What a card cannot be, what it cannot do, and text of users that stays text."""

from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import asdict

from pitstop.errors import (
    BadCard,
    CommandRefused,
    GitProblem,
    NotPermitted,
    RepoNotReady,
    StaleCard,
    Unknown,
    UnknownCard,
    UnknownRef,
    UnknownRepo,
)
from pitstop.platform.cards import limits, notes, starting
from pitstop.platform.stored import cards as stored_cards
from pitstop.service.caller import LOCAL, Caller
from pitstop.service.cards import (
    Approval,
    BoardFilter,
    CardChanges,
    CardMove,
    DiffRange,
    NewCard,
    NewNote,
    Rejection,
    StartCard,
    Work,
)
from pitstop.service.repos import NewRepo
from tests.platform.card_bench import (
    SCRIPT,
    at_once,
    card_of,
    card_row_in,
    cards_of,
    http_of,
    profile,
    rows_of,
    worked,
    write,
)
from tests.platform.workbench import Workbench

VIEWER = Caller("guest", "viewer")
LONG = "x" * (limits.LONGEST_TEXT + 1)
BAD: tuple[tuple[dict[str, Any], str], ...] = (
    ({"title": ""}, "one line of printable characters"),
    ({"title": " \t "}, "one line of printable characters"),
    ({"title": "one\ntwo"}, "one line of printable characters"),
    ({"title": "a\0b"}, "one line of printable characters"),
    ({"title": "\x1b[31mred"}, "one line of printable characters"),
    ({"title": "abc\u202etxt.exe"}, "one line of printable characters"),
    ({"title": "t" * 10_000}, "the title has 10,000 characters, but at most 200 are allowed"),
    ({"description": LONG}, "the description has 100,001 characters, but at most 100,000 are allowed"),
    ({"labels": tuple(map(str, range(limits.MOST_LABELS + 1)))}, "21 labels are too many: use at most 20"),
    ({"labels": ("",)}, "a label has 1 to 50 printable characters"),
    ({"labels": ("x" * 51,)}, "a label has 1 to 50 printable characters"),
    ({"labels": ("a\nb",)}, "a label has 1 to 50 printable characters"),
    ({"base": "a..b"}, "git accepts no branch with that name"),
    ({"base": "--upload-pack=evil"}, "git accepts no branch with that name"),
    ({"work": Work(agent="claude", run="true")}, "the work has agent and run: use one of agent, run and flow"),
    ({"work": Work(agent="claude", flow="ci")}, "the work has agent and flow"),
    ({"work": Work(run=" \n")}, "the script is empty"),
    ({"work": Work(run=LONG)}, "the script has 100,001 characters"),
    ({"work": Work(agent="claude", prompt=LONG)}, "the prompt has 100,001 characters"),
    ({"work": Work(run="true", prompt="Do it")}, "`prompt` is only for an agent"),
    ({"work": Work(flow="ci", model="large")}, "`model` is only for an agent"),
    ({"work": Work(run="true", inputs={"a": 1})}, "`inputs` are only for a flow"),
    ({"work": Work(flow="ci", image="alpine")}, "`image` is only for an agent or a script"),
)


async def test_a_card_that_cannot_be_is_refused_by_the_desk_and_over_http(bench: Workbench) -> None:
    card = await card_of(bench, SCRIPT)
    async with http_of(bench) as client:
        for fields, said in BAD:
            for refused in (
                cards_of(bench).create(LOCAL, bench.repo, NewCard(**{"title": "Do it", **fields})),
                cards_of(bench).preview(LOCAL, bench.repo, NewCard(**{"title": "Do it", **fields})),
                cards_of(bench).update(LOCAL, card.id, CardChanges(**fields)),
            ):
                with pytest.raises(BadCard, match=said.replace("`", ".")):
                    await refused
            body = fields | ({"work": _form(fields["work"])} if "work" in fields else {})
            created = await client.post(f"/repos/{bench.repo}/cards", json={"title": "Do it", **body})
            changed = await client.patch(f"/cards/{card.id}", json=body)
            assert (created.status_code, changed.status_code) == (422, 422), (fields, created.text)
        too_long = await client.post(f"/repos/{bench.repo}/cards", json={"title": "t" * 10_000})
        assert "200" in too_long.json()["detail"]
    board = await cards_of(bench).board(LOCAL, bench.repo)
    assert [column.count for column in board.columns] == [1, 0, 0, 0, 0]
    assert await cards_of(bench).get(LOCAL, card.id) == card


def _form(work: Work) -> dict[str, Any]:
    return {name: value for name, value in asdict(work).items() if value}


async def test_a_card_that_cannot_be_started_is_not_created_and_says_why(bench: Workbench) -> None:
    cards = cards_of(bench)
    with pytest.raises(UnknownRef, match="main"):  # nothing was pushed yet
        await card_of(bench, SCRIPT, start=True)
    planned = await card_of(bench, SCRIPT)
    with pytest.raises(UnknownRef, match="main"):
        await cards.start(LOCAL, planned.id)
    await write(bench, "a.txt", "one\n")
    await write(bench, ".pitstop/agents/broken.yaml", "extends: nobody\n")
    for said, work in (
        ("no agent profile 'claud': did you mean 'claude'", Work(agent="claud")),
        ("no agent profile 'nobody'", Work(agent="broken")),
        ("no agent profile '../a'", Work(agent="../a")),
        ("has no flow 'nope'", Work(flow="nope")),
        ("has no flow '../../a'", Work(flow="../../a")),
        ("has no agent, script or flow", Work()),
    ):
        with pytest.raises(BadCard, match=said):
            await card_of(bench, work, start=True)
        waiting = await card_of(bench, work)
        with pytest.raises(BadCard, match=said):
            await cards.start(LOCAL, waiting.id)
        await cards.delete(LOCAL, waiting.id)
    with pytest.raises(UnknownRef, match="release"):
        await card_of(bench, SCRIPT, base="release", start=True)
    await bench.plain_git("branch", "release", "main", at=bench.bare)
    based = await card_of(bench, SCRIPT, base="release")
    await bench.plain_git("branch", "-D", "release", at=bench.bare)
    with pytest.raises(UnknownRef, match="release"):
        await cards.start(LOCAL, based.id)
    await cards.delete(LOCAL, based.id)
    with pytest.raises(BadCard, match="the work has agent and run"):
        await cards.start(LOCAL, planned.id, StartCard(profile="claude"))
    with pytest.raises(Unknown, match="attempt '7 of card"):
        await cards.start(LOCAL, planned.id, StartCard(start_from=7))
    (todo, *others) = (await cards.board(LOCAL, bench.repo)).columns
    assert ([each.id for each in todo.cards], [column.count for column in others]) == ([planned.id], [0] * 4)
    assert [branch.name for branch in (await bench.repos.branches(LOCAL, bench.repo)).branches] == ["main"]


async def test_what_is_not_there_is_said_by_every_question(bench: Workbench) -> None:
    cards, card = cards_of(bench), f"{bench.repo}-99"
    for question in (
        cards.get(LOCAL, card),
        cards.update(LOCAL, card, CardChanges(title="x")),
        cards.move(LOCAL, card, CardMove(status="todo")),
        cards.delete(LOCAL, card),
        cards.start(LOCAL, card),
        cards.cancel(LOCAL, card),
        cards.approve(LOCAL, card),
        cards.update_branch(LOCAL, card),
        cards.reject(LOCAL, card, Rejection()),
        cards.notes(LOCAL, card),
        cards.note(LOCAL, card, NewNote(text="x")),
        cards.resolve_note(LOCAL, card, 1),
        cards.attempts(LOCAL, card),
        cards.diff(LOCAL, card),
        cards.patch(LOCAL, card, "a.txt"),
        cards.move(LOCAL, (await card_of(bench, SCRIPT)).id, CardMove(status="todo", after=card)),
    ):
        with pytest.raises(UnknownCard, match=card):
            await question
    for about_repo in (cards.board(LOCAL, "nope"), cards.create(LOCAL, "nope", NewCard(title="x"))):
        with pytest.raises(UnknownRepo):
            await about_repo
    there = (await card_of(bench, SCRIPT)).id
    for about_parts in (
        cards.attempt(LOCAL, there, 1),
        cards.resolve_note(LOCAL, there, 1),
        cards.diff(LOCAL, there, DiffRange(attempt=1)),
        cards.diff(LOCAL, there, DiffRange(from_attempt=0, to_attempt=3)),
    ):
        with pytest.raises((Unknown, BadCard)):
            await about_parts
    with pytest.raises(NotPermitted):
        await cards.create(VIEWER, bench.repo, NewCard(title="x"))


async def test_a_repository_that_is_not_ready_gets_and_starts_no_card(bench: Workbench) -> None:
    name = f"{bench.repo}-broken"
    obstacle = bench.settings.repos / f"{name}.git"
    obstacle.write_text("")
    with pytest.raises(GitProblem):
        await bench.repos.create(LOCAL, NewRepo(name=name))
    obstacle.unlink()
    for request in (NewCard(title="Do it", work=SCRIPT), NewCard(title="Do it", work=SCRIPT, start=True)):
        with pytest.raises(RepoNotReady, match="its state is failed: git init failed"):
            await cards_of(bench).create(LOCAL, name, request)
    assert [column.count for column in (await cards_of(bench).board(LOCAL, name)).columns] == [0] * 5
    async with rows_of(bench) as stored:
        card = await card_row_in(stored, name, "todo")
    with pytest.raises(RepoNotReady):
        await cards_of(bench).start(LOCAL, card.id)
    await bench.repos.delete(LOCAL, name)
    with pytest.raises(UnknownCard):
        await cards_of(bench).get(LOCAL, card.id)


async def test_of_two_people_who_change_a_card_the_second_is_told_that_it_has_changed(bench: Workbench) -> None:
    cards = cards_of(bench)
    card = await card_of(bench, SCRIPT)
    changed = await cards.update(LOCAL, card.id, CardChanges(title="First"), version=card.version)
    for late in (
        cards.update(LOCAL, card.id, CardChanges(title="Second"), version=card.version),
        cards.move(LOCAL, card.id, CardMove(status="todo"), version=card.version),
        cards.start(LOCAL, card.id, version=card.version),
        cards.approve(LOCAL, card.id, version=card.version),
        cards.reject(LOCAL, card.id, Rejection(), version=card.version),
    ):
        with pytest.raises(StaleCard, match="has changed since you read it") as stale:
            await late
        assert stale.value.version == changed.version
    async with http_of(bench) as client:
        old, new = ({"If-Match": f'"{version}"'} for version in (card.version, changed.version))
        late_move = await client.post(f"/cards/{card.id}/move", json={"status": "todo"}, headers=old)
        moved = await client.post(f"/cards/{card.id}/move", json={"status": "todo"}, headers=new)
        for nothing in ('"x"', "*x", '"99999999999999999999"'):
            refused = await client.patch(f"/cards/{card.id}", json={"title": "x"}, headers={"If-Match": nothing})
            assert refused.status_code == 412
    assert (late_move.status_code, late_move.json()["etag"], late_move.json()["code"]) == (
        412,
        new["If-Match"],
        "request.changed.card",
    )
    assert (moved.status_code, moved.headers["etag"]) == (200, f'"{changed.version + 1}"')
    both = await at_once(
        *(cards.update(LOCAL, card.id, CardChanges(title=who), version=changed.version + 1) for who in ("Ada", "Bob"))
    )
    assert sorted(type(each).__name__ for each in both) == ["CardInfo", "StaleCard"]


async def test_the_text_of_a_card_reaches_the_agent_as_it_is_and_is_never_evaluated(
    bench: Workbench, tmp_path: Path
) -> None:
    trap = tmp_path / "trapped"
    evaluated = "${{ .secrets.KEY }} ${{ 1 + 1 }}"
    nasty = f"$(touch {trap}) `touch {trap}` '\"\\ {evaluated} %s <b>&amp; \u05e9\u05dc\u05d5\u05dd \U0001f680"
    title = f"A {nasty}"[:200].strip()
    description = f"D {nasty}\n\n---\nrun: [1]\n\u202ebackwards \x1b[31m \0 end"
    await write(bench, ".pitstop/agents/writer.yaml", profile("cat > prompt.txt"))
    work = Work(agent="writer", prompt=f"P {nasty}")
    card = await worked(bench, work, title, description=description, labels=(f"L{nasty}"[:50],))
    assert (card.status, card.reason) == ("in_review", None)

    prompt = await bench.plain_git("show", f"{card.branch}:prompt.txt", at=bench.bare)
    assert prompt.startswith(f"{title}\n\n{description}\n\nP {nasty}")
    folder = "-".join(str(trap).lower().replace("_", "-").strip("/").split("/"))
    assert card.branch == f"card/1-a-touch-{folder}"[:47].rstrip("-")
    await cards_of(bench).approve(LOCAL, card.id, Approval(message=f"M {nasty} \0\n\nCard: {card.id}"))
    (merged, *_) = (await bench.repos.commits(LOCAL, bench.repo, "main")).commits
    assert merged.subject == f"M {nasty}"
    (worked_commit,) = (await bench.repos.commits(LOCAL, bench.repo, card.branch or "")).commits[:1]
    assert worked_commit.subject == title
    assert not trap.exists()


async def test_the_branch_of_a_card_has_a_plain_name_whatever_its_title_is(bench: Workbench) -> None:
    await write(bench, "a.txt", "one\n")
    for number, (title, slug) in enumerate(
        (
            ("../../x..lock", "-x-lock"),
            ("--force @{-1} ~^:?*[", "-force-1"),
            ("\u05e9\u05dc\u05d5\u05dd \U0001f680", ""),
            ("Gr\u00fc\u00dfe, Welt!", "-gr-e-welt"),
            ("word " * 40, "-word-word-word-word-word-word-word-word"),
        ),
        start=1,
    ):
        card = await card_of(bench, Work(), title)
        assert (await cards_of(bench).move(LOCAL, card.id, CardMove(status="in_progress"))).branch == (
            f"card/{number}{slug}"
        )


async def test_filters_find_exactly_the_cards_that_have_the_label_agent_or_text(bench: Workbench) -> None:
    labels = ("a", "a,b", "100%", "100", "a_b", "axb", "A", "a b", "\u05e9")
    async with rows_of(bench) as stored:
        for label in labels:
            await card_row_in(stored, bench.repo, "todo", title=f"Fix {label}", labels=("common", label))
        await card_row_in(stored, bench.repo, "done", Work(agent="a"), title="Other", description="50% of_it")

    async def found(**filter: str) -> list[str]:
        board = await cards_of(bench).board(LOCAL, bench.repo, BoardFilter(**filter))
        assert sum(column.count for column in board.columns) == sum(len(column.cards) for column in board.columns)
        return [card.title for column in board.columns for card in column.cards]

    for label in labels:
        assert await found(label=label) == [f"Fix {label}"]
    assert len(await found(label="common")) == len(labels)
    assert await found(label="b") == await found(label="%") == await found(label="_") == []
    assert await found(search="0%") == ["Fix 100%", "Other"]
    assert await found(search="A_B") == ["Fix a_b"]
    assert await found(search="F_IT") == await found(profile="a") == ["Other"]
    board = await cards_of(bench).board(LOCAL, bench.repo)
    assert (board.labels, board.profiles) == (tuple(sorted({*labels, "common"})), ("a",))


async def test_what_an_operator_can_make_many_of_has_a_limit(bench: Workbench, monkeypatch: pytest.MonkeyPatch) -> None:
    await write(bench, "a.txt", "one\n")
    cards = cards_of(bench)
    card = await card_of(bench, Work(), labels=tuple(map(str, range(limits.MOST_LABELS))))
    for text, said in ((" ", "the note is empty"), (LONG, "the note has 100,001 characters, but at most 100,000")):
        with pytest.raises(BadCard, match=said):
            await cards.note(LOCAL, card.id, NewNote(text=text))
    await cards.note(LOCAL, card.id, NewNote(text="x" * limits.LONGEST_TEXT))
    monkeypatch.setattr(notes, "MOST_NOTES", 1)
    with pytest.raises(BadCard, match="has 1 notes, which is the limit"):
        await cards.note(LOCAL, card.id, NewNote(text="one more"))
    monkeypatch.setattr(starting, "LONGEST_PROMPT", 1_000)
    await cards.update(LOCAL, card.id, CardChanges(work=Work(agent="claude")))
    with pytest.raises(BadCard, match="at most 1,000 are allowed: resolve some notes"):
        await cards.start(LOCAL, card.id)
    monkeypatch.setattr(starting, "MOST_ATTEMPTS", 0)
    await cards.update(LOCAL, card.id, CardChanges(work=SCRIPT))
    with pytest.raises(BadCard, match="has had 0 attempts, which is the limit: create another card"):
        await cards.start(LOCAL, card.id)
    monkeypatch.setattr(stored_cards, "MOST_CARDS", 1)
    with pytest.raises(CommandRefused, match="has 1 cards, which is the limit: delete some"):
        await card_of(bench, SCRIPT)
