"""Run every benchmark with --quick, one by one: whether each still works, not how fast anything is.

    .venv/bin/python bench/quick.py                     # all of them, about five minutes
    .venv/bin/python bench/quick.py --only cli,web      # some

A script fails when it ends with another code than 0 or takes too long; a missed target is no failure. What a script
printed is shown only when it failed. It ends with 1 when one has failed.
"""

import argparse
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

HERE = Path(__file__).parent
ROOT = HERE.parent
PYTHON_SCRIPTS = (
    *("cli", "commands", "flow_reading", "http_door", "server"),
    *("store", "snapshot", "step_back", "container", "dap", "workshop", "board", "agents", "fix"),
)
COMMANDS: dict[str, Sequence[str]] = {
    "run": (str(ROOT / ".venv-bench/bin/python"), str(HERE / "run.py"), "--quick"),  # it imports the peers
    **{name: (sys.executable, str(HERE / f"{name}.py"), "--quick") for name in PYTHON_SCRIPTS},
    "compare": (sys.executable, str(HERE / "compare.py"), str(ROOT), str(ROOT), "--quick"),
    "web": ("node", str(HERE / "web.mjs"), "--quick"),
}
LONGEST_SECONDS = 300.0  # a busy machine takes several times as long as a quiet one
END_SECONDS = 30.0  # for a script that took too long to remove what it has made


def run_quickly(words: Sequence[str]) -> tuple[str, float]:
    """Why a command failed, empty if it did not, and its seconds."""
    began = time.perf_counter()
    with tempfile.TemporaryFile("w+") as output:
        process = subprocess.Popen(
            words,
            cwd=ROOT,
            env={**os.environ, "PYTHON": sys.executable},
            stdout=output,
            stderr=output,
            start_new_session=True,
        )
        try:
            code = process.wait(LONGEST_SECONDS)
            problem = f"exit code {code}" if code else ""
        except subprocess.TimeoutExpired:
            problem = f"not done after {LONGEST_SECONDS:g} s"
            os.killpg(process.pid, signal.SIGINT)  # as Ctrl-C would: servers and browsers hear it too
            try:
                process.wait(END_SECONDS)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()
        if problem:
            output.seek(0)
            print(output.read(), flush=True)
    return problem, time.perf_counter() - began


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default=",".join(COMMANDS), help=f"which scripts, of {', '.join(COMMANDS)}")
    names = parser.parse_args().only.split(",")
    unknown = [name for name in names if name not in COMMANDS]
    if unknown:
        parser.error(f"no such script: {', '.join(unknown)}; there are {', '.join(COMMANDS)}")
    failed = 0
    print(f"{'script':14} {'':6} seconds", flush=True)
    for name in names:
        problem, seconds = run_quickly(COMMANDS[name])
        failed += bool(problem)
        print(f"{name:14} {'failed' if problem else 'ok':6} {seconds:7.1f}  {problem}".rstrip(), flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
