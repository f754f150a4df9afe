"""The reader of flow files: from text to a Flow, or to every mistake in it at once."""

import gc
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import PurePosixPath
from typing import Any

from yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode

from pitstop.definition.containers import CONTAINER_KEYS, with_containers
from pitstop.definition.flow import Flow, Place, Position, StepSpec, StepTypeInfo, resolve_file
from pitstop.definition.forms import COMMON_KEYS, CombiningForm, FlowForm, StepForm
from pitstop.definition.mistakes import Mistakes, did_you_mean, listed, nearest, quoted
from pitstop.definition.step_kinds import StepKind, owners_among, step_kinds
from pitstop.definition.template_checks import CheckExpression, ParseTemplate, TemplateChecks
from pitstop.definition.validation import Section, check_config, validated
from pitstop.definition.yaml_nodes import MOST_NODES, Document, Entry, position_of, read_document

ReadFile = Callable[[str], str | bytes]

MOST_STEP_LEVELS = 50
_FLOW_KEYS = frozenset(field.alias or name for name, field in FlowForm.model_fields.items())
_FREE_KEYS = "x-"  # top-level keys that begin so are the author's own: a place for anchors
_NO_OPTIONS = StepForm.model_construct()

# The kind of a step, its config by the names of the fields, and the fields that were misspelt
Chosen = tuple[StepKind, dict[str, Entry], frozenset[str]]


def read_flow(
    text: str | bytes,
    file: str,
    step_types: Mapping[str, StepTypeInfo],
    *,
    read_file: ReadFile,
    parse_template: ParseTemplate | None = None,
    check_expression: CheckExpression | None = None,
) -> Flow:
    """The flow in `text`. BadFlow has every mistake in it, and in the files that it includes, with its place.

    `read_file` gives the files that are included; an OSError of it is a mistake where the file is named.
    `parse_template` checks each `${{ }}` (it is `pitstop.plan.expressions.parse_template`), `check_expression` says
    what is wrong with some jq. Without them templates are judged when the flow is planned.
    """
    reading = _Reading(step_kinds(step_types), read_file, TemplateChecks(parse_template, check_expression))
    with _collector_paused():
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

    def __init__(self, kinds: dict[str, StepKind], read_file: ReadFile, templates: TemplateChecks) -> None:
        self.kinds = kinds
        self.templates = templates
        self.mistakes = Mistakes()
        self.ids: dict[str, Place] = {}
        self.levels = 0  # of steps in steps
        self._read_file = read_file
        self._documents: dict[str, Document | None] = {}
        self._nodes = 0

    def open(self, file: str, text: str | bytes) -> Document | None:
        document = self._documents[file] = read_document(file, text, self.mistakes)
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
                document.tell(node, f"the file {quoted(file)} cannot be read: {reason}")
                return None
            return self.open(file, text)
        known = self._documents[file]
        self._nodes += known.size if known is not None else 0
        if self._nodes > MOST_NODES:
            document.tell(node, f"the included files have more than {MOST_NODES:,} values in all")
            self.mistakes.raise_if_any()
        return known


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
                self._tell(root, "a flow is a mapping with `steps:`, and maybe `name:`, `inputs:` and others")
            return None
        entries = {
            name: entry for name, entry in self._document.entries(root).items() if not name.startswith(_FREE_KEYS)
        }
        known, misspelt = self._known(entries, _FLOW_KEYS, "a flow")
        values = {name: self._flow_value(name, node) for name, (_, node) in known.items()}
        form = validated(FlowForm, values, Section(self._document, "flow", known, root, misspelt))
        if form is None:
            return None
        containers = self._containers(known, values, root)
        if isinstance(known["steps"][1], SequenceNode) and not known["steps"][1].value:
            self._tell(known["steps"][1], "`steps` is empty: a flow has at least one step")
        return Flow(
            name=form.name or PurePosixPath(self._document.file).stem,
            source=self._document.place_of(root),
            steps=with_containers(form.steps, containers),
            cleanup=with_containers(form.cleanup, containers),
            inputs=form.input_specs(),
            vars=form.vars,
            env=form.env,
            timeout_seconds=form.timeout,
            on=form.triggers(),
            outputs=form.outputs,
            texts=self._reading.mistakes.texts,
        )

    def _containers(self, known: dict[str, Entry], values: dict[str, Any], root: Node) -> dict[str, Any]:
        """What the flow says of containers, checked as a `run` step that says it would be."""
        entries = {name: known[name] for name in CONTAINER_KEYS if name in known}
        containers = {name: values[name] for name in entries}
        run = self._reading.kinds.get("run")
        if containers and run is not None:
            check_config(run.model, {"script": "", **containers}, Section(self._document, "flow", entries, root))
        return containers

    def _flow_value(self, name: str, node: Node) -> Any:
        if name in ("steps", "cleanup"):
            return self.read_steps(node)
        if name == "env":
            return self._environment(node)
        if name not in ("inputs", "vars"):
            return self._document.value(node)
        checks, self._document.see_template = self._document.see_template, self._refuse_template
        try:
            return self._document.value(node)
        finally:
            self._document.see_template = checks

    def _refuse_template(self, node: ScalarNode) -> None:
        self._tell(
            node, "nothing is evaluated here, before the run begins: write the `${{ }}` in the step that uses it"
        )

    # --- Steps -------------------------------------------------------------------------------------------------------

    def read_steps(self, node: Node) -> tuple[StepSpec, ...]:
        """The steps of a list, those of included files among them. A step with mistakes is left out."""
        if not isinstance(node, SequenceNode):
            self._tell(node, "a list of steps is needed here, each with a `-` before it")
            return ()
        reading = self._reading
        if reading.levels == MOST_STEP_LEVELS:
            self._tell(node, f"steps are nested more than {MOST_STEP_LEVELS} levels deep")
            return ()
        reading.levels += 1
        steps: list[StepSpec] = []
        for each in self._document.items(node):
            if not isinstance(each, MappingNode):
                hint = f"did you mean {quoted(f'run: {each.value}')}?" if isinstance(each, ScalarNode) else None
                self._tell(each, "a step is a mapping, such as `run: make`", hint)
                continue
            entries = self._document.entries(each)
            if "include" in entries and "include" not in reading.kinds:
                steps += self._include(entries)
            else:
                step = self._read_step(each, entries)
                steps += () if step is None else (step,)
        reading.levels -= 1
        return tuple(steps)

    def _include(self, entries: dict[str, Entry]) -> tuple[StepSpec, ...]:
        for name, (key, _) in entries.items():
            if name != "include":
                self._tell(key, f"{quoted(name)} cannot stand beside `include`, which is replaced by the file's steps")
        node = entries["include"][1]
        named = self._document.value(node)
        if not isinstance(named, str) or not named or "${{" in named:
            self._tell(node, "`include` takes the name of a file")
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
                self._tell(key, f"{quoted(name)} cannot be in an included file, of which only `steps` are taken")
        if "steps" not in entries:
            self._tell(root, "an included file has `steps:`, or is a list of steps")
            return ()
        return self.read_steps(entries["steps"][1])

    def _read_step(self, node: MappingNode, entries: dict[str, Entry]) -> StepSpec | None:
        common: dict[str, Entry] = {}
        own: dict[str, Entry] = {}
        for name, entry in entries.items():
            (common if name in COMMON_KEYS else own)[name] = entry
        options = self._options(common, node) if common else _NO_OPTIONS
        chosen = self._choose_kind(own, node)
        if chosen is None:
            return None
        kind, fields, misspelt = chosen
        for name in kind.shared:
            if name in common:
                fields.setdefault(name, common[name])
        values = {name: self._config_value(kind, name, value) for name, (_, value) in fields.items()}
        section = Section(self._document, kind.key, fields, own.get(kind.key, (node,))[0], misspelt)
        form: CombiningForm | None = None
        if kind.form is None:
            check_config(kind.model, values, section)
        else:
            self._check_children(kind.form, fields, values)
            form = validated(kind.form, values, section)
            if form is None:
                return None
        return StepSpec(
            kind=kind.key if form is None else form.kind,
            source=self._document.place_of(node),
            config=values if form is None else form.config(),
            positions=self._positions(fields),
            children=() if form is None else form.children(),
            id=options.id,
            name=options.name or (None if form is None else form.title),
            condition=options.if_,
            env=options.env,
            timeout_seconds=options.timeout,
            retry=None if options.retry is None else options.retry.spec(),
            continue_on_error=options.continue_on_error,
            requires=options.requires,
            workspace=options.workspace,
            on_success=options.on_success,
            on_failure=options.on_failure,
            on_interrupt=options.on_interrupt,
            effects=options.effects,
            snapshot=options.snapshot,
        )

    def _options(self, common: dict[str, Entry], node: MappingNode) -> StepForm:
        values = {
            name: self._environment(value) if name == "env" else self._document.value(value)
            for name, (_, value) in common.items()
        }
        if isinstance(values.get("id"), str):
            self._take_id(values["id"], common["id"][1])
        if isinstance(values.get("if"), str):
            self._reading.templates.check_condition(self._document, common["if"][1], values["if"])
        return validated(StepForm, values, Section(self._document, "step", common, node)) or _NO_OPTIONS

    def _take_id(self, step_id: str, node: Node) -> None:
        place = self._document.place_of(node)
        first = self._reading.ids.setdefault(step_id, place)
        if first is not place:
            self._tell(node, f"the id {quoted(step_id)} is taken by the step at {first}")

    def _environment(self, node: Node) -> Any:
        """Variables as text, just as they are written: `1.10` is no number here."""
        if not isinstance(node, MappingNode):
            return self._document.value(node)
        variables: dict[str, str] = {}
        for name, (key, value) in self._document.entries(node).items():
            if not name or "=" in name or "\0" in name:
                self._tell(key, "the name of a variable is not empty and has no `=`")
            elif isinstance(value, ScalarNode):
                variables[name] = "" if self._document.value(value) is None else value.value
            else:
                self._tell(value, f"{quoted(name)} must be text: an environment has no lists or mappings")
        return variables

    # --- What a step is ----------------------------------------------------------------------------------------------

    def _choose_kind(self, own: dict[str, Entry], node: MappingNode) -> Chosen | None:
        """What a step is and its config; None with the reason told."""
        kinds = self._reading.kinds
        keys = owners_among(kinds, own)
        if "uses" in own:
            keys.append("uses")
        if len(keys) == 1:
            return self._used_kind(own) if keys[0] == "uses" else self._named_kind(kinds[keys[0]], own)
        if len(keys) > 1:
            key = own[keys[1]][0]
            self._tell(key, f"a step does one thing, and this one says {' and '.join(map(quoted, keys))}")
        elif own:
            hints = {name: did_you_mean(name, [*kinds, "uses", "include", *COMMON_KEYS]) for name in own}
            for name in [name for name in own if hints[name]] or list(own)[:1]:
                self._tell(own[name][0], f"no step type is called {quoted(name)}", hints[name])
        else:
            self._tell(node, f"the step does nothing: it needs one of {listed(kinds)}")
        return None

    def _used_kind(self, own: dict[str, Entry]) -> Chosen | None:
        """The long form: `uses` and `with`."""
        kinds = self._reading.kinds
        node = own["uses"][1]
        used = self._document.value(node)
        kind = kinds.get(used) if isinstance(used, str) else None
        misplaced = {name for name in own if kind is not None and name in kind.fields} - {"with"}
        for name, (key, _) in own.items():
            if name in misplaced:
                self._tell(key, f"{quoted(name)} belongs into `with`")
            elif name not in ("uses", "with"):
                self._tell(
                    key, f"{quoted(name)} is not known beside `uses`", did_you_mean(name, ["with", *COMMON_KEYS])
                )
        if kind is None:
            self._tell(node, f"there is no step type {quoted(str(used))}", did_you_mean(str(used), kinds))
            return None
        fields = self._mapping(own["with"][1], "`with` takes a mapping") if "with" in own else {}
        if fields is None:
            return None
        known, misspelt = self._known(fields, kind.fields, f"`{kind.key}`")
        return kind, known, misspelt | misplaced

    def _named_kind(self, kind: StepKind, own: dict[str, Entry]) -> Chosen | None:
        """The short form: the kind's key with its value, and the other fields beside it."""
        entry = own[kind.key]
        value = entry[1]
        inside: dict[str, Entry] | None
        if kind.key == "group" and isinstance(value, SequenceNode):
            inside = {"steps": entry}
        elif kind.shorthand is not None and (kind.is_mapping or not isinstance(value, MappingNode)):
            inside = {kind.shorthand: entry}
        else:
            inside = self._mapping(value, f"{quoted(kind.key)} takes a mapping of {listed(sorted(kind.fields))}")
        beside = {name: each for name, each in own.items() if name != kind.key}
        if inside is None:
            return None
        for name in inside.keys() & beside.keys():
            first = position_of(inside[name][0])
            self._tell(beside[name][0], f"{quoted(name)} is given twice: first at {first.line}:{first.column}")
        inside, misspelt = self._known(inside, kind.fields, f"`{kind.key}`")
        beside, misspelt_beside = self._known(beside, kind.fields, f"`{kind.key}`", COMMON_KEYS)
        return kind, {**beside, **inside}, misspelt | misspelt_beside

    def _mapping(self, node: Node, message: str) -> dict[str, Entry] | None:
        """The entries of a mapping, where nothing at all is an empty one; None with the message told."""
        if isinstance(node, MappingNode):
            return self._document.entries(node)
        if isinstance(node, ScalarNode) and self._document.value(node) is None:
            return {}
        self._tell(node, message)
        return None

    def _known(
        self, entries: dict[str, Entry], names: frozenset[str], owner: str, others: Iterable[str] = ()
    ) -> tuple[dict[str, Entry], frozenset[str]]:
        """The entries that `owner` knows, and the names that were most likely meant by those that are told.

        `others` are names that could have been meant as well.
        """
        if entries.keys() <= names:
            return entries, frozenset()
        meant = {name: nearest(name, [*names, *others]) for name in entries if name not in names}
        for name, near in meant.items():
            hint = f"did you mean `{near}`?" if near else None
            self._tell(entries[name][0], f"{owner} has no key {quoted(name)}", hint)
        known = {name: entry for name, entry in entries.items() if name in names}
        return known, frozenset(near for near in meant.values() if near)

    # --- The config of a step ----------------------------------------------------------------------------------------

    def _config_value(self, kind: StepKind, name: str, node: Node) -> Any:
        if kind.form is not None and name in kind.form.step_lists:
            return self.read_steps(node)
        value = self._document.value(node)
        if kind.form is not None and name == "until" and isinstance(value, str):
            self._reading.templates.check_condition(self._document, node, value)
        return value

    def _positions(self, fields: dict[str, Entry]) -> dict[str, Position]:
        """Where the values stand; what is in `with` is there as `with.<name>`, for the planner checks it."""
        positions = {name: position_of(value) for name, (_, value) in fields.items()}
        handed_on = fields["with"][1] if "with" in fields else None
        if isinstance(handed_on, MappingNode):
            for name, (key, _) in self._document.entries(handed_on).items():
                positions[f"with.{name}"] = position_of(key)
        return positions

    def _check_children(
        self, form: type[CombiningForm], fields: dict[str, Entry], values: Mapping[str, tuple[StepSpec, ...]]
    ) -> None:
        for name in form.step_lists:
            if name in fields and isinstance(fields[name][1], SequenceNode) and not fields[name][1].value:
                self._tell(fields[name][1], f"{quoted(name)} is empty: it has at least one step")
        if form.kind == "conditional":
            for child in values.get("choose", ())[:-1]:
                if child.condition is None:
                    message = "a step without `if` is the else, so nothing after it is ever chosen"
                    self._reading.mistakes.add(child.source.file, child.source.line, child.source.column, message)
        elif form.kind == "call" and "${{" in str(values.get("call")):
            self._tell(fields["call"][1], "a flow that is called is known before the run: it cannot be an expression")
