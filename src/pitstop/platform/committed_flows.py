"""The flows of repositories as runs need them: one at a commit, and the files of that commit."""

from collections.abc import AsyncIterable, Awaitable, Callable, Mapping
from posixpath import normpath
from typing import Any, Protocol

from pitstop.engine.workspace_files import WorkspaceFiles
from pitstop.errors import NothingToMerge, ProtectedRef, UnknownFlow, UnknownPath, UnknownRef
from pitstop.git.merging import merge
from pitstop.limits import FLOW_BYTES
from pitstop.platform.checkouts import check_out
from pitstop.platform.flow_index import FOLDER, flow_name, flow_paths, reader_of
from pitstop.platform.open_repos import OpenRepo, OpenRepos
from pitstop.platform.repo_values import BRANCHES, TAGS, RepoRecord
from pitstop.platform.stored.repos import StoredRepos
from pitstop.runs.file_texts import ReadFile
from pitstop.runs.repositories import RepositoryFlow
from pitstop.runs.run_info import CommitInfo
from pitstop.runs.stored_flows import FLOW_ENDINGS
from pitstop.store.port import RunRecord

MOST_NAMED = 20  # flows in an error


Commit = Callable[[RunRecord, str, AsyncIterable[bytes], str], Awaitable[Mapping[str, Any]]]
OnMoved = Callable[[str], Awaitable[None]]  # is told of the repository whose branches have moved


class CardActions(Protocol):
    """What runs do with cards."""

    async def merge_judged(self, card: str, record: RunRecord) -> Mapping[str, Any]: ...

    async def commit(
        self, record: RunRecord, tree: str, pack: AsyncIterable[bytes], message: str
    ) -> Mapping[str, Any]: ...

    async def make_card(
        self, record: RunRecord, title: str, description: str, options: Mapping[str, Any]
    ) -> Mapping[str, Any]: ...

    async def start_card(self, record: RunRecord, card: str) -> Mapping[str, Any]: ...


class CommittedFlows:
    """The Repositories of runs. One whose files another server has is refused with RepoElsewhere."""

    def __init__(
        self, repos: StoredRepos, opened: OpenRepos, cards: CardActions, commit_trial: Commit, on_moved: OnMoved
    ) -> None:
        self._repos = repos
        self._opened = opened
        self._cards = cards
        self._commit_trial = commit_trial
        self._on_moved = on_moved

    async def flow(
        self, repo: str, name: str, ref: str | None, sha: str | None, text: str | None = None
    ) -> RepositoryFlow:
        record = await self._repos.get(repo)
        opened = await self._opened.ready(record)
        asked = ref or record.default_branch
        if sha is None:
            sha = await _commit_named(opened, record, asked)
            ref = asked if await self._is_ref(opened, asked) else None
        commit = CommitInfo(sha=sha, message=(await opened.reader.commit(sha)).subject, branch=ref)
        read = reader_of(opened.reader, sha)
        if text is None:
            path = await self._path(opened, repo, name, sha)
        else:
            path = f"{name.replace('/', '-')}.yaml"
            read = _with_text(read, path, text.encode())
        return RepositoryFlow(repo=repo, name=name, path=path, ref=ref, commit=commit, read=read)

    async def commit(self, repo: str, sha: str, ref: str | None) -> CommitInfo:
        opened = await self._opened.ready(await self._repos.get(repo))
        return CommitInfo(sha=sha, message=(await opened.reader.commit(sha)).subject, branch=ref)

    def workshop_of(self, record: RunRecord) -> "RunWorkshop":
        return RunWorkshop(self, self._cards, self._commit_trial, record, self._on_moved)

    async def merge(self, record: RunRecord, into: str, message: str) -> Mapping[str, Any]:
        """Merge the commit of a run into a branch. The run's branch must not have moved since.

        What has been merged already is merged. CommandRefused, Unknown, GitProblem.
        """
        repo = await self._repos.get(record.repo or "")
        opened = await self._opened.ready(repo)
        sha = record.sha or ""
        is_branch = record.ref is not None and BRANCHES + record.ref in await opened.bare.refs()
        source = record.ref if is_branch and record.ref is not None else sha
        if source == into:
            return {"into": into, "sha": sha, "is_merged": False}
        if into in repo.settings.protected:
            await self._check_judge(opened, record, into)
        card = _judged_card(record)
        if card is not None and into == card[1]:
            try:
                return await self._cards.merge_judged(card[0], record)
            finally:
                await self._on_moved(repo.id)
        said = message or f"Merge {source} into {into}\n\nRun: {record.id}"
        try:
            merged = await merge(
                opened.bare,
                source=source,
                target=into,
                method="merge",
                message=said,
                who="pitstop",
                expect=sha,
                reason=f"run={record.id}",
            )
        except NothingToMerge:
            return {"into": into, "sha": sha, "is_merged": False}
        finally:
            await self._on_moved(repo.id)
        return {"into": into, "sha": merged.sha, "is_merged": True}

    async def _check_judge(self, opened: OpenRepo, record: RunRecord, into: str) -> None:
        """Only a flow that is on a protected branch may merge into it: else anyone who may push could change it."""
        head = await opened.bare.resolve(into)
        for path, text in record.texts.items():
            try:
                there = await opened.reader.blob(f"{head}:{path}", FLOW_BYTES + 1)
            except UnknownPath:
                there = b""
            if there.decode("utf-8-sig", errors="replace") != text:
                raise ProtectedRef(opened.id, into, f"{path} differs from the file on that branch")

    async def check_out(self, repo: str, sha: str, files: WorkspaceFiles) -> None:
        opened = await self._opened.ready(await self._repos.get(repo))
        await check_out(opened.bare, sha, None, files)

    async def _is_ref(self, opened: OpenRepo, name: str) -> bool:
        refs = await opened.bare.refs()
        return BRANCHES + name in refs or TAGS + name in refs

    async def _path(self, opened: OpenRepo, repo: str, name: str, sha: str) -> str:
        """The file of a flow; UnknownFlow with those that there are."""
        for path in flow_paths(name):
            try:
                found = await opened.reader.find(sha, path)
            except UnknownPath:
                continue
            if found.kind == "file":
                return path
        listed = await opened.reader.files_in(sha, FOLDER, limit=1000)
        names = sorted(flow_name(each.path) for each in listed if each.path.endswith(FLOW_ENDINGS))
        shown = ", ".join(names[:MOST_NAMED])
        there = f"commit {sha[:12]} of {repo!r} has {shown}" if names else f"commit {sha[:12]} has no flows in {FOLDER}"
        raise UnknownFlow(f"{repo}:{name}", there)


class RunWorkshop:
    """The Workshop of the steps of one run."""

    def __init__(
        self, flows: CommittedFlows, cards: CardActions, commit_trial: Commit, record: RunRecord, on_moved: OnMoved
    ) -> None:
        self.sha = record.sha or ""
        self._flows = flows
        self._cards = cards
        self._commit_trial = commit_trial
        self._record = record
        self._on_moved = on_moved

    async def merge(self, into: str, message: str) -> Mapping[str, Any]:
        return await self._flows.merge(self._record, into, message)

    async def commit(self, tree: str, pack: AsyncIterable[bytes], message: str) -> Mapping[str, Any]:
        if (self._record.request.get("trigger") or {}).get("kind") == "trial":
            return await self._commit_trial(self._record, tree, pack, message)
        try:
            return await self._cards.commit(self._record, tree, pack, message)
        finally:
            await self._on_moved(self._record.repo or "")

    async def make_card(self, title: str, description: str, options: Mapping[str, Any]) -> Mapping[str, Any]:
        return await self._cards.make_card(self._record, title, description, options)

    async def start_card(self, card: str) -> Mapping[str, Any]:
        return await self._cards.start_card(self._record, card)


def _judged_card(record: RunRecord) -> tuple[str, str] | None:
    """The card that a run judges, and the branch that it is to be merged into."""
    trigger: Mapping[str, Any] = record.request.get("trigger") or {}
    card: Mapping[str, Any] = trigger.get("card") or {}
    is_judge = trigger.get("kind") == "card_complete" and "id" in card
    return (card["id"], card["base"]) if is_judge else None


def _with_text(read: ReadFile, path: str, text: bytes) -> ReadFile:
    """What reads the files of a commit, and one more that is not in it."""
    return lambda name: text if normpath(name) == path else read(name)


async def _commit_named(opened: OpenRepo, record: RepoRecord, name: str) -> str:
    try:
        return await opened.bare.resolve(name)
    except UnknownRef:
        if name == record.default_branch and not await opened.bare.refs():
            raise UnknownRef(record.id, f"{name} (nothing was pushed yet)") from None
        raise
