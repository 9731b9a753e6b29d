"""Another classifier, certified through how often it differs from a certified vote."""

import dataclasses

import numpy as np
import pytest
import torch
from scipy import sparse
from tests.certificates.conftest import failed, verify

from pbgnet.bounds import disagreement_bound, split_delta
from pbgnet.certificates import (
    Classes,
    Inputs,
    PriorRecord,
    certify,
    certify_by_disagreement,
    certify_network,
    load_model,
    load_predictions,
    save_model,
)
from pbgnet.certificates.classifier import compare, seen_rows
from pbgnet.certificates.data import fingerprint_rows
from pbgnet.certificates.format import Union
from pbgnet.certificates.routes.pac_bayes import LossSettings
from pbgnet.estimators import PBGDClassifier
from pbgnet.exceptions import (
    DomainError,
    DtypeError,
    DuplicateRowsWarning,
    LabelError,
    OptionError,
    PriorLeakageError,
    ShapeError,
    UncertifiedError,
)
from pbgnet.networks import AggregatedNetwork


def names(X, threshold=0.0):
    return np.where(np.asarray(X)[:, 0] > threshold, "yes", "no")


@pytest.fixture
def vote(build):
    return build("zero")[0]


@pytest.fixture
def fresh():
    return np.random.default_rng(9).normal(size=(500, 1))


def leant(certificate, reference):
    """The same certificate, leaning on something else."""
    subject = dataclasses.replace(certificate.subject, reference=reference)
    return dataclasses.replace(certificate, subject=subject)


def test_the_bound_is_the_sum_of_both_at_their_shares(vote, fresh):
    shipped = certify_by_disagreement(vote, lambda X: names(X, 0.1), fresh, delta_share=0.2)
    certificate, claim = shipped.certificate, shipped.certificate.error_rate
    differ = int(np.sum(names(fresh, 0.1) != vote.predict(fresh)))
    assert differ > 5
    assert (claim.evidence.n, claim.evidence.n_errors, claim.route) == (500, differ, "disagreement")
    reference = certificate.subject.reference.claim
    again = dataclasses.replace(vote.certificate.error_rate, delta=reference.delta).recomputed()
    assert reference == again
    assert reference.value > vote.certificate.error_rate.value
    assert claim.value == disagreement_bound(reference.value, differ, 500, claim.delta)
    assert claim.delta == pytest.approx(0.01)
    assert reference.delta == pytest.approx(0.04)
    assert claim.delta + reference.delta <= 0.05
    assert certificate.confidence == 0.95
    assert f"the {differ} rows on which the two disagree" in certificate.statement
    assert certify_by_disagreement(vote, names, fresh, confidence=0.8).certificate.delta == 0.2


def test_shares_of_the_reference_are_divided_as_its_own_were(build, fresh):
    several, *_ = build("zero", n_priors=3, certificate="auto", class_conditional=True)
    reference = certify_by_disagreement(several, names, fresh).certificate.subject.reference
    assert (reference.n_priors, reference.n_shares) == (3, 6)
    assert reference.claim.delta * 18 <= 0.025
    assert reference.claim.delta * 18 == pytest.approx(0.025)


def test_it_is_saved_and_verified(vote, build, fresh, tmp_path):
    shipped = certify_by_disagreement(vote, names, fresh)
    folder = shipped.save(tmp_path / "shipped")
    assert load_predictions(folder).certificate == shipped.certificate
    report = verify(folder, fresh)
    assert report.ok, str(report)
    assert [step.name for step in report.trusted] == ["answers", "certified rows", "reference"]
    full = verify(folder, fresh, model=names, reference=vote)
    assert full.ok, str(full)
    assert [step.name for step in full.trusted] == ["certified rows", "reference"]
    told = (
        "taken on trust: the classifier and the certified vote were fixed without these rows; the classifier"
    )
    assert f"{told} is the only one tried on them;" in str(full)
    assert "the claims (the confidence and how it is divided) were chosen before looking at the rows" in str(
        full
    )
    assert "taken on trust: the certificate of the vote is correct" in str(full)
    verified = verify(folder, fresh, model=names, reference=vote, reference_data=build("zero")[1:])
    assert verified.ok, str(verified)
    assert [step.name for step in verified.trusted] == ["certified rows"]
    _, X, y = build("zero")
    wrong = verify(folder, fresh, model=names, reference=vote, reference_data=(X, y[::-1]))
    assert failed(wrong) == {"reference"}
    assert "its own verification failed at: data: labels" in str(wrong)
    with pytest.raises(OptionError, match="pass the vote as reference"):
        verify(folder, fresh, reference_data=(X, y))
    assert failed(verify(folder, fresh, model=lambda X: names(X, 1.0), reference=vote)) == {"answers"}
    assert "data: features" in failed(verify(folder, fresh + 1))


def test_lies_are_caught(vote, build, fresh):
    shipped = certify_by_disagreement(vote, names, fresh)
    claim, stated = shipped.certificate.error_rate, shipped.certificate.subject.reference

    def check(claim, reference, given=None):
        certificate = leant(dataclasses.replace(shipped.certificate, claims=(claim,)), reference)
        return failed(verify(dataclasses.replace(shipped, certificate=certificate), fresh, reference=given))

    def leaning(reference):
        evidence = dataclasses.replace(claim.evidence, reference_bound=reference.claim.value)
        return dataclasses.replace(claim, evidence=evidence).recomputed()

    assert check(claim, stated, vote) == set()
    assert check(claim, stated, build("zero", confidence=0.9)[0]) == {"reference"}
    # All of delta for the vote, and again a share for the disagreement.
    greedy = dataclasses.replace(stated, claim=dataclasses.replace(stated.claim, delta=0.05).recomputed())
    assert check(leaning(greedy), greedy) == {"plan of delta"}
    assert check(leaning(greedy), stated) == {"reference", "evidence"}
    lower = dataclasses.replace(stated, claim=dataclasses.replace(stated.claim, value=0.001))
    assert check(leaning(lower), lower) == {"reference"}
    # A vote with less loss than the certified one.
    evidence = dataclasses.replace(stated.claim.evidence, empirical_risk=0.001)
    better = dataclasses.replace(
        stated, claim=dataclasses.replace(stated.claim, evidence=evidence).recomputed()
    )
    assert check(leaning(better), better) == set(), "on trust without the vote"
    assert check(leaning(better), better, vote) == {"reference"}
    alone = dataclasses.replace(stated, n_priors=2)
    assert "reference" in check(claim, alone, vote)


def test_a_vote_that_is_not_the_certified_one_is_refused(vote, fresh, build):
    shipped = certify_by_disagreement(vote, names, fresh)
    turned = AggregatedNetwork([-weight for weight in vote.network.weights], vote.network.prior_weights)
    other = dataclasses.replace(vote, network=turned)
    swapped = dataclasses.replace(vote, inputs=Inputs(Classes(("yes", "no"))))
    other_prior = dataclasses.replace(vote, network=AggregatedNetwork(list(vote.network.weights)))
    for forged, what in (
        (other, "posterior weights"),
        (swapped, "preprocessing"),
        (other_prior, "prior weights"),
    ):
        with pytest.raises(UncertifiedError, match=f"does not match its certificate.*{what}"):
            certify_by_disagreement(forged, names, fresh)
        report = verify(shipped, fresh, model=names, reference=forged)
        assert failed(report) == {"reference"}
        assert what in str(report)


def test_several_classifiers_share_what_the_disagreement_has(vote, fresh):
    one, many = (certify_by_disagreement(vote, names, fresh, n_models=n).certificate for n in (1, 4))
    assert many.error_rate.delta == split_delta(one.error_rate.delta, 4)
    assert many.error_rate.value > one.error_rate.value
    assert many.subject.reference == one.subject.reference
    assert "This is a single classifier, not the best of several on these rows." in one.assumptions
    assert "one of at most 4 classifiers" in " ".join(many.assumptions)
    for certificate in (one, many):
        assert "The confidence was divided between the two before looking at these rows." in (
            certificate.assumptions
        )
    with pytest.raises(DomainError, match="at least 1"):
        certify_by_disagreement(vote, names, fresh, n_models=0)
    shipped = certify_by_disagreement(vote, names, fresh, n_models=4)
    assert verify(shipped, fresh, model=names, reference=vote).ok
    # As many classifiers as it says, but the share of one.
    claim = dataclasses.replace(many.error_rate, delta=one.error_rate.delta).recomputed()
    greedy = dataclasses.replace(shipped, certificate=dataclasses.replace(many, claims=(claim,)))
    assert failed(verify(greedy, fresh, model=names, reference=vote)) == {"plan of delta"}
    huge = leant(many, dataclasses.replace(many.subject.reference, n_priors=2**40, n_shares=2**40))
    assert "plan of delta" in failed(verify(dataclasses.replace(shipped, certificate=huge), fresh))


def test_nothing_else_is_claimed_chosen_or_paid_for(vote, fresh):
    shipped = certify_by_disagreement(vote, names, fresh)
    genuine = shipped.certificate
    by_class = dataclasses.replace(genuine.error_rate, given_class="'yes'")
    no_class = dataclasses.replace(genuine.error_rate, given_class="'no'")
    choices = genuine.choices
    for lie in (
        {"claims": (genuine.error_rate, no_class, by_class)},
        {"alternatives": (genuine.error_rate,)},
        {"choices": dataclasses.replace(choices, unions=(Union("the classes", 1),))},
        {"choices": dataclasses.replace(choices, on_prior_rows=("everything",))},
        {"choices": dataclasses.replace(choices, candidates=("disagreement", "clopper-pearson"))},
        {"choices": dataclasses.replace(choices, certificate="auto")},
    ):
        forged = dataclasses.replace(shipped, certificate=dataclasses.replace(genuine, **lie))
        assert "shares of delta" in failed(verify(forged, fresh, model=names, reference=vote)), lie
    with pytest.raises(DomainError, match="settings of the route disagreement must be Settings"):
        dataclasses.replace(genuine.error_rate, settings=LossSettings(constant="paper"))
    stated = genuine.subject.reference
    given = dataclasses.replace(stated.claim, given_class="'yes'")
    lie = leant(genuine, dataclasses.replace(stated, claim=given))
    forged = dataclasses.replace(shipped, certificate=lie)
    assert failed(verify(forged, fresh)) == {"reference"}


def test_bad_input_is_refused(vote, fresh, build):
    _, X, _ = build("zero")
    with pytest.raises(DomainError, match="at least one row"):
        certify_by_disagreement(vote, names, fresh[:0])
    with pytest.raises(DomainError, match="delta_share must be between 0 and 1"):
        certify_by_disagreement(vote, names, fresh, delta_share=1.0)
    with pytest.raises(DtypeError, match=r"must be a certified model.*got str"):
        certify_by_disagreement("model", names, fresh)
    with pytest.raises(LabelError, match="unknown label 1"):
        certify_by_disagreement(vote, lambda X: np.ones(len(X), dtype=int), fresh)
    with pytest.raises(ShapeError, match="one label for each of the 500 rows"):
        certify_by_disagreement(vote, lambda X: ["yes"], fresh)
    with pytest.raises(
        PriorLeakageError, match="240 of the 240 rows to certify were seen by the certified model"
    ):
        certify_by_disagreement(vote, names, X)
    with pytest.raises(PriorLeakageError, match="1 of the 501 rows"):
        certify_by_disagreement(vote, names, np.r_[fresh, X[:1]], training_data=X)
    with pytest.warns(DuplicateRowsWarning, match="1 of the 501 rows repeat"):
        certify_by_disagreement(vote, names, np.r_[fresh, fresh[:1]])


def make_prior_that_answers_wrongly_on_its_rows():
    """A vote that is right on new rows, and on its prior rows answers like a classifier that is never right.

    With far more features than prior rows, weights of no consequence elsewhere turn the answers there.
    """
    n_prior, n, d, rng = 50, 450, 2000, np.random.default_rng(3)
    y = rng.choice([-1.0, 1.0], size=n)
    X = np.c_[3.0 * y, rng.normal(size=(n, d - 1))]
    weights = np.zeros(d)
    weights[0] = 1.0
    weights[1:] = np.linalg.lstsq(X[:n_prior, 1:], -6.0 * y[:n_prior], rcond=None)[0]
    layer = 100.0 * torch.tensor(weights, dtype=torch.float64)[None]
    model = certify_network(
        AggregatedNetwork([layer], [layer.clone()], intercept=False),
        *(X, np.where(y > 0, "yes", "no")),
        classes=("no", "yes"),
        prior=PriorRecord("pretrained", n_rows=n_prior),
        prior_rows=range(n_prior),
        certified_rows=range(n_prior, n),
    )
    return model, X, np.where(y > 0, "yes", "no")


def wrong(X):
    return np.where(np.asarray(X)[:, 0] > 0, "no", "yes")


def test_a_disagreement_is_not_counted_on_rows_of_the_vote(tmp_path, monkeypatch):
    made, X, y = make_prior_that_answers_wrongly_on_its_rows()
    vote = load_model(save_model(made, tmp_path / "vote"))
    apart = X[:50]
    assert vote.certificate.error_rate.value < 0.1
    assert (vote.predict(apart) == wrong(apart)).all()
    forms = (apart, X[3:4], X[50:], np.r_[apart + 1.0, X[449:]], sparse.csr_matrix(apart), apart.tolist())
    for rows in forms:
        with pytest.raises(PriorLeakageError, match="seen by the certified model, which was trained on them"):
            certify_by_disagreement(vote, wrong, rows)
        with pytest.raises(PriorLeakageError, match="seen by the certified model, which was trained on them"):
            certify(vote, rows, np.resize(y, np.shape(rows)[0]))
    # Whoever issues it all the same is found out by all who have the vote, with its table or without.
    for room in (compare, seen_rows):
        monkeypatch.setattr(room, "refuse_rows_of_fit", lambda *_: None)
    shipped = certify_by_disagreement(vote, wrong, apart)
    assert shipped.certificate.error_rate.value < 0.2, "the truth is 1"
    monkeypatch.undo()
    alone = verify(shipped, apart, model=wrong)
    assert {"certified rows", "reference"} <= {step.name for step in alone.trusted}
    assert (
        "and the certified vote were fixed without these rows; the classifier is the only one tried"
        in str(alone)
    )
    for data in (None, (X, y)):
        report = verify(shipped, apart, model=wrong, reference=vote, reference_data=data)
        assert failed(report) == {"certified rows"}
        assert "50 of the 50 rows to certify were seen by the certified model" in str(report)
    # Without its row fingerprints it is another vote.
    blind = dataclasses.replace(vote, row_fingerprints=np.zeros(450, dtype=np.uint64))
    assert failed(verify(shipped, apart, model=wrong, reference=blind)) == {"reference"}
    with pytest.raises(UncertifiedError, match="row fingerprints"):
        certify_by_disagreement(blind, wrong, apart)
    assert failed(verify(blind, X, y)) == {"row fingerprints", "data: rows"}
    # Nor does a certificate that was made for others help.
    stated = dataclasses.replace(
        vote.certificate.network, row_fingerprints=fingerprint_rows(blind.row_fingerprints)
    )
    certificate = dataclasses.replace(vote.certificate, subject=stated, written=None)
    lying = dataclasses.replace(blind, certificate=certificate)
    assert failed(verify(lying, X, y)) == {"data: rows"}


def test_a_classifier_that_remembers_its_rows_is_asked_for_them_by_verify(vote, fresh, monkeypatch):
    fitted = PBGDClassifier(random_state=0).fit(fresh, names(fresh))
    with monkeypatch.context() as patch:
        for room in (compare, seen_rows):
            patch.setattr(room, "refuse_rows_of_fit", lambda *_: None)
        shipped = certify_by_disagreement(vote, fitted, fresh)
    report = verify(shipped, fresh, model=fitted, reference=vote)
    assert failed(report) == {"certified rows"}
    assert "500 of the 500 rows to certify were seen by the classifier in fit" in str(report)


def test_an_estimator_will_do(fresh, build):
    rng = np.random.default_rng(1)
    x = rng.normal(size=(100, 1))
    fitted = PBGDClassifier(random_state=0).fit(x, names(x))
    assert certify_by_disagreement(fitted, fitted.predict, fresh).certificate.inputs.n_errors == 0
    with pytest.raises(PriorLeakageError, match="seen by the classifier in fit"):
        certify_by_disagreement(fitted, names, x[:10])
    # Neither may the other classifier have seen them, nor its method.
    model = build("zero")[0]
    for other in (fitted, fitted.predict):
        with pytest.raises(PriorLeakageError, match="seen by the classifier in fit"):
            certify_by_disagreement(model, other, x[:10])
