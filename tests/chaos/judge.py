"""Judges a run by its log and by what its steps left outside: no finished step ran again, nothing was lost."""

from collections import Counter
from pathlib import Path

from tests.chaos.world import Told

FEWEST = {True: 4, False: 8}  # the steps that count themselves, of each of the two flows


def judge(told: Told, counts: Path) -> list[str]:
    """What is wrong with the run."""
    wrong: list[str] = []
    kinds = Counter(event["kind"] for event in told.events)
    numbers = [event["number"] for event in told.events]
    if numbers != list(range(1, len(numbers) + 1)):
        wrong.append(f"the log has gaps: {numbers}")
    if not told.events or told.events[-1]["kind"] != "run.ended" or kinds["run.ended"] != 1:
        wrong.append(f"it did not end once: {kinds}")
        return wrong
    if told.events[-1]["outcome"]["status"] != "passed":
        wrong.append(f"it did not pass: {told.events[-1]['outcome']}")
    interrupted = Counter(event["occurrence"] for event in told.events if event["kind"] == "step.interrupted")
    finished: dict[str, float] = {}
    for event in told.events:
        if event["kind"] == "step.finished" and event["outcome"]["status"] == "passed":
            if event["occurrence"] in finished:
                wrong.append(f"{event['occurrence']} finished twice")
            finished[event["occurrence"]] = event["at"]
    if missing := told.done - told.audit:
        wrong.append(f"it was answered and is not in the audit: {missing}")
    files = {path.name.removeprefix(f"{told.id}."): path for path in counts.glob(f"{told.id}.*")}
    if len(files) < FEWEST[told.is_stopping]:
        wrong.append(f"only {sorted(files)} ran")
    for occurrence, path in files.items():
        times = [float(line) for line in path.read_text().split()]
        if len(times) > 1 + interrupted[occurrence]:
            wrong.append(f"{occurrence} ran {len(times)} times and was interrupted {interrupted[occurrence]} times")
        if any(at > finished.get(occurrence, 0.0) + 0.5 for at in times):
            wrong.append(f"{occurrence} ran after it had finished")
    if told.is_stopping:
        words = [
            event["outcome"]["outputs"].get("word")
            for event in told.events
            if event["kind"] == "step.finished" and event["occurrence"] == "two" and event["outcome"]["outputs"]
        ]
        if words != [told.word]:
            wrong.append(f"the last edit was {told.word!r}, and the step saw {words}")
    return wrong
