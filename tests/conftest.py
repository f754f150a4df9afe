"""What every test may use: seeds for the tests that take one."""

import pytest

DEFAULT_SEEDS = 2000


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("pitstop")
    group.addoption("--seed", type=int, metavar="N", help="replay the tests that take a seed with this seed only")
    group.addoption(
        "--seeds",
        type=int,
        metavar="COUNT",
        default=DEFAULT_SEEDS,
        help=f"run the tests that take a seed with the seeds 0 to COUNT - 1 (default: {DEFAULT_SEEDS})",
    )


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """A test with an argument named `seed` runs once for each seed, which its id tells: `test_x[seed-17]`."""
    parametrized = any("seed" in str(mark.args[0]) for mark in metafunc.definition.iter_markers("parametrize"))
    if "seed" not in metafunc.fixturenames or parametrized:
        return
    only: int | None = metafunc.config.getoption("--seed")
    seeds = range(metafunc.config.getoption("--seeds")) if only is None else [only]
    metafunc.parametrize("seed", seeds, ids=[f"seed-{seed}" for seed in seeds])
