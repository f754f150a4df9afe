"""`dataclass` of the standard library, made so that loading a class takes a tenth of the time.

What takes it there is the compiling of methods for each class. Here all but one are the same functions for every class,
and `__init__` is compiled when a few objects have been made: in a short run most classes have fewer.
"""

import dataclasses
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from operator import attrgetter
from reprlib import recursive_repr
from typing import TYPE_CHECKING, Any

__all__ = ["dataclass"]

COMPILED_AFTER = 3  # objects

if TYPE_CHECKING:
    from dataclasses import dataclass
else:

    def dataclass(
        *, frozen: bool = False, eq: bool = True, kw_only: bool = False, slots: bool
    ) -> Callable[[type], type]:
        """As in the standard library, with these options and always with slots."""
        assert slots
        return lambda cls: _made(cls, frozen=frozen, eq=eq, kw_only=kw_only)


def _made(cls: type, *, frozen: bool, eq: bool, kw_only: bool) -> type:
    own = frozenset(vars(cls))
    with _as_if_changeable(cls.__mro__):
        made: Any = dataclasses.dataclass(init=False, repr=False, eq=False, slots=True, kw_only=kw_only)(cls)
    methods: dict[str, Any] = {"__init__": _first_init(made), "__repr__": _represent}
    if eq:
        key = _key_of(made)
        methods |= {"__eq__": _comparison(key), "__hash__": (lambda each: hash(key(each))) if frozen else None}
    if frozen:
        methods |= {"__setattr__": _refuse_to_set, "__delattr__": _refuse_to_delete}
        methods |= {"__getstate__": _get_state, "__setstate__": _set_state}
    for name, method in methods.items():
        if name not in own:
            setattr(made, name, method)
    return made  # type: ignore[no-any-return]


@contextmanager
def _as_if_changeable(classes: Iterable[type]) -> Iterator[None]:
    """The standard library would make methods for a class that is frozen, and asks that all or none of them are."""
    told: list[Any] = [vars(each).get("__dataclass_params__") for each in classes]
    frozen = [each for each in told if each is not None and each.frozen]
    for each in frozen:
        each.frozen = False
    try:
        yield
    finally:
        for each in frozen:
            each.frozen = True


def _first_init(cls: Any) -> Callable[..., None]:
    """An `__init__` for the first few objects of a class, which is all that a short run makes of most."""
    made = 0

    def __init__(self: Any, *arguments: Any, **named: Any) -> None:  # noqa: N807 - until it is replaced
        nonlocal made
        made += 1
        if made > COMPILED_AFTER or not _filled(self, arguments, named):
            cls.__init__ = _compiled_init(cls)
            cls.__init__(self, *arguments, **named)  # which says what is wrong with the arguments

    return __init__


def _filled(self: Any, arguments: tuple[Any, ...], named: dict[str, Any]) -> bool:
    """Whether every field got its value. One that cannot have been meant so is left to the compiled `__init__`."""
    fields = dataclasses.fields(self)
    given = dict(zip([each.name for each in fields if each.init and not each.kw_only], arguments, strict=False))
    if len(given) < len(arguments) or given.keys() & named.keys():
        return False
    given |= named
    for each in fields:
        if each.init and each.name in given:
            value = given.pop(each.name)
        elif each.default_factory is not dataclasses.MISSING:
            value = each.default_factory()
        elif each.default is not dataclasses.MISSING:
            value = each.default
        elif each.init:
            return False
        else:
            continue  # it is left to `__post_init__`
        object.__setattr__(self, each.name, value)
    if given:
        return False
    if hasattr(self, "__post_init__"):
        self.__post_init__()
    return True


_NOT_GIVEN = object()


def _compiled_init(cls: Any) -> Any:
    """Each value goes to its slot directly, so that frozen objects can be made, and are made faster."""
    names: dict[str, Any] = {"_not_given": _NOT_GIVEN}
    parameters: list[str] = []
    named_only: list[str] = []
    lines: list[str] = []
    for field in dataclasses.fields(cls):
        name = field.name
        names[f"_set_{name}"] = getattr(cls, name).__set__
        value, default = name, ""
        if field.default_factory is not dataclasses.MISSING:
            names[f"_make_{name}"] = field.default_factory
            value, default = f"_make_{name}() if {name} is _not_given else {name}", " = _not_given"
        elif field.default is not dataclasses.MISSING:
            names[f"_default_{name}"] = field.default
            default = f" = _default_{name}"
        if field.init:
            (named_only if field.kw_only else parameters).append(name + default)
        elif not default:
            continue  # it is left to `__post_init__`
        else:
            value = f"_make_{name}()" if f"_make_{name}" in names else f"_default_{name}"
        lines.append(f"_set_{name}(self, {value})")
    if hasattr(cls, "__post_init__"):
        lines.append("self.__post_init__()")
    signature = ", ".join(["self", *parameters, *(["*", *named_only] if named_only else [])])
    exec(f"def __init__({signature}):\n " + "\n ".join(lines or ["pass"]), names)
    init = names["__init__"]
    init.__qualname__ = f"{cls.__qualname__}.__init__"
    return init


def _key_of(cls: Any) -> Callable[[Any], Any]:
    """What objects are compared by."""
    names = [field.name for field in dataclasses.fields(cls) if field.compare]
    return attrgetter(*names) if names else lambda each: ()


def _comparison(key: Callable[[Any], Any]) -> Callable[[Any, Any], bool]:
    def __eq__(self: Any, other: Any) -> bool:  # noqa: N807 - a method of others
        if other.__class__ is not self.__class__:
            return NotImplemented
        return bool(key(self) == key(other))

    return __eq__


@recursive_repr()
def _represent(self: Any) -> str:
    shown = (f"{each.name}={getattr(self, each.name)!r}" for each in dataclasses.fields(self) if each.repr)
    return f"{self.__class__.__qualname__}({', '.join(shown)})"


def _refuse_to_set(self: Any, name: str, value: Any) -> None:
    raise dataclasses.FrozenInstanceError(f"cannot assign to field {name!r}")


def _refuse_to_delete(self: Any, name: str) -> None:
    raise dataclasses.FrozenInstanceError(f"cannot delete field {name!r}")


def _get_state(self: Any) -> list[Any]:
    return [getattr(self, field.name) for field in dataclasses.fields(self)]


def _set_state(self: Any, state: list[Any]) -> None:
    for field, value in zip(dataclasses.fields(self), state, strict=True):
        object.__setattr__(self, field.name, value)
