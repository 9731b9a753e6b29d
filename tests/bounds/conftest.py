"""High-precision references and case generators shared by the tests of `pbgnet.bounds`."""

from collections.abc import Callable

import numpy as np
import pytest
from mpmath import MPContext
from numpy.typing import NDArray

# 1 - q must be exact for subnormal q (1074 bits), and twice 53 bits cancel where q and p are
# neighbours; the rest is head-room. A context of its own leaves mpmath's global precision alone.
PRECISION = 1400


@pytest.fixture(scope="session")
def exact() -> MPContext:
    """An mpmath context of 1400 bits; doubles enter it exactly."""
    context = MPContext()
    context.prec = PRECISION
    return context


@pytest.fixture(scope="session")
def exact_kl(exact: MPContext) -> Callable:
    """kl(q || p) straight from its definition; arguments are doubles or mpf."""

    def kl(q, p):
        q, p = exact.mpf(q), exact.mpf(p)
        total = exact.zero
        for a, b in ((q, p), (1 - q, 1 - p)):
            if a > 0 and b == 0:
                return exact.inf
            if a > 0:
                total += a * exact.log(a / b)
        return total

    return kl


@pytest.fixture(scope="session")
def probabilities() -> Callable[[np.random.Generator, int], NDArray[np.float64]]:
    """Random probabilities at every scale: subnormal, tiny, ordinary, next to 1, and both ends."""

    def draw(rng: np.random.Generator, size: int) -> NDArray[np.float64]:
        uniform = rng.uniform(size=size)
        choices = [
            uniform,
            10.0 ** rng.uniform(-323.0, 0.0, size),
            10.0 ** rng.uniform(-16.0, 0.0, size),
            1.0 - 2.0 ** rng.uniform(-53.0, 0.0, size),
            np.round(uniform),
        ]
        return np.choose(rng.choice(5, size, p=[0.25, 0.25, 0.2, 0.2, 0.1]), choices)

    return draw
