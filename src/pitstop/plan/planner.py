"""From a flow to a plan that can run."""

import json
from collections.abc import Callable, Iterable, Mapping
from itertools import islice
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from pitstop.definition.flow import Flow, InputSpec, Position, StepSpec, resolve_file
from pitstop.definition.mistakes import Mistakes, did_you_mean, quoted
from pitstop.definition.values import type_of
from pitstop.errors import BadExpression, BadFlow, BadInputs, Mistake
from pitstop.limits import DEFAULTS, STEP_LEVELS, Limits, too_many_steps
from pitstop.plan.fix_loops import fix_loop
from pitstop.plan.log_readers import with_log_readers
from pitstop.plan.plan import NO_RETRY, Plan, Source, Step

LoadFlow = Callable[[str], Flow]
Chain = tuple[str, ...]
Steps = tuple[Step, ...]

SHOWN_INPUTS = 100  # in an error about unknown ones


def plan_flow(
    flow: Flow,
    inputs: Mapping[str, Any] | None = None,
    load_flow: LoadFlow | None = None,
    limits: Limits = DEFAULTS,
) -> Plan:
    """The plan of a flow and of the flows that it calls; BadFlow has every mistake in the calls, BadInputs."""
    planning = _Planning(load_flow, flow.texts, limits)
    around = _Around((resolve_file(flow.source.file),), flow.secrets)
    root = Step(
        "",
        "sequence",
        children=planning.steps(flow.steps, "", around),
        cleanup=planning.cleanup(flow.cleanup, "", around),
        secrets=flow.secrets,
        timeout_seconds=flow.timeout_seconds,
        source=flow.source,
    )
    planning.mistakes.raise_if_any()
    checked_inputs(flow, inputs or {})
    return Plan(with_log_readers(root, planning.mistakes.texts.values(), flow.env), flow.name, limits)


def plan_added_step(flow: Flow, path: str, host: Step, load_flow: LoadFlow, limits: Limits = DEFAULTS) -> Step:
    """The step of a flow that has just one, to be inserted next to `host`; BadFlow. It gets the secrets of the host."""
    planning = _Planning(load_flow, flow.texts, limits)
    file = resolve_file(flow.source.file)
    (spec,) = flow.steps
    step = planning.step(spec, path, _Around((file,), host.secrets, host.is_cleanup))
    planning.mistakes.raise_if_any()
    step = with_log_readers(step, planning.mistakes.texts.values(), {})
    return replace(_without_source(step, flow.source.file), is_injected=True)


def _without_source(step: Step, file: str) -> Step:
    """The step as one that is written in no file; flows that it calls are in theirs."""
    if step.source is None or step.source.file != file:
        return step
    children = tuple(_without_source(child, file) for child in step.children)
    cleanup = tuple(_without_source(child, file) for child in step.cleanup)
    return replace(step, source=None, children=children, cleanup=cleanup)


def is_own_step(action: str) -> bool:
    """Whether what is to be done after a step is a step of its own."""
    return action.partition(":")[0] in ("merge", "card", "trigger")


def call_mistakes(
    calls: Iterable[StepSpec], file: str, text: str, load_flow: LoadFlow, limits: Limits = DEFAULTS
) -> tuple[Mistake, ...]:
    """What is wrong with steps that call flows, in a file that cannot be planned because of something else."""
    planning = _Planning(load_flow, {file: text}, limits)
    try:
        for number, spec in enumerate(calls, start=1):
            planning.step(spec, str(number), _Around((resolve_file(file),)))
        planning.mistakes.raise_if_any()
    except BadFlow as error:
        return error.found
    return ()


def first_values(
    flow: Flow,
    inputs: Mapping[str, Any],
    *,
    secrets: Mapping[str, str],
    run: Mapping[str, Any],
    trigger: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """What the first step of a run sees; BadInputs."""
    return {
        **_own_values(flow, checked_inputs(flow, inputs)),
        "run": dict(run),
        "trigger": dict(trigger or {}),
        "secrets": dict(secrets),
    }


def checked_inputs(flow: Flow, given: Mapping[str, Any]) -> dict[str, Any]:
    """The inputs with their defaults, text for another type read as JSON; BadInputs with everything that is wrong."""
    mistakes = _unknown_inputs(flow, given)
    values: dict[str, Any] = {}
    for name, spec in flow.inputs.items():
        if name not in given:
            if spec.required:
                mistakes.append(_missing_input(flow, name))
            values[name] = spec.default
            continue
        values[name] = _as_typed(spec, given[name])
        if not _fits(spec, values[name]):
            mistakes.append(_wrong_input(name, spec, given[name]))
    if mistakes:
        raise BadInputs(mistakes)
    return values


def _unknown_inputs(flow: Flow, given: Iterable[str]) -> list[str]:
    shown = list(islice(flow.inputs, SHOWN_INPUTS))
    more = ", …" if len(flow.inputs) > len(shown) else ""
    known = f"its inputs are {', '.join(shown)}{more}" if shown else "it has no inputs"
    unknown = [name for name in given if name not in flow.inputs]
    mistakes = [
        f"flow {flow.name!r} has no input {quoted(name)}; {did_you_mean(name, shown) or known}"
        for name in unknown[:SHOWN_INPUTS]
    ]
    if len(unknown) > SHOWN_INPUTS:
        mistakes.append(f"{len(unknown) - SHOWN_INPUTS:,} more inputs are unknown")
    return mistakes


def _missing_input(flow: Flow, name: str) -> str:
    description = flow.inputs[name].description
    return f"missing input {quoted(name)}" + (f": {description}" if description else "")


def _wrong_input(name: str, spec: InputSpec, value: object) -> str:
    return f"input {quoted(name)} must be a {spec.type}, not {json.dumps(value, default=repr)[:100]}"


def _as_typed(spec: InputSpec, value: Any) -> Any:
    if isinstance(value, str) and spec.type not in (None, "string"):
        try:
            return json.loads(value)
        except ValueError:
            return value
    return value


def _fits(spec: InputSpec, value: object) -> bool:
    return spec.type is None or type_of(value) == spec.type or (value is None and not spec.required)


def _own_values(flow: Flow, inputs: dict[str, Any]) -> dict[str, Any]:
    return {"inputs": inputs, "vars": dict(flow.vars), "env": dict(flow.env), "steps": {}}


class _Around(Struct, frozen=True):
    """What a step has from those around it. `chain` has the files that call each other."""

    chain: Chain
    secrets: tuple[str, ...] = ()
    is_cleanup: bool = False

    def with_secrets(self, names: Iterable[str]) -> "_Around":
        return replace(self, secrets=tuple(dict.fromkeys((*self.secrets, *names)))) if names else self


def card_step(path: str, action: str, target: str, step: str) -> Step:
    """A step that Pitstop adds to a plan, to make a card that tells of another step, or to start a card."""
    name = path.rpartition(".")[2]
    if action == "trigger":
        config, title = {"start": target}, f"start card {target}"
    else:
        known = f".steps[{json.dumps(step)}]"
        error, log = f"${{{{ {known}.error.message // {known}.status }}}}", f'${{{{ {known}.log // "" }}}}'
        description = f"Step {step} of run ${{{{ .run.id }}}}: {error}\n\n{log}"
        config, title = {"title": target, "description": description}, f"make a card: {target}"
    return Step(path, "card", config, id=name, name=title, effects="external")


def merge_step(path: str, branch: str) -> Step:
    """A step that Pitstop adds to a plan, to merge the branch of the run into another one."""
    name = path.rpartition(".")[2]
    return Step(path, "merge", {"into": branch}, id=name, name=f"merge into {branch}", effects="external")


def with_merge_at_end(plan: Plan, branch: str) -> Plan:
    """The plan with a last step that merges, because the trigger says so."""
    root = replace(plan.root, children=(*plan.root.children, merge_step("!merge", branch)))
    return Plan(root, plan.name, plan.limits)


class _Planning:
    """One flow and the flows that it calls, on their way to steps."""

    def __init__(self, load_flow: LoadFlow | None, texts: Mapping[str, str], limits: Limits) -> None:
        self.mistakes = Mistakes(texts)
        self._limits = limits
        self._load_flow = load_flow
        self._flows: dict[str, Flow | None] = {}  # by file; None for one that cannot be had
        self._taken: dict[str, Source] = {}  # by path

    def steps(self, specs: Iterable[StepSpec], parent: str, around: _Around, mark: str = "") -> Steps:
        """The steps under `parent`. Those without an id are numbered, with `mark` before the number."""
        prefix = f"{parent}." if parent else ""
        found: list[Step] = []
        for number, spec in enumerate(specs, start=1):
            found.append(self.step(spec, f"{prefix}{spec.id or f'{mark}{number}'}", around))
            found += self._actions(spec, found[-1])
        return tuple(found)

    def _actions(self, spec: StepSpec, step: Step) -> Steps:
        """What follows from a step that passes, as steps of their own behind it."""
        found = [
            self._action(spec, step, "on_failure", spec.on_failure),
            self._action(spec, step, "on_success", spec.on_success),
        ]
        return tuple(each for each in found if each is not None)

    def _action(self, spec: StepSpec, step: Step, key: str, written: str) -> Step | None:
        """What follows from a step that fails or passes. What follows from a failure comes right behind it."""
        action, _, target = written.partition(":")
        if not is_own_step(written):
            return None
        if spec.id is None:
            self._tell(spec.source, f"`{key}: {written}` needs an `id` for the step", spec.position_of(key))
        path = f"{step.path}!{action}" + ("-failed" if key == "on_failure" else "")
        self._take(path, spec)
        name, target = spec.id or "", target.strip()
        made = merge_step(path, target) if action == "merge" else card_step(path, action, target, name)
        status = f".steps[{json.dumps(name)}].status"
        if key == "on_success":
            return replace(made, condition=f'{status} == "passed"', source=spec.source)
        has_failed = f'{status} == "failed" or {status} == "timed_out"'
        return replace(made, condition=has_failed, source=spec.source, follows_failure=True)

    def cleanup(self, specs: Iterable[StepSpec], parent: str, around: _Around) -> Steps:
        return self.steps(specs, parent, replace(around, is_cleanup=True), "cleanup-")

    def step(self, spec: StepSpec, path: str, around: _Around) -> Step:
        if spec.fix is not None:
            return fix_loop(self.step(replace(spec, fix=None), path, around), spec.fix, around.secrets)
        self._take(path, spec)
        around = around.with_secrets(spec.secrets)
        config, timeout_seconds = spec.config, spec.timeout_seconds
        children: Steps = ()
        cleanup: Steps = ()
        if spec.kind == "call":
            flow = self._called(spec, around.chain)
            if flow is not None:
                inner = replace(around, chain=(*around.chain, resolve_file(flow.source.file)))
                inner = inner.with_secrets(flow.secrets)
                config = self._call_config(spec, flow)
                children = self.steps(flow.steps, path, inner)
                cleanup = self.cleanup(flow.cleanup, path, inner)
                timeout_seconds = min(filter(None, (timeout_seconds, flow.timeout_seconds)), default=None)
        elif spec.kind == "background":
            beside, *foreground = spec.children
            self._refuse_actions(spec, [beside])
            background = self.step(beside, f"{path}.background", around)
            children = (background, *self.steps(foreground, path, around))
        elif spec.children:
            children = self.steps(spec.children, path, around)
            self._refuse_actions(spec, spec.children)
        try:
            return Step(
                path,
                spec.kind,
                config,
                children,
                cleanup,
                id=spec.id,
                name=spec.name,
                condition=spec.condition,
                env=spec.env,
                secrets=around.secrets,
                timeout_seconds=timeout_seconds,
                retry=spec.retry or NO_RETRY,
                continue_on_error=spec.continue_on_error,
                effects=spec.effects,
                requires=spec.requires,
                workspace=spec.workspace,
                on_success="next" if is_own_step(spec.on_success) else spec.on_success,
                on_failure="stop" if is_own_step(spec.on_failure) else spec.on_failure,
                on_interrupt=spec.on_interrupt,
                snapshot=bool(spec.snapshot),
                source=spec.source,
                is_cleanup=around.is_cleanup,
            )
        except BadExpression as error:
            self._tell(spec.source, f"invalid template: {error.reason}")
            return Step(path, spec.kind)

    def _refuse_actions(self, parent: StepSpec, children: Iterable[StepSpec]) -> None:
        """Steps that run at the same time have nothing behind them."""
        if parent.kind not in ("parallel", "background"):
            return
        for spec in children:
            for key, written in (("on_success", spec.on_success), ("on_failure", spec.on_failure)):
                if is_own_step(written):
                    message = f"`{key}: {written}` is not possible directly in `{parent.kind}`: wrap it in `steps`"
                    self._tell(spec.source, message, spec.position_of(key))

    def _take(self, path: str, spec: StepSpec) -> None:
        """Keep the path for this step. The plan ends here when it has become too large."""
        first = self._taken.setdefault(path, spec.source)
        if first is not spec.source:
            self._tell(spec.source, f"path {quoted(path)} is already used by the step at {first}: choose another id")
        if len(self._taken) > self._limits.step_limit:
            place, message = spec.source, too_many_steps(len(self._taken), self._limits)
            self.mistakes.refuse(place.file, place.line, place.column, message)
        if path.count(".") >= STEP_LEVELS:
            self._tell(spec.source, f"steps are nested more than {STEP_LEVELS} levels deep, including called flows")
            self.mistakes.raise_if_any()

    def _called(self, spec: StepSpec, chain: Chain) -> Flow | None:
        """The flow that a step calls; None when it cannot be had, which is told where the step names it."""
        file = resolve_file(spec.config["call"], spec.source.file)
        position = spec.position_of("call")
        if file in chain:
            self._tell(spec.source, f"the flow calls itself: {' -> '.join([*chain, file])}", position)
        elif self._load_flow is None:
            self._tell(spec.source, f"cannot call the flow {quoted(file)}: this flow has no folder", position)
        elif file in self._flows:
            return self._flows[file]
        else:
            self._flows[file] = None
            try:
                flow = self._flows[file] = self._load_flow(file)
            except BadFlow as error:
                self.mistakes.add_all(error.found)
            except UnicodeDecodeError:
                self._tell(spec.source, f"the flow {quoted(file)} is not UTF-8", position)
            except (OSError, ValueError) as error:
                reason = getattr(error, "strerror", None) or error
                self._tell(spec.source, f"cannot read the flow {quoted(file)}: {reason}", position)
            else:
                self.mistakes.texts.update(flow.texts)
                return flow
        return None

    def _call_config(self, spec: StepSpec, flow: Flow) -> dict[str, Any]:
        """What the engine is told of a call; an input that is wrong is a mistake where it is written."""
        given: Mapping[str, Any] = spec.config["with"]
        for name, value in given.items():
            position = spec.position_of(f"with.{name}")
            for message in _unknown_inputs(flow, [name]):
                self._tell(spec.source, message, position)
            is_known = "${{" not in str(value)
            if is_known and name in flow.inputs and not _fits(flow.inputs[name], value):
                self._tell(spec.source, _wrong_input(name, flow.inputs[name], value), position)
        for name, each in flow.inputs.items():
            if each.required and name not in given:
                self._tell(spec.source, _missing_input(flow, name), spec.position_of("call"))
        defaults = {name: each.default for name, each in flow.inputs.items()}
        config: dict[str, Any] = {**spec.config, "values": _own_values(flow, defaults)}
        return {**config, "outputs": flow.outputs} if flow.outputs else config

    def _tell(self, source: Source, message: str, position: Position | None = None) -> None:
        line, column = position or (source.line, source.column)
        self.mistakes.add(source.file, line, column, message)
