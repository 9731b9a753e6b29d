"""Always the same answer stands beside every certificate; the balanced error rate follows from its claims."""

import dataclasses
from fractions import Fraction

import numpy as np
import pytest
import torch
from tests.certificates.conftest import N_LEARNED, failed, forged, make_learned, trusted, verify
from tests.certificates.verification.conftest import edit_certificate

from pbgnet.bounds import clopper_pearson_bound, split_delta
from pbgnet.certificates import (
    MajorityAnswer,
    PriorRecord,
    certify,
    certify_by_disagreement,
    certify_network,
    round_up,
)
from pbgnet.certificates.routes import balanced_bound
from pbgnet.exceptions import DomainError
from pbgnet.networks import AggregatedNetwork


def constant(answer):
    return lambda X: np.full(len(X), answer)


def test_it_is_chosen_on_the_prior_rows_and_counted_on_the_others():
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(200, 1)), np.repeat(["no", "yes", "no"], [70, 100, 30])
    network = AggregatedNetwork([torch.tensor([[3.0]])], [torch.tensor([[0.0]])], intercept=False)
    given = {"classes": ("no", "yes"), "prior": PriorRecord("zero")}
    model = certify_network(network, x, y, prior_rows=range(100), certified_rows=range(100, 200), **given)
    certificate = model.certificate
    # "no" is more frequent among the prior rows, "yes" among the certified ones.
    assert certificate.majority == MajorityAnswer("'no'", "prior rows", 100, 70, 0.7)
    answer = "always answering 'no', the most frequent class of the prior rows, is wrong on 70 of 100 rows"
    assert certificate.yardstick.endswith(f"{answer}, a rate of 0.7000.")
    assert verify(model, x, y).ok
    alone = certify_network(network, x, y, prior_rows=[], certified_rows=range(200), **given).certificate
    assert alone.majority == MajorityAnswer("'no'", "certified rows", 200, 100, 0.5), "a tie: the first class"
    assert "no prior rows, so this answer was chosen" in alone.yardstick
    with pytest.raises(DomainError, match="n_errors must be at most n"):
        dataclasses.replace(alone.majority, n_errors=201)


@pytest.mark.parametrize(
    "change",
    [
        {"answer": "'yes'"},
        {"chosen_on": "certified rows"},
        {"n": 299},
        {"n_errors": 299},
        {"error_rate": 0.9},
    ],
)
def test_a_changed_count_is_caught(change):
    model, x, y = make_learned(certificate="held-out")
    majority = model.certificate.majority
    assert majority.n == N_LEARNED // 2
    assert dataclasses.replace(majority, **change) != majority
    lie = forged(model, majority=dataclasses.replace(majority, **change))
    assert "majority answer" in failed(verify(lie, x, y))


def test_what_is_missing_or_hidden_is_caught(saved):
    model, x, y = make_learned(certificate="held-out")
    assert failed(verify(forged(model, majority=None), x, y)) == {"majority answer"}
    inputs = dataclasses.replace(model.certificate.inputs, never_answered=("'yes'",))
    assert failed(verify(forged(model, inputs=inputs), x, y)) == {"majority answer"}
    folder, X, y = saved("inside")
    edit_certificate(folder, "majority.n_errors", lambda n: n + 1)
    assert {"statement", "certificate text", "majority answer"} <= failed(verify(folder, X, y))
    edit_certificate(folder, "majority.n_errors", lambda n: n - 1)
    assert verify(folder, X, y).ok
    edit_certificate(folder, "shortcomings", ["It is bad."])
    assert failed(verify(folder, X, y)) == {"statement"}


def test_a_bound_that_does_not_beat_it_is_said_to_be_so():
    x, y = np.arange(200.0)[:, None], np.repeat([0, 1], [190, 10])
    certified = certify(constant(0), x, y)
    certificate = certified.certificate
    bound = round_up(clopper_pearson_bound(10, 200, 0.05))
    assert not certificate.beats_majority
    assert certificate.inputs.never_answered == ("1",)
    assert certificate.shortcomings == (
        f"The bound of {bound} is no better than always answering 0, which is wrong on 10 of the 200 "
        "certified rows, a rate of 0.0500. The classifier is wrong on 10 of them.",
        "A class that certified rows have is never given as an answer on them: 1.",
    )
    report = verify(certified, x, y, model=constant(0))
    assert report.ok
    (step,) = [step for step in report.steps if step.name == "majority answer"]
    assert step.detail == " ".join((certificate.yardstick, *certificate.shortcomings))
    for change in (
        {"majority": dataclasses.replace(certificate.majority, n_errors=100, error_rate=0.5)},
        {"inputs": dataclasses.replace(certificate.inputs, never_answered=())},
    ):
        lie = dataclasses.replace(certified, certificate=dataclasses.replace(certificate, **change))
        assert "majority answer" in failed(verify(lie, x, y))
    good = certify(lambda X: (np.asarray(X)[:, 0] >= 190).astype(int), x, y).certificate
    assert good.beats_majority
    assert good.shortcomings == ()


def test_a_bound_as_high_as_the_rate_does_not_beat_it():
    model, *_ = make_learned(certificate="held-out")
    certificate = model.certificate
    assert certificate.beats_majority
    rate = certificate.error_rate.value
    level = dataclasses.replace(certificate.majority, error_rate=rate)
    assert not dataclasses.replace(certificate, majority=level).beats_majority


def test_many_classes_are_named_up_to_five():
    x, y = np.arange(90.0)[:, None], np.repeat(np.arange(9), 10)
    certificate = certify(lambda X: np.where(X[:, 0] < 10, 0, 1), x, y).certificate
    assert certificate.inputs.never_answered == ("2", "3", "4", "5", "6", "7", "8")
    assert certificate.shortcomings[-1].endswith(
        "never given as an answer on them: 2, 3, 4, 5, 6 and 2 more."
    )


def test_rows_without_labels_have_none():
    model, *_ = make_learned(certificate="held-out")
    x = np.random.default_rng(5).normal(size=(100, 2))
    shipped = certify_by_disagreement(model, model.predict, x)
    assert shipped.certificate.majority is None
    assert shipped.certificate.shortcomings == ()
    report = verify(shipped, x)
    assert "majority answer" not in failed(report) | trusted(report)
    lie = dataclasses.replace(shipped.certificate, majority=model.certificate.majority)
    assert "majority answer" in failed(verify(dataclasses.replace(shipped, certificate=lie), x))


def test_the_balanced_error_rate_is_the_mean_of_the_bounds_on_the_classes():
    model, x, y = make_learned(shift=0.5, certificate="held-out", class_conditional=True)
    certificate, share = model.certificate, split_delta(0.05, 3)
    bounds = []
    for label in ("no", "yes"):
        rows = N_LEARNED // 2 + np.flatnonzero(y[N_LEARNED // 2 :] == label)
        wrong = int(np.sum(model.predict(x[rows]) != y[rows]))
        bounds.append(clopper_pearson_bound(wrong, rows.size, share))
    assert certificate.balanced_error_rate == pytest.approx(np.mean(bounds))
    assert certificate.balanced_error_rate >= sum(map(Fraction, bounds)) / 2, "rounded up"
    told = f"so the balanced error rate, the mean over the classes, is at most {round_up(np.mean(bounds))}"
    assert told in certificate.statement
    assert verify(model, x, y).ok
    assert model.certificate.choices.n_shares == 3, "it costs nothing"
    for value in (certificate.balanced_error_rate - 1e-9, None):
        assert "balanced error rate" in failed(verify(forged(model, balanced_error_rate=value), x, y))
    plain, x, y = make_learned(shift=0.5, certificate="held-out")
    assert plain.certificate.balanced_error_rate is None
    assert "balanced error rate" in failed(verify(forged(plain, balanced_error_rate=0.01), x, y))


def test_the_balanced_error_rate_of_any_classifier():
    x, y = np.arange(300.0)[:, None], np.repeat([0, 1, 2], 100)
    certified = certify(lambda X: X[:, 0] // 100, x, y, class_conditional=True, classes=[0, 1, 2])
    certificate = certified.certificate
    value = certificate.class_conditional[0].value
    assert certificate.balanced_error_rate == value == clopper_pearson_bound(0, 100, split_delta(0.05, 4))
    lie = dataclasses.replace(certificate, balanced_error_rate=value / 2)
    assert "balanced error rate" in failed(verify(dataclasses.replace(certified, certificate=lie), x, y))


def test_a_mean_is_never_rounded_down():
    model, *_ = make_learned(certificate="held-out", class_conditional=True)
    claims, rng = model.certificate.class_conditional, np.random.default_rng(0)
    for _ in range(200):
        drawn = [dataclasses.replace(claim, value=float(rng.random())) for claim in (*claims, claims[0])]
        exact = sum(Fraction(claim.value) for claim in drawn) / 3
        assert 0 <= Fraction(balanced_bound(drawn)) - exact < Fraction(1, 2**52)
