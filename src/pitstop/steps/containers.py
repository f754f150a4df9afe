"""What a step can say of the container that it runs in, and of the services beside it."""

import math
import re
import shlex
from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import BeforeValidator, Field, GetCoreSchemaHandler, GetJsonSchemaHandler, WithJsonSchema, field_validator
from pydantic_core import CoreSchema, core_schema

from pitstop.engine.container import ContainerOptions, Health, PullPolicy, Service
from pitstop.steps.config import field_names
from pitstop.steps.fields import Duration, StepConfig
from pitstop.steps.workplace import as_text, checked_name

_BYTES = {"": 1, "k": 1024, "m": 1024**2, "g": 1024**3}
_SIZE = re.compile(r"(?P<number>[0-9]+(?:\.[0-9]+)?)\s*(?P<unit>[kmg]?)(?:i?b)?", re.IGNORECASE)
_NAME = re.compile(r"[a-zA-Z0-9][a-zA-Z0-9.-]*")
LEAST_MEMORY_BYTES = 6 * 1024**2  # what an engine accepts


def parse_memory(value: object) -> int:
    """Bytes, from a number of them or from text such as `512m` or `1.5g`. ValueError says what is wrong."""
    found = _SIZE.fullmatch(str(value).strip()) if isinstance(value, str | int | float) else None
    if found is None or isinstance(value, bool):
        raise ValueError("an amount of memory is a number of bytes, or text such as 512m or 1.5g")
    size = float(found["number"]) * _BYTES[found["unit"].lower()]
    if not math.isfinite(size) or size < LEAST_MEMORY_BYTES:
        raise ValueError("a container needs 6 MB of memory at least")
    return int(size)


def _as_words(value: Any) -> Any:
    return tuple(shlex.split(value)) if isinstance(value, str) else value


Memory = Annotated[
    int,
    BeforeValidator(parse_memory),
    WithJsonSchema({"anyOf": [{"type": "integer"}, {"type": "string", "examples": ["512m", "1.5g"]}]}),
]
Check = Annotated[
    tuple[str, ...],
    BeforeValidator(
        lambda value: ("sh", "-c", value) if isinstance(value, str) else value, json_schema_input_type=str | list[str]
    ),
]
Words = Annotated[tuple[str, ...], BeforeValidator(_as_words, json_schema_input_type=str | list[str])]


class HealthConfig(StepConfig):
    command: Check = Field(
        (), description="Exits with 0 when it is ready: a line for its own `sh`, or a list of words."
    )
    interval: Duration = Field(1.0, description="How long to wait between two tries.")
    timeout: Duration = Field(10.0, description="How long one try may take.")
    start: Duration = Field(60.0, description="How long the service may take to become ready.")


def _as_health(value: Any) -> Any:
    return {"command": value} if isinstance(value, str | list | tuple) else value


class ServiceConfig(StepConfig):
    image: str = Field(description="The image of the service.", min_length=1)
    command: Words = Field((), description="What is given to the entry point of the image.")
    env: dict[str, Any] = Field({}, description="Variables for the service.")
    health: Annotated[
        HealthConfig, BeforeValidator(_as_health, json_schema_input_type=str | list[str] | HealthConfig)
    ] = Field(
        default_factory=HealthConfig,
        description="The command that tells whether it is ready, or a mapping with `command`, `interval`, `timeout` "
        "and `start`. Without one the health check of the image counts; without that too it is ready when it runs.",
    )
    shared: bool = Field(
        False,
        description="Whether it is started once for the run and lives as long; those of the flow are.",
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


class _BuiltWhenUsed:
    """Stands for `ServiceConfig`, whose validator takes longer to build than a short run, and which few steps need."""

    def __get_pydantic_core_schema__(self, _source: Any, _handler: GetCoreSchemaHandler) -> CoreSchema:
        return core_schema.no_info_plain_validator_function(ServiceConfig.model_validate)

    def __get_pydantic_json_schema__(self, _schema: CoreSchema, handler: GetJsonSchemaHandler) -> dict[str, Any]:
        ServiceConfig.model_rebuild()
        return handler(ServiceConfig.__pydantic_core_schema__)


if TYPE_CHECKING:
    AnyService = ServiceConfig
else:
    AnyService = Annotated[Any, _BuiltWhenUsed()]


class InContainer(StepConfig):
    """The keys of a step that can run in a container. The flow can have them too, for all of its steps."""

    image: str | None = Field(
        None,
        description="The image of a container to run in; the workspace has the same paths there. `null` is this "
        "machine, where the flow says otherwise.",
        min_length=1,
    )
    pull: PullPolicy = Field("missing", description="When the image is pulled: `missing`, `always` or `never`.")
    user: str | None = Field(
        None,
        description="Whom it runs as in the container, such as `root` or `1000:1000`; `image` for the user of the "
        "image. Without it, files that it writes belong to whoever owns the workspace.",
        min_length=1,
    )
    cpus: float | None = Field(None, description="How much of the CPUs it may use, such as `1.5`.", gt=0)
    memory: Memory | None = Field(None, description="How much memory it may use, such as `512m` or `2g`.")
    platform: str | None = Field(None, description="The platform of the image, such as `linux/arm64`.")
    entrypoint: bool = Field(False, description="Whether the script is given to the entry point of the image.")
    services: dict[str, AnyService] = Field(
        {}, description="Containers beside it, such as a database, by the names that it reaches them by."
    )

    @field_validator("services")
    @classmethod
    def _have_names_of_hosts(cls, services: dict[str, ServiceConfig]) -> dict[str, ServiceConfig]:
        for name in services:
            if not _NAME.fullmatch(name):
                raise ValueError(f"{name!r} cannot be the name of a host: use letters, digits, - and .")
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
