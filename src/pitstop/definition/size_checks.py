"""Parts of a flow that are too large to be read or run."""

from collections.abc import Mapping
from math import prod
from typing import Any

from yaml.nodes import MappingNode, Node, ScalarNode

from pitstop.definition.yaml_nodes import Document, Entry
from pitstop.limits import (
    NAME_CHARACTERS,
    VARIABLES,
    Limits,
    too_long,
    too_many,
    too_many_combinations,
    too_many_iterations,
)


def check_names(document: Document, name: str, node: Node) -> bool:
    """Whether a mapping of values by their names, which is called `name`, has few enough to be read."""
    if not isinstance(node, MappingNode):
        return True
    if len(node.value) > VARIABLES:
        way_out = "put them into lists or mappings, or read them from a file in a step"
        document.tell(node, too_many(f"`{name}` has", len(node.value), "names", VARIABLES, way_out))
        return False
    for key, _ in node.value:
        if isinstance(key, ScalarNode) and len(key.value) > NAME_CHARACTERS:
            document.tell(key, too_long(key.value))
    return True


def check_repetitions(
    document: Document, fields: Mapping[str, Entry], values: Mapping[str, Any], limits: Limits
) -> None:
    """Refuse a matrix or a loop that is known to be too large, in the words that a run would fail with."""
    axes, times = values.get("matrix"), values.get("times")
    if isinstance(axes, dict) and all(isinstance(each, list) for each in axes.values()):
        count = prod(map(len, axes.values()))
        if count > limits.matrix_limit:
            document.tell(fields["matrix"][1], too_many_combinations(count, limits))
    if isinstance(times, int) and times > limits.iteration_limit:
        document.tell(fields["times"][1], too_many_iterations(times, limits))
