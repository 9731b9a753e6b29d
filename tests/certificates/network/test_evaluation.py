"""Evaluating: the numbers by first principles, in float64, rounded outward."""

import numpy as np
import pytest
import torch
from scipy import sparse

from pbgnet.aggregation import Enumeration, MonteCarlo
from pbgnet.certificates import Answers, certifiable, evaluate
from pbgnet.certificates.network.evaluation import prepared
from pbgnet.exceptions import DomainError, DtypeError, LabelError, ShapeError
from pbgnet.networks import TWO_CLASSES, AggregatedNetwork, BinnedRows, initial_weights
from pbgnet.preprocessing import TablePreprocessor


def evaluated(network, x, y):
    return evaluate(certifiable(network), x, places(y), TWO_CLASSES)


def places(y):
    """The place of each label, -1 or 1; what is no label stays as it is."""
    return np.where(y == -1, 0, y).astype(int) if isinstance(y, torch.Tensor) else y


def assert_same(found, expected):
    np.testing.assert_array_equal(found.output, expected.output)
    np.testing.assert_array_equal(found.truth, expected.truth)
    numbers = ("n", "risk", "n_errors", "n_ties", "numerical_error", "error", "divergence")
    for name in numbers:
        assert getattr(found, name) == getattr(expected, name), name


def test_evaluation_agrees_with_enumeration(problem):
    network, x, y = problem
    result = evaluated(network, x, y)
    exact = AggregatedNetwork(list(network.weights), network.prior_weights, aggregation=Enumeration())
    output = exact(x).detach()
    risk = ((1 - y * output) / 2).mean().item()
    assert abs(result.risk - risk) <= result.numerical_error < 1e-9
    assert result.n_errors == int((torch.where(output > 0, 1.0, -1.0) != y).sum())
    assert result.n_ties == 0
    # One hidden layer: the tree repeats nothing, so every weight counts once.
    pairs = zip(network.weights, network.prior_weights, strict=True)
    divergence = 0.5 * sum((weight - prior).square().sum().item() for weight, prior in pairs)
    assert result.divergence == pytest.approx(divergence, rel=1e-12)
    assert result.divergence >= divergence


def test_evaluation_does_not_depend_on_form_precision_or_method(problem):
    network, x, y = problem
    expected = evaluated(network, x, y)
    assert_same(evaluated(network, x.numpy(), y.int()), expected)
    assert_same(evaluated(network, sparse.csr_array(x.numpy()), y), expected)
    sampled = AggregatedNetwork(
        list(network.weights), network.prior_weights, aggregation=MonteCarlo(1, torch.Generator())
    )
    assert_same(evaluated(sampled, x, y), expected)
    single = AggregatedNetwork(
        [weight.float() for weight in network.weights], [weight.float() for weight in network.prior_weights]
    )
    again = evaluated(single, x.float(), y)
    assert again.numerical_error < 1e-9, "certified in float64 even where trained in float32"
    assert again.risk == pytest.approx(expected.risk, abs=1e-5)


def test_evaluation_in_chunks_is_the_same(problem, monkeypatch):
    network, x, y = problem
    expected = evaluated(network, x, y)
    monkeypatch.setattr("pbgnet.certificates.network.evaluation.CHUNK", 7)
    chunked = evaluated(network, x, y)
    assert chunked.risk == pytest.approx(expected.risk, abs=2 * expected.numerical_error)
    assert chunked.n_errors == expected.n_errors


def test_outputs_near_zero_are_counted_as_ties_and_as_errors():
    tiny = AggregatedNetwork([torch.tensor([[1e-17]], dtype=torch.float64)], intercept=False)
    result = evaluated(tiny, torch.ones(3, 1), torch.ones(3))
    assert (result.n_ties, result.n_errors) == (3, 3)
    assert (result.output > 0).all(), "though the signs are right"


@pytest.mark.parametrize(
    ("x", "y", "error", "message"),
    [
        (torch.zeros(2, 4), torch.ones(2), ShapeError, "rows with 3 features"),
        (torch.zeros(2, 3), torch.ones(3), ShapeError, "2 rows but labels of shape"),
        (torch.zeros(2), torch.ones(2), ShapeError, "of shape \\(n, d\\)"),
        ([[1.0, 2.0, 3.0]], torch.ones(1), ShapeError, "got list"),
        (torch.zeros(2, 3), torch.tensor([0, 2]), LabelError, "whole numbers from 0 to 1"),
        (torch.zeros(0, 3), torch.zeros(0), DomainError, "no rows to certify"),
        (torch.full((1, 3), torch.nan), torch.ones(1), DomainError, "Impute or drop"),
    ],
)
def test_evaluation_refuses_what_it_cannot_certify(problem, x, y, error, message):
    with pytest.raises(error, match=message):
        evaluated(problem[0], x, y)


def test_only_a_single_aggregated_network_is_certified(problem):
    network, x, y = problem
    replicas = AggregatedNetwork([weight.detach().expand(2, -1, -1) for weight in network.weights])
    with pytest.raises(ShapeError, match="one network at a time"):
        evaluated(replicas, x, y)
    *hidden, last = (weight.detach() for weight in network.weights)
    several = AggregatedNetwork([*hidden, last.expand(3, -1)])
    with pytest.raises(ShapeError, match="has 3 outputs, but the code for 2 classes needs 1"):
        evaluated(several, x, y)
    with pytest.raises(DtypeError, match="got SignNetwork"):
        evaluated(network.sign_network(), x, y)


@pytest.mark.parametrize("members", [False, True])
def test_codes_are_looked_up_with_the_proved_error(members):
    rng = np.random.default_rng(0)
    table = TablePreprocessor("both").fit(x := rng.normal(size=(300, 3))).encode(x)
    generator, replicas = torch.Generator().manual_seed(0), (3,) if members else ()
    weights = initial_weights(
        table.shape[1], (4,), initialisation="standard_normal", generator=generator, replicas=replicas
    )
    network = certifiable(AggregatedNetwork(weights, members=members))
    y = torch.from_numpy(np.sign(x[:, 0]))
    found, dense = evaluated(network, table, y), evaluated(network, table.toarray(), y)
    assert isinstance(prepared(network, table, 0, 10), BinnedRows)
    assert np.abs(found.output - dense.output).max() <= 2 * found.error < 1e-9
    assert found.n_errors == dense.n_errors


def test_a_tie_is_an_error_from_above_and_none_from_below():
    """Another computer may answer a tie rightly: a lower limit of the error rate may not count it."""
    answers = Answers(np.array([0.0, 0.5, -0.5]), np.array([1, 1, 1]), TWO_CLASSES, 1e-9, 0.0)
    assert answers.measured.wrong.tolist() == [True, False, True]
    assert answers.measured.surely_wrong.tolist() == [False, False, True]
    assert answers.of_rows(np.array([True, False, False])).measured.n_sure_errors == 0
