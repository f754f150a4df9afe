"""The user's clone of a repository on a server, if a command is called in one."""

import re
from pathlib import Path

from msgspec import Struct

from pitstop.doors.cli.repos.ingest import REMOTE
from pitstop.doors.cli.repos.own_git import asks, server_in

NO_CLONE = "this folder has no remote `pitstop`: pass the name of a repository, or ingest it first"
_REPO_IN_URL = re.compile(r".*/git/(?P<repo>[^/]+)\.git/?")


class Clone(Struct, frozen=True):
    """A folder whose remote `pitstop` names a repository and its server."""

    folder: Path
    server: str
    repo: str


def clone_here() -> Clone | None:
    """The clone that the current folder is in."""
    folder = asks(None, "rev-parse", "--show-toplevel")
    url = None if folder is None else asks(Path(folder), "remote", "get-url", REMOTE)
    named = _REPO_IN_URL.fullmatch(url or "")
    return (
        None if folder is None or url is None or named is None else Clone(Path(folder), server_in(url), named["repo"])
    )
