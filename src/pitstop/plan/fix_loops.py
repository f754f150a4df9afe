"""Fix loops in a plan: a step becomes the test of a loop, next to the two agents of it."""

from collections.abc import Mapping
from typing import Any

from msgspec.structs import replace

from pitstop.errors import UnknownStep
from pitstop.plan.plan import Plan, Step

FIX_LOOP = "fix"  # the kind of a fix loop, which is given to runs as a way of combining
PROMPT = "${{ .fix.prompt }}"
_OF_THE_LOOP = ("id", "name", "condition", "continue_on_error", "workspace", "on_success", "on_failure", "snapshot")
_OF_AGENTS = ("agent", "diagnose", "fix", "with", "secrets")
_VARIABLES = {
    "PITSTOP_FIX_ROLE": "role",
    "PITSTOP_FIX_ITERATION": "iteration",
    "PITSTOP_FIX_ATTEMPT": "attempt",
    "PITSTOP_FIX_REPORT": "report",
}


def fix_loop(step: Step, fix: Mapping[str, Any], secrets: tuple[str, ...]) -> Step:
    """The step in a fix loop, at its own path; `fix` is what a FixForm says.

    `secrets` are those of the steps around it: agents get these and their own, and not those of the tests.
    """
    plain = Step(step.path, step.kind)
    test = _moved(step, step.path, f"{step.path}.test")
    return Step(
        step.path,
        FIX_LOOP,
        {name: value for name, value in fix.items() if name not in _OF_AGENTS},
        (replace(test, **{name: getattr(plain, name) for name in _OF_THE_LOOP}), *_agents(step, fix, secrets)),
        secrets=secrets,
        source=step.source,
        is_cleanup=step.is_cleanup,
        **{name: getattr(step, name) for name in _OF_THE_LOOP},
    )


def with_fix_loop(plan: Plan, path: str, fix: Mapping[str, Any]) -> Plan:
    """The plan with a step in a fix loop; UnknownStep. One that is in a loop already stays as it is."""
    found = plan.steps.get(path)
    if found is None:
        raise UnknownStep(path, plan.nearest(path))
    if found.kind == FIX_LOOP:
        return plan
    return Plan(_with_loop(plan.root, path, fix), plan.name, plan.limits)


def _with_loop(around: Step, path: str, fix: Mapping[str, Any]) -> Step:
    """The step with the one at the path, which is in it, in a loop."""

    def looped(step: Step) -> Step:
        return fix_loop(step, fix, around.secrets) if step.path == path else _with_loop(step, path, fix)

    return replace(around, children=tuple(map(looped, around.children)), cleanup=tuple(map(looped, around.cleanup)))


def _agents(step: Step, fix: Mapping[str, Any], secrets: tuple[str, ...]) -> tuple[Step, ...]:
    """The two agents. Their prompts are those of the iteration, in `.fix`."""
    variables = {name: f"${{{{ .fix.{key} }}}}" for name, key in _VARIABLES.items()}
    more = {**fix["with"], "log": False, "prompt": PROMPT, "env": {**fix["with"].get("env", {}), **variables}}
    return tuple(
        Step(
            f"{step.path}.{role}",
            "agent",
            {**more, "profile": fix[role] or fix["agent"]},
            name=role,
            secrets=tuple(dict.fromkeys((*secrets, *fix["secrets"]))),
            source=step.source,
            is_cleanup=step.is_cleanup,
            on_interrupt="fail",
        )
        for role in ("diagnose", "fix")
    )


def _moved(step: Step, path: str, to: str) -> Step:
    """The step at another path, and with the end of its log in its outcome."""
    return replace(
        step,
        path=to + step.path.removeprefix(path),
        children=tuple(_moved(each, path, to) for each in step.children),
        cleanup=tuple(_moved(each, path, to) for each in step.cleanup),
        is_log_read=True,
    )
