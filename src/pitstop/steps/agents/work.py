"""An agent at work: its command, what it reports, and its tool calls."""

import asyncio
from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import Any

import msgspec

from pitstop.engine.calls import Calls
from pitstop.engine.executor import Command, CommandRef, CommandResult, LogChunk
from pitstop.engine.frame import Activation, FrameRewound
from pitstop.errors import StepFailure, WorkspaceLost
from pitstop.events.outcome import Outcome, Status, StepError
from pitstop.plan.values import as_json
from pitstop.steps.agents.budget import Budget, Spent
from pitstop.steps.agents.call_book import CallBook, KnownCall
from pitstop.steps.agents.failures import AgentFlooded, GateMissing, passed_budget
from pitstop.steps.agents.gates.control import ControlGate
from pitstop.steps.agents.gates.gate import Allowed, Asked, Decision, Denied
from pitstop.steps.agents.gates.hooks import HookForm, HookGate
from pitstop.steps.agents.profile import Profile
from pitstop.steps.agents.relay.relay import Relay
from pitstop.steps.agents.reports import Began, Called, Finished, Refused, Report, Returned, Said, Typed, Warned
from pitstop.steps.agents.streams.lines import LineSplitter
from pitstop.steps.agents.streams.stream import stream_named
from pitstop.steps.agents.tool_classes import called
from pitstop.steps.commands import Tail
from pitstop.steps.workplace import SETTLE_BYTES, Workplace

MOST_NOTES = 20_000
MOST_STREAM_BYTES = 200 * 1024 * 1024
NOTE_CHARACTERS = 4096
INTERRUPT_SECONDS = 2.0
TERM_SECONDS = 5.0
CHANGE_NOTHING = ("read", "search", "web")  # classes of tools before which no snapshot is needed
REFUSED = "The user refused this tool call."
PLAIN_TEXT = ("lines", "aider")  # streams of programs whose errors are for people
_TIME_RESOLUTION_SECONDS = 0.1


class AgentWork:
    """One agent, from its start to its end. It decides about tool calls by asking the debugger, if there is one."""

    def __init__(
        self,
        workplace: Workplace,
        activation: Activation,
        profile: Profile,
        budget: Budget,
        key: str,
        relay: Relay | None = None,
    ) -> None:
        """`key` is the execution key of the agent's command; `relay` is what it reaches its model through, if any."""
        self.finished: Finished | None = None
        self.session: str | None = None
        self.spent = Spent()
        self._workplace = workplace
        self._activation = activation
        self._profile = profile
        self._budget = budget
        self._relay = relay
        self._stream = stream_named(profile.stream)
        self._lines = LineSplitter()
        self._book = CallBook(workplace.mask)
        self._calls = Calls(activation)
        self._listener = workplace.listener(activation)
        self._notes = 0
        self._stream_bytes = 0
        self._shown_bytes = 0
        self._unshown = bytearray()  # lines are shown together: masking and storing cost more than most lines are long
        self._is_typing = False
        self.errors = Tail()  # what it wrote to stderr
        ref = self._ref = CommandRef(workplace.workspace.id, key)
        self._control: ControlGate | None = None
        self._hooks: HookGate | None = None
        match profile.gate:
            case "control":
                self._control = ControlGate(lambda data: workplace.executor.write(ref, data), self)
            case "hooks-codex" | "hooks-gemini":
                form: HookForm = "codex" if profile.gate == "hooks-codex" else "gemini"
                self._hooks = HookGate(workplace, activation, form, key, self)
        self._asking: list[asyncio.Task[None]] = []  # those that hold a call
        self.last_text: str | None = None
        self._settled_bytes = 0

    @property
    def is_silent(self) -> bool:
        """Whether nothing came from it yet."""
        return self._notes == 0

    @property
    def hook(self) -> str:
        """The path of the script that the CLI has to run as its hook; empty if it has none."""
        return "" if self._hooks is None else self._hooks.path

    async def run(self, command: Command, prompt: str) -> CommandResult:
        """Run the command to its end. Cancelling interrupts the agent, and ends what it leaves."""
        executor = self._workplace.executor
        try:
            if self._hooks is not None:
                await self._hooks.open()
            await executor.start(self._workplace.workspace, command)
            await self._follow(prompt)
            result = await executor.wait(self._ref)
            for report in self._stream.finish(result.exit_code):
                self._take(report)
        except BaseExceptionGroup as several:
            await self._end()
            raise _cause(several) from None
        except BaseException:
            await self._end()
            raise
        finally:
            if self._hooks is not None:
                await self._hooks.close()
            self._show_now()
            if self._listener is not None:
                self._listener.finish()
        return result

    async def _follow(self, prompt: str) -> None:
        """Read what the agent writes and answer what it asks, until it has ended."""
        async with asyncio.TaskGroup() as group:
            beside = [group.create_task(self._watch_time())]
            if self._control is not None:
                beside.append(group.create_task(self._control.begin(prompt)))
            if self._hooks is not None:
                beside.append(group.create_task(self._hooks.run(group, self._profile.name)))
            await self._read(group)
            for task in (*beside, *self._asking):  # nothing waits for an answer any more
                task.cancel()

    async def _read(self, group: asyncio.TaskGroup) -> None:
        async for chunk in self._workplace.executor.logs(self._ref):
            self._stream_bytes += len(chunk.data)
            if self._stream_bytes > MOST_STREAM_BYTES:
                raise AgentFlooded(self._profile.name, f"{MOST_STREAM_BYTES // 1024**2} MB")
            if chunk.stream == "stderr":
                self.errors.add(chunk.data)
                if self._profile.stream in PLAIN_TEXT:
                    self._unshown += chunk.data
            else:
                for line in self._lines.feed(chunk.data):
                    await self._read_line(line, group)
            self._show_now()
            await self._settle()
        for line in self._lines.finish():
            await self._read_line(line, group)

    async def _read_line(self, line: bytes, group: asyncio.TaskGroup) -> None:
        gate = self._control
        if gate is not None and gate.takes(line):
            self._asking = [task for task in self._asking if not task.done()]
            self._asking.append(group.create_task(gate.read(line)))
            return
        for report in self._stream.read(line):
            self._take(report)
            if isinstance(report, Finished) and gate is not None:
                await self._workplace.executor.close_input(self._ref)

    # What the agent reports

    def _take(self, report: Report) -> None:
        self.spent.take(report)
        match report:
            case Began():
                self.session = report.session or self.session
                self.note("agent.started", profile=self._profile.name, session=report.session, model=report.model)
            case Said():
                self.note("agent.said", text=report.text, parent=self._number(report.parent))
                self.last_text = report.text if report.parent is None else self.last_text
                self._show_line("" if self._is_typing else report.text)
            case Called():
                self._announce(report)
            case Returned():
                self._return(report)
            case Refused():
                self._refuse(self._book.find(report.call), report.reason, by="agent")
            case Warned():
                self._show_line(report.text)
            case Finished():
                self.finished = report
            case Typed():
                self._is_typing = True
                self._unshown += report.text.encode(errors="replace")
        self.spent.check(self._budget)

    def _announce(self, called: Called, *, by_gate: bool = False) -> KnownCall:
        called = msgspec.structs.replace(called, paths=tuple(map(self._relative, called.paths)))
        known, is_new = self._book.enter(called, by_gate=by_gate)
        if is_new:
            shown = known.shown(guarantee=self._profile.is_guarded)
            told = {name: shown[name] for name in shown if name != "guarantee"}
            self.note("agent.called", **told, exchange=None if self._relay is None else self._relay.exchanges)
            self._show_line(f"[{known.number}] {known.title}")
        return known

    def _return(self, returned: Returned) -> None:
        known = self._book.find(returned.call)
        if known is None or known.is_returned:
            return
        known.is_returned = True
        if known.is_refused:
            return
        if self._profile.gate != "none" and not known.is_allowed:
            how = "while its gate held it" if known.is_gated else "without asking its gate"
            raise GateMissing(self._profile.name, f"it made call {known.number} ({known.title}) {how}")
        self.note("agent.returned", call=known.number, ok=returned.ok, output=returned.output)
        first = self._workplace.mask(returned.output.strip().partition("\n")[0])[:200]
        self._show_line(f"[{known.number}] {'ok' if returned.ok else 'failed'}{': ' if first else ''}{first}")

    def _refuse(self, known: KnownCall | None, reason: str, *, by: str) -> None:
        if known is not None and not known.is_refused:
            known.is_refused = True
            self.note("agent.refused", call=known.number, reason=reason, by=by)
            self._show_line(f"[{known.number}] refused by the {by}: {reason}")

    def _number(self, call: str | None) -> str | None:
        known = None if call is None else self._book.find(call)
        return None if known is None else known.number

    # What the gate asks

    async def before(self, asked: Asked) -> Decision:
        about = called(self._profile.stream, asked.call, asked.name, asked.input, asked.parent)
        known = self._announce(about, by_gate=True)
        self._show_now()
        call = known.as_call(guarantee=self._profile.is_guarded)
        if known.called.tool not in CHANGE_NOTHING:
            await self._calls.keep_workspace(call)
        decided = await self._calls.before(call) if self._calls.are_watched else dict(asked.input)
        if isinstance(decided, Outcome):
            text = _text_of(decided)
            self._refuse(known, text, by="user")
            self._show_now()
            return Denied(text)
        if decided != asked.input:
            known.edited = called(self._profile.stream, asked.call, asked.name, decided)
            self.note("agent.edited", call=known.number, input=as_json(decided))
        known.is_allowed = True
        return Allowed(decided)

    async def after(self, call: str, output: str, *, ok: bool) -> str | None:
        known = self._book.find(call)
        if known is None or not self._calls.are_watched:
            return None
        error = None if ok else StepError("ToolFailed", output[:NOTE_CHARACTERS])
        outcome = Outcome(Status.PASSED if ok else Status.FAILED, {"output": output}, error)
        decided = await self._calls.after(known.as_call(guarantee=self._profile.is_guarded), outcome)
        return None if decided is outcome else _text_of(decided)

    def _relative(self, path: str) -> str:
        repo = self._workplace.workspace.repo.rstrip("/") + "/"
        return path.removeprefix(repo).removeprefix("./")

    # Logging

    def note(self, note: str, **data: Any) -> None:
        """Log something about the agent, with secrets masked and long texts cut. AgentFlooded if it is too much."""
        self._notes += 1
        if self._notes > MOST_NOTES:
            raise AgentFlooded(self._profile.name, f"{MOST_NOTES} events")
        texts = "\0".join(_texts(data))  # searched at once, because hardly any has a secret
        if self._workplace.mask(texts) != texts:
            data = self._workplace.masked(data)
        self._activation.note(note, _cut(data) if len(texts) > NOTE_CHARACTERS else data)

    def _show_line(self, text: str) -> None:
        self._is_typing = False
        self._unshown += f"{text}\n".encode(errors="replace")

    def _show_now(self) -> None:
        """Pass on what was said since the last time."""
        if self._unshown and self._listener is not None:
            chunk = LogChunk("stdout", self._shown_bytes, self._activation.run.now(), bytes(self._unshown))
            self._shown_bytes = chunk.end
            self._listener.hear_now(chunk)
        self._unshown.clear()

    async def _settle(self) -> None:
        """Wait now and then until what was shown is stored, so that a flood does not fill the memory."""
        if self._shown_bytes - self._settled_bytes > SETTLE_BYTES and self._workplace.settle is not None:
            self._settled_bytes = self._shown_bytes
            await self._workplace.settle()

    # Ending

    async def _watch_time(self) -> None:
        """BudgetExceeded when the agent was at work for too long; time at stops does not count."""
        limit, meter = self._budget.time, self._activation.meter
        loop = asyncio.get_running_loop()
        began, paused = loop.time(), meter.paused_by(loop.time())
        while limit is not None:
            now = loop.time()
            left = limit - (now - began) + meter.paused_by(now) - paused
            if left <= 0:
                raise passed_budget("time", f"{limit:g} s", f"{limit:g} s", self.spent.as_outputs())
            await asyncio.sleep(max(left, _TIME_RESOLUTION_SECONDS))

    async def _end(self) -> None:
        """Interrupt the agent, then end its command with all that it started."""
        executor, ref = self._workplace.executor, self._ref
        with suppress(WorkspaceLost):
            try:
                with suppress(TimeoutError):
                    async with asyncio.timeout(INTERRUPT_SECONDS if self._control is not None else 0):
                        await self._interrupt()
                # A hook that is asked to end may end before its CLI, which then makes the call that the hook held
                await executor.cancel(ref, TERM_SECONDS if self._hooks is None else 0)
            except asyncio.CancelledError:
                await executor.cancel(ref, 0)
                raise

    async def _interrupt(self) -> None:
        if self._control is not None:
            await self._control.interrupt()
            await self._workplace.executor.close_input(self._ref)
            await self._workplace.executor.wait(self._ref)


def _cause(several: BaseExceptionGroup[BaseException]) -> BaseException:
    """Of the exceptions of tasks that ended together, the one that tells why."""
    first = several.exceptions[0]
    for kind in (FrameRewound, StepFailure):
        found = next((each for each in several.exceptions if isinstance(each, kind)), None)
        if found is not None:
            return found
    return _cause(first) if isinstance(first, BaseExceptionGroup) else first


def _text_of(outcome: Outcome) -> str:
    """What the model is told in place of a result."""
    if isinstance(outcome.outputs, Mapping) and isinstance(outcome.outputs.get("output"), str):
        return str(outcome.outputs["output"])
    if outcome.error is not None and outcome.error.message:
        return outcome.error.message
    return REFUSED


def _texts(value: Any) -> Iterator[str]:
    """Every text in JSON, except the names of fields."""
    match value:
        case str():
            yield value
        case dict():
            for child in value.values():
                yield from _texts(child)
        case list():
            for child in value:
                yield from _texts(child)


def _cut(value: Any) -> Any:
    """The value with its long texts cut, so that an event stays small."""
    match value:
        case str() if len(value) > NOTE_CHARACTERS:
            return f"{value[:NOTE_CHARACTERS]}… ({len(value) - NOTE_CHARACTERS} characters more)"
        case Mapping():
            return {str(key): _cut(child) for key, child in value.items()}
        case list() | tuple():
            return [_cut(child) for child in value]
    return value
