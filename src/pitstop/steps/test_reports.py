"""The test reports that the command of a `run` step left: files that patterns name, and the one of pytest."""

import shlex
from collections.abc import Mapping
from functools import partial

from msgspec import Struct, field

from pitstop.engine.threads import in_thread
from pitstop.engine.workspace_files import Part, WorkspaceFiles
from pitstop.errors import FileMissing, FileProblem, StepFailure
from pitstop.settings import environment_for_commands
from pitstop.steps.failures import BadReport, NothingMatches
from pitstop.steps.files import Traces, find_files, only_written, require_all
from pitstop.steps.junit import LONGEST_NAME, MOST_BYTES, MOST_CASES, TestCounts, read_report

ADDED_OPTIONS = "PYTEST_ADDOPTS"
PYTEST_REPORT = "pytest"  # what the report is called among the files
NO_PYTEST_REPORT = (
    "pytest left no test report: it did not run, was killed, or was called with another --junitxml; "
    "list such a file under `tests`"
)


class FoundReports(Struct):
    """What the reports say together, what is wrong with them, and what is worth a line in the log."""

    counts: TestCounts = field(default_factory=TestCounts)
    files: list[str] = field(default_factory=list)
    problems: list[StepFailure] = field(default_factory=list)
    remarks: list[str] = field(default_factory=list)


def with_pytest_report(env: Mapping[str, str], path: str, *, inherits: bool) -> dict[str, str]:
    """The variables of a command in which pytest writes a report to this path, with the options that it has anyway.

    `inherits` says whether the command inherits the variables of this process.
    """
    inherited = environment_for_commands().get(ADDED_OPTIONS, "") if inherits else ""
    options = [env.get(ADDED_OPTIONS, inherited), f"--junitxml={shlex.quote(path)}", "-o junit_family=xunit2"]
    return {**env, ADDED_OPTIONS: " ".join(filter(None, options))}


async def read_reports(
    files: WorkspaceFiles, patterns: tuple[str, ...], folder: str, before: Traces, pytest_file: str | None
) -> FoundReports:
    """Read the reports that a command wrote: one from before it says nothing about it."""
    found = FoundReports()
    try:
        if patterns:
            await _read_matching(files, patterns, folder, before, found)
        if pytest_file is not None:
            await _read_pytest(files, pytest_file, found)
    except StepFailure as problem:
        found.problems.append(problem)
    if found.counts.left_out:
        found.remarks.append(
            f"the test reports have {found.counts.total:,} cases: all are counted, but only the first {MOST_CASES:,} "
            "are in the test history"
        )
    if found.counts.shortened:
        found.remarks.append(
            f"names longer than {LONGEST_NAME} characters are shortened in the test history "
            f"({found.counts.shortened:,} in these reports)"
        )
    return found


async def _read_matching(
    files: WorkspaceFiles, patterns: tuple[str, ...], folder: str, before: Traces, found: FoundReports
) -> None:
    matching = await find_files(files, "tests", patterns, folder)
    require_all("tests", matching, "the script wrote no report that matches")
    written = only_written(matching, before)
    if not written.files:
        raise NothingMatches("tests", ", ".join(patterns), "the script did not write new reports:")
    for file in written.files:
        try:
            await _add(files, "repo", file.path, file.path, found)
        except FileProblem as error:
            raise BadReport(file.path, error.reason) from error


async def _read_pytest(files: WorkspaceFiles, name: str, found: FoundReports) -> None:
    """pytest may not have run at all, which is not for us to judge."""
    try:
        await _add(files, "control", name, PYTEST_REPORT, found)
    except FileMissing:
        found.remarks.append(NO_PYTEST_REPORT)
    except FileProblem as error:
        raise BadReport(PYTEST_REPORT, error.reason) from error


async def _add(files: WorkspaceFiles, part: Part, path: str, shown_path: str, found: FoundReports) -> None:
    """Raises FileProblem and BadReport; an empty file among our own is one that we made for another user."""
    report = await files.read(part, path, limit=MOST_BYTES)
    if not report and part == "control":
        raise FileMissing(path)
    found.counts.add(await in_thread(partial(read_report, report, shown_path)))
    found.files.append(shown_path)
