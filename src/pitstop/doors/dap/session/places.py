"""Where steps are written: which step a line belongs to, and which lines steps begin at."""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterable
from os.path import realpath

from pitstop.service.flows import FlowInfo, StepInfo

PYTHON = ".py"


class Places:
    """The steps of a flow by file and line. Files are compared as they are on disk, whatever they are called."""

    def __init__(self, flow: FlowInfo) -> None:
        self.by_path: dict[str, StepInfo] = {}
        self.renew(flow)

    def renew(self, flow: FlowInfo) -> None:
        """The files have changed. Steps that are no longer in them are where they were."""
        self.flow = flow
        self.by_path |= {step.path: step for step in flow.steps}
        self._names: dict[str, str] = {realpath(flow.file): flow.file}  # what the flow calls a file
        self._steps: dict[str, list[StepInfo]] = {}
        for step in flow.steps:
            if step.file is not None and step.line is not None:
                self._names.setdefault(realpath(step.file), step.file)
                self._steps.setdefault(step.file, []).append(step)
        self._lines: dict[str, list[int]] = {}
        for file, steps in self._steps.items():
            steps.sort(key=_line)
            self._lines[file] = [_line(step) for step in steps]

    @property
    def files(self) -> tuple[str, ...]:
        return tuple(self._names.values())

    def file_named(self, path: str) -> str | None:
        """What the flow calls this file; None when it has nothing to do with it."""
        return self._names.get(realpath(path))

    def step(self, path: str) -> StepInfo | None:
        """A step of the flow. An injected step, or a tool call, is where its host is."""
        return self.by_path.get(path) or self.by_path.get(re.split(r"[+/]", path, maxsplit=1)[0])

    def around(self, step: StepInfo) -> Iterable[StepInfo]:
        """The steps that enclose it, the innermost first."""
        parent = step.parent
        while parent is not None and (outer := self.by_path.get(parent)) is not None:
            yield outer
            parent = outer.parent

    def step_for(self, file: str, line: int) -> StepInfo | None:
        """The innermost step that owns the line, or else the next one; None past the last step.

        Of Python only the functions of nodes are steps, and what is between them is nobody's.
        """
        steps, lines = self._steps.get(file, []), self._lines.get(file, [])
        at = bisect_right(lines, line)
        if file.endswith(PYTHON):
            return next((each for each in reversed(steps[:at]) if (each.end_line or _line(each)) >= line), None)
        found = steps[at - 1] if at else None
        while found is not None and (found.end_line or _line(found)) < line:
            found = next((each for each in self.around(found) if each.file == file), None)
        if found is None:
            found = steps[at] if at < len(steps) else None
        return found

    def twins(self, step: StepInfo) -> list[StepInfo]:
        """All steps that are written there: a flow that is called twice has each of its steps twice."""
        steps, lines = self._steps.get(step.file or "", []), self._lines.get(step.file or "", [])
        at, line = bisect_left(lines, _line(step)), _line(step)
        found = []
        while at < len(steps) and _line(steps[at]) == line:
            if steps[at].column == step.column and steps[at].kind == step.kind:
                found.append(steps[at])
            at += 1
        return found or [step]

    def lines_between(self, file: str, first: int, last: int) -> list[int]:
        lines = self._lines.get(file, [])
        return list(dict.fromkeys(lines[bisect_left(lines, first) : bisect_right(lines, last)]))


def _line(step: StepInfo) -> int:
    return step.line or 1
