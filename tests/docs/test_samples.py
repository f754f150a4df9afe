"""Every Python sample of the README and the docs runs, and says what it claims to say.

The samples of a page share their names and one event loop, in order, as if typed into `python -m asyncio`. A statement
that ends in `# -> value` must give, or print, that value.
"""

import ast
import asyncio
import inspect
import re
from collections.abc import Coroutine, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
PAGES = sorted([ROOT / "README.md", *ROOT.glob("docs/**/*.md")])

FENCE = re.compile(r"^(?P<indent> *)```(?P<info>[^`\n]*)\n(?P<text>.*?)^(?P=indent)```$", re.MULTILINE | re.DOTALL)
ARROW = re.compile(r"#\s*->\s*(?P<expected>.+?)\s*$")


@dataclass(frozen=True)
class Sample:
    """A fenced block that says it is Python. `line` is where its first line stands in its page."""

    info: str
    text: str
    line: int


def samples_of(text: str) -> Iterator[Sample]:
    for block in FENCE.finditer(text):
        if block["info"].split()[:1] == ["python"]:
            yield Sample(block["info"].strip(), block["text"], text.count("\n", 0, block.start("text")) + 1)


def name_of(page: Path) -> str:
    return page.relative_to(ROOT).as_posix()


def expect(value: object, expected: str, place: str) -> object:
    """The value, if it is what the comment says: as a literal, or as it is shown."""
    try:
        if ast.literal_eval(expected) == value:
            return value
    except (ValueError, SyntaxError):
        pass
    assert expected in (str(value), repr(value)), f"{place}: the sample gives {value!r}, and says {expected}"
    return value


def expect_print(*values: object, expected: str, place: str) -> None:
    said = " ".join(map(str, values))
    assert said == expected, f"{place}: the sample prints {said}, and says {expected}"


class Arrows(ast.NodeTransformer):
    """Puts a check around each value that a `# -> ` comment speaks of; `left` has the comments without a value."""

    def __init__(self, page: str, sample: Sample) -> None:
        self._place = f"{page}:%d"
        self._first_line = sample.line
        lines = enumerate(sample.text.splitlines(), 1)
        self.left = {number: found["expected"] for number, line in lines if (found := ARROW.search(line))}

    def visit_Expr(self, node: ast.Expr) -> ast.AST:
        expected = self._taken(node)
        if expected is None:
            return self.generic_visit(node)
        match node.value:
            case ast.Call(func=ast.Name(id="print")) as call:
                call.func = self._name("__expect_print", node)
                call.keywords += [ast.keyword(each.arg, each.value) for each in self._wrapped(node, expected).keywords]
            case value:
                node.value = self._wrapped(node, expected, value)
        return ast.fix_missing_locations(node)

    def visit_Assign(self, node: ast.Assign) -> ast.AST:
        expected = self._taken(node)
        if expected is not None:
            node.value = self._wrapped(node, expected, node.value)
        return ast.fix_missing_locations(node)

    def _taken(self, node: ast.stmt) -> str | None:
        return self.left.pop(node.end_lineno or node.lineno, None)

    def _wrapped(self, node: ast.stmt, expected: str, *values: ast.expr) -> ast.Call:
        place = self._place % (self._first_line + node.lineno - 1)
        keywords = [ast.keyword("expected", ast.Constant(expected)), ast.keyword("place", ast.Constant(place))]
        return ast.Call(self._name("__expect", node), list(values), keywords)

    def _name(self, name: str, node: ast.stmt) -> ast.Name:
        return ast.copy_location(ast.Name(name, ast.Load()), node)


def run_page(page: str, text: str) -> None:
    names: dict[str, Any] = {"__name__": page, "__expect": expect, "__expect_print": expect_print}
    with asyncio.Runner() as runner:
        for sample in samples_of(text):
            tree = ast.parse(sample.text, page)
            arrows = Arrows(page, sample)
            tree = arrows.visit(tree)
            assert not arrows.left, f"{page}:{sample.line}: no value stands before the arrows {arrows.left}"
            ast.increment_lineno(tree, sample.line - 1)
            code = compile(tree, page, "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
            if code.co_flags & inspect.CO_COROUTINE:
                runner.run(awaited(eval(code, names)))
            else:
                exec(code, names)


async def awaited(sample: Coroutine[Any, Any, None]) -> None:
    async with asyncio.timeout(60):
        await sample


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_the_samples_of_a_page_do_what_they_say(page: Path) -> None:
    run_page(name_of(page), page.read_text(encoding="utf-8"))


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_no_sample_is_left_out(page: Path) -> None:
    infos = [sample.info for sample in samples_of(page.read_text(encoding="utf-8"))]
    assert set(infos) <= {"python"}


@pytest.mark.parametrize(
    "sample",
    ["1 + 1  # -> 3", "x = 1  # -> 2", "print('a', 1)  # -> a 2", "import asyncio\nawait asyncio.sleep(0, 1)  # -> 0"],
)
def test_a_sample_that_says_something_wrong_is_found(sample: str) -> None:
    with pytest.raises(AssertionError, match=r"page\.md:"):
        run_page("page.md", f"# Page\n\n```python\n{sample}\n```\n")


def test_an_arrow_that_checks_nothing_is_found() -> None:
    with pytest.raises(AssertionError, match="no value"):
        run_page("page.md", "```python\nfor x in ():  # -> 1\n    pass\n```\n")


def test_samples_of_a_page_share_names_and_a_loop() -> None:
    first = "import asyncio\ntask = asyncio.create_task(asyncio.sleep(0, 'done'))\nawait asyncio.sleep(0)"
    run_page("page.md", f"```python\n{first}\n```\ntext\n```python\nawait task  # -> 'done'\n```\n")
