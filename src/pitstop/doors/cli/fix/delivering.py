"""The end of a fix loop: what became of it, and its result in the user's folder."""

import argparse
import asyncio
import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pitstop.doors.cli.exit_codes import PASSED
from pitstop.doors.cli.fix.lines import closing, summary_markdown
from pitstop.doors.cli.fix.own_tree import OwnTree
from pitstop.errors import GitProblem, UnknownArtifact
from pitstop.program import program
from pitstop.service.runs import ActiveRun

STEP = "test"  # of the flow that `pitstop fix -- COMMAND` makes


async def finish(run: ActiveRun, tree: OwnTree | None, options: argparse.Namespace, what: str, code: int) -> int:
    """Say what became of it, and bring it to the user's folder."""
    notes = [
        (event.fields["note"], event.fields["data"])
        async for event in run.events(run.carried_over)
        if event.kind == "step.noted" and event.fields["note"].startswith("fix.")
    ]
    told = [data for _, data in notes]
    ended = next((data for name, data in reversed(notes) if name == "fix.ended"), None)
    summary = options.summary or os.environ.get("GITHUB_STEP_SUMMARY")
    if summary:
        text = summary_markdown(ended, told, what, passed=code == PASSED)
        await asyncio.to_thread(_append, Path(summary), text)
    if ended is None:
        return code
    lines = [*closing(ended, told)]
    if tree is not None:
        lines += await _deliver(run, tree, ended)
    print("\n".join(lines), file=sys.stderr if options.json else sys.stdout)
    return code


def _append(file: Path, text: str) -> None:
    try:
        with file.open("a", encoding="utf-8") as opened:
            opened.write(text)
    except OSError as error:
        print(f"pitstop fix: cannot write the summary {file}: {error.strerror}", file=sys.stderr)


async def _artifact(run: ActiveRun, name: str) -> bytes:
    """What is in an artifact; nothing if there is none, because nothing was changed or the run was cancelled."""
    try:
        return b"".join([block async for block in run.artifact(name)])
    except UnknownArtifact:
        return b""


async def _deliver(run: ActiveRun, tree: OwnTree, ended: Mapping[str, Any]) -> list[str]:
    """Apply the fix, if the folder is as it was; else the reports. All commits are on a branch."""
    patch, bundle = await _artifact(run, f"{STEP}.patch"), await _artifact(run, f"{STEP}.bundle")
    branch = f"fix/{run.id}"
    is_fixed = ended["outcome"] in ("fixed", "taken_over")
    is_same = is_fixed and await asyncio.to_thread(tree.is_unchanged)
    told = []
    try:
        await asyncio.to_thread(tree.apply, patch, only=None if is_same else "debug")
        if is_same:
            return ["the fix is applied to this folder, not committed"]
        told += ["this folder has changed meanwhile, so the fix is not applied"] if is_fixed else []
    except GitProblem as error:
        told.append(f"could not apply it to this folder: {error.reason}")
    if bundle and tree.has_git and await asyncio.to_thread(tree.fetch, bundle, branch):
        told.append(f"all commits are on the branch {branch}: git diff {tree.commit[:12]} {branch}")
    elif is_fixed:
        told.append(f"the fix is stored: {program()} artifacts {run.id} {STEP}.patch | git apply")
    return told
