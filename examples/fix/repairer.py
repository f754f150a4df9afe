"""Stands in for an AI agent in a fix loop: it writes a debug report, or applies one, for the mistakes it knows."""

import os
import sys
from pathlib import Path
from typing import NamedTuple

MONEY = Path("shop/money.py")


class Mistake(NamedTuple):
    """What is wrong, and the text that is right."""

    slug: str
    cause: str
    wrong: str
    right: str


MISTAKES = (
    Mistake(
        "decimal_comma",
        "cents() parses the text with float(), which does not know the decimal comma",
        "return int(float(text) * 100)",
        'return int(float(text.replace(",", ".")) * 100)',
    ),
    Mistake(
        "missing_zero",
        "shown() formats the cents without a leading zero",
        "{amount % 100}",
        "{amount % 100:02}",
    ),
)
REPORT = """\
## Failure

The tests of the prices fail.

## Root cause

{cause}.

## Evidence

`{file}` has `{wrong}`.

## Options

### Option 1: Change the expression

Trade-offs: the smallest change.
Files: {file}
Steps: replace the expression.

### Option 2: Use the module decimal

Trade-offs: exact, but a larger change.
Files: {file}
Steps: import decimal, and replace both functions.

## Recommendation

Option 1: it is enough.

## Why the last fix failed

It repaired another mistake.
"""


def main() -> None:
    sys.stdin.read()  # the task, which a real agent reads
    if "hopeless" in sys.argv:
        number = os.environ["PITSTOP_FIX_ITERATION"]
        mistake = Mistake(f"guess_{number}", f"guess {number}: the module has no version", "", "")
    else:
        source = MONEY.read_text()
        mistake = next(each for each in MISTAKES if each.wrong in source)
    if os.environ["PITSTOP_FIX_ROLE"] == "diagnose":
        diagnose(mistake)
    else:
        repair(mistake)


def diagnose(mistake: Mistake) -> None:
    path = Path(os.environ["PITSTOP_FIX_REPORT"].replace("SLUG", mistake.slug))
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(REPORT.format(cause=mistake.cause, wrong=mistake.wrong, file=MONEY))
    print(f"DEBUG_REPORT_PATH: {path}")
    print(f"Root cause: {mistake.cause}")
    print("Recommended fix: Option 1 - change the expression")


def repair(mistake: Mistake) -> None:
    source = MONEY.read_text()
    changed = source.replace(mistake.wrong, mistake.right) if mistake.wrong else f"{source}\n# {mistake.cause}\n"
    MONEY.write_text(changed)
    print(f"Files modified: {MONEY}")
    print(f"Changes made: {mistake.right or 'a comment'}")
    print("Ready for testing: true")


if __name__ == "__main__":
    main()
