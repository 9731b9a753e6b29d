"""Sentences about many classes are short, and no class is worse than they say."""

import re
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pbgnet.certificates import ROUTES, Foresight, round_up
from pbgnet.certificates.format.class_words import told_by_class, told_by_label, told_of_cells
from pbgnet.certificates.routes import Event, Measured, make_claim


def claims_of(errors, answered=None, n=50):
    return [
        make_claim(
            "classifier",
            "clopper-pearson",
            Measured(np.arange(n) < count),
            delta=0.05,
            event=Event(repr(f"c{k}"), answered),
        )
        for k, count in enumerate(errors)
    ]


@given(st.lists(st.integers(0, 50), min_size=2, max_size=12))
def test_each_class_is_told_or_is_below_what_is_told_of_the_others(errors):
    claims = claims_of(errors)
    told = told_by_class(claims, round_up)
    named = {
        name: bound for bound, name in re.findall(r"at most ([\d.]+) among rows of class '(c\d+)'", told)
    }
    assert len(named) == (len(claims) if len(claims) <= 5 else 3)
    (rest,) = re.findall(r"at most ([\d.]+) among rows of any other class", told) or ["0"]
    for claim in claims:
        bound = named.get(claim.given_class.strip("'"), rest)
        assert Fraction(bound) >= Fraction(claim.value)
    assert told.count(" and ") == 1


def test_of_many_classes_the_worst_come_first():
    told = told_by_class(claims_of([0, 9, 1, 30, 2, 20, 3]), round_up)
    assert re.findall(r"class '(c\d)'", told) == ["c3", "c5", "c1"]
    assert told.endswith(f"at most {round_up(claims_of([3])[0].value)} among rows of any other class")


def test_labels_are_told_alike():
    errors = [0, 9, 1, 30, 2, 20, 3]
    claims = [
        make_claim(
            "classifier",
            "clopper-pearson",
            Measured(np.arange(50) < count),
            delta=0.05,
            event=Event(label=repr(f"c{k}")),
        )
        for k, count in enumerate(errors)
    ]
    few, many = told_by_label(claims[:4], round_up), told_by_label(claims, round_up)
    assert re.findall(r"in label '(c\d)'", few) == ["c0", "c1", "c2", "c3"]
    assert re.findall(r"in label '(c\d)'", many) == ["c3", "c5", "c1"]
    assert many.endswith(f" and at most {round_up(claims[6].value)} in any other label")


def test_the_largest_cell_is_named():
    cells = [*claims_of([1, 7], answered="'x'"), *claims_of([2], answered="'y'")]
    told = told_of_cells(cells, round_up)
    assert "each of the 3 pairs" in told
    assert f"by at most {round_up(cells[1].value)} (class 'c1' answered with 'x')" in told


@pytest.mark.parametrize(("distance", "words"), [(1, "twice the kl bound"), (0.5, "4 times the kl bound")])
def test_the_factor_of_a_code_is_that_of_its_distance(distance, words):
    """What an error costs at least depends on how far the classes are apart."""
    measured = Measured(
        np.zeros(90, dtype=bool),
        losses=np.full(90, 0.1),
        margins=np.full(90, 0.8),
        divergence=1.0,
        distance=Fraction(distance),
    )
    settings = ROUTES["seeger"].plan(Foresight(90, 0.05))
    claim = make_claim("vote", "doubled", measured, settings, delta=0.05)
    assert claim.words == words
