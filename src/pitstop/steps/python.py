"""`python`: a function called in a process of its own."""

import json
from collections.abc import Mapping
from contextlib import AsyncExitStack
from typing import Any, ClassVar

from pydantic import Field

from pitstop.engine.executor import PITSTOP_PACKAGE, PITSTOP_PYTHON, Command
from pitstop.engine.frame import Activation
from pitstop.errors import FileMissing, FileTooLarge
from pitstop.plan.values import as_json
from pitstop.steps.commands import Ended, run_to_end, why_it_ended
from pitstop.steps.config import read_config
from pitstop.steps.entering import entrance
from pitstop.steps.failures import BadCall, CommandFailed
from pitstop.steps.fields import StepConfig, Words
from pitstop.steps.workplace import Workplace

CALLER = f"{PITSTOP_PACKAGE}steps/python_call.py"
ANSWER_BYTES = 64 * 1024 * 1024


class PythonConfig(StepConfig):
    call: str = Field(
        description="`module:function`; the module must be installed, or in the workspace.",
        pattern=r"^[A-Za-z_][\w.]*:[A-Za-z_][\w.]*$",
    )
    arguments: dict[str, Any] = Field({}, alias="with", description="Keyword arguments of the function.")
    interpreter: Words = Field(
        (PITSTOP_PYTHON,),
        description="Python interpreter, such as `.venv/bin/python`; defaults to the one that runs Pitstop.",
        json_schema_extra={"default": None},
    )
    env: dict[str, Any] = Field({}, description="Additional environment variables.")


class PythonStep:
    """The function may be async, and runs in a process whose folder is the workspace.

    The mapping that it returns is the step's outputs; what it prints is in the step's log.
    """

    name: ClassVar[str] = "python"
    summary: ClassVar[str] = "Call a Python function."
    shorthand_field: ClassVar[str | None] = "call"
    Config: ClassVar[type[PythonConfig]] = PythonConfig

    def __init__(self, workplace: Workplace) -> None:
        self._workplace = workplace

    async def has_ended(self, activation: Activation) -> bool:
        return await self._workplace.has_ended(activation)

    async def act(self, activation: Activation, config: Mapping[str, Any]) -> dict[str, Any]:
        workplace = self._workplace
        form = read_config(self.name, PythonConfig, config, workplace.mask)
        env = {"PYTHONUNBUFFERED": "1", **await workplace.environment(activation, form.env)}
        request = {"call": form.call, "with": as_json(form.arguments)}
        async with AsyncExitStack() as stack:
            if activation.enters_code:
                request["enter"] = await stack.enter_async_context(entrance(workplace, activation, form.call))
            key = workplace.next_key(activation)
            request_file = await stack.enter_async_context(workplace.control_file(key, "request", json.dumps(request)))
            answer_file = workplace.result_file(key, "answer")
            argv = (*form.interpreter, CALLER, request_file.path, answer_file.path)
            command = Command(key=key, argv=argv, env=env)
            ended = await run_to_end(workplace, activation, command)
            answer = await self._read_answer(form.call, answer_file.name)
            await workplace.tell_refused_artifacts(activation)
        return self._outputs(form.call, ended, answer)

    async def _read_answer(self, call: str, name: str) -> Mapping[str, Any] | None:
        try:
            data = await self._workplace.files.read("control", name, limit=ANSWER_BYTES)
        except FileMissing:
            return None
        except FileTooLarge as error:
            raise BadCall(call, f"returned too much ({error.reason}): write it to a file") from error
        answer: Mapping[str, Any] = json.loads(data)
        return answer

    def _outputs(self, call: str, ended: Ended, answer: Mapping[str, Any] | None) -> dict[str, Any]:
        if answer is None:  # it was ended, or ended itself, before the function did
            result = ended.result
            reason = f"{call}: {why_it_ended(result)}"
            raise CommandFailed(reason, ended.last_lines, exit_code=result.exit_code, signal=result.signal, outputs={})
        if "outputs" in answer:
            outputs: dict[str, Any] = self._workplace.masked(answer["outputs"])
            return outputs
        mask = self._workplace.mask
        failure = BadCall(call, mask(answer["reason"]))
        if answer["trace"]:
            failure.add_note(mask(answer["trace"]))
        raise failure
