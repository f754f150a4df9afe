"""How the cost grows with the number of nodes and of frames, as slopes and as a plot."""

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from measure import Contender, Measurement, interleave

NODE_COUNTS = (100, 1_000, 10_000, 100_000)
FRAME_COUNTS = (100, 1_000, 10_000)
PATIENCE_SECONDS = 5.0  # to build a size and run it once: ten times what takes longer is out of reach


@dataclass(frozen=True, slots=True)
class Series:
    """CPU seconds by size. `wanted` is the largest size that was to be measured."""

    name: str
    sizes: Sequence[int]
    seconds: Sequence[float]
    wanted: int

    @property
    def is_complete(self) -> bool:
        return self.sizes[-1] == self.wanted

    @property
    def slope(self) -> float:
        """The exponent of the power law that fits best: 1 is linear, 2 is quadratic."""
        return _fit(self.sizes, self.seconds)[0]

    def fitted(self) -> list[float]:
        slope, offset = _fit(self.sizes, self.seconds)
        return [math.exp(offset + slope * math.log(size)) for size in self.sizes]


def _fit(sizes: Sequence[int], seconds: Sequence[float]) -> tuple[float, float]:
    xs, ys = [math.log(size) for size in sizes], [math.log(second) for second in seconds]
    mean_x, mean_y = sum(xs) / len(xs), sum(ys) / len(ys)
    slope = sum((x - mean_x) * (y - mean_y) for x, y in zip(xs, ys, strict=True)) / sum((x - mean_x) ** 2 for x in xs)
    return slope, mean_y - slope * mean_x


@dataclass(frozen=True, slots=True)
class Ladder:
    """The sizes of one series that could be built and run in time, and how long each took to build."""

    contenders: dict[int, Contender]
    build_seconds: dict[int, float]


async def climb(build: Callable[[str, int], Contender], unit: str, sizes: Sequence[int]) -> Ladder:
    """Build and run each size once, up to the first one that tries our patience."""
    ladder = Ladder({}, {})
    for size in sizes:
        start = time.process_time()
        contender = build(f"{size} {unit}", size)
        ladder.build_seconds[size] = built = time.process_time() - start
        if built > PATIENCE_SECONDS:
            break
        await contender.run()
        if time.process_time() - start > PATIENCE_SECONDS:
            break
        ladder.contenders[size] = contender
    return ladder


async def measure_growth(rounds: int) -> tuple[list[Series], dict[str, Measurement]]:
    import work

    ladders = {
        "nodes of a chain": (await climb(work.chain, "nodes", NODE_COUNTS), NODE_COUNTS),
        "frames of a fan-out": (await climb(work.fan_out, "frames", FRAME_COUNTS), FRAME_COUNTS),
    }
    runs = [contender for ladder, _ in ladders.values() for contender in ladder.contenders.values()]
    measured = await interleave(runs, rounds)
    series = []
    for name, (ladder, sizes) in ladders.items():
        seconds = [measured[contender.name].seconds for contender in ladder.contenders.values()]
        series.append(Series(name, list(ladder.contenders), seconds, sizes[-1]))
        built = ladder.build_seconds
        series.append(Series(f"{name}, compiled", list(built), list(built.values()), sizes[-1]))
    return series, measured


def plot(series: Sequence[Series], path: Path) -> None:
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(figsize=(7, 5))
    for one in series:
        (points,) = axes.loglog(one.sizes, one.seconds, "o", label=f"{one.name}: slope {one.slope:.2f}")
        axes.loglog(one.sizes, one.fitted(), "-", color=points.get_color(), alpha=0.6)
    axes.set_xlabel("nodes or frames")
    axes.set_ylabel("CPU seconds, minimum")
    axes.set_title("Cost of a run by its size")
    axes.grid(which="both", alpha=0.25)
    axes.legend()
    figure.tight_layout()
    figure.savefig(path, dpi=120)
    pyplot.close(figure)
