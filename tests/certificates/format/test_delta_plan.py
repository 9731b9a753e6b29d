"""One plan of delta: what each sentence costs, and that it adds up."""

import dataclasses
from fractions import Fraction

import numpy as np
import pytest
from tests.certificates.conftest import Reads, build_model, make_data, verify

from pbgnet.certificates import certify, certify_by_disagreement


def test_each_claim_has_a_line_and_all_add_up_to_delta():
    x, y = make_data(60, classes=(0, 1))
    certificate = certify(Reads((0, 1)), x, y, loss="brier", groups=["a", "b"] * 30, n_models=3).certificate
    plan = certificate.delta_plan
    assert [share.subject for share in plan.shares] == [
        "error rate over all rows",
        "error rate in group 'a', upper limit",
        "error rate in group 'a', lower limit",
        "error rate in group 'b', upper limit",
        "error rate in group 'b', lower limit",
        "expected brier loss",
    ]
    assert {share.times for share in plan.shares} == {3}
    assert Fraction(certificate.delta) * (1 - Fraction(1, 10**9)) < plan.total <= Fraction(certificate.delta)
    assert str(plan).endswith("for each of 3: together at most 0.05.")


def test_dozens_of_one_kind_are_one_line():
    x, y = make_data(90, classes=(0, 1, 2))
    plan = certify(Reads((0, 1, 2)), x, y, confusion=True, groups=np.arange(90) % 5).certificate.delta_plan
    lines = dict(plan.lines)
    assert lines["10 limits of the error rate in groups"] == "0.0025 each"
    assert (
        lines["rows of class 0 answered with 1"] == "0.0025"
    )  # half of delta each, for ten claims and for ten
    assert len(plan.lines) == 1 + 3 + 6 + 1


@pytest.mark.parametrize(
    ("terms", "subjects"),
    [
        ({"certificate": "seeger"}, ["expected linear loss, which also covers the error rate over all rows"]),
        ({"certificate": "held-out"}, ["error rate over all rows"]),
        (
            {"certificate": "auto"},
            ["error rate over all rows", "the same by the other of the certificate types vote and held-out"],
        ),
    ],
)
def test_what_follows_from_one_bound_is_paid_once_and_a_choice_twice(terms, subjects):
    model, *_ = build_model("inside", **terms)
    plan = model.certificate.delta_plan
    assert [share.subject for share in plan.shares] == subjects
    assert Fraction(plan.delta) * (1 - Fraction(1, 10**9)) < plan.total <= Fraction(plan.delta)


def test_draws_have_a_share():
    model, *_ = build_model("zero", aggregation="monte_carlo", n_samples=3, seed=1)
    assert [share.subject for share in model.certificate.delta_plan.shares][1] == "draws of the sampled risk"
    assert model.certificate.delta_plan.total <= Fraction(model.certificate.delta)


def test_a_disagreement_adds_the_certified_vote():
    vote = build_model("zero")[0]
    fresh = np.random.default_rng(9).normal(size=(100, 1))
    names = lambda X: np.where(np.asarray(X)[:, 0] > 0, "yes", "no")  # noqa: E731
    plan = certify_by_disagreement(vote, names, fresh, n_models=2).certificate.delta_plan
    assert [share.times for share in plan.shares] == [2, 1]
    assert plan.total <= Fraction(plan.delta)


def test_verify_adds_it_up():
    x, y = make_data(60, classes=(0, 1))
    certified = certify(Reads((0, 1)), x, y, groups=["a", "b"] * 30)
    claims = certified.certificate.claims
    greedy = (dataclasses.replace(claims[0], delta=0.03).recomputed(), *claims[1:])
    certificate = dataclasses.replace(certified.certificate, claims=greedy)
    forged = dataclasses.replace(certified, certificate=certificate)
    steps = {step.name: step for step in verify(forged, x, y, groups=["a", "b"] * 30).steps}
    assert steps["plan of delta"].status == "failed"
    assert "error rate over all rows 0.03" in steps["plan of delta"].detail
