"""The end of a run, told: what failed, where, the end of its log, and the command that goes on from there."""

import shlex
from argparse import Namespace
from collections.abc import Mapping

from msgspec import Struct, field

from pitstop.doors.cli.choosing import server_of
from pitstop.doors.cli.exit_codes import FAILED, PASSED
from pitstop.doors.cli.run_options import FRESH
from pitstop.program import program
from pitstop.service.runs import ActiveRun, EventInfo, Failure, RunSummary

SHOWN_FAILURES = 3
SHOWN_LOG_LINES = 10


class Left(Struct, frozen=True):
    """A run that was left paused at a stop. `commands` resume it: in a terminal, to look at it, to go on."""

    run: ActiveRun
    stop: int
    step: str
    commands: tuple[str, ...]


class Ending(Struct, frozen=True, kw_only=True):
    """How a run ended. `stopped_at` is the step where it was cancelled, because it cannot be debugged there.

    `tails` has the end of what each failed occurrence wrote, `artifacts` the place of what steps handed on.
    """

    run: ActiveRun
    summary: RunSummary
    exit_code: int
    seconds: float
    stopped_at: str | None = None
    tails: Mapping[str, list[str]] = field(default_factory=dict)
    problem: str | None = None
    artifacts: str | None = None

    @property
    def step(self) -> str | None:
        """The step to look at next."""
        if self.stopped_at is not None:
            return self.stopped_at
        if self.exit_code == PASSED:  # what failed did not matter
            return None
        return self.summary.failures[0].step if self.summary.failures else None


def closing_lines(ending: Ending, options: Namespace) -> list[str]:
    """What is shown last; the very last line is the command that goes on."""
    run, summary = ending.run, ending.summary
    told = summary.failures[:SHOWN_FAILURES] if ending.exit_code != PASSED else ()
    lines = [line for failure in told for line in failure_lines(ending, failure)]
    if told and len(summary.failures) > SHOWN_FAILURES:
        lines.append(f"and {len(summary.failures) - SHOWN_FAILURES} more")
    if not summary.failures and summary.error is not None and ending.exit_code == FAILED:
        lines.append(summary.error)
    if ending.artifacts is not None:
        lines.append(f"artifacts: {ending.artifacts}")
    by_hand = ", intervened" if summary.intervened else ""
    lines.append(f"{run.flow.name} {summary.status} after {format_seconds(ending.seconds)}{by_hand}")
    if ending.problem is not None:
        lines.append(ending.problem)
    if ending.stopped_at is not None:
        lines.append(f"paused at {ending.stopped_at}{placed(run, ending.stopped_at)}: no terminal to debug in")
    if ending.step is not None:
        lines.append(f"debug it: {debug_command(options, run.id, ending.step)}")
    return lines


def left_at(run: ActiveRun, stop: EventInfo, options: Namespace) -> Left:
    scripts: tuple[tuple[str, ...], ...] = ((), ("-c", "where", "-c", "vars", "-c", "leave"))
    commands = [resume_command(options, run.id, *script) for script in scripts]
    if "escalated" in stop.fields["reasons"]:
        commands += fix_commands(run.id)
    else:
        way_on = "retry" if stop.fields["position"] == "error" else "continue"
        commands.append(resume_command(options, run.id, "-c", way_on))
    return Left(run, stop.fields["stop"], stop.fields["step"], tuple(commands))


def fix_commands(run: str) -> list[str]:
    """The ways to continue a fix loop that gave up."""
    ways = ("take-over", 'guide "TEXT"', "roll-back N", 'skip "REASON"', "stop")
    return [f"{program()} fix {run} {way}" for way in ways]


def left_lines(left: Left) -> list[str]:
    resume, look, *go_on = left.commands
    where = f"{left.step or 'its end'}{placed(left.run, left.step)}, stop {left.stop}"
    return [
        f"{left.run.flow.name} is paused at {where}: no terminal to debug in",
        f"inspect it: {look}",
        *(f"resume it: {command}" for command in go_on),
        f"debug it: {resume}",
    ]


def failure_lines(ending: Ending, failure: Failure) -> list[str]:
    """The step, its place, why, and the end of what it wrote."""
    reason, _, more = failure.message.partition("\n")
    written = ending.tails.get(failure.occurrence, [])[-SHOWN_LOG_LINES:]
    tail = written or [line.strip() for line in more.splitlines()]
    place = placed(ending.run, failure.step)
    return [f"{failure.occurrence} failed{place}: {reason}", *(f"  | {line}" for line in tail)]


def placed(run: ActiveRun, path: str) -> str:
    """` (file:line)` of a step, if it is in a file."""
    step = run.flow.step(path)
    return f" ({step.place})" if step is not None and step.place else ""


def debug_command(options: Namespace, run: str, step: str) -> str:
    """The command that stops at a step. What came before it is taken from the run that has just ended."""
    step = step.partition("/")[0]  # of a tool call, the agent that makes it
    flow, server = getattr(options, "flow", None), server_of(options)
    if flow is None or server is not None:  # the run is all that is known here
        words = ["debug", run, "--from", step]
        words += ["--server", server] if server is not None else []
    elif options.workspace == FRESH:  # where what came before is gone with the workspace
        words = ["debug", flow, "--workspace", FRESH, "--break", step]
        words += [word for each in options.given for word in ("-i", each)]
        words += ["--inputs", options.inputs] if options.inputs else []
    else:
        words = ["debug", flow, "--from", step]
        words += ["--workspace", options.workspace] if options.workspace != "." else []
    return f"{program()} {shlex.join([*words, *_secret_words(options)])}"


def resume_command(options: Namespace, run: str, *more: str) -> str:
    """The command that debugs a run that is paused."""
    server = server_of(options)
    words = ["debug", run, *(() if server is None else ("--server", server)), *_secret_words(options), *more]
    return f"{program()} {shlex.join(words)}"


def _secret_words(options: Namespace) -> list[str]:
    """Secrets are not stored, so they are given again."""
    return [word for each in options.secret for word in ("--secret", each.partition("=")[0])]


def format_seconds(seconds: float) -> str:
    if seconds < 9.95:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}" if minutes else f"{rest} s"
