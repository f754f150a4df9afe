"""The Pitstop side of every row."""

import argparse
import asyncio
import json
import operator
import resource
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

from gateless import GateSwitch
from measure import Contender
from nodes import BRANCHES, NODES, branch, is_chained, is_joined, is_looped, new_state, noop, take_turn
from pitstop import END, START, Graph, MemoryLog, Session

OTHER_NODES = 10
LARGE_ITEMS = 500


# --- The graphs -------------------------------------------------------------------------------------------------------


def compile_chain(nodes: int = NODES, between: tuple[Any, Any] | None = None) -> Any:
    """A chain of no-ops, between two nodes of somebody's own if they want."""
    does = [noop] * nodes if between is None else [between[0], *[noop] * nodes, between[1]]
    graph = Graph()
    before = START
    for index, node in enumerate(does):
        graph.add_node(f"n{index}", node)
        graph.add_edge(before, f"n{index}")
        before = f"n{index}"
    graph.add_edge(before, END)
    return graph.compile(recursion_limit=nodes + OTHER_NODES)


def compile_loop(turns: int = NODES) -> Any:
    def choose(state: dict[str, Any]) -> str:
        return "node" if state["turn"] < turns else END

    graph = Graph()
    graph.add_node("node", take_turn)
    graph.add_edge(START, "node")
    graph.add_conditional_edge("node", choose, targets=["node", END])
    return graph.compile(recursion_limit=turns + OTHER_NODES)


def compile_fan_out(branches: int = BRANCHES) -> Any:
    names = [f"b{index}" for index in range(branches)]
    graph = Graph(reducers={"items": operator.add})
    graph.add_node("fork", noop)
    graph.add_node("join", noop)
    graph.add_edge(START, "fork")
    for name in names:
        graph.add_node(name, branch)
        graph.add_edge(name, "join")
    graph.add_edge("fork", names)
    graph.add_edge("join", END)
    return graph.compile(recursion_limit=branches + OTHER_NODES)


# --- Plain runs -------------------------------------------------------------------------------------------------------


def chain(name: str = "pitstop", nodes: int = NODES) -> Contender:
    app = compile_chain(nodes)
    return Contender(name, lambda: app.invoke(new_state()), check=lambda result: is_chained(result.state))


def loop(name: str = "pitstop") -> Contender:
    app = compile_loop()
    return Contender(name, lambda: app.invoke(new_state()), check=lambda result: is_looped(result.state))


def fan_out(name: str = "pitstop", branches: int = BRANCHES) -> Contender:
    app = compile_fan_out(branches)
    return Contender(name, lambda: app.invoke(new_state()), check=lambda result: is_joined(result.state, branches))


def gated_chain(name: str, switch: GateSwitch, *, has_gate: bool) -> Contender:
    """The chain with the debugger imported but not attached, or with the very gate it would use taken out."""
    return replace(chain(name), prepare=switch.restore if has_gate else switch.remove)


# --- With a log, with a debugger --------------------------------------------------------------------------------------


class Stopwatch:
    """The first and the last node of a chain, which take the time between them: attaching is not in it.

    Attaching many breakpoints also empties the caches, once; so before the time is taken, the nodes run once.
    """

    def __init__(self) -> None:
        self.app = compile_chain(between=(self.start, self.stop))
        self.seconds = 0.0
        self.is_warming_up = False

    async def start(self, state: dict[str, Any]) -> None:
        if not self.is_warming_up:
            self.is_warming_up = True
            await self.app.invoke(new_state(), log=MemoryLog())
            self.is_warming_up = False
            self.seconds = -time.process_time()

    async def stop(self, state: dict[str, Any]) -> None:
        if not self.is_warming_up:
            self.seconds += time.process_time()


def logged_chain(name: str) -> Contender:
    """The nodes of a chain with a log and nobody attached."""
    return attached_chain(name, None)


def attached_chain(name: str, breakpoints: int | None) -> Contender:
    """The nodes of a chain; a debugger is attached and has breakpoints, all on steps that this graph does not have."""
    watch = Stopwatch()
    sessions: list[Session | None] = [None]

    def attach() -> None:
        if breakpoints is not None:
            session = Session(stop_at_entry=False, stop_on_error=True)
            for index in range(breakpoints):
                session.add_breakpoint(step=f"elsewhere{index}", position="before")
            sessions[:] = [session]

    return Contender(
        name,
        lambda: watch.app.invoke(new_state(), debug=sessions[0], log=MemoryLog()),
        prepare=attach,
        own_seconds=lambda: watch.seconds,
        check=lambda result: is_chained(result.state),
    )


def attaching(name: str, breakpoints: int) -> Contender:
    """All that a run with one node and so many breakpoints costs: what is paid once, however long the run is."""
    return replace(attached_chain(name, breakpoints), own_seconds=None)


def large_state() -> dict[str, Any]:
    """Three keys too, 50 KB as JSON."""
    return {"turn": 0, "text": "x", "items": [{"id": index, "body": "z" * 76} for index in range(LARGE_ITEMS)]}


def recorded_chain(name: str, *, is_large: bool, is_recorded: bool) -> Contender:
    app = compile_chain()
    state = large_state() if is_large else new_state()

    async def run() -> Any:
        return await (app.invoke(state, log=MemoryLog()) if is_recorded else app.invoke(state))

    return Contender(name, run, check=lambda result: bool(result.state["text"] == "y"))


def _step_through(name: str, app: Any) -> Contender:
    sessions: list[Session] = []

    def attach() -> None:
        sessions[:] = [Session(stop_at_entry=True, stop_on_error=True)]

    async def run() -> int:
        session = sessions[0]
        stops = 0
        async with asyncio.TaskGroup() as group:
            group.create_task(app.invoke(new_state(), debug=session))
            while (stop := await session.next_stop()) is not None:
                stops += 1
                await session.step_over(stop)
        return stops

    return Contender(name, run, prepare=attach, check=lambda stops: bool(stops >= NODES))


def step_through_chain(name: str) -> Contender:
    return _step_through(name, compile_chain())


def step_through_loop(name: str) -> Contender:
    return _step_through(name, compile_loop())


# --- Many frames paused, in a process of its own ----------------------------------------------------------------------


def _resident_bytes() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize()


async def pause_frames(frames: int) -> dict[str, float]:
    """Stop every branch of a fan-out before its node, look at the memory, let all go on."""
    app = compile_fan_out(frames)
    session = Session(stop_at_entry=False, stop_on_error=True)
    for index in range(frames):
        session.add_breakpoint(step=f"b{index}", position="before")
    before_bytes = _resident_bytes()
    async with asyncio.TaskGroup() as group:
        running = group.create_task(app.invoke(new_state(), debug=session))
        for _ in range(frames):
            if await session.next_stop() is None:
                raise RuntimeError(f"the run ended before {frames} frames were paused")
        paused_bytes = _resident_bytes()
        paused = sum(frame.state == "paused" for frame in session.frames)
        cpu_start, wall_start = time.process_time(), time.perf_counter()
        await session.continue_all()
        result = await running
        cpu_seconds, wall_seconds = time.process_time() - cpu_start, time.perf_counter() - wall_start
    if paused < frames or not is_joined(result.state, frames):
        raise RuntimeError(f"{paused} of {frames} frames were paused, and the run ended with {result.state}")
    return {"bytes": paused_bytes - before_bytes, "cpu_seconds": cpu_seconds, "wall_seconds": wall_seconds}


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Pause the frames of a fan-out and continue them all.")
    parser.add_argument("frames", type=int)
    print(json.dumps(asyncio.run(pause_frames(parser.parse_args().frames))))
