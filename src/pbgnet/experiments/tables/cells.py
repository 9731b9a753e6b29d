"""A number in a table: how it is written, and how it compares with the paper's."""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

# Differences from the paper up to these count as agreement. Over random splits its test errors deviate by
# 0.001 to 0.012, its bounds by 0.000 to 0.007; it prints three digits of both.
ERROR_MARGIN = 0.005
BOUND_MARGIN = 0.002

NONE = "\N{EN DASH}"  # there is no such number
GAP = "…"  # there will be one
SIGNS = {"better": "▼", "worse": "▲", "same": "≈"}


@dataclass(frozen=True)
class Form:
    """How numbers of a kind are written and compared; smaller is better."""

    write: Callable[[float], str]
    # Largest difference from the paper that counts as agreement; None if they are not compared.
    margin: float | None = None


def _short(value: float) -> str:
    """Write a hyperparameter or a divergence with the digits the paper gives it."""
    if value == 0:
        return "0"
    if abs(value) >= 100:
        return f"{value:,.0f}"
    if abs(value) < 1e-3:
        digits, exponent = f"{value:.0e}".split("e")
        return f"{digits}e{int(exponent)}"
    return f"{value:.3g}"


ERROR = Form("{:.3f}".format, ERROR_MARGIN)
BOUND = Form("{:.3f}".format, BOUND_MARGIN)
SHORT = Form(_short)
TWO_DIGITS = Form("{:.2f}".format)
COUNT = Form("{:,.0f}".format)


@dataclass(frozen=True)
class Cell:
    """One cell of a table; deviations are over repetitions."""

    value: float | str | None = None  # None if there is nothing (yet)
    paper: float | None = None
    deviation: float | None = None
    paper_deviation: float | None = None
    form: Form = COUNT
    awaited: bool = False  # whether a missing value is still expected

    @property
    def text(self) -> str:
        """Our value, or a sign that it is missing."""
        if self.value is None:
            return GAP if self.awaited else NONE
        return self.value if isinstance(self.value, str) else self._written(self.value, self.deviation)

    @property
    def paper_text(self) -> str | None:
        """The paper's value."""
        return None if self.paper is None else self._written(self.paper, self.paper_deviation)

    @property
    def difference(self) -> float | None:
        """Our value minus the paper's."""
        if isinstance(self.value, str) or self.value is None or self.paper is None:
            return None
        return self.value - self.paper

    @property
    def verdict(self) -> str | None:
        """Whether ours is "better", "worse" or the "same", judging by the difference shown."""
        difference, margin = self.difference, self.form.margin
        if difference is None or margin is None or not math.isfinite(difference):
            return None
        if abs(round(difference, 3)) <= margin + 1e-9:
            return "same"
        return "better" if difference < 0 else "worse"

    @property
    def difference_text(self) -> str | None:
        """The difference with its sign; None if numbers are not compared."""
        if self.verdict is None or self.difference is None:
            return None
        return f"{round(self.difference, 3) + 0.0:+.3f}".replace("-", "\N{MINUS SIGN}")

    def with_paper(self, paper: float | None, form: Form) -> "Cell":
        """Return the cell with the paper's number beside it."""
        return replace(self, paper=paper, form=form)

    def _written(self, value: float, deviation: float | None) -> str:
        if math.isnan(value):
            return "not a number"
        if math.isinf(value):
            return "∞" if value > 0 else "\N{MINUS SIGN}∞"
        text = self.form.write(value)
        return text if deviation is None else f"{text} ± {self.form.write(deviation)}"
