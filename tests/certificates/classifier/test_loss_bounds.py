"""Losses of any classifier: bounded from their values, and stored to the last bit."""

import dataclasses
import itertools
import json
import re
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mpmath import MPContext
from tests.certificates.conftest import Reads, claim_of, failed, gap, make_data, verify

from pbgnet.bounds import betting_bound, betting_grid, chernoff_bound, clopper_pearson_bound, split_delta
from pbgnet.certificates import Certificate, certify, load_predictions, round_up, store
from pbgnet.certificates.classifier.losses import RowLosses, measure_losses
from pbgnet.certificates.data import fingerprint_rows, row_fingerprints
from pbgnet.exceptions import (
    DamagedFileError,
    DomainError,
)

MP = MPContext()


MP.prec = 300


@pytest.fixture
def data():
    return make_data()


@pytest.fixture
def certified(data):
    return certify(Reads(), *data, loss="linear")


def exact_inverse(mean, n, delta):
    """The largest p with kl(mean || p) <= ln(1 / delta) / n, to 300 bits."""
    q, budget = MP.mpf(mean.numerator) / mean.denominator, -MP.log(MP.mpf(delta)) / n

    def kl(p):
        first = q * MP.log(q / p) if q else MP.mpf(0)
        return first + ((1 - q) * MP.log((1 - q) / (1 - p)) if q != 1 else 0)

    low, high = q, MP.mpf(1)
    for _ in range(200):
        middle = (low + high) / 2
        low, high = (middle, high) if kl(middle) <= budget else (low, middle)
    return low


# The bound


@pytest.mark.parametrize("name", ["linear", "brier", gap])
@pytest.mark.parametrize(("class_conditional", "n_shares"), [(False, 2), (True, 4)])
@pytest.mark.parametrize("n_models", [1, 3])
def test_every_claim_has_its_share_of_delta(data, name, class_conditional, n_shares, n_models):
    x, y = data
    options = {"class_conditional": class_conditional, "n_models": n_models}
    certified = certify(Reads(), x, y, 0.9, loss=name, **options)
    certificate = certified.certificate
    share = split_delta(split_delta(0.1, n_models), n_shares)
    assert len(certificate.claims) == certificate.choices.n_shares == n_shares
    assert {claim.delta for claim in certificate.claims} == {share}
    wrong = int(np.sum(Reads().predict(x) != y))
    assert certificate.error_rate.value == clopper_pearson_bound(wrong, 120, share)
    losses = measure_losses(name, Reads(), x, y).values
    claim, mean = certificate.expected_loss, float(np.mean(losses))
    assert claim.quantity == ("loss 'gap'" if name is gap else f"{name} loss")
    assert (claim.route, claim.predictor, claim.given_class) == ("betting", "classifier", None)
    bets = betting_grid(None, 120, share)
    assert claim.settings.bets == tuple(bets.tolist()), "the same for all losses"
    assert claim.value == betting_bound(losses, share, bets)
    assert mean < claim.value < float(chernoff_bound(mean, 120, share)) + 0.01
    assert (certificate.linear_loss is None) == (name != "linear")
    told = f"; its expected {claim.quantity} is at most {round_up(claim.value)}, all of this together."
    assert certificate.statement.endswith(told)
    assert f"Delta is divided by {n_shares} to cover " in " ".join(certificate.assumptions)
    assert "The loss was chosen before looking at these rows" in " ".join(certificate.assumptions)
    assert claim.quantity in certificate.predictors[-1].replace("Brier", "brier")
    assert Certificate.from_json(certificate.to_json()) == certificate
    assert verify(certified, x, y, model=Reads(), loss=name).ok


@settings(deadline=None, max_examples=60)
@given(
    st.lists(st.floats(0.0, 1.0), min_size=1, max_size=40)
    | st.lists(st.sampled_from([0.0, 5e-324, 0.1, 1.0]), min_size=1, max_size=40),
    st.sampled_from([0.5, 0.025, 1e-9]),
)
def test_the_bound_is_at_or_above_that_of_the_exact_mean(values, delta):
    """The rounding of the mean is inside the bound."""
    losses, route = RowLosses("linear loss", np.array(values)), "chernoff"
    claim, n = claim_of(losses, delta, route), len(values)
    exact = sum(map(Fraction, losses.values.tolist())) / n
    evidence = claim.evidence
    assert abs(exact - Fraction(evidence.empirical_risk)) <= Fraction(evidence.numerical_error)
    truth = exact_inverse(exact, n, delta)
    assert truth <= claim.value <= min(1, truth * (1 + 1e-9) + 1e-6)


def test_the_numerical_error_is_added_before_the_bound_is_searched():
    claim = claim_of(RowLosses("linear loss", np.full(40, 0.2)), 0.05, "chernoff")
    coarse = dataclasses.replace(claim, evidence=dataclasses.replace(claim.evidence, numerical_error=0.01))
    assert coarse.recomputed().value == pytest.approx(float(chernoff_bound(0.21, 40, 0.05)), rel=1e-12)
    assert coarse.recomputed().value > claim.value + 0.01


def test_the_sum_is_exactly_rounded():
    """A plain sum of these loses the small ones, and its mean would be too small by more than is granted."""
    values = np.r_[1.0, np.full(10**5, 2.0**-54)]
    exact = sum(map(Fraction, values.tolist())) / values.size
    for route in ("chernoff", "betting"):
        evidence = claim_of(RowLosses("linear loss", values), 0.05, route).evidence
        assert evidence.empirical_risk == float(exact)
        assert evidence == claim_of(RowLosses("linear loss", values[::-1]), 0.05, route).evidence
        assert evidence.numerical_error >= 2.0**-53 + 2.0**-54


def test_the_bound_grows_with_the_mean_and_with_confidence():
    for route in ("chernoff", "betting"):
        losses = [RowLosses("loss 'x'", np.full(50, mean)) for mean in np.linspace(0, 1, 21)]
        bounds = [claim_of(each, 0.05, route).value for each in losses]
        assert all(a < b for a, b in itertools.pairwise(bounds))
        assert bounds[-1] == 1.0
        steady = RowLosses("loss 'x'", np.full(50, 0.3))
        assert claim_of(steady, 0.01, route).value > claim_of(steady, 0.1, route).value > 0.3


@pytest.mark.parametrize("route", ["chernoff", "betting"])
@pytest.mark.parametrize("n_errors", [0, 1, 7, 30, 60])
def test_losses_of_0_and_1_are_bounded_no_better_than_their_count(n_errors, route):
    """Clopper and Pearson's limit is exact for a count, so no valid bound from it lies below."""
    values = np.arange(60) < n_errors
    claim = claim_of(RowLosses("linear loss", values), 0.05, route)
    counted = float(clopper_pearson_bound(n_errors, 60, 0.05))
    assert counted * (1 - 1e-8) <= claim.value <= counted + 0.1  # both are rounded up, the count by more
    # All it may be is equal, where there are no errors (by one bet of everything) or nothing else.
    assert (claim.value == pytest.approx(counted)) == (
        n_errors in ((0, 60) if route == "chernoff" else (60,))
    )


def test_a_loss_of_which_nothing_is_proved_is_said_to_be_so():
    x = np.tile([[1.0, 0.0]], (5, 1)) + np.zeros((5, 1))
    certificate = certify_quietly(Reads(), x, np.ones(5, dtype=int), loss="linear").certificate
    neither = "nothing is proved about the error rate of the classifier, nor about its expected linear loss."
    assert certificate.statement.endswith(f"rows, {neither}")


def test_only_bounds_are_said_to_hold_together(data):
    def ones(model, X, y):
        return np.ones(len(y))

    def statement(model, **options):
        return certify(model, *data, **options).certificate.statement

    plain, loss = statement(Reads(), loss=ones), "nothing is proved about its expected loss 'ones'."
    assert re.search(rf"the classifier is at most 0\.\d+; {loss}$", plain)
    each = statement(Reads(), loss=ones, class_conditional=True)
    balanced = r"so the balanced error rate, the mean over the classes, is at most 0\.\d+"
    told = (
        rf"it is at most .* of class 0 and at most .* of class 1, {balanced}, all of this together; {loss}$"
    )
    assert re.search(told, each)
    alone = statement(lambda X: 1 - data[1], loss=gap_of_none)
    told = r"nothing is proved about the error rate of the classifier; its expected loss 'gap_of_none' is"
    assert re.search(rf"{told} at most 0\.\d+\.$", alone)
    both = statement(Reads(), loss="brier")
    assert re.search(
        r"at most 0\.\d+; its expected brier loss is at most 0\.\d+, all of this together\.$", both
    )


def gap_of_none(model, X, y):
    return np.full(len(y), 0.25)


def certify_quietly(*arguments, **options):
    with pytest.warns(UserWarning, match="repeat another row"):
        return certify(*arguments, **options)


# What is stored


def test_losses_are_stored_to_the_last_bit(data, tmp_path):
    x, y = data
    odd = np.random.default_rng(0).random(120)
    odd[:4] = [5e-324, np.nextafter(1.0, 0.0), 1.0, -0.0]

    def uneven(model, X, y):
        return X[:, 2]

    certified = certify(Reads(), np.c_[x, odd], y, loss=uneven)
    folder = certified.save(tmp_path / "c")
    again = load_predictions(folder)
    assert again.losses.values.tobytes() == (odd + 0.0).tobytes()
    assert again.losses.quantity == "loss 'uneven'"
    assert again.certificate == certified.certificate
    assert again.fingerprint() == certified.certificate.subject.answers
    again.save(tmp_path / "d")
    for name in ("certificate.json", "predictions.json", "rows.safetensors"):
        assert (tmp_path / "d" / name).read_bytes() == (folder / name).read_bytes()
    with pytest.raises(ValueError, match="read-only"):
        again.losses.values[0] = 0.0


def test_answers_without_losses_are_written_as_they_always_were(tmp_path):
    folder = certify(lambda X: X[:, 0] > 0, np.array([[1.0], [-1.0]]), [True, False]).save(tmp_path / "c")
    content = (
        '{"schema": "pbgnet-predictions", "version": 1, "classes": [false, true], "predictions": [1, 0], '
        '"reference": null, "losses": null, "exported": null, "feature_names": null}\n'
    )
    assert (folder / "predictions.json").read_text() == content
    certificate = json.loads((folder / "certificate.json").read_text())
    known = "4d25701f8a8ee0cf940f5fe6ce0412abd994ab28d286e3b934ac174589a8f854"
    rows = certificate["subject"].pop("row_fingerprints")
    assert certificate["subject"] == {"kind": "classifier", "answers": known}
    assert rows == fingerprint_rows(row_fingerprints(np.array([[1.0], [-1.0]])))
    assert len(certificate["assumptions"]) == 3
    assert len(certificate["predictors"]) == 1


def test_more_rows_than_could_be_read_back_are_not_saved(certified, tmp_path, monkeypatch):
    monkeypatch.setattr(store, "LARGEST_JSON", 2000)
    with pytest.raises(DomainError, match=r"The answers on 120 rows need more than .* Certify fewer rows"):
        certified.save(tmp_path / "c")
    assert not (tmp_path / "c").exists()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"values": [0.5] * 119}, "as many losses as answers"),
        ({"values": [0.5] * 119 + [1.0000000000000002]}, r"must be in \[0, 1\]"),
        ({"values": [0.5] * 119 + [-1e-300]}, r"must be in \[0, 1\]"),
        ({"values": [0.5] * 119 + [1]}, "must be a list of numbers"),
        ({"values": [0.5] * 119 + ["0.5"]}, "must be a list of numbers"),
        ({"values": [0.5] * 119 + [None]}, "must be a list of numbers"),
        ({"values": [[0.5]] * 120}, "must be a list of numbers"),
        ({"values": 0.5}, "must be a list of numbers"),
        ({"values": []}, "one number for each row"),
        ({"quantity": "error rate"}, "quantity must look like"),
        ({"quantity": "loss 'linear'"}, "quantity must look like"),
        ({"quantity": "loss 'a' is 0; trust me; 'b'"}, "quantity must look like"),
        ({"quantity": 3}, "quantity must be a string"),
        ({"quantity": "brier loss"}, "it contains brier loss, but the certificate is about linear loss"),
        ({"extra": 1}, "unknown key losses.extra"),
    ],
)
def test_damaged_losses_are_not_read(certified, data, tmp_path, change, message):
    folder = certified.save(tmp_path / "c")
    file = folder / "predictions.json"
    genuine = json.loads(file.read_text())
    file.write_text(json.dumps({**genuine, "losses": {**genuine["losses"], **change}}))
    with pytest.raises(DamagedFileError, match=rf"predictions\.json.*{message}"):
        load_predictions(folder)
    assert failed(verify(folder, *data)) == {"files"}


def test_losses_that_are_missing_or_not_numbers_are_not_read(certified, data, tmp_path):
    folder = certified.save(tmp_path / "c")
    file = folder / "predictions.json"
    genuine = json.loads(file.read_text())
    without = {key: value for key, value in genuine.items() if key != "losses"}
    for content in (
        without,
        {**without, "version": 2},
        {**genuine, "version": 2},
        {**genuine, "version": 0},
        {**genuine, "losses": None},
        {**genuine, "losses": [0.5] * 120},
    ):
        file.write_text(json.dumps(content))
        with pytest.raises(DamagedFileError, match=r"predictions\.json"):
            load_predictions(folder)
    text = json.dumps(genuine)
    for number in ("NaN", "Infinity", "1e999"):
        file.write_text(text.replace(repr(genuine["losses"]["values"][0]), number, 1))
        with pytest.raises(DamagedFileError, match=r"predictions\.json"):
            load_predictions(folder)
