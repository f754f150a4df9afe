"""The debugger of a run on a server."""

from collections.abc import Mapping
from typing import Any, Literal
from urllib.parse import quote

from pitstop.errors import CommandRefused
from pitstop.service.api import BreakpointRequest
from pitstop.service.debugging import (
    BreakpointInfo,
    ChangeInfo,
    ConfigInfo,
    ContextInfo,
    DebugState,
    FileChanges,
    FileDiff,
    PointInfo,
    VariablePage,
)
from pitstop.service.remote_http import Connection
from pitstop.service.wire import Evaluated, InjectedState, WholeScope


class RemoteDebugger:
    """A Debugger: each method is a request."""

    def __init__(self, connection: Connection, run: str) -> None:
        self._connection = connection
        self._path = f"/runs/{quote(run, safe='')}/debug"

    async def _say(self, verb: str, **body: Any) -> None:
        given = {name: value for name, value in body.items() if value is not None or name == "value"}
        await self._connection.ask("POST", f"{self._path}/{verb}", given)

    async def state(self) -> DebugState:
        return await self._connection.get(self._path, DebugState)

    # Moving

    async def continue_(self, stop: int, *, keeps_step: bool = False) -> None:
        await self._say("continue", stop=stop, keeps_step=keeps_step or None)

    async def continue_all(self) -> None:
        await self._say("continue", all=True)

    async def step_into(self, stop: int, *, code: bool = False) -> None:
        """A function of a server's run is run through: nobody here could come to where it waits."""
        await self._say("step", stop=stop, kind="into")

    async def step_over(self, stop: int) -> None:
        await self._say("step", stop=stop, kind="over")

    async def step_out(self, stop: int) -> None:
        await self._say("step", stop=stop, kind="out")

    async def run_to(self, stop: int, step: str) -> None:
        await self._say("step", stop=stop, kind="to", step=step)

    async def pause(self, frame: str | None = None) -> None:
        await self._say("pause", frame=frame)

    async def cancel_frame(self, frame: str, reason: str = "ended by the user") -> None:
        """A server ends a branch where it is stopped, by letting its step fail."""
        stop = next((each for each in (await self.state()).stops if each.frame == frame), None)
        if stop is None:
            raise CommandRefused(f"branch {frame} can be ended only where it is paused: pause it first")
        await self.force(stop.id, "failed")

    async def detach(self) -> None:
        await self._connection.ask("DELETE", self._path)

    async def abort(self, reason: str = "aborted by the user") -> None:
        await self._say("abort", reason=reason)

    # Changing

    async def skip(self, stop: int, outputs: Mapping[str, Any] | None = None, *, pauses: bool = False) -> None:
        await self._say("skip", stop=stop, outputs=outputs, pauses=pauses or None)

    async def force(
        self, stop: int, status: str, outputs: Mapping[str, Any] | None = None, *, pauses: bool = False
    ) -> None:
        await self._say("force", stop=stop, status=status, outputs=outputs, pauses=pauses or None)

    async def retry(self, stop: int) -> None:
        await self._say("retry", stop=stop)

    async def inject(self, stop: int, step: Mapping[str, Any], position: Literal["before", "after"] = "before") -> str:
        body = {"stop": stop, "step": step, "position": position}
        return (await self._connection.post(f"{self._path}/inject", body, InjectedState)).path

    async def set(self, stop: int, path: str, value: Any, *, layer: str | None = None) -> None:
        await self._say("set", stop=stop, path=path, value=value, layer=layer)

    async def unset(self, stop: int, path: str, *, layer: str | None = None) -> None:
        await self._say("unset", stop=stop, path=path, layer=layer)

    async def undo(self, stop: int) -> None:
        await self._say("undo", stop=stop)

    async def override_config(self, stop: int, config: Mapping[str, Any]) -> None:
        await self._say("config", stop=stop, config=config)

    # Going back, or ahead

    async def step_back(self, stop: int, *, external: bool = False) -> None:
        await self._say("step", stop=stop, kind="back", external=external)

    async def rewind(self, stop: int, point: int, *, external: bool = False) -> None:
        await self._say("rewind", stop=stop, point=point, external=external)

    async def restart_frame(self, stop: int, *, external: bool = False) -> None:
        await self._say("restart", stop=stop, external=external)

    async def goto(self, stop: int, step: str, *, external: bool = False) -> None:
        await self._say("goto", stop=stop, step=step, external=external)

    # Breakpoints and watches

    async def add_breakpoint(self, request: BreakpointRequest) -> BreakpointInfo:
        return await self._connection.post(f"{self._path}/breakpoints", request, BreakpointInfo)

    async def change_breakpoint(self, breakpoint: int, request: BreakpointRequest) -> BreakpointInfo:
        changed = await self._connection.ask("PATCH", f"{self._path}/breakpoints/{breakpoint}", request)
        return self._connection.read(changed, BreakpointInfo)

    async def remove_breakpoint(self, breakpoint: int) -> None:
        await self._connection.ask("DELETE", f"{self._path}/breakpoints/{breakpoint}")

    async def enable_breakpoint(self, breakpoint: int, enabled: bool = True) -> None:
        await self._connection.ask("PATCH", f"{self._path}/breakpoints/{breakpoint}", {"enabled": enabled})

    async def enable_group(self, group: str, enabled: bool = True) -> None:
        path = f"{self._path}/breakpoints/groups/{quote(group, safe='')}"
        await self._connection.ask("POST", path, {"enabled": enabled})

    async def watch(self, expression: str) -> None:
        await self._say("watch", expression=expression)

    async def unwatch(self, expression: str) -> None:
        await self._say("unwatch", expression=expression)

    # Looking

    async def evaluate(self, stop: int | None, expression: str) -> list[Any]:
        """A server is asked about a stop, or refuses."""
        body = {"stop": stop, "expression": expression}
        return (await self._connection.post(f"{self._path}/evaluate", body, Evaluated)).values

    async def watch_values(self, stop: int) -> dict[str, Any]:
        return await self._connection.get(f"{self._path}/watches", dict[str, Any], stop=stop)

    async def variables(
        self, stop: int, path: str = ".", *, cursor: int = 0, limit: int = 100, search: str | None = None
    ) -> VariablePage:
        asked = {"stop": stop, "path": path, "cursor": cursor, "limit": limit, "search": search}
        return await self._connection.get(f"{self._path}/variables", VariablePage, **asked)

    async def scope(self, stop: int) -> dict[str, Any]:
        return (await self._connection.get(f"{self._path}/scope", WholeScope, stop=stop)).scope

    async def config(self, stop: int) -> ConfigInfo:
        return await self._connection.get(f"{self._path}/config", ConfigInfo, stop=stop)

    async def history(self) -> tuple[PointInfo, ...]:
        return await self._connection.get(f"{self._path}/history", tuple[PointInfo, ...])

    async def diff(self, stop: int) -> tuple[ChangeInfo, ...]:
        return await self._connection.get(f"{self._path}/diff", tuple[ChangeInfo, ...], stop=stop)

    async def diff_points(self, before: int, after: int) -> tuple[ChangeInfo, ...]:
        asked = {"from": before, "to": after}
        return await self._connection.get(f"{self._path}/diff", tuple[ChangeInfo, ...], **asked)

    async def file_changes(self, before: int, after: int | None = None, *, limit: int = 1000) -> FileChanges:
        asked = {"from": before, "to": after, "limit": limit}
        return await self._connection.get(f"{self._path}/files", FileChanges, **asked)

    async def file_diff(self, path: str, before: int, after: int | None = None) -> FileDiff:
        asked = {"path": path, "from": before, "to": after}
        return await self._connection.get(f"{self._path}/files/diff", FileDiff, **asked)

    async def context(self, stop: int) -> ContextInfo:
        return await self._connection.get(f"{self._path}/context", ContextInfo, stop=stop)

    # The session itself

    async def extend(self, seconds: float) -> None:
        await self._say("extend", seconds=seconds)

    async def export(self) -> dict[str, Any]:
        return await self._connection.get(f"{self._path}/export", dict[str, Any])
