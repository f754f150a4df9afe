"""Services: containers beside the commands, which reach them by their names, on networks that nobody else is on."""

import asyncio
import secrets
import time
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from typing import Any

from pitstop.engine.container import LINE_FOR_SHELL, Service, is_text
from pitstop.executors.machine.containers.engine import ContainerEngine, EngineGone, EngineRefused, execute
from pitstop.executors.machine.containers.images import Images
from pitstop.executors.machine.containers.labels import remove_container, remove_network
from pitstop.executors.machine.containers.recorder import Frames
from pitstop.executors.machine.containers.result import NotRun

LOOK_SECONDS = 0.1
SETTLE_SECONDS = 0.5  # that a service without a check has to run until it counts as ready
LAST_LINES = 10
CHECK = "PITSTOP_HEALTH_CHECK"
KEPT_LOG = {"Type": "json-file", "Config": {"max-size": "1m", "max-file": "1"}}  # to tell why one does not get ready

Say = Callable[[str], None]


class Services:
    """The services of all workspaces. Shared ones live until their workspace is left."""

    def __init__(self, engine: ContainerEngine, images: Images) -> None:
        self._engine = engine
        self._images = images
        self._shared: dict[str, _Group] = {}

    @asynccontextmanager
    async def beside(
        self, wanted: Sequence[Service], workspace: str, labels: Mapping[str, str], say: Say
    ) -> AsyncIterator["ServicesOfCommand"]:
        """What a command has beside it. Its own services end with the block. Raises NotRun."""
        shared = [service for service in wanted if service.shared]
        own = [service for service in wanted if not service.shared]
        up: list[tuple[_Group, list[Service]]] = []
        if shared:
            group = self._shared.setdefault(workspace, _Group(self._engine, self._images, workspace, labels))
            await group.bring_up(shared, say)
            up.append((group, shared))
        group = _Group(self._engine, self._images, workspace, labels)
        try:
            if own:
                await group.bring_up(own, say)
                up.append((group, own))
            yield ServicesOfCommand(up)
        finally:
            await group.take_down()

    async def leave(self, workspace: str) -> None:
        """End what the workspace had."""
        group = self._shared.pop(workspace, None)
        if group is not None:
            await group.take_down()


class ServicesOfCommand:
    """The services that one command can use."""

    def __init__(self, up: "Sequence[tuple[_Group, Sequence[Service]]]") -> None:
        self._up = up
        self.networks = tuple(group.network for group, _ in up)

    async def why_dead(self) -> str:
        """Which of them have ended, with their exit codes and last lines; empty if all run."""
        return "; ".join([why for group, services in self._up for why in await group.why_dead(services)])


class _Group:
    """Services that see each other, on one network."""

    def __init__(self, engine: ContainerEngine, images: Images, workspace: str, labels: Mapping[str, str]) -> None:
        self._engine = engine
        self._images = images
        self._labels = dict(labels)
        self.network = f"pitstop-{workspace}-{secrets.token_hex(4)}"
        self._has_network = False
        self._up: dict[str, Service] = {}
        self._turn = asyncio.Lock()
        self._is_left = False

    async def bring_up(self, services: Sequence[Service], say: Say) -> None:
        """Wait until every service is ready. One that is up is not started again; NotRun for one that has ended."""
        async with self._turn:
            new = [service for service in services if self._is_new(service)]
            dead = await self.why_dead([service for service in services if service not in new])
            if dead:
                raise NotRun("; ".join(dead))
            try:
                began = [await self._start(service, say) for service in new]
                for service, began_at in zip(new, began, strict=True):
                    await self._wait_ready(service, began_at, say)
                if self._is_left:
                    raise NotRun("the workspace was released while its services were starting")
            except BaseException:
                await self._remove(*(service.name for service in new))  # who comes next shall not take them for ready
                if self._is_left:  # it was taken down before all of it was there
                    await self.take_down()
                raise

    async def why_dead(self, services: Sequence[Service]) -> list[str]:
        """Why each of these has ended that has."""
        dead = []
        for service in services:
            with suppress(EngineGone, EngineRefused):  # then it is not known
                state = await self._state(service)
                if not state["Running"]:
                    dead.append(await self._why(service, f"ended with exit code {state['ExitCode']}"))
        return dead

    async def take_down(self) -> None:
        """Remove all that is there by now. Who is about to bring something up does so himself, and fails."""
        self._is_left = True
        await self._remove(*self._up)
        if self._has_network:
            await remove_network(self._engine, self.network)

    async def _remove(self, *services: str) -> None:
        for name in services:
            self._up.pop(name, None)
            await remove_container(self._engine, self._container(name))

    def _is_new(self, service: Service) -> bool:
        known = self._up.get(service.name)
        if known is not None and known != service:
            raise NotRun(f"service {service.name} is already running with another config: use another name")
        return known is None

    def _container(self, service: str) -> str:
        return f"{self.network}-{service}"

    async def _start(self, service: Service, say: Say) -> float:
        """Start it, and return when that was."""
        if not self._has_network:
            await self._make_network()
        image = await self._images.get(service.image, "missing", None, say)
        self._up[service.name] = service
        try:
            config = service_config(service, image.id, self.network, self._labels)
            await self._engine.make("/containers/create", {"name": self._container(service.name)}, config)
            await self._engine.make(f"/containers/{self._container(service.name)}/start")
        except EngineRefused as error:
            raise NotRun(f"could not start service {service.name}: {error.message}") from error
        return time.monotonic()

    async def _make_network(self) -> None:
        config = {"Name": self.network, "Driver": "bridge", "Labels": self._labels}
        self._has_network = True  # who is cancelled while it is made has one
        try:
            await self._engine.make("/networks/create", body=config)
        except EngineGone:
            self._has_network = False
            raise
        except EngineRefused as error:
            self._has_network = False
            raise NotRun(
                f"services need their own network, but this container engine cannot create one: {error.message}"
            ) from error

    async def _wait_ready(self, service: Service, began: float, say: Say) -> None:
        limit = service.health.start_seconds
        while True:
            state = await self._state(service)
            if not state["Running"]:
                raise NotRun(await self._why(service, f"ended with exit code {state['ExitCode']}"))
            has_settled = time.monotonic() - began >= SETTLE_SECONDS
            answer = await self._check(service, state, has_settled=has_settled)
            waited = time.monotonic() - began
            if answer is None:
                say(f"service {service.name} is ready after {waited:.1f} s")
                return
            if waited > limit:
                raise NotRun(await self._why(service, f"was not ready within {limit:g} s{answer and f': {answer}'}"))
            await asyncio.sleep(service.health.interval_seconds if service.health.command else LOOK_SECONDS)

    async def _state(self, service: Service) -> dict[str, Any]:
        found: dict[str, Any] = await self._engine.ask("GET", f"/containers/{self._container(service.name)}/json")
        state: dict[str, Any] = found["State"]
        return state

    async def _check(self, service: Service, state: dict[str, Any], *, has_settled: bool) -> str | None:
        """None when it is ready; else what its check says, or nothing.

        A command is run by us and not by the engine: Podman needs systemd for that, and Docker waits before the first.
        """
        health = service.health
        if not health.command:
            status = (state.get("Health") or {}).get("Status") or "none"
            return None if status == "healthy" or (status == "none" and has_settled) else ""
        try:
            async with asyncio.timeout(health.timeout_seconds):
                exit_code, said = await execute(self._engine, self._container(service.name), *_hidden(health.command))
        except TimeoutError:
            return f"its check took longer than {health.timeout_seconds:g} s"
        except EngineRefused as error:
            return error.message
        return None if exit_code == 0 else said.decode(errors="replace").strip()

    async def _why(self, service: Service, what: str) -> str:
        said = await self._last_lines(service)
        return f"service {service.name} ({service.image}) {what}" + (f"; last output:\n{said}" if said else "")

    async def _last_lines(self, service: Service) -> str:
        path = f"/containers/{self._container(service.name)}/logs"
        query = {"stdout": True, "stderr": True, "tail": LAST_LINES}
        try:
            async with self._engine.request("GET", path, query) as answer:
                said = await answer.read_all()
        except EngineRefused:
            return ""
        return b"".join(data for _, data in Frames().feed(memoryview(said))).decode(errors="replace").rstrip()


def service_config(service: Service, image: str, network: str, labels: Mapping[str, str]) -> dict[str, Any]:
    """The body of the request that creates it."""
    return {
        "Image": image,
        **({"Cmd": list(service.argv)} if service.argv else {}),
        "Env": [f"{name}={value}" for name, value in service.env.items()],
        "Labels": dict(labels),
        "HostConfig": {"NetworkMode": network, "LogConfig": KEPT_LOG},
        "NetworkingConfig": {"EndpointsConfig": {network: {"Aliases": [service.name]}}},
    }


def _hidden(check: tuple[str, ...]) -> tuple[tuple[str, ...], dict[str, str]]:
    """The words of a health check, and the variable that a line for `sh` is in: it may contain secrets."""
    return ((*LINE_FOR_SHELL, f'eval "${CHECK}"'), {CHECK: check[-1]}) if is_text(check) else (check, {})
