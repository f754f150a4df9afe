"""How often a test repeats what it does: a few times in `make test`, many times in `make soak`."""

import os

IS_SOAK = os.environ.get("PITSTOP_TESTS") == "soak"


def amount(usual: int, *, soak: int) -> int:
    return soak if IS_SOAK else usual
