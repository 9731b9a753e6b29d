"""Evaluating and issuing: the numbers by first principles, in float64, rounded outward."""

import math

import numpy as np
import pytest
import torch
from scipy import sparse

from pbgnet.aggregation import Enumeration, MonteCarlo
from pbgnet.bounds import chernoff_bound, clopper_pearson_bound, seeger_bound
from pbgnet.certificates import (
    DataFingerprints,
    PreprocessingRecord,
    PriorRecord,
    SplitRecord,
    Terms,
    certify_network,
    check_split,
    draw_prior_rows,
    evaluate,
    issue_certificate,
)
from pbgnet.certificates.terms import delta_of
from pbgnet.exceptions import (
    DomainError,
    DtypeError,
    LabelError,
    OptionError,
    PriorLeakageError,
    ShapeError,
    UncertifiedError,
    UnknownNameError,
)
from pbgnet.networks import AggregatedNetwork, initial_weights


@pytest.fixture
def problem():
    generator = torch.Generator().manual_seed(0)
    x = torch.randn(300, 3, generator=generator, dtype=torch.float64)
    y = torch.where(x[:, 0] > 0.2, 1.0, -1.0)
    prior = initial_weights(3, (5,), generator=generator, dtype=torch.float64)
    weights = [weight + torch.randn(weight.shape, generator=generator) for weight in prior]
    return AggregatedNetwork(weights, prior), x, y


def issue(network, x, y, **options):
    options = {
        "prior": PriorRecord("given", "a test"),
        "prior_rows": [],
        "certified_rows": range(len(y)),
        **options,
    }
    n_rows = len(options["prior_rows"]) + len(y)
    options.setdefault("data", DataFingerprints(n_rows, "0" * 64, "1" * 64))
    asked = {name: options.pop(name) for name in list(options) if name in Terms.__dataclass_fields__}
    return issue_certificate(network, x, y, terms=Terms(**asked), **options)


def test_evaluation_agrees_with_enumeration(problem):
    network, x, y = problem
    result = evaluate(network, x, y)
    exact = AggregatedNetwork(list(network.weights), network.prior_weights, aggregation=Enumeration())
    output = exact(x).detach()
    risk = ((1 - y * output) / 2).mean().item()
    assert abs(result.risk - risk) <= result.numerical_error < 1e-9
    assert result.n_errors == int((torch.where(output > 0, 1.0, -1.0) != y).sum())
    assert result.error_rate == result.n_errors / 300
    assert result.n_ties == 0
    # One hidden layer: the tree repeats nothing, so every weight counts once.
    pairs = zip(network.weights, network.prior_weights, strict=True)
    divergence = 0.5 * sum((weight - prior).square().sum().item() for weight, prior in pairs)
    assert result.divergence == pytest.approx(divergence, rel=1e-12)
    assert result.divergence >= divergence


def test_evaluation_does_not_depend_on_form_precision_or_method(problem):
    network, x, y = problem
    expected = evaluate(network, x, y)
    assert evaluate(network, x.numpy(), y.int()) == expected
    assert evaluate(network, sparse.csr_array(x.numpy()), y) == expected
    sampled = AggregatedNetwork(
        list(network.weights), network.prior_weights, aggregation=MonteCarlo(1, torch.Generator())
    )
    assert evaluate(sampled, x, y) == expected
    single = AggregatedNetwork(
        [weight.float() for weight in network.weights], [weight.float() for weight in network.prior_weights]
    )
    again = evaluate(single, x.float(), y)
    assert again.numerical_error < 1e-9, "certified in float64 even where trained in float32"
    assert again.risk == pytest.approx(expected.risk, abs=1e-5)


def test_evaluation_in_chunks_is_the_same(problem, monkeypatch):
    network, x, y = problem
    expected = evaluate(network, x, y)
    monkeypatch.setattr("pbgnet.certificates.evaluation.CHUNK", 7)
    chunked = evaluate(network, x, y)
    assert chunked.risk == pytest.approx(expected.risk, abs=2 * expected.numerical_error)
    assert chunked.n_errors == expected.n_errors


def test_outputs_near_zero_are_counted_as_ties_and_as_errors():
    tiny = AggregatedNetwork([torch.tensor([[1e-17]], dtype=torch.float64)], intercept=False)
    result = evaluate(tiny, torch.ones(3, 1), torch.ones(3))
    assert (result.n_ties, result.n_errors, result.n_wrong) == (3, 3, 0)
    certificate = issue(tiny, torch.ones(3, 1), torch.ones(3), certificate="held-out")
    assert certificate.inputs.n_errors == certificate.error_rate.evidence.n_errors == 3
    assert certificate.error_rate.value == 1.0


def test_outputs_that_cannot_be_computed_are_not_certified(problem):
    network, x, y = problem
    first, last = (weight.detach() for weight in network.weights)
    absurd = AggregatedNetwork([first * 1e12, last])
    assert float(absurd.error_bound()) > 1e-6
    for posterior, prior in ((absurd, network), (network, absurd)):
        pair = AggregatedNetwork(list(posterior.weights), list(prior.weights))
        with pytest.raises(UncertifiedError, match=r"weights are absurdly large.*smaller learning rate"):
            issue(pair, x, y, certificate="held-out")


@pytest.mark.parametrize(
    ("x", "y", "error", "message"),
    [
        (torch.zeros(2, 4), torch.ones(2), ShapeError, "rows of 3 features"),
        (torch.zeros(2, 3), torch.ones(3), ShapeError, "2 rows but labels of shape"),
        (torch.zeros(2), torch.ones(2), ShapeError, "of shape \\(n, d\\)"),
        ([[1.0, 2.0, 3.0]], torch.ones(1), ShapeError, "got list"),
        (torch.zeros(2, 3), torch.tensor([0, 1]), LabelError, "-1 and 1"),
        (torch.zeros(0, 3), torch.zeros(0), DomainError, "no row to certify"),
        (torch.full((1, 3), torch.nan), torch.ones(1), DomainError, "Impute or drop"),
    ],
)
def test_evaluation_refuses_what_it_cannot_certify(problem, x, y, error, message):
    with pytest.raises(error, match=message):
        evaluate(problem[0], x, y)


def test_only_a_single_aggregated_network_is_certified(problem):
    network, x, y = problem
    replicas = AggregatedNetwork([weight.detach().expand(2, -1, -1) for weight in network.weights])
    with pytest.raises(ShapeError, match="one network at a time"):
        evaluate(replicas, x, y)
    with pytest.raises(DtypeError, match="got SignNetwork"):
        evaluate(network.sign_network(), x, y)


@pytest.mark.parametrize("constant", ["maurer", "paper"])
@pytest.mark.parametrize("n_priors", [1, 9])
def test_the_bound_is_that_of_the_theorem(problem, constant, n_priors):
    network, x, y = problem
    certificate = issue(network, x, y, confidence=0.9, n_priors=n_priors, constant=constant)
    inputs, loss, rate = certificate.inputs, certificate.linear_loss, certificate.error_rate
    assert certificate.delta == 0.1
    assert certificate.delta_per_prior == pytest.approx(0.1 / n_priors)
    assert certificate.delta_per_prior * n_priors <= 0.1
    plain = seeger_bound(inputs.empirical_risk, inputs.divergence, 300, 0.1 / n_priors, constant=constant)
    assert plain < loss.value == pytest.approx(float(plain), abs=1e-8)
    # The vote as computed may err where the exact one has a margin of at most the numerical error.
    assert rate.evidence.margin_error == pytest.approx(2 * inputs.numerical_error, rel=1e-3)
    assert min(1.0, 2 * loss.value) <= rate.value <= min(1.0, 2 * loss.value * (1 + 1e-8))
    assert inputs.empirical_error_rate == inputs.n_errors / 300


def test_the_held_out_bounds_are_those_of_the_prior(problem):
    network, x, y = problem
    certificate = issue(network, x, y, n_priors=3)
    prior = evaluate(AggregatedNetwork(network.prior_weights), x, y)
    delta = certificate.delta_per_prior
    loss = certificate.alternative("linear loss", "chernoff")
    counted = certificate.alternative("error rate", "clopper-pearson")
    assert (loss.evidence.empirical_risk, counted.evidence.n_errors) == (prior.risk, prior.n_errors)
    assert loss.value >= chernoff_bound(prior.risk, 300, delta)
    assert loss.value == pytest.approx(float(chernoff_bound(prior.risk, 300, delta)), abs=1e-8)
    assert counted.value == clopper_pearson_bound(prior.n_errors, 300, delta)
    assert certificate.alternative("error rate", "seeger") is None


def test_a_hopeless_network_gets_the_trivial_bound(problem):
    network, x, y = problem
    first, last = (weight.detach() for weight in network.weights)
    far = AggregatedNetwork([first * 1e6, last], network.prior_weights)
    certificate = issue(far, x, -y)
    assert [claim.value for claim in certificate.claims] == [1.0, 1.0]
    assert "says nothing" in certificate.statement
    overflow = AggregatedNetwork([first * 1e200, last], network.prior_weights)
    with pytest.raises(DomainError, match="divergence overflows"):
        issue(overflow, x, y)


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"prior_rows": [5]}, PriorLeakageError, "1 of the 300 certified rows are also prior rows.* row 5"),
        ({"certified_rows": range(299)}, ShapeError, "names 299 rows, but x has 300"),
        ({"certified_rows": [9, 8, 8] * 100}, DomainError, "names a row twice, row 8;"),
        ({"certified_rows": range(-1, 299)}, DomainError, "count from 0"),
        ({"certified_rows": np.ones(300, dtype=bool)}, DtypeError, "np.flatnonzero"),
        ({"certified_rows": [[0]]}, ShapeError, "one list"),
        ({"certified_rows": []}, DomainError, "no row to certify"),
        ({"confidence": 95}, DomainError, "confidence must lie between 0 and 1"),
        ({"confidence": math.nan}, DomainError, "confidence"),
        ({"n_priors": 0}, DomainError, "n_priors must be at least 1"),
        ({"constant": "pap"}, UnknownNameError, "Did you mean 'paper'"),
        ({"data": DataFingerprints(300, "abc", "1" * 64)}, DomainError, "features must look like"),
        (
            {"data": DataFingerprints(200, "0" * 64, "1" * 64)},
            DomainError,
            "names row 299, but the table ends",
        ),
        ({"prior": PriorRecord("random")}, DomainError, "needs its seed"),
        ({"prior": PriorRecord("zero", n_rows=3)}, DomainError, "sees no rows"),
        ({"prior": PriorRecord("pretrained", n_rows=3)}, DomainError, "saw the 0 prior rows, but its n_rows"),
        (
            {"prior": PriorRecord("pretrained", n_rows=3), "prior_rows": range(300, 304)},
            DomainError,
            "saw the 4 prior rows, but its n_rows is 3",
        ),
        ({"prior": PriorRecord("zero", seed=3)}, DomainError, "'zero' has no seed, but its seed is 3"),
        ({"prior": PriorRecord("given", initialisation="zero")}, DomainError, "is not drawn, but its init"),
        ({"prior": PriorRecord("random", seed=1, initialisation="x")}, DomainError, "unknown initialisation"),
        ({"prior": PriorRecord("given", n_rows=3)}, DomainError, "saw 3 rows, but there are 0 prior rows"),
        ({"split": SplitRecord("given")}, DomainError, "said to be 'given', but there are 0 prior rows"),
        (
            {"split": SplitRecord("none"), "prior_rows": [300]},
            DomainError,
            "said to be 'none', but there are 1 prior rows",
        ),
        (
            {"split": SplitRecord("drawn", seed=3, fraction=0.25), "prior_rows": range(300, 400)},
            DomainError,
            "not those that seed 3 draws from 400 rows",
        ),
        (
            {"data": DataFingerprints(307, "0" * 64, "1" * 64)},
            DomainError,
            r"7 rows of the table are neither.*is 'none'.*Certify them all, or pass split=SplitRecord",
        ),
        (
            {
                "split": SplitRecord("drawn", seed=3, fraction=0.25),
                "prior_rows": draw_prior_rows(404, 0.25, seed=3),
                "certified_rows": np.setdiff1d(np.arange(404), draw_prior_rows(404, 0.25, seed=3))[:300],
                "data": DataFingerprints(404, "0" * 64, "1" * 64),
            },
            DomainError,
            "3 rows of the table are neither prior nor certified rows, but the split is 'drawn'",
        ),
    ],
)
def test_what_the_theorem_does_not_cover_is_refused(problem, options, error, message):
    with pytest.raises(error, match=message):
        issue(*problem, **options)


def test_rows_that_the_user_left_out_are_counted_and_vouched_for(problem):
    data, given = DataFingerprints(307, "0" * 64, "1" * 64), SplitRecord("given")
    certificate = issue(*problem, data=data, split=given)
    assert certificate.inputs.n_left_out == 7
    said = [sentence for sentence in certificate.assumptions if "neither prior nor certified" in sentence]
    assert len(said) == 1
    assert said[0].startswith("7 rows of the table are neither")
    assert "vouches that this was done without looking at anything" in said[0]
    assert not any("The rows of the prior" in sentence for sentence in certificate.assumptions)
    with_prior = issue(*problem, data=data, prior_rows=range(300, 306))
    assert with_prior.inputs.n_left_out == 1
    assert any(each.startswith("1 row of the table is neither") for each in with_prior.assumptions)
    assert any("The rows of the prior were chosen by the user" in each for each in with_prior.assumptions)


def test_a_drawn_split_is_recorded(problem):
    prior_rows = draw_prior_rows(400, 0.25, seed=3)
    certified_rows = np.setdiff1d(np.arange(400), prior_rows)
    record = SplitRecord("drawn", seed=3, fraction=0.25)
    certificate = issue(*problem, split=record, prior_rows=prior_rows, certified_rows=certified_rows)
    assert certificate.split == record
    assert any("drawn at random, from the seed stated" in each for each in certificate.assumptions[2:])
    assert issue(*problem).split == SplitRecord("none")
    assert issue(*problem, prior_rows=[300, 301]).split == SplitRecord("given")


@pytest.mark.parametrize(
    ("n", "fraction", "count"), [(10, 0.5, 5), (10, 0.01, 1), (10, 0.99, 9), (2, 0.5, 1)]
)
def test_prior_rows_are_drawn_without_repetition(n, fraction, count):
    rows = draw_prior_rows(n, fraction, seed=1)
    assert rows.dtype == np.int64
    assert rows.size == np.unique(rows).size == count
    np.testing.assert_array_equal(rows, np.sort(np.random.default_rng(1).permutation(n)[:count]))


def test_the_split_can_be_checked_before_training():
    with pytest.raises(PriorLeakageError, match="for example row 2"):
        check_split([1, 2], [2, 3])
    with pytest.raises(DomainError, match="prior_rows names a row twice, row 1"):
        check_split([2, 1, 1], [3])
    with pytest.raises(DomainError, match="certified_rows names row 9, but the table ends with row 8"):
        check_split([0], [9], 9)
    assert check_split([0], [8], 9).certified_rows.tolist() == [8]


def test_delta_reads_as_written():
    assert delta_of(0.95) == 0.05
    assert delta_of(0.999) == 0.001
    assert 0 < delta_of(np.nextafter(1.0, 0.0)) < 1e-15


def test_certify_takes_the_users_own_table(build):
    model, *_ = build()
    assert model.certificate.inputs.n == 120
    assert model.certificate.preprocessing.status == "inside"
    assert "2 numeric, 1 categorical" in model.certificate.preprocessing.description
    with pytest.raises(LabelError, match="there are labels"):
        build(classes=("no", "maybe"))
    with pytest.raises(PriorLeakageError):
        build(prior_rows=model.certified_rows[:3])
    with pytest.raises(DomainError, match="names row 240, but the table ends with row 239"):
        build(certified_rows=[240])
    with pytest.raises(ShapeError, match="The table has 2 rows, but there are 3 labels"):
        certify_network(
            model.network, np.eye(2), [0, 1, 1], classes=(0, 1), prior=PriorRecord("zero"),
            prior_rows=[], certified_rows=[0],
        )  # fmt: skip
    with pytest.raises(OptionError, match="says that there is none"):
        build(preprocessing=PreprocessingRecord("none"))
    outside, *_ = build("zero", preprocessing=PreprocessingRecord("outside", "a scaler"))
    assert outside.certificate.preprocessing.status == "outside"
    assert any("outside the proof" in sentence for sentence in outside.certificate.assumptions)


def test_certify_reads_frames_and_sparse_matrices():
    pd = pytest.importorskip("pandas")
    x = np.random.default_rng(0).normal(size=(40, 2)) * np.array([1.0, 0.0])
    y = np.where(x[:, 0] > 0, 1, 0)
    network = AggregatedNetwork([torch.tensor([[4.0, 0.0, 0.0]])], [torch.zeros(1, 3)])
    options = {"classes": (0, 1), "prior": PriorRecord("zero"), "prior_rows": [], "certified_rows": range(40)}
    array = certify_network(network, x, y, **options)
    frame = certify_network(network, pd.DataFrame(x, columns=["a", "b"]), pd.Series(y), **options)
    matrix = certify_network(network, sparse.csr_matrix(x), y, **options)
    assert frame.feature_names == ("a", "b")
    assert array.certificate.claims == frame.certificate.claims == matrix.certificate.claims
    prints = {each.certificate.fingerprints.data for each in (array, frame, matrix)}
    assert len(prints) == 3
