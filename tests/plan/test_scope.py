"""Scopes: layers that are read through, written one at a time, and never changed under whoever holds a snapshot."""

import copy
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from pitstop.errors import BadEdit, BadExpression
from pitstop.plan.paths import read_path
from pitstop.plan.scope import Assigned, Edit, Layer, Removed, Scope, plan_edit


def scope_of(*layers: tuple[str, dict[str, Any]]) -> Scope:
    """Innermost first."""
    return Scope(tuple(Layer(name, values, []) for name, values in layers))


# --- Reading and writing ---------------------------------------------------------------------------------------------


def test_reading_goes_through_the_layers_and_the_innermost_wins() -> None:
    scope = scope_of(("inner", {"a": 1}), ("outer", {"a": 0, "b": 2}))

    assert scope.values() == {"a": 1, "b": 2}


def test_a_child_adds_a_layer_that_takes_its_writes() -> None:
    outer = scope_of(("run", {"a": 1}))

    inner = outer.child("p.x", {"matrix": 7})
    inner.put(("b",), 2)

    assert inner.values() == {"a": 1, "matrix": 7, "b": 2}
    assert outer.values() == {"a": 1}
    assert inner.own.changes == [Assigned(("b",), 2)]


def test_putting_under_a_key_of_an_outer_layer_keeps_what_is_beside_it() -> None:
    outer = scope_of(("run", {"steps": {"a": 1}}))
    inner = outer.child("p.x")

    inner.put(("steps", "b"), 2)

    assert inner.values()["steps"] == {"a": 1, "b": 2}
    assert outer.values()["steps"] == {"a": 1}
    assert inner.own.changes == [Assigned(("steps", "b"), 2)], "only what was put is handed on"


def test_putting_a_whole_key_hides_the_outer_one() -> None:
    inner = scope_of(("run", {"x": {"a": 1}})).child("p")

    inner.put(("x",), {"b": 2})

    assert inner.values() == {"x": {"b": 2}}


def test_a_layer_is_found_by_name_or_by_what_it_holds() -> None:
    scope = scope_of(("inner", {"a": 1}), ("outer", {"a": 0, "b": 2}))

    assert scope.layer("outer", "a").name == "outer"
    assert scope.layer(None, "b").name == "outer"
    assert scope.layer(None, "a").name == "inner"
    assert scope.layer(None, "nobody").name == "inner"
    with pytest.raises(BadEdit, match="no layer 'middle'; available: inner, outer"):
        scope.layer("middle", "a")


def test_a_path_through_something_else_is_refused_and_changes_nothing() -> None:
    layer = Layer("state", {"a": "text"}, [])

    with pytest.raises(BadExpression):
        layer.assign(("a", "b"), 1)

    assert (layer.values, layer.changes) == ({"a": "text"}, [])


# --- Sharing ---------------------------------------------------------------------------------------------------------


def test_a_write_shares_all_that_it_does_not_touch() -> None:
    big = {"left": {"x": [1, 2]}, "right": {"y": {"deep": {}}}}
    layer = Layer("state", big)

    layer.assign(("left", "x", 0), 9)

    assert layer.values == {"left": {"x": [9, 2]}, "right": {"y": {"deep": {}}}}
    assert layer.values["right"] is big["right"]
    assert big == {"left": {"x": [1, 2]}, "right": {"y": {"deep": {}}}}


def test_a_snapshot_is_not_touched_by_later_writes() -> None:
    scope = scope_of(("inner", {"a": {"x": 1}}), ("outer", {"b": [1]}))
    snapshot = scope.snapshot()

    scope.put(("a", "x"), 2)
    scope.put(("c",), 3)
    scope.layer("outer", "b").assign(("b", 0), 9)
    scope.layer("inner", "a").remove(("a",))

    assert dict(snapshot) == {"a": {"x": 1}, "b": [1]}
    assert scope.values() == {"b": [9], "c": 3}


def test_a_snapshot_costs_one_reference_a_layer() -> None:
    scope = scope_of(("inner", {"a": 1}), ("outer", {"b": 2}))

    snapshot = scope.snapshot()

    assert all(kept is layer.values for (_, kept), layer in zip(snapshot.layers, scope.layers, strict=True))


def test_a_snapshot_is_a_mapping() -> None:
    snapshot = scope_of(("inner", {"a": 1}), ("outer", {"a": 0, "b": 2})).snapshot()

    assert (snapshot["a"], snapshot["b"], len(snapshot), sorted(snapshot)) == (1, 2, 2, ["a", "b"])
    assert snapshot.get("c", "none") == "none"
    with pytest.raises(KeyError):
        snapshot["c"]


# --- Removing, marking, rewinding ------------------------------------------------------------------------------------


def test_removing_takes_one_thing_out_and_is_told() -> None:
    layer = Layer("state", {"a": {"x": 1, "y": 2}, "l": [1, 2, 3]}, [])

    layer.remove(("a", "x"))
    layer.remove(("l", 1))

    assert layer.values == {"a": {"y": 2}, "l": [1, 3]}
    assert layer.changes == [Removed(("a", "x")), Removed(("l", 1))]


def test_a_key_that_hides_an_outer_one_uncovers_it_when_it_is_removed() -> None:
    scope = scope_of(("inner", {"a": 1}), ("outer", {"a": 0}))

    scope.own.remove(("a",))

    assert scope.values() == {"a": 0}


def test_a_layer_goes_back_to_a_mark() -> None:
    layer = Layer("state", {"a": 1}, [])
    layer.assign(("b",), 2)
    mark = layer.mark()
    layer.assign(("a",), 9)
    layer.remove(("b",))

    layer.rewind(mark)

    assert layer.values == {"a": 1, "b": 2}
    assert layer.changes == [Assigned(("b",), 2)]


# --- Edits by hand ---------------------------------------------------------------------------------------------------


def edited(
    values: dict[str, Any], path: tuple[str | int, ...], value: Any = None, *, removes: bool = False
) -> tuple[Scope, Edit]:
    scope = scope_of(("state", values))
    edit = plan_edit(scope, path, value, layer=None, removes=removes)
    edit.apply(scope)
    return scope, edit


def test_an_edit_goes_to_the_layer_that_holds_the_key() -> None:
    scope = scope_of(("inner", {"x": 1}), ("outer", {"vars": {"region": "eu"}}))

    edit = plan_edit(scope, ("vars", "region"), "us", layer=None, removes=False)
    edit.apply(scope)

    assert edit.layer == "outer"
    assert scope.layers[1].values == {"vars": {"region": "us"}}
    assert scope.layers[0].values == {"x": 1}


def test_an_edit_goes_to_the_layer_that_was_named() -> None:
    scope = scope_of(("inner", {}), ("outer", {"a": 1}))

    plan_edit(scope, ("a",), 2, layer="inner", removes=False).apply(scope)

    assert [layer.values for layer in scope.layers] == [{"a": 2}, {"a": 1}]


def test_planning_an_edit_changes_nothing() -> None:
    scope = scope_of(("state", {"a": 1}))

    plan_edit(scope, ("a",), 2, layer=None, removes=False)

    assert scope.values() == {"a": 1}


def test_an_edit_says_what_it_does() -> None:
    scope = scope_of(("state", {"a": [1]}))

    assert str(plan_edit(scope, ("a", 0), 2, layer=None, removes=False)) == "set .a[0] in state"
    assert str(plan_edit(scope, ("a", 0), None, layer=None, removes=True)) == "unset .a[0] in state"


@pytest.mark.parametrize(
    ("path", "value", "removes", "reason"),
    [
        ((), 1, False, "path that starts with a key"),
        ((0,), 1, False, "path that starts with a key"),
        (("text", "x"), 1, False, "cannot edit"),
        (("text", 0), 1, False, "cannot edit"),
        (("list", "x"), 1, False, "cannot edit"),
        (("list", -9), 1, False, "cannot edit"),
        (("list", 10**9), 1, False, "cannot edit"),
        (("nobody",), None, True, "nothing to unset at .nobody"),
        (("list", 7), None, True, "nothing to unset at .list"),
        (("text", "x"), None, True, "nothing to unset at .text.x"),
    ],
)
def test_an_edit_that_cannot_be_done_is_refused(path: Any, value: Any, removes: bool, reason: str) -> None:
    scope = scope_of(("state", {"text": "abc", "list": [1, 2]}))

    with pytest.raises(BadEdit, match=reason):
        plan_edit(scope, path, value, layer=None, removes=removes)

    assert scope.values() == {"text": "abc", "list": [1, 2]}


@pytest.mark.parametrize(
    ("values", "path", "removes"),
    [
        ({"a": 1}, ("a",), False),
        ({}, ("a",), False),
        ({"a": {"x": 1}}, ("a", "x"), False),
        ({"a": None}, ("a",), False),
        ({}, ("a", "b", "c"), False),
        ({"a": None}, ("a", "b"), False),
        ({"l": [1, 2]}, ("l", 0), False),
        ({"l": [1, 2]}, ("l", -1), False),
        ({"l": [1, 2]}, ("l", 2), False),
        ({"l": [1, 2]}, ("l", 5), False),
        ({"t": (1, 2)}, ("t", 0), False),
        ({"a": 1}, ("a",), True),
        ({"a": {"x": 1, "y": 2}}, ("a", "x"), True),
        ({"l": [1, 2, 3]}, ("l", 0), True),
        ({"l": [1, 2, 3]}, ("l", -1), True),
        ({"t": (1, 2)}, ("t", 0), True),
    ],
    ids=str,
)
def test_undoing_an_edit_puts_everything_back(values: dict[str, Any], path: Any, removes: bool) -> None:
    before = copy.deepcopy(values)
    scope, edit = edited(values, path, "new", removes=removes)
    assert scope.values() != before

    edit.undo(scope)

    assert scope.values() == before


def test_edits_are_undone_one_by_one() -> None:
    scope = scope_of(("state", {"l": [1, 2, 3]}))
    edits = []
    wanted: list[tuple[tuple[str | int, ...], bool]] = [(("l", 0), True), (("l", 0), True), (("m", "n"), False)]
    for path, removes in wanted:
        edit = plan_edit(scope, path, "new", layer=None, removes=removes)
        edit.apply(scope)
        edits.append(edit)
    assert scope.values() == {"l": [3], "m": {"n": "new"}}

    for edit in reversed(edits):
        edit.undo(scope)

    assert scope.values() == {"l": [1, 2, 3]}


keys = st.sampled_from(["a", "b", "c"])
states = st.dictionaries(
    keys,
    st.recursive(
        st.none() | st.integers() | st.text(max_size=2),
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(keys, inner, max_size=3),
        max_leaves=8,
    ),
    max_size=3,
)
paths = st.tuples(keys, st.lists(keys | st.integers(-4, 4), max_size=3)).map(lambda parts: (parts[0], *parts[1]))


@given(states, paths, st.booleans())
def test_any_edit_can_be_done_seen_and_undone(values: dict[str, Any], path: Any, removes: bool) -> None:
    before = copy.deepcopy(values)
    try:
        scope, edit = edited(values, path, "new", removes=removes)
    except BadEdit:
        assert values == before
        assume(False)
    if not removes:
        assert read_path(scope.values(), path) == "new"

    edit.undo(scope)

    assert scope.values() == before
    assert values == before, "the values that were given are never changed"
