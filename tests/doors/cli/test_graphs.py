"""Graphs in Python on the command line: run, checked and debugged like flows."""

import pytest

from tests.doors.cli.command_line import CommandLine

SUMS = """\
    from pitstop import END, START, Graph

    def double(state):
        print("doubling", state["count"])
        return {"count": state["count"] * 2}

    def check(state):
        if state["count"] > state.get("most", 10):
            raise ValueError(f"{state['count']} is too much")
        return {"checked": True}

    graph = Graph("sums")
    graph.add_node("double", double)
    graph.add_node("check", check)
    graph.add_edge(START, "double")
    graph.add_edge("double", "check")
    graph.add_edge("check", END)
    app = graph.compile()
    """


@pytest.fixture(autouse=True)
def sums(cli: CommandLine) -> None:
    cli.write("sums.py", SUMS)


@pytest.mark.parametrize("name", ["sums.py:app", "sums:app", "sums:graph"])
def test_a_graph_is_run_by_its_name_with_its_state_as_inputs(cli: CommandLine, name: str) -> None:
    said = cli.run("run", name, "-i", "count=4")

    assert said.code == 0
    assert "double | doubling 4" in said.lines
    assert said.lines[-1].startswith("sums passed after ")


def test_a_failed_node_is_told_with_its_place_and_how_to_debug_it(cli: CommandLine) -> None:
    said = cli.run("run", "sums.py:app", "-i", "count=7")

    assert said.code == 1
    assert any(line.startswith("check failed (") and line.endswith("sums.py:7): 14 is too much") for line in said.lines)
    assert said.lines[-1].endswith("debug sums.py:app --from check")


def test_a_graph_is_debugged_from_its_failure_with_a_value_that_is_changed(cli: CommandLine) -> None:
    cli.run("run", "sums.py:app", "-i", "count=7")
    words = ("debug", "sums.py:app", "--from", "check")
    said = cli.run(*words, "-c", "p .count", "-c", "set .most = 20", "-c", "continue")

    assert said.code == 0
    assert "14" in said.lines and "the run passed" in said.out


def test_a_graph_is_checked_and_shown(cli: CommandLine) -> None:
    assert cli.run("check", "sums.py:app").out == "sums.py:app: OK (2 steps)\n"
    assert "node: double" in cli.run("show", "sums.py:app").out


def test_what_is_no_graph_is_told_where_it_is(cli: CommandLine) -> None:
    said = cli.run("run", "sums.py:ap")

    assert (said.code, "did you mean 'app'?" in said.err) == (2, True)
