"""What happens in a fix loop, as lines for people, and its summary."""

from collections.abc import Iterator, Mapping
from typing import Any

from pitstop.service.runs import EventInfo

MEANINGS = {
    "fixed": "fixed",
    "progress": "progress: some failures are gone",
    "moved": "moved: the failures are gone, and others came",
    "mixed": "mixed: some failures are gone, and others came",
    "same": "same: the failures did not change",
    "worse": "worse: there are more failures",
    "oscillating": "oscillating: the failures of an earlier iteration came back",
    "flaky": "flaky",
    "no_diagnosis": "no diagnosis",
    "no_fix": "no fix",
    "no_change": "no change",
    "refused": "refused",
}
TITLES = {
    "fixed": "fixed",
    "flaky": "flaky: the tests pass and fail on the same files",
    "infrastructure": "not fixed: the tests cannot run here",
    "pre_existing": "not fixed: the failures existed before the change",
    "escalated": "not fixed",
    "skipped": "skipped, as a known issue",
    "taken_over": "fixed by a user",
    "aborted": "cancelled",
}


def fix_line(event: EventInfo) -> str | None:
    """The line for a note of a fix loop; None for any other event."""
    if event.kind != "step.noted" or not event.fields["note"].startswith("fix."):
        return None
    data: Mapping[str, Any] = event.fields["data"]
    match event.fields["note"]:
        case "fix.triaged":
            why = "; ".join(data["evidence"])
            return f"triage: {data['verdict'].replace('_', ' ')}{f' ({why})' if why else ''}"
        case "fix.iteration_started":
            return f"iteration {data['n']}"
        case "fix.round_opened":
            return f"round {data['round']}, with guidance"
        case "fix.agent_retried":
            return f"the agent is asked again ({data['role']}): {data['why'].partition(chr(10))[0]}"
        case "fix.reported":
            cause = f": {data['root_cause']}" if data["root_cause"] else ""
            return f"report {data['path']}{cause}"
        case "fix.tested" if data["total"]:
            return f"{data['total']} failing"
        case "fix.judged":
            why = f" ({data['why']})" if data["why"] else ""
            return f"iteration {data['n']}: {MEANINGS.get(data['verdict'], data['verdict'])}{why}"
        case "fix.escalated":
            return "gave up\n" + str(data["message"])
        case "fix.ended":
            return TITLES.get(str(data["outcome"]))
    return None


def summary_markdown(
    ended: Mapping[str, Any] | None, notes: list[Mapping[str, Any]], command: str, *, passed: bool
) -> str:
    """The end of a loop for a summary page of CI."""
    if ended is None:
        return f"## Tests {'passed' if passed else 'failed, and no fix loop ran'}\n\n`{command}`\n"
    lines = [f"## Fix loop: {TITLES.get(ended['outcome'], ended['outcome'])}", "", f"`{command}`: {ended['why']}", ""]
    judged = [data for data in notes if "verdict" in data and "best" in data]
    if judged:
        lines += ["| iteration | result |", "| --- | --- |"]
        lines += [f"| {data['n']} | {MEANINGS.get(data['verdict'], data['verdict'])} |" for data in judged]
        lines.append("")
    lines += [f"- report: `{path}`" for path in ended["reports"]]
    return "\n".join(lines) + "\n"


def closing(ended: Mapping[str, Any], notes: list[Mapping[str, Any]]) -> Iterator[str]:
    """What became of the loop, with the reports."""
    count = ended["iterations"]
    took = f" after {count} iteration{'s' if count != 1 else ''}" if count else ""
    why = f": {ended['why']}" if ended["why"] else ""
    yield f"{TITLES.get(ended['outcome'], ended['outcome'])}{took}{why}"
    causes = {data["path"]: data["root_cause"] for data in notes if "root_cause" in data}
    for path in ended["reports"]:
        yield f"  {path}{f': {causes[path]}' if causes.get(path) else ''}"
    if ended["outcome"] == "pre_existing":
        yield "  `--base none` compares with nothing, and fixes them as well"
    if ended["cost"]:
        yield f"  the agents cost {ended['cost']:.2f} dollars"
