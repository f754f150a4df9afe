"""YAML as nodes that know their places: composed by libyaml within limits, read as YAML 1.2."""

import re
from collections.abc import Callable, Iterable, Iterator
from typing import Any, NoReturn

from yaml._yaml import CParser
from yaml.composer import ComposerError
from yaml.error import MarkedYAMLError, YAMLError
from yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode

from pitstop.definition.flow import Position
from pitstop.definition.mistakes import Mistakes, nearest, quoted
from pitstop.definition.values import Source
from pitstop.limits import DEFAULTS, FLOW_BYTES, VALUE_LEVELS, too_large, too_many_values

MOST_HINTS = 100  # about the unknown keys of one mapping: finding the nearest word takes long

Entry = tuple[Node, Node]  # a key and its value

_PLAIN = "plain"  # the tag of a scalar that may be more than text
_TEXT = "text"
_TAG = "tag:yaml.org,2002:"


class Document:
    """One file. What is wrong with a node is noted in `mistakes` when somebody asks for it."""

    def __init__(self, file: str, text: str, mistakes: Mistakes) -> None:
        self.file = file
        self.text = text
        self.mistakes = mistakes
        self.root: Node | None = None
        self.size = 0  # in nodes
        self.see_template: Callable[[ScalarNode], None] | None = None  # is shown each text with a `${{`

    def close(self) -> None:
        """Let go of the nodes, of which there may be very many, at once."""
        self.root = self.see_template = None

    def tell(self, node: Node, message: str, hint: str | None = None) -> None:
        self.mistakes.add(self.file, *position_of(node), message, hint)

    def refuse(self, node: Node, message: str) -> NoReturn:
        """FlowTooLarge, at this node."""
        self.mistakes.refuse(self.file, *position_of(node), message)

    def place_of(self, node: Node) -> Source:
        line, column = position_of(node)
        return Source(self.file, line, column, max(line, _last_line(node)))

    def entries(self, node: MappingNode) -> dict[str, Entry]:
        """A mapping by its keys, those of `<<` merged in. A key that is given twice is a mistake."""
        self._check_tag(node, "map")
        found: dict[str, Entry] = {}
        merged: list[Node] = []
        for entry in node.value:
            key = entry[0]
            name = key.value
            if type(key) is not ScalarNode:
                self.tell(key, "a key must be text, not a list or a mapping")
            elif name == "<<" and key.tag is _PLAIN:
                merged.append(entry[1])
            elif name in found:
                first = position_of(found[name][0])
                self.tell(key, f"duplicate key {quoted(name)}: first at {first.line}:{first.column}")
            else:
                found[name] = entry
        for value in merged:
            for source in value.value if isinstance(value, SequenceNode) else [value]:
                if isinstance(source, MappingNode):
                    found = {**self.entries(source), **found}
                else:
                    self.tell(source, "`<<` merges mappings: use an alias of a mapping, or a list of such aliases")
        return found

    def items(self, node: Node) -> list[Node]:
        """The children of a list."""
        self._check_tag(node, "seq")
        children: list[Node] = node.value
        return children

    def value(self, node: Node) -> Any:
        """The node as plain data: dict, list, str, int, float, bool or None."""
        if isinstance(node, ScalarNode):
            return self._scalar(node)
        if isinstance(node, MappingNode):
            return {name: self.value(value) for name, (_, value) in self.entries(node).items()}
        return [self.value(child) for child in self.items(node)]

    def _scalar(self, node: ScalarNode) -> Any:
        text: str = node.value
        if "${{" in text and self.see_template is not None:
            self.see_template(node)
        if node.tag is _TEXT or node.tag == f"{_TAG}str":
            return text
        if node.tag is _PLAIN and text and text[0] not in _BEGINS_A_VALUE:
            return text
        try:
            value = plain_value(text)
        except ValueError:
            self.tell(node, f"the number is too long ({len(text):,} digits)")
            return 0
        if node.tag is not _PLAIN:
            self._check_tag(node, _TAG_OF.get(type(value), ""))
        return value

    def _check_tag(self, node: Node, name: str) -> None:
        """Refuse a tag that is neither left out nor the one called `name`."""
        if node.tag is not _TEXT and node.tag != _TAG + name:
            tag = quoted(node.tag.replace(_TAG, "!!"))
            self.tell(node, f"unknown tag {tag}, or an invalid value for it", "remove the tag")


def known_entries(
    document: Document, entries: dict[str, Entry], names: frozenset[str], owner: str, others: Iterable[str] = ()
) -> tuple[dict[str, Entry], frozenset[str]]:
    """The entries that `owner` knows, and the names, its own or `others`, that were most likely meant by the rest."""
    if entries.keys() <= names:
        return entries, frozenset()
    unknown = [name for name in entries if name not in names]
    meant = {
        name: nearest(name, [*names, *others]) if number < MOST_HINTS else None for number, name in enumerate(unknown)
    }
    for name, near in meant.items():
        hint = f"did you mean `{near}`?" if near else None
        document.tell(entries[name][0], f"{owner} has no key {quoted(name)}", hint)
    known = {name: entry for name, entry in entries.items() if name in names}
    return known, frozenset(near for near in meant.values() if near)


def position_of(node: Node) -> Position:
    mark = node.start_mark
    return Position(mark.line + 1, mark.column + 1)


def position_in(document: Document, node: Node, offset: int) -> Position:
    """The place that is `offset` characters behind the node's beginning."""
    mark = node.start_mark
    before = document.text[mark.index : mark.index + offset]
    lines = before.count("\n")
    column = len(before) - before.rfind("\n") if lines else mark.column + 1 + offset
    return Position(mark.line + 1 + lines, column)


def plain_value(text: str) -> Any:
    """What an unquoted scalar is in the core schema of YAML 1.2: `on`, `yes`, `12:30:45` and dates are text."""
    if text in _CONSTANTS:
        return _CONSTANTS[text]
    match = re.fullmatch(_NUMBER, text)
    if match is None:
        return text
    if match["based"]:
        return int(text, 0)
    return float(text.replace(".inf", "inf").replace(".nan", "nan")) if match["float"] else int(text)


_CONSTANTS: dict[str, Any] = {
    **dict.fromkeys(("", "~", "null", "Null", "NULL")),
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
    **{sign + inf: float(f"{sign}inf") for sign in ("", "+", "-") for inf in (".inf", ".Inf", ".INF")},
    **dict.fromkeys((".nan", ".NaN", ".NAN"), float("nan")),
}
_NUMBER = r"""(?x)
          (?P<based> 0o[0-7]+ | 0x[0-9a-fA-F]+ )
        | [-+]? [0-9]+
        | (?P<float> [-+]? (?: \.[0-9]+ | [0-9]+ (?:\.[0-9]*)? ) (?:[eE][-+]?[0-9]+)? )
"""
_BEGINS_A_VALUE = frozenset("+-.0123456789tTfFnN~")
_TAG_OF = {int: "int", float: "float", bool: "bool", type(None): "null"}


def read_document(
    file: str, data: str | bytes, mistakes: Mistakes, value_limit: int = DEFAULTS.value_limit
) -> Document | None:
    """The document in a file; None when it cannot be read at all, which `mistakes` then says why. FlowTooLarge."""
    text = _decoded(file, data, mistakes)
    if text is None:
        return None
    mistakes.texts[file] = text
    document = Document(file, text, mistakes)
    if len(text) > FLOW_BYTES:
        mistakes.refuse(file, 1, 1, too_large(len(text)))
    try:
        composer = _Composer(text, value_limit)
        document.root = composer.get_single_node()
        document.size = composer.nodes
        if document.root is None:
            mistakes.add(file, 1, 1, "the file is empty: a flow needs at least `steps:`")
        elif "*" in text and "&" in text:
            document.size = _measure(document.root, {}, value_limit)[0]
    except _BeyondLimits as beyond:
        mistakes.refuse(file, beyond.line, beyond.column, beyond.reason)
    except (YAMLError, UnicodeEncodeError) as error:
        _tell_syntax(document, error)
        return None
    return None if document.root is None else document


class _BeyondLimits(Exception):
    """A file that would cost too much, or crash what reads it."""

    def __init__(self, node: Node | None, reason: str) -> None:
        super().__init__(reason)
        self.line, self.column = (1, 1) if node is None else position_of(node)
        self.reason = reason


class _Composer(CParser):
    """libyaml's composer. It is recursive and in C, so only limits that are held while it works keep it alive."""

    def __init__(self, text: str, value_limit: int) -> None:
        super().__init__(text)
        self.nodes = 0
        self._value_limit = value_limit
        self._levels = 0

    def resolve(self, kind: type[Node], value: str, implicit: Any) -> str:
        return _PLAIN if kind is ScalarNode and implicit[0] else _TEXT

    def descend_resolver(self, parent: Node | None, index: object) -> None:
        self.nodes += 1
        self._levels += 1
        if self._levels > VALUE_LEVELS:
            raise _BeyondLimits(parent, _TOO_DEEP)
        if self.nodes > self._value_limit:
            raise _BeyondLimits(parent, too_many_values(self._value_limit))

    def ascend_resolver(self) -> None:
        self._levels -= 1


_TOO_DEEP = f"nested more than {VALUE_LEVELS} levels deep"


def _measure(node: Node, known: dict[Node, tuple[int, int] | None], value_limit: int) -> tuple[int, int]:
    """Nodes and levels with aliases replaced. `known` has each node once it is measured, None while we are inside."""
    if isinstance(node, ScalarNode):
        return 1, 1
    if node in known:
        size = known[node]
        if size is None:
            raise _BeyondLimits(node, "recursive alias: the anchor contains itself")
        return size
    known[node] = None
    nodes, levels = 1, 0
    for child in _children(node):
        child_nodes, child_levels = _measure(child, known, value_limit)
        nodes += child_nodes
        levels = max(levels, child_levels)
    if nodes > value_limit:
        raise _BeyondLimits(node, too_many_values(value_limit))
    if levels >= VALUE_LEVELS:
        raise _BeyondLimits(node, _TOO_DEEP)
    known[node] = nodes, levels + 1
    return nodes, levels + 1


def _children(node: Node) -> Iterator[Node]:
    for child in node.value:
        if isinstance(child, tuple):
            yield from child
        else:
            yield child


def _last_line(node: Node) -> int:
    """The last line that something of the node stands on. A block's own end is where the next thing begins."""
    if isinstance(node, MappingNode | SequenceNode) and not node.flow_style and node.value:
        last = node.value[-1]
        return max(map(_last_line, last)) if isinstance(last, tuple) else _last_line(last)
    end = node.end_mark
    return end.line + 1 if end.column or end.line == node.start_mark.line else end.line


def _end_of(text: str) -> Position:
    """The place behind the last character."""
    return Position(text.count("\n") + 1, len(text) - text.rfind("\n"))


def _decoded(file: str, data: str | bytes, mistakes: Mistakes) -> str | None:
    try:
        text = data if isinstance(data, str) else data.decode()
    except UnicodeDecodeError as error:
        place = _end_of(error.object[: error.start].decode())
        mistakes.texts[file] = error.object.decode(errors="replace")
        byte = error.object[error.start]
        mistakes.add(file, *place, f"the byte 0x{byte:02x} is not UTF-8", "save the file as UTF-8")
        return None
    return text.removeprefix("\ufeff")


_NOT_IN_YAML = "[^\t\n\r\x20-\x7e\x85\xa0-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]"


def _tell_syntax(document: Document, error: YAMLError | UnicodeEncodeError) -> None:
    """Say in our words where libyaml gave up. It knows one mistake at a time."""
    if not isinstance(error, MarkedYAMLError) or error.problem_mark is None:
        strange = re.search(_NOT_IN_YAML, document.text)
        before = document.text[: strange.start()] if strange else ""
        what = f"the character U+{ord(strange[0]):04X} is not allowed in YAML" if strange else f"invalid YAML: {error}"
        document.mistakes.add(document.file, *_end_of(before), what, "write it as an escape in quotes")
        return
    mark = error.problem_mark
    message = f"invalid YAML: {error.problem}"
    hint = "put the text in quotes" if error.problem == "mapping values are not allowed in this context" else None
    if isinstance(error, ComposerError) and error.problem == "but found another document":
        message = "a file holds one flow, but another document starts here: move it to a separate file"
    elif document.text[mark.index : mark.index + 1] == "\t":
        message, hint = "YAML cannot be indented with tabs", "use spaces"
    elif error.context and error.context_mark is not None:
        message += f" {error.context}, which starts at line {error.context_mark.line + 1}"
    written = document.text.rstrip()
    place = Position(mark.line + 1, mark.column + 1)
    if mark.index >= len(written):  # the end came too early: that is seen behind the last thing that is there
        place = _end_of(written)
    document.mistakes.add(document.file, *place, message, hint)
