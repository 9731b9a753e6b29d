"""Rows that weigh by their class in training an ensemble; fits that are no better than one answer say so."""

import warnings

import numpy as np
import pytest
import torch

from pbgnet.certificates import Classes
from pbgnet.estimators import PBGDClassifier, PBGNetClassifier, make_certified_pipeline
from pbgnet.estimators.learning.ensembles import row_weights
from pbgnet.exceptions import (
    ClassNeverAnsweredWarning,
    DomainError,
    DtypeError,
    LabelError,
    MajorityNotBeatenWarning,
    OptionError,
)
from pbgnet.kernels.layers_torch import log_loss
from pbgnet.networks import TWO_CLASSES
from pbgnet.training import TrainingData
from pbgnet.training.algorithms.held_answers import HeldAnswers

CLASSES = Classes(("no", "yes"))


def make_rare(n=1200, share=0.06, seed=0):
    """Two classes that overlap, one of them rare."""
    rng = np.random.default_rng(seed)
    y = np.where(rng.random(n) < share, "yes", "no")
    x = rng.normal(size=(n, 3)) + np.where(y == "yes", 1.2, 0.0)[:, None] * np.array([1.0, 1.0, 0.0])
    return x, y


def make_quick(**options):
    return PBGNetClassifier(random_state=0, **{"n_members": 2, "max_epochs": 10, "device": "cpu", **options})


def test_balanced_classes_weigh_the_same():
    places = np.repeat([0, 1], [90, 10])
    weights = row_weights(places, CLASSES, "balanced")
    np.testing.assert_allclose(weights, np.repeat([100 / 180, 5.0], [90, 10]))  # as in scikit-learn
    assert weights[places == 0].sum() == pytest.approx(weights[places == 1].sum())
    assert row_weights(places, CLASSES, None) is None
    of_one_class = row_weights(places[:90], CLASSES, "balanced")
    np.testing.assert_allclose(of_one_class, 1.0)


def test_weights_by_label_are_scaled_to_a_mean_of_one():
    places = np.repeat([0, 1], [3, 1])
    np.testing.assert_allclose(row_weights(places, CLASSES, {"yes": 5}), [0.5, 0.5, 0.5, 2.5])
    np.testing.assert_allclose(
        row_weights(places, CLASSES, {"yes": 50, "no": 10}), row_weights(places, CLASSES, {"yes": 5})
    )
    with pytest.raises(
        LabelError, match=r"class_weight names 'maybe', which is not one of the classes.*'no' and 'yes'"
    ):
        row_weights(places, CLASSES, {"maybe": 1})
    with pytest.raises(DomainError, match="positive and finite"):
        row_weights(places, CLASSES, {"yes": 0})
    with pytest.raises(DtypeError, match="must be a number"):
        row_weights(places, CLASSES, {"yes": "5"})


def test_a_weight_of_two_counts_a_row_twice():
    generator = torch.Generator().manual_seed(0)
    output = torch.rand(2, 4, generator=generator, dtype=torch.float64) * 2 - 1
    y = torch.tensor([1.0, -1.0, 1.0, -1.0], dtype=torch.float64)
    weight = torch.tensor([2.0, 1.0, 0.0, 1.0], dtype=torch.float64)
    loss, slope = log_loss(output, y, weight)
    twice, _ = log_loss(output[:, [0, 0, 1, 3]], y[[0, 0, 1, 3]])
    torch.testing.assert_close(loss, twice)
    moved = output.clone().requires_grad_()
    torch.autograd.backward((weight * -((1 + y * moved) / 2).log()).mean(dim=-1).sum())
    torch.testing.assert_close(slope, moved.grad)
    same, slopes = log_loss(output, y, torch.ones_like(y)), log_loss(output, y)
    torch.testing.assert_close(same, slopes)


def test_weights_go_with_their_rows():
    x, y, weight = torch.eye(4), torch.ones(4), torch.arange(4.0)
    data = TrainingData.of(x, y, unit=True, device="cpu", weight=weight)
    assert data.take(torch.tensor([3, 1])).weight.tolist() == [3.0, 1.0]
    assert [part.weight.tolist() for part in data.chunks(3)] == [[0.0, 1.0, 2.0], [3.0]]
    assert TrainingData.of(x, y, unit=True, device="cpu").take(slice(2)).weight is None


def test_balanced_weights_lower_the_balanced_error_and_raise_the_plain_one():
    x, y = make_rare()
    fresh, truth = make_rare(4000, seed=1)
    rates = {}
    for weight in (None, "balanced"):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ClassNeverAnsweredWarning)
            classifier = make_quick(class_weight=weight, class_conditional=True).fit(x, y)
        wrong = classifier.predict(fresh) != truth
        rates[weight] = (np.mean([wrong[truth == label].mean() for label in ("no", "yes")]), wrong.mean())
        certificate = classifier.certificate_
        rows = classifier.certified_rows_
        assert certificate.inputs.n_errors == np.sum(classifier.predict(x[rows]) != y[rows]), "a plain count"
        assert classifier.verify(x, y).ok
        told = certificate.network.prior.description
        assert told.endswith("rows weighted by their class") == (weight is not None)
    assert rates["balanced"][0] < rates[None][0] - 0.1
    assert rates["balanced"][1] > rates[None][1]


def test_weights_have_a_say_in_the_choice():
    margins, weights = np.array([1.0, -1.0, 0.0]), np.array([0.5, 2.0, 0.5])
    plain = HeldAnswers(margins, np.ones(3), TWO_CLASSES)
    weighted = HeldAnswers(margins, np.ones(3), TWO_CLASSES, weights)
    assert plain.loss == pytest.approx((0 + 1 + 0.25) / 3)
    assert weighted.loss == pytest.approx((0 + 2 + 0.125) / 3)
    assert HeldAnswers.averaged([weighted, weighted]).loss == weighted.loss
    assert HeldAnswers.joined([weighted, weighted]).loss == pytest.approx(weighted.loss)


def test_weights_of_one_change_nothing():
    x, y = make_rare(400)
    plain = make_quick(class_weight={"no": 1.0, "yes": 1.0})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ClassNeverAnsweredWarning)
        assert np.array_equal(
            plain.fit(x, y).decision_function(x), make_quick().fit(x, y).decision_function(x)
        )


def test_other_algorithms_and_mistakes_are_refused():
    x, y = make_rare(100)
    with pytest.raises(OptionError, match="only applies to algorithm='ensemble', not to 'pbgnet_pre'"):
        make_quick(algorithm="pbgnet_pre", class_weight="balanced").fit(x, y)
    with pytest.raises(ValueError, match="class_weight"):
        make_quick(class_weight="even").fit(x, y)


def test_one_answer_for_all_rows_is_warned_of():
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(400, 2)), (np.arange(400) % 100 == 0).astype(int)  # 99:1, nothing to learn
    for fit in (make_quick().fit, make_certified_pipeline(make_quick()).fit):
        with (
            pytest.warns(MajorityNotBeatenWarning, match="is no better than always answering 0") as told,
            pytest.warns(ClassNeverAnsweredWarning, match="never given as an answer on them: 1"),
        ):
            fitted = fit(x, y)
        assert fitted.certificate_.shortcomings[0] in {str(one.message) for one in told}


def test_a_good_classifier_is_not_warned_of():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(400, 2))
    with warnings.catch_warnings():
        warnings.simplefilter("error", MajorityNotBeatenWarning)
        assert make_quick().fit(x, x[:, 0] > 0).certificate_.beats_majority
        linear = PBGDClassifier(random_state=0).fit(
            np.tile(x, (5, 1)) + rng.normal(size=(2000, 2)) / 99,
            [bool(value > 0) for value in np.tile(x[:, 0], 5)],
        )
    assert linear.certificate_.shortcomings == ()
