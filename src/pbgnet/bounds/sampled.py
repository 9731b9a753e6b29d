"""What a sampled risk says about the exact one.

Proof: docs/theory/certificates.md, section 6.

References
----------
Hoeffding (1963), "Probability inequalities for sums of bounded random variables", Theorem 1.
"""

from pbgnet.bounds.confidence import check_delta
from pbgnet.bounds.held_out import chernoff_bound
from pbgnet.exceptions import ShapeError
from pbgnet.validation import as_float64, check_interval, positive_int


def sampled_risk_ceiling(risk: float, n_draws: int, delta: float) -> float:
    """Upper limit of the exact empirical risk, from an average over independent draws.

    Each draw is a loss in [0, 1]. Their means may differ, for example between rows. The limit is for the mean
    of these means, with probability at least 1 - delta over the draws.

    Parameters
    ----------
    risk : float
        Average of the draws, in [0, 1].
    n_draws : int
        Number of **independent** draws: rows times draws per row if every row has its own draws; the number
        of networks if the same networks were applied to all rows.
    delta : float
        Probability in (0, 1) that the limit fails; it is added to that of the bound.

    Returns
    -------
    float
        The largest p with `kl(risk || p) <= ln(1 / delta) / n_draws`, rounded up.

    Examples
    --------
    >>> from pbgnet.bounds import sampled_risk_ceiling
    >>> round(sampled_risk_ceiling(0.02, n_draws=100_000, delta=0.005), 5)
    0.02148
    """
    count = positive_int("n_draws", n_draws)
    q, delta_ = as_float64("risk", risk), check_delta(delta)
    check_interval("risk", q, 0.0, 1.0, advice="It is the mean of losses in [0, 1].")
    if q.ndim or delta_.ndim:
        raise ShapeError("risk and delta must be one number each.")
    return float(chernoff_bound(q, count, delta_))
