"""Issuing: the numbers by first principles, in float64, rounded outward."""

import math

import numpy as np
import pytest
import torch
from scipy import sparse

from pbgnet.bounds import chernoff_bound, clopper_pearson_bound, seeger_bound
from pbgnet.certificates import (
    PreprocessingRecord,
    PriorRecord,
    SplitRecord,
    certifiable,
    certify_network,
    delta_of,
    draw_prior_rows,
    evaluate,
)
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
from pbgnet.networks import TWO_CLASSES, AggregatedNetwork


def issue(network, x, y, *, n_rows=None, **options):
    """Certify on a table that begins with the rows given, and goes on with some that do not matter."""
    options = {
        "prior": PriorRecord("given", "a test"),
        "prior_rows": [],
        "certified_rows": range(len(y)),
        **options,
    }
    n_rows = len(options["prior_rows"]) + len(y) if n_rows is None else n_rows
    return certify_network(network, *longer(x, y, n_rows), classes=(-1, 1), **options).certificate


def longer(x, y, n_rows):
    """The table that `issue` certifies."""
    more = np.random.default_rng(0).normal(size=(max(0, n_rows - len(y)), x.shape[1]))
    return np.r_[x.numpy(), more][:n_rows], np.r_[y.numpy(), np.ones(len(more))][:n_rows]


def drawn(x, y, n_rows):
    """What draws a quarter of such a table, and the rows."""
    prior_rows = draw_prior_rows(*longer(x, y, n_rows), 0.25, seed=3)
    certified_rows = np.setdiff1d(np.arange(n_rows), prior_rows)
    record = SplitRecord("drawn", seed=3, fraction=0.25)
    return {"split": record, "prior_rows": prior_rows, "certified_rows": certified_rows, "n_rows": n_rows}


def test_a_tie_counts_as_an_error():
    tiny = AggregatedNetwork([torch.tensor([[1e-17]], dtype=torch.float64)], intercept=False)
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
        with pytest.raises(UncertifiedError, match=r"weights are far too large.*smaller learning rate"):
            issue(pair, x, y, certificate="held-out")


@pytest.mark.parametrize("constant", ["maurer", "paper"])
@pytest.mark.parametrize("n_priors", [1, 9])
def test_the_bound_is_that_of_the_theorem(problem, constant, n_priors):
    network, x, y = problem
    certificate = issue(network, x, y, confidence=0.9, n_priors=n_priors, constant=constant)
    inputs, loss, rate = certificate.inputs, certificate.linear_loss, certificate.error_rate
    measured = certificate.network
    assert certificate.delta == 0.1
    assert certificate.delta_per_prior == pytest.approx(0.1 / n_priors)
    assert certificate.delta_per_prior * n_priors <= 0.1
    plain = seeger_bound(measured.empirical_risk, measured.divergence, 300, 0.1 / n_priors, constant=constant)
    assert plain < loss.value == pytest.approx(float(plain), abs=1e-8)
    # The vote as computed may err where the exact one has a margin of at most the numerical error.
    assert rate.evidence.margin_error == pytest.approx(2 * measured.numerical_error, rel=1e-3)
    assert min(1.0, 2 * loss.value) <= rate.value <= min(1.0, 2 * loss.value * (1 + 1e-8))
    assert inputs.empirical_error_rate == inputs.n_errors / 300


def test_the_held_out_bounds_are_those_of_the_prior(problem):
    network, x, y = problem
    certificate = issue(network, x, y, n_priors=3)
    prior = evaluate(
        certifiable(AggregatedNetwork(network.prior_weights)), x, np.where(y > 0, 1, 0), TWO_CLASSES
    )
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
        (
            {"certified_rows": range(299)},
            DomainError,
            "1 rows of the table are neither prior rows nor certified rows",
        ),
        ({"certified_rows": [9, 8, 8] * 100}, DomainError, "contains row 8 twice;"),
        ({"certified_rows": range(-1, 299)}, DomainError, "negative indices"),
        ({"certified_rows": np.ones(300, dtype=bool)}, DtypeError, "np.flatnonzero"),
        ({"certified_rows": [[0]]}, ShapeError, "one-dimensional list"),
        ({"certified_rows": []}, DomainError, "no rows to certify"),
        ({"confidence": 95}, DomainError, "confidence must be between 0 and 1"),
        ({"confidence": math.nan}, DomainError, "confidence"),
        ({"n_priors": 0}, DomainError, "n_priors must be at least 1"),
        ({"constant": "pap"}, UnknownNameError, "Did you mean 'paper'"),
        ({"n_rows": 200}, DomainError, "contains row 299, but the last row of the table"),
        ({"prior": PriorRecord("random")}, DomainError, "needs its seed"),
        ({"prior": PriorRecord("zero", n_rows=3)}, DomainError, "does not see any rows"),
        ({"prior": PriorRecord("pretrained", n_rows=3)}, DomainError, "saw the 0 prior rows, but its n_rows"),
        (
            {"prior": PriorRecord("pretrained", n_rows=3), "prior_rows": range(300, 304)},
            DomainError,
            "saw the 4 prior rows, but its n_rows is 3",
        ),
        (
            {"prior": PriorRecord("zero", seed=3)},
            DomainError,
            "'zero' prior does not use a seed, but its seed is 3",
        ),
        ({"prior": PriorRecord("given", initialisation="zero")}, DomainError, "is not drawn, but its init"),
        ({"prior": PriorRecord("random", seed=1, initialisation="x")}, DomainError, "unknown initialisation"),
        ({"prior": PriorRecord("given", n_rows=3)}, DomainError, "saw 3 rows, but there are 0 prior rows"),
        ({"split": SplitRecord("given")}, DomainError, "should be 'given', but there are 0 prior rows"),
        (
            {"split": SplitRecord("none"), "prior_rows": [300]},
            DomainError,
            "should be 'none', but there are 1 prior rows",
        ),
        (
            {"split": SplitRecord("drawn", seed=3, fraction=0.25), "prior_rows": range(300, 400)},
            DomainError,
            "not the ones that seed 3 draws from 400 rows",
        ),
        (
            {"n_rows": 307},
            DomainError,
            r"7 rows of the table are neither.*a 'none' split.*Certify them all, or pass split=SplitRecord",
        ),
    ],
)
def test_what_the_theorem_does_not_cover_is_refused(problem, options, error, message):
    with pytest.raises(error, match=message):
        issue(*problem, **options)


def test_no_row_of_a_drawn_split_is_left_out(problem):
    network, x, y = problem
    options = drawn(x, y, 404)
    options["certified_rows"] = options["certified_rows"][:300]
    message = "3 rows of the table are neither prior rows nor certified rows, but with a 'drawn' split"
    with pytest.raises(DomainError, match=message):
        issue(network, x, y, **options)


def test_rows_that_the_user_left_out_are_counted_and_vouched_for(problem):
    certificate = issue(*problem, n_rows=307, split=SplitRecord("given"))
    assert certificate.network.n_left_out == 7
    said = [
        sentence
        for sentence in certificate.assumptions
        if "neither prior rows nor certified rows" in sentence
    ]
    assert len(said) == 1
    assert said[0].startswith("7 rows of the table are neither")
    assert "vouches that this was done without looking at their features or labels" in said[0]
    assert not any(sentence.startswith("The prior rows") for sentence in certificate.assumptions)
    with_prior = issue(*problem, n_rows=307, prior_rows=range(300, 306))
    assert with_prior.network.n_left_out == 1
    assert any(each.startswith("1 row of the table is neither") for each in with_prior.assumptions)
    assert any("The prior rows were chosen by the user" in each for each in with_prior.assumptions)


def test_a_drawn_split_is_recorded(problem):
    network, x, y = problem
    options = drawn(x, y, 400)
    certificate = issue(network, x, y, **options)
    assert certificate.network.split == options["split"]
    assert any(
        "drawn at random from the set of all rows with the stated seed" in each
        for each in certificate.assumptions[2:]
    )
    assert issue(*problem).network.split == SplitRecord("none")
    assert issue(*problem, prior_rows=[300, 301]).network.split == SplitRecord("given")


def test_delta_reads_as_written():
    assert delta_of(0.95) == 0.05
    assert delta_of(0.999) == 0.001
    assert 0 < delta_of(np.nextafter(1.0, 0.0)) < 1e-15


def test_certify_takes_the_users_own_table(build):
    model, *_ = build()
    assert model.certificate.inputs.n == 120
    assert model.certificate.network.preprocessing.status == "inside"
    assert "2 numeric, 1 categorical" in model.certificate.network.preprocessing.description
    with pytest.raises(LabelError, match="y contains the unknown label 'yes'; known are 'no', 'maybe'"):
        build(classes=("no", "maybe"))
    with pytest.raises(PriorLeakageError):
        build(prior_rows=model.certified_rows[:3])
    with pytest.raises(DomainError, match="contains row 240, but the last row of the table is 239"):
        build(certified_rows=[240])
    with pytest.raises(ShapeError, match="The table has 2 rows, but there are 3 labels"):
        certify_network(
            model.network, np.eye(2), [0, 1, 1], classes=(0, 1), prior=PriorRecord("zero"),
            prior_rows=[], certified_rows=[0],
        )  # fmt: skip
    with pytest.raises(OptionError, match="says that there is none"):
        build(preprocessing=PreprocessingRecord("none"))
    outside, *_ = build("zero", preprocessing=PreprocessingRecord("outside", "a scaler"))
    assert outside.certificate.network.preprocessing.status == "outside"
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
