"""The desk for repositories, over the workshop of this server."""

from collections.abc import AsyncIterator, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any

from msgspec.structs import asdict, replace

from pitstop.engine.ports import Clock
from pitstop.errors import (
    BadCursor,
    BadRepoSetting,
    CommandRefused,
    GitProblem,
    ProtectedRef,
    RepoExists,
    UnknownRef,
    UnknownRepo,
)
from pitstop.git.merging import write_file
from pitstop.git.names import ZEROS, is_branch_name
from pitstop.platform.open_repos import OpenRepo
from pitstop.platform.repo_info import CommitEntry, firing_info
from pitstop.platform.repo_values import (
    BRANCHES,
    MOST_PROTECTED,
    RepoRecord,
    RepoSettings,
    check_remote_url,
    check_repo_name,
)
from pitstop.platform.workshop import Workshop, default_ref
from pitstop.service.caller import Caller, Record
from pitstop.service.repos import (
    BranchPage,
    CommitPage,
    Diff,
    FileContent,
    FiringInfo,
    Folder,
    GitAnswer,
    GitRequest,
    NewRepo,
    Patch,
    PushInfo,
    PushPage,
    RepoChanges,
    RepoInfo,
    Written,
)

MOST_REPOS = 1_000
MOST_DISABLED = 200
LONGEST_TITLE = 200
LONGEST_TEST = 1_000


class RepoDesk:
    """The Repos of this server."""

    def __init__(self, workshop: Workshop, clock: Clock, record: Record) -> None:
        self._workshop = workshop
        self._clock = clock
        self._record = record

    # Their life

    async def create(self, caller: Caller, request: NewRepo) -> RepoInfo:
        caller.require("operator")
        name = check_repo_name(request.name)
        branch = _checked_branch(request.default_branch)
        remote = None if request.remote_url is None else check_remote_url(request.remote_url)
        known = await self._workshop.repos.all()
        present = next((each for each in known if each.id == name), None)
        if present is not None and not (request.ingest and present.state in ("creating", "failed")):
            raise RepoExists(name)
        if len(known) >= MOST_REPOS:
            raise CommandRefused(f"the server has {len(known):,} repositories, which is the limit: delete some")
        record = RepoRecord(
            id=name,
            title=_checked_title(request.title or name),
            default_branch=branch,
            home=self._workshop.opened.home,
            state="creating",
            created_at=self._clock.now(),
            remote_url=remote,
        )
        await (self._workshop.create(record) if present is None else self._workshop.create_again(present))
        if not request.ingest:
            await self._workshop.finish(name)
        await self._record(caller, "create_repo", None, {"name": name})
        return await self.get(caller, name)

    async def list(self, caller: Caller) -> tuple[RepoInfo, ...]:
        records = await self._workshop.repos.all()
        counts = await self._workshop.pushes.counts({each.id: default_ref(each) for each in records})
        return tuple([await self._info(each, counts.get(each.id, (0, 0))) for each in records])

    async def get(self, caller: Caller, repo: str) -> RepoInfo:
        record = await self._workshop.repos.get(repo)
        counts = await self._workshop.pushes.counts({record.id: default_ref(record)})
        return await self._info(record, counts.get(record.id, (0, 0)))

    async def update(self, caller: Caller, repo: str, changes: RepoChanges) -> RepoInfo:
        caller.require("operator")
        record = await self._workshop.repos.get(repo)
        fields: dict[str, Any] = {}
        if changes.title is not None:
            fields["title"] = _checked_title(changes.title)
        if changes.remote_url is not None:
            fields["remote_url"] = check_remote_url(changes.remote_url) or None
        settings = _changed_settings(record.settings, changes)
        if settings != record.settings:
            fields["settings"] = settings
        if changes.default_branch is not None and changes.default_branch != record.default_branch:
            await self._workshop.set_default_branch(record, _checked_branch(changes.default_branch))
        if fields:
            await self._workshop.repos.change(repo, **fields)
        given = {name: value for name, value in asdict(changes).items() if value is not None}
        await self._record(caller, "update_repo", None, given, {"repo": repo})
        return await self.get(caller, repo)

    async def finish_ingest(self, caller: Caller, repo: str) -> RepoInfo:
        caller.require("operator")
        await self._workshop.finish(repo)
        await self._record(caller, "finish_ingest", None, names={"repo": repo})
        return await self.get(caller, repo)

    async def delete(self, caller: Caller, repo: str) -> None:
        caller.require("operator")
        await self._workshop.delete(repo)
        await self._record(caller, "delete_repo", None, names={"repo": repo})

    async def _info(self, record: RepoRecord, counts: tuple[int, int]) -> RepoInfo:
        shown = {name: getattr(record, name) for name in _SHOWN}
        is_here = record.home == self._workshop.opened.home
        return RepoInfo(
            **shown,
            protected=record.settings.protected,
            disabled_flows=record.settings.disabled_flows,
            test=record.settings.test,
            address=None if is_here else await self._workshop.opened.address_of(record.home),
            head=await self._head(record) if is_here and record.state in ("creating", "ready") else None,
            flows=counts[0],
            broken_flows=counts[1],
        )

    async def _head(self, record: RepoRecord) -> CommitEntry | None:
        opened = self._workshop.opened.get(record.id)
        try:
            return await opened.reader.commit(await opened.bare.resolve(record.default_branch))
        except (UnknownRef, GitProblem):  # an empty repository, or one whose files are gone
            return None

    # Looking into them

    async def _at(self, repo: str, ref: str | None) -> tuple[OpenRepo, str]:
        """The repository, and the commit that is meant."""
        record = await self._workshop.repos.get(repo)
        opened = await self._workshop.opened.ready(record)
        return opened, await opened.bare.resolve(ref or record.default_branch)

    async def branches(self, caller: Caller, repo: str, cursor: str | None = None, limit: int = 50) -> BranchPage:
        record = await self._workshop.repos.get(repo)
        opened = await self._workshop.opened.ready(record)
        found, following = await opened.reader.branches(record.default_branch, after=cursor, limit=limit)
        return BranchPage(tuple(found), following)

    async def delete_branches(self, caller: Caller, repo: str, branches: Mapping[str, str]) -> None:
        caller.require("operator")
        record = await self._workshop.repos.get(repo)
        opened = await self._workshop.opened.ready(record)
        for branch in branches:
            if branch in (record.default_branch, *record.settings.protected):
                raise ProtectedRef(repo, branch)
        await opened.bare.delete_refs([(BRANCHES + name, sha) for name, sha in branches.items()], caller.name)
        await self._workshop.scan_now(repo, caller.name)
        await self._record(caller, "delete_branches", None, {"branches": dict(branches)}, {"repo": repo})

    async def tree(self, caller: Caller, repo: str, ref: str | None = None, path: str = "") -> Folder:
        opened, sha = await self._at(repo, ref)
        found = await opened.reader.tree(sha, path)
        return Folder(sha, found.path, found.entries, found.is_cut)

    async def file(self, caller: Caller, repo: str, path: str, ref: str | None = None) -> FileContent:
        opened, sha = await self._at(repo, ref)
        return await opened.reader.file(sha, path)

    async def commits(
        self,
        caller: Caller,
        repo: str,
        ref: str | None = None,
        path: str | None = None,
        cursor: str | None = None,
        limit: int = 50,
    ) -> CommitPage:
        opened, sha = await self._at(repo, ref)
        found, following = await opened.reader.commits(sha, path=path, after=cursor, limit=limit)
        return CommitPage(tuple(found), following)

    async def diff(self, caller: Caller, repo: str, base: str, head: str) -> Diff:
        opened, sha = await self._at(repo, head)
        return await opened.reader.diff(await _base(opened, base), sha)

    async def patch(self, caller: Caller, repo: str, base: str, head: str, path: str) -> Patch:
        opened, sha = await self._at(repo, head)
        return await opened.reader.patch(await _base(opened, base), sha, path)

    async def pushes(self, caller: Caller, repo: str, cursor: str | None = None, limit: int = 50) -> PushPage:
        await self._workshop.repos.get(repo)
        before = None if cursor is None else number_in(cursor)
        found = await self._workshop.pushes.newest(repo, before=before, limit=limit + 1)
        shown = found[:limit]
        by_push: dict[int | None, list[FiringInfo]] = {}
        for firing in await self._workshop.firings.of_pushes([push.id for push in shown]):
            by_push.setdefault(firing.push, []).append(firing_info(firing))
        pushes = [
            PushInfo(**{name: getattr(each, name) for name in _SHOWN_OF_PUSH}, firings=tuple(by_push.get(each.id, ())))
            for each in shown
        ]
        return PushPage(tuple(pushes), str(shown[-1].id) if len(found) > limit else None)

    # Changing what is in them

    async def write(
        self,
        caller: Caller,
        repo: str,
        branch: str,
        path: str,
        text: str | None,
        *,
        expect: str | None = None,
        message: str = "",
    ) -> Written:
        caller.require("operator")
        record = await self._workshop.repos.get(repo)
        opened = await self._workshop.opened.ready(record)
        if branch in record.settings.protected:
            raise ProtectedRef(repo, branch)
        said = message or f"{'Delete' if text is None else 'Write'} {path}"
        content = None if text is None else text.encode()
        sha = await write_file(
            opened.bare, branch=branch, path=path, content=content, expect=expect, message=said, who=caller.name
        )
        await self._workshop.scan_now(repo, caller.name)
        await self._record(caller, "write_file", None, {"branch": branch, "path": path, "sha": sha}, {"repo": repo})
        return Written(branch, sha)

    async def note_landing(self, caller: Caller, repo: str, branch: str, sha: str, remote: str) -> None:
        caller.require("operator")
        await self._workshop.repos.get(repo)
        await self._workshop.cards.note_landing(await self._workshop.repos.get(repo), branch, sha)
        await self._workshop.repos.tell(repo, "land.done", branch=branch, sha=sha, remote=remote, who=caller.name)
        await self._record(caller, "land", None, {"branch": branch, "sha": sha}, {"repo": repo})

    def git(
        self, caller: Caller, repo: str, request: GitRequest, body: AsyncIterator[bytes]
    ) -> AbstractAsyncContextManager[GitAnswer]:
        return self._git(caller, repo, request, body)

    @asynccontextmanager
    async def _git(
        self, caller: Caller, repo: str, request: GitRequest, body: AsyncIterator[bytes]
    ) -> AsyncIterator[GitAnswer]:
        if caller.repo not in (None, repo):
            raise UnknownRepo(repo)
        record = await self._workshop.repos.get(repo)
        may_push = caller.scope == "git:write" or (caller.scope == "all" and caller.role == "operator")
        protected = tuple(BRANCHES + branch for branch in record.settings.protected)
        request = replace(request, who=caller.name, may_push=may_push, protected=protected)
        async with self._workshop.git(record, request, body) as answer:
            yield answer
        if request.path == "/git-receive-pack":
            await self._record(caller, "push", None, names={"repo": repo})


_SHOWN = ("id", "title", "default_branch", "state", "created_at", "remote_url", "error")
_SHOWN_OF_PUSH = ("id", "ref", "old", "new", "who", "via", "is_forced", "subject", "at", "note")


async def _base(opened: OpenRepo, base: str) -> str:
    """The commit that is compared with; zeros are the empty one before the first."""
    return base if base == ZEROS else await opened.bare.resolve(base)


def _changed_settings(settings: RepoSettings, changes: RepoChanges) -> RepoSettings:
    protected, disabled = changes.protected, changes.disabled_flows
    if protected is not None:
        if len(protected) > MOST_PROTECTED:
            raise BadRepoSetting(f"{len(protected)} protected branches are too many: use at most {MOST_PROTECTED}")
        settings = replace(settings, protected=tuple(sorted({_checked_branch(branch) for branch in protected})))
    if disabled is not None:
        if len(disabled) > MOST_DISABLED:
            raise BadRepoSetting(f"{len(disabled)} disabled flows are too many: use at most {MOST_DISABLED}")
        settings = replace(settings, disabled_flows=tuple(sorted(set(disabled))))
    return settings if changes.test is None else replace(settings, test=_checked_test(changes.test))


def _checked_branch(branch: str) -> str:
    if not is_branch_name(branch):
        raise BadRepoSetting(f"invalid branch {branch!r}: git accepts no branch with that name")
    return branch


def _checked_test(command: str) -> str:
    if len(command) > LONGEST_TEST or "${{" in command:
        raise BadRepoSetting(f"a test command has at most {LONGEST_TEST:,} characters, and no expressions")
    return command.strip()


def _checked_title(title: str) -> str:
    if not title.strip() or len(title) > LONGEST_TITLE or not title.isprintable():
        raise BadRepoSetting(f"the title of a repository has 1 to {LONGEST_TITLE} printable characters")
    return title.strip()


def number_in(cursor: str | None) -> int:
    """The number in a cursor; BadCursor."""
    if cursor is None:
        return 0
    if not (cursor.isascii() and cursor.isdigit() and len(cursor) <= 18):
        raise BadCursor(cursor)
    return int(cursor)
