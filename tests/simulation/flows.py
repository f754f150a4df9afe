"""Random plans whose outcome depends on nothing but the plan: whatever the schedule, they end alike."""

import asyncio
import operator
import random
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from pitstop.definition.graph import END, START
from pitstop.definition.values import OnInterrupt, Router
from pitstop.engine.frame import Activation
from pitstop.plan.plan import NO_RETRY, Plan, Retry, Step
from pitstop.plan.wiring import Wiring

LONG_SECONDS = 2000.0  # longer than any random plan takes, shorter than the driver's longest pause


class Doing:
    """The leaf of a random plan: takes its time, fails as often as it is told to, and remembers that it ran."""

    def __init__(self) -> None:
        self.ran: list[str] = []

    async def act(self, activation: Activation, config: Mapping[str, Any]) -> Any:
        self.ran.append(activation.occurrence)
        for _ in range(config.get("yields", 0)):
            await asyncio.sleep(0)
        if config.get("seconds"):
            await asyncio.sleep(config["seconds"])
        if activation.attempt <= config.get("failures", 0):
            raise ValueError(f"attempt {activation.attempt} fails")
        return {"value": len(activation.base), "attempt": activation.attempt}


@dataclass
class Flows:
    """Makes plans from a seed. `depth` and `width` bound them."""

    random: random.Random
    depth: int = 3
    width: int = 3
    failures: float = 0.15
    on_interrupt: tuple[OnInterrupt, ...] = ("repeat",)
    kinds: tuple[str, ...] = ("sequence", "parallel", "matrix", "background", "repeat", "call", "conditional", "graph")
    _made: int = field(default=0)

    def plan(self) -> Plan:
        children = tuple(self.step(str(index + 1), self.depth) for index in range(self.random.randint(1, 4)))
        cleanup: tuple[Step, ...] = ()
        if self.random.random() < 0.3:
            cleanup = self.cleanup("")
        return Plan(Step("", "sequence", {}, children, cleanup), "random")

    def cleanup(self, prefix: str) -> tuple[Step, ...]:
        names = ("cleanup-1", "cleanup-2")
        return tuple(Step(f"{prefix}{name}", "do", {"yields": 1}, id=name, is_cleanup=True) for name in names)

    def step(self, path: str, depth: int) -> Step:
        if depth == 0 or self.random.random() < 0.45:
            return self.leaf(path)
        kind = self.random.choice(self.kinds)
        if kind == "graph":
            return self.graph(path)
        count = self.random.randint(1, self.width)
        config: dict[str, Any] = {}
        children = tuple(self.step(f"{path}.{index + 1}", depth - 1) for index in range(count))
        if kind == "matrix":
            config = {"matrix": {"axis": ["a", "b"][: self.random.randint(1, 2)]}, "parallel": self.coin()}
            config["max_parallel"] = self.random.choice([None, 1])
        elif kind == "parallel":
            config = {"max_parallel": self.random.choice([None, 1, 2])}
        elif kind == "repeat":
            config = {"times": self.random.randint(1, 3), "every_seconds": self.random.choice([0.0, 1.0])}
        elif kind == "background":
            beside = Step(f"{path}.background", "sequence", {}, (self.quiet(f"{path}.background.1"),))
            children = (beside, *children)
        elif kind == "conditional":
            children = tuple(self.with_condition(child, index) for index, child in enumerate(children))
        return Step(
            path,
            kind,
            config,
            children,
            self.cleanup(f"{path}.") if kind == "call" and self.coin() else (),
            id=self.id(),
            timeout_seconds=self.random.choice([None, LONG_SECONDS]),
            retry=Retry(1, self.random.choice([0.0, 1.0])) if self.random.random() < 0.2 else NO_RETRY,
            continue_on_error=self.random.random() < 0.2,
        )

    def leaf(self, path: str) -> Step:
        fails = self.random.random() < self.failures
        retries = self.random.randint(0, 2) if fails else 0
        config = {
            "yields": self.random.randint(0, 2),
            "seconds": self.random.choice([0.0, 0.0, 1.0, 3.0]),
            "failures": self.random.randint(1, 2) if fails else 0,
        }
        return Step(
            path,
            "do",
            config,
            id=self.id(),
            condition=self.random.choice([None, None, None, ".vars.yes", ".vars.no"]),
            timeout_seconds=self.random.choice([None, None, 2.0, 100.0]),
            retry=Retry(retries, self.random.choice([0.0, 1.0])) if retries else NO_RETRY,
            continue_on_error=self.random.random() < 0.2,
            on_interrupt=self.random.choice(self.on_interrupt) if len(self.on_interrupt) > 1 else self.on_interrupt[0],
        )

    def quiet(self, path: str) -> Step:
        """A leaf that never fails: a background part's end is a matter of the schedule."""
        return Step(path, "do", {"yields": self.random.randint(0, 3), "seconds": self.random.choice([0.0, 2.0, 500.0])})

    def with_condition(self, child: Step, index: int) -> Step:
        condition = self.random.choice([".vars.yes", ".vars.no"]) if index else ".vars.no"
        return Step(child.path, "sequence", {}, (self.leaf(f"{child.path}.1"),), condition=condition)

    def graph(self, path: str) -> Step:
        """A chain of diamonds and loops; its nodes add up, so that the order of branches does not matter."""
        names: list[str] = []
        edges: dict[str, tuple[str, ...]] = {}
        routers: dict[str, Router] = {}
        tail = START
        for part in range(self.random.randint(1, 3)):
            shape = self.random.choice(["node", "fan", "loop"])
            if shape == "node":
                names.append(f"n{part}")
                edges[tail] = (f"n{part}",)
                tail = f"n{part}"
            elif shape == "fan":
                arms = [f"b{part}{arm}" for arm in range(self.random.randint(2, 3))]
                edges[tail] = tuple(arms)
                for arm in arms:
                    if self.coin():
                        edges[arm] = (f"{arm}x",)
                        edges[f"{arm}x"] = (f"j{part}",)
                        names.append(f"{arm}x")
                    else:
                        edges[arm] = (f"j{part}",)
                names += [*arms, f"j{part}"]
                tail = f"j{part}"
            else:
                names += [f"l{part}", f"m{part}"]
                edges[tail] = (f"l{part}",)
                turns, back, on = self.random.randint(1, 3), f"l{part}", f"m{part}"
                routers[back] = Router(_looping(back, on, turns), {back: back, on: on})
                tail = on
        edges.setdefault(tail, ())
        wiring = Wiring(START, END, edges, routers, {"sum": operator.add}, 1000)
        children = tuple(Step(f"{path}.{name}", "node", {"function": self.node(name)}, id=name) for name in names)
        return Step(path, "graph", {"wiring": wiring}, children, id=self.id())

    def node(self, name: str) -> Any:
        yields, seconds = self.random.randint(0, 2), self.random.choice([0.0, 0.0, 2.0])

        async def act(state: dict[str, Any]) -> dict[str, Any]:
            for _ in range(yields):
                await asyncio.sleep(0)
            if seconds:
                await asyncio.sleep(seconds)
            return {"sum": 1, name: state.get(name, 0) + 1}

        return act

    def coin(self) -> bool:
        return self.random.random() < 0.5

    def id(self) -> str:
        self._made += 1
        return f"s{self._made}"


def _looping(back: str, on: str, turns: int) -> Any:
    def choose(state: dict[str, Any]) -> str:
        return back if state.get(back, 0) < turns else on

    return choose


FIRST_VALUES: dict[str, Any] = {"vars": {"yes": True, "no": False, "n": 0}, "steps": {}, "sum": 0}
