"""Every relative link of the documentation points to a file, and to a heading that the file has."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = sorted(
    page
    for pattern in ("*.md", "docs/**/*.md", "decisions/*.md", "bench/*.md", "editors/*/*.md")
    for page in ROOT.glob(pattern)
)

FENCED = re.compile(r"^ *```.*?^ *```$", re.MULTILINE | re.DOTALL)
HEADING = re.compile(r"^#+ (?P<title>.+)$", re.MULTILINE)
LINK = re.compile(r"\]\((?!https?:)(?P<file>[^)#\s]*)(?:#(?P<heading>[^)\s]+))?\)")


def name_of(page: Path) -> str:
    return page.relative_to(ROOT).as_posix()


def text_of(page: Path) -> str:
    return FENCED.sub("", page.read_text(encoding="utf-8"))


def headings_of(text: str) -> set[str]:
    """The anchors of a page as GitHub makes them: letters, digits, `-` and `_`, with a number for a repeated title."""
    found: dict[str, int] = {}
    anchors = set()
    for heading in HEADING.finditer(text):
        title = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading["title"])
        anchor = re.sub(r"[^\w\- ]", "", title.strip().lower()).replace(" ", "-")
        times = found[anchor] = found.get(anchor, 0) + 1
        anchors.add(anchor if times == 1 else f"{anchor}-{times - 1}")
    return anchors


def broken_links(page: Path, text: str) -> list[str]:
    broken = []
    for link in LINK.finditer(text):
        target = page.parent / link["file"] if link["file"] else page
        is_there = target.exists()
        if is_there and link["heading"]:
            is_there = link["heading"] in headings_of(text if target == page else text_of(target))
        if not is_there:
            broken.append(link[0])
    return broken


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_links_lead_to_files_and_headings(page: Path) -> None:
    assert broken_links(page, text_of(page)) == []


@pytest.mark.parametrize("link", ["[a](no-such.md)", "[a](README.md#no-such)", "[a](#no-such)"])
def test_a_broken_link_is_found(link: str) -> None:
    assert broken_links(ROOT / "page.md", f"# Page\n\n{link}\n") == [link.removeprefix("[a")]


def test_a_heading_is_linked_as_github_names_it() -> None:
    assert headings_of("# The `run` step\n## A, b & c\n## A, b & c\n") == {"the-run-step", "a-b--c", "a-b--c-1"}
