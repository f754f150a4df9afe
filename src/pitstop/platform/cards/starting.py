"""Starting the work of cards: an attempt and its firing are stored together, and the firing starts the run."""

from collections.abc import Mapping
from typing import Any

from msgspec.structs import replace

from pitstop.errors import BadCard, BadMove, PitstopError, TooDeep, UnknownPath
from pitstop.git.names import BRANCHES, ZEROS
from pitstop.git.reading import RepositoryReader
from pitstop.platform.cards.card_info import CardPreview, StartCard
from pitstop.platform.cards.card_values import AttemptKind, AttemptRecord, CardRecord, Conflict, Work
from pitstop.platform.cards.changing import CardBench
from pitstop.platform.cards.judging import facts_of
from pitstop.platform.cards.limits import LONGEST_PROMPT, MOST_ATTEMPTS, check_work
from pitstop.platform.cards.notes import CardNotes, place_of
from pitstop.platform.cards.work_flows import (
    Pause,
    branch_name,
    find_test,
    flow_text,
    resolving_text,
    work_profile,
    work_prompt,
    work_secrets,
)
from pitstop.platform.flow_index import flow_paths
from pitstop.platform.open_repos import OpenRepo
from pitstop.platform.push_events import MOST_DEPTH
from pitstop.platform.repo_values import FiringRecord, RepoRecord
from pitstop.platform.stored.firings import NewFiring
from pitstop.platform.work_runs import WorkRuns, paused_at
from pitstop.runs.run_ids import new_run_id
from pitstop.runs.run_request import BreakpointRequest, DebugRequest, RunRequest

LOG_LINES = 200
LOG_CHARACTERS = 16 * 1024


class CardStarter:
    """Starts attempts. What a run needs is made of the attempt when its firing is due, also after a crash."""

    def __init__(self, bench: CardBench, notes: CardNotes, runs: WorkRuns) -> None:
        self._bench = bench
        self._notes = notes
        self._runs = runs

    async def start(self, card: CardRecord, options: StartCard, who: str, depth: int = 0) -> CardRecord:
        """Start the work of a card, which nothing else changes. BadMove, BadCard, UnknownRef."""
        work = card.work if options.profile is None else replace(card.work, agent=options.profile)
        _check_start(card, check_work(work), depth)
        repo, opened = await self._bench.place_of(card)
        base_sha, from_sha = await self._begin_at(repo, opened, card, options)
        card = replace(card, branch=card.branch or branch_name(card.number, card.title))
        notes = [(each, place_of(each)) for each in await self._notes.open_at(opened, card, from_sha)]
        log = await self._last_log(card)
        prompt = work_prompt(card, work, notes=notes, log=log, guidance=options.guidance) if work.agent else ""
        if len(prompt) > LONGEST_PROMPT:
            raise BadCard(
                f"the prompt of card {card.id} would have {len(prompt):,} characters, but at most {LONGEST_PROMPT:,} "
                "are allowed: resolve some notes, or shorten the description"
            )
        test = await find_test(opened.reader, from_sha, repo.settings.test)
        text = await self._text(opened.reader, from_sha, card, work, test)
        await self._move_branch(opened, card, from_sha, who)
        pause = await self._pause(opened, from_sha, work) if options.debug else ""
        attempt = _attempt(card, "work", who, from_sha, (from_sha,), text, prompt, work)
        return await self._store(card, attempt, work, pause, depth, base_sha=base_sha)

    async def _pause(self, opened: OpenRepo, sha: str, work: Work) -> Pause:
        """Where a run pauses first that is to be debugged: only some agents can be held at their tool calls."""
        profile = await work_profile(opened.reader, sha, work)
        return "step" if profile is None or profile.gate == "none" else "tool"

    async def preview(self, repo: RepoRecord, opened: OpenRepo, card: CardRecord) -> CardPreview:
        """What would be run for a card."""
        sha = await opened.bare.resolve(f"{BRANCHES}{card.base}")
        work, reader = card.work, opened.reader
        test = await find_test(reader, sha, repo.settings.test) if work.agent else None
        text = "" if work.kind == "none" else await self._text(reader, sha, card, work, test)
        return CardPreview(text=text, prompt=work_prompt(card, work) if work.agent else "", test=test)

    async def resolve(
        self, card: CardRecord, conflict: Conflict, work_sha: str, who: str, *, by_hand: bool
    ) -> CardRecord:
        """Start a run in whose workspace the conflicts are, to be resolved by the agent or by hand."""
        if not by_hand and card.work.agent is None:
            raise BadCard(f"card {card.id} has no agent to resolve the conflicts: resolve them by hand")
        repo, opened = await self._bench.place_of(card)
        secrets = await work_secrets(opened.reader, conflict.head_sha, card.work)
        test = await find_test(opened.reader, conflict.head_sha, repo.settings.test)
        text = resolving_text(card, card.work, test, secrets, by_hand=by_hand)
        prompt = "" if by_hand else work_prompt(card, card.work, conflict=conflict)
        kind: AttemptKind = "by_hand" if by_hand else "update"
        parents = (conflict.head_sha, conflict.base_sha)
        attempt = replace(
            _attempt(card, kind, who, conflict.head_sha, parents, text, prompt, card.work), work_sha=work_sha
        )
        return await self._store(card, attempt, card.work, "commit" if by_hand else "", 0, conflict=conflict)

    async def _begin_at(
        self, repo: RepoRecord, opened: OpenRepo, card: CardRecord, options: StartCard
    ) -> tuple[str, str]:
        """Where the branch of the card begins, and where this attempt does. UnknownRef, BadCard."""
        head = await opened.bare.head_of(card.branch)
        base = await opened.bare.resolve(f"{BRANCHES}{card.base}")
        if isinstance(options.start_from, int):
            attempt = await self._bench.attempts.get(card.id, options.start_from)
            if attempt.to_sha is None:
                raise BadCard(f"attempt {attempt.number} of card {card.id} changed nothing: start from head or base")
            return card.base_sha or base, attempt.to_sha
        if options.start_from == "base" or head is None:
            return base, base
        return card.base_sha or await opened.bare.merge_base(base, head) or base, head

    async def _move_branch(self, opened: OpenRepo, card: CardRecord, sha: str, who: str) -> None:
        """Let the branch begin where the attempt does. What it had is kept for the attempts that made it."""
        ref, head = f"{BRANCHES}{card.branch}", await opened.bare.head_of(card.branch)
        if head == sha:
            return
        if head is not None:
            await self._bench.keep(opened, card, head, who)
        await opened.bare.move(ref, sha, head or ZEROS, who=who, message=f"pitstop: card {card.id} begins here")

    async def _text(self, reader: RepositoryReader, sha: str, card: CardRecord, work: Work, test: str | None) -> str:
        secrets = await work_secrets(reader, sha, work)
        path = "" if work.flow is None else await _flow_path(reader, sha, work.flow)
        return flow_text(card, work, test, secrets, path)

    async def _store(
        self, card: CardRecord, attempt: AttemptRecord, work: Work, pause: Pause, depth: int, **fields: Any
    ) -> CardRecord:
        """Store the attempt, its firing and the move of the card at once."""
        firing = _firing_of(card, attempt, work, pause, depth)

        moved = await self._bench.steps.begin(
            card,
            attempt,
            firing,
            branch=card.branch,
            head_sha=attempt.from_sha,
            attempt=attempt.number,
            run=attempt.run,
            reason=None,
            depth=depth,
            **{"conflict": None, **fields},
        )
        self._bench.wake()
        return moved

    async def _last_log(self, card: CardRecord) -> str:
        """The end of the log of the step at which the last attempt failed."""
        if card.run is None or card.status != "failed":
            return ""
        try:
            run = await self._runs.get(card.run)
            failures = (await run.info()).failures
            lines = await run.log_tail(failures[0].occurrence, LOG_LINES) if failures else []
        except (PitstopError, OSError) as error:  # the log is a help, and its run may be gone
            return f"(the log cannot be read: {error})"
        said = [*lines, *(f"{each.step} failed: {each.message}" for each in failures[:3])]
        return "\n".join(said)[-LOG_CHARACTERS:]

    # When the firing is due

    async def request_of(self, firing: FiringRecord, request: RunRequest) -> RunRequest:
        """The request of a firing, with the flow and the prompt of its attempt."""
        if firing.kind == "card_complete":
            trigger = {name: value for name, value in (request.trigger or {}).items() if name != "flow_sha"}
            return replace(request, flow_commit=firing.subject["flow_sha"], trigger=trigger)
        attempt = None if firing.kind != "card" else await self._bench.attempts.of_run(firing.run or "")
        if attempt is None:
            return request
        facts: Mapping[str, Any] = (request.trigger or {}).get("card", {})
        trigger = {**(request.trigger or {}), "card": {**facts, "prompt": attempt.prompt}}
        debug = _debug_of(facts.get("pause", ""))
        return replace(request, text=attempt.text, trigger=trigger, debug=debug)


def _check_start(card: CardRecord, work: Work, depth: int) -> None:
    if card.status not in ("todo", "failed", "in_review"):
        hint = "cancel it first" if card.status == "in_progress" else "move it to todo first"
        raise BadMove(card.id, card.status, "in_progress", hint)
    if work.kind == "none":
        raise BadCard(f"card {card.id} has no agent, script or flow: edit it, or move it by hand")
    if card.attempt >= MOST_ATTEMPTS:
        raise BadCard(f"card {card.id} has had {card.attempt} attempts, which is the limit: create another card")
    if depth > MOST_DEPTH:
        raise TooDeep(f"card {card.id}", MOST_DEPTH)


async def _flow_path(reader: RepositoryReader, sha: str, flow: str) -> str:
    """The file of a flow at a commit. BadCard."""
    for path in flow_paths(flow):
        try:
            if (await reader.find(sha, path)).kind == "file":
                return path
        except UnknownPath:
            continue
    raise BadCard(f"commit {sha[:12]} has no flow {flow!r} in .pitstop/flows")


def _attempt(
    card: CardRecord,
    kind: AttemptKind,
    who: str,
    from_sha: str,
    parents: tuple[str, ...],
    text: str,
    prompt: str,
    work: Work,
) -> AttemptRecord:
    return AttemptRecord(
        card=card.id,
        number=card.attempt + 1,
        repo=card.repo,
        kind=kind,
        run=new_run_id(),
        from_sha=from_sha,
        parents=parents,
        text=text,
        prompt=prompt,
        by=who,
        started_at=0.0,
        profile=work.agent,
    )


def _firing_of(card: CardRecord, attempt: AttemptRecord, work: Work, pause: Pause, depth: int) -> NewFiring:
    sha = attempt.work_sha or attempt.from_sha
    conflicts = "" if card.conflict is None else "\n".join(each.path for each in card.conflict.files)
    facts = {
        **facts_of(replace(card, attempt=attempt.number), "in_progress"),
        "message": _message(card, attempt, work),
        "inputs": dict(work.inputs),
        "pause": pause,
        "conflicts": conflicts,
    }
    return NewFiring(
        repo=card.repo,
        flow=f"card/{card.number}",
        kind="card",
        outcome="pending",
        who=attempt.by,
        subject={
            "kind": "card",
            "repo": card.repo,
            "ref": f"{BRANCHES}{card.branch}",
            "branch": card.branch,
            "sha": sha,
            "who": attempt.by,
            "card": facts,
        },
        ref=card.branch,
        sha=sha,
        run=attempt.run,
        depth=depth,
        card=card.id,
    )


def _message(card: CardRecord, attempt: AttemptRecord, work: Work) -> str:
    subject = card.title if attempt.kind == "work" else f"Merge {card.base} into {card.branch}"
    agent = f"Agent: {work.agent}\n" if work.agent else ""
    return f"{subject}\n\nCard: {card.id}\n{agent}"


def _debug_of(pause: str) -> DebugRequest | None:
    """How the run of an attempt is held up, if its user wants that."""
    match pause:
        case "tool":
            return paused_at(BreakpointRequest(tool="any", once=True))
        case "step":
            return paused_at(at_entry=True)
        case "commit":
            note = "Resolve the conflicts in the workspace, then continue."
            return paused_at(BreakpointRequest(step="commit", note=note))
    return None
