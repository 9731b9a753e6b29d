"""The ceiling of a sampled risk: Hoeffding's inequality in its kl form, for draws of any means."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from pbgnet.bounds import binary_kl, chernoff_bound, sampled_risk_ceiling
from pbgnet.exceptions import DomainError, DtypeError, ShapeError


@settings(deadline=None, derandomize=True, max_examples=100)
@given(risk=st.floats(0.0, 1.0), n_draws=st.integers(1, 10**9), delta=st.floats(1e-300, 0.999))
def test_the_ceiling_is_outward_and_tight(exact, exact_kl, risk, n_draws, delta):
    ceiling = sampled_risk_ceiling(risk, n_draws, delta)
    budget = -exact.log(exact.mpf(delta)) / n_draws
    assert type(ceiling) is float
    assert risk <= ceiling <= 1.0
    assert ceiling == 1.0 or exact_kl(risk, ceiling) >= budget
    assert ceiling == risk or exact_kl(risk, math.nextafter(ceiling, 0.0)) < budget * (
        1 + exact.mpf(2) ** -43
    )


def test_more_draws_and_less_confidence_lower_it_to_the_risk():
    ceilings = [sampled_risk_ceiling(0.02, 10**j, 0.01) for j in range(2, 10)]
    assert ceilings == sorted(ceilings, reverse=True)
    assert ceilings[-1] == pytest.approx(0.02, rel=1e-2)
    assert sampled_risk_ceiling(0.02, 1000, 0.1) < sampled_risk_ceiling(0.02, 1000, 0.01)
    assert sampled_risk_ceiling(0.02, 1000, 0.1) == chernoff_bound(0.02, 1000, 0.1)


def test_different_means_deviate_less_than_equal_ones():
    """The step of the proof: a sum of unlike Bernoulli variables has the smaller exponential moments."""
    rng = np.random.default_rng(0)
    for _ in range(200):
        means = rng.beta(0.3, 0.7, size=20)
        slope = rng.normal() * 3.0
        unlike = np.log1p(means * math.expm1(slope)).sum()
        alike = 20 * math.log1p(means.mean() * math.expm1(slope))
        assert unlike <= alike + 1e-12


def test_exact_coverage_for_two_kinds_of_rows():
    """P(ceiling < mean) computed, not drawn: 30 draws of mean 0.05 and 10 of mean 0.9."""
    law = np.convolve(stats.binom.pmf(np.arange(31), 30, 0.05), stats.binom.pmf(np.arange(11), 10, 0.9))
    mean = (30 * 0.05 + 10 * 0.9) / 40
    for delta in (0.5, 0.1, 0.01):
        missed = [sampled_risk_ceiling(j / 40, 40, delta) < mean for j in range(41)]
        assert law @ missed <= delta
    assert binary_kl(0.0, mean) > -math.log(0.01) / 40  # some outcomes do miss
    assert any(missed)


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ((1.1, 10, 0.05), DomainError, "risk must lie"),
        ((math.nan, 10, 0.05), DomainError, "risk must lie"),
        ((0.1, 0, 0.05), DomainError, "n_draws must be at least 1"),
        ((0.1, 10.0, 0.05), DtypeError, "n_draws must be a whole number"),
        ((0.1, 10, 0.0), DomainError, "delta must lie"),
        (([0.1, 0.2], 10, 0.05), ShapeError, "one number each"),
        ((0.1, 10, [0.05, 0.1]), ShapeError, "one number each"),
    ],
)
def test_bad_input_is_refused(arguments, error, message):
    with pytest.raises(error, match=message):
        sampled_risk_ceiling(*arguments)
