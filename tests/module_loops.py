"""Tests of a module that share a server, and so the event loop in which it runs."""

from collections.abc import Iterable
from pathlib import Path

import pytest


def share_loops(items: Iterable[pytest.Item], folder: Path) -> None:
    """Let the tests of a folder that use the server of their module run in its loop."""
    in_module_loop = pytest.mark.asyncio(loop_scope="module")
    for item in items:
        if item.path.is_relative_to(folder) and "server" in getattr(item, "fixturenames", ()):
            item.add_marker(in_module_loop, append=False)
