"""Bisection over the floating-point numbers themselves, for roots that must be rounded outward.

The bit pattern of a non-negative double, read as an integer, grows with the double. Halving that integer
interval therefore reaches two neighbouring doubles in at most 63 steps at any scale, near 0 as well as near
1, without a tolerance to choose.
"""

from collections.abc import Callable

import torch
from torch import Tensor

# Relative error of an expression of a few sums, products, logarithms and exponentials of positive
# numbers in float64, with room to spare (16 units in the last place).
ARITHMETIC_ERROR = 2.0**-48


def bisect_doubles(uncertified: Tensor, certified: Tensor, certify: Callable[[Tensor], Tensor]) -> Tensor:
    """Move the certified end towards the uncertified one until they are neighbours, and return it.

    Soundness does not need monotonicity: the result is either the `certified` end that was passed in, or a
    double for which `certify` returned True. Tightness does.

    Parameters
    ----------
    uncertified, certified : Tensor, float64, shape (...)
        The two ends, all entries >= 0, in either order.
    certify : callable
        Maps a tensor of candidates to a boolean tensor: True where the candidate is provably on
        the safe side of the root.
    """
    # Adding 0.0 turns -0.0, whose bit pattern is negative, into 0.0.
    bad = (uncertified + 0.0).view(torch.int64)
    good = (certified + 0.0).view(torch.int64)
    while bool(((good - bad).abs() > 1).any()):
        middle = bad + torch.div(good - bad, 2, rounding_mode="trunc")
        safe = certify(middle.view(torch.float64))
        good = torch.where(safe, middle, good)
        bad = torch.where(safe, bad, middle)
    return good.view(torch.float64)
