"""How far a run is, as a tree of steps: a fold over its events and over what the steps write."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from msgspec import Struct, field

from pitstop.service.flows import FlowInfo, StepInfo
from pitstop.service.runs import EventInfo, Output, shown_line

SHOWN_LINES = 4
_INDEX = re.compile(r"(.*?)((?:\[\d+\]|@\d+)*)$", re.DOTALL)
_NUMBER = re.compile(r"\d+")
_LOOKED_AT_BYTES = 4096
LAST = (float("inf"),)  # the place of what comes again, or was put in: as it comes


class Node(Struct):
    """A step, or one turn or combination of it: what it is called, and how it is doing."""

    address: str
    title: str
    step: StepInfo | None = None
    state: str = "pending"
    attempt: int = 1
    started_at: float | None = None
    ended_at: float | None = None
    reason: str = ""
    lines: list[str] = field(default_factory=list)  # the last that it wrote
    children: dict[str, "Node"] = field(default_factory=dict)

    @property
    def shown_state(self) -> str:
        """Its own state; of a turn or a combination, which has none, what those of its steps add up to."""
        if self.step is not None or not self.children:
            return self.state
        states = {child.shown_state for child in self.children.values()}
        ongoing = (state for state in ("paused", "running", "failed", "timed_out", "cancelled") if state in states)
        return next(ongoing, "running" if {"pending", "passed"} <= states else states.pop())

    @property
    def last_line(self) -> str:
        return self.lines[-1] if self.lines else ""

    def seconds(self, now: float) -> float | None:
        return None if self.started_at is None else max(0.0, (self.ended_at or now) - self.started_at)

    def walk(self) -> Iterator["Node"]:
        yield self
        for child in self.children.values():
            yield from child.walk()


class Progress:
    """The tree of a run. Steps that are still to come are in it as they are written."""

    def __init__(self, flow: FlowInfo) -> None:
        self.root = Node("", flow.name)
        self._steps = {step.path: step for step in flow.steps}
        self._places = {step.path: (place,) for place, step in enumerate(flow.steps)}
        self._nodes: dict[str, Node] = {"": self.root}
        self._frame_names: dict[str, str] = {}
        for step in flow.steps:
            self._add(step.path, step)

    def apply(self, event: EventInfo) -> None:
        fields = event.fields
        match event.kind:
            case "frame.opened":
                self._frame_names[fields["frame"]] = fields["name"]
            case "run.started" if self.root.started_at is None:  # another server may have resumed it since
                self.root.started_at = event.at
            case "run.ended":
                self.root.state, self.root.ended_at = fields["outcome"]["status"], event.at
            case "step.started":
                node = self._at(fields)
                node.state, node.started_at, node.ended_at, node.reason = "running", event.at, None, ""
            case "step.finished" | "debug.outcome_forced":
                node = self._at(fields)
                node.state, node.ended_at = fields["outcome"]["status"], event.at
                node.started_at = node.started_at or event.at
                error = fields["outcome"].get("error")
                node.reason = str(error["message"] or error["type"]).partition("\n")[0] if error else ""
            case "debug.stopped":
                self._at(fields).state = "paused"

    def hear(self, output: Output) -> None:
        """Take the last lines of what a step wrote. Only the end of a large chunk is looked at."""
        node = self._nodes.get(base_of(output.occurrence)[0])
        if node is not None:
            lines = shown_lines(output.data[-_LOOKED_AT_BYTES:])
            node.lines = [*node.lines, *lines][-SHOWN_LINES:]

    def running(self) -> list[Node]:
        """The steps that do something now, those that only wait for the steps in them left out."""
        return [node for node in self.root.walk() if node.state == "running" and not node.children and node.step]

    def counts(self) -> Mapping[str, int]:
        """How many steps are in which state, without those that are made of steps."""
        counts: dict[str, int] = {}
        for node in self.root.walk():
            if node.step is not None and not node.children:
                counts[node.state] = counts.get(node.state, 0) + 1
        return counts

    def _at(self, fields: Mapping[str, Any]) -> Node:
        address, attempt = base_of(fields["occurrence"])
        node = self._nodes.get(address) or self._add(address, self._steps.get(fields["step"]))
        node.attempt = attempt
        return node

    def _add(self, address: str, step: StepInfo | None) -> Node:
        """A node in its place. In the first turn of a loop it takes the place of what was written."""
        around, _, local = address.rpartition(".")
        parent = self._nodes.get(around) or self._add(around, None)
        plain, index = _split_index(address)
        if step is None and index:  # a turn, or a combination: it is in the step that is repeated
            parent = self._nodes.get(plain) or self._add(plain, self._steps.get(plain))
            parent.children = {name: child for name, child in parent.children.items() if child.step is None}
            title = self._frame_names.get(address, index)
        else:
            title = step.title if step is not None else local
        node = Node(address, title, step)
        self._put(parent, node)
        self._nodes[address] = node
        return node

    def _put(self, parent: Node, node: Node) -> None:
        """Add a child where it was written, or counted: those that run at the same time begin in any order."""
        last = next(reversed(parent.children.values()), None)
        parent.children[node.address] = node
        if last is not None and self._place(node) < self._place(last):
            parent.children = {each.address: each for each in sorted(parent.children.values(), key=self._place)}

    def _place(self, node: Node) -> tuple[float, ...]:
        _, index = _split_index(node.address)
        if node.step is not None:
            return self._places[node.step.path] if not index else LAST
        return tuple(map(int, _NUMBER.findall(index))) or LAST


def base_of(occurrence: str) -> tuple[str, int]:
    """The address without the attempt, and the attempt. An attempt of a step around it is left out as well."""
    parts = [part.partition("#") for part in occurrence.split(".")]
    last = parts[-1][2]
    return ".".join(part[0] for part in parts), int(last) if last.isdigit() else 1


def shown_lines(data: bytes) -> list[str]:
    """Lines as they are to be seen: without escape sequences, nor what was written over."""
    shown = (shown_line(line.replace("\t", "  ")) for line in data.decode(errors="replace").split("\n"))
    return [line for line in shown if line][-SHOWN_LINES:]


def _split_index(address: str) -> tuple[str, str]:
    found = _INDEX.fullmatch(address)
    return (found[1], found[2]) if found is not None else (address, "")
