"""`pitstop cards`, as a user types it, and as it is printed."""

import json
from argparse import Namespace
from collections.abc import AsyncIterator, Sequence
from itertools import count
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from pitstop.doors.cli.cards.changing import preview_lines, read_work
from pitstop.doors.cli.cards.command import ACTIONS, split
from pitstop.doors.cli.cards.details import detail_lines, note_place, work_text
from pitstop.doors.cli.cards.lines import board_lines, conflict_lines, doing, next_lines
from pitstop.doors.cli.cards.options import action_parser
from pitstop.doors.cli.cards.patches import files_at, patch_text, stat_lines
from pitstop.doors.cli.cards.place import Place
from pitstop.doors.cli.cards.reviewing import expected, read_note, refused_lines
from pitstop.errors import CommandRefused, RefMoved, StaleCard
from pitstop.service.caller import LOCAL
from pitstop.service.cards import (
    AttemptInfo,
    CardChanges,
    CardInfo,
    CardPreview,
    Column,
    Conflict,
    ConflictFile,
    Diff,
    DiffRange,
    Live,
    NewCard,
    NewNote,
    NoteInfo,
    Patch,
    Work,
)
from pitstop.service.remote.opening import open_remote_service
from pitstop.service.repos import ChangedFile
from tests.doors.cli.command_line import CommandLine
from tests.platform.card_bench import approved_text, card_of, cards_of, settled
from tests.platform.warm_command import WarmCommand, warm_command
from tests.platform.workbench import Workbench

NUMBERS = count(1)
HEAD, BASE = "1a2b3c4d5e" * 4, "0f" * 20
PLACE = Place(server="http://127.0.0.1:7878", repo="shop", card="shop-3")
RESOLVER = """\
extends: aider
command: [sh, -c, 'if grep -q "<<<<" a.txt; then echo "mine and theirs" > a.txt; else echo mine > a.txt; fi']
stream: lines
stdin: prompt
secrets: []
api: null
"""
in_module_loop = pytest.mark.asyncio(loop_scope="module")


def card(**fields: Any) -> CardInfo:
    """A card in review, unless the fields say something else."""
    usual: dict[str, Any] = {
        "id": "shop-3", "repo": "shop", "number": 3, "title": "Fix the login", "status": "in_review", "position": 0.0,
        "work": "agent", "profile": "claude", "base": "main", "by": "ada", "created_at": 0.0, "updated_at": 0.0,
        "version": 1, "branch": "card/3-fix-the-login", "head_sha": HEAD, "base_sha": BASE, "attempt": 2,
        "run": "20260101-a", "description": "It fails.", "work_details": Work(agent="claude"),
    }  # fmt: skip
    return CardInfo(**{**usual, **fields})


def given(action: str, *words: str) -> Namespace:
    parser = action_parser(action, "")
    ACTIONS[action].add_options(parser)
    return parser.parse_intermixed_args(words)


# --- What is typed ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("words", "action", "rest"),
    [
        ([], "ls", []),
        (["shop"], "ls", ["shop"]),
        (["--json"], "ls", ["--json"]),
        (["shop", "--status", "failed"], "ls", ["shop", "--status", "failed"]),
        (["show", "shop-3"], "show", ["shop-3"]),
        (["shwo", "shop-3"], "shwo", []),
    ],
)
def test_an_action_that_is_omitted_is_to_list(words: Sequence[str], action: str, rest: Sequence[str]) -> None:
    assert split(words) == (action, rest)


def test_options_may_stand_between_the_words_of_an_action() -> None:
    added = given("add", "shop", "--agent", "claude", "Fix it", "--label", "ui")
    assert (added.repo, added.title, added.agent, added.labels) == ("shop", "Fix it", "claude", ["ui"])
    assert (given("add", "Fix it").repo, given("add", "Fix it").title) == (None, "Fix it")
    noted = given("note", "shop-3", "--at", "a.py:3", "Rename it")
    assert (noted.card, noted.text, noted.at) == ("shop-3", "Rename it", "a.py:3")
    assert given("start", "3", "--from", "2").start_from == 2
    assert given("move", "3", "in-review").status == "in_review"


@pytest.mark.parametrize(
    "words",
    [
        ("start", "3", "--from", "0"),
        ("start", "3", "--from", "tail"),
        ("add", "x", "--agent", "a", "--run", "b"),
        ("add", "x", "--agent", "a", "--cost", "nan"),
        ("diff", "3", "--attempt", "1", "--between", "1", "2"),
        ("move", "3", "nowhere"),
        ("approve",),
    ],
)
def test_what_no_action_takes_is_refused(words: Sequence[str]) -> None:
    with pytest.raises(SystemExit, match="2"):
        given(*words)


def test_the_work_is_read_from_the_options_that_belong_to_it() -> None:
    agent = read_work(given("add", "x", "--agent", "claude", "--prompt", "Hurry", "--model", "opus", "--cost", "2"))
    assert agent == Work(agent="claude", prompt="Hurry", model="opus", budget={"cost": 2.0})
    assert read_work(given("add", "x", "--run", "make", "--image", "gcc")) == Work(run="make", image="gcc")
    assert read_work(given("add", "x", "--flow", "ci", "-i", "who=Ada")) == Work(flow="ci", inputs={"who": "Ada"})
    assert read_work(given("add", "x")) == Work()
    with pytest.raises(CommandRefused, match="--model needs --agent"):
        read_work(given("add", "x", "--run", "make", "--model", "opus"))
    with pytest.raises(CommandRefused, match="-i needs --flow"):
        read_work(given("add", "x", "-i", "who=Ada"))


def test_a_note_is_read_with_its_place() -> None:
    assert read_note(given("note", "3", "Rename it")) == NewNote(text="Rename it")
    at_line = read_note(given("note", "3", "Why?", "--at", "src/a:b.py:12", "--old"))
    assert at_line == NewNote(text="Why?", file="src/a:b.py", line=12, side="old")
    for words in (("--at", "a.py"), ("--at", ":3"), ("--old",)):
        with pytest.raises(CommandRefused, match="FILE:LINE"):
            read_note(given("note", "3", "Why?", *words))
    with pytest.raises(CommandRefused, match="needs the TEXT"):
        read_note(given("note", "3"))


def test_what_is_merged_is_what_the_branch_has_or_what_the_user_names() -> None:
    assert expected(card(), None) == HEAD
    assert expected(card(), HEAD[:8].upper()) == HEAD
    with pytest.raises(RefMoved, match="look at the new commits"):
        expected(card(), "deadbeef")
    with pytest.raises(CommandRefused, match="at least 7 characters"):
        expected(card(), "1a2b")


# --- What is printed -------------------------------------------------------------------------------------------------


def test_the_board_has_a_line_for_each_card() -> None:
    running = card(
        id="shop-12",
        status="in_progress",
        title="Speed it up",
        run_status="running",
        live=Live(tool="Bash", about="pytest -q", calls=14, cost=0.421),
    )
    failed = card(status="failed", reason="the tests failed\nat test_a", profile=None, work="run")
    columns = [Column("todo", 0, ()), Column("in_progress", 1, (running,)), Column("failed", 40, (failed,))]
    assert [*board_lines(columns, PLACE, is_filtered=False)] == [
        "in progress (1)",
        "  shop-12  Speed it up    claude  running: Bash pytest -q, 14 calls, $0.42",
        "failed (40)",
        "  shop-3   Fix the login  run     the tests failed",
        "  and 39 more: pitstop cards ls shop --status failed",
    ]
    (empty,) = board_lines([Column("todo", 0, ())], PLACE, is_filtered=False)
    assert "create one with `pitstop cards add shop TITLE`" in empty
    assert [*board_lines([], PLACE, is_filtered=True)] == ["no cards match in shop"]


def test_what_happens_to_a_card_is_said() -> None:
    assert doing(card(status="in_progress", run_status="paused", live=Live(tool="Edit", calls=1))) == (
        "paused: Edit, 1 call"
    )
    assert doing(card(status="in_progress", run_status="pending")) == "pending"
    assert doing(card(has_conflict=True, reason="nothing changed", judges=("r1", "r2"))) == (
        "conflicts with main; nothing changed; judged by r1, r2"
    )
    assert doing(card()) == ""


def test_the_next_commands_are_those_that_are_possible() -> None:
    assert next_lines(card(status="todo", branch=None), PLACE) == ["  pitstop cards start shop-3  start the work"]
    assert next_lines(card(unresolved_notes=2), PLACE) == [
        "  pitstop cards diff shop-3     look at the changes",
        "  pitstop cards approve shop-3  merge it into main",
        "  pitstop cards reject shop-3   move it to todo",
        "  pitstop cards retry shop-3    do the work again, with 2 unresolved notes",
    ]
    failed = next_lines(card(status="failed"), PLACE)
    assert failed[-1].split("  ")[1] == "pitstop debug 20260101-a --server http://127.0.0.1:7878"
    by_hand = card(status="todo", work="none", moves=("in_progress", "todo"))
    assert next_lines(by_hand, PLACE) == ["  pitstop cards move shop-3 in_progress  move it to in progress"]


def test_a_conflict_names_the_files_and_the_ways_out() -> None:
    files = (ConflictFile("a.py", "text"), ConflictFile("docs/b.md", "deleted"))
    conflict = Conflict(base_sha=BASE, head_sha=HEAD, files=files)
    said = [*refused_lines(card(conflict=conflict, has_conflict=True), PLACE)]
    assert said[:3] == [
        "cannot merge shop-3 at 1a2b3c4d5e into main:",
        "  a.py       both change the same lines",
        "  docs/b.md  one deletes it, and the other changes it",
    ]
    ways = [line.split("  ")[1] for line in said[4:]]
    assert ways == [f"pitstop cards {way}" for way in ("update shop-3", "update shop-3 --by-hand", "reject shop-3")]
    given_server = Place(server="http://x:1", repo="shop", card="shop-3", is_given=True)
    assert "pitstop cards reject shop-3 --server http://x:1" in "\n".join(refused_lines(card(), given_server))
    assert conflict_lines({"a": "something new"}) == ["  a  something new"]


def test_a_card_is_shown_with_its_attempts_and_notes() -> None:
    attempt = AttemptInfo(
        card="shop-3", number=2, kind="work", run="20260101-a", from_sha=BASE, by="ada", started_at=0.0,
        profile="claude", to_sha=HEAD, outcome="passed", live=Live(calls=3, tokens=1200),
    )  # fmt: skip
    note = note_at(file="a.py", line=3, file_now="a.py", line_now=5)
    said = "\n".join(detail_lines(card(unresolved_notes=1, test="pytest -q"), [attempt], [note], PLACE))
    for line in (
        "shop-3: Fix the login",
        "  status    in review",
        "  branch    card/3-fix-the-login at 1a2b3c4d5e, from main at 0f0f0f0f0f",
        "  test      pytest -q",
        "attempts",
        "claude  commit 1a2b3c4d5e  3 calls, 1,200 tokens  run 20260101-a",
        "notes (1 unresolved)",
        "  a.py:5",
        "     Rename it",
        "next",
    ):
        assert line in said
    assert "labels" not in said
    assert "none yet; it will start from main" in "\n".join(detail_lines(card(branch=None), [], [], PLACE))


def note_at(**fields: Any) -> NoteInfo:
    usual: dict[str, Any] = {"id": 1, "card": "shop-3", "kind": "review", "text": "Rename it", "who": "ada", "at": 0.0}
    return NoteInfo(**{**usual, **fields})


def test_the_place_of_a_note_is_where_its_line_is_now() -> None:
    assert note_place(note_at(file="a.py", line=3, file_now="b.py", line_now=5)) == "b.py:5"
    assert note_place(note_at(file="a.py", line=3, is_outdated=True)) == "a.py:3 (outdated)"
    assert note_place(note_at(file="a.py", line=3, side="old")) == "a.py:3 (old)"
    assert note_place(note_at()) == ""


def test_work_and_previews_are_said_in_words() -> None:
    assert (
        work_text(Work(agent="claude", model="opus", budget={"cost": 2})) == "agent claude; model opus; limits cost 2"
    )
    assert work_text(Work(run="make\nmake test", image="gcc")) == "script: make; image gcc"
    assert work_text(Work(flow="ci", inputs={"who": "Ada"})) == "flow ci; who=Ada"
    assert work_text(Work()).startswith("by hand")
    preview = CardPreview(text="steps: []\n", prompt="Fix it", test="pytest")
    assert [*preview_lines(preview)] == ["prompt", "  Fix it", "flow", "  steps: []", "test", "  pytest"]
    assert "nothing would run" in "\n".join(preview_lines(CardPreview(text="", prompt="")))


def changed(path: str, old_path: str | None = None, added: int | None = 2) -> ChangedFile:
    status = "renamed" if old_path else "modified"
    return ChangedFile(path=path, old_path=old_path, status=status, added=added, removed=added and 1)  # type: ignore[arg-type]


def test_a_diff_can_be_of_a_file_or_a_folder() -> None:
    diff = Diff(BASE, HEAD, (changed("src/a.py"), changed("src/c.py", "b.py"), changed("x.png", added=None)), False)
    assert [file.path for file in files_at(diff, "src/", "shop-3")] == ["src/a.py", "src/c.py"]
    assert [file.path for file in files_at(diff, "./b.py", "shop-3")] == ["src/c.py"]
    with pytest.raises(CommandRefused, match=r"does not change 'sr' there, but src/a\.py, src/c\.py, x\.png"):
        files_at(diff, "sr", "shop-3")
    assert [*stat_lines(diff.files)] == [
        "modified      src/a.py          +2 -1",
        "renamed       b.py -> src/c.py  +2 -1",
        "modified      x.png             binary",
        "3 files, +4 -2",
    ]


def test_only_a_terminal_gets_colors_and_never_the_escape_sequences_of_a_file() -> None:
    text = "diff --git a/a b/a\n--- a/a\n+++ b/a\n@@ -1 +1,2 @@\n same\n--- old\n+new\x1b[2J\n"
    patch = Patch(changed("a"), text, False, False)
    assert patch_text(patch, colored=False) == text
    assert patch_text(patch, colored=True) == (
        "\x1b[1mdiff --git a/a b/a\x1b[0m\n\x1b[1m--- a/a\x1b[0m\n\x1b[1m+++ b/a\x1b[0m\n\x1b[36m@@ -1 +1,2 @@\x1b[0m\n"
        " same\n\x1b[31m--- old\x1b[0m\n\x1b[32m+new\x1b[0m\n"
    )


def test_help_lists_the_actions_and_a_shell_offers_them_and_their_options(cli: CommandLine) -> None:
    said = cli.run("cards", "--help").out
    assert [action.usage for action in ACTIONS.values() if f"    pitstop cards {action.usage}" not in said] == []
    assert cli.run("complete", "cards", "").lines == [*ACTIONS]
    assert cli.run("complete", "cards", "approve", "--m").lines == ["--method", "--message"]
    wrong = cli.run("cards", "shwo", "shop-3")
    assert (wrong.code, "invalid choice: 'shwo'" in wrong.err) == (2, True)


# --- With a server ---------------------------------------------------------------------------------------------------


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def server(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Workbench]:
    async with Workbench(tmp_path_factory.mktemp("server")).serving() as server:
        yield server


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def command(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[WarmCommand]:
    async with warm_command(tmp_path_factory.mktemp("command")) as command:
        yield command


@pytest_asyncio.fixture(loop_scope="module")
async def bench(server: Workbench, command: WarmCommand, tmp_path: Path) -> Workbench:
    """A repository with one file, and a clone of it whose remote `pitstop` names it."""
    bench = server.sharing(tmp_path, f"shop-{next(NUMBERS)}", command)
    await bench.create()
    await bench.git("remote", "add", "pitstop", bench.url())
    await bench.commit({"a.txt": "one\n"})
    await bench.push()
    return bench


@in_module_loop
async def test_a_card_is_created_started_reviewed_and_merged(bench: Workbench) -> None:
    name = f"{bench.repo}-1"
    said = await bench.pitstop("cards", "add", "Add b", "--run", "echo two > b.txt", "--label", "ui")
    assert f"created {name}: Add b" in said
    assert f"pitstop cards start {name}" in said
    said = await bench.pitstop("cards", "start", "1", "--follow")
    assert f"{name}: attempt 1 on card/1-add-b is run" in said
    assert "--follow --server http://127.0.0.1" in said
    assert f"{name} is in review at" in said

    assert f"  {name}  Add b  run" in await bench.pitstop("cards")
    assert "no cards match" in await bench.pitstop("cards", "--status", "failed")
    assert name in await bench.pitstop(
        "cards", "ls", bench.repo, "--label", "ui", "--search", "Add", at=bench.clone.parent
    )
    shown = await bench.pitstop("cards", "show", "1")
    assert "1  passed" in shown
    assert f"pitstop cards approve {name}" in shown

    assert "+two" in await bench.pitstop("cards", "diff", "1")
    assert "added         b.txt  +1 -0" in await bench.pitstop("cards", "diff", "1", "--stat", "--attempt", "1")
    assert await bench.pitstop("cards", "diff", "1", "--between", "1", "1") == f"pitstop: no changes in {name}"
    assert "does not change 'c.txt'" in await bench.pitstop("cards", "diff", "1", "c.txt", expect=2)

    said = await bench.pitstop("cards", "approve", "1", "--method", "squash", "--message", "Add b for real")
    assert f"merged {name} at" in said
    assert f"pitstop land {bench.repo} main" in said
    assert await approved_text(bench, "b.txt") == "two\n"
    assert f"done (1)\n  {name}" in await bench.pitstop("cards", bench.repo)


@in_module_loop
async def test_a_run_that_fails_ends_the_command_with_1_and_can_be_retried(bench: Workbench) -> None:
    script = "test -e new.txt || { touch new.txt; exit 3; }"
    said = await bench.pitstop("cards", "add", bench.repo, "Try", "--run", script, "--start")
    assert "attempt 1 on card/1-try" in said
    await settled(bench, f"{bench.repo}-1")
    said = await bench.pitstop("cards", "start", "1", "--from", "base", "--follow", expect=1)
    assert f"{bench.repo}-1 failed:" in said
    assert "pitstop debug" in said
    said = await bench.pitstop("cards", "retry", "1", "--follow", expect=1)
    assert "attempt 3" in said
    assert "failed (1)" in await bench.pitstop("cards")


@in_module_loop
async def test_a_conflict_ends_approve_with_1_and_is_resolved_by_the_agent(bench: Workbench) -> None:
    await bench.commit({".pitstop/agents/resolver.yaml": RESOLVER})
    name = await conflicting_card(bench, Work(agent="resolver"))
    said = await bench.pitstop("cards", "approve", "1", expect=1)
    assert "a.txt  both change the same lines" in said
    for way in (f"update {name}  ", f"update {name} --by-hand", f"reject {name}"):
        assert f"pitstop cards {way}" in said
    assert "conflicts with main" in await bench.pitstop("cards")

    said = await bench.pitstop("cards", "update", "1")
    assert "a.txt  both change the same lines" in said
    assert "attempt 2 on card/1-do-it is run" in said
    await settled(bench, name)
    assert "2  passed" in await bench.pitstop("cards", "show", "1")
    assert f"merged {name}" in await bench.pitstop("cards", "approve", "1")
    assert await approved_text(bench, "a.txt") == "mine and theirs\n"


@in_module_loop
async def test_a_conflict_is_resolved_by_hand_where_there_is_no_agent(bench: Workbench) -> None:
    name = await conflicting_card(bench, Work(run="echo mine > a.txt"))
    said = await bench.pitstop("cards", "approve", "1", expect=1)
    assert f"pitstop cards update {name}  " not in said
    assert f"pitstop cards update {name} --by-hand" in said
    assert "has no agent to resolve the conflicts" in await bench.pitstop("cards", "update", "1", expect=1)
    said = await bench.pitstop("cards", "update", "1", "--by-hand")
    assert "resolve them in the workspace of run" in said
    assert "in progress" in await bench.pitstop("cards", "show", "1")
    assert f"cancelled {name}: it is in review" in await bench.pitstop("cards", "cancel", "1")


async def conflicting_card(bench: Workbench, work: Work) -> str:
    """A card in review whose change conflicts with the base."""
    await bench.commit()
    await bench.push()
    made = await card_of(bench, work, start=True)
    await settled(bench, made.id)
    await bench.commit({"a.txt": "theirs\n"})
    await bench.push()
    return made.id


@in_module_loop
async def test_a_branch_is_updated_and_a_card_rejected_with_a_reason(bench: Workbench) -> None:
    made = await card_of(bench, Work(run="echo mine > mine.txt"), start=True)
    await settled(bench, made.id)
    await bench.commit({"b.txt": "theirs\n"})
    await bench.push()
    assert f"merged main into {made.branch}" in await bench.pitstop("cards", "update", "1")
    assert "is at" in await bench.pitstop("cards", "approve", "1", "--expect", "deadbeef", expect=2)
    assert "its branch is kept" in await bench.pitstop("cards", "reject", "1", "--reason", "Not now")
    assert "Not now" in await bench.pitstop("cards", "show", "1")
    assert "its runs are kept" in await bench.pitstop("cards", "rm", "1", "--delete-branch")
    assert "no card" in await bench.pitstop("cards", "show", "1", expect=1)


@in_module_loop
async def test_notes_are_added_to_lines_and_resolved(bench: Workbench) -> None:
    made = await card_of(bench, Work(run="echo two > b.txt"), start=True)
    await settled(bench, made.id)
    assert "at b.txt:1" in await bench.pitstop("cards", "note", "1", "Why two?", "--at", "b.txt:1")
    assert "Why two?" in await bench.pitstop("cards", "show", "1")
    (added,) = await cards_of(bench).notes(LOCAL, made.id)
    assert "Why two?" in await bench.pitstop("cards", "note", "1", "--resolve", str(added.id))
    assert "resolved" in await bench.pitstop("cards", "show", "1")
    assert "either TEXT or --resolve" in await bench.pitstop("cards", "note", "1", "x", "--resolve", "1", expect=2)


@in_module_loop
async def test_what_would_run_is_printed_without_a_card(bench: Workbench) -> None:
    said = await bench.pitstop("cards", "add", "Fix it", "--agent", "claude", "--description", "It fails.", "--preview")
    assert "prompt" in said
    assert "It fails." in said
    assert "agent: claude" in said
    assert "no cards in" in await bench.pitstop("cards")


@in_module_loop
async def test_programs_get_json_with_a_line_for_each_card(bench: Workbench) -> None:
    for title in ("A", "B"):
        await card_of(bench, Work(), title)
    lines = (await bench.pitstop("cards", "--json")).splitlines()
    assert sorted(json.loads(line)["title"] for line in lines) == ["A", "B"]
    shown = json.loads(await bench.pitstop("cards", "show", "2", "--json"))
    assert (shown["title"], shown["attempts"], shown["notes"]) == ("B", [], [])
    moved = json.loads(await bench.pitstop("cards", "move", "2", "in-progress", "--json"))
    assert moved["status"] == "in_progress"


@in_module_loop
async def test_what_is_not_possible_is_refused_with_the_way_out(bench: Workbench) -> None:
    made = await card_of(bench, Work(run="true"))
    for words, code, message in (
        (("show", "77"), 1, f"{bench.repo}-77"),
        (("show", "login"), 2, "use its ID, such as shop-3"),
        (("retry", "1"), 2, f"pitstop cards start {made.id}"),
        (("approve", "1"), 2, "start it first"),
        (("cancel", "1"), 2, "not in progress"),
        (("note", "1"), 2, "needs the TEXT"),
        (("add", "x", "--prompt", "y"), 2, "--prompt needs --agent"),
        (("start", "1", "--from", "7"), 1, "7"),
    ):
        assert message in await bench.pitstop("cards", *words, expect=code)
    outside = bench.clone.parent
    assert "has no remote `pitstop`" in await bench.pitstop("cards", at=outside, expect=2)
    assert "use its ID, such as shop-1" in await bench.pitstop("cards", "show", "1", at=outside, expect=2)
    assert made.title in await bench.pitstop("cards", "show", made.id, at=outside)


@in_module_loop
async def test_the_desk_of_a_client_says_what_that_of_the_server_says(bench: Workbench) -> None:
    local = cards_of(bench)
    async with open_remote_service(bench.house.url, bench.token) as service:
        assert service.cards is not None
        remote = service.cards
        made = await remote.create(LOCAL, bench.repo, NewCard(title="A", work=Work(run="echo 1 > b.txt"), start=True))
        await settled(bench, made.id)
        whole, part = DiffRange(), DiffRange(attempt=1)
        assert await remote.get(LOCAL, made.id) == await local.get(LOCAL, made.id)
        assert await remote.board(LOCAL, bench.repo) == await local.board(LOCAL, bench.repo)
        column = await remote.column(LOCAL, bench.repo, "in_review", limit=1)
        assert column == await local.column(LOCAL, bench.repo, "in_review", limit=1)
        assert await remote.attempts(LOCAL, made.id) == await local.attempts(LOCAL, made.id)
        assert await remote.attempt(LOCAL, made.id, 1) == await local.attempt(LOCAL, made.id, 1)
        assert await remote.diff(LOCAL, made.id, part) == await local.diff(LOCAL, made.id, part)
        assert await remote.patch(LOCAL, made.id, "b.txt") == await local.patch(LOCAL, made.id, "b.txt", whole)
        await remote.note(LOCAL, made.id, NewNote(text="Hm", file="b.txt", line=1))
        assert await remote.notes(LOCAL, made.id) == await local.notes(LOCAL, made.id)

        seen = (await remote.get(LOCAL, made.id)).version
        renamed = await remote.update(LOCAL, made.id, CardChanges(title="B"), seen)
        assert renamed.title == "B"
        with pytest.raises(StaleCard) as stale:
            await remote.update(LOCAL, made.id, CardChanges(title="C"), seen)
        assert stale.value.version == renamed.version
