"""Codes of signs for classes: distances, scores, answers, and the lemma that certificates rest on."""

import json
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pbgnet.exceptions import DamagedFileError, DomainError, ShapeError, UnknownNameError
from pbgnet.networks import CODES, Code, make_code, read_code


@pytest.mark.parametrize("name", CODES)
def test_two_classes_are_the_two_signs_of_one_output(name: str) -> None:
    assert make_code(name, 2).matrix.tolist() == [[-1], [1]]


@pytest.mark.parametrize("n_classes", [3, 4, 7, 8, 9, 13])
def test_named_codes_have_the_outputs_and_distances_they_promise(n_classes: int) -> None:
    c = n_classes
    exhaustive, hadamard, single = (make_code(name, c) for name in CODES)
    assert exhaustive.n_outputs == 2 ** (c - 1) - 1
    assert set(exhaustive.nearest) == {2 ** (c - 2)}
    order = 2 ** int(np.ceil(np.log2(c)))
    assert hadamard.n_outputs == order - 1
    assert set(hadamard.nearest) == {order // 2}
    assert single.n_outputs == c
    assert set(single.nearest) == {2}


def test_nearest_counts_the_outputs_in_which_rows_differ() -> None:
    rng = np.random.default_rng(0)
    matrix = np.unique(rng.choice([-1, 1], (6, 9)), axis=0)
    by_hand = [
        min(int((row != other).sum()) for k, other in enumerate(matrix) if k != j)
        for j, row in enumerate(matrix)
    ]
    assert Code(matrix).nearest.tolist() == by_hand


@pytest.mark.parametrize("name", CODES)
@pytest.mark.parametrize("n_classes", [2, 3, 5])
def test_outputs_that_are_the_code_of_a_class_are_answered_with_it(name: str, n_classes: int) -> None:
    code = make_code(name, n_classes)
    places = np.arange(n_classes)
    assert code.decode(code.targets(places)).tolist() == places.tolist()
    scores = code.scores(code.targets(places))
    np.testing.assert_allclose(np.diag(scores), 1.0)
    np.testing.assert_allclose(
        code.leads(code.targets(places), places), 2 * code.nearest / code.n_outputs, atol=1e-15
    )


def test_a_tie_is_answered_with_the_first_class_and_leads_by_nothing() -> None:
    code = make_code("one-against-rest", 3)
    outputs = np.zeros((1, 3))
    assert code.decode(outputs).tolist() == [0]
    assert code.leads(outputs, np.array([0])).tolist() == [0.0]


def right_chance(code: Code, outputs: np.ndarray, place: int) -> float:
    """The chance that an output drawn at random, of a drawn network, has the sign of the class."""
    return float(np.mean((1 + code.matrix[place] * outputs) / 2))


@settings(max_examples=200, deadline=None)
@given(st.data())
def test_where_the_vote_errs_a_voter_is_right_at_most_as_often_as_the_lemma_says(data: st.DataObject) -> None:
    name = data.draw(st.sampled_from(sorted(CODES)))
    code = make_code(name, data.draw(st.integers(2, 7)))
    outputs = np.array(
        data.draw(st.lists(st.floats(-1, 1), min_size=code.n_outputs, max_size=code.n_outputs))
    )
    row = outputs if code.n_outputs == 1 else outputs[None, :]
    for place in range(code.n_classes):
        if code.leads(row, np.array([place]))[0] <= 0:
            distance = Fraction(int(code.nearest[place]), code.n_outputs)
            assert right_chance(code, outputs, place) <= 1 - distance / 2 + 1e-12


@pytest.mark.parametrize("name", CODES)
def test_the_lemma_is_attained(name: str) -> None:
    code = make_code(name, 6)
    place, distance = 4, code.nearest[4] / code.n_outputs
    other = next(
        k
        for k in range(6)
        if k != place and (code.matrix[k] != code.matrix[place]).sum() == code.nearest[place]
    )
    # Certain and right where the two classes agree, undecided where they differ: a tie, which is an error.
    outputs = np.where(code.matrix[other] == code.matrix[place], code.matrix[place], 0).astype(float)
    assert code.leads(outputs[None, :], np.array([place]))[0] <= 0
    assert right_chance(code, outputs, place) == pytest.approx(1 - distance / 2, abs=1e-15)


@pytest.mark.parametrize("name", [*CODES, "own"])
def test_codes_survive_json(name: str) -> None:
    code = Code(make_code("hadamard", 5).matrix) if name == "own" else make_code(name, 5)
    again = read_code(json.loads(json.dumps(code.to_dict())))
    assert again.name == name
    assert np.array_equal(again.matrix, code.matrix)


def test_a_code_that_was_changed_in_a_file_is_refused() -> None:
    written = make_code("hadamard", 5).to_dict()
    for change in (
        {"n_classes": 1},
        {"n_classes": "5"},
        {"matrix": [[1]]},
        {"name": "other"},
        {"name": "own"},
    ):
        with pytest.raises(DamagedFileError):
            read_code({**written, **change})


def test_a_thousand_classes_have_a_code_in_no_time() -> None:
    code = make_code("auto", 1000)
    assert code.n_outputs == 1023
    assert code.nearest.min() == 512


@pytest.mark.parametrize(
    ("matrix", "error"),
    [
        ([[1, 1], [1, 1]], DomainError),
        ([[1, 0], [1, -1]], DomainError),
        ([[1, -1]], ShapeError),
        ([1, -1], ShapeError),
        ([["a"], ["b"]], DomainError),
    ],
)
def test_matrices_that_tell_no_classes_apart_are_refused(
    matrix: list[list[int]], error: type[Exception]
) -> None:
    with pytest.raises(error):
        make_code(matrix, 2)


def test_unknown_or_ill_fitting_codes_are_refused_with_advice() -> None:
    with pytest.raises(UnknownNameError, match="hadamard"):
        make_code("gray", 3)
    with pytest.raises(DomainError, match="hadamard"):
        make_code("exhaustive", 40)
    with pytest.raises(ShapeError, match="2 classes, but there are 3"):
        make_code([[-1], [1]], 3)
