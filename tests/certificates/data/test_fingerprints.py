"""Fingerprints: equal for equal content, different after any change."""

import hashlib
import struct
import time

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as npst
from scipy import sparse

from pbgnet.certificates.data import (
    describe_data,
    fingerprint_array,
    fingerprint_columns,
    fingerprint_features,
    fingerprint_json,
    fingerprint_labels,
    fingerprint_split,
    fingerprint_tensors,
)
from pbgnet.exceptions import DtypeError, LabelError, ShapeError

arrays = npst.arrays(
    np.float64, npst.array_shapes(min_dims=2, max_dims=2, max_side=5), elements=st.floats(allow_nan=False)
)


def fingerprint_data(x, y):
    return describe_data(x, y).data


def fingerprint_table(table):
    return fingerprint_features(table), fingerprint_columns(table)


@given(arrays, st.data())
def test_one_changed_bit_changes_it(array, data):
    row = data.draw(st.integers(0, array.shape[0] - 1))
    column = data.draw(st.integers(0, array.shape[1] - 1))
    bit = data.draw(st.integers(0, 51))
    changed = array.copy()
    changed.view(np.int64)[row, column] ^= 1 << bit
    if np.isnan(changed).any():
        return  # infinity became NaN
    for fingerprint in (fingerprint_array, lambda x: fingerprint_tensors([torch.from_numpy(x)])):
        assert fingerprint(array) == fingerprint(array.copy())
        assert fingerprint(array) != fingerprint(changed)
    assert fingerprint_data(array, range(len(array))) != fingerprint_data(changed, range(len(array)))


def test_layout_and_precision_do_not_matter():
    x = np.arange(12.0).reshape(3, 4)
    one = fingerprint_array(x)
    assert one == fingerprint_array(np.asfortranarray(x)) == fingerprint_array(x.astype(np.float32))
    assert one == fingerprint_array(x[::-1][::-1]) == fingerprint_array(x.astype(">f8"))
    assert fingerprint_array(x.astype(np.int8)) == fingerprint_array(x.astype(np.uint64)) != one
    assert fingerprint_data(x, [0, 1, 1]) == fingerprint_data(x.astype(np.uint8), [0, 1, 1])
    assert fingerprint_array(np.float64(3)) != fingerprint_array(np.array([3.0]))


def test_shape_and_order_matter():
    x = np.arange(12.0).reshape(3, 4)
    different = [x, x.reshape(4, 3), x.ravel(), x[[1, 0, 2]], x[:, ::-1], x[:2], x.T]
    assert len({fingerprint_array(each) for each in different}) == len(different)


def test_blocks_do_not_matter(monkeypatch):
    x = np.random.default_rng(0).normal(size=(50, 7))
    whole = fingerprint_array(x)
    monkeypatch.setattr("pbgnet.certificates.data.fingerprints.BLOCK", 20)
    assert fingerprint_array(x) == whole


def test_all_nans_are_one():
    other = np.array([0x7FF8000000000123], dtype=np.int64).view(np.float64)
    assert np.isnan(other).all()
    assert fingerprint_array(other) == fingerprint_array(np.array([np.nan])) != fingerprint_array(np.zeros(1))


def test_sparse_matrices_are_canonical():
    x = np.array([[0.0, 2.0, 0.0], [1.0, 0.0, 3.0]])
    csr = sparse.csr_array(x)
    shuffled = sparse.csr_array(
        (np.array([2.0, 3.0, 1.0]), np.array([1, 2, 0]), np.array([0, 1, 3])), shape=(2, 3)
    )
    explicit = sparse.coo_array(([2.0, 1.0, 1.0, 2.0, 0.0], ([0, 1, 1, 1, 0], [1, 0, 2, 2, 0])), shape=(2, 3))
    assert fingerprint_array(csr) == fingerprint_array(shuffled) == fingerprint_array(explicit)
    assert shuffled.indices.tolist() == [1, 2, 0], "the matrix given must stay as it is"
    csr.data[0] = np.nextafter(2.0, 3.0)
    assert fingerprint_array(csr) != fingerprint_array(shuffled)
    assert fingerprint_data(shuffled, [0, 1]) != fingerprint_data(x, [0, 1])


@given(
    st.lists(st.lists(st.none() | st.text(max_size=3), min_size=2, max_size=2), min_size=1, max_size=4),
    st.data(),
)
def test_texts_cannot_run_into_each_other(rows, data):
    table = np.array([[*row, "x"] for row in rows], dtype=object)
    other = np.array([[*row, "x"] for row in data.draw(st.permutations(rows))], dtype=object)
    same = table.tolist() == other.tolist()
    assert (fingerprint_table(table) == fingerprint_table(other)) == same


def test_tables_see_names_types_and_gaps():
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame({"a": [1, 2], "b": ["x", None], "c": [True, False]})
    one = fingerprint_table(frame)
    assert one == fingerprint_table(frame.convert_dtypes()) == fingerprint_table(frame.astype({"a": float}))
    assert one == fingerprint_table(frame.set_index(pd.Index([5, 6])))
    changed = [
        frame.rename(columns={"a": "A"}),
        frame[["b", "a", "c"]],
        frame.iloc[::-1],
        frame.assign(a=["1", "2"]),
        frame.assign(b=["x", ""]),
        frame.assign(b=["x", "None"]),
        frame.assign(c=[True, True]),
    ]
    assert one not in {fingerprint_table(each) for each in changed}
    assert fingerprint_data(frame, [0, 1]) != fingerprint_data(frame, [0, 0])


def test_labels():
    assert fingerprint_labels([0, 1]) == fingerprint_labels(np.array([0.0, 1.0], dtype=np.float32))
    assert fingerprint_labels(np.array(["a", "b"])) == fingerprint_labels(np.array(["a", "b"], dtype=object))
    assert fingerprint_labels([True, False]) == fingerprint_labels(np.array([True, False], dtype=object))
    different = [[0, 1], [1, 0], [True, False], ["0", "1"], ["01"], ["", "01"], [0.5, 1], [0, 1, 1]]
    assert len({fingerprint_labels(each) for each in different}) == len(different)


@pytest.mark.parametrize(
    ("labels", "error"),
    [
        ([[0, 2], [1, 0]], LabelError),
        ([[[0]], [[1]]], ShapeError),
        ([None, "a"], LabelError),
        ([np.nan, 1.0], LabelError),
        ([1j], LabelError),
        (np.array([1, "a"], dtype=object), LabelError),
    ],
)
def test_labels_that_are_none(labels, error):
    with pytest.raises(error):
        fingerprint_labels(labels)


def test_the_form_of_the_data_does_not_matter():
    x = np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])
    one = describe_data(x, ["a", "b", "a"])
    forms = [x.astype(bool), x.astype(object), x.astype(int), x.tolist(), x.astype(bool).tolist()]
    forms += [x.astype(bool).astype(object), np.array([[True, 0], [0, 1.0], [1, True]], dtype=object)]
    for form in forms:
        for labels in (["a", "b", "a"], [["a"], ["b"], ["a"]], np.array([["a"], ["b"], ["a"]], dtype=object)):
            assert describe_data(form, labels) == one
    assert one.data == fingerprint_data(x, ["a", "b", "a"])
    assert fingerprint_array(x.astype(bool)) == fingerprint_array(x)
    assert fingerprint_labels([True, False]) != fingerprint_labels([1, 0])


def test_each_part_of_the_data_has_its_own():
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame({"a": [1, 2], "b": ["x", None]})
    one = describe_data(frame, [0, 1])

    def changed(table, labels):
        other = describe_data(table, labels)
        assert other.data != one.data
        return {key for key, value in vars(other).items() if value != vars(one)[key]}

    assert changed(frame.rename(columns={"a": "A"}), [0, 1]) == {"columns"}
    assert changed(frame.assign(a=[1, 3]), [0, 1]) == {"features"}
    assert changed(frame, [1, 1]) == {"labels"}
    assert changed(frame.iloc[:1], [0]) == {"features", "labels", "n_rows"}
    assert changed(frame[["b", "a"]], [0, 1]) == {"features", "columns"}
    assert changed(frame.to_numpy(), [0, 1]) == {"columns"}


def test_split_and_json_and_strangers():
    a, b = np.array([0, 1]), np.array([2, 3])
    splits = [(a, b), (b, a), (a[::-1], b), (np.array([0, 1, 2]), np.array([3]))]
    assert len({fingerprint_split(*each) for each in splits}) == len(splits)
    assert fingerprint_json({"a": [1.0, None]}) == fingerprint_json({"a": [1.0, None]})
    assert fingerprint_json([1]) != fingerprint_json([1.0])
    assert fingerprint_tensors([torch.ones(2, 1)]) != fingerprint_tensors([torch.ones(1), torch.ones(1)])
    with pytest.raises(DtypeError, match="Only arrays of numbers"):
        fingerprint_array(np.array(["a"]))


def test_it_is_fast():
    x = np.ones((20_000, 784), dtype=np.float32)
    start = time.process_time()
    fingerprint_array(x)
    assert time.process_time() - start < 5.0


@pytest.mark.parametrize("texts", [["a", "bc", "a"], ["é", "東京", "a"], ["\ud800", ""]])
def test_text_labels_are_hashed_behind_their_lengths(texts):
    written = [text.encode("utf-8", "surrogatepass") for text in texts]
    lengths = struct.pack(f"<{len(texts)}q", *map(len, written))
    head = f"labels:O:({len(texts)},)\narray:<i8:({len(texts)},)\n".encode()
    assert fingerprint_labels(texts) == hashlib.sha256(head + lengths + b"".join(written)).hexdigest()
