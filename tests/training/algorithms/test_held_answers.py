"""Answers on held rows: margins, errors with ties, and the temperature that suits them."""

import numpy as np
import pytest
import torch

from pbgnet.networks import TWO_CLASSES, LabelCode, make_code
from pbgnet.training.algorithms.held_answers import TEMPERATURES, HeldAnswers

CODE = make_code("hadamard", 4)


def make_answers(n=500, seed=0, noise=0.8, weights=None) -> tuple[HeldAnswers, np.ndarray]:
    rng = np.random.default_rng(seed)
    places = rng.integers(0, 4, n)
    y = CODE.targets(places)
    output = np.tanh(0.5 * y + noise * rng.normal(size=y.shape))
    return HeldAnswers(output, y, CODE, weights), places


def test_one_output_is_judged_by_its_margin():
    output, y = torch.tensor([0.5, -0.25, 0.0]), torch.tensor([1.0, 1.0, -1.0])
    answers = HeldAnswers.of(output, y, TWO_CLASSES)
    assert answers.margins.tolist() == [0.5, -0.25, 0.0]
    assert answers.loss == np.mean([0.0625, 0.390625, 0.25])
    assert answers.error == 2 / 3, "a tie is an error"
    weighted = HeldAnswers.of(output, y, TWO_CLASSES, torch.tensor([2.0, 0.0, 1.0]))
    assert weighted.loss == np.mean([0.125, 0.0, 0.25])


def test_labels_are_judged_one_by_one():
    output = np.array([[0.5, -0.5], [1.0, 0.5]])
    answers = HeldAnswers(output, np.array([[1.0, -1.0], [1.0, -1.0]]), LabelCode(2))
    assert answers.margins.tolist() == [[0.5, 0.5], [1.0, -0.5]]
    assert answers.loss == np.mean([[0.0625, 0.0625], [0.0, 0.5625]])
    assert answers.error == 0.5, "a row is wrong where any label is"
    weighted = HeldAnswers(output, answers.y, LabelCode(2), np.array([2.0, 0.0]))
    assert weighted.loss == 0.0625


def test_several_outputs_are_judged_by_the_class_they_answer_with():
    answers, places = make_answers()
    scores = CODE.scores(answers.output)
    np.testing.assert_allclose(answers.margins, scores[np.arange(500), places])
    assert answers.error == np.mean(scores.argmax(axis=1) != places)
    tied = HeldAnswers(np.zeros((3, 3)), CODE.targets([0, 1, 2]), CODE)
    assert tied.error == 1.0


def test_the_temperature_has_the_smallest_log_loss():
    answers, places = make_answers()
    scores = CODE.scores(answers.output)

    def log_loss(temperature):
        chances = np.exp(temperature * scores)
        return -np.mean(np.log(chances[np.arange(500), places] / chances.sum(axis=1)))

    assert answers.loss == pytest.approx(log_loss(answers.temperature))
    assert all(answers.loss < log_loss(answers.temperature * factor) + 1e-4 for factor in (0.8, 1.25))


def test_no_answer_is_made_sure_by_rows_that_are_all_right():
    y = CODE.targets(np.arange(40) % 4)
    answers = HeldAnswers(0.5 * y, y, CODE)
    assert answers.error == 0.0
    assert TEMPERATURES[0] < answers.temperature < 30


def test_rows_weigh_as_if_they_were_repeated():
    answers, _ = make_answers(50)
    weights = np.r_[np.full(10, 2.0), np.ones(30), np.zeros(10)]
    index = np.r_[np.arange(10), np.arange(40)]
    weighted = HeldAnswers(answers.output, answers.y, CODE, weights)
    repeated = HeldAnswers(answers.output[index], answers.y[index], CODE)
    assert weighted.loss == pytest.approx(repeated.loss)


def test_parts_are_joined_in_their_order():
    answers, _ = make_answers(30, weights=np.arange(30.0))
    parts = [
        HeldAnswers(answers.output[p], answers.y[p], CODE, np.arange(30.0)[p])
        for p in (slice(9), slice(9, 30))
    ]
    joined = HeldAnswers.joined(parts)
    np.testing.assert_array_equal(joined.margins, answers.margins)
    np.testing.assert_array_equal(joined.row_weights, np.arange(30.0))


def test_what_is_no_number_is_never_the_best():
    answers, _ = make_answers(20)
    answers.output[3, 1] = np.nan
    assert np.isnan(answers.loss)
