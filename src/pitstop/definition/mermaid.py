"""A graph as a Mermaid flowchart."""

from pitstop.definition.graph import END, START, GraphDefinition


def to_mermaid(definition: GraphDefinition) -> str:
    """The chart's text: edges solid, conditional ones dotted, graphs in graphs as boxes."""
    return "\n".join(["flowchart TD", *_lines(definition, "", "    ")])


def _lines(definition: GraphDefinition, prefix: str, indent: str) -> list[str]:
    lines = [f"{indent}{_id(prefix, START)}([start])", f"{indent}{_id(prefix, END)}([end])"]
    for node in definition.nodes.values():
        if isinstance(node.does, GraphDefinition):
            lines.append(f'{indent}subgraph {_id(prefix, node.name)}["{node.name}"]')
            lines += _lines(node.does, f"{prefix}{node.name}.", indent + "    ")
            lines.append(f"{indent}end")
        else:
            lines.append(f'{indent}{_id(prefix, node.name)}["{node.name}"]')
    for source, targets in definition.edges.items():
        lines += [f"{indent}{_id(prefix, source)} --> {_id(prefix, target)}" for target in targets]
    for source, router in definition.routers.items():
        for said, target in (router.targets or {"?": END}).items():
            label = "" if said == target else f'|"{_quoted(said)}"|'
            lines.append(f"{indent}{_id(prefix, source)} -.->{label} {_id(prefix, target)}")
    return lines


def _id(prefix: str, name: str) -> str:
    """A sign that no other node has: letters and digits as they are, anything else by its number."""
    if name in (START, END):
        return f"{_id(prefix, '')}_{'start' if name == START else 'end'}"
    return "n_" + "".join(char if char.isascii() and char.isalnum() else f"_{ord(char):x}_" for char in prefix + name)


def _quoted(text: object) -> str:
    return str(text).replace("&", "&amp;").replace('"', "&quot;").replace("\n", " ")
