"""The reader of flow files: from text to a Flow, or to every mistake in it at once."""

import gc
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager
from functools import cached_property
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Any

from yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode

from pitstop.definition.containers import with_containers
from pitstop.definition.flow import Flow, Position, StepSpec, StepTypeInfo, resolve_file
from pitstop.definition.mistakes import Mistakes, quoted
from pitstop.definition.plain import COMMON_KEYS, FLOW_KEYS, PLAIN_KEYS, Options, plain_flow, plain_step
from pitstop.definition.size_checks import check_names, check_repetitions
from pitstop.definition.template_checks import (
    CONDITION_LISTS,
    SCRIPT_FIELDS,
    CheckExpression,
    ParseTemplate,
    TemplateChecks,
)
from pitstop.definition.values import Source
from pitstop.definition.yaml_nodes import Document, Entry, known_entries, position_of, read_document
from pitstop.limits import DEFAULTS, STEP_LEVELS, Limits, too_many_steps, too_many_values

if TYPE_CHECKING:
    from pitstop.definition.by_models import ByModels
    from pitstop.definition.step_kinds import StepKind

ReadFile = Callable[[str], str | bytes]
OnCall = Callable[[StepSpec], None]

_NAMED_VALUES = ("vars", "inputs", "env", "outputs")
_FREE_KEYS = "x-"  # top-level keys that begin so are the author's own: a place for anchors


def read_flow(
    text: str | bytes,
    file: str,
    step_types: Mapping[str, StepTypeInfo],
    *,
    read_file: ReadFile,
    parse_template: ParseTemplate,
    check_expression: CheckExpression | None = None,
    on_call: OnCall | None = None,
    limits: Limits = DEFAULTS,
) -> Flow:
    """The flow in `text`. BadFlow has every mistake in it, and in the files that it includes, with its place.

    `on_call` gets each step that calls a flow, even if the file has mistakes.
    """
    reading = _Reading(step_types, read_file, TemplateChecks(parse_template, check_expression), on_call, limits)
    with _collector_paused(), closing(reading):
        document = reading.open(file, text)
        flow = None if document is None else _FileReader(reading, document, (resolve_file(file),)).read_flow()
    reading.mistakes.raise_if_any()
    assert flow is not None  # whatever kept it from being made was told as a mistake
    return flow


@contextmanager
def _collector_paused() -> Iterator[None]:
    """Reading makes many objects and hardly any garbage: to look for some would take as long as the reading itself."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


class _Reading:
    """What is known over all the files of one flow."""

    def __init__(
        self,
        step_types: Mapping[str, StepTypeInfo],
        read_file: ReadFile,
        templates: TemplateChecks,
        on_call: OnCall | None,
        limits: Limits,
    ) -> None:
        self.on_call = on_call
        self.limits = limits
        self.step_types = step_types
        self.text_fields = {name: each.text_fields for name, each in step_types.items() if hasattr(each, "text_fields")}
        self.templates = templates
        self.mistakes = Mistakes()
        self.ids: dict[str, Source] = {}
        self.levels = 0  # of steps in steps
        self._read_file = read_file
        self._documents: dict[str, Document | None] = {}
        self._nodes = 0
        self._steps = 0

    def count_steps(self, count: int, document: Document, node: Node) -> None:
        """Take so many more steps on, before any of them is read; BadFlow when these are too many."""
        self._steps += count
        if self._steps > self.limits.step_limit:
            document.refuse(node, too_many_steps(self._steps, self.limits))

    def open(self, file: str, text: str | bytes) -> Document | None:
        document = self._documents[file] = read_document(file, text, self.mistakes, self.limits.value_limit)
        if document is not None:
            document.see_template = lambda node: self.templates.check_text(document, node)
            self._nodes += document.size
        return document

    def include(self, named: str, document: Document, node: Node) -> Document | None:
        """The document of an included file; None when it cannot be had, which is told at `node`."""
        file = resolve_file(named, document.file)
        if file not in self._documents:
            try:
                text = self._read_file(file)
            except UnicodeDecodeError:
                document.tell(node, f"the file {quoted(file)} is not UTF-8")
                return None
            except (OSError, ValueError) as error:
                reason = getattr(error, "strerror", None) or str(error)
                document.tell(node, f"cannot read the file {quoted(file)}: {reason}")
                return None
            included = self.open(file, text)
        else:
            included = self._documents[file]
            self._nodes += included.size if included is not None else 0
        if self._nodes > self.limits.value_limit:
            document.refuse(node, too_many_values(self.limits.value_limit))
        return included

    def close(self) -> None:
        for document in filter(None, self._documents.values()):
            document.close()


class _FileReader:
    """Reads the nodes of one file. `chain` has the files that include each other, down to this one."""

    def __init__(self, reading: _Reading, document: Document, chain: tuple[str, ...]) -> None:
        self._reading = reading
        self._document = document
        self._chain = chain
        self._tell = document.tell

    # --- The flow ----------------------------------------------------------------------------------------------------

    def read_flow(self) -> Flow | None:
        root = self._document.root
        if not isinstance(root, MappingNode):
            if root is not None:
                self._tell(root, "a flow must be a mapping with `steps:`, and optionally `name:`, `inputs:` and others")
            return None
        entries = {
            name: entry for name, entry in self._document.entries(root).items() if not name.startswith(_FREE_KEYS)
        }
        known, misspelt = known_entries(self._document, entries, FLOW_KEYS, "a flow")
        if "on" in known:
            self._reading.templates.check_webhook(self._document, known["on"][1])
        values = {name: self._flow_value(name, node) for name, (_, node) in known.items()}
        containers: Mapping[str, Any] = {}
        options = None if misspelt else plain_flow(values)
        if options is None:
            options = self._models.flow_options(values, known, root, misspelt)
            containers = self._models.containers(values, known, root)
        if options is None:
            return None
        if isinstance(known["steps"][1], SequenceNode) and not known["steps"][1].value:
            self._tell(known["steps"][1], "`steps` is empty: a flow needs at least one step")
        options["name"] = options.get("name") or PurePosixPath(self._document.file).stem
        for name in ("steps", "cleanup"):
            options[name] = with_containers(options.get(name, ()), containers)
        return Flow(source=self._document.place_of(root), texts=self._reading.mistakes.texts, **options)

    @cached_property
    def _models(self) -> "ByModels":
        from pitstop.definition.by_models import ByModels

        return ByModels(self._document, self._reading.step_types)

    def _flow_value(self, name: str, node: Node) -> Any:
        if name in ("steps", "cleanup"):
            return self.read_steps(node)
        if name in _NAMED_VALUES and not check_names(self._document, name, node):
            return {}
        if name == "env":
            return self._environment(node)
        if name == "services":
            self._reading.templates.check_services(self._document, node)
        if name not in ("inputs", "vars"):
            return self._document.value(node)
        checks, self._document.see_template = self._document.see_template, self._refuse_template
        try:
            return self._document.value(node)
        finally:
            self._document.see_template = checks

    def _refuse_template(self, node: ScalarNode) -> None:
        self._tell(node, "expressions are not evaluated here: move the `${{ }}` to the step that uses it")

    # --- Steps -------------------------------------------------------------------------------------------------------

    def read_steps(self, node: Node) -> tuple[StepSpec, ...]:
        """The steps of a list, those of included files among them. A step with mistakes is left out."""
        if not isinstance(node, SequenceNode):
            self._tell(node, "expected a list of steps, each starting with `-`")
            return ()
        reading = self._reading
        if reading.levels == STEP_LEVELS:
            self._tell(node, f"steps are nested more than {STEP_LEVELS} levels deep")
            return ()
        reading.count_steps(len(node.value), self._document, node)
        reading.levels += 1
        steps: list[StepSpec] = []
        for each in self._document.items(node):
            if not isinstance(each, MappingNode):
                hint = f"did you mean {quoted(f'run: {each.value}')}?" if isinstance(each, ScalarNode) else None
                self._tell(each, "a step must be a mapping, such as `run: make`", hint)
                continue
            entries = self._document.entries(each)
            if "include" in entries and "include" not in reading.step_types:
                steps += self._include(entries)
            else:
                step = self._read_step(each, entries)
                steps += () if step is None else (step,)
        reading.levels -= 1
        return tuple(steps)

    def _include(self, entries: dict[str, Entry]) -> tuple[StepSpec, ...]:
        for name, (key, _) in entries.items():
            if name != "include":
                self._tell(key, f"{quoted(name)} cannot be combined with `include`: only the file's steps are used")
        node = entries["include"][1]
        named = self._document.value(node)
        if not isinstance(named, str) or not named or "${{" in named:
            self._tell(node, "`include` must be the path of a file")
            return ()
        file = resolve_file(named, self._document.file)
        if file in self._chain:
            self._tell(node, f"the file includes itself: {' -> '.join([*self._chain, file])}")
            return ()
        document = self._reading.include(named, self._document, node)
        return () if document is None else _FileReader(self._reading, document, (*self._chain, file)).read_included()

    def read_included(self) -> tuple[StepSpec, ...]:
        """The steps of a file that is included: a list of them, or a mapping with nothing but `steps`."""
        root = self._document.root
        if not isinstance(root, MappingNode):
            return () if root is None else self.read_steps(root)
        entries = self._document.entries(root)
        for name, (key, _) in entries.items():
            if name != "steps" and not name.startswith(_FREE_KEYS):
                self._tell(key, f"{quoted(name)} is not allowed in an included file: only its `steps` are used")
        if "steps" not in entries:
            self._tell(root, "an included file must have `steps:`, or be a list of steps")
            return ()
        return self.read_steps(entries["steps"][1])

    def _read_step(self, node: MappingNode, entries: dict[str, Entry]) -> StepSpec | None:
        common: dict[str, Entry] = {}
        own: dict[str, Entry] = {}
        for name, entry in entries.items():
            (common if name in COMMON_KEYS else own)[name] = entry
        options = self._options(common, node) if common else {}
        plain = self._plain_config(own) if common.keys() <= PLAIN_KEYS else None
        if plain is not None:
            kind, fields, values = plain
            return StepSpec(
                kind=kind,
                source=self._document.place_of(node),
                config=values,
                positions=self._positions(fields),
                **options,
            )
        return self._modelled_step(node, common, own, options)

    def _plain_config(self, own: dict[str, Entry]) -> tuple[str, dict[str, Entry], dict[str, Any]] | None:
        """Step type, fields and config of a step that says only what any text is right for."""
        for key in own:
            text_fields = self._reading.text_fields.get(key)
            if text_fields is None:
                continue
            shorthand = self._reading.step_types[key].shorthand_field
            fields = {(shorthand or name) if name == key else name: entry for name, entry in own.items()}
            if not fields.keys() <= text_fields or len(fields) < len(own):
                return None
            values = {name: self._document.value(value) for name, (_, value) in fields.items()}
            if not all(type(each) is str for each in values.values()):
                return None
            self._check_scripts(key, fields)
            return key, fields, values
        return None

    def _modelled_step(
        self, node: MappingNode, common: dict[str, Entry], own: dict[str, Entry], options: Options
    ) -> StepSpec | None:
        chosen = self._models.choose_kind(own, node)
        if chosen is None:
            return None
        kind, fields, misspelt = chosen
        for name in kind.shared:
            if name in common:
                fields.setdefault(name, common[name])
        values = {name: self._config_value(kind, name, value) for name, (_, value) in fields.items()}
        self._check_scripts(kind.key, fields)
        if kind.form is not None:
            self._check_children(kind, fields, values)
            check_repetitions(self._document, fields, values, self._reading.limits)
        spec = self._models.step(kind, values, fields, own.get(kind.key, (node,))[0], misspelt)
        if spec is None:
            return None
        step = StepSpec(source=self._document.place_of(node), positions=self._positions(fields), **{**spec, **options})
        if step.kind == "call" and self._reading.on_call is not None and "${{" not in step.config["call"]:
            self._reading.on_call(step)
        return step

    def _options(self, common: dict[str, Entry], node: MappingNode) -> Options:
        values = {
            name: self._environment(value) if name == "env" else self._document.value(value)
            for name, (_, value) in common.items()
        }
        if isinstance(values.get("id"), str):
            self._take_id(values["id"], common["id"][1])
        if isinstance(values.get("if"), str):
            self._reading.templates.check_condition(self._document, common["if"][1], values["if"])
        options = plain_step(values)
        return self._models.step_options(values, common, node) if options is None else options

    def _take_id(self, step_id: str, node: Node) -> None:
        place = self._document.place_of(node)
        first = self._reading.ids.setdefault(step_id, place)
        if first is not place:
            self._tell(node, f"the id {quoted(step_id)} is already used by the step at {first}")

    def _environment(self, node: Node) -> Any:
        """Variables as text, just as they are written: `1.10` is no number here."""
        if not isinstance(node, MappingNode):
            return self._document.value(node)
        variables: dict[str, str] = {}
        for name, (key, value) in self._document.entries(node).items():
            if not name or "=" in name or "\0" in name:
                self._tell(key, "a variable name must not be empty or contain `=`")
            elif isinstance(value, ScalarNode):
                variables[name] = "" if self._document.value(value) is None else value.value
            else:
                self._tell(value, f"{quoted(name)} must be text: environment variables cannot be lists or mappings")
        return variables

    # --- The config of a step ----------------------------------------------------------------------------------------

    def _config_value(self, kind: "StepKind", name: str, node: Node) -> Any:
        if name in kind.step_lists:
            return self.read_steps(node)
        value = self._document.value(node)
        if name in kind.conditions and isinstance(value, str) and (kind.form is not None or "${{" not in value):
            self._reading.templates.check_condition(self._document, node, value)
        if (kind.key, name) in CONDITION_LISTS and isinstance(node, SequenceNode):
            for each in node.value:
                self._check_conditions_in(each, CONDITION_LISTS[kind.key, name])
        return value

    def _check_conditions_in(self, node: Node, field: str) -> None:
        """Check the jq of one item of a list."""
        if isinstance(node, MappingNode) and (entry := self._document.entries(node).get(field)) is not None:
            condition = self._document.value(entry[1])
            if isinstance(condition, str):
                self._reading.templates.check_condition(self._document, entry[1], condition)

    def _check_scripts(self, kind: str, fields: Mapping[str, Entry]) -> None:
        for name in SCRIPT_FIELDS.get(kind, ()):
            if name in fields:
                self._reading.templates.check_script(self._document, fields[name][1])
        if "services" in fields:
            self._reading.templates.check_services(self._document, fields["services"][1])

    def _positions(self, fields: dict[str, Entry]) -> dict[str, Position]:
        """Where the values stand; what is in `with` is there as `with.<name>`, for the planner checks it."""
        positions = {name: position_of(value) for name, (_, value) in fields.items()}
        handed_on = fields["with"][1] if "with" in fields else None
        if isinstance(handed_on, MappingNode):
            for name, (key, _) in self._document.entries(handed_on).items():
                positions[f"with.{name}"] = position_of(key)
        return positions

    def _check_children(
        self, kind: "StepKind", fields: dict[str, Entry], values: Mapping[str, tuple[StepSpec, ...]]
    ) -> None:
        for key, steps in (fields[name] for name in kind.step_lists if name in fields):
            if isinstance(steps, SequenceNode) and not steps.value:
                self._tell(steps, f"{quoted(key.value)} is empty: it needs at least one step")
        if kind.key == "choose":
            for child in values.get("choose", ())[:-1]:
                if child.condition is None:
                    message = "a step without `if` is the else branch, so nothing after it can run"
                    self._reading.mistakes.add(child.source.file, child.source.line, child.source.column, message)
        elif kind.key == "call" and "${{" in str(values.get("call")):
            self._tell(fields["call"][1], "the path of a called flow cannot be an expression")
