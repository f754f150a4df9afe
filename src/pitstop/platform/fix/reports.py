"""Debug reports: what an agent names and writes, and what a report must have."""

import re
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from typing import Literal

import markdown_it
import yaml
from msgspec import Struct

from pitstop.steps.agents.prompt import fenced

FRONT_MATTER = ("topic", "number", "iteration", "round", "date", "commit", "command", "failing", "status")
SECTIONS = ("Failure", "Root cause", "Evidence", "Options", "Recommendation")
WHY_SECTION = "Why the last fix failed"  # from iteration 2
OPTION_PARTS = ("Trade-offs", "Files", "Steps")
REPORT_BYTES = 256 * 1024
SAID_CHARACTERS = 32 * 1024  # of an agent, in a report without a diagnosis
_SUMMARY_CHARACTERS = 500

Value = str | int | Sequence[str] | None
_Blocks = list[tuple[int, str]]  # the level of a heading, or 0, and its text

_FRONT = re.compile(
    r"---[ \t]*\r?\n((?:[ \t]*(?:#[^\n]*)?\r?\n)*+[\w.-]+[ \t]*:(?:\s[^\n]*|)\n"  # its first line has a key
    r"(?:(?:[\w.-]+[ \t]*:\s|[ \t#]|-[ \t]|\r?(?=\n))[^\n]*\n)*?)---[ \t]*\r?(?:\n|\Z)"
)
_OPTION = r"\boption[\s*_#]{1,6}([0-9]{1,3})\b"
_OPTION_TITLE = re.compile(rf"(?i){_OPTION}[\s*_:.)–—-]*(.*)")
_CHOSEN = re.compile(rf"(?im)^[^\w\n]*+(?:(?:recommend\w*|fix|option)[^\w\n]+){{0,3}}{_OPTION}")
_PART = re.compile(r"(?i)[\W\d_]*+(?:\w+ )?(?:(trade\W?offs?)|(files?)|(steps?))\b(?: \w+){0,4}[\s*_`]*+(?:[:|–—-]|\Z)")
_LABELS = ("debug[_ ]report[_ ]path", "root cause", "recommended fix")
_DECORATION = r"[ \t>*_`#|+-]*+(?:[0-9]{1,3}[.)][ \t*_`]*+)?"


class Report(Struct, frozen=True):
    """A report that has all its parts; `recommended` is such as "Option 2: Add config initialization"."""

    path: str
    root_cause: str
    options: int
    recommended: str


class Named(Struct, frozen=True):
    """What an agent says at its end about its report, unchecked; None for a missing line."""

    path: str | None
    root_cause: str | None
    recommended: str | None


def next_number(paths: Iterable[str], topic: str) -> int:
    """The number after the highest of a topic, among paths such as `debug/<topic>/NNN_<slug>.md`."""
    numbered = re.compile(rf"debug/{re.escape(topic)}/([0-9]{{3,6}})_[^/]*\.md")
    return max((int(found[1]) for found in map(numbered.fullmatch, paths) if found), default=0) + 1


def report_path(topic: str, number: int, slug: str) -> str:
    return f"debug/{topic}/{number:03d}_{slug}.md"


def slug_of(path: str) -> str:
    return path.rpartition("/")[2].removesuffix(".md").partition("_")[2]


def is_report_path(path: str, topic: str) -> bool:
    """Whether an agent may name this path: a numbered report directly in `debug/<topic>/`."""
    pattern = rf"debug/{re.escape(topic)}/[0-9]{{3,7}}_[a-z0-9_]{{1,60}}\.md"
    return re.fullmatch(r"[a-z0-9_]{1,60}", topic) is not None and re.fullmatch(pattern, path) is not None


def named_in(agent_text: str) -> Named:
    """The report path, root cause and recommended fix in an agent's last text; the last value of each counts."""
    said, root_cause, recommended = (_value_after(label, agent_text) for label in _LABELS)
    path = re.search(r"[^\s`*<>\"'()\[\]]+", said or "")
    return Named(path and path[0].removeprefix("./").rstrip(".,;:"), root_cause, recommended)


def read_report(path: str, text: str, iteration: int) -> Report | tuple[str, ...]:
    """The report at a path that `is_report_path` accepts, or what it lacks, as sentences for the agent."""
    size = len(text.encode(errors="replace"))
    if size > REPORT_BYTES:
        return (f"the report has {size:,} bytes, but at most {REPORT_BYTES:,} are allowed: shorten it",)
    sections = _sections(text)
    missing = []
    for name in SECTIONS if iteration < 2 else (*SECTIONS, WHY_SECTION):
        blocks = sections.get(name.casefold())
        if blocks is None or not any(re.search(r"\w", content) for level, content in blocks if not level):
            missing.append(f"section `{name}` is {'missing' if blocks is None else 'empty'}")
    titles, unfit = _options(sections.get("options", []))
    missing += unfit if "options" in sections else ()
    advice = "\n".join(content for _, content in sections.get("recommendation", []))
    named = _CHOSEN.search(advice) or re.search(_OPTION, advice, re.IGNORECASE)
    chosen = int(named[1]) if named else 0
    if advice and not named:
        missing.append("the recommendation names no option: begin it with `Option N`")
    elif named and titles and chosen not in titles:
        missing.append(f"the recommendation names option {chosen}, which does not exist")
    if missing:
        return tuple(missing)
    cause = next(content for level, content in sections["root cause"] if not level and re.search(r"\w", content))
    return Report(path, _plain(cause), len(titles), _plain(f"Option {chosen}: {titles[chosen]}"))


def with_front_matter(text: str, values: Mapping[str, Value]) -> str:
    """The report with a value for each of FRONT_MATTER, instead of a front matter that the agent wrote."""
    lines = "".join(f"{name}: {_as_yaml(values[name])}\n" for name in FRONT_MATTER)
    return f"---\n{lines}---\n\n{_split(text)[1].strip()}\n"


def with_status(text: str, status: Literal["resolved", "unresolved"]) -> str:
    """The report with another status; unchanged if it has no front matter."""
    front, body = _split(text)
    changed = re.sub(r"^status:.*$", f"status: {_as_yaml(status)}", front, flags=re.MULTILINE)
    return f"---\n{changed}---\n{body}" if front else text


def report_without_diagnosis(values: Mapping[str, Value], *, reasons: Sequence[str], said: str) -> str:
    """The report of an iteration whose diagnosis failed: why, and the end of what the agent said; status `failed`."""
    why = "".join(f"- {_plain(reason)}\n" for reason in reasons)
    shown = said[-SAID_CHARACTERS:].rstrip() or "(nothing)"
    body = f"# No diagnosis\n\n## Why\n\n{why}\n## What the agent said\n\n{fenced(shown)}\n"
    return with_front_matter(body, {**values, "status": "failed"})


def _split(text: str) -> tuple[str, str]:
    """The lines of the front matter, and what follows it."""
    start = text.lstrip("\ufeff \t\r\n")
    found = _FRONT.match(start)
    return (found[1], start[found.end() :]) if found else ("", text)


def _as_yaml(value: Value) -> str:
    """The value on one line; a text is quoted, so that it stays one."""
    if isinstance(value, str):
        return yaml.safe_dump(value, default_style='"', width=float("inf"), allow_unicode=True).rstrip("\n")
    return "null" if value is None else str(value) if isinstance(value, int) else f"[{', '.join(map(_as_yaml, value))}]"


def _value_after(label: str, text: str) -> str | None:
    """The rest of the last line with this label, or the line after it if there is no rest."""
    others = "|".join(_LABELS)
    pattern = rf"(?im)^{_DECORATION}{label}[*_`]{{0,4}}[ \t]?:[*_`]{{0,4}}\s*+(?!{_DECORATION}(?:{others}))(.*)"
    return next(filter(None, reversed([_plain(value) for value in re.findall(pattern, text)])), None)


def _plain(text: str) -> str:
    """The text on one line of limited length, without bold around it and control characters."""
    line = " ".join("".join(sign if sign.isprintable() else " " for sign in text).split()).strip("*: ")
    line = line[1:-1] if line.strip("`") == line[1:-1] else line
    return line if len(line) <= _SUMMARY_CHARACTERS else f"{line[: _SUMMARY_CHARACTERS - 1]}…"


@cache
def _parser() -> markdown_it.MarkdownIt:
    return markdown_it.MarkdownIt("commonmark").disable(["inline", "reference"])  # blocks are enough


def _sections(text: str) -> dict[str, _Blocks]:
    """What follows each heading of level 2, by the heading in lower case."""
    sections: dict[str, _Blocks] = {}
    blocks: _Blocks = []
    level = 0
    for token in _parser().parse(_split(text)[1]):
        if token.type.startswith("heading_") and token.level == 0:
            level = int(token.tag[1:]) if token.nesting == 1 else 0
        elif token.type in ("inline", "fence", "code_block") and level in (1, 2):
            name = re.sub(r"^[0-9]{1,3}[.)]\s+", "", token.content.strip("*_`: ")).casefold()
            blocks = sections.setdefault(name, []) if level == 2 else []
        elif token.type in ("inline", "fence", "code_block"):
            blocks.append((level, token.content))
    return sections


def _options(blocks: _Blocks) -> tuple[dict[int, str], list[str]]:
    """The titles of the options by number, and what they lack."""
    options: list[tuple[int, str, set[str]]] = []
    for level, content in blocks:
        if level == 3 and (title := _OPTION_TITLE.match(content.strip("*_` "))):
            options.append((int(title[1]), title[2].strip("*_` "), set()))
        elif options:
            parts = filter(None, map(_PART.match, content.splitlines()))
            options[-1][2].update(OPTION_PARTS[(part.lastindex or 1) - 1] for part in parts)
    titles = {number: title for number, title, _ in options}
    if len(options) not in (2, 3):
        return titles, ["`Options` needs 2 or 3 options (`### Option 1: ...`), each with Trade-offs, Files and Steps"]
    lacks = [f"option {number} needs {part}" for number, _, has in options for part in OPTION_PARTS if part not in has]
    return titles, lacks if len(titles) == len(options) else [*lacks, "two options have the same number"]
