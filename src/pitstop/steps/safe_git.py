"""How git is run in a workspace: a repository there may be a stranger's, so nothing in its settings is to be run."""

from collections.abc import Mapping

from pitstop.engine.executor import Command, CommandRef
from pitstop.steps.workplace import Workplace

SAFE = (
    *("-c", "core.hooksPath=/dev/null", "-c", "core.fsmonitor=false", "-c", "commit.gpgsign=false"),
    *("-c", "core.quotePath=false", "-c", "diff.external=", "-c", "core.pager=cat"),
)
SAFE_GIT = f"git {' '.join(SAFE)}"
GIT_ENVIRONMENT = {
    "GIT_CONFIG_GLOBAL": "/dev/null",  # the home of the workspace is the agent's
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_OPTIONAL_LOCKS": "0",  # `status` would lock the user's index, and leave the lock when it is killed
    "LC_ALL": "C.UTF-8",
}
IDENTITY = {
    f"GIT_{role}_{part}": text
    for role in ("AUTHOR", "COMMITTER")
    for part, text in (("NAME", "Pitstop"), ("EMAIL", "pitstop@localhost"))
}
_OUTPUT_BYTES = 16 * 1024 * 1024


async def run_git(
    workplace: Workplace, key: str, script: str, env: Mapping[str, str] | None = None, stdin: bytes = b""
) -> tuple[int, bytes]:
    """Run a script in the workspace, wherever that is: its exit code, and its output, which is stderr if it failed."""
    ref = CommandRef(workplace.workspace.id, key)
    given = {**GIT_ENVIRONMENT, **(env or {})}
    command = Command(key=key, script=script, env=given, stdin=stdin, inherits=False)
    said: dict[str, bytes] = {"stdout": b"", "stderr": b""}
    try:
        await workplace.executor.start(workplace.workspace, command)
        async for chunk in workplace.executor.logs(ref):
            said[chunk.stream] = (said[chunk.stream] + chunk.data)[:_OUTPUT_BYTES]
        result = await workplace.executor.wait(ref)
    except BaseException:
        await workplace.executor.cancel(ref, 0)
        raise
    code = result.exit_code if result.exit_code is not None else 1
    return code, said["stdout"] if code == 0 else said["stderr"]
