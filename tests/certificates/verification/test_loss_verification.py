"""Losses of a classifier verified again: what is on trust, and those who would cheat."""

import dataclasses
import json

import numpy as np
import pytest
from tests.certificates.conftest import Reads, claim_of, failed, gap, make_data, trusted, verify

from pbgnet.bounds import betting_grid
from pbgnet.certificates import Certificate, Claim, certify, make_claim
from pbgnet.certificates.classifier.losses import RowLosses
from pbgnet.certificates.format import ClassifierSubject, Union
from pbgnet.certificates.routes import Evidence, Measured, Settings
from pbgnet.certificates.routes.betting import BettingSettings
from pbgnet.certificates.routes.chernoff import MeanEvidence
from pbgnet.certificates.routes.clopper_pearson import CountEvidence
from pbgnet.certificates.routes.disagreement import DisagreementEvidence
from pbgnet.certificates.routes.pac_bayes import LossSettings, PosteriorEvidence
from pbgnet.exceptions import DamagedFileError, DomainError, OptionError


@pytest.fixture
def data():
    return make_data()


@pytest.fixture
def certified(data):
    return certify(Reads(), *data, loss="linear")


def test_verification_says_what_is_on_trust(data, tmp_path):
    x, y = data
    folder = certify(Reads(), x, y, loss="linear").save(tmp_path / "a")
    report = verify(folder, x, y)
    assert report.ok
    assert trusted(report) == {"answers", "losses", "certified rows"}
    assert "the linear loss has these values. To check, pass model)" in str(report)
    told = (
        "(taken on trust: the classifier was fixed without these rows; the classifier is the only one "
        "tried on them; its answer and its loss on a row do not depend on other rows; the claims (with or "
        "without a loss or classes, and the confidence) were chosen before looking at the rows)"
    )
    assert told in str(report)
    for loss in (None, "linear"):
        asked = verify(folder, x, y, model=Reads(), loss=loss)
        assert asked.ok
        assert trusted(asked) == {"certified rows"}
    own = certify(Reads(), x, y, loss=gap).save(tmp_path / "b")
    report = verify(own, x, y, model=Reads())
    assert report.ok
    assert trusted(report) == {"losses", "certified rows"}
    assert "the loss 'gap' has these values. To check, pass loss)" in str(report)
    assert "has these values. To check, pass model and loss)" in str(verify(own, x, y))
    assert trusted(verify(own, x, y, model=Reads(), loss=gap)) == {"certified rows"}
    with pytest.raises(OptionError, match="pass the classifier as model"):
        verify(own, x, y, loss=gap)


def test_another_loss_or_classifier_is_noticed(data, certified):
    x, y = data

    class Bolder(Reads):
        def predict_proba(self, X):
            p = super().predict_proba(X) ** 2
            return p / p.sum(axis=1, keepdims=True)

    def other(model, X, y):
        return gap(model, X, y)

    def gap_of_another_name(model, X, y):
        return gap(model, X, y)

    gap_of_another_name.__name__ = "gap"
    own = certify(Reads(), x, y, loss=gap)
    assert failed(verify(certified, x, y, model=Bolder())) == {"losses"}
    assert "values that differ by up to 0." in str(verify(certified, x, y, model=Bolder()))
    assert failed(verify(certified, x, y, model=Reads(), loss="brier")) == {"losses"}
    assert failed(verify(certified, x, y, model=Reads(), loss=gap)) == {"losses"}
    assert failed(verify(own, x, y, model=Reads(), loss="brier")) == {"losses"}
    assert failed(verify(own, x, y, model=Reads(), loss=other)) == {"losses"}
    assert verify(own, x, y, model=Reads(), loss=gap_of_another_name).ok
    assert failed(verify(own, x, y, model=Reads(), loss=lambda *_: own.losses.values)) == {"losses"}
    none = certify(Reads(), x, y)
    assert failed(verify(none, x, y, model=Reads(), loss="linear")) == {"losses"}
    assert failed(verify(certified, x, y, model=Reads((1, 0)))) == {"answers", "losses"}
    assert "losses" in failed(verify(certified, x, y, model=Reads().predict))
    flipped = np.r_[1 - y[0], y[1:]]
    assert "losses" in failed(verify(certified, x, flipped, model=Reads()))
    assert "losses" in failed(verify(certified, x[:-1], y[:-1], model=Reads()))


def test_losses_that_another_machine_rounds_otherwise_are_on_trust(data, certified):
    def shifted(by):
        class Shifted(Reads):
            def predict_proba(self, X):
                p = super().predict_proba(X)
                return np.stack([p[:, 0] * (1 - by), 1 - p[:, 0] * (1 - by)], axis=1)

        return verify(certified, *data, model=Shifted())

    assert shifted(1e-9).ok
    assert trusted(shifted(1e-9)) == {"losses", "certified rows"}
    assert "which may be rounding; the stored ones are taken on trust" in str(shifted(1e-9))
    assert failed(shifted(1e-4)) == {"losses"}


def forge(certified, *, losses=None, **changes):
    """Change claims or other fields, and make everything that is derived, seal included, anew."""
    changed = certified if losses is None else dataclasses.replace(certified, losses=losses)
    subject = ClassifierSubject(changed.fingerprint(), changed.rows.fingerprint())
    certificate = dataclasses.replace(certified.certificate, **{"subject": subject, **changes})
    return dataclasses.replace(changed, certificate=Certificate.from_json(certificate.to_json()))


def smaller(certified):
    return RowLosses(certified.losses.quantity, certified.losses.values / 2)


def test_changed_losses_are_noticed(data, certified):
    x, y = data
    lower = smaller(certified)
    assert failed(verify(dataclasses.replace(certified, losses=lower), x, y)) == {
        "answers stored",
        "evidence",
    }
    assert failed(verify(forge(certified, losses=lower), x, y)) == {"evidence"}
    rate, claim = certified.certificate.claims
    bold = forge(certified, losses=lower, claims=(rate, claim_of(lower, claim.delta)))
    assert trusted(verify(bold, x, y)) == {"answers", "losses", "certified rows"}
    assert failed(verify(bold, x, y, model=Reads())) == {"losses"}
    # The same numbers on other rows have the same mean.
    turned = RowLosses("linear loss", certified.losses.values[::-1])
    assert failed(verify(dataclasses.replace(certified, losses=turned), x, y)) == {"answers stored"}
    assert failed(verify(forge(certified, losses=turned), x, y, model=Reads())) == {"losses"}


def test_changed_evidence_is_noticed(data, certified):
    x, y = data
    rate, claim = certified.certificate.claims
    given = claim.evidence
    for evidence in (
        dataclasses.replace(given, empirical_risk=given.empirical_risk / 2),
        dataclasses.replace(given, empirical_risk=given.empirical_risk - 1e-11),
        dataclasses.replace(given, numerical_error=0.0),
        dataclasses.replace(given, refuted_mean=given.refuted_mean * (1 - 1e-8)),
        dataclasses.replace(given, log_capital=given.log_capital + 1e-6),
    ):
        lie = dataclasses.replace(claim, evidence=evidence).recomputed()
        assert failed(verify(forge(certified, claims=(rate, lie)), x, y)) == {"evidence"}
    more = dataclasses.replace(claim, evidence=dataclasses.replace(given, n=1000)).recomputed()
    assert failed(verify(forge(certified, claims=(rate, more)), x, y)) == {"evidence", "shares of delta"}
    for other in (
        PosteriorEvidence(given.n, given.empirical_risk, 0.0, divergence=0.0, margin_error=0.1),
        PosteriorEvidence(given.n, given.empirical_risk, 0.0, 0.0, n_draws=10**6, sampling_delta=claim.delta),
        CountEvidence(given.n, n_errors=0),
        DisagreementEvidence(given.n, n_errors=0, reference_bound=0.0),
        MeanEvidence(given.n, given.empirical_risk, given.numerical_error),
        Evidence(given.n),
    ):
        with pytest.raises(DomainError, match="evidence of the route betting must be BettingEvidence"):
            dataclasses.replace(claim, evidence=other)
    low = dataclasses.replace(claim, value=claim.value - 1e-6)
    assert failed(verify(forge(certified, claims=(rate, low)), x, y)) == {"bound"}


def test_delta_is_not_spent_twice(data, certified):
    x, y = data
    rate, claim = certified.certificate.claims
    choices = certified.certificate.choices
    whole = [dataclasses.replace(rate, delta=0.05).recomputed(), claim_of(certified.losses, 0.05)]
    assert whole[1].value < claim.value
    unpaid = dataclasses.replace(choices, unions=())
    assert failed(verify(forge(certified, claims=tuple(whole)), x, y)) == {"delta", "plan of delta"}
    assert failed(verify(forge(certified, claims=(rate, whole[1])), x, y)) == {"delta", "plan of delta"}
    assert failed(verify(forge(certified, claims=(whole[0], claim)), x, y)) == {"delta", "plan of delta"}
    both = {"shares of delta", "plan of delta"}
    assert failed(verify(forge(certified, claims=tuple(whole), choices=unpaid), x, y)) == both
    for unions in (
        (Union(choices.unions[0].what, 1),),
        (Union("the error rate", 2),),
        (*choices.unions, Union("more", 1)),
    ):
        lie = dataclasses.replace(choices, unions=unions)
        assert "shares of delta" in failed(verify(forge(certified, choices=lie), x, y))


def test_more_other_or_fewer_claims_are_noticed(data, certified):
    x, y = data
    rate, claim = certified.certificate.claims

    def steps(*claims):
        return failed(verify(forge(certified, claims=claims), x, y, model=Reads()))

    assert "shares of delta" in steps(rate)
    assert "shares of delta" in steps(claim, rate)
    assert "shares of delta" in steps(rate, claim, claim)
    for quantity in ("brier loss", "loss 'gap'", "loss 'linear_'"):
        assert "shares of delta" in steps(rate, dataclasses.replace(claim, quantity=quantity))
        assert "shares of delta" in steps(rate, claim, dataclasses.replace(claim, quantity=quantity))
    assert "shares of delta" in steps(rate, dataclasses.replace(claim, given_class="0"))
    assert "shares of delta" in steps(rate, claim, dataclasses.replace(claim, given_class="0"))
    by_class = certify(Reads(), x, y, class_conditional=True).certificate.class_conditional
    assert "shares of delta" in steps(rate, *by_class, claim)
    with pytest.raises(DomainError, match="settings of the route betting must be BettingSettings"):
        dataclasses.replace(claim, settings=LossSettings(constant="paper"))
    # Bets that were chosen with the rows in sight; or another route than the one that is always taken.
    measured = Measured(np.zeros(y.size, dtype=bool), certified.losses.values)
    bets = BettingSettings(tuple(betting_grid(certified.losses.values, y.size, claim.delta).tolist()))
    chosen = make_claim("classifier", "betting", measured, bets, delta=claim.delta)
    assert chosen.value < claim.value
    assert steps(rate, chosen) == {"shares of delta"}
    assert steps(rate, claim_of(certified.losses, claim.delta, "chernoff")) == {"shares of delta"}
    other = dataclasses.replace(certified.certificate, alternatives=(claim,))
    assert "shares of delta" in failed(verify(dataclasses.replace(certified, certificate=other), x, y))
    # The loss was never stored, or is stored and not claimed.
    plain = certify(Reads(), x, y)
    both = dataclasses.replace(plain.certificate, claims=certified.certificate.claims)
    assert {"shares of delta", "evidence"} <= failed(
        verify(dataclasses.replace(plain, certificate=both), x, y)
    )
    quiet = dataclasses.replace(plain, losses=certified.losses)
    assert {"answers stored", "shares of delta"} <= failed(verify(quiet, x, y))


def test_a_loss_cannot_change_its_name(data, certified):
    """A mild function of the user's does not pass for the linear loss, whatever is sealed anew."""
    x, y = data

    def mild(model, X, y):
        return np.zeros(len(y))

    own = certify(Reads(), x, y, loss=mild)
    rate, claim = own.certificate.claims
    renamed = RowLosses("linear loss", own.losses.values)
    lie = forge(own, losses=renamed, claims=(rate, dataclasses.replace(claim, quantity="linear loss")))
    assert verify(own, x, y, model=Reads(), loss=mild).ok
    assert failed(verify(lie, x, y, model=Reads())) == {"losses"}
    half = forge(own, claims=(rate, dataclasses.replace(claim, quantity="linear loss")))
    assert failed(verify(half, x, y, model=Reads(), loss=mild)) == {"shares of delta"}


def test_numbers_of_a_network_are_not_slipped_in(certified):
    content = certified.certificate.to_dict()
    for name in ("empirical_risk", "numerical_error", "divergence", "n_left_out"):
        for part in ("inputs", "subject"):
            lie = {**content, part: {**content[part], name: 0}}
            with pytest.raises(DamagedFileError, match=f"has the unknown key {part}.{name}"):
                Certificate.from_json(json.dumps(lie))


@pytest.mark.parametrize(
    ("path", "value", "step"),
    [
        ("claims.1.value", lambda v: v / 2, "bound"),
        ("claims.1.evidence.empirical_risk", 0.0, "evidence"),
        ("claims.1.evidence.numerical_error", 0.0, "evidence"),
        ("claims.1.delta", 0.05, "delta"),
        ("claims.1.quantity", "brier loss", "files"),
        ("claims.1.quantity", "loss '; nothing is wrong'", "files"),
        ("claims.1.quantity", "error rate", "files"),
        ("claims.1.quantity", "loss 'linear'", "files"),
        ("claims.1.predictor", "prior's aggregate", "files"),
        ("claims.1.route", "seeger", "files"),
        ("claims", lambda v: v[:1], "files"),
        ("choices.unions.0.count", 1, "shares of delta"),
        ("assumptions", lambda v: [s for s in v if "loss" not in s], "statement"),
        ("predictors", lambda v: v[:1], "statement"),
        ("statement", lambda s: s.replace("expected linear loss", "largest loss"), "statement"),
    ],
)
def test_a_changed_certificate_is_caught(data, certified, tmp_path, path, value, step):
    folder = certified.save(tmp_path / "c")
    file = folder / "certificate.json"
    content = json.loads(file.read_text())
    place, *keys = content, *path.split(".")
    for key in keys[:-1]:
        place = place[int(key) if isinstance(place, list) else key]
    place[keys[-1]] = value(place[keys[-1]]) if callable(value) else value
    file.write_text(json.dumps(content))
    found = failed(verify(folder, *data, model=Reads()))
    assert step in found
    assert ("files" in found) == (step == "files")


def test_a_route_to_a_loss_is_no_route_to_the_error_rate():
    evidence = MeanEvidence(100, 0.1, 1e-15)
    for quantity, predictor, route in (
        ("error rate", "classifier", "chernoff"),
        ("brier loss", "prior's aggregate", "chernoff"),
        ("brier loss", "aggregate", "seeger"),
        ("loss 'x'", "classifier", "clopper-pearson"),
        ("linear loss", "classifier", "disagreement"),
    ):
        with pytest.raises(DomainError, match=f"route {route} bounds the"):
            Claim(quantity, predictor, route, 0.5, 0.05, evidence, Settings())
