"""Recipes of container images for agent steps: a folder each, with a Containerfile."""

import re
from collections.abc import Mapping
from pathlib import Path

from msgspec import Struct

FOLDER = Path(__file__).with_name("images")
_VERSION = re.compile(r"^ARG VERSION=(\S+)$", re.MULTILINE)


class Recipe(Struct, frozen=True):
    """How an image is built. `version` is that of the CLI in it."""

    folder: Path

    @property
    def file(self) -> Path:
        return self.folder / "Containerfile"

    @property
    def version(self) -> str:
        return str(_VERSION.findall(self.file.read_text(encoding="utf-8"))[0])

    @property
    def image(self) -> str:
        return f"pitstop-agent-{self.folder.name}:{self.version}"


def image_recipes() -> Mapping[str, Recipe]:
    """The recipes that Pitstop has, by name."""
    return {file.parent.name: Recipe(file.parent) for file in sorted(FOLDER.glob("*/Containerfile"))}
