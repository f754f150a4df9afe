"""A function of a graph, and what is heard of it."""

from pathlib import Path
from typing import Any

from pitstop.plan.plan import Step
from pitstop.steps.node import NodeStep
from tests.steps.bench import open_bench


async def test_the_last_that_a_node_says_is_heard_though_a_secret_begins_like_it(tmp_path: Path, is_far: bool) -> None:
    def say(_state: dict[str, Any]) -> dict[str, Any]:
        print("open sesame, and s3", end="")
        return {}

    async with open_bench(tmp_path, is_far=is_far, secrets={"TOKEN": "s3cr3t-token"}) as bench:
        node = NodeStep(bench.workplace)
        step = Step("it", "node", {"function": say}, id="it")
        await bench.execute(Step("", "sequence", children=(step,)), {}, {"node": node})
        await node.close()

        assert bench.said == "open sesame, and s3"
