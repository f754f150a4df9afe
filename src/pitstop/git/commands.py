"""How git is run: in an environment of its own, with a limit for its output and its time."""

import asyncio
import os
import signal
from collections.abc import AsyncGenerator, Collection, Iterable, Mapping
from contextlib import suppress
from pathlib import Path

from msgspec import Struct

from pitstop.errors import GitProblem
from pitstop.git.processes import CHUNK_BYTES, PIPE_CLOSED, GitProcess, command_in, discard, start_git

TIMEOUT_SECONDS = 60.0
MOST_OUTPUT_BYTES = 64 * 1024 * 1024
MOST_COMPLAINT_BYTES = 64 * 1024
MOST_NAME_CHARACTERS = 200

# Flaws of old commits that do no harm: well-known repositories have them, and could not be pushed otherwise
IGNORED_FLAWS = ("badTimezone", "missingSpaceBeforeDate", "zeroPaddedFilemode")

Settings = Iterable[tuple[str, str]]

# `core.alternateRefsCommand` must stay unset: git would pass an empty command to the shell. No push can set it.
_SETTINGS = (
    ("core.hooksPath", "/dev/null"),
    ("core.fsmonitor", "false"),
    ("core.logAllRefUpdates", "always"),  # a bare repository keeps no reflogs otherwise
    ("core.filesRefLockTimeout", "5000"),  # milliseconds; a push holds the lock of a ref for a moment
    ("core.packedRefsTimeout", "5000"),
    ("core.pager", "cat"),
    ("gc.auto", "0"),
    ("maintenance.auto", "false"),
    ("protocol.ext.allow", "never"),
    ("safe.directory", "*"),
)
_NOT_IN_NAMES = str.maketrans("", "", "<>\x7f" + "".join(map(chr, range(32))) + "\x85\u2028\u2029")
_NOT_AT_ENDS = " .,:;<>\"\\'"  # git removes these, and refuses a name that has nothing else


class GitOutcome(Struct, frozen=True):
    """How a command of git ended: `is_cut` when it printed more than was asked for."""

    code: int
    output: bytes
    complaint: str
    is_cut: bool = False


def git_name(who: str) -> str:
    """The name as git stores it: without characters that would break a commit or a reflog, and never empty."""
    printable = who.encode(errors="replace").decode().translate(_NOT_IN_NAMES)
    return printable.strip(_NOT_AT_ENDS)[:MOST_NAME_CHARACTERS].strip(_NOT_AT_ENDS) or "unknown"


def identity_of(who: str) -> dict[str, str]:
    """The variables that make this name the author and the committer."""
    name = git_name(who)
    email = f"{'-'.join(name.split())}@pitstop"
    return {
        "GIT_AUTHOR_NAME": name,
        "GIT_AUTHOR_EMAIL": email,
        "GIT_COMMITTER_NAME": name,
        "GIT_COMMITTER_EMAIL": email,
    }


def git_environment(settings: Settings = ()) -> dict[str, str]:
    """The whole environment of git: it inherits only PATH, and reads no configuration of the user or the system."""
    configured = (*_SETTINGS, *settings)
    numbered = {
        f"GIT_CONFIG_{kind}_{number}": text
        for number, pair in enumerate(configured)
        for kind, text in zip(("KEY", "VALUE"), pair, strict=True)
    }
    return {
        "PATH": os.environ.get("PATH", os.defpath),
        "HOME": "/nonexistent",
        "LC_ALL": "C",
        "GIT_ATTR_NOSYSTEM": "1",
        "GIT_CONFIG_GLOBAL": "/dev/null",
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_DEFAULT_HASH": "sha1",
        "GIT_DEFAULT_REF_FORMAT": "files",  # the reflogs are read as files
        "GIT_LITERAL_PATHSPECS": "1",  # a path of a user is never a pattern
        "GIT_NO_LAZY_FETCH": "1",
        "GIT_OPTIONAL_LOCKS": "0",
        "GIT_TERMINAL_PROMPT": "0",
        "GIT_CONFIG_COUNT": str(len(configured)),
        **numbered,
    }


async def run_git(
    repository: Path,
    *words: str,
    input: bytes = b"",
    who: str | None = None,
    environment: Mapping[str, str] | None = None,
    limit_bytes: int = MOST_OUTPUT_BYTES,
    timeout_seconds: float = TIMEOUT_SECONDS,
) -> bytes:
    """What git prints; `environment` is added to its own. Raises `GitProblem`; cancelling it kills git."""
    outcome = await ask_git(
        repository,
        *words,
        codes=(0,),
        input=input,
        who=who,
        environment=environment,
        limit_bytes=limit_bytes,
        timeout_seconds=timeout_seconds,
    )
    if outcome.is_cut:
        raise GitProblem(words[0], f"it printed more than {limit_bytes:,} bytes in {repository}")
    return outcome.output


async def ask_git(
    repository: Path,
    *words: str,
    codes: Collection[int] = (0, 1),
    input: bytes = b"",
    who: str | None = None,
    environment: Mapping[str, str] | None = None,
    limit_bytes: int = MOST_OUTPUT_BYTES,
    timeout_seconds: float = TIMEOUT_SECONDS,
) -> GitOutcome:
    """How git ended, if its exit code is one of these. Output beyond the limit is cut, and git is killed then."""
    identity = {} if who is None else identity_of(who)
    return await finish_git(
        (f"--git-dir={repository}",),
        words,
        environment={**git_environment(), **identity, **(environment or {})},
        codes=codes,
        input=input,
        limit_bytes=limit_bytes,
        timeout_seconds=timeout_seconds,
    )


async def finish_git(
    place: tuple[str, ...],
    words: tuple[str, ...],
    *,
    environment: Mapping[str, str],
    codes: Collection[int],
    timeout_seconds: float,
    input: bytes = b"",
    limit_bytes: int = MOST_OUTPUT_BYTES,
) -> GitOutcome:
    """Run git in an environment that is given whole; `place` are the words before the command. As `ask_git`."""
    process = await start_git(*place, *words, environment=environment)
    try:
        async with asyncio.timeout(timeout_seconds):
            outcome = await _finish(process, input, limit_bytes)
    except TimeoutError as error:
        raise GitProblem(words[0], f"it timed out after {timeout_seconds:g} s") from error
    finally:
        await process.end()
    if not outcome.is_cut and outcome.code not in codes:
        raise GitProblem(words[0], outcome.complaint or f"it ended with exit code {outcome.code}")
    return outcome


async def stream_git(*words: str, environment: Mapping[str, str], input: bytes = b"") -> AsyncGenerator[bytes]:
    """What git prints, piece by piece. Raises `GitProblem` at the end if git has failed; closing it kills git."""
    process = await start_git(*words, environment=environment)
    try:
        await _feed(process, input)
        while chunk := await process.stdout.read(CHUNK_BYTES):
            yield chunk
        complaint = await read_complaint(process.stderr)
        if code := await process.wait():
            raise GitProblem(command_in(words), complaint or f"it ended with exit code {code}")
    finally:
        await process.end()


async def read_complaint(stream: asyncio.StreamReader) -> str:
    """What git says on its standard error, up to a limit. The rest is read as well, so that git does not block."""
    complaint = bytearray()
    while chunk := await stream.read(CHUNK_BYTES):
        complaint += chunk[: MOST_COMPLAINT_BYTES - len(complaint)]
    return complaint.decode(errors="replace").strip()


async def _finish(process: GitProcess, input: bytes, limit_bytes: int) -> GitOutcome:
    async with asyncio.TaskGroup() as group:
        complaint = group.create_task(read_complaint(process.stderr), name="git stderr")
        group.create_task(_feed(process, input), name="git stdin")
        output, is_cut = await _read_at_most(process.stdout, limit_bytes)
        if is_cut:
            process.signal(signal.SIGKILL)
            await discard(process.stdout)
    return GitOutcome(await process.wait(), output, complaint.result(), is_cut)


async def _feed(process: GitProcess, input: bytes) -> None:
    with suppress(*PIPE_CLOSED):  # git ended early: its exit code tells why
        process.stdin.write(input)
        await process.stdin.drain()
    process.stdin.close()


async def _read_at_most(stream: asyncio.StreamReader, limit_bytes: int) -> tuple[bytes, bool]:
    output = bytearray()
    while chunk := await stream.read(CHUNK_BYTES):
        output += chunk
        if len(output) > limit_bytes:
            return bytes(output[:limit_bytes]), True
    return bytes(output), False
