"""Updates of a graph's state: what a node returned, merged in, joined across branches, and handed to a graph around."""

import operator
from collections.abc import Mapping, Sequence
from typing import Any

from pitstop.definition.values import Reducer
from pitstop.errors import BadUpdate, ConflictingUpdates
from pitstop.plan.scope import Assigned, Change, Layer, Removed, Values


def update_of(node: str, returned: Any, given: Values, state: Values) -> dict[str, Any]:
    """What a node's return value changes in the state; BadUpdate when it is no update."""
    if returned is None:
        return {}
    if returned is given:  # the state itself was changed and given back: what differs is the update
        return {key: value for key, value in given.items() if key not in state or state[key] is not value}
    if isinstance(returned, Mapping):
        return dict(returned)
    raise BadUpdate(node, returned)


def merge(state: Values, update: Mapping[str, Any], reducers: Mapping[str, Reducer]) -> Values:
    """The state with an update: keys with a reducer are reduced onto what is there, the others replaced."""
    merged = {**state, **update}
    for key, reduce in reducers.items():
        if key in update and key in state:
            merged[key] = reduce(state[key], update[key])
    return merged


def join(layer: Layer, branches: Sequence[tuple[str, Layer]], reducers: Mapping[str, Reducer]) -> None:
    """Take over what the branches wrote, in their order. Two that wrote one key without a reducer contradict."""
    writers: dict[str, str] = {}
    is_edited = False
    for name, branch in branches:
        for change in branch.changes or ():
            if isinstance(change, Assigned | Removed):
                is_edited = True
                continue
            for key in change:
                if key not in reducers and writers.setdefault(key, name) != name:
                    raise ConflictingUpdates(key, (writers[key], name))
    if not is_edited:
        _join_updates(layer, [change for _, branch in branches for change in branch.changes or ()], reducers)
        return
    start = layer.values
    for _, branch in branches:
        added = added_by_hand(start, branch, reducers)
        for change in branch.changes or ():
            if not isinstance(change, Assigned | Removed):
                _write(layer, {key: value for key, value in change.items() if key not in added}, reducers)
            elif change.path[0] not in added:
                _write(layer, change)
        _write(layer, added, reducers)


def _join_updates(layer: Layer, updates: Sequence[Any], reducers: Mapping[str, Reducer]) -> None:
    """One copy of the state for all of them: a fan-out may be wide."""
    values = layer.values.copy()
    for update in updates:
        for key, value in update.items():
            values[key] = reducers[key](values[key], value) if key in reducers and key in values else value
    layer.values = values
    if layer.changes is not None:
        layer.changes += updates


def _write(layer: Layer, change: Change, reducers: Mapping[str, Reducer] | None = None) -> None:
    match change:
        case Assigned():
            layer.assign(change.path, change.value)
        case Removed():
            layer.remove(change.path)
        case _ if change:
            layer.values = merge(layer.values, change, reducers or {})
            if layer.changes is not None:
                layer.changes.append(change)


def added_by_hand(start: Values, branch: Layer, reducers: Mapping[str, Reducer]) -> dict[str, Any]:
    """What a branch adds to reduced keys that were edited in it, where that can be told.

    Of a list that still begins as it did, what comes after that; of a number that is summed, the difference. Any other
    edit is made on what the branches before have brought.
    """
    added: dict[str, Any] = {}
    for change in branch.changes or ():
        key = str(change.path[0]) if isinstance(change, Assigned) else None
        if key not in reducers or key not in start or key not in branch.values:
            continue
        before, now = start[key], branch.values[key]
        if isinstance(before, list) and isinstance(now, list) and now[: len(before)] == before:
            added[key] = now[len(before) :]
        elif reducers[key] is operator.add and _is_number(before) and _is_number(now):
            added[key] = now - before
    return added


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def summarise(
    start: Values, layer: Layer, inner: Mapping[str, Reducer], outer: Mapping[str, Reducer]
) -> dict[str, Any]:
    """What a graph changed, as one update for the graph around it.

    A key that both reduce is handed on as what was added; any other as what it came to be.
    """
    update: dict[str, Any] = {}
    for change in layer.changes or ():
        for key in change if isinstance(change, Mapping) else (str(change.path[0]),):
            if isinstance(change, Mapping) and key in inner and key in outer:
                update[key] = inner[key](update[key], change[key]) if key in update else change[key]
            elif key in layer.values:
                update[key] = layer.values[key]
    both = {key: reduce for key, reduce in inner.items() if key in outer}
    return {**update, **added_by_hand(start, layer, both)}
