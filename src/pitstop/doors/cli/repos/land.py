"""`pitstop land`: pushes branches from the server to their real remote, with the user's own credentials."""

import argparse
import re
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import quote, urlsplit

from msgspec import Struct

from pitstop.doors.cli.app import OpenService
from pitstop.doors.cli.exit_codes import FAILED, PASSED
from pitstop.doors.cli.interrupts import Interrupts
from pitstop.doors.cli.repos import own_git
from pitstop.doors.cli.repos.clone import NO_CLONE, clone_here
from pitstop.doors.cli.repos.own_git import asks, git, repo_url, without_user
from pitstop.doors.cli.repos.servers import add_server_option, ask_server, desks_of, server_url
from pitstop.errors import CommandRefused, GitProblem
from pitstop.service.caller import LOCAL


class Landing(Struct, frozen=True):
    """Where branches are taken from and pushed to. `folder` is a repository of the client to do it in."""

    folder: Path
    server: str
    repo: str
    target: str  # a remote of the folder, or a URL

    @property
    def source(self) -> str:
        return repo_url(self.server, self.repo)


def land_command(words: Sequence[str], open_service: OpenService, interrupts: Interrupts) -> int:
    options = _parser().parse_args(words)
    if options.rebase and options.force_with_lease:
        raise CommandRefused("use either --rebase or --force-with-lease")
    with _place(options) as landing:
        branches = options.branches or [_default_branch(landing)]
        done = [_land(landing, branch, options) for branch in branches]
    return PASSED if all(done) else FAILED


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="pitstop land",
        description="Push branches from the server to the repository's own remote, such as GitHub. It runs here, with "
        "your own git credentials: the server never has them.",
    )
    parser.add_argument("repo", metavar="REPO", nargs="?", help="the repository (that of this folder)")
    parser.add_argument("branches", metavar="BRANCH", nargs="*", help="what to push (the default branch)")
    parser.add_argument("--to", metavar="REMOTE", help="a remote of this folder, or a URL (origin)")
    parser.add_argument("--pr", action="store_true", help="also print the link that opens a pull request")
    parser.add_argument("--rebase", action="store_true", help="rebase onto the remote branch if that is ahead")
    parser.add_argument(
        "--force-with-lease", action="store_true", help="replace the remote branch, unless it moves meanwhile"
    )
    parser.add_argument("--dry-run", action="store_true", help="only say what would be pushed")
    add_server_option(parser)
    return parser


@contextmanager
def _place(options: argparse.Namespace) -> Iterator[Landing]:
    """The folder that the command is called in, if it is of the repository, or a temporary one."""
    clone = clone_here()
    if clone is not None and options.repo in (None, clone.repo):
        yield Landing(clone.folder, options.server or clone.server, clone.repo, options.to or "origin")
        return
    if options.repo is None:
        raise CommandRefused(NO_CLONE)
    server = server_url(options)
    repo = ask_server(server, lambda service: desks_of(service)[0].get(LOCAL, options.repo))
    target = options.to or repo.remote_url
    if target is None:
        raise CommandRefused(f"repository {repo.id!r} has no remote URL: pass one with --to")
    with tempfile.TemporaryDirectory(prefix="pitstop-land-") as folder:
        git(None, "init", "--quiet", folder)
        yield Landing(Path(folder), server, repo.id, target)


def _default_branch(landing: Landing) -> str:
    return ask_server(landing.server, lambda service: desks_of(service)[0].get(LOCAL, landing.repo)).default_branch


def _land(landing: Landing, branch: str, options: argparse.Namespace) -> bool:
    """Push one branch; False when the remote has commits that the server does not have."""
    sha = _fetch_source(landing, branch)
    there = _fetch_target(landing, branch)
    if there == sha:
        print(f"{branch}: {landing.target} is up to date at {sha[:10]}")
        return True
    ahead, behind = _distance(landing.folder, there, sha)
    if behind and not (options.rebase or options.force_with_lease):
        print(
            f"{branch}: not landed, because {landing.target} has {behind} commits that Pitstop does not have "
            f"(Pitstop has {ahead} more): use --rebase, or --force-with-lease to replace them"
        )
        return False
    if behind and options.rebase:
        sha = _rebase(landing.folder, sha, there or "", branch)
    what = f"{branch}: {ahead} commits to {landing.target}" + (
        f", replacing {behind}" if options.force_with_lease else ""
    )
    if options.dry_run:
        print(f"{what} (dry run)")
        return True
    lease = [f"--force-with-lease=refs/heads/{branch}:{there or ''}"] if options.force_with_lease else []
    git(landing.folder, "push", *lease, landing.target, f"{sha}:refs/heads/{branch}", shows=True)
    remote = without_user(asks(landing.folder, "remote", "get-url", landing.target) or landing.target)
    ask_server(
        landing.server, lambda service: desks_of(service)[0].note_landing(LOCAL, landing.repo, branch, sha, remote)
    )
    print(f"{what}, now at {sha[:10]}")
    if options.pr:
        print(f"  pull request: {pull_request_url(remote, branch) or 'the remote is not a host whose links are known'}")
    return True


def _fetch_source(landing: Landing, branch: str) -> str:
    options = own_git.credentials_for(landing.source)
    ref = f"refs/heads/{branch}"
    git(landing.folder, *options, "fetch", "--quiet", "--no-write-fetch-head", landing.source, f"+{ref}:{_kept(ref)}")
    return git(landing.folder, "rev-parse", _kept(ref))


def _fetch_target(landing: Landing, branch: str) -> str | None:
    """Where the branch is on the remote; None if it does not exist there."""
    listed = git(landing.folder, "ls-remote", landing.target, f"refs/heads/{branch}").split()
    if not listed:
        return None
    git(
        landing.folder, "fetch", "--quiet", "--no-write-fetch-head", "--no-tags", landing.target, f"refs/heads/{branch}"
    )
    return listed[0]


def _distance(folder: Path, there: str | None, sha: str) -> tuple[int, int]:
    """How many commits each side has that the other has not."""
    if there is None:
        return int(git(folder, "rev-list", "--count", sha)), 0
    ahead, behind = git(folder, "rev-list", "--left-right", "--count", f"{sha}...{there}").split()
    return int(ahead), int(behind)


def _rebase(folder: Path, sha: str, onto: str, branch: str) -> str:
    """The commits on top of those of the remote, made in a work tree of their own; CommandRefused on conflicts."""
    with tempfile.TemporaryDirectory(prefix="pitstop-rebase-") as place:
        tree = Path(place, "tree")
        git(folder, "worktree", "add", "--quiet", "--detach", str(tree), sha)
        try:
            git(tree, "rebase", "--quiet", onto)
            return git(tree, "rev-parse", "HEAD")
        except GitProblem as error:
            raise CommandRefused(f"cannot rebase {branch}: {error.reason}. Nothing was pushed") from error
        finally:
            git(folder, "worktree", "remove", "--force", str(tree))


def pull_request_url(remote: str, branch: str) -> str | None:
    """The page that opens a pull request for a branch, on the hosts whose pages are known."""
    scp = re.fullmatch(r"[^/]+@([^/:]+):(.+)", remote)
    host, path = (scp[1], scp[2]) if scp else (urlsplit(remote).hostname or "", urlsplit(remote).path)
    place = f"https://{host}/{path.strip('/').removesuffix('.git')}"
    if host == "github.com":
        return f"{place}/compare/{quote(branch)}?expand=1"
    if host == "gitlab.com":
        return f"{place}/-/merge_requests/new?merge_request%5Bsource_branch%5D={quote(branch, safe='')}"
    if host == "codeberg.org":
        return f"{place}/compare/{quote(branch)}"
    return None


def _kept(ref: str) -> str:
    """Where what was fetched stays, so that git does not remove it meanwhile."""
    return ref.replace("refs/heads/", "refs/landing/", 1)
