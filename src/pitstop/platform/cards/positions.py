"""Positions of cards in a column: numbers with room between any two, so that a move changes one row."""

STEP = 1024.0


def between(before: float | None, after: float | None) -> float | None:
    """A position between two others; None is the edge of the column. The answer is None if there is no room left."""
    if before is None and after is None:
        return 0.0
    if before is None or after is None:
        return after - STEP if after is not None else (before or 0.0) + STEP
    middle = (before + after) / 2
    return middle if before < middle < after else None
