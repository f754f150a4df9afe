"""What the tests of cards share."""

import asyncio
import json
import sys
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx

from pitstop.errors import UnknownRun
from pitstop.platform.cards.card_values import CardRecord
from pitstop.platform.lives import CardStatus
from pitstop.platform.stored.all import Stored, stored_in
from pitstop.platform.stored.cards import new_card
from pitstop.service.caller import LOCAL
from pitstop.service.cards import CardInfo, CardMove, Cards, CardSummary, NewCard, Work
from pitstop.service.runs import ActiveRun
from pitstop.store.sql.store import open_sql_store
from tests.patience import wait_until
from tests.platform.workbench import Workbench

SCRIPTED = Path(__file__).parents[1] / "agents" / "scripted.py"
SCRIPT = Work(run="echo two > b.txt")
JUDGE = """\
on: {card_complete: {on_pass: merge, on_fail: fail}}
steps:
  - {id: test, run: grep -q good work.txt}
"""


def cards_of(bench: Workbench) -> Cards:
    assert bench.house.service.cards is not None
    return bench.house.service.cards


async def card_of(bench: Workbench, work: Work, title: str = "Do it", **more: Any) -> CardInfo:
    return await cards_of(bench).create(LOCAL, bench.repo, NewCard(title=title, work=work, **more))


async def summary_of(bench: Workbench, card: str) -> CardSummary:
    """The card as the board shows it, for which git is not asked."""
    board = await cards_of(bench).board(LOCAL, bench.repo)
    return next(each for column in board.columns for each in column.cards if each.id == card)


async def settled(bench: Workbench, card: str) -> CardInfo:
    """The card when nothing runs for it any more."""

    async def is_settled() -> bool:
        found = await summary_of(bench, card)
        return found.status != "in_progress" and not found.judges

    await wait_until(is_settled)
    return await cards_of(bench).get(LOCAL, card)


async def worked(bench: Workbench, work: Work = SCRIPT, title: str = "Do it", **more: Any) -> CardInfo:
    """A card whose work has been started and has ended."""
    return await settled(bench, (await card_of(bench, work, title, start=True, **more)).id)


async def write(bench: Workbench, path: str, text: str | None, branch: str = "main") -> str:
    """Commit a file on the server; the commit."""
    return (await bench.repos.write(LOCAL, bench.repo, branch, path, text)).sha


async def reviewed(bench: Workbench, path: str = "b.txt", text: str | None = "two\n", **more: Any) -> CardInfo:
    """A card in review whose work a person has done: this takes no run."""
    cards = cards_of(bench)
    card = await card_of(bench, Work(), **more)
    begun = await cards.move(LOCAL, card.id, CardMove(status="in_progress"))
    await write(bench, path, text, begun.branch or "")
    return await cards.move(LOCAL, card.id, CardMove(status="in_review"))


async def approved_text(bench: Workbench, path: str, branch: str = "main") -> str | None:
    return (await bench.repos.file(LOCAL, bench.repo, path, branch)).text


async def run_of(bench: Workbench, run: str | None, status: str) -> ActiveRun:
    """The run of a card once it has a status."""
    service = bench.house.service.runs

    async def found() -> ActiveRun | None:
        try:
            handle = await service.get(LOCAL, run or "")
        except UnknownRun:
            return None
        return handle if (await handle.info()).status == status else None

    waited: ActiveRun = await wait_until(found, f"run {run} does not get to be {status}")
    return waited


# --- Rows ------------------------------------------------------------------------------------------------------------


@asynccontextmanager
async def rows_of(bench: Workbench) -> AsyncIterator[Stored]:
    """The database of the server, opened once more."""
    store = await open_sql_store(bench.settings.database)
    try:
        yield stored_in(store.database, store.news)
    finally:
        await store.close()


async def card_row_in(stored: Stored, repo: str, status: CardStatus, work: Work = SCRIPT, **more: Any) -> CardRecord:
    """A card that has a status from its beginning, without a branch."""
    fields = {"title": "Do it", "work": work, "base": "main", "by": "ada", "created_at": 0.0, "updated_at": 0.0}
    place = {"status": status, "position": 0.0}
    return await stored.cards.add(repo, lambda number: new_card(number, repo, {**fields, **place, **more}))


# --- Agents ----------------------------------------------------------------------------------------------------------


def profile(script: str) -> str:
    """A profile of a repository whose agent is a shell script that gets the prompt on its stdin."""
    command = json.dumps(["sh", "-c", script])
    return f"extends: aider\ncommand: {command}\nstream: lines\nstdin: prompt\nsecrets: []\napi: null\n"


def scripted_profile(folder: Path, steps: Sequence[Mapping[str, Any]]) -> str:
    """A profile whose agent speaks as claude does, and acts out these steps."""
    script = folder / "script.json"
    script.write_text(json.dumps({"format": "claude", "steps": [*steps]}))
    command = json.dumps([sys.executable, "-S", "-E", str(SCRIPTED), "--script", str(script)])
    return f"extends: claude\ncommand: {command}\nsecrets: []\napi: null\nenv: {{}}\n"


# --- HTTP ------------------------------------------------------------------------------------------------------------


@asynccontextmanager
async def http_of(bench: Workbench, token: str | None = None) -> AsyncIterator[httpx.AsyncClient]:
    """A client of the API."""
    headers = {"Authorization": f"Bearer {token or bench.token}"}
    url = f"{bench.house.url}api/v1"
    async with httpx.AsyncClient(base_url=url, headers=headers, trust_env=False, timeout=60) as client:
        yield client


async def at_once(*asked: Any) -> list[Any]:
    """What each answers when all are asked at the same time; errors are answers."""
    return await asyncio.gather(*asked, return_exceptions=True)
