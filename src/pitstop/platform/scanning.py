"""Finds pushes by comparing the refs of a repository with what is known of them, and decides what each starts."""

from collections.abc import Iterator, Mapping

from msgspec import Struct

from pitstop.git.names import ZEROS
from pitstop.git.ref_values import RefValue
from pitstop.git.reflog import RefMove
from pitstop.platform.flow_index import FlowIndex
from pitstop.platform.open_repos import OpenRepo
from pitstop.platform.push_events import PushEvent, decide
from pitstop.platform.repo_values import BRANCHES, RepoRecord, Via
from pitstop.platform.stored.firings import NewFiring, StoredFirings
from pitstop.platform.stored.pushes import SeenPush, StoredPushes

MOST_REFS = 20  # that may start flows when they change at once
STORED_AT_ONCE = 200  # changes of refs in one transaction
OWN_MOVES = "pitstop: "  # what the reflog messages of Pitstop's own moves begin with


class RefChange(Struct, frozen=True):
    """A ref that is not where it was: `known` and `now` are None where it did not exist, or does no more."""

    ref: str
    known: str | None
    now: RefValue | None


def changes_between(known: Mapping[str, str], now: Mapping[str, RefValue], default: str) -> list[RefChange]:
    """What has changed, with the default branch first: the flows of other triggers are on it."""
    names = sorted(known.keys() | now.keys(), key=lambda ref: (ref != default, ref))
    found = (RefChange(ref, known.get(ref), now.get(ref)) for ref in names)
    return [each for each in found if each.known != (None if each.now is None else each.now.object)]


class Scanner:
    """Compares refs, and stores each move with the flows at its commit and the firings that follow, all at once."""

    def __init__(self, pushes: StoredPushes, firings: StoredFirings, index: FlowIndex) -> None:
        self._pushes = pushes
        self._firings = firings
        self._index = index

    async def scan(self, repo: RepoRecord, opened: OpenRepo, who: str = "") -> int:
        """Store every move since the last scan; how many firings are to be started.

        `who` is the name to give to moves that git has recorded no name for.
        """
        async with opened.lock:
            now = await opened.bare.refs()
            known = await self._pushes.known_refs(repo.id)
            changes = changes_between(known, now, BRANCHES + repo.default_branch)
            note = _note(repo, len(changes))
            look = _Look(self._index, self._firings, repo, opened, now.get(BRANCHES + repo.default_branch), note)
            starting = 0
            for some in _in_parts(changes):
                seen = [push for change in some for push in await look.at(change, who)]
                stored = await self._pushes.store(seen)
                starting += sum(each.outcome == "pending" for firings in stored for each in firings)
            return starting


class _Look(Struct, frozen=True):
    """One look at a repository. With a `note`, nothing is started."""

    index: FlowIndex
    firings: StoredFirings
    repo: RepoRecord
    opened: OpenRepo
    default: RefValue | None  # where the default branch is
    note: str | None

    async def at(self, change: RefChange, who: str) -> list[SeenPush]:
        """The moves that made a change, oldest first."""
        if change.now is None:
            via: Via = "push" if who else "scan"
            deleted = SeenPush(
                repo=self.repo.id, ref=change.ref, old=change.known, new=None, who=who, via=via, flows=()
            )
            return [deleted]
        moves = await self.opened.bare.moves_of(change.ref, change.known, change.now.object)
        return [await self._at_move(change.ref, change.now, move) for move in moves]

    async def _at_move(self, ref: str, now: RefValue, move: RefMove) -> SeenPush:
        bare, reader = self.opened.bare, self.opened.reader
        old = None if move.old == ZEROS else move.old
        sha = now.sha if move.new == now.object else await bare.resolve(move.new)
        commit = await reader.commit(sha)
        is_branch = ref.startswith(BRANCHES)
        flows = await self.index.flows(reader, sha)
        event = PushEvent(
            repo=self.repo,
            ref=ref,
            old=old,
            sha=sha,
            who=move.who,
            via=_via(self.repo, move),
            is_forced=old is not None and is_branch and not await bare.is_ancestor(old, move.new),
            message=f"{commit.subject}\n\n{commit.body}",
        )
        firings: tuple[NewFiring, ...] = ()
        if self.note is None:
            firings = await decide(self.opened.bare, event, flows, await self._depth(move), self.default)
        return SeenPush(
            repo=self.repo.id,
            ref=ref,
            old=old,
            new=move.new,
            who=move.who,
            via=event.via,
            is_forced=event.is_forced,
            subject=commit.subject,
            note=self.note,
            flows=flows if is_branch else None,
            firings=firings,
        )

    async def _depth(self, move: RefMove) -> int:
        """How many runs have started each other up to this move: one more than that of the run that made it."""
        run = run_in(move.message)
        cause = None if run is None else await self.firings.of_run(run)
        return 0 if cause is None else cause.depth + 1


def run_in(message: str) -> str | None:
    """The run that made a move, as the message in the reflog has it."""
    if not message.startswith(OWN_MOVES):
        return None
    return next((word.removeprefix("run=") for word in message.split() if word.startswith("run=")), None)


def _note(repo: RepoRecord, changes: int) -> str | None:
    """Why nothing is started, however the flows look."""
    if repo.state == "creating":
        return "nothing was started, because the repository was being ingested"
    if changes > MOST_REFS:
        return f"nothing was started, because {changes:,} branches and tags changed at once (limit: {MOST_REFS})"
    return None


def _via(repo: RepoRecord, move: RefMove) -> Via:
    if repo.state == "creating":
        return "ingest"
    if move.message.startswith(OWN_MOVES):
        verb = move.message.removeprefix(OWN_MOVES).partition(" ")[0]
        return "merge" if verb == "merge" else "card" if verb == "card" else "write"
    return "push" if move.message else "scan"


def _in_parts(changes: list[RefChange]) -> Iterator[list[RefChange]]:
    for first in range(0, len(changes), STORED_AT_ONCE):
        yield changes[first : first + STORED_AT_ONCE]
