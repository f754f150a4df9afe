"""The command `pitstop` as a process that is forked from one which has imported it: real, and started at once."""

import asyncio
import json
import sys
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

PROGRAM = str(Path(sys.executable).with_name("pitstop"))
COMMANDS = ("check", "fire", "ingest", "land", "repos", "run", "runs", "tokens")
FORKING = """
import asyncio, json, os, sys
from pitstop.__main__ import load_command, main
import pitstop.service.remote.opening
for name in sys.argv[2:]:
    load_command(name)
for line in sys.stdin:
    asked = json.loads(line)
    pid = os.fork()
    if not pid:
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        output = os.open(asked["output"], os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        os.dup2(output, 1)
        os.dup2(output, 2)
        os.chdir(asked["at"])
        os.environ.clear()
        os.environ.update(asked["environment"])
        sys.argv = [sys.argv[1], *asked["words"]]
        main()
    print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), flush=True)
"""


class WarmCommand:
    """Executes one command line at a time."""

    def __init__(self, process: asyncio.subprocess.Process, output: Path) -> None:
        self._process = process
        self._output = output

    async def run(self, words: Sequence[str], at: Path, environment: Mapping[str, str]) -> tuple[int, str]:
        """The exit code, and what was printed."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        asked = {"words": words, "at": str(at), "environment": dict(environment), "output": str(self._output)}
        self._process.stdin.write(json.dumps(asked).encode() + b"\n")
        code = int(await self._process.stdout.readline())
        return code, self._output.read_text(errors="replace").strip()


@asynccontextmanager
async def warm_command(folder: Path) -> AsyncIterator[WarmCommand]:
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-c", FORKING, PROGRAM, *COMMANDS),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
    )
    try:
        yield WarmCommand(process, folder / "printed")
    finally:
        assert process.stdin is not None
        process.stdin.close()
        await process.wait()
