"""The import contracts hold, and each of them would notice a violation."""

import os
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
CONFIG = ROOT / "pyproject.toml"
CONTRACTS: dict[str, str] = {
    contract["id"]: contract["name"]
    for contract in tomllib.loads(CONFIG.read_text())["tool"]["importlinter"]["contracts"]
}

# The contract, the module that breaks it, and the line that it breaks it with.
VIOLATIONS = [
    ("layers", "engine/violation.py", "import pitstop.debugger"),
    ("layers", "plan/violation.py", "import pitstop.events"),
    ("layers", "runs/violation.py", "import pitstop.service"),
    ("layers", "errors_violation.py", ""),
    ("doors-independent", "doors/cli/violation.py", "import pitstop.doors.dap"),
    ("doors-translate", "doors/cli/violation.py", "import pitstop.engine"),
    ("doors-translate", "doors/cli/violation.py", "import pitstop.errors, pitstop.definition"),
    ("core-without-io", "engine/violation.py", "import os"),
    ("core-without-io", "debugger/violation.py", "import sqlite3"),
    ("core-without-io", "plan/violation.py", "from pydantic import BaseModel"),
    ("core-without-io", "events/violation.py", "def send() -> None:\n    import socket"),
    ("no-looking-back", "engine/violation.py", "import pitstop.definition"),
    ("no-looking-back", "plan/violation.py", "import pitstop.definition"),
    ("no-looking-back", "store/violation.py", "import pitstop.definition"),
    ("app-picks", "steps/violation.py", "import pitstop.executors"),
    ("app-picks", "service/violation.py", "import pitstop.store.violation_target"),
    ("rooms-own-tables", "service/violation.py", "import sqlalchemy"),
    ("machine-layers", "executors/machine/workspaces/violation.py", "import pitstop.executors.machine.processes"),
    ("dap-layers", "doors/dap/protocol/violation.py", "import pitstop.doors.dap.session"),
    ("http-layers", "doors/http/gate/violation.py", "import pitstop.doors.http.routes"),
]


@pytest.fixture
def house(tmp_path: Path) -> Path:
    """A copy of the package, with the doors and rooms that a violation needs and the package may not have yet."""
    package = tmp_path / "pitstop"
    shutil.copytree(ROOT / "src" / "pitstop", package, ignore=shutil.ignore_patterns("__pycache__"))
    for room in ("doors", "doors/cli", "doors/dap", "service", "store"):
        (package / room).mkdir(exist_ok=True)
        (package / room / "__init__.py").touch()
    (package / "store" / "violation_target.py").touch()
    return package


def lint(package: Path, *contracts: str) -> subprocess.CompletedProcess[str]:
    """Check the contracts on the package found in this folder, which hides the one that is installed."""
    command = [sys.executable, "-c", "from importlinter.cli import lint_imports_command as main; main()"]
    options = ["--config", str(CONFIG), "--no-cache", "--no-logo"]
    for contract in contracts:
        options += ["--contract", contract]
    environment = os.environ | {"COLUMNS": "200", "NO_COLOR": "1", "PYTHONPATH": str(package.parent)}
    return subprocess.run(
        command + options, cwd=package.parent, env=environment, capture_output=True, text=True, check=False
    )


def test_the_package_keeps_every_contract() -> None:
    report = lint(ROOT / "src" / "pitstop")

    assert report.returncode == 0, report.stdout + report.stderr
    assert [name for name in CONTRACTS.values() if f"{name} KEPT" not in report.stdout] == []


def test_every_contract_is_broken_by_some_violation_here() -> None:
    assert {contract for contract, _, _ in VIOLATIONS} == set(CONTRACTS)


@pytest.mark.parametrize(("contract", "module", "line"), VIOLATIONS)
def test_a_violation_is_reported_by_the_name_of_its_contract(
    house: Path, contract: str, module: str, line: str
) -> None:
    (house / module).write_text(f'"""A module that has no business here."""\n\n{line}\n')

    report = lint(house, contract)

    assert report.returncode == 1, report.stdout + report.stderr
    assert f"{CONTRACTS[contract]} BROKEN" in report.stdout
    assert module.removesuffix(".py").replace("/", ".") in report.stdout
