"""Puts the built web application into wheels and source distributions, so that those who install them need no Node."""

import runpy
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class WebHook(BuildHookInterface):  # type: ignore[type-arg]
    """Builds it if its sources have changed; an editable install leaves that to `make up`."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        script = Path(self.root, "web/build.py")
        if version != "editable" and script.exists():  # a source distribution has the result, and not the sources
            build = runpy.run_path(str(script))
            if not build["is_up_to_date"]():
                build["build"]()
