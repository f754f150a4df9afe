"""`commit`: what a run has changed becomes a commit on its branch."""

from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import aclosing
from typing import Any, ClassVar

from pydantic import Field

from pitstop.engine.executor import Command, CommandRef, CommandResult
from pitstop.engine.frame import Activation
from pitstop.errors import BadRequest, CommandRefused, GitProblem, NeedsServer, Unknown
from pitstop.steps.config import read_config
from pitstop.steps.failures import CommitFailed
from pitstop.steps.fields import StepConfig
from pitstop.steps.safe_git import GIT_ENVIRONMENT, SAFE_GIT
from pitstop.steps.workplace import Workplace

_COMPLAINT_BYTES = 4096
# The files as they are, in an index of their own: first the name of the tree, then what it adds to the commit. The
# minus makes deltas against the commit possible; `--revs --thin` would send all files, because a tree has no history.
_PACK = f"""
set -e
index=$(git rev-parse --git-path index)
if [ -f "$index" ]; then cp -p -- "$index" "$INDEX"; fi
export GIT_INDEX_FILE="$INDEX"
{SAFE_GIT} add -A
tree=$({SAFE_GIT} write-tree)
rm -f -- "$INDEX"
echo "$tree"
{{ echo "-$BASE"; {SAFE_GIT} rev-list --objects "$tree" "^$BASE^{{tree}}"; }} |
    {SAFE_GIT} pack-objects --stdout --delta-base-offset --quiet
"""


class CommitConfig(StepConfig):
    message: str = Field("", description="The commit message.")


class CommitStep:
    """Outputs: the commit (`sha`, null without a change), the `branch`, and whether anything changed (`is_changed`).

    It commits the files of the workspace to the run's branch on the server, which must not have moved since. Files that
    git ignores are left out.
    """

    name: ClassVar[str] = "commit"
    summary: ClassVar[str] = "Commit the run's changes to its branch."
    shorthand_field: ClassVar[str | None] = "message"
    Config: ClassVar[type[CommitConfig]] = CommitConfig

    def __init__(self, workplace: Workplace) -> None:
        self._workplace = workplace

    async def act(self, activation: Activation, config: Mapping[str, Any]) -> dict[str, Any]:
        workplace = self._workplace
        given = read_config(self.name, CommitConfig, config, workplace.mask)
        if workplace.workshop is None:
            raise CommitFailed(str(NeedsServer("`commit`")))
        packing = _Packing(workplace, activation, workplace.workshop.sha)
        try:
            async with aclosing(packing.printed()) as printed:
                tree, beginning = await _first_line(printed)
                done = await workplace.workshop.commit(tree, _rest(beginning, printed), given.message)
        except (BadRequest, CommandRefused, Unknown, GitProblem) as error:
            raise CommitFailed(str(error), getattr(error, "files", ())) from error
        said = f"committed {done['sha']} to {done['branch']}" if done["is_changed"] else "no changes to commit"
        workplace.tell(activation, said)
        return dict(done)


class _Packing:
    """Git in the workspace, wherever that is, which prints the tree of the files and a pack of what is new in it."""

    def __init__(self, workplace: Workplace, activation: Activation, base: str) -> None:
        self._workplace = workplace
        self._key = workplace.next_key(activation)
        self._ref = CommandRef(workplace.workspace.id, self._key)
        self._base = base
        self._complaint = b""

    async def printed(self) -> AsyncGenerator[bytes]:
        """What git prints. CommitFailed at the end if git has failed."""
        executor, index = self._workplace.executor, self._workplace.result_file(self._key, "index").path
        env = {**GIT_ENVIRONMENT, "INDEX": index, "BASE": self._base}
        command = Command(key=self._key, script=_PACK, env=env, stdin=b"", inherits=False)
        try:
            await executor.start(self._workplace.workspace, command)
            async for chunk in executor.logs(self._ref):
                if chunk.stream == "stdout":
                    yield chunk.data
                else:
                    self._complaint = (self._complaint + chunk.data)[-_COMPLAINT_BYTES:]
            self._check(await executor.wait(self._ref))
        except BaseException:
            await executor.cancel(self._ref, 0)
            raise

    def _check(self, result: CommandResult) -> None:
        if result.exit_code != 0:
            said = self._complaint.decode(errors="replace").strip()
            raise CommitFailed(f"git could not read the changes: {said or f'exit code {result.exit_code}'}")


async def _first_line(printed: AsyncIterator[bytes]) -> tuple[str, bytes]:
    """The first line, and what came with it of the rest."""
    head = b""
    async for piece in printed:
        head += piece
        if b"\n" in head:
            break
    line, _, rest = head.partition(b"\n")
    return line.decode(errors="replace"), rest


async def _rest(beginning: bytes, printed: AsyncIterator[bytes]) -> AsyncGenerator[bytes]:
    if beginning:
        yield beginning
    async for piece in printed:
        yield piece
