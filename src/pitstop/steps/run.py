"""`run`: a script in a shell, with what it hands on."""

import re
from collections.abc import Iterator, Mapping
from contextlib import AsyncExitStack, contextmanager
from typing import TYPE_CHECKING, Any, ClassVar

import msgspec

from pitstop.engine.container import ContainerOptions
from pitstop.engine.executor import Command, CommandResult, asked_labels, listed
from pitstop.engine.frame import Activation
from pitstop.errors import StepFailure
from pitstop.limits import Limits
from pitstop.plan.values import as_json
from pitstop.steps.commands import Ended, run_to_end, script_mode, why_it_ended
from pitstop.steps.failures import CommandFailed, NotAvailable
from pitstop.steps.files import FoundFiles, Traces, collect_files, find_files, require_all, trace_files, without_newer
from pitstop.steps.script_outputs import read_outputs
from pitstop.steps.workplace import SH, ControlFile, Workplace

if TYPE_CHECKING:
    from pitstop.steps.junit import TestCounts
    from pitstop.steps.run_config import RunConfig

_PLACEHOLDER = r"\{(file|script)\}"
_NAMED_TESTS = 5
_PYTEST = "pytest"  # under `tests`: not a pattern, but the tool


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

    @property
    def report_patterns(self) -> tuple[str, ...]:
        return tuple(each for each in self.tests if each != _PYTEST)

    @property
    def reports_pytest(self) -> bool:
        return _PYTEST in self.tests


class Prepared(msgspec.Struct, frozen=True):
    """The command of a step that is about to run, and what is needed to read its results."""

    form: RunOptions
    command: Command
    output_file: str
    before: Traces
    pytest_file: str | None = None


class Gathered(msgspec.Struct, frozen=True):
    """What a script handed on, what was wrong with it, and what is worth a line in the log."""

    outputs: dict[str, Any]
    problems: list[StepFailure]
    remarks: list[str]
    counts: "TestCounts | None" = None


class _ConfigWhenAsked:
    """The model, which takes longer to load than a short flow runs: only what checks or explains a step asks for it."""

    def __get__(self, step: object, step_type: object) -> "type[RunConfig]":
        from pitstop.steps.run_config import RunConfig

        return RunConfig


class RunStep:
    """It runs on this machine, or in a container.

    Outputs: `exit_code`, what the script wrote to $PITSTOP_OUTPUT, `tests`, `artifacts`, and `image_digest`.
    """

    name: ClassVar[str] = "run"
    summary: ClassVar[str] = "Run a script in a shell."
    shorthand_field: ClassVar[str | None] = "script"
    text_fields: ClassVar[frozenset[str]] = frozenset(("script", "working_directory", "stdin"))
    Config = _ConfigWhenAsked()

    def __init__(self, workplace: Workplace) -> None:
        self._workplace = workplace

    async def has_ended(self, activation: Activation) -> bool:
        return await self._workplace.has_ended(activation)

    async def act(self, activation: Activation, config: Mapping[str, Any]) -> dict[str, Any]:
        async with AsyncExitStack() as files:
            prepared = await self.prepare(activation, config, files)
            ended = await run_to_end(self._workplace, activation, prepared.command)
            return await self.finish(activation, prepared, ended)

    async def prepare(
        self, activation: Activation, config: Mapping[str, Any], files: AsyncExitStack, key: str | None = None
    ) -> "Prepared":
        """The command of the step, by default with its next execution key. Its files are there until `files` ends."""
        workplace = self._workplace
        form = self._read(config)
        await self._refuse_other_places(form)
        patterns = form.report_patterns
        before = trace_files(await self._find(form, "tests", patterns)) if patterns else {}
        env = await workplace.environment(activation, form.env)
        if form.image is not None:
            env = workplace.without_own_home(env)
        key = key or workplace.next_key(activation)
        output_file = await self._result_file(activation, form, key, "output")
        pytest_file = None
        if form.reports_pytest:
            from pitstop.steps.test_reports import with_pytest_report

            pytest_file = await self._result_file(activation, form, key, "pytest.xml")
            env = with_pytest_report(env, pytest_file.path, inherits=form.image is None)
        command = Command(
            key=key,
            cwd=form.working_directory,
            env={**env, "PITSTOP_OUTPUT": output_file.path},
            stdin=None if form.stdin is None else form.stdin.encode(errors="surrogateescape"),
            image=form.image,
            container=form.container,
            **await self._what_to_run(form, key, files),
        )
        return Prepared(form, command, output_file.name, before, None if pytest_file is None else pytest_file.name)

    async def _result_file(self, activation: Activation, form: RunOptions, key: str, kind: str) -> ControlFile:
        file = self._workplace.result_file(key, kind)
        if form.container.user is not None and not activation.takes_result:
            await self._workplace.files.write("control", file.name, b"", mode=0o666)  # any user may write to it
        return file

    async def finish(self, activation: Activation, prepared: "Prepared", ended: Ended) -> dict[str, Any]:
        """The outputs of the step, whose command has ended; raises StepFailure if the step has failed."""
        form = prepared.form
        if activation.takes_result:  # then the reports were there already
            prepared = msgspec.structs.replace(prepared, before=without_newer(prepared.before, ended.result.started_at))
        gathered = await self._gather(activation, prepared, ended.result)
        outputs, problems = gathered.outputs, gathered.problems
        for remark in gathered.remarks:
            self._workplace.tell(activation, f"pitstop: {remark}")
        if gathered.counts is not None:
            _note_cases(activation, gathered.counts)
        refused = await self._workplace.tell_refused_artifacts(activation)
        if refused and "artifacts" in outputs:
            outputs["artifacts"] = [each for each in outputs["artifacts"] if each["path"] not in refused]
        if not is_accepted(ended.result, form.accept):
            raise _failure(ended, gathered)
        if problems:
            raise problems[0]
        return outputs

    async def _refuse_other_places(self, form: RunOptions) -> None:
        services = [service.name for service in form.container.services]
        if services and form.image is None:
            raise NotAvailable("services", ", ".join(services), "only a step with an `image` can reach services")
        if form.requires:
            asked = asked_labels(form.requires)
            there = await self._workplace.executor.runners()
            if not any(runner.meets(asked) for runner in there):
                raise NotAvailable("requires", listed(asked), f"available: {', '.join(map(str, there)) or 'none'}")

    def _read(self, config: Mapping[str, Any]) -> RunOptions:
        if (
            "script" in config
            and config.keys() <= self.text_fields
            and all(type(value) is str for value in config.values())
        ):
            return RunOptions(**config)
        from pitstop.steps.config import read_config

        form = read_config(self.name, self.Config, config, self._workplace.mask)
        same = {name: getattr(form, name) for name in RunOptions.__struct_fields__ if name != "container"}
        return RunOptions(**same, container=form.container_options())

    async def _what_to_run(self, form: RunOptions, key: str, files: AsyncExitStack) -> dict[str, Any]:
        shell = form.shell or (self._workplace.shell if form.image is None else SH)
        named = {name for word in shell for name in re.findall(_PLACEHOLDER, word)}
        if not named:
            return {"script": form.script, "shell": shell}
        meant = {"script": form.script}
        if "file" in named:
            mode = script_mode(form.container)
            script = self._workplace.control_file(key, "script", form.script, mode=mode)
            meant["file"] = (await files.enter_async_context(script)).path
        return {"argv": tuple(re.sub(_PLACEHOLDER, lambda name: meant[name[1]], word) for word in shell)}

    async def _gather(self, activation: Activation, prepared: "Prepared", result: CommandResult) -> Gathered:
        """What the script handed on, also when it failed."""
        form = prepared.form
        outputs: dict[str, Any] = {"exit_code": result.exit_code}
        if result.image_digest:
            outputs["image_digest"] = result.image_digest
        problems: list[StepFailure] = []
        remarks: list[str] = []
        counts = None
        with _noted_in(problems):
            read = await read_outputs(self._workplace.files, prepared.output_file)
            outputs.update({name: as_json(value) for name, value in read.items()})
        if form.tests:
            from pitstop.steps.test_reports import read_reports

            found = await read_reports(
                self._workplace.files,
                form.report_patterns,
                form.working_directory,
                prepared.before,
                prepared.pytest_file,
            )
            problems += found.problems
            remarks += found.remarks
            if found.files:
                counts = found.counts
            if found.files or form.report_patterns:
                outputs["tests"] = found.counts.as_outputs(found.files)
        if form.artifacts:
            with _noted_in(problems):
                outputs["artifacts"] = await self._collect_artifacts(form, problems, activation.run.plan.limits)
        return Gathered(self._workplace.masked(outputs), problems, remarks, counts)

    async def _find(self, form: RunOptions, field: str, patterns: tuple[str, ...]) -> FoundFiles:
        return await find_files(self._workplace.files, field, patterns, form.working_directory)

    async def _collect_artifacts(
        self, form: RunOptions, problems: list[StepFailure], limits: Limits
    ) -> list[dict[str, object]]:
        found = await self._find(form, "artifacts", form.artifacts)
        with _noted_in(problems):
            require_all("artifacts", found, "the script wrote no file that matches")
        return await collect_files(self._workplace.files, found, limits)


def is_accepted(result: CommandResult, accept: tuple[int, ...]) -> bool:
    """Whether the command ended by itself with one of the exit codes."""
    if result.state == "completed":
        return 0 in accept
    return result.state == "failed" and bool(result.exit_code) and result.exit_code in accept


@contextmanager
def _noted_in(problems: list[StepFailure]) -> Iterator[None]:
    """Go on after a failure, which is kept."""
    try:
        yield
    except StepFailure as problem:
        problems.append(problem)


def _note_cases(activation: Activation, counts: "TestCounts") -> None:
    """Log every case, for the history of each test: the outputs have only those that failed."""
    from pitstop.steps.case_notes import NOTE, pages_of_cases

    for page in pages_of_cases(counts.cases, counts.left_out):
        activation.note(NOTE, page)


def _failure(ended: Ended, gathered: Gathered) -> CommandFailed:
    result, outputs = ended.result, gathered.outputs
    problems = [*map(str, gathered.problems), *(gathered.remarks if gathered.counts is None else ())]
    reason = "; ".join([why_it_ended(result), *_failing_tests(outputs.get("tests")), *problems])
    return CommandFailed(reason, ended.last_lines, exit_code=result.exit_code, signal=result.signal, outputs=outputs)


def _failing_tests(tests: dict[str, Any] | None) -> list[str]:
    if not tests or not tests["failing"]:
        return []
    titles = [f"{case['classname']}.{case['name']}".lstrip(".") for case in tests["failing"]]
    more = f" and {len(titles) - _NAMED_TESTS} more" if len(titles) > _NAMED_TESTS else ""
    return [
        f"{tests['failed'] + tests['errors']} of {tests['total']} tests failed: "
        f"{', '.join(titles[:_NAMED_TESTS])}{more}"
    ]
