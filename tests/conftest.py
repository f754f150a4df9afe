"""What every test may use: seeds for the tests that take them, and a container engine for those that need one."""

import os

import pytest
from hypothesis import settings

from tests.amounts import amount

os.environ["SHELL"] = "/bin/bash"  # the user's own may be any other
settings.load_profile("ci")  # the same examples each time, and no limit to how long a busy machine takes for one

pytest_plugins = ("tests.containers", "tests.leftovers", "tests.parts", "tests.tiers", "tests.second_try", "pytester")

DEFAULT_SEEDS = amount(200, soak=2000)
SEEDS_PER_TEST = 50


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("pitstop")
    group.addoption("--seed", type=int, metavar="N", help="replay the tests that take seeds with this seed only")
    group.addoption(
        "--seeds",
        type=int,
        metavar="COUNT",
        default=DEFAULT_SEEDS,
        help=f"run the tests that take seeds with the seeds 0 to COUNT - 1 (default: {DEFAULT_SEEDS})",
    )


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """A test with an argument named `seeds` runs once for each block of them, which its id tells: `test_x[0-49]`."""
    if "seeds" not in metafunc.fixturenames:
        return
    only: int | None = metafunc.config.getoption("--seed")
    count: int = metafunc.config.getoption("--seeds")
    blocks = [range(first, min(first + SEEDS_PER_TEST, count)) for first in range(0, count, SEEDS_PER_TEST)]
    if only is not None:
        blocks = [range(only, only + 1)]
    metafunc.parametrize("seeds", blocks, ids=[f"{block[0]}-{block[-1]}" for block in blocks])
