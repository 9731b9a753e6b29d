"""Labels and classes: of one type, told apart, and read back in the user's own words."""

import numpy as np
import pytest

from pbgnet.certificates import Classes, Inputs
from pbgnet.certificates.data import fingerprint_labels, label_values
from pbgnet.exceptions import DamagedFileError, DomainError, LabelError


@pytest.mark.parametrize(
    "classes",
    [
        ("a",),
        ("a", "a"),
        ("a", 1),
        (0, 1.0),
        (float("nan"), 1.0),
        (None, "a"),
        (0.0, np.inf),
    ],
)
def test_two_different_classes_are_needed(classes):
    with pytest.raises(LabelError):
        Inputs(Classes(classes))


def test_unknown_labels_are_named():
    with pytest.raises(LabelError, match=r"y contains the unknown label 'maybe'; known are 'no', 'yes'"):
        Classes(("no", "yes")).places(["no", "maybe"], "y contains")
    np.testing.assert_array_equal(Classes((0, 1)).places(np.array([0.0, 1.0])), [0, 1])
    with pytest.raises(LabelError):
        Classes((0, 1)).places(["0", "1"])


@pytest.mark.parametrize("labels", [("no", "yes"), (0, 1), (2, 0, 1), (False, True), (0.5, 1.5), ("only",)])
def test_labels_come_back_as_they_were(labels):
    classes = Classes(tuple(np.array(labels)))
    assert classes.labels == labels
    assert {type(label) for label in classes.labels} == {type(labels[0])}
    assert classes.names == tuple(map(repr, labels))
    assert Classes.from_dict(classes.to_dict()) == classes
    places = np.arange(len(labels))[::-1]
    np.testing.assert_array_equal(classes.places(classes.named(places)), places)
    np.testing.assert_array_equal(classes.array, np.array(labels))


def test_classes_are_gathered_in_order():
    assert Classes.of(["b", "a"], None, ["c", "a"]).labels == ("a", "b", "c")
    with pytest.raises(LabelError, match="of different kinds: text and whole numbers"):
        Classes.of(["b"], [1])
    with pytest.raises(LabelError, match=r"numbers with decimals, such as 0\.7, but the labels are whole"):
        Classes((0, 1)).places([0.7, 0.1], "The classifier answers with")


def test_whole_numbers_that_do_not_fit_are_refused_rather_than_wrapped():
    largest = 2**63 - 1
    assert label_values(np.array([0, largest], dtype=np.uint64)).tolist() == [0, largest]
    assert label_values([-1, largest]).tolist() == [-1, largest]
    for labels in (
        np.array([0, 2**63], dtype=np.uint64),
        np.array([2**64 - 1, 2**64 - 2], dtype=np.uint64),
        np.array([0, 2**64], dtype=object),
        [2**63, 2**63 + 1, -1],  # NumPy makes float64 of them
        [-(2**63) - 1, 0],
    ):
        with pytest.raises(LabelError, match=r"signed 64-bit.*as text"):
            label_values(labels)
        with pytest.raises(LabelError, match="64-bit"):
            fingerprint_labels(labels)
    with pytest.raises(LabelError, match=r"2\*\*53"):
        label_values([2**53 + 1, 0.5])
    with pytest.raises(LabelError, match="64-bit"):
        Classes((0, 2**63))
    with pytest.raises(DamagedFileError, match="64-bit"):
        Classes.from_dict({"type": "int", "values": [0, 10**30]})


def test_masked_labels_are_refused():
    with pytest.raises(DomainError, match="y is masked in 1 of 2 places"):
        label_values(np.ma.array([0, 1], mask=[True, False]))
