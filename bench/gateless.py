"""The engine's graph runner without its gate: its own source, with the gate's lines answered before it is compiled."""

import ast
import importlib
import inspect
import re
from collections.abc import Iterator
from types import CodeType, FunctionType, ModuleType
from typing import Any

RUNNER = "pitstop.engine.flow.graph"
ASKED = ("hooked", "asks")  # the runner's names for "a debugger is attached": the rest of the `and` is the gate
_MARK = re.compile(r"#\s*gate\b")


class GateNotFound(LookupError):
    """The runner's source does not say where its gate is, in a way that can be taken out by rule."""

    def __init__(self, module: str, line: int | None = None) -> None:
        where = "no line" if line is None else f"line {line}"
        super().__init__(f"{module}: {where} is a gate that can be taken out: mark `{ASKED[0]} and ...` with '# gate'")
        self.module = module
        self.line = line


class _TakeOut(ast.NodeTransformer):
    """On marked lines, `hooked and ...` and `asks and ...` are false, what follows is folded, plain statements go."""

    def __init__(self, module: str, marked: set[int]) -> None:
        self.module = module
        self.marked = marked

    def visit(self, node: ast.AST) -> Any:
        if isinstance(node, ast.stmt) and node.lineno in self.marked:
            if not isinstance(node, ast.If):
                return None
            return self._without_question(node)
        return self.generic_visit(node)

    def _without_question(self, node: ast.If) -> ast.stmt | list[ast.stmt]:
        answer = _answered(node.test)
        if answer is node.test:
            raise GateNotFound(self.module, node.lineno)
        if isinstance(answer, ast.Constant):
            kept = node.body if answer.value else node.orelse
            return [left for statement in kept for left in _as_list(self.visit(statement))]
        node.test = answer
        self.generic_visit(node)
        return node


def _answered(test: ast.expr) -> ast.expr:
    """The test when nobody is attached: the same object when it does not ask."""
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        inner = _answered(test.operand)
        if isinstance(inner, ast.Constant):
            return ast.copy_location(ast.Constant(not inner.value), test)
        return test
    if not isinstance(test, ast.BoolOp):
        return test
    if isinstance(test.op, ast.Or):
        asked = [value for value in test.values if not _is_never(_answered(value))]
        return test if len(asked) == len(test.values) else _joined(ast.Or(), asked, test)
    if any(isinstance(value, ast.Name) and value.id in ASKED for value in test.values):
        return ast.copy_location(ast.Constant(False), test)
    answers = [_answered(value) for value in test.values]
    kept = [answer for answer in answers if not (isinstance(answer, ast.Constant) and answer.value is True)]
    if len(kept) == len(test.values):
        return test
    return _joined(ast.And(), kept, test)


def _is_never(test: ast.expr) -> bool:
    return isinstance(test, ast.Constant) and test.value is False


def _joined(operator: ast.boolop, values: list[ast.expr], test: ast.expr) -> ast.expr:
    return values[0] if len(values) == 1 else ast.copy_location(ast.BoolOp(operator, values), test)


def _as_list(found: Any) -> list[ast.stmt]:
    return [] if found is None else found if isinstance(found, list) else [found]


def compile_gateless(source: str, module: str) -> CodeType:
    marked = {number for number, line in enumerate(source.splitlines(), 1) if _MARK.search(line)}
    return compile(_TakeOut(module, marked).visit(ast.parse(source)), f"{module} without its gate", "exec")


class SourceChanged(RuntimeError):
    """The runner's file is not the one that was imported, so its source says nothing about what runs."""


class GateSwitch:
    """Takes the gate out of the runner and puts it back, by giving its functions their other code."""

    def __init__(self, module_name: str = RUNNER) -> None:
        module = importlib.import_module(module_name)
        source = inspect.getsource(module)
        as_it_is = {code.co_qualname: code for code in _codes(compile(source, module_name, "exec"))}
        gateless = {code.co_qualname: code for code in _codes(compile_gateless(source, module_name))}
        functions = [function for function in _functions(module) if function.__code__.co_qualname in as_it_is]
        if any(function.__code__ != as_it_is[function.__code__.co_qualname] for function in functions):
            raise SourceChanged(f"{module.__file__} was changed while the benchmark ran: run it again")
        self._functions = [
            (function, function.__code__, gateless[function.__code__.co_qualname])
            for function in functions
            if function.__code__ != gateless[function.__code__.co_qualname]
        ]
        if not self._functions:
            raise GateNotFound(module_name)

    def remove(self) -> None:
        for function, _, gateless in self._functions:
            function.__code__ = gateless

    def restore(self) -> None:
        for function, gated, _ in self._functions:
            function.__code__ = gated

    @property
    def names(self) -> list[str]:
        """The functions that have the gate in them."""
        return [function.__qualname__ for function, _, _ in self._functions]


def _codes(code: CodeType) -> Iterator[CodeType]:
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield constant
            yield from _codes(constant)


def _functions(module: ModuleType) -> Iterator[FunctionType]:
    for value in vars(module).values():
        if getattr(value, "__module__", None) != module.__name__:
            continue
        for member in (value, *vars(value).values()) if inspect.isclass(value) else (value,):
            plain = inspect.unwrap(getattr(member, "__func__", member)) if callable(member) else member
            if isinstance(plain, FunctionType):
                yield plain
