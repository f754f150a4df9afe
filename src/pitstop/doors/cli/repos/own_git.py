"""The user's own git, with the user's own configuration and credentials."""

import os
import shlex
import subprocess
from collections.abc import Sequence
from pathlib import Path
from urllib.parse import urlsplit, urlunsplit

from pitstop.errors import GitProblem
from pitstop.program import program


def git(folder: Path | None, *words: str, shows: bool = False) -> str:
    """What git prints, without the last line break. With `shows`, its progress is on the terminal. GitProblem."""
    place = () if folder is None else ("-C", str(folder))
    try:
        done = subprocess.run(
            ("git", *place, *words),
            stdin=None if shows else subprocess.DEVNULL,
            stdout=None if shows else subprocess.PIPE,
            stderr=None if shows else subprocess.PIPE,
            text=True,
            errors="replace",
            check=False,
        )
    except OSError as error:
        raise GitProblem.of_start(_command_in(words), error) from error
    if done.returncode != 0:
        said = (done.stderr or "").strip()
        raise GitProblem(_command_in(words), said or f"it ended with exit code {done.returncode}")
    return (done.stdout or "").removesuffix("\n")


def asks(folder: Path | None, *words: str) -> str | None:
    """What git prints; None when it fails, which is an answer too."""
    try:
        return git(folder, *words)
    except GitProblem:
        return None


def credentials_for(url: str) -> list[str]:
    """The options that let git ask this program for the token of a server, and no other helper."""
    return [word for value in ("", helper_for(url)) for word in ("-c", f"{_credential(url)}.helper={value}")]


def store_credentials(folder: Path, url: str) -> None:
    """The same, for all later commands in a repository: no token is stored."""
    name = f"{_credential(url)}.helper"
    asks(folder, "config", "--unset-all", name)
    git(folder, "config", "--add", name, "")
    git(folder, "config", "--add", name, helper_for(url))


def helper_for(url: str) -> str:
    return f"!{program(anywhere=True)} git-credential --server {shlex.quote(server_in(url))}"


def server_in(url: str) -> str:
    """The server that a URL of a repository is on."""
    parts = urlsplit(url)
    return urlunsplit((parts.scheme, parts.netloc, "", "", ""))


def without_user(url: str) -> str:
    """A URL without a user name and a password in it."""
    parts = urlsplit(url)
    if not parts.scheme or "@" not in parts.netloc or parts.scheme == "ssh":
        return url
    return urlunsplit(parts._replace(netloc=parts.netloc.rpartition("@")[2]))


def repo_url(server: str, repo: str) -> str:
    return f"{server.rstrip('/')}/git/{repo}.git"


def no_prompt() -> None:
    """Let git fail instead of asking for a password, which our credential helper provides."""
    os.environ.setdefault("GIT_TERMINAL_PROMPT", "0")


def _credential(url: str) -> str:
    return f"credential.{server_in(url)}"


def _command_in(words: Sequence[str]) -> str:
    """The command among the words, behind `-c` and its settings."""
    rest = list(words)
    while rest[:1] == ["-c"]:
        rest = rest[2:]
    return rest[0] if rest else ""
