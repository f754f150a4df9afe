"""`pitstop ingest`: takes a repository in, with all of its branches and tags."""

import argparse
import re
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from msgspec import Struct

from pitstop.doors.cli.app import OpenService
from pitstop.doors.cli.interrupts import Interrupts
from pitstop.doors.cli.repos import own_git
from pitstop.doors.cli.repos.own_git import asks, git, repo_url, without_user
from pitstop.doors.cli.repos.servers import add_server_option, ask_server, desks_of, server_url
from pitstop.errors import CommandRefused, GitProblem
from pitstop.program import program
from pitstop.service.caller import LOCAL
from pitstop.service.desks import Service
from pitstop.service.repos import NewRepo, RepoFlowInfo, RepoInfo, check_repo_name

REMOTE = "pitstop"
EVERYTHING = ("refs/heads/*:refs/heads/*", "refs/tags/*:refs/tags/*")
OTHER_FLOWS = {".lazyaf/pipelines": "LazyAF pipelines", ".github/workflows": "GitHub workflows"}


class Source(Struct, frozen=True):
    """The repository to take in. `is_own` is one of the user's folders, which gets a remote."""

    folder: Path
    name: str
    branch: str
    remote_url: str | None
    is_own: bool


def ingest_command(words: Sequence[str], open_service: OpenService, interrupts: Interrupts) -> int:
    options = _parser().parse_args(words)
    url = server_url(options)
    own_git.no_prompt()
    with _opened(options.source) as source:
        name = check_repo_name(options.name or source.name)
        branch = options.branch or source.branch
        _refuse_shallow(source)
        for warning in warnings_for(source.folder):
            _tell(f"warning: {warning}")
        wanted = NewRepo(name=name, default_branch=branch, remote_url=source.remote_url, ingest=True)
        ask_server(url, lambda service: desks_of(service)[0].create(LOCAL, wanted))
        _push(source, repo_url(url, name))
        repo, flows = ask_server(url, lambda service: _finish(service, name))
    _report(repo, flows, url, source)
    return 0


async def _finish(service: Service, name: str) -> tuple[RepoInfo, tuple[RepoFlowInfo, ...]]:
    repos, triggers = desks_of(service)
    repo = await repos.finish_ingest(LOCAL, name)
    return repo, await triggers.flows(LOCAL, name) if repo.head is not None else ()


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="pitstop ingest",
        description="Take a git repository in: create it on the server and push all its branches and tags there. "
        "A folder also gets a remote named `pitstop`; nothing else is changed in it.",
    )
    parser.add_argument("source", metavar="PATH|URL", nargs="?", default=".", help="the repository (.)")
    parser.add_argument("--name", help="its name on the server (that of the folder)")
    parser.add_argument("--branch", help="its default branch (the one that is checked out)")
    add_server_option(parser)
    return parser


@contextmanager
def _opened(given: str) -> Iterator[Source]:
    """The repository at a path, or a temporary clone of the one at a URL; CommandRefused, GitProblem."""
    if not is_url(given):
        yield _in_folder(Path(given))
        return
    with tempfile.TemporaryDirectory(prefix="pitstop-ingest-") as folder:
        clone = Path(folder, "clone.git")
        git(None, "clone", "--mirror", "--", given, str(clone), shows=True)
        yield Source(clone, name_of(given), _branch_of(clone), without_user(given), False)


def _in_folder(folder: Path) -> Source:
    if not folder.is_dir():
        raise CommandRefused(f"{folder} is neither a folder nor the URL of a repository")
    top = asks(folder, "rev-parse", "--show-toplevel") or asks(folder, "rev-parse", "--absolute-git-dir")
    if top is None:
        raise CommandRefused(f"{folder} is not in a git repository: run `git init` and commit, or pass another path")
    remote = asks(Path(top), "remote", "get-url", "origin")
    return Source(Path(top), name_of(top), _branch_of(Path(top)), remote and without_user(remote), True)


def is_url(given: str) -> bool:
    """Whether it is a URL, or `user@host:path`, and not a path of this machine."""
    return "://" in given or (re.match(r"[^/]+@[^/:]+:", given) is not None and not Path(given).exists())


def name_of(source: str) -> str:
    """A name for a repository, after the last part of its path or URL."""
    last = re.split(r"[/:]", source.rstrip("/"))[-1].removesuffix(".git").lower()
    return re.sub(r"\.{2,}|[^a-z0-9._-]+", "-", last).strip("-._")[:64] or "repo"


def _branch_of(folder: Path) -> str:
    """The branch that is checked out; for a detached HEAD a usual one that exists, or any."""
    current = asks(folder, "symbolic-ref", "--short", "HEAD")
    if current:
        return current
    there = (asks(folder, "for-each-ref", "--format=%(refname:lstrip=2)", "refs/heads") or "").split()
    return next((each for each in ("main", "master", *there) if each in there), "main")


def _refuse_shallow(source: Source) -> None:
    if asks(source.folder, "rev-parse", "--is-shallow-repository") == "true":
        raise CommandRefused(f"{source.folder} is a shallow clone: run `git fetch --unshallow` there first")


def warnings_for(folder: Path) -> list[str]:
    """What of a repository does not come along, or is not read."""
    found = []
    if "filter=lfs" in (asks(folder, "show", "HEAD:.gitattributes") or ""):
        found.append("files in Git LFS are ingested as pointers: their content stays on their LFS server")
    if asks(folder, "cat-file", "-e", "HEAD:.gitmodules") is not None:
        found.append("submodules are not ingested: ingest each of them as a repository")
    for path, what in OTHER_FLOWS.items():
        if asks(folder, "cat-file", "-e", f"HEAD:{path}") is not None:
            found.append(f"{what} in {path} start nothing: only flows in .pitstop/flows do")
    return found


def _push(source: Source, url: str) -> None:
    if source.is_own:
        _add_remote(source.folder, url)
    refs = asks(source.folder, "for-each-ref", "--count=1", "refs/heads", "refs/tags")
    if not refs:
        return
    try:
        git(source.folder, *own_git.credentials_for(url), "push", "--progress", url, *EVERYTHING, shows=True)
    except GitProblem as error:
        raise CommandRefused(f"{error}. Nothing was started; run the same command again to resume") from error


def _add_remote(folder: Path, url: str) -> None:
    present = asks(folder, "remote", "get-url", REMOTE)
    if present is None:
        git(folder, "remote", "add", REMOTE, url)
    elif present != url:
        git(folder, "remote", "set-url", REMOTE, url)
        _tell(f"remote {REMOTE!r} changed from {present} to {url}")
    own_git.store_credentials(folder, url)


def _report(repo: RepoInfo, flows: Sequence[RepoFlowInfo], url: str, source: Source) -> None:
    print(f"{repo.id}: {repo.default_branch} at {repo.head.sha[:10] if repo.head else 'no commit yet'}")
    print(f"  page   {url}/repos/{repo.id}")
    print(f"  clone  git clone {repo_url(url, repo.id)}")
    if source.is_own:
        print(f"  push   git push {REMOTE} {repo.default_branch}")
    for flow in flows:
        problem = (
            f"  {flow.problems[0].file}:{flow.problems[0].line}: {flow.problems[0].message}" if flow.problems else ""
        )
        print(f"  flow   {flow.name}  {', '.join(flow.triggers) or 'started by hand'}{problem}")
    if not flows:
        print(f"  flow   none yet: `{program()} init` writes a first one to .pitstop/flows")


def _tell(text: str) -> None:
    print(f"pitstop: {text}", file=sys.stderr)
