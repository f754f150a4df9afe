"""A server and graphs in Python: it imports none of them."""

import subprocess
from pathlib import Path
from typing import Any

from tests.serving.test_commands import PITSTOP, House, without_ours

GRAPH = """
from pathlib import Path
from pitstop import END, START, Graph

Path("{marker}").write_text("imported")

def step(state):
    return {{}}

app = Graph()
app.add_node("step", step)
app.add_edge(START, "step")
app.add_edge("step", END)
"""


class Trap:
    """A graph whose import leaves a trace."""

    def __init__(self, folder: Path) -> None:
        self.marker = folder / "imported"
        self.file = folder / "x.py"
        self.file.write_text(GRAPH.format(marker=self.marker))
        self.target = f"{self.file}:app"


def test_a_server_imports_no_graph_whatever_is_asked_of_it(tmp_path: Path) -> None:
    trap = Trap(tmp_path)
    named = {"text": "steps: [{run: 'true'}]", "name": trap.target}
    with House(tmp_path, "--no-browser").open() as house:
        run = house.run_to_end({"flow": named})["id"]  # a flow that is called like the graph
        asked: list[tuple[str, dict[str, Any]]] = [
            ("/runs", {"flow": {"path": trap.target}}),
            ("/runs", {"flow": {"path": trap.target}, "debug": {"stop_at_entry": True}}),
            ("/flows/check", {"path": trap.target}),
            ("/flows/resolve", {"flow": {"path": trap.target}}),
            (f"/runs/{run}/rerun", {}),
            (f"/runs/{run}/rerun", {"use_file": True}),
            (f"/runs/{run}/rerun", {"debug": {}}),
        ]
        answers = [house.ask("POST", path, json=body) for path, body in asked]

    assert [answer.status_code for answer in answers] == [422] * len(asked)
    assert {answer.json()["code"] for answer in answers} == {"refused.graph"}
    assert all(f"`pitstop debug {trap.target}`" in answer.json()["detail"] for answer in answers)
    assert not trap.marker.exists()


def test_the_command_line_says_how_to_run_a_graph_that_its_server_refuses(tmp_path: Path) -> None:
    trap = Trap(tmp_path)
    with House(tmp_path, "--no-browser").open() as house:
        said = [
            subprocess.run(
                [*PITSTOP, command, "x.py:app", "--server", house.url],
                env=house.environment,
                cwd=tmp_path,
                capture_output=True,
                text=True,
                check=False,
            )
            for command in ("run", "check")
        ]

    assert [(each.returncode, "`pitstop debug x.py:app`" in each.stderr) for each in said] == [(2, True)] * 2
    assert not trap.marker.exists()


def test_without_a_server_a_graph_is_imported_and_run(tmp_path: Path) -> None:
    trap = Trap(tmp_path)

    environment = {**without_ours(), "HOME": str(tmp_path)}
    ran = subprocess.run([*PITSTOP, "run", "x.py:app"], cwd=tmp_path, env=environment, check=False)

    assert (ran.returncode, trap.marker.read_text()) == (0, "imported")
