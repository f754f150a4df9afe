"""The files of a workspace as commits that neither the user's branch nor index sees."""

from collections.abc import Mapping, Sequence
from secrets import token_hex

from msgspec import Struct

from pitstop.engine.frame import Activation
from pitstop.errors import StepFailure
from pitstop.steps.agents.workspace_git import Changes, changes_in
from pitstop.steps.safe_git import IDENTITY, SAFE_GIT, run_git
from pitstop.steps.workplace import Workplace

REPORTS = "debug"
MOST_DIFF_BYTES = 8 * 1024 * 1024
_ESCAPED = "surrogateescape"  # what becomes of bytes that are not UTF-8
# What tools leave behind, and no fix consists of
_LEFT_BY_TOOLS = "__pycache__/\n*.pyc\n.pytest_cache/\n.mypy_cache/\n.ruff_cache/\n.coverage\nnode_modules/\n.venv/\n"

# Where there is no repository with a commit, one in the control folder does its work
_FIND = """
set -e
[ "$IN_PLACE" ] || export GIT_CEILING_DIRECTORIES="${PWD%/*}"
if [ -d "$OWN" ] || ! git rev-parse -q --verify HEAD >/dev/null 2>&1 || git check-ignore -q "$PWD" 2>/dev/null; then
  [ -d "$OWN" ] || git init -q --bare "$OWN"
  export GIT_DIR="$OWN"
  echo "$OWN"
else
  echo
fi
git rev-parse --git-path index
"""
_GIT = (
    """
set -e
[ "$IN_PLACE" ] || export GIT_CEILING_DIRECTORIES="${PWD%/*}"
[ -z "$OWN" ] || export GIT_DIR="$OWN" GIT_WORK_TREE="$PWD"
"""
    f'g() {{ {SAFE_GIT} -c core.excludesFile="$EXCLUDES" -c core.bare=false -c core.autocrlf=false "$@"; }}\n'
)
_INDEX = """
trap 'rm -f -- "$INDEX" "$INDEX.lock"' EXIT
[ ! -f "$USER_INDEX" ] || cp -p -- "$USER_INDEX" "$INDEX"
export GIT_INDEX_FILE="$INDEX"
g add -A >/dev/null 2>&1 || g add -A --ignore-errors || true
"""
_UNLESS_SAME = """
tree=$(g write-tree)
if [ "$tree" = "$(git rev-parse "$PARENT^{tree}")" ]; then git update-ref "$REF" "$PARENT"; exit 0; fi
"""
_UNLESS_ONLY_REPORTS = """
tree=$(g write-tree)
if g diff --quiet --no-ext-diff "$PARENT" "$tree" -- . "$NOT_REPORTS"; then exit 0; fi
"""
_COMMIT = """
commit=$(g commit-tree "$tree" -p "$PARENT" -F -)
git update-ref "$REF" "$commit"
echo "$commit"
"""
# Both end with a NUL more than the last of their rows has, if there is one
_NUMBERS = """
numbers() { g diff --no-renames --numstat -z "$@" -- . "$NOT_REPORTS"; printf '\\0'; }
"""
_CHANGE = f"""{_NUMBERS}
numbers "$BEFORE" "$AFTER"
g diff -U50 --text --no-textconv --no-color --no-renames --no-ext-diff "$BEFORE" "$AFTER" -- . "$NOT_REPORTS" \\
  | head -c {MOST_DIFF_BYTES}
"""
_BEGIN = """
tree=$(g write-tree)
commit=$(git rev-parse -q --verify HEAD || true)
if [ -z "$commit" ] || [ "$tree" != "$(git rev-parse "$commit^{tree}")" ]; then
  commit=$(g commit-tree "$tree" ${commit:+-p "$commit"} -F -)
fi
git update-ref "$REF" "$commit"
echo "$commit"
"""
_RESTORE = """
g read-tree --reset -u "$TO"
[ "$REPORTS_OF" ] && [ "$REPORTS_OF" != "$TO" ] || exit 0
if git cat-file -e "$REPORTS_OF:./debug" 2>/dev/null; then g checkout -q "$REPORTS_OF" -- debug; fi
"""
# What is missing after that, the loop sees for itself. The branch is its own, and so is a lock that git has left
_MEND = """
rm -f -- "$(git rev-parse --git-path "$REF.lock")"
git update-ref "$REF" "$TO" 2>/dev/null || true
while read -r path; do
  [ -e "$path" ] || g checkout -q "$TO" -- "$path" 2>/dev/null || true
done
"""
_REPORTS = """
find debug -name '[0-9][0-9][0-9]_*.md' -print 2>/dev/null || true
git for-each-ref --format='%(refname)' refs/heads/fix/ | while read -r ref; do
  git ls-tree -r --name-only "$ref" -- debug/
done
"""
_BASE = """
found() {
  if [ "$REV" != auto ]; then git rev-parse -q --verify "$REV^{commit}"; return; fi
  for each in origin/HEAD origin/main origin/master main master; do
    if git rev-parse -q --verify "$each^{commit}" >/dev/null; then git merge-base "$each" "$START"; return; fi
  done
  git rev-parse -q --verify HEAD
}
commit=$(found)
[ "$(git rev-parse "$commit^{tree}")" = "$(git rev-parse "$START^{tree}")" ] || echo "$commit"
"""
_STORE = """
mkdir -p "$ARTIFACTS"
git bundle create -q "$ARTIFACTS/$NAME.bundle" "$BRANCH" ^"$START" 2>/dev/null || true
g diff --binary --no-color --no-renames --no-ext-diff "$START" "$BRANCH" > "$ARTIFACTS/$NAME.patch"
git ls-tree -r --name-only "$BRANCH" -- debug/ | while read -r file; do
  git cat-file -e "$START:./$file" 2>/dev/null && continue
  mkdir -p "$ARTIFACTS/$(dirname "$file")" && git cat-file blob "$BRANCH:./$file" > "$ARTIFACTS/$file"
done
"""


class TreeFailed(StepFailure):
    """Git could not read or restore the files of the workspace."""

    code = "step.fix_tree"


class Change(Struct, frozen=True):
    """What differs between two commits, without the reports."""

    files: tuple[str, ...]
    lines: int
    diff: str

    @property
    def is_cut(self) -> bool:
        """Whether the diff does not show everything."""
        return len(self.diff.encode(errors=_ESCAPED)) >= MOST_DIFF_BYTES


class Committed(Struct, frozen=True):
    """A new commit, what it changed, and how many lines differ since the start."""

    commit: str
    change: Change
    lines_since_start: int


class Tree:
    """Commits the files, and puts them back. `branch` is where the commits of a loop are found.

    Each method is one script: starting git takes longer than what it does.
    """

    def __init__(self, workplace: Workplace, activation: Activation, branch: str, *, in_place: bool) -> None:
        self._workplace = workplace
        self._activation = activation
        self._branch = f"refs/heads/{branch}"
        self._in_place = in_place
        self._place: dict[str, str] | None = None
        self._bases: dict[tuple[str, str], str | None] = {}

    async def start(self) -> str:
        """The commit of the files as they are: a new one, if they differ from the last."""
        return (await self._run(_INDEX + _BEGIN, b"the files before the fix loop", REF=self._branch)).strip()

    async def commit(self, message: str, parent: str) -> str | None:
        """Commit the files to the branch. None if they are those of the parent, where the branch is then."""
        script = _INDEX + _UNLESS_SAME + _COMMIT
        return (await self._run(script, message.encode(), PARENT=parent, REF=self._branch)).strip() or None

    async def commit_change(self, message: str, parent: str, start: str) -> Committed | None:
        """Commit the files to the branch, and tell what changed. None if nothing did, or only reports."""
        commit = f'{_INDEX}{_UNLESS_ONLY_REPORTS}{_COMMIT}AFTER="$commit"\n'
        script = f'{commit}{_NUMBERS}numbers "$START" "$AFTER"\n{_CHANGE}'
        told = await self._run(script, message.encode(), PARENT=parent, BEFORE=parent, START=start, REF=self._branch)
        commit, _, rest = told.partition("\n")
        since_start, rest = _numbers_in(rest)
        return Committed(commit, _change_in(rest), since_start.lines) if commit else None

    async def restore(self, commit: str, reports_of: str | None = None) -> None:
        """Make the files those of the commit, but with the debug reports of the other one. Ignored files stay."""
        await self._run(_INDEX + _RESTORE, TO=commit, REPORTS_OF=reports_of or "")

    async def mend(self, head: str, reports: Sequence[str]) -> None:
        """Put back what a script had half done when its process was killed: the branch, and reports that are gone."""
        paths = "".join(f"{path}\n" for path in reports)
        await self._run(_INDEX + _MEND, paths.encode(), TO=head, REF=self._branch)

    async def change(self, before: str, after: str) -> tuple[Change, Sequence[str]]:
        """What differs between two commits, without the reports; and the paths as `reports` has them."""
        script = f"{_CHANGE}\nprintf '\\0'\n{_REPORTS}"
        told = await self._run(script, BEFORE=before, AFTER=after)
        change, _, paths = told.rpartition("\0")
        return _change_in(change), paths.splitlines()

    async def files(self, commit: str) -> Sequence[str]:
        """The paths of all files of a commit."""
        return (await self._run(f"g ls-tree -r --name-only {commit}")).splitlines()

    async def reports(self) -> Sequence[str]:
        """Paths of the debug reports in the files and on all branches of fix loops."""
        return (await self._run(_REPORTS)).splitlines()

    async def base(self, rev: str, start: str) -> str | None:
        """The commit to compare with, if there is one with other files. An agent cannot change it later."""
        if (rev, start) not in self._bases:
            code, found = await self._try(_BASE, REV=rev, START=start)
            self._bases[rev, start] = (found.strip() or None) if code == 0 else None
        return self._bases[rev, start]

    async def head(self) -> str | None:
        """The commit that the branch is at."""
        code, found = await self._try(f"git rev-parse -q --verify {self._branch}")
        return found.strip() if code == 0 else None

    async def store(self, start: str) -> None:
        """Make artifacts of what the branch has since the start: a bundle, a patch, and the reports."""
        name = self._activation.step.path
        artifacts = self._workplace.workspace.artifacts
        await self._run(_STORE, BRANCH=self._branch, START=start, ARTIFACTS=artifacts, NAME=name)

    async def _run(self, script: str, said: bytes = b"", **env: str) -> str:
        code, output = await self._try(script, said, **env)
        if code != 0:
            raise _failed(output)
        return output

    async def _try(self, script: str, stdin: bytes = b"", **env: str) -> tuple[int, str]:
        control = self._workplace.workspace.control
        if self._place is None:
            self._place = await self._find()
        index = f"{control}/fix-index-{token_hex(4)}"
        return await self._execute(_GIT + script, stdin, {**self._place, "INDEX": index, **env})

    async def _find(self) -> dict[str, str]:
        """Where the repository is, for all scripts that follow."""
        workplace, control = self._workplace, self._workplace.workspace.control
        excluded = _LEFT_BY_TOOLS + _own_state_in(workplace.workspace.repo, control)
        await workplace.files.write("control", "fix-excludes", excluded.encode())
        known = {"IN_PLACE": "1" if self._in_place else "", "EXCLUDES": f"{control}/fix-excludes"}
        code, found = await self._execute(_FIND, b"", {**known, "OWN": f"{control}/fix.git"})
        if code != 0:
            raise _failed(found)
        own, _, index = found.removesuffix("\n").partition("\n")
        return {**known, "OWN": own, "USER_INDEX": index, "NOT_REPORTS": f":(exclude,glob){REPORTS}/**/*.md"}

    async def _execute(self, script: str, stdin: bytes, env: Mapping[str, str]) -> tuple[int, str]:
        workplace = self._workplace
        key = f"{workplace.run}:{self._activation.occurrence}:fix:{token_hex(6)}"  # each is executed anew
        code, output = await run_git(workplace, key, script, {**IDENTITY, **env}, stdin)
        return code, output.decode(errors=_ESCAPED)


def _own_state_in(repo: str, control: str) -> str:
    """The pattern of Pitstop's own state folder, if it is in the folder that is worked in."""
    home = control.rsplit("/", 3)[0]
    return f"/{home.removeprefix(f'{repo}/')}/\n" if home.startswith(f"{repo}/") else ""


def _failed(said: str) -> TreeFailed:
    return TreeFailed(f"git could not handle the files of the workspace: {said.strip()[-500:]}")


def _numbers_in(told: str) -> tuple[Changes, str]:
    """What `numbers` says, and what comes after it."""
    rows, _, rest = f"\0{told}".partition("\0\0")
    return changes_in(rows.encode(errors=_ESCAPED)), rest


def _change_in(told: str) -> Change:
    numbers, diff = _numbers_in(told)
    return Change(numbers.files, numbers.lines, diff)
