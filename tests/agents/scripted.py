"""An agent CLI that acts out a script: it writes what each real CLI writes, and its tools really act."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))  # it is run as a file, in any folder

from tests.agents.scripted_calls import Call, Result, Verdict, act, write, write_file, write_line, writing
from tests.agents.scripted_claude import Claude
from tests.agents.scripted_formats import Aider, Format, Opencode
from tests.agents.scripted_hooks import Codex, Gemini

TYPE_CHECKING = False  # `typing` is slow to import
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import Any

    Json = dict[str, Any]

FORMATS: dict[str, type[Format]] = {
    "claude": Claude,
    "codex": Codex,
    "gemini": Gemini,
    "opencode": Opencode,
    "aider": Aider,
    "lines": Format,
}


class Agent:
    """Takes the steps of a script one after another."""

    def __init__(self, script: Json, speaks: Format) -> None:
        self.script = script
        self.speaks = speaks

    def take(self, step: Json, parent: str | None = None) -> None:
        """Take one step; its first field says which."""
        kind = next(iter(step))
        if kind in ("tool", "name"):
            self.make([step], parent)
        elif kind == "say":
            self.speaks.say(step["say"], parent)
        else:
            STEPS[kind](self, step)

    def make(self, steps: list[Json], parent: str | None = None, in_reverse: bool = False) -> None:
        """Make calls at the same time. Each returns when it has ended, or, in reverse, after the one behind it."""
        calls = [self.speaks.call_of(step, parent) for step in steps]
        for call in calls:
            self.speaks.announce(call)
        returned = [threading.Event() for _ in (*calls, None)]
        returned[-1].set()

        def run(place: int) -> None:
            last = returned[place + 1 if in_reverse else -1]
            self._run(calls[place], steps[place].get("steps", ()), last)
            returned[place].set()

        threads = [threading.Thread(target=run, args=(place,)) for place in range(1, len(calls))]
        for thread in threads:
            thread.start()
        run(0)
        for thread in threads:
            thread.join()

    def _run(self, call: Call, nested: Iterable[Json], last: threading.Event) -> None:
        """Run a call if the gate allows it; it returns after the `last` one."""
        given = call.input
        verdict = self.speaks.before(call) if call.is_gated else Verdict(given)
        if verdict.refusal is not None:
            last.wait()
            self._record(call, verdict.refusal, "refused")
            self.speaks.refused(call, verdict.refusal)
            return
        call.input = verdict.input
        self.speaks.started(call)
        for step in nested:
            self.take(step, call.call)
        result = act(call)
        last.wait()
        told = self.speaks.after(call, result) if call.is_gated else result
        self._record(call, told.output, "ran" if call.input == given else "changed")
        self.speaks.returned(call, told)

    def _record(self, call: Call, told: str, how: str) -> None:
        if path := self.script.get("record_calls"):
            line = {"call": call.call, "name": call.name, "input": call.input, "how": how, "told": told}
            with writing, Path(path).open("a") as file:
                file.write(json.dumps(line) + "\n")

    def parallel(self, step: Json) -> None:
        self.make(step["parallel"], None, step.get("in_reverse", False))

    def hang(self, step: Json) -> None:
        while True:
            time.sleep(3600)

    def wait(self, step: Json) -> None:
        Path(step["wait"]).read_bytes()  # of a FIFO: returns when the test has opened and closed it

    def flood(self, step: Json) -> None:
        for number in range(step["flood"]):
            self.speaks.say(f"line {number}")

    def flood_calls(self, step: Json) -> None:
        for number in range(step["flood_calls"]):
            call = self.speaks.call_of({"tool": "shell", "command": f"true {number}", "ungated": True})
            self.speaks.announce(call)
            self.speaks.started(call)
            self.speaks.returned(call, Result("", True))

    def half_line(self, step: Json) -> None:
        write(step["half_line"].encode())
        os._exit(step.get("exit", 0))

    def long_line(self, step: Json) -> None:
        self.speaks.say("x" * step["long_line"])

    def raw(self, step: Json) -> None:
        write(step["raw"].encode("latin-1"))

    def bad_utf8(self, step: Json) -> None:
        self.speaks.say(b"not \xff\xfe text".decode(errors="surrogateescape"))

    def wrong_shapes(self, step: Json) -> None:
        for shape in WRONG_SHAPES:
            write_line(shape)

    def daemon(self, step: Json) -> None:
        argv = ["/bin/sleep", str(step["daemon"])]
        out = None if step.get("holds_output") else subprocess.DEVNULL
        child = subprocess.Popen(argv, start_new_session=True, stdin=subprocess.DEVNULL, stdout=out, stderr=out)
        child.returncode = 0  # it is left behind on purpose: no warning about it
        if path := step.get("pid_file"):
            write_file(path, str(child.pid))

    def fork_bomb(self, step: Json) -> None:
        started = 0
        try:
            while started < step["fork_bomb"]:
                os.posix_spawn("/bin/sleep", ["sleep", "1000"], os.environ)
                started += 1
        except OSError as error:
            self.speaks.say(f"refused: {error}")
        self.speaks.say(f"started {started} processes")

    def delete_workspace(self, step: Json) -> None:
        self.make([{"tool": "shell", "command": "rm -rf -- * .[!.]*"}])

    def commit(self, step: Json) -> None:
        author = "-c user.name=Agent -c user.email=agent@example.org"
        command = f"git add -A && git {author} commit --quiet --allow-empty --message '{step['commit']}'"
        self.make([{"tool": "shell", "command": command}])

    def crash(self, step: Json) -> None:
        os.kill(os.getpid(), signal.SIGKILL)
        os._exit(137)  # the first process of a container cannot kill itself

    def exit(self, step: Json) -> None:
        os._exit(step["exit"])


WRONG_SHAPES: list[Any] = [
    [],
    42,
    None,
    "text",
    {"type": None},
    {"type": "assistant"},
    {"type": "assistant", "message": []},
    {"type": "assistant", "message": {"content": [7, {"type": "tool_use"}]}},
    {"type": "user", "message": {"content": {"tool_use_id": 1}}},
    {"type": "item.completed", "item": "x"},
    {"type": "item.started", "item": {"type": "command_execution", "id": 5}},
    {"type": "turn.completed", "usage": []},
    {"type": "tool_use", "tool_id": 5, "parameters": "x", "part": []},
    {"type": "tool_result", "tool_id": None},
    {"type": "step_finish", "part": {"tokens": "many"}},
]

# A script: {"format", "steps"} and, if wanted, "session", "model", "cost", "turns", "tokens": {"in", "out", "cached"},
# "status": "failed" with a "reason", "exit" (a code), "ignore_sigterm", and files to write: "record_prompt",
# "record_env", "record_argv", "record_calls" (a line for each call: how it ended, and what the model is told of it).
# A step is {"say": text}, or a call {"tool": "shell" | "edit" | "read" | "task", and "command" | "path", "content" |
# "steps"}, or one of STEPS. A call may have an "id", be "ungated", and be of any "name" with an "input" and "output".
STEPS: dict[str, Callable[[Agent, Json], None]] = {
    "parallel": Agent.parallel,
    "hang": Agent.hang,
    "wait": Agent.wait,
    "flood": Agent.flood,
    "flood_calls": Agent.flood_calls,
    "half_line": Agent.half_line,
    "long_line": Agent.long_line,
    "raw": Agent.raw,
    "bad_utf8": Agent.bad_utf8,
    "wrong_shapes": Agent.wrong_shapes,
    "daemon": Agent.daemon,
    "fork_bomb": Agent.fork_bomb,
    "delete_workspace": Agent.delete_workspace,
    "commit": Agent.commit,
    "crash": Agent.crash,
    "exit": Agent.exit,
}


def main() -> int:
    """Act out the script; the answer is the exit code."""
    path = sys.argv[sys.argv.index("--script") + 1] if "--script" in sys.argv else os.environ["SCRIPTED_AGENT"]
    script: Json = json.loads(Path(path).read_text())
    if script.get("ignore_sigterm"):
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    speaks = FORMATS[script["format"]](script)
    prompt = speaks.read_prompt()
    told = {"record_prompt": prompt, "record_env": json.dumps(dict(os.environ)), "record_argv": json.dumps(sys.argv)}
    for name in told.keys() & script.keys():
        write_file(script[name], told[name])
    speaks.begin(prompt)
    agent = Agent(script, speaks)
    for step in script.get("steps", ()):
        agent.take(step)
    exit_code = speaks.finish()
    return int(script.get("exit", exit_code))


if __name__ == "__main__":
    os._exit(main())  # a thread may still wait for stdin
