"""Where a stored secret belongs, and which stored secrets a run may have."""

import re
from collections.abc import Iterable, Sequence

from msgspec import Struct

from pitstop.definition.plain import SECRET_PATTERN
from pitstop.errors import BadSecret

SERVER = "server"
EVERY_REPO = "*"
MOST_REPOS = 100
LONGEST_FLOW = 255
LONGEST_VALUE_BYTES = 64 * 1024  # the kernel takes 128 KiB for one variable of a command, name included

_NAME = re.compile(SECRET_PATTERN)
_REPO = re.compile(r"(?!.*\.\.)[a-z0-9][a-z0-9._-]{0,63}")


class SecretRecord(Struct, frozen=True):
    """A stored secret. `repos` may have it where its scope is the server."""

    name: str
    scope: str
    repos: tuple[str, ...]
    created_at: float
    sealed: bytes

    def __repr__(self) -> str:
        return f"SecretRecord({self.name!r}, {self.scope!r})"


def secrets_for(stored: Iterable[SecretRecord], repo: str | None, flow: str | None) -> dict[str, SecretRecord]:
    """The secrets that a run of this flow of this repository may have, by name: the narrowest scope wins.

    A run of a repository gets one of the server only if it allows that repository: anyone who may push may print it.
    """
    scopes = [SERVER]
    if repo is not None:
        scopes.append(f"repo:{repo}")
    if flow is not None:
        scopes.append(f"flow:{repo or ''}:{flow}")
    allowed = [each for each in stored if each.scope != SERVER or _allows(each, repo)]
    return {each.name: each for scope in scopes for each in allowed if each.scope == scope}


def check_secret(name: str, scope: str = SERVER, repos: Sequence[str] = ()) -> None:
    """BadSecret when nothing can be stored under this name and scope, or for these repositories."""
    if not _NAME.fullmatch(name):
        raise BadSecret(
            f"invalid secret name {name!r}: use at most 200 letters, digits and _, and do not start with a digit"
        )
    if not _is_scope(scope):
        raise BadSecret(
            f"invalid scope {scope!r}: use server, repo:<repo> or flow:<repo>:<flow> "
            f"(flow::<flow> for a flow in a flow folder)"
        )
    if repos and scope != SERVER:
        raise BadSecret(f"a secret with scope {scope} cannot have a list of repositories: only scope server can")
    if len(repos) > MOST_REPOS:
        raise BadSecret(f"{len(repos)} repositories are too many: use at most {MOST_REPOS}, or *")
    for repo in repos:
        if repo != EVERY_REPO and not _REPO.fullmatch(repo):
            raise BadSecret(
                f"invalid repository {repo!r}: use *, or at most 64 lowercase letters, digits, '.', '_' and '-'"
            )


def check_value(name: str, value: str) -> None:
    """BadSecret when the value cannot be a variable in the environment of a command."""
    size = len(value.encode(errors="surrogatepass"))
    if not value:
        raise BadSecret(f"the value of {name} is empty: remove the secret instead")
    if size > LONGEST_VALUE_BYTES:
        raise BadSecret(f"the value of {name} has {size:,} bytes, but at most {LONGEST_VALUE_BYTES:,} can be stored")


def _allows(secret: SecretRecord, repo: str | None) -> bool:
    return repo is None or repo in secret.repos or EVERY_REPO in secret.repos


def _is_scope(scope: str) -> bool:
    match scope.split(":", 2):
        case ["server"]:
            return True
        case ["repo", repo]:
            return _REPO.fullmatch(repo) is not None
        case ["flow", repo, flow]:
            is_repo = not repo or _REPO.fullmatch(repo) is not None
            return is_repo and 0 < len(flow) <= LONGEST_FLOW and flow.isprintable()
    return False
