"""Scopes: what a step sees, as a chain of layers that are read through."""

from collections.abc import Iterator, Mapping
from typing import Any

from msgspec import Struct

from pitstop.errors import BadEdit, BadExpression
from pitstop.plan.paths import format_path, read_path, with_value, without

Path = tuple[str | int, ...]
Values = dict[str, Any]


class Assigned(Struct, frozen=True):
    """A value was put at a path."""

    path: Path
    value: Any


class Removed(Struct, frozen=True):
    """What was at a path is gone."""

    path: Path


# A node's update is kept as the dict that it is; reducers are applied when it is taken over.
Change = Assigned | Removed | Mapping[str, Any]


class Layer:
    """One object of variables.

    `values` is never changed in place: a write puts a new dict there which shares what did not change, so whoever
    holds the old one has a snapshot. `changes`, when kept, lists the writes for whoever takes the layer over.
    """

    __slots__ = ("changes", "name", "values")

    def __init__(self, name: str, values: Values, changes: list[Change] | None = None) -> None:
        self.name = name
        self.values = values
        self.changes = changes

    def assign(self, path: Path, value: Any) -> None:
        self.values = with_value(self.values, path, value)
        if self.changes is not None:
            self.changes.append(Assigned(path, value))

    def remove(self, path: Path) -> None:
        self.values = without(self.values, path)
        if self.changes is not None:
            self.changes.append(Removed(path))

    def mark(self) -> tuple[Values, int]:
        """Something `rewind` takes back to."""
        return self.values, len(self.changes) if self.changes is not None else 0

    def rewind(self, mark: tuple[Values, int]) -> None:
        self.values, kept = mark
        if self.changes is not None:
            del self.changes[kept:]


class Snapshot(Mapping[str, Any]):
    """A scope as it was: the layers' names and values, innermost first. Costs one reference per layer."""

    __slots__ = ("layers",)

    def __init__(self, layers: tuple[tuple[str, Values], ...]) -> None:
        self.layers = layers

    def __repr__(self) -> str:
        return f"Snapshot(layers={self.layers!r})"

    def as_dict(self) -> Values:
        if len(self.layers) == 1:
            return self.layers[0][1]
        merged: Values = {}
        for _, values in reversed(self.layers):
            merged.update(values)
        return merged

    def __getitem__(self, key: str) -> Any:
        for _, values in self.layers:
            if key in values:
                return values[key]
        raise KeyError(key)

    def __iter__(self) -> Iterator[str]:
        return iter(self.as_dict())

    def __len__(self) -> int:
        return len(self.as_dict())


class Scope:
    """A chain of layers, innermost first. Reading goes through; writing chooses one layer and says which."""

    __slots__ = ("layers",)

    def __init__(self, layers: tuple[Layer, ...]) -> None:
        self.layers = layers

    @property
    def own(self) -> Layer:
        return self.layers[0]

    def child(self, name: str, values: Values | None = None) -> "Scope":
        """A scope with one more layer, whose changes can be taken over by this one."""
        return Scope((Layer(name, {} if values is None else values, []), *self.layers))

    def snapshot(self) -> Snapshot:
        return Snapshot(tuple((layer.name, layer.values) for layer in self.layers))

    def values(self) -> Values:
        """All that is visible, as one dict; not to be changed."""
        return self.snapshot().as_dict()

    def layer(self, name: str | None, key: str) -> Layer:
        """The layer called `name`; without a name the one that holds `key`, or else the innermost."""
        if name is None:
            return next((layer for layer in self.layers if key in layer.values), self.own)
        for layer in self.layers:
            if layer.name == name:
                return layer
        raise BadEdit(f"there is no layer {name!r}; available: {', '.join(each.name for each in self.layers)}")

    def put(self, path: Path, value: Any) -> None:
        """Write into the innermost layer, keeping beside it what outer layers have under the same key."""
        self.see_through(self.own, path)
        self.own.assign(path, value)

    def see_through(self, layer: Layer, path: Path) -> None:
        """Before a write deep under a key that a layer lacks: give it what is seen there now, lest that be hidden."""
        key = str(path[0])
        if len(path) > 1 and key not in layer.values:
            seen = next((each.values[key] for each in self.layers if key in each.values), None)
            if seen is not None:
                layer.values = {**layer.values, key: seen}


class Edit(Struct, frozen=True):
    """One change by hand: what was put where, and what was there before. Knows how to be done and undone."""

    layer: str
    path: Path
    value: Any = None
    removes: bool = False
    undo_path: Path = ()
    before: Any = None
    was_there: bool = False

    def __str__(self) -> str:
        return f"{'unset' if self.removes else 'set'} {format_path(self.path)} in {self.layer}"

    def apply(self, scope: Scope) -> None:
        layer = scope.layer(self.layer, str(self.path[0]))
        if self.removes:
            layer.remove(self.path)
        else:
            scope.see_through(layer, self.path)
            layer.assign(self.path, self.value)

    def undo(self, scope: Scope) -> None:
        layer = scope.layer(self.layer, str(self.path[0]))
        if self.was_there:
            layer.values = with_value(layer.values, self.undo_path, self.before)
        else:
            layer.values = without(layer.values, self.undo_path)
        made = Removed(self.path) if self.removes else Assigned(self.path, self.value)
        for index in reversed(range(len(layer.changes or ()))):
            change = (layer.changes or [])[index]
            if type(change) is type(made) and change.path == made.path:  # nobody is to take it over any more
                del (layer.changes or [])[index]
                break


def plan_edit(scope: Scope, path: Path, value: Any, *, layer: str | None, removes: bool) -> Edit:
    """The edit that would set or unset this path; BadEdit says why it cannot be done."""
    if not path or not isinstance(path[0], str):
        raise BadEdit("an edit needs a path that starts with a key, such as .errors or .vars.region")
    target = scope.layer(layer, path[0])
    values = target.values
    if not removes and path[0] not in values and path[0] in scope.values():
        values = {**values, path[0]: scope.values()[path[0]]}
    try:
        if removes and not _is_there(target.values, path):
            raise BadEdit(f"nothing to unset at {format_path(path)} in layer {target.name!r}")
        without(values, path) if removes else with_value(values, path, value)
        undo_path, before, was_there = _to_put_back(target.values, path)
    except BadExpression as error:
        raise BadEdit(f"cannot edit {format_path(path)} in layer {target.name!r}: {error.reason}") from error
    return Edit(target.name, path, value, removes, undo_path, before, was_there)


def _is_there(values: Values, path: Path) -> bool:
    holder, last = read_path(values, path[:-1]), path[-1]
    if isinstance(holder, Mapping):
        return last in holder
    return isinstance(holder, list | tuple) and isinstance(last, int) and -len(holder) <= last < len(holder)


def _to_put_back(values: Values, path: Path) -> tuple[Path, Any, bool]:
    """What undoing an edit has to put back, and where: as little as is sure, for other frames may edit beside it.

    It is the first key on the way that is missing, the first list on the way, or the value at the path itself.
    """
    holder: Any = values
    for depth, part in enumerate(path):
        if not isinstance(holder, Mapping):
            return path[:depth], holder, True
        if part not in holder:
            return path[: depth + 1], None, False
        holder = holder[part]
    return path, holder, True
