"""Axes that end on round numbers."""

import math
from dataclasses import dataclass


@dataclass(frozen=True)
class Axis:
    """A linear or logarithmic scale from data to the picture.

    Attributes
    ----------
    low, high : float
        Ends in the data; for a logarithmic axis both positive.
    start, stop : float
        Ends in the picture.
    log : bool
    """

    low: float
    high: float
    start: float
    stop: float
    log: bool = False

    def __call__(self, value: float) -> float:
        """Return the place of a value; values beyond the ends are moved to the ends."""
        low, high = self._scaled(self.low), self._scaled(self.high)
        share = (self._scaled(max(value, self.low)) - low) / (high - low) if high > low else 0.5
        return self.start + min(1.0, max(0.0, share)) * (self.stop - self.start)

    def ticks(self, count: int = 4) -> list[float]:
        """Return round numbers between the ends, about `count` of them; never one, which tells no scale.

        Examples
        --------
        >>> from pbgnet.pages import Axis
        >>> Axis(0.0, 0.3, 0, 100).ticks()
        [0.0, 0.1, 0.2, 0.3]
        >>> Axis(-1.6, 1.9, 0, 100).ticks(3)
        [-1.0, 0.0, 1.0]
        >>> Axis(0.05, 1.0, 0, 100, log=True).ticks()
        [0.05, 0.1, 0.2, 0.5, 1.0]
        """
        if self.log:
            return self._log_ticks(count)
        ticks = self._round_numbers(count)
        return ticks if len(ticks) > 1 else self._round_numbers(2 * count)

    def _round_numbers(self, count: int) -> list[float]:
        step = round_step((self.high - self.low) / max(1, count))
        first = math.ceil(self.low / step - 1e-9)
        last = math.floor(self.high / step + 1e-9)
        return [round(k * step, 12) for k in range(first, last + 1)]

    def _log_ticks(self, count: int) -> list[float]:
        powers = range(math.floor(math.log10(self.low)), math.ceil(math.log10(self.high)) + 1)
        for digits in ((1, 2, 5), (1, 3), (1,)):
            ticks = [float(f"{digit}e{power}") for power in powers for digit in digits]
            inside = [tick for tick in ticks if self.low * 0.999 <= tick <= self.high * 1.001]
            if len(inside) <= count + 2:
                return inside
        return inside[:: max(1, len(inside) // count)]

    def _scaled(self, value: float) -> float:
        return math.log(value) if self.log else value


def round_step(step: float) -> float:
    """Return the next of 1, 2, 2.5, 5 times a power of ten."""
    if not step > 0 or not math.isfinite(step):
        return 1.0
    power = 10.0 ** math.floor(math.log10(step))
    return next(digit * power for digit in (1, 2, 2.5, 5, 10) if digit * power >= step * (1 - 1e-9))


def tick_text(value: float) -> str:
    """Write a number on an axis: short, and without exponents unless they are needed."""
    return f"{value:.12g}" if value == 0 or 1e-4 <= abs(value) < 1e5 else f"{value:.0e}"
