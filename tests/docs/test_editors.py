"""The guide to editors names the minimum version of each, and what its section was tested with."""

import re
from pathlib import Path

GUIDE = Path(__file__).parents[2] / "docs/guides/editors.md"
EDITOR = re.compile(r"^## (VS Code|Neovim|Emacs|JetBrains|Zed|Helix)(?: \((.+)\))?$", re.MULTILINE)
ROW = re.compile(r"^\| (?P<editor>[^|]+) \| (?P<needs>[^|]+) \| (?P<tested>[^|]+) \|$", re.MULTILINE)

TESTED = ("this guide in ", "the extension in ", "only the messages ", "not tested: ")


def test_each_editor_has_a_minimum_version_and_says_what_it_was_tested_with() -> None:
    guide = GUIDE.read_text()
    versions = guide.partition("\n## Versions\n")[2].partition("\n## ")[0]
    rows = {row["editor"]: row for row in ROW.finditer(versions)}
    editors = [", ".join(filter(None, found)) for found in EDITOR.findall(guide)]

    assert len(editors) == 7
    for editor in editors:
        assert re.search(r"\d", rows[editor]["needs"]), editor
        assert rows[editor]["tested"].startswith(TESTED), editor
