"""Measure several things side by side, so that what else the machine does hits all of them alike."""

import dataclasses
import gc
import math
import statistics
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import torch

__all__ = [
    "MANY_SAMPLES",
    "Arm",
    "Effort",
    "Ratio",
    "Sample",
    "fastest",
    "peak_device_memory",
    "repeated",
    "side_by_side",
]

# Short things are repeated until a call takes about so long, but not more often than this.
SECONDS_PER_CALL = 0.03
MOST_REPEATS = 32
# From so many samples on a step takes seconds, and a few turns have to do.
MANY_SAMPLES, FEW_ROUNDS = 10000, 5


@dataclass(frozen=True)
class Effort:
    """How much to measure, and where.

    Attributes
    ----------
    n_rounds : int
        Turns of each comparison.
    quick : bool
        Only see that everything works: small sizes, fewer rows in the tables.
    device : str
    """

    n_rounds: int = 15
    quick: bool = False
    device: str = "cpu"

    def fewer(self) -> "Effort":
        """Return what is right for something that takes seconds."""
        return dataclasses.replace(self, n_rounds=min(self.n_rounds, FEW_ROUNDS))

    def repeats(self, seconds: float) -> int:
        """Return how often to repeat within a call what takes so many seconds."""
        if self.quick:
            return 1
        return min(MOST_REPEATS, max(1, math.ceil(SECONDS_PER_CALL / max(seconds, 1e-9))))


@dataclass(frozen=True)
class Arm:
    """One of the things to compare.

    Attributes
    ----------
    run : callable
        What is timed.
    n_units : int
        How many steps, or whatever is counted, one call amounts to.
    """

    run: Callable[[], object]
    n_units: int = 1


@dataclass(frozen=True)
class Ratio:
    """Median and quartiles of the quotients of two arms, round by round."""

    median: float
    low: float
    high: float

    def __str__(self) -> str:
        return f"{self.median:.2f} ({self.low:.2f} to {self.high:.2f})"


@dataclass(frozen=True)
class Sample:
    """Seconds per unit of one arm, one number per round."""

    seconds: tuple[float, ...]

    @property
    def median(self) -> float:
        """The middle one."""
        return statistics.median(self.seconds)

    def times(self, factor: float) -> "Sample":
        """Return what so many of them take."""
        return Sample(tuple(factor * seconds for seconds in self.seconds))

    def over(self, other: "Sample") -> Ratio:
        """Divide by the seconds of another arm, measured in the same rounds."""
        quotients = [mine / theirs for mine, theirs in zip(self.seconds, other.seconds, strict=True)]
        if len(quotients) == 1:
            return Ratio(*quotients * 3)
        low, median, high = statistics.quantiles(quotients, n=4, method="inclusive")
        return Ratio(median, low, high)


def side_by_side(arms: Mapping[str, Arm], effort: Effort, *, n_warm_up: int = 2) -> dict[str, Sample]:
    """Warm up every arm, then time them in turns: A B C, A B C, and so on.

    Parameters
    ----------
    arms : mapping of str to Arm
    effort : Effort
        Tells the number of turns, and the device: on a GPU its own clock is read.
    n_warm_up : int
        Calls of every arm before the first that counts.
    """
    for arm in arms.values():
        for _ in range(n_warm_up):
            arm.run()
    seconds: dict[str, list[float]] = {name: [] for name in arms}
    collecting = gc.isenabled()
    gc.collect()
    gc.disable()
    try:
        for _ in range(effort.n_rounds):
            for name, arm in arms.items():
                seconds[name].append(time_once(arm.run, effort.device) / arm.n_units)
    finally:
        if collecting:
            gc.enable()
    return {name: Sample(tuple(values)) for name, values in seconds.items()}


def repeated(run: Callable[[], object], effort: Effort) -> Arm:
    """Return an arm that repeats something short, so that starting and reading the clock does not matter."""
    run()
    n_times = effort.repeats(min(time_once(run, effort.device) for _ in range(2)))

    def loop() -> None:
        for _ in range(n_times):
            run()

    return Arm(loop, n_times)


def fastest(samples: Mapping[str, Sample]) -> str:
    """Return the name of the arm with the smallest median."""
    return min(samples, key=lambda name: samples[name].median)


def time_once(run: Callable[[], object], device: torch.device | str = "cpu") -> float:
    """Return the seconds one call takes."""
    if torch.device(device).type != "cuda":
        start = time.perf_counter()
        run()
        return time.perf_counter() - start
    begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    torch.cuda.synchronize(device)
    begin.record()
    run()
    end.record()
    end.synchronize()
    return float(begin.elapsed_time(end)) / 1e3


def peak_device_memory(run: Callable[[], object], device: torch.device | str) -> float | None:
    """Call once; return the bytes of GPU memory that took beyond those held before, None without a GPU."""
    if torch.device(device).type != "cuda":
        run()
        return None
    torch.cuda.synchronize(device)
    torch.cuda.reset_peak_memory_stats(device)
    before = torch.cuda.memory_allocated(device)
    run()
    torch.cuda.synchronize(device)
    return float(torch.cuda.max_memory_allocated(device) - before)
