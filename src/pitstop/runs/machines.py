"""Whether a machine is there for every step of a run that will need one."""

from collections.abc import Collection, Iterator, Mapping

from pitstop.definition.mistakes import Mistakes
from pitstop.engine.executor import Executor, asked_labels, listed
from pitstop.plan.expressions import expressions_in
from pitstop.plan.plan import Plan, Step

WAY_OUT = "run the flow on a matching machine, or remove `requires`"


async def refuse_unmet(plan: Plan, done: Collection[str], executor: Executor, texts: Mapping[str, str]) -> None:
    """BadFlow, with the place of each step that asks for what no machine has; `done` are not to run again.

    A step that may be skipped is not among them, nor one that asks for what is only known later: it fails by itself.
    """
    asking = [step for step in _certain(plan.root) if step.requires and step.path not in done]
    if not asking:
        return
    there = await executor.runners()
    mistakes = Mistakes(texts)
    for step in asking:
        asked = asked_labels(step.requires)
        if step.source is not None and not any(runner.meets(asked) for runner in there):
            told = f"`{step.local}` requires {listed(asked)}; available: {', '.join(map(str, there)) or 'none'}"
            mistakes.add(step.source.file, step.source.line, step.source.column, told, WAY_OUT)
    mistakes.raise_if_any()


def _certain(parent: Step) -> Iterator[Step]:
    """The steps below that run if all goes well, and ask for nothing that an expression has to tell."""
    children = (
        () if parent.kind == "conditional" else parent.children
    )  # of which one is chosen, the last without an `if`
    for step in (*children, *parent.cleanup):
        if step.condition is None:
            if not any(expressions_in(step.requires)):
                yield step
            yield from _certain(step)
