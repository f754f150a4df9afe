"""What an agent is given: its prompt, its command line, its environment, and the relay that has its key."""

import os
from contextlib import AsyncExitStack, suppress
from pathlib import Path
from secrets import token_hex
from tempfile import TemporaryDirectory
from typing import Any, TypeGuard

import msgspec

from pitstop.engine.executor import LIVE_INPUT, Command
from pitstop.engine.frame import Activation
from pitstop.engine.threads import in_thread
from pitstop.engine.workspace_files import Part
from pitstop.errors import FileProblem
from pitstop.events.types import AnyEvent, Rewound, StepNoted, StepStarted
from pitstop.plan.addresses import caller_of
from pitstop.plan.expressions import render
from pitstop.steps.agents.agent_config import AgentConfig
from pitstop.steps.agents.failures import NoAgentKey
from pitstop.steps.agents.guards import mounts_for, path_of
from pitstop.steps.agents.profile import OWN_PROFILES, Profile, built_in_profiles, filled, own_profile, profile_named
from pitstop.steps.agents.prompt import RULE_FILES, make_prompt
from pitstop.steps.agents.relay.apis import Upstream
from pitstop.steps.agents.relay.recording import read_recording
from pitstop.steps.agents.relay.relay import Relay
from pitstop.steps.agents.relay.replay import Replay
from pitstop.steps.agents.relay.usage import Budget, Price
from pitstop.steps.agents.workspace_git import Before, WorkspaceGit
from pitstop.steps.failures import BadConfig
from pitstop.steps.workplace import Workplace, as_text, checked_name

RECORDINGS = "agents"  # the folder of the artifacts with what models were asked and answered
RECORDING_BYTES = 256 * 1024 * 1024
RELAY_PORT = 8437  # of the loopback of an agent that has one of its own
NO_KEY = "the-relay-has-the-key"


class Preparation:
    """One agent before its start. `relay` is there if the agent works without the key of its model."""

    def __init__(
        self, workplace: Workplace, activation: Activation, form: AgentConfig, profile: Profile, key: str
    ) -> None:
        self.profile = profile
        self.form = form
        self.relay: Relay | None = None
        self._workplace = workplace
        self._activation = activation
        self._key = key
        self._env: dict[str, str] = {}
        self._image = form.image or profile.image
        self._socket: str | None = None  # of the relay, in the control folder, for an agent with its own loopback

    async def prompt(self, git: WorkspaceGit, before: Before | None) -> str:
        """The task with the rules of the project, as they are committed, and the log of the step before."""
        form, rules = self.form, dict[str, str]()
        if form.rules:
            rules = await committed_texts(self._workplace, git, before, RULE_FILES)
        instructions = "\n\n".join(part for part in (self.profile.instructions, form.instructions) if part)
        log = await self._workplace.log_before(self._activation) if form.log else ""
        return make_prompt(form.prompt, instructions=instructions, rules=rules, log=log)

    async def command(self, prompt: str, hook: str, stack: AsyncExitStack) -> Command:
        """The command of the agent; what it needs is there until `stack` ends. BadConfig."""
        workplace, profile, form = self._workplace, self.profile, self.form
        words = {"home": workplace.workspace.home, "model": form.model or "", "session": "", "gate": hook}
        words["api"] = self._api_url if self.relay is None else self._relay_url
        if form.session == "continue":
            words["session"] = last_session(self._activation, profile.name) or ""
        if any("{prompt}" in word for word in profile.command):
            file = await stack.enter_async_context(workplace.control_file(self._key, "prompt", prompt))
            words["prompt"] = file.path
        for path, text in profile.files.items():
            await workplace.files.write("home", path, filled(text, words).encode(), mode=0o600)
        stdin: Any = {"control": LIVE_INPUT, "prompt": prompt.encode(errors="replace"), "none": None}[profile.stdin]
        return Command(
            key=self._key,
            argv=profile.argv(words),
            env={name: filled(value, words) for name, value in profile.env.items()} | self._env,
            inherits=False,
            read_only=await self._read_only(),
            network="all" if form.network == "all" else "none",
            forwards={} if self._socket is None else {RELAY_PORT: self._socket},
            pids=form.pids,
            stdin=stdin,
            image=self._image,
            container=form.container_options(),
        )

    async def _read_only(self) -> tuple[str, ...]:
        """What is mounted read-only for the patterns of `protect`. BadConfig if that is too much."""
        if not self.form.protect:
            return ()
        files, found = self._workplace.files, list[str]()
        for pattern in self.form.protect:
            path = path_of(pattern)
            if path is None:
                (matches,) = await files.find("repo", (pattern,))
                found += [file.path for file in matches]
            elif await files.exists("repo", path):
                found.append(path)
        try:
            return mounts_for(self.form.protect, found)
        except ValueError as error:
            raise BadConfig("agent", [f"protect: {error}"]) from error

    @property
    def _relay_url(self) -> str:
        if self.relay is None or self._socket is None:
            return "" if self.relay is None else self.relay.url
        return f"http://127.0.0.1:{RELAY_PORT}{self.relay.path}"

    @property
    def _api_url(self) -> str:
        return self.form.api or ("" if self.profile.api is None else self.profile.api.url)

    async def _environment(self) -> dict[str, str]:
        workplace, activation, step = self._workplace, self._activation, self._activation.step
        secrets = {name: workplace.secrets[name] for name in step.secrets if name in workplace.secrets}
        own = await render({**step.env, **self.form.env}, activation.scope.values(), activation.run.evaluator)
        given = {checked_name(name): as_text(value) for name, value in own.items()}
        names = self.profile.secrets
        if names and not any(name in secrets or name in given for name in names):
            raise NoAgentKey(self.profile.name, names, step.secrets)
        return {
            "LANG": "C.UTF-8",
            "TERM": "dumb",
            "HOME": workplace.workspace.home,
            **secrets,
            **given,
            "PITSTOP_RUN": workplace.run,
            "PITSTOP_STEP": step.path,
            "PITSTOP_WORKSPACE": workplace.workspace.repo,
            "PITSTOP_CONTEXT": await workplace.context(activation),
        }

    async def open_relay(self, stack: AsyncExitStack) -> None:
        """Let the agent use a relay until `stack` ends, if its key is for an API and it can reach this machine.

        NoAgentKey, BadConfig.
        """
        self._env = env = await self._environment()
        api, form = self.profile.api, self.form
        key = None if api is None else env.get(api.secret)
        if form.relay is False or api is None or key is None or self._is_too_far:
            needs_it = "network: model" if form.network == "model" else "relay" if form.relay else ""
            if needs_it:
                raise BadConfig("agent", [f"{needs_it}: {self._why_no_relay()}"])
            return
        replay = await self._replay()
        record = self._new_recording(stack)
        prices = {name: Price(each.input, each.output, each.cached) for name, each in form.prices.items()}
        self.relay = Relay(
            Upstream(api.name, self._api_url),
            key,
            budget=Budget(form.budget.tokens, form.budget.cost if prices else None),
            prices=prices,
            record=record,
            mask=self._workplace.mask,
            replay=replay,
            socket=self._open_socket(stack) if self._needs_socket else None,
        )
        stack.push_async_callback(self._store_recording, record)
        await stack.enter_async_context(self.relay)
        env[api.secret] = NO_KEY

    @property
    def _needs_socket(self) -> bool:
        """Whether the agent has a loopback of its own, from which it may reach the relay."""
        return self.form.network == "model" or (self.form.network == "all" and self._image is not None)

    @property
    def _is_too_far(self) -> bool:
        return self._needs_socket and not Path(self._workplace.workspace.control).is_dir()

    def _new_recording(self, stack: AsyncExitStack) -> Path:
        """The file to record in: in the control folder, or in one of its own where the workspace is elsewhere."""
        control = Path(self._workplace.workspace.control)
        if not control.is_dir():
            return Path(stack.enter_context(TemporaryDirectory(prefix="pitstop-relay-"))) / "recording"
        file = control / self._recording_name
        file.parent.mkdir(mode=0o700, exist_ok=True)
        file.unlink(missing_ok=True)  # of the time before the user went back
        return file

    async def _replay(self) -> Replay | None:
        """The answers that lead to the call that a user went back to, if they are recorded."""
        exchange = exchange_to_return_to(self._activation)
        if exchange is None:
            return None
        try:
            recorded = await self._workplace.files.read("control", self._recording_name, limit=RECORDING_BYTES)
        except FileProblem:
            return None
        return Replay(read_recording(recorded), exchange)

    @property
    def _recording_name(self) -> str:
        return f"{RECORDINGS}/{self._activation.occurrence}.jsonl"

    def _open_socket(self, stack: AsyncExitStack) -> Path:
        """Where the relay listens: a socket in the control folder, whose own path may be too long for one."""
        self._socket = f"relay-{token_hex(8)}"
        folder = os.open(self._workplace.workspace.control, os.O_PATH | os.O_DIRECTORY)
        stack.callback(os.close, folder)
        stack.callback(remove_from, self._socket, folder)
        return Path(f"/proc/self/fd/{folder}/{self._socket}")

    def _why_no_relay(self) -> str:
        if self._is_too_far:
            return "the workspace is on another machine, which cannot reach the relay"
        if self.profile.api is None:
            return f"{self.profile.name} cannot be pointed at the relay"
        if self.form.relay is False:
            return "only the relay can reach the model, and `relay` is false"
        return f"the secret {self.profile.api.secret} is not given, and a login of the CLI cannot be relayed"

    async def _store_recording(self, file: Path) -> None:
        """Store what the model was asked and answered with the run, so that it can be replayed."""
        recorded = await in_thread(lambda: file.read_bytes() if file.exists() else b"")
        if recorded:
            parts: tuple[Part, ...] = ("artifacts", "control")  # the second is not changed by going back
            for part in parts if file.name == "recording" else parts[:1]:
                await self._workplace.files.write(part, self._recording_name, recorded, mode=0o600)


async def committed_texts(
    workplace: Workplace, git: WorkspaceGit, before: Before | None, names: tuple[str, ...]
) -> dict[str, str]:
    """Files as they are committed, or as they are where there is no commit; those that do not exist are left out."""
    if before is not None:
        return await git.texts(before.commit, names)
    found: dict[str, str] = {}
    for name in names:
        with suppress(FileProblem):
            found[name] = (await workplace.files.read("repo", name)).decode(errors="replace")
    return found


def remove_from(name: str, folder: int) -> None:
    """Remove a file of a folder, if it is there."""
    with suppress(FileNotFoundError):
        os.unlink(name, dir_fd=folder)


async def profile_of(workplace: Workplace, git: WorkspaceGit, before: Before | None, form: AgentConfig) -> Profile:
    """The profile that the step names, with what the step says otherwise. BadConfig.

    A repository's own is taken as it is committed: an agent cannot change the profile of the next one.
    """
    profile, name = built_in_profiles().get(form.profile), f"./{OWN_PROFILES}/{form.profile}.yaml"
    if profile is None:
        texts = await committed_texts(workplace, git, before, (name,))
        profile = own_profile(form.profile, texts[name], form.cli) if name in texts else profile_named(form.profile)
    if form.command:
        profile = msgspec.structs.replace(profile, command=(*form.command, *profile.command[1:]))
    return profile if form.stream is None else msgspec.structs.replace(profile, stream=form.stream)


def exchange_to_return_to(activation: Activation) -> int | None:
    """The number of the model's answer with the call that a user went back to; None if the agent begins as usual."""
    occurrence, target, starts = activation.occurrence, "", 0
    for event in reversed(() if activation.run.log is None else activation.run.log.read()):
        if isinstance(event, StepStarted) and event.occurrence == occurrence:
            starts += 1
        elif isinstance(event, Rewound) and caller_of(event.occurrence) == occurrence and starts == 1:
            target = target or event.occurrence
        elif _is_call(event, target):
            exchange: int | None = event.data.get("exchange")
            return exchange
    return None


def _is_call(event: AnyEvent, address: str) -> TypeGuard[StepNoted]:
    """Whether the event tells of the call with this address."""
    if not isinstance(event, StepNoted) or event.note != "agent.called":
        return False
    return f"{event.occurrence}/{event.data.get('call')}" == address


def last_session(activation: Activation, profile: str) -> str | None:
    """The session of the last agent of this profile in the run."""
    log = activation.run.log
    for event in reversed(log.read() if log is not None else ()):
        if isinstance(event, StepNoted) and event.note == "agent.started" and event.data.get("profile") == profile:
            session = event.data.get("session")
            return session if isinstance(session, str) else None
    return None
