"""Microsoft's own client for tests of adapters, with every message that it exchanged judged afterwards."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.doors.dap.protocol import Trace, check_conversation

Arguments = dict[str, Any]
Asked = tuple[str, Arguments]  # a request that was met

HERE = Path(__file__).parent


@pytest.fixture
def node_modules() -> Path:
    """The packages of the lock file, installed once."""
    folder = HERE / "node"
    npm = shutil.which("npm")
    assert npm is not None, "these tests need Node.js 20 or newer"
    if not (folder / "node_modules/.package-lock.json").exists():
        subprocess.run([npm, "ci", "--no-audit", "--no-fund"], cwd=folder, check=True, capture_output=True, timeout=400)
    return folder


def read_traces(folder: Path) -> list[Trace]:
    """Of whoever was killed while it wrote, the last line is not whole."""
    return [
        [(sender, message) for sender, message in map(json.loads, file.read_text().split("\n")[:-1])]
        for file in folder.glob("*.jsonl")
    ]


def asked(command: str, fits: Callable[[Arguments], object] = lambda arguments: True) -> Callable[[Asked], bool]:
    return lambda each: each[0] == command and bool(fits(each[1]))


def a_breakpoint_has(name: str) -> Callable[[Asked], bool]:
    return asked("setBreakpoints", lambda given: any(name in each for each in given["breakpoints"]))


# What a conversation has in it that makes use of a capability
USES: dict[str, Callable[[Asked], bool]] = {
    "supportsConfigurationDoneRequest": asked("configurationDone"),
    "supportsFunctionBreakpoints": asked("setFunctionBreakpoints", lambda given: given["breakpoints"]),
    "supportsConditionalBreakpoints": a_breakpoint_has("condition"),
    "supportsHitConditionalBreakpoints": a_breakpoint_has("hitCondition"),
    "supportsLogPoints": a_breakpoint_has("logMessage"),
    "breakpointModes": a_breakpoint_has("mode"),
    "supportsEvaluateForHovers": asked("evaluate", lambda given: given.get("context") == "hover"),
    "supportsClipboardContext": asked("evaluate", lambda given: given.get("context") == "clipboard"),
    "exceptionBreakpointFilters": asked("setExceptionBreakpoints", lambda given: given["filters"]),
    "supportsExceptionFilterOptions": asked("setExceptionBreakpoints", lambda given: given.get("filterOptions")),
    "supportsExceptionInfoRequest": asked("exceptionInfo"),
    "supportsStepBack": asked("stepBack"),
    "supportsSetVariable": asked("setVariable"),
    "supportsSetExpression": asked("setExpression"),
    "supportsRestartFrame": asked("restartFrame"),
    "supportsRestartRequest": asked("restart"),
    "supportsGotoTargetsRequest": asked("goto"),
    "supportsStepInTargetsRequest": asked("stepIn", lambda given: given.get("targetId")),
    "supportsCompletionsRequest": asked("completions"),
    "completionTriggerCharacters": asked("completions", lambda given: given["text"][-1:] in (".", "|", "[")),
    "supportTerminateDebuggee": asked("disconnect", lambda given: "terminateDebuggee" in given),
    "supportSuspendDebuggee": asked("disconnect", lambda given: given.get("suspendDebuggee")),
    "supportsDelayedStackTraceLoading": asked("stackTrace", lambda given: given.get("levels") == 1),
    "supportsLoadedSourcesRequest": asked("loadedSources"),
    "supportsTerminateThreadsRequest": asked("terminateThreads"),
    "supportsTerminateRequest": asked("terminate"),
    "supportsDataBreakpoints": asked("setDataBreakpoints", lambda given: given["breakpoints"]),
    "supportsCancelRequest": asked("cancel"),
    "supportsBreakpointLocationsRequest": asked("breakpointLocations"),
    "supportsSingleThreadExecutionRequests": asked("stepOut", lambda given: given.get("singleThread")),
}


def requests_met(trace: Trace) -> list[Asked]:
    good = {message["request_seq"] for sender, message in trace if sender == "adapter" and message.get("success")}
    return [
        (message["command"], message.get("arguments") or {})
        for sender, message in trace
        if sender == "client" and message["seq"] in good
    ]


def capabilities_in(trace: Trace) -> set[str]:
    answers = (message for sender, message in trace if sender == "adapter" and message.get("command") == "initialize")
    return set(next(answers)["body"])


@pytest.mark.timeout(600)  # twenty sessions, one after the other
def test_the_debug_client_drives_every_capability(folder: Path, node_modules: Path) -> None:
    traces = folder / "traces"
    traces.mkdir()
    env = {
        **os.environ,
        "PITSTOP_FLOWS": str(folder),
        "PITSTOP_HOME": str(folder / "home"),
        "PITSTOP_PYTHON": sys.executable,
        "PITSTOP_TEE": str(HERE / "tee.py"),
        "PITSTOP_TRACES": str(traces),
    }
    node = shutil.which("node")
    assert node is not None
    command = [node, "--test", "--test-reporter=tap", "suite.test.mjs"]
    done = subprocess.run(command, cwd=node_modules, env=env, capture_output=True, text=True, timeout=580)

    assert done.returncode == 0, done.stdout
    told = read_traces(traces)
    assert len(told) == done.stdout.count("# Subtest: ")
    for trace in told:
        check_conversation(trace)
    assert {name for trace in told for name in capabilities_in(trace)} == set(USES), "all that is told, and no more"
    met = [each for trace in told for each in requests_met(trace)]
    assert [name for name, is_use in USES.items() if not any(map(is_use, met))] == []
