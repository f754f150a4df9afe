"""What a step can say of the container that it runs in, and of the services beside it."""

import math
import re
from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import BeforeValidator, Field, WithJsonSchema, field_validator

from pitstop.engine.container import LINE_FOR_SHELL, ContainerOptions, Health, PullPolicy, Service
from pitstop.steps.config import field_names
from pitstop.steps.fields import Duration, StepConfig, Words
from pitstop.steps.workplace import as_text, checked_name

_BYTES = {"": 1, "k": 1024, "m": 1024**2, "g": 1024**3}
_SIZE = re.compile(r"(?P<number>[0-9]+(?:\.[0-9]+)?)\s*(?P<unit>[kmg]?)(?:i?b)?", re.IGNORECASE)
_NAME = re.compile(r"[a-zA-Z0-9][a-zA-Z0-9.-]*")
LEAST_MEMORY_BYTES = 6 * 1024**2  # what an engine accepts


def parse_memory(value: object) -> int:
    """Bytes, from a number of them or from text such as `512m` or `1.5g`. ValueError says what is wrong."""
    found = _SIZE.fullmatch(str(value).strip()) if isinstance(value, str | int | float) else None
    if found is None or isinstance(value, bool):
        raise ValueError("memory must be a number of bytes, or text such as 512m or 1.5g")
    size = float(found["number"]) * _BYTES[found["unit"].lower()]
    if not math.isfinite(size) or size < LEAST_MEMORY_BYTES:
        raise ValueError("a container needs at least 6 MB of memory")
    return int(size)


Memory = Annotated[
    int,
    BeforeValidator(parse_memory),
    WithJsonSchema({"anyOf": [{"type": "integer"}, {"type": "string", "examples": ["512m", "1.5g"]}]}),
]
Check = Annotated[
    tuple[str, ...],
    BeforeValidator(
        lambda value: (*LINE_FOR_SHELL, value) if isinstance(value, str) else value,
        json_schema_input_type=str | list[str],
    ),
]


class HealthConfig(StepConfig):
    command: Check = Field(
        (), description="Command that exits with 0 when the service is ready: a line for `sh`, or a list of words."
    )
    interval: Duration = Field(1.0, description="Delay between attempts.")
    timeout: Duration = Field(10.0, description="Timeout of one attempt.")
    start: Duration = Field(60.0, description="Timeout for the service to become ready.")


def _as_health(value: Any) -> Any:
    return {"command": value} if isinstance(value, str | list | tuple) else value


class ServiceConfig(StepConfig):
    image: str = Field(description="Image of the service.", min_length=1)
    command: Words = Field((), description="Arguments for the image's entry point.")
    env: dict[str, Any] = Field({}, description="Environment variables of the service.")
    health: Annotated[
        HealthConfig, BeforeValidator(_as_health, json_schema_input_type=str | list[str] | HealthConfig)
    ] = Field(
        default_factory=HealthConfig,
        description="Command that checks readiness, or a mapping with `command`, `interval`, `timeout` and `start`. "
        "Defaults to the image's health check; without one, the service is ready after half a second.",
    )
    shared: bool = Field(
        False,
        description="Whether it is started once and lives as long as the run; always true for services of the flow.",
    )

    def service(self, name: str) -> Service:
        return Service(
            name=name,
            image=self.image,
            argv=self.command,
            env={checked_name(key): as_text(value) for key, value in self.env.items()},
            health=Health(
                command=self.health.command,
                interval_seconds=self.health.interval,
                timeout_seconds=self.health.timeout,
                start_seconds=self.health.start,
            ),
            shared=self.shared,
        )


class InContainer(StepConfig):
    """The keys of a step that can run in a container. The flow can have them too, for all of its steps."""

    image: str | None = Field(
        None,
        description="Container image to run in; the workspace has the same paths there. `null` runs on this "
        "machine, overriding the flow's image.",
        min_length=1,
    )
    pull: PullPolicy = Field("missing", description="When to pull the image: `missing`, `always` or `never`.")
    user: str | None = Field(
        None,
        description="User in the container, such as `root` or `1000:1000`; `image` for the image's own user. "
        "By default, files it writes belong to the owner of the workspace.",
        min_length=1,
    )
    cpus: float | None = Field(None, description="CPU limit, such as `1.5`.", gt=0)
    memory: Memory | None = Field(None, description="Memory limit, such as `512m` or `2g`.")
    platform: str | None = Field(None, description="Platform of the image, such as `linux/arm64`.")
    entrypoint: bool = Field(False, description="Whether to pass the script to the image's entry point.")
    services: dict[str, ServiceConfig] = Field({}, description="Service containers, such as a database, by host name.")

    @field_validator("services")
    @classmethod
    def _have_names_of_hosts(cls, services: dict[str, ServiceConfig]) -> dict[str, ServiceConfig]:
        for name in services:
            if not _NAME.fullmatch(name):
                raise ValueError(f"invalid host name {name!r}: use letters, digits, - and .")
        return services

    def container_options(self) -> ContainerOptions:
        return ContainerOptions(
            pull=self.pull,
            user=self.user,
            cpus=self.cpus,
            memory_bytes=self.memory,
            entrypoint=self.entrypoint,
            platform=self.platform,
            services=tuple(config.service(name) for name, config in self.services.items()),
        )


def container_of(config: Mapping[str, Any]) -> tuple[str | None, ContainerOptions]:
    """What the configuration of a step says of its container, whatever else it says; without an image there is none."""
    form = InContainer.model_validate({name: config[name] for name in field_names(InContainer) if name in config})
    return form.image, form.container_options()
