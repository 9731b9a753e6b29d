"""Several labels as the user has them: arrays, tables and sparse matrices of 0 and 1."""

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from pbgnet.certificates import LabelledRows, Split, describe_data
from pbgnet.certificates.data import (
    Classes,
    Inputs,
    code_for,
    fingerprint_labels,
    has_several_labels,
    indicator_values,
    label_names,
    target_values,
)
from pbgnet.exceptions import LabelError, OptionError, ShapeError
from pbgnet.networks import LabelCode

Y = np.array([[1, 0, 0], [0, 0, 0], [1, 0, 1], [0, 0, 1]])  # a constant column, and a row without labels

FORMS = {
    "array": Y,
    "truth values": Y.astype(bool),
    "floats": Y.astype(float),
    "objects": Y.astype(object),
    "list": Y.tolist(),
    "frame": pd.DataFrame(Y),
    "named": pd.DataFrame(Y, columns=["a", "b", "c"]).astype("Int64"),
    "sparse": sparse.csr_matrix(Y),
    "sparse array": sparse.csc_array(Y),
}


@pytest.mark.parametrize("form", FORMS)
def test_any_form_is_the_same_matrix(form):
    found = indicator_values(FORMS[form])
    assert found.dtype == np.int8
    assert (found == Y).all()
    assert fingerprint_labels(FORMS[form]) == fingerprint_labels(Y)
    assert describe_data(np.eye(4), FORMS[form]).n_rows == 4


def test_another_matrix_has_another_fingerprint():
    other = Y.copy()
    other[1, 1] = 1
    assert len({fingerprint_labels(y) for y in (Y, other, Y[::-1], Y.T[:, :3], Y[:, :2])}) == 5


@pytest.mark.parametrize(
    ("value", "error"), [(np.nan, LabelError), (2, LabelError), (-1, LabelError), (0.5, LabelError)]
)
def test_other_values_are_refused(value, error):
    wrong = Y.astype(float)
    wrong[2, 1] = value
    with pytest.raises(error, match="labels"):
        indicator_values(wrong)
    with pytest.raises(error, match="labels"):
        indicator_values(wrong.astype(object))


def test_gaps_and_texts_are_refused():
    with pytest.raises(LabelError, match="missing values"):
        indicator_values(np.full((4, 2), np.nan))
    with pytest.raises(LabelError, match="0 and 1"):
        indicator_values([["yes", "no"], ["no", "no"]])
    missing = pd.DataFrame({"a": [1, None], "b": [0, 1]}, dtype=object)
    with pytest.raises(LabelError):
        indicator_values(missing)


@pytest.mark.parametrize("y", [[0, 1, 1, 0], [[0], [1]], np.zeros((3, 2, 2)), sparse.csr_matrix(Y[:, :1])])
def test_one_label_is_an_ordinary_classification(y):
    assert not has_several_labels(y)
    with pytest.raises(ShapeError, match="PBGNetClassifier"):
        indicator_values(y)


def test_names_are_those_of_the_columns():
    assert label_names(FORMS["named"]).labels == ("a", "b", "c")
    assert label_names(FORMS["frame"]).labels == ("0", "1", "2")
    assert label_names(Y).labels == (0, 1, 2)
    assert label_names(FORMS["sparse"]).labels == (0, 1, 2)


def test_rows_are_split_as_a_set():
    rng = np.random.default_rng(0)
    X, y, order = rng.normal(size=(30, 2)), rng.integers(0, 2, (30, 3)), rng.permutation(30)
    rows, turned = LabelledRows(X, y), LabelledRows(X[order], sparse.csr_matrix(y[order]))
    assert rows.set_fingerprint == turned.set_fingerprint
    one, other = (Split.of_table(each, fraction=0.5, seed=3) for each in (rows, turned))
    assert set(one.prior_rows.tolist()) == set(order[other.prior_rows].tolist())
    y[4, 2] = 1 - y[4, 2]
    assert LabelledRows(X, y).set_fingerprint != turned.set_fingerprint
    with pytest.raises(ShapeError, match="30 rows, but there are 29"):
        LabelledRows(X, y[1:])


def test_outputs_answer_for_labels():
    inputs = Inputs(Classes(("a", "b", "c")), code=LabelCode(3))
    output = np.array([[0.5, -1.0, 0.0]])
    assert inputs.answers(output).tolist() == [[1, 0, 0]]
    assert inputs.shares(output).tolist() == [[0.75, 0.0, 0.5]]
    assert inputs.decisions(output) is output
    assert inputs.temperature is None
    again = Inputs.from_dict(inputs.to_dict())
    assert again.has_several_labels
    assert again.fingerprint() == inputs.fingerprint()
    with pytest.raises(OptionError, match="temperature"):
        Inputs(inputs.classes, code=LabelCode(3), temperature=2.0)
    with pytest.raises(ShapeError, match="2 labels but 3 names"):
        Inputs(inputs.classes, code=LabelCode(2))
    with pytest.raises(ShapeError):
        inputs.truth(Y[:, :2])


def test_labels_need_no_code():
    assert code_for(target_values(Y), "auto", 3) == LabelCode(3)
    assert code_for(target_values([0, 1]), "auto", 2).n_outputs == 1
    with pytest.raises(OptionError, match="do not need a code"):
        code_for(target_values(Y), "hadamard", 3)
