"""Every YAML and console sample of the README and the docs is true.

YAML that is a flow, or a list of steps, is checked by `pitstop check`; where the fence names a file, it is that file,
word by word. In a console block a line that begins with `$ ` is run, in a fresh clone for each page, and must say
what the lines under it say; `...` stands for any text, and as a line of its own for any lines. Under `pitstop debug`
the lines that begin with a frame, `(main) `, are typed at the prompt.
"""

import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.docs.test_samples import FENCE, PAGES, ROOT, name_of
from tests.stories.clone import Clone

TYPED = re.compile(r"^\((?P<frame>[^ )]+)\) (?P<command>.+)$")
KNOWN = {
    "python",
    "yaml",
    "console",
    "mermaid",
    "text",
    "json",
    "lua",
    "elisp",
    "toml",
}  # text, json and the settings of editors are not run: they show and claim nothing

RUN_ELSEWHERE = {  # each is one long session
    "docs/guides/debug-a-flow.md",  # tests/doors/cli/test_debug_guide.py
    "docs/guides/http.md",  # tests/doors/http/test_guide.py
}


@dataclass(frozen=True)
class Block:
    """A fenced block. `line` is where its first line stands in its page."""

    language: str
    argument: str
    text: str
    line: int


@dataclass(frozen=True)
class Exchange:
    """A command line, and what it is said to say."""

    command: str
    expected: tuple[str, ...]
    line: int

    def shell_line(self) -> str:
        typed = [found["command"] for each in self.expected if (found := TYPED.match(each))]
        return " ".join([self.command, *(f"-c {shlex.quote(each)}" for each in typed)])


def blocks_of(page: Path) -> Iterator[Block]:
    text = page.read_text(encoding="utf-8")
    for found in FENCE.finditer(text):
        language, _, argument = found["info"].strip().partition(" ")
        indent = len(found["indent"])
        lines = "".join(line[indent:] for line in found["text"].splitlines(keepends=True))
        yield Block(language, argument, lines, text.count("\n", 0, found.start("text")) + 1)


def exchanges_of(block: Block) -> Iterator[Exchange]:
    lines = block.text.splitlines()
    starts = [number for number, line in enumerate(lines) if line.startswith("$ ")]
    assert starts[:1] == [0], f"line {block.line}: a console block begins with `$ `"
    for start, end in zip(starts, [*starts[1:], len(lines)], strict=True):
        yield Exchange(lines[start].removeprefix("$ "), tuple(lines[start + 1 : end]), block.line + start)


def pattern_of(expected: tuple[str, ...]) -> re.Pattern[str]:
    parts = []
    for line in expected:
        if line.strip() == "...":
            parts.append(r"(?:.*\n)*?")
        else:
            parts.append(r"[^\n]*?".join(map(re.escape, line.rstrip().split("..."))) + r"[ \t]*\n")
    return re.compile("".join(parts))


def as_flow(written: Any) -> Any:
    """The sample as a whole flow; None if it is none."""
    if isinstance(written, dict) and "steps" in written:
        return written
    is_steps = isinstance(written, list) and all(isinstance(each, dict) for each in written)
    return {"vars": {"region": "eu"}, "steps": written} if is_steps else None


def pages_with(language: str) -> list[Path]:
    return [page for page in PAGES if any(block.language == language for block in blocks_of(page))]


def console_pages() -> list[Path]:
    return [page for page in pages_with("console") if name_of(page) not in RUN_ELSEWHERE]


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_every_block_says_what_it_is(page: Path) -> None:
    assert {block.language for block in blocks_of(page)} <= KNOWN


@pytest.mark.parametrize("page", pages_with("yaml"), ids=name_of)
def test_yaml_samples_are_flows_without_mistakes(page: Path, tmp_path: Path) -> None:
    clone = Clone(tmp_path)
    (clone.path / "flows").mkdir()
    for name in ("deploy.yaml", "flows/deploy.yaml"):  # for samples that call it
        (clone.path / name).write_text("inputs: {region: {default: eu}, tag: {default: v1}}\nsteps: [{run: 'true'}]\n")
    flows = []
    for block in blocks_of(page):
        if block.language != "yaml":
            continue
        if block.argument:
            assert block.text == (ROOT / block.argument).read_text(encoding="utf-8"), f"line {block.line}"
            continue
        flow = as_flow(yaml.safe_load(block.text))
        assert flow is not None, f"line {block.line}: neither a flow nor a list of steps"
        is_whole = block.text.lstrip().startswith("-") is False
        text = block.text if is_whole else yaml.safe_dump(flow, sort_keys=False)
        flows.append(f"line_{block.line}.yaml")
        (clone.path / flows[-1]).write_text(text, encoding="utf-8")
    if flows:
        checked = clone.runs(f"pitstop check {' '.join(flows)}")
        assert checked.returncode == 0, checked.stdout


@pytest.mark.parametrize("page", console_pages(), ids=name_of)
def test_console_samples_say_what_they_say(page: Path, tmp_path: Path) -> None:
    clone = Clone(tmp_path)
    for block in blocks_of(page):
        for exchange in exchanges_of(block) if block.language == "console" else ():
            said = clone.runs(exchange.shell_line()).stdout
            told = f"{name_of(page)}:{exchange.line}: $ {exchange.command}\n{said}"
            assert pattern_of(exchange.expected).fullmatch(said), told
    assert clone.left_running() == {}


@pytest.mark.parametrize(
    ("expected", "said", "fits"),
    [
        (("a", "b"), "a\nb\n", True),
        (("a", "b"), "a\nc\n", False),
        (("a",), "a\nb\n", False),
        (("a", "..."), "a\nb\nc\n", True),
        (("...", "c"), "a\nb\nc\n", True),
        (("took ... s",), "took 0.1 s\n", True),
        (("took ... s",), "took 0.1\n s\n", False),
        ((), "", True),
    ],
)
def test_what_is_expected_is_compared(expected: tuple[str, ...], said: str, fits: bool) -> None:
    assert (pattern_of(expected).fullmatch(said) is not None) is fits


def test_lines_at_the_prompt_become_commands() -> None:
    block = Block("console", "", "$ pitstop debug a.yaml\n● stop 1\n(main) p .vars\n{}\n$ true\n", 7)
    debug, after = exchanges_of(block)
    assert debug.shell_line() == "pitstop debug a.yaml -c 'p .vars'"
    assert (after.command, after.expected, after.line) == ("true", (), 11)
