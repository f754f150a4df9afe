"""Pitstop against its peers: measure the rows that were asked for, print the table, write results.json."""

import argparse
import asyncio
import json
import os
import platform
import sys
import time
import traceback
from collections.abc import Iterable
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path
from typing import Any

from rows import MISSED, ROWS, Line, RowResult

HERE = Path(__file__).parent
FULL_SAMPLES = 30
QUICK_SAMPLES = 1
COLUMNS = ("work", "pitstop", "peer", "ratio", "to reach", "verdict")
LIBRARIES = ("pitstop", "langgraph", "burr", "pydantic-graph", "victor-ai", "matplotlib")
ERROR = "ERROR"


def machine_facts() -> dict[str, Any]:
    models = [line.split(":", 1)[1].strip() for line in _cpu_lines() if line.startswith("model name")]
    return {
        "cpu": models[0] if models else platform.processor(),
        "cores": os.cpu_count(),
        "platform": platform.platform(),
        "python": platform.python_version(),
        "load_average": os.getloadavg(),
        "versions": {name: _version(name) for name in LIBRARIES},
    }


def _cpu_lines() -> list[str]:
    path = Path("/proc/cpuinfo")
    return path.read_text().splitlines() if path.exists() else []


def _version(name: str) -> str:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return "from the source tree" if name == "pitstop" else "NOT INSTALLED"


async def measure_rows(names: Iterable[str], samples: int) -> dict[str, RowResult]:
    """Every row, one after the other; one that breaks says so in its line and does not take the others along."""
    results = {}
    for name in names:
        start = time.perf_counter()
        try:
            results[name] = await ROWS[name](samples)
        except Exception as error:  # noqa: BLE001 - whatever a library raises is this row's verdict
            traceback.print_exc()
            results[name] = RowResult([Line(name, "-", "-", "-", f"{type(error).__name__}: {error}"[:90], ERROR)])
        print(f"{name}: {time.perf_counter() - start:.1f} s", file=sys.stderr)
    return results


def format_table(lines: Iterable[Line]) -> str:
    cells = [COLUMNS, *((line.work, line.pitstop, line.peer, line.ratio, line.target, line.verdict) for line in lines)]
    widths = [max(len(row[column]) for row in cells) for column in range(len(COLUMNS))]
    rows = [
        "| " + " | ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) + " |" for row in cells
    ]
    rows.insert(1, "|" + "|".join("-" * (width + 2) for width in widths) + "|")
    return "\n".join(rows)


def to_json(results: dict[str, RowResult], samples: int) -> dict[str, Any]:
    return {
        "measured_at": datetime.now(UTC).isoformat(timespec="seconds"),
        "machine": machine_facts(),
        "rounds": samples,
        "rows": {
            name: {
                "lines": [dict(zip(COLUMNS, _cells(line), strict=True)) for line in result.lines],
                "measured": {key: one.to_json() for key, one in result.measured.items()},
                "figures": result.figures,
            }
            for name, result in results.items()
        },
    }


def _cells(line: Line) -> tuple[str, ...]:
    return (line.work, line.pitstop, line.peer, line.ratio, line.target, line.verdict)


def read_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", metavar="ROWS", help=f"some of: {','.join(ROWS)}")
    parser.add_argument("--samples", type=int, metavar="N", help=f"rounds of every row (default {FULL_SAMPLES})")
    parser.add_argument("--quick", action="store_true", help="one round of every row: to see it work, not to quote")
    parser.add_argument("--json", type=Path, default=HERE / "results.json", help="where the results go")
    arguments = parser.parse_args()
    names = arguments.only.split(",") if arguments.only else list(ROWS)
    unknown = [name for name in names if name not in ROWS]
    if unknown:
        parser.error(f"no such row: {', '.join(unknown)}; there are {', '.join(ROWS)}")
    arguments.names = names
    arguments.samples = arguments.samples or (QUICK_SAMPLES if arguments.quick else FULL_SAMPLES)
    return arguments


def main() -> int:
    """0 when every target was reached, 1 when one was missed and not --quick, 2 when a row could not be measured."""
    arguments = read_arguments()
    results = asyncio.run(measure_rows(arguments.names, arguments.samples))
    lines = [line for result in results.values() for line in result.lines]
    print(format_table(lines))
    verdicts = {line.verdict for line in lines}
    if arguments.quick:
        return 2 if ERROR in verdicts else 0
    arguments.json.write_text(json.dumps(to_json(results, arguments.samples), indent=1) + "\n")
    return 2 if ERROR in verdicts else 1 if MISSED in verdicts else 0


if __name__ == "__main__":
    sys.exit(main())
