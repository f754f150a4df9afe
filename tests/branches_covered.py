"""Fails when tests take fewer of the branches in a report of coverage.py than they should."""

import json
import sys
from pathlib import Path

LEAST_PERCENT = 90.0


def main(report: str) -> int:
    totals = json.loads(Path(report).read_text())["totals"]
    percent = 100 * totals["covered_branches"] / totals["num_branches"]
    print(f"{percent:.1f} % of the branches are covered; {LEAST_PERCENT:.0f} % are required")
    return int(percent < LEAST_PERCENT)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
