"""`wait`: until a port answers, a file is there or a command succeeds."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, ClassVar, Self

from pydantic import Field, field_validator, model_validator

from pitstop.definition.durations import format_duration
from pitstop.engine.executor import Command
from pitstop.engine.frame import Activation
from pitstop.errors import FileProblem, PathOutside
from pitstop.steps.commands import run_to_end, why_it_ended
from pitstop.steps.config import read_config
from pitstop.steps.failures import BadConfig, OutsideWorkspace
from pitstop.steps.fields import Duration, StepConfig
from pitstop.steps.http_client import why_unreachable
from pitstop.steps.polling import NotYet, plan_polling, poll
from pitstop.steps.workplace import Workplace

CONNECT_SECONDS = 5.0
_SHOWN_LINES = 3


class WaitConfig(StepConfig):
    port: int | str | None = Field(
        None, description="TCP port of this machine, or `host:port`: wait until it accepts connections."
    )
    file: str | None = Field(None, description="Path in the workspace: wait until it exists.")
    command: str | None = Field(None, description="Script: wait until it exits with code 0.")
    every: Duration = Field(0.5, description="Delay between attempts.")
    within: Duration | None = Field(None, description="Timeout; defaults to the step's timeout, or one minute.")

    @field_validator("port")
    @classmethod
    def _is_a_port(cls, port: int | str | None) -> int | str | None:
        if port is not None:
            split_address(port)
        return port

    @model_validator(mode="after")
    def _waits_for_one_thing(self) -> Self:
        if sum(given is not None for given in (self.port, self.file, self.command)) != 1:
            raise ValueError("exactly one of port, file and command is required")
        return self


class WaitStep:
    name: ClassVar[str] = "wait"
    summary: ClassVar[str] = "Wait until a port accepts connections, a file exists or a command succeeds."
    shorthand_field: ClassVar[str | None] = None
    Config: ClassVar[type[WaitConfig]] = WaitConfig

    def __init__(self, workplace: Workplace) -> None:
        self._workplace = workplace

    async def act(self, activation: Activation, config: Mapping[str, Any]) -> dict[str, Any]:
        form = read_config(self.name, WaitConfig, config, self._workplace.mask)
        polling = plan_polling(form.every, form.within, activation.step.timeout_seconds)
        started = asyncio.get_running_loop().time()
        what, attempt = self._what_to_try(activation, form)
        if polling.limit_seconds is not None:
            self._workplace.tell(activation, f"waiting for {what} (timeout: {format_duration(polling.limit_seconds)})")
        await poll(f"waited for {what}", attempt, polling)
        return {"seconds": round(asyncio.get_running_loop().time() - started, 3)}

    def _what_to_try(
        self, activation: Activation, form: WaitConfig
    ) -> tuple[str, Callable[[], Awaitable[bool | NotYet]]]:
        if form.port is not None:
            host, port = split_address(form.port)
            return f"port {port} of {host}", lambda: _accepts_connections(host, port)
        if form.file is not None:
            path = form.file
            return f"file {path!r}", lambda: self._is_there(path)
        script = form.command or ""
        return "a command to succeed", lambda: self._succeeds(activation, script)

    async def _is_there(self, relative: str) -> bool | NotYet:
        try:
            return await self._workplace.files.exists("repo", relative) or NotYet("it does not exist")
        except PathOutside as error:
            raise OutsideWorkspace("file", relative) from error
        except FileProblem as error:
            raise BadConfig("file", [str(error)]) from error

    async def _succeeds(self, activation: Activation, script: str) -> bool | NotYet:
        workplace = self._workplace
        command = Command(
            key=workplace.next_key(activation),
            script=script,
            shell=workplace.shell,
            env=await workplace.environment(activation, {}),
        )
        ended = await run_to_end(workplace, activation, command, is_heard=False)
        if ended.result.state == "completed":
            return True
        return NotYet("\n  ".join((why_it_ended(ended.result), *ended.last_lines[-_SHOWN_LINES:])))


def split_address(port: int | str) -> tuple[str, int]:
    """Host and port of `8080`, `db:5432` or `[::1]:80`. ValueError says what is wrong."""
    host, _, number = str(port).rpartition(":")
    if not (number.isascii() and number.isdigit() and 0 < int(number) < 65_536):
        raise ValueError("a port must be a number from 1 to 65535, or host:port")
    return host.removeprefix("[").removesuffix("]") or "localhost", int(number)


async def _accepts_connections(host: str, port: int) -> bool | NotYet:
    try:
        async with asyncio.timeout(CONNECT_SECONDS):
            _, writer = await asyncio.open_connection(host, port)
    except TimeoutError:
        return NotYet(f"no response within {CONNECT_SECONDS:g} s")
    except (OSError, UnicodeError) as error:  # UnicodeError: no name of a host
        return NotYet(why_unreachable(error))
    writer.transport.abort()
    return True
