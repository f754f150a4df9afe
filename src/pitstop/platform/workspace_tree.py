"""The files of a workspace as commits that neither the user's branch nor index sees."""

from collections.abc import Sequence
from secrets import token_hex

from msgspec import Struct

from pitstop.engine.frame import Activation
from pitstop.errors import StepFailure
from pitstop.steps.agents.workspace_git import changes_in
from pitstop.steps.safe_git import IDENTITY, SAFE_GIT, run_git
from pitstop.steps.workplace import Workplace

REPORTS = "debug"
MOST_DIFF_BYTES = 8 * 1024 * 1024
_ESCAPED = "surrogateescape"  # what becomes of bytes that are not UTF-8
# What tools leave behind, and no fix consists of
_LEFT_BY_TOOLS = "__pycache__/\n*.pyc\n.pytest_cache/\n.mypy_cache/\n.ruff_cache/\n.coverage\nnode_modules/\n.venv/\n"

# Where there is no repository with a commit, one in the control folder does its work
_START = (
    """
set -e
[ "$IN_PLACE" ] || export GIT_CEILING_DIRECTORIES="${PWD%/*}"
if [ -d "$OWN" ] || ! git rev-parse -q --verify HEAD >/dev/null 2>&1 || git check-ignore -q "$PWD" 2>/dev/null; then
  [ -d "$OWN" ] || git init -q --bare "$OWN"
  export GIT_DIR="$OWN" GIT_WORK_TREE="$PWD"
fi
index=$(git rev-parse --git-path index)
[ ! -f "$index" ] || cp -p -- "$index" "$INDEX"
export GIT_INDEX_FILE="$INDEX"
trap 'rm -f -- "$INDEX" "$INDEX.lock"' EXIT
"""
    f'g() {{ {SAFE_GIT} -c core.excludesFile="$EXCLUDES" -c core.bare=false -c core.autocrlf=false "$@"; }}\n'
)
_COMMIT = """
g add -A >/dev/null 2>&1 || g add -A --ignore-errors || true
tree=$(g write-tree)
if [ "$tree" = "$(git rev-parse "$PARENT^{tree}")" ]; then git update-ref "$REF" "$PARENT"; exit 0; fi
commit=$(g commit-tree "$tree" -p "$PARENT" -F -)
git update-ref "$REF" "$commit"
echo "$commit"
"""
_BEGIN = """
g add -A >/dev/null 2>&1 || g add -A --ignore-errors || true
tree=$(g write-tree)
commit=$(git rev-parse -q --verify HEAD || true)
if [ -z "$commit" ] || [ "$tree" != "$(git rev-parse "$commit^{tree}")" ]; then
  commit=$(g commit-tree "$tree" ${commit:+-p "$commit"} -F -)
fi
git update-ref "$REF" "$commit"
echo "$commit"
"""
_RESTORE = """
g add -A >/dev/null 2>&1 || g add -A --ignore-errors || true
g read-tree --reset -u "$TO"
if [ "$REPORTS_OF" ] && git cat-file -e "$REPORTS_OF:./debug" 2>/dev/null; then g checkout -q "$REPORTS_OF" -- debug; fi
"""
_REPORTS = """
find debug -name '[0-9][0-9][0-9]_*.md' -print 2>/dev/null || true
git for-each-ref --format='%(refname)' refs/heads/fix/ | while read -r ref; do
  git ls-tree -r --name-only "$ref" -- debug/
done
"""
_BASE = """
if [ "$REV" != auto ]; then git rev-parse -q --verify "$REV^{commit}"; exit; fi
for each in origin/HEAD origin/main origin/master main master; do
  if git rev-parse -q --verify "$each^{commit}" >/dev/null; then git merge-base "$each" "$START"; exit; fi
done
git rev-parse -q --verify HEAD
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


class Tree:
    """Commits the files, and puts them back. `branch` is where the commits of a loop are found."""

    def __init__(self, workplace: Workplace, activation: Activation, branch: str, *, in_place: bool) -> None:
        self._workplace = workplace
        self._activation = activation
        self._branch = f"refs/heads/{branch}"
        self._in_place = in_place
        self._has_excludes = False

    async def start(self) -> str:
        """The commit of the files as they are: a new one, if they differ from the last."""
        return (await self._run(_BEGIN, b"the files before the fix loop", REF=self._branch)).strip()

    async def commit(self, message: str, parent: str) -> str | None:
        """Commit the files to the branch. None if they are those of the parent, where the branch is then."""
        committed = await self._run(_COMMIT, message.encode(), PARENT=parent, REF=self._branch)
        return committed.strip() or None

    async def restore(self, commit: str, reports_of: str | None = None) -> None:
        """Make the files those of the commit, but with the debug reports of the other one. Ignored files stay."""
        await self._run(_RESTORE, TO=commit, REPORTS_OF=reports_of or "")

    async def change(self, before: str, after: str) -> Change:
        """What differs between two commits, without the reports."""
        words = f"{before} {after} -- . ':(exclude,glob){REPORTS}/**/*.md'"
        numbers = changes_in((await self._run(f"g diff --no-renames --numstat -z {words}")).encode(errors=_ESCAPED))
        options = "-U50 --text --no-textconv --no-color --no-renames --no-ext-diff"
        diff = await self._run(f"g diff {options} {words} | head -c {MOST_DIFF_BYTES}")
        return Change(numbers.files, numbers.lines, diff)

    async def files(self, commit: str) -> Sequence[str]:
        """The paths of all files of a commit."""
        return (await self._run(f"g ls-tree -r --name-only {commit}")).splitlines()

    async def reports(self) -> Sequence[str]:
        """Paths of the debug reports in the files and on all branches of fix loops."""
        return (await self._run(_REPORTS)).splitlines()

    async def base(self, rev: str, start: str) -> str | None:
        """The commit to compare with, if there is one with other files."""
        code, found = await self._try(_BASE, REV=rev, START=start)
        commit = found.strip()
        if code != 0 or not commit:
            return None
        is_same = not await self._run(f"g diff --name-only {commit} {start} | head -c 100")
        return None if is_same else commit

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
            raise TreeFailed(f"git could not handle the files of the workspace: {output.strip()[-500:]}")
        return output

    async def _try(self, script: str, stdin: bytes = b"", **env: str) -> tuple[int, str]:
        workplace, control = self._workplace, self._workplace.workspace.control
        if not self._has_excludes:
            excluded = _LEFT_BY_TOOLS + _own_state_in(workplace.workspace.repo, control)
            await workplace.files.write("control", "fix-excludes", excluded.encode())
            self._has_excludes = True
        key = f"{workplace.run}:{self._activation.occurrence}:fix:{token_hex(6)}"  # each is executed anew
        places = {
            "OWN": f"{control}/fix.git",
            "EXCLUDES": f"{control}/fix-excludes",
            "INDEX": f"{control}/fix-index-{token_hex(4)}",
            "IN_PLACE": "1" if self._in_place else "",
        }
        code, output = await run_git(workplace, key, _START + script, {**IDENTITY, **places, **env}, stdin)
        return code, output.decode(errors=_ESCAPED)


def _own_state_in(repo: str, control: str) -> str:
    """The pattern of Pitstop's own state folder, if it is in the folder that is worked in."""
    home = control.rsplit("/", 3)[0]
    return f"/{home.removeprefix(f'{repo}/')}/\n" if home.startswith(f"{repo}/") else ""
