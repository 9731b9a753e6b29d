"""The error rate of one classifier, from its disagreement with another that is certified.

Proof: docs/theory/certificates.md, section 7.
"""

import math

from pbgnet.bounds.confidence import check_count, check_delta
from pbgnet.bounds.held_out import clopper_pearson_bound
from pbgnet.exceptions import ShapeError
from pbgnet.validation import as_float64, check_interval, positive_int


def disagreement_bound(bound: float, n_disagreements: int, m: int, delta: float) -> float:
    """Bound the error rate of a classifier by that of another plus how often the two disagree.

    `R(f) <= R(h) + P(f != h)`; estimating the disagreement needs no labels.

    Parameters
    ----------
    bound : float
        Bound on the error rate of the certified classifier h, in [0, 1].
    n_disagreements : int
        Number of the m rows on which f and h answer differently.
    m : int
        Number of rows. They must be independent of everything that f and h were made from.
    delta : float
        Probability in (0, 1) that the count misleads; it is added to that of `bound`.

    Returns
    -------
    float
        `bound` plus the upper Clopper-Pearson limit of the disagreement, rounded up; at most 1.

    Examples
    --------
    >>> from pbgnet.bounds import disagreement_bound
    >>> round(disagreement_bound(0.012, n_disagreements=0, m=3000, delta=0.01), 5)
    0.01353
    """
    value = as_float64("bound", bound)
    check_interval("bound", value, 0.0, 1.0, advice="It is a bound on an error rate.")
    if value.ndim:
        raise ShapeError(f"bound must be one number, got shape {tuple(value.shape)}.")
    rows = positive_int("m", m)
    count = check_count(
        "n_disagreements", n_disagreements, rows, "Pass the number of the m rows on which they disagree."
    )
    delta_ = check_delta(delta)
    if delta_.ndim:
        raise ShapeError(f"delta must be one number, got shape {tuple(delta_.shape)}.")
    limit = float(clopper_pearson_bound(count, rows, delta_))
    return min(1.0, math.nextafter(value.item() + limit, 2.0))
