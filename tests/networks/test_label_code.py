"""Several labels in the place of a code: one output each, read one by one."""

import itertools

import numpy as np
import pytest

from pbgnet.exceptions import DamagedFileError, DomainError, LabelError, ShapeError
from pbgnet.networks import LabelCode, make_code, read_code


def test_it_is_the_code_of_all_sign_vectors():
    """The row of signs that agrees best with the outputs is the one of their own signs."""
    rng, code = np.random.default_rng(0), LabelCode(3)
    every = np.array(list(itertools.product((0, 1), repeat=3)))
    whole = make_code(2 * every - 1, 8)
    output = rng.uniform(-1, 1, (50, 3))
    assert (every[whole.decode(output)] == code.decode(output)).all()
    assert whole.nearest.min() == 1  # D = 1 / L
    truth = rng.integers(0, 8, 50)
    leads, own = whole.leads(output, truth) * 3, code.leads(output, every[truth])  # scores are means of 3
    assert ((leads > 0) == (own > 0)).all()
    # Where it is right, the nearest other sign vector differs in the least certain output alone.
    assert np.abs(leads - own)[own > 0].max() < 1e-12
    assert np.abs(whole.gaps(output) * 3 - code.gaps(output)).max() < 1e-12


def test_a_row_is_wrong_where_any_label_is():
    rng, code = np.random.default_rng(1), LabelCode(4)
    output, truth = rng.uniform(-1, 1, (200, 4)), rng.integers(0, 2, (200, 4))
    wrong = (code.decode(output) != truth).any(axis=1)
    assert ((code.leads(output, truth) <= 0) == wrong).all()
    assert 0 < wrong.sum() < 200
    assert (code.targets(code.decode(output)) == np.sign(output)).all()
    assert (code.decode(np.zeros((1, 4))) == 0).all()
    assert code.leads(np.zeros((1, 4)), np.zeros((1, 4), dtype=int)) == 0  # a tie is an error


@pytest.mark.parametrize("count", [0, 1, 8193])
def test_labels_are_two_or_more(count):
    with pytest.raises(DomainError):
        LabelCode(count)


@pytest.mark.parametrize(
    ("truth", "error"),
    [
        (np.zeros((3, 2), dtype=int), ShapeError),
        (np.zeros(4, dtype=int), ShapeError),
        (np.full((4, 2), 2), LabelError),
        (np.zeros((4, 2)), LabelError),
    ],
)
def test_the_truth_is_a_matrix_of_zeros_and_ones(truth, error):
    with pytest.raises(error):
        LabelCode(2).check_truth(truth, 4)


def test_it_is_told_from_a_code_in_a_file():
    for code in (LabelCode(3), make_code("hadamard", 3), make_code([[1, 1], [1, -1], [-1, 1]], 3)):
        again = read_code(code.to_dict())
        assert type(again) is type(code)
        assert again.to_dict() == code.to_dict()
    for wrong in ({"n_classes": 1}, {"n_classes": "3"}, {"matrix": [[1]]}, {"name": "tags"}):
        with pytest.raises(DamagedFileError):
            read_code(LabelCode(3).to_dict() | wrong)
