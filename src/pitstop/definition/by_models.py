"""The parts of a file that the models have to judge: what a step is, its config, and options that are not plain."""

from collections.abc import Mapping
from typing import Any

from yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode

from pitstop.definition.containers import CONTAINER_KEYS
from pitstop.definition.flow import StepTypeInfo
from pitstop.definition.forms import FlowForm, StepForm
from pitstop.definition.mistakes import did_you_mean, listed, quoted
from pitstop.definition.plain import COMMON_KEYS, Options
from pitstop.definition.step_kinds import StepKind, owners_among, step_kinds
from pitstop.definition.validation import Section, check_config, validated
from pitstop.definition.yaml_nodes import Document, Entry, known_entries, position_of

# The kind of a step, its config by the names of the fields, and the fields that were misspelt
Chosen = tuple[StepKind, dict[str, Entry], frozenset[str]]


class ByModels:
    """Judges the parts of one file. What is wrong is told there."""

    def __init__(self, document: Document, step_types: Mapping[str, StepTypeInfo]) -> None:
        self._document = document
        self._tell = document.tell
        self._kinds = step_kinds(step_types)

    def flow_options(
        self, values: Mapping[str, Any], known: Mapping[str, Entry], root: Node, misspelt: frozenset[str]
    ) -> Options | None:
        """What the flow says of itself, as the Flow has it; None where it has mistakes."""
        form = validated(FlowForm, values, Section(self._document, "flow", known, root, misspelt))
        return None if form is None else form.options()

    def containers(self, values: Mapping[str, Any], known: Mapping[str, Entry], root: Node) -> dict[str, Any]:
        """What the flow says of containers, checked as a `run` step that says it would be."""
        entries = {name: known[name] for name in CONTAINER_KEYS if name in known}
        containers = {name: values[name] for name in entries}
        run = self._kinds.get("run")
        if containers and run is not None:
            check_config(run.model, {"script": "", **containers}, Section(self._document, "flow", entries, root))
        return containers

    def step_options(self, values: Mapping[str, Any], common: Mapping[str, Entry], node: Node) -> Options:
        """What a step says beside its config, as its StepSpec has it; nothing where it has mistakes."""
        form = validated(StepForm, values, Section(self._document, "step", common, node))
        return {} if form is None else form.options()

    def step(
        self,
        kind: StepKind,
        values: dict[str, Any],
        fields: Mapping[str, Entry],
        node: Node,
        misspelt: frozenset[str],
    ) -> Options | None:
        """Kind, config, children and maybe a name, as the StepSpec has them; None where the children are not known."""
        section = Section(self._document, kind.key, fields, node, misspelt)
        if kind.form is None:
            check_config(kind.model, values, section)
            return {"kind": kind.key, "config": values}
        form = validated(kind.form, values, section)
        return None if form is None else form.options()

    def choose_kind(self, own: dict[str, Entry], node: MappingNode) -> Chosen | None:
        """What a step is and its config; None with the reason told."""
        kinds = self._kinds
        keys = owners_among(kinds, own)
        if "uses" in own:
            keys.append("uses")
        if len(keys) == 1:
            return self._used_kind(own) if keys[0] == "uses" else self._named_kind(kinds[keys[0]], own)
        if len(keys) > 1:
            key = own[keys[1]][0]
            self._tell(key, f"a step has one type, but this one has {' and '.join(map(quoted, keys))}")
        elif own:
            hints = {name: did_you_mean(name, [*kinds, "uses", "include", *COMMON_KEYS]) for name in own}
            for name in [name for name in own if hints[name]] or list(own)[:1]:
                self._tell(own[name][0], f"unknown step type {quoted(name)}", hints[name])
        else:
            self._tell(node, f"the step does nothing: it needs one of {listed(kinds)}")
        return None

    def _used_kind(self, own: dict[str, Entry]) -> Chosen | None:
        """The long form: `uses` and `with`."""
        kinds = self._kinds
        node = own["uses"][1]
        used = self._document.value(node)
        kind = kinds.get(used) if isinstance(used, str) else None
        misplaced = {name for name in own if kind is not None and name in kind.fields} - {"with"}
        for name, (key, _) in own.items():
            if name in misplaced:
                self._tell(key, f"{quoted(name)} belongs in `with`")
            elif name not in ("uses", "with"):
                self._tell(
                    key, f"unknown key {quoted(name)} next to `uses`", did_you_mean(name, ["with", *COMMON_KEYS])
                )
        if kind is None:
            self._tell(node, f"unknown step type {quoted(str(used))}", did_you_mean(str(used), kinds))
            return None
        fields = self._mapping(own["with"][1], "`with` must be a mapping") if "with" in own else {}
        if fields is None:
            return None
        known, misspelt = known_entries(self._document, fields, kind.fields, f"`{kind.key}`")
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
            inside = self._mapping(value, f"{quoted(kind.key)} must be a mapping with {listed(sorted(kind.fields))}")
        beside = {name: each for name, each in own.items() if name != kind.key}
        if inside is None:
            return None
        for name in inside.keys() & beside.keys():
            first = position_of(inside[name][0])
            self._tell(beside[name][0], f"duplicate key {quoted(name)}: first at {first.line}:{first.column}")
        inside, misspelt = known_entries(self._document, inside, kind.fields, f"`{kind.key}`")
        beside, misspelt_beside = known_entries(self._document, beside, kind.fields, f"`{kind.key}`", COMMON_KEYS)
        return kind, {**beside, **inside}, misspelt | misspelt_beside

    def _mapping(self, node: Node, message: str) -> dict[str, Entry] | None:
        """The entries of a mapping, where nothing at all is an empty one; None with the message told."""
        if isinstance(node, MappingNode):
            return self._document.entries(node)
        if isinstance(node, ScalarNode) and self._document.value(node) is None:
            return {}
        self._tell(node, message)
        return None
