"""Our `dataclass` does what that of the standard library does."""

import copy
import dataclasses
import pickle
from collections.abc import Callable
from dataclasses import field
from typing import Any

import pytest

from pitstop import lazy_dataclass

Decorator = Callable[..., Any]


def make_point(dataclass: Decorator, **options: Any) -> Any:
    @dataclass(slots=True, **options)
    class Point:
        """A class with a field of every sort."""

        x: int
        y: int = 2
        notes: list[str] = field(default_factory=list, compare=False)
        secret: str = field(default="s", repr=False)
        total: int = field(init=False)
        numbers: list[int] = field(default_factory=lambda: [1], init=False)

        def __post_init__(self) -> None:
            object.__setattr__(self, "total", self.x + self.y)

    return Point


@dataclasses.dataclass(frozen=True, slots=True)
class Standard:
    a: int
    b: tuple[int, ...] = ()


@lazy_dataclass.dataclass(frozen=True, slots=True)
class Ours:
    a: int
    b: tuple[int, ...] = ()


@lazy_dataclass.dataclass(frozen=True, slots=True, kw_only=True)
class Derived(Ours):
    c: str

    def __str__(self) -> str:
        return f"derived {self.c}"


@pytest.mark.parametrize(
    "options", [{}, {"frozen": True}, {"kw_only": True}, {"eq": False}, {"frozen": True, "eq": False}]
)
def test_objects_are_made_shown_and_compared_alike(options: dict[str, Any]) -> None:
    standard, ours = make_point(dataclasses.dataclass, **options), make_point(lazy_dataclass.dataclass, **options)

    def story(cls: Any) -> list[Any]:
        given = {"x": 1, "secret": "t"}
        before = cls(**given)
        point, same, other = cls(**given), cls(**given, notes=["n"]), cls(x=1, y=3)
        return [
            before == point,
            repr(before),
            repr(point),
            repr(same),
            *(repr(cls(x=number)) for number in range(5)),
            point == same,
            point == other,
            point != other,
            point == 1,
            cls.__hash__ is None,
            point.total,
            point.numbers is same.numbers,
            dataclasses.asdict(point),
            repr(dataclasses.replace(point, x=5)),
            cls.__match_args__,
            [each.name for each in dataclasses.fields(cls)],
        ]

    assert story(ours) == story(standard)


def test_a_frozen_object_cannot_be_changed_and_can_be_a_key() -> None:
    ours = Ours(1, (2,))

    with pytest.raises(dataclasses.FrozenInstanceError, match="cannot assign to field 'a'"):
        ours.a = 2  # type: ignore[misc]
    with pytest.raises(dataclasses.FrozenInstanceError, match="cannot delete field 'b'"):
        del ours.b
    assert {ours: "here"}[Ours(1, (2,))] == "here"
    others: Any = Standard(1, (2,))
    assert ours != others


@pytest.mark.parametrize(
    ("wrong", "named"), [((), {}), ((1, 2, [], "", 5), {}), ((1,), {"x": 2}), ((1,), {"c": 2}), ((), {"y": 3})]
)
def test_wrong_arguments_are_refused_with_the_same_words(wrong: tuple[Any, ...], named: dict[str, Any]) -> None:
    standard, ours = make_point(dataclasses.dataclass), make_point(lazy_dataclass.dataclass)

    with pytest.raises(TypeError) as expected:
        standard(*wrong, **named)
    with pytest.raises(TypeError) as told:
        ours(*wrong, **named)

    assert str(told.value) == str(expected.value)


def test_a_derived_class_has_the_fields_of_both() -> None:
    derived = Derived(a=1, c="x")

    assert (repr(derived), str(derived)) == ("Derived(a=1, b=(), c='x')", "derived x")
    assert derived != Ours(1)


def test_objects_are_copied_and_pickled() -> None:
    derived = Derived(a=1, b=(3,), c="x")

    assert copy.copy(derived) == copy.deepcopy(derived) == pickle.loads(pickle.dumps(derived)) == derived


def test_objects_are_matched_by_position() -> None:
    match Ours(1, (2,)):
        case Ours(a, b):
            assert (a, b) == (1, (2,))
