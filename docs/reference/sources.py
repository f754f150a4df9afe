"""Reads signatures, fields and docstrings of classes from their source, as their authors wrote them."""

import ast
import inspect
import textwrap
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple


class Field(NamedTuple):
    """A field of a class: its type as written, and the comment at the end of its line."""

    name: str
    type: str
    comment: str


def fields_of(cls: type) -> Iterator[Field]:
    """The public fields that a class declares itself."""
    text = textwrap.dedent(inspect.getsource(cls))
    lines = text.splitlines()
    for node in _definition(text).body:
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name) and not node.target.id.startswith("_"):
            rest = lines[(node.end_lineno or node.lineno) - 1].encode()[node.end_col_offset :].decode()
            yield Field(node.target.id, type_text(node.annotation), rest.strip().removeprefix("#").strip())


def properties_of(cls: type) -> Iterator[tuple[str, str, str]]:
    """The public properties of a class, inherited ones too: name, type and docstring."""
    for name, member in inspect.getmembers(cls, lambda member: isinstance(member, property)):
        if not name.startswith("_"):
            yield name, type_text(_function(member.fget).returns), doc_of(member)


def methods_of(cls: type) -> Iterator[tuple[str, Any]]:
    """The public methods of a class that have a docstring, inherited ones too, in the order of their sources."""
    order = {name: place for place, name in enumerate(name for each in reversed(cls.__mro__) for name in vars(each))}
    for name, member in sorted(inspect.getmembers(cls, inspect.isroutine), key=lambda each: order.get(each[0], 0)):
        if not name.startswith("_") and inspect.getmodule(member) is not None and doc_of(member):
            yield name, member


def signature_of(name: str, function: Callable[..., Any]) -> str:
    """The call as text, without `self`; one parameter per line where one line would be too long."""
    node = _function(function)
    arguments = node.args
    plain = [*arguments.posonlyargs, *arguments.args]
    defaults = [None] * (len(plain) - len(arguments.defaults)) + list(arguments.defaults)
    parts = [
        _parameter(each, default)
        for each, default in zip(plain, defaults, strict=True)
        if each.arg not in ("self", "cls")
    ]
    if arguments.kwonlyargs:
        parts.append("*")
        parts += map(_parameter, arguments.kwonlyargs, arguments.kw_defaults)
    if arguments.kwarg is not None:
        parts.append(f"**{_parameter(arguments.kwarg, None)}")
    before = "async " if isinstance(node, ast.AsyncFunctionDef) else ""
    after = "" if node.returns is None or node.name == "__init__" else f" -> {type_text(node.returns)}"
    short = f"{before}{name}({', '.join(parts)}){after}"
    if len(short) <= 100:
        return short
    lines = "".join(f"    {part},\n" for part in parts)
    return f"{before}{name}(\n{lines}){after}"


def type_text(annotation: ast.expr | None) -> str:
    """An annotation as it is written, without the quotes of a forward reference."""
    if annotation is None:
        return ""
    if isinstance(annotation, ast.Constant) and isinstance(annotation.value, str):
        return annotation.value
    return ast.unparse(annotation)


def doc_of(member: object) -> str:
    """The docstring, with each paragraph on one line."""
    text = inspect.cleandoc(getattr(member, "__doc__", None) or "")
    return "\n\n".join(" ".join(paragraph.split()) for paragraph in text.split("\n\n"))


def _parameter(argument: ast.arg, default: ast.expr | None) -> str:
    shown = f"{argument.arg}: {type_text(argument.annotation)}" if argument.annotation else argument.arg
    return shown if default is None else f"{shown} = {ast.unparse(default)}"


def _function(function: Any) -> ast.FunctionDef | ast.AsyncFunctionDef:
    node = ast.parse(textwrap.dedent(inspect.getsource(inspect.unwrap(function)))).body[0]
    assert isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    return node


def _definition(text: str) -> ast.ClassDef:
    node = ast.parse(text).body[0]
    assert isinstance(node, ast.ClassDef)
    return node
