"""The guide to editors names, for each of them, the oldest version that works and how its section was tried."""

import re
from pathlib import Path

GUIDE = Path(__file__).parents[2] / "docs/guides/editors.md"
EDITOR = re.compile(r"^## (VS Code|Neovim|Emacs|JetBrains|Zed|Helix)(?: \((.+)\))?$", re.MULTILINE)
ROW = re.compile(r"^\| (?P<editor>[^|]+) \| (?P<needs>[^|]+) \| (?P<tried>[^|]+) \|$", re.MULTILINE)


def test_each_editor_has_a_minimum_version_and_says_how_its_section_was_tried() -> None:
    guide = GUIDE.read_text()
    versions = guide.partition("\n## Versions\n")[2].partition("\n## ")[0]
    rows = {row["editor"]: row for row in ROW.finditer(versions)}
    editors = [", ".join(filter(None, found)) for found in EDITOR.findall(guide)]

    assert len(editors) == 7
    for editor in editors:
        assert re.search(r"\d", rows[editor]["needs"]), editor
        assert rows[editor]["tried"].startswith(("run: ", "messages only: ", "not run: ")), editor
