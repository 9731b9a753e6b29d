"""What is proved, in plain words: the same numbers as the exact statement, never smaller ones."""

import dataclasses
import re
from fractions import Fraction

from hypothesis import given
from hypothesis import strategies as st
from tests.certificates.conftest import make_learned

from pbgnet.bounds import percent_up


@given(st.floats(1e-9, 1.0))
def test_a_percentage_never_shrinks_in_print(value):
    printed = Fraction(percent_up(value))
    assert printed >= 100 * Fraction(value)
    assert printed - 100 * Fraction(value) <= (Fraction(1, 10) if value >= 0.01 else Fraction(1, 100))


def test_rows_that_a_vote_has_not_seen_are_told_from_those_it_learned_from():
    held_out = make_learned(shift=0.0, certificate="held-out")[0].certificate
    seen = make_learned(shift=0.5, certificate="seeger")[0].certificate
    n, majority = held_out.inputs.n, held_out.majority
    bound, trivial = percent_up(held_out.error_rate.value), f"{100 * majority.error_rate:.1f}"
    assert held_out.summary == (
        f"Wrong at most {bound} % of the time (95 % confidence, {n} rows it has not seen); "
        f"always answering {majority.answer} is wrong on {trivial} % of them."
    )
    assert "not seen" not in seen.summary
    assert f"{seen.inputs.n} rows certify it" in seen.summary


def test_classes_are_named_with_their_bounds():
    certificate = make_learned(certificate="held-out", class_conditional=True)[0].certificate
    for claim in certificate.class_conditional:
        assert f"{percent_up(claim.value)} % among rows of class {claim.given_class}" in certificate.summary


def test_a_trivial_bound_proves_nothing():
    certificate = make_learned(certificate="held-out")[0].certificate
    (claim,) = certificate.claims
    trivial = dataclasses.replace(certificate, claims=(dataclasses.replace(claim, value=1.0),), majority=None)
    assert re.fullmatch(r"Nothing is proved \(95 % confidence, \d+ rows it has not seen\)\.", trivial.summary)
