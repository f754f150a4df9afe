"""The secrets that a flow uses, and the places where it reads one that is not listed for the step."""

import re
from collections.abc import Collection, Iterator

from pitstop.errors import Mistake
from pitstop.plan.expressions import expressions_in, secrets_read_by
from pitstop.plan.plan import Step
from pitstop.runs.planned_flow import PlannedFlow

_SCRIPTS = {"run": "script", "wait": "command"}  # the field of a type that is a script


def used_secrets(planned: PlannedFlow) -> frozenset[str]:
    """The names that the flow lists anywhere, or reads in an expression: all that a run of it is given."""
    listed = {name for step in planned.plan.root.walk() for name in step.secrets}
    return frozenset(listed.union(*map(secrets_read_by, _expressions(planned))))


def unlisted_secrets(planned: PlannedFlow, known: Collection[str] = ()) -> tuple[Mistake, ...]:
    """Where a script reads a variable that is a known secret, and that nothing puts into its environment."""
    names = sorted({*filter(None, known), *used_secrets(planned)})
    if not names:
        return ()
    pattern = re.compile(rf"(?<!\\)\$\{{?[#!]?({'|'.join(map(re.escape, names))})\b")
    variables = frozenset(planned.flow.env)
    return tuple(_warnings(planned, planned.plan.root, variables, pattern))


def _expressions(planned: PlannedFlow) -> Iterator[str]:
    if not any(".secrets" in text for text in planned.texts.values()):
        return
    from pitstop.definition.step_kinds import step_kinds  # noqa: PLC0415 - a short flow runs before its models load

    kinds = step_kinds(planned.types.usable())
    yield from expressions_in(planned.flow.env)
    for step in planned.plan.root.walk():
        yield from expressions_in(step.config)
        yield from expressions_in(step.env)
        conditions = kinds[step.kind].conditions if step.kind in kinds else ()
        for condition in (step.condition, *(step.config.get(name) for name in conditions)):
            if isinstance(condition, str):
                yield condition


def _warnings(
    planned: PlannedFlow, step: Step, variables: frozenset[str], pattern: re.Pattern[str]
) -> Iterator[Mistake]:
    """`variables` are those that the steps around this one set themselves."""
    variables = variables.union(step.env, step.config.get("values", {}).get("env", ()) if step.kind == "call" else ())
    script = step.config.get(_SCRIPTS.get(step.kind, ""))
    if isinstance(script, str):
        there = variables.union(step.secrets, step.config.get("env", ()))
        for name in dict.fromkeys(pattern.findall(script)):
            if name not in there:
                yield _warning(planned, step, name)
    for child in (*step.children, *step.cleanup):
        yield from _warnings(planned, child, variables, pattern)


def _warning(planned: PlannedFlow, step: Step, name: str) -> Mistake:
    """At the line that reads the variable, as far as the text of the step shows it."""
    source = step.source
    assert source is not None  # every step of a flow file has one
    lines = planned.texts.get(source.file, "").splitlines()
    read = re.compile(rf"\$\{{?[#!]?{re.escape(name)}\b")
    line, column = source.line, source.column
    for number in range(source.line, min(source.end_line or source.line, len(lines)) + 1):
        found = read.search(lines[number - 1])
        if found is not None:
            line, column = number, found.start() + 1
            break
    message = f"`{name}` is a secret that is not listed for this step, so its commands do not have it"
    text = lines[line - 1] if line <= len(lines) else ""
    return Mistake(source.file, line, column, message, text, f"add `secrets: [{name}]` to the step")
