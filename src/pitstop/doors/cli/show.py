"""`pitstop show`: a flow as a tree, or as a Mermaid chart."""

import argparse
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise

from pitstop.doors.cli.app import OpenService
from pitstop.doors.cli.choosing import ask
from pitstop.doors.cli.interrupts import Interrupts
from pitstop.service.caller import LOCAL
from pitstop.service.flows import FlowInfo, StepInfo

Children = Mapping[str | None, list[StepInfo]]

BESIDE = ("parallel", "background")  # the kinds whose children run at the same time
_LABELS = {"sequence": "group", "conditional": "choose"}


def show_command(words: Sequence[str], open_service: OpenService, interrupts: Interrupts) -> None:
    parser = argparse.ArgumentParser(prog="pitstop show", description="Show a flow as a tree.")
    parser.add_argument("flow", metavar="FLOW", help="the flow file")
    parser.add_argument("--mermaid", action="store_true", help="print a Mermaid flowchart")
    options = parser.parse_args(words)
    flow = ask(open_service(), lambda service: service.flows.check(LOCAL, options.flow))
    print("\n".join(mermaid_lines(flow) if options.mermaid else tree_lines(flow)))


def children_of(steps: Sequence[StepInfo]) -> dict[str | None, list[StepInfo]]:
    """The steps by the path of the step around them."""
    children: dict[str | None, list[StepInfo]] = {}
    for step in steps:
        children.setdefault(step.parent, []).append(step)
    return children


# --- As a tree -------------------------------------------------------------------------------------------------------


def tree_lines(flow: FlowInfo) -> list[str]:
    """The flow's name and inputs, and a line for each step."""
    children = children_of(flow.steps)
    inputs = [
        f"  input {each.name}{f' ({each.type})' if each.type else ''}"
        + (" is required" if each.is_required else f" = {each.default!r}")
        + (f": {each.description}" if each.description else "")
        for each in flow.inputs
    ]
    return [f"{flow.name} ({flow.file})", *inputs, *_branches(None, children, "")]


def _branches(parent: str | None, children: Children, indent: str) -> Iterator[str]:
    steps = children.get(parent, [])
    for step in steps:
        is_last = step is steps[-1]
        yield f"{indent}{'└─ ' if is_last else '├─ '}{describe(step)}"
        yield from _branches(step.path, children, indent + ("   " if is_last else "│  "))


def describe(step: StepInfo) -> str:
    """One step in one line: its name, what it is and does, when it does, and where it stands."""
    kind = _LABELS.get(step.kind, step.kind)
    does = f"{kind}: {step.detail}" if step.detail else kind
    name = "" if step.title in (step.detail, "") else f"{step.title}  "
    condition = f"  if {step.condition}" if step.condition else ""
    cleanup = "  (cleanup)" if step.is_cleanup else ""
    return f"{name}{does}{condition}{cleanup}" + (f"  [{step.place}]" if step.place else "")


# --- As a Mermaid chart ----------------------------------------------------------------------------------------------


def mermaid_lines(flow: FlowInfo) -> list[str]:
    """Steps that follow each other are joined by arrows; those that run at the same time are beside each other."""
    return ["flowchart TD", *_boxes(None, children_of(flow.steps), "    ", joined=True)]


def _boxes(parent: str | None, children: Children, indent: str, *, joined: bool) -> Iterator[str]:
    steps = children.get(parent, [])
    for step in steps:
        kind = f"{_LABELS.get(step.kind, step.kind)} " if step.path in children else ""
        label = _quoted(kind + step.title)
        if step.path in children:
            yield f'{indent}subgraph {_id(step)}["{label}"]'
            yield from _boxes(step.path, children, indent + "    ", joined=step.kind not in (*BESIDE, "conditional"))
            yield f"{indent}end"
        else:
            yield f'{indent}{_id(step)}["{label}"]'
    if joined:
        for before, after in pairwise(steps):
            arrow = "-.->" if after.condition or after.is_cleanup else "-->"
            yield f"{indent}{_id(before)} {arrow} {_id(after)}"


def _id(step: StepInfo) -> str:
    """A sign that no other step has."""
    return "s_" + "".join(char if char.isascii() and char.isalnum() else f"_{ord(char):x}_" for char in step.path)


def _quoted(text: str) -> str:
    return text.replace("&", "&amp;").replace('"', "&quot;").replace("<", "&lt;")
