"""What the parts of the cards of a server share: the rows, the repositories, and one change of a card at a time."""

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from typing import Any
from weakref import WeakValueDictionary

from msgspec.structs import replace

from pitstop.errors import RefMoved, StaleCard, UnknownRef
from pitstop.git.commands import run_git
from pitstop.git.names import ZEROS
from pitstop.platform.cards.card_values import CardRecord
from pitstop.platform.cards.judging import judge_firings
from pitstop.platform.flow_index import FlowIndex
from pitstop.platform.lives import CardStatus
from pitstop.platform.open_repos import OpenRepo, OpenRepos
from pitstop.platform.repo_values import RepoRecord
from pitstop.platform.stored.all import Stored
from pitstop.platform.stored.firings import NewFiring


class CardBench:
    """What is needed to change cards. `wake` starts pending firings."""

    def __init__(self, stored: Stored, opened: OpenRepos, index: FlowIndex, wake: Callable[[], None]) -> None:
        self.repos, self.cards, self.attempts, self.notes = stored.repos, stored.cards, stored.attempts, stored.notes
        self.firings, self.steps = stored.firings, stored.card_steps
        self.opened = opened
        self.wake = wake
        self._index = index
        self._locks: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()

    @asynccontextmanager
    async def changing(self, card: str, version: int | None = None) -> AsyncIterator[CardRecord]:
        """The card, which nothing else changes here as long as the context lasts. StaleCard for another version."""
        lock = self._locks.setdefault(card, asyncio.Lock())
        async with lock:
            record = await self.cards.get(card)
            if version is not None and record.version != version:
                raise StaleCard(card, record.version)
            yield record

    async def place_of(self, card: CardRecord) -> tuple[RepoRecord, OpenRepo]:
        """The repository of a card. RepoElsewhere, RepoNotReady."""
        repo = await self.repos.get(card.repo)
        return repo, await self.opened.ready(repo)

    async def keep(self, opened: OpenRepo, card: CardRecord, sha: str, who: str) -> None:
        """Keep a commit that a branch leaves, for the attempts that made it."""
        with suppress(RefMoved):  # it is kept already
            await opened.bare.move(f"{_kept(card)}{sha}", sha, ZEROS, who=who, message="pitstop: keep")

    async def forget_kept(self, opened: OpenRepo, card: CardRecord, who: str) -> None:
        """Keep none of them any more."""
        listed = await run_git(opened.bare.folder, "for-each-ref", "--format=%(refname)", _kept(card))
        kept = [(name, name.rpartition("/")[2]) for name in listed.decode().split()]
        if kept:
            await opened.bare.delete_refs(kept, who)

    async def judges_of(
        self, repo: RepoRecord, opened: OpenRepo, card: CardRecord, status: CardStatus, sha: str, depth: int
    ) -> tuple[NewFiring, ...]:
        """The firings that follow when a card gets a status at a commit, from the flows of the default branch."""
        try:
            flow_sha = await opened.bare.resolve(f"refs/heads/{repo.default_branch}")
        except UnknownRef:
            return ()
        flows = await self._index.flows(opened.reader, flow_sha)
        return judge_firings(repo, card, status, sha, flows, flow_sha, depth)

    async def take_head(self, repo: RepoRecord, card: CardRecord, head: str | None) -> CardRecord:
        """Store where the branch of a card is now; what is in review is judged again. StaleCard."""
        judges: tuple[NewFiring, ...] = ()
        if card.status == "in_review" and head is not None:
            opened = await self.opened.ready(repo)
            moved = replace(card, head_sha=head)
            judges = await self.judges_of(repo, opened, moved, "in_review", head, card.depth + 1)
        return self._woken(await self.steps.change(card, judges, head_sha=head, conflict=None))

    async def move_judged(
        self, card: CardRecord, status: CardStatus, judges: Sequence[NewFiring], **fields: Any
    ) -> CardRecord:
        """Let a card get another status, and add the firings that follow. BadMove, StaleCard."""
        return self._woken(await self.steps.move(card, status, judges, **fields))

    def _woken(self, card: CardRecord) -> CardRecord:
        self.wake()
        return card


def _kept(card: CardRecord) -> str:
    """Where the commits are that the branch of a card has left."""
    return f"refs/pitstop/cards/{card.number}/"
