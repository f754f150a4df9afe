"""`import pitstop` stays light: it loads no library of the edges and none of the outer rooms."""

import subprocess
import sys

HEAVY = {"click", "fastapi", "httpx", "jq", "prompt_toolkit", "pydantic", "rich", "sqlalchemy", "typer", "yaml"}
OUTER = {"pitstop.doors", "pitstop.runs", "pitstop.service", "pitstop.store"}


def modules_after(statement: str) -> set[str]:
    """The modules that a fresh interpreter has loaded after a statement."""
    program = f"import sys\n{statement}\nprint(*sys.modules, sep='\\n')"
    python = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    return set(python.stdout.split())


def test_importing_pitstop_loads_no_library_of_the_edges() -> None:
    assert modules_after("import pitstop") & HEAVY == set()


def test_importing_pitstop_loads_no_outer_room() -> None:
    assert modules_after("import pitstop") & OUTER == set()
