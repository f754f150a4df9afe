"""What a flow says of containers, handed on to its `run` steps."""

from collections.abc import Mapping
from typing import Any

from msgspec.structs import replace

from pitstop.definition.flow import StepSpec

CONTAINER_KEYS = ("image", "pull", "user", "cpus", "memory", "platform", "services")


def with_containers(steps: tuple[StepSpec, ...], defaults: Mapping[str, Any]) -> tuple[StepSpec, ...]:
    """The steps, with the flow's options for each `run` step in an image that says nothing of its own."""
    return tuple(_with_container(step, defaults) for step in steps) if defaults else steps


def _with_container(step: StepSpec, defaults: Mapping[str, Any]) -> StepSpec:
    children = with_containers(step.children, defaults)
    if step.kind != "run" or step.config.get("image", defaults.get("image")) is None:
        return step if children == step.children else replace(step, children=children)
    config = {**defaults, **step.config}
    if "services" in defaults:
        own = step.config.get("services", {})
        config["services"] = {**_shared(defaults["services"]), **(own if isinstance(own, Mapping) else {})}
    return replace(step, config=config, children=children)


def _shared(services: Any) -> dict[str, Any]:
    """What is no mapping has been told as a mistake."""
    told = services.items() if isinstance(services, Mapping) else ()
    return {name: {**service, "shared": True} for name, service in told if isinstance(service, Mapping)}
