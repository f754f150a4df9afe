"""What Pitstop does with git around an agent: the state before it, what it changed, and the commit."""

from collections.abc import Mapping

from msgspec import Struct

from pitstop.engine.frame import Activation
from pitstop.steps.agents.failures import CannotCommit
from pitstop.steps.safe_git import IDENTITY, SAFE_GIT, run_git
from pitstop.steps.workplace import Workplace

_BEFORE = f"""
git rev-parse --verify HEAD
cp -- "$(git rev-parse --git-path config)" "$CONFIG"
git symbolic-ref -q HEAD || echo
{SAFE_GIT} status --porcelain | head -n 20
"""
# The settings are put back first: a filter in them would be run by `git add`, and not as the agent was, but unguarded.
# Commits that the agent made itself are taken back, and their changes stay. The changes are collected in an index of
# their own, so that what the user has staged stays as it is.
_AFTER = f"""
config=$(git rev-parse --git-path config)
cmp -s -- "$CONFIG" "$config" || cp -- "$CONFIG" "$config"
if [ -n "$REF" ]; then git symbolic-ref HEAD "$REF"; else git update-ref --no-deref HEAD "$BASE"; fi
if [ "$(git rev-parse HEAD)" != "$BASE" ]; then git reset -q --soft "$BASE"; fi
index=$(git rev-parse --git-path index)
if [ -f "$index" ]; then cp -p -- "$index" "$INDEX"; fi
export GIT_INDEX_FILE="$INDEX"
{SAFE_GIT} add -A
{SAFE_GIT} diff --cached --no-renames --numstat -z "$BASE"
rm -f -- "$INDEX"
"""
_COMMIT = f"""
{SAFE_GIT} add -A
if {SAFE_GIT} diff --cached --quiet "$BASE"; then exit 0; fi
{SAFE_GIT} commit -q --no-verify -F -
git rev-parse HEAD
"""


class Before(Struct, frozen=True):
    """The repository before an agent: its commit, and the first of the files that are not committed."""

    commit: str
    ref: str = ""  # the branch; empty if no branch is checked out
    uncommitted: tuple[str, ...] = ()


class Changes(Struct, frozen=True):
    """What an agent changed: files, and lines that were added or removed."""

    files: tuple[str, ...] = ()
    lines: int = 0


class WorkspaceGit:
    """Runs git in the workspace, wherever that is, without the environment of the agent."""

    def __init__(self, workplace: Workplace, activation: Activation, key: str) -> None:
        """`key` is the execution key of the agent's command."""
        self._workplace = workplace
        self._activation = activation
        self._files = {name: workplace.result_file(key, name.lower()).path for name in ("INDEX", "CONFIG")}

    async def look(self) -> Before | None:
        """The state before the agent; None where there is no repository with a commit."""
        code, output = await self._run(_BEFORE, self._files)
        if code != 0:
            return None
        commit, ref, *uncommitted = output.decode(errors="replace").splitlines()
        return Before(commit, ref, tuple(line[3:] for line in uncommitted))

    async def texts(self, commit: str, names: tuple[str, ...]) -> dict[str, str]:
        """Files of a commit, as far as they exist."""
        asked = "".join(f"{commit}:{name}\n" for name in names)
        code, output = await self._run("git cat-file --batch", stdin=asked.encode())
        return files_in(output, names) if code == 0 else {}

    async def changes(self, before: Before) -> Changes:
        """What the agent changed, which is not committed any more even if it was. Ignored files do not count."""
        code, output = await self._run(_AFTER, {"BASE": before.commit, "REF": before.ref, **self._files})
        return changes_in(output) if code == 0 else Changes()

    async def commit(self, before: Before, message: str) -> str | None:
        """Commit all changes as one commit; None if there are none. CannotCommit."""
        code, output = await self._run(_COMMIT, {"BASE": before.commit, **IDENTITY}, message.encode(errors="replace"))
        if code != 0:
            said = output.decode(errors="replace").strip()[-500:]
            raise CannotCommit(f"git could not commit the changes of the agent: {said}")
        return output.decode().strip() or None

    async def _run(self, script: str, env: Mapping[str, str] | None = None, stdin: bytes = b"") -> tuple[int, bytes]:
        """The exit code, and the output: that of stderr if it failed."""
        return await run_git(self._workplace, self._workplace.next_key(self._activation), script, env, stdin)


def files_in(batch: bytes, names: tuple[str, ...]) -> dict[str, str]:
    """What `git cat-file --batch` says when it is asked for these files."""
    found: dict[str, str] = {}
    for name in names:
        about, _, batch = batch.partition(b"\n")
        if about.endswith(b" missing") or not about:
            continue
        _, kind, size = about.split()
        if kind == b"blob":
            found[name] = batch[: int(size)].decode(errors="replace")
        batch = batch[int(size) + 1 :]
    return found


def changes_in(numstat: bytes) -> Changes:
    """What `git diff --numstat -z` says. A binary file counts as one line."""
    files: list[str] = []
    lines = 0
    for row in numstat.split(b"\0"):
        parts = row.split(b"\t", 2)
        if len(parts) == 3:
            added, removed, path = parts
            lines += 1 if added == b"-" else int(added) + int(removed)
            files.append(path.decode(errors="replace"))
    return Changes(tuple(files), lines)
