"""What a `run` step is told, once it is checked."""

from collections.abc import Mapping
from typing import Any

import msgspec

from pitstop.engine.container import ContainerOptions


class RunOptions(msgspec.Struct, frozen=True, kw_only=True):
    """What a `run` step is told, checked. Every text is right for a field that `RunStep.text_fields` names."""

    script: str
    shell: tuple[str, ...] | None = None
    working_directory: str = "."
    env: Mapping[str, Any] = {}
    stdin: str | None = None
    accept: tuple[int, ...] = (0,)
    tests: tuple[str, ...] = ()
    artifacts: tuple[str, ...] = ()
    requires: Mapping[str, Any] = {}
    image: str | None = None
    container: ContainerOptions = ContainerOptions()
