"""What a graph in Python is called where a flow could be: `file.py:app` or `module:app`."""

import re
from pathlib import Path

from msgspec import Struct

from pitstop.runs.stored_flows import FLOW_ENDINGS

_TARGET = r"(?s)(?P<place>.*?)(?P<module>[^/:]+):(?P<name>[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*)"
_MODULE = r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*"


class GraphTarget(Struct, frozen=True):
    """A name in a file, or in a module that is looked for in `folder` first."""

    folder: Path
    module: str
    name: str

    @property
    def file(self) -> Path | None:
        """The file, where one is named; None for a module."""
        return self.folder / self.module if self.module.endswith(".py") else None

    def __str__(self) -> str:
        return f"{self.folder / self.module}:{self.name}"


def read_target(text: str) -> GraphTarget | None:
    """The graph that is meant, from wherever it is looked at; None for what names no graph."""
    found = re.fullmatch(_TARGET, text) if ":" in text else None
    if found is None or text.endswith(FLOW_ENDINGS) or Path(text).is_file():
        return None
    if not found["module"].endswith(".py") and re.fullmatch(_MODULE, found["module"]) is None:
        return None
    return GraphTarget(Path(found["place"] or ".").absolute(), found["module"], found["name"])
