"""The desk for repositories, on a server."""

from collections.abc import Mapping
from urllib.parse import quote

import msgspec

from pitstop.service.caller import Caller
from pitstop.service.remote.connection import Connection
from pitstop.service.repos import (
    BranchPage,
    CommitPage,
    Diff,
    FileContent,
    Folder,
    NewRepo,
    Patch,
    PushPage,
    RepoChanges,
    RepoInfo,
    Written,
)


class RemoteRepos:
    """The Repos of a server."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    async def create(self, caller: Caller, request: NewRepo) -> RepoInfo:
        return await self._connection.post("/repos", request, RepoInfo, caller)

    async def list(self, caller: Caller) -> tuple[RepoInfo, ...]:
        return await self._connection.get("/repos", tuple[RepoInfo, ...])

    async def get(self, caller: Caller, repo: str) -> RepoInfo:
        return await self._connection.get(repo_path(repo), RepoInfo)

    async def update(self, caller: Caller, repo: str, changes: RepoChanges) -> RepoInfo:
        given = {name: value for name, value in msgspec.to_builtins(changes).items() if value is not None}
        return self._connection.read(await self._connection.ask("PATCH", repo_path(repo), given), RepoInfo)

    async def finish_ingest(self, caller: Caller, repo: str) -> RepoInfo:
        return await self._connection.post(f"{repo_path(repo)}/ingested", None, RepoInfo)

    async def delete(self, caller: Caller, repo: str) -> None:
        await self._connection.ask("DELETE", repo_path(repo))

    async def branches(self, caller: Caller, repo: str, cursor: str | None = None, limit: int = 50) -> BranchPage:
        return await self._connection.get(f"{repo_path(repo)}/branches", BranchPage, cursor=cursor, limit=limit)

    async def delete_branches(self, caller: Caller, repo: str, branches: Mapping[str, str]) -> None:
        await self._connection.ask("POST", f"{repo_path(repo)}/branches/delete", {"branches": dict(branches)})

    async def tree(self, caller: Caller, repo: str, ref: str | None = None, path: str = "") -> Folder:
        return await self._connection.get(f"{repo_path(repo)}/tree", Folder, ref=ref, path=path)

    async def file(self, caller: Caller, repo: str, path: str, ref: str | None = None) -> FileContent:
        return await self._connection.get(f"{repo_path(repo)}/file", FileContent, ref=ref, path=path)

    async def commits(
        self,
        caller: Caller,
        repo: str,
        ref: str | None = None,
        path: str | None = None,
        cursor: str | None = None,
        limit: int = 50,
    ) -> CommitPage:
        asked = {"ref": ref, "path": path, "cursor": cursor, "limit": limit}
        return await self._connection.get(f"{repo_path(repo)}/commits", CommitPage, **asked)

    async def diff(self, caller: Caller, repo: str, base: str, head: str) -> Diff:
        return await self._connection.get(f"{repo_path(repo)}/diff", Diff, base=base, head=head)

    async def patch(self, caller: Caller, repo: str, base: str, head: str, path: str) -> Patch:
        return await self._connection.get(f"{repo_path(repo)}/patch", Patch, base=base, head=head, path=path)

    async def pushes(self, caller: Caller, repo: str, cursor: str | None = None, limit: int = 50) -> PushPage:
        return await self._connection.get(f"{repo_path(repo)}/pushes", PushPage, cursor=cursor, limit=limit)

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
        body = {"branch": branch, "path": path, "text": text, "expect": expect, "message": message}
        return self._connection.read(await self._connection.ask("PUT", f"{repo_path(repo)}/file", body), Written)

    async def note_landing(self, caller: Caller, repo: str, branch: str, sha: str, remote: str) -> None:
        body = {"branch": branch, "sha": sha, "remote": remote}
        await self._connection.ask("POST", f"{repo_path(repo)}/landings", body)


def repo_path(repo: str) -> str:
    return f"/repos/{quote(repo, safe='')}"
