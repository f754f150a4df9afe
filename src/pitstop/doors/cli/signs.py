"""The signs that stand for how a step is doing: the same wherever the command shows one."""

from typing import NamedTuple


class Sign(NamedTuple):
    """A sign, the same where there is no Unicode, and a style."""

    shape: str
    ascii_shape: str
    style: str


SIGNS = {
    "pending": Sign("○", ".", "dim"),
    "running": Sign("●", "*", "cyan"),
    "paused": Sign("◆", "?", "yellow"),
    "passed": Sign("✔", "+", "green"),
    "failed": Sign("✘", "x", "red"),
    "timed_out": Sign("✘", "x", "red"),
    "skipped": Sign("↷", "-", "dim"),
    "cancelled": Sign("■", "#", "yellow"),
}


def sign_of(state: str) -> Sign:
    return SIGNS.get(state, SIGNS["pending"])
