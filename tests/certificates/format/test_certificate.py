"""The certificate: its words, its exact JSON form, and what it refuses to read."""

import copy
import dataclasses
import json
import math
import re
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pbgnet.certificates import Certificate, PreprocessingRecord, PriorRecord, SplitRecord, round_up
from pbgnet.certificates.data import fingerprint_json
from pbgnet.exceptions import DamagedFileError, DomainError, DtypeError


def leaves(data, path=()):
    """Every path to a value that is neither an object nor a list of objects."""
    for key, value in data.items() if isinstance(data, dict) else enumerate(data):
        if isinstance(value, dict) or (isinstance(value, list) and value and isinstance(value[0], dict)):
            yield from leaves(value, (*path, key))
        else:
            yield (*path, key)


def at(data, path):
    for key in path[:-1]:
        data = data[int(key) if isinstance(data, list) else key]
    return data, path[-1]


def test_json_round_trip_is_exact(model):
    certificate = model.certificate
    text = certificate.to_json()
    again = Certificate.from_json(text)
    assert again == certificate
    assert again.to_json() == text
    assert again.written.statement == certificate.statement
    assert again.written.assumptions == certificate.assumptions


def test_everything_that_should_be_there_is_there(model):
    data = json.loads(model.certificate.to_json())
    assert data["schema"] == "pbgnet-certificate"
    assert data["version"] == 1
    assert set(data["fingerprints"]) == {"data", "features", "labels", "columns", "split"}
    subject = data["subject"]
    assert subject["kind"] == "network"
    assert {len(subject[name]) for name in ("prior_weights", "posterior_weights", "inputs")} == {64}
    assert subject["split"] == {"how": "given", "seed": None, "fraction": None, "column": None}
    assert data["n_rows_total"] == 240
    assert len(data["seal"]) == 64
    assert set(data["versions"]) == {"pbgnet", "torch", "numpy", "python"}
    assert [claim["route"] for claim in data["claims"]] == ["seeger", "doubled"]
    assert {claim["delta"] for claim in data["claims"] + data["alternatives"]} == {0.05}
    assert len({(c["route"], str(c["settings"])) for c in data["claims"] + data["alternatives"]}) == 8
    assert "if it had been chosen in advance" in data["comparison"]
    assert "sign network" in data["predictors"][-1]
    assert subject["prior"]["how"] == "pretrained"
    assert subject["preprocessing"]["status"] == "inside"
    assert subject["aggregation"] == {
        "method": "fourier",
        "tolerance": 1e-10,
        "n_samples": None,
        "seed": None,
    }
    assert subject["network"]["hidden_layer_sizes"] == [4]


def test_the_seal_covers_everything_else(model):
    data = model.certificate.to_dict()
    seal = data.pop("seal")
    assert seal == model.certificate.seal == fingerprint_json(data)
    for path in leaves(data):
        changed = copy.deepcopy(data)
        parent, key = at(changed, path)
        parent[key] = "other"
        assert fingerprint_json(changed) != seal


def test_each_key_is_required_and_no_other_is_allowed(model):
    genuine = model.certificate.to_dict()
    for path in leaves(genuine):
        for spoil in ("missing", "unknown"):
            data = copy.deepcopy(genuine)
            parent, key = at(data, path)
            if spoil == "missing":
                del parent[key]
            else:
                parent[f"{key}_"] = 1
            with pytest.raises(DamagedFileError, match=key):
                Certificate.from_json(json.dumps(data))


def test_each_value_of_a_wrong_type_is_named(model):
    genuine = model.certificate.to_dict()
    for path in leaves(genuine):
        for wrong in ({}, [[]], True if not isinstance(at(genuine, path)[0][path[-1]], bool) else 1):
            data = copy.deepcopy(genuine)
            parent, key = at(data, path)
            parent[key] = wrong
            with pytest.raises(DamagedFileError, match=key):
                Certificate.from_json(json.dumps(data))


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("version", 2),
        ("version", 3),
        ("version", 0),
        ("version", True),
        ("version", "1"),
        ("schema", "x"),
        ("confidence", 1.0),
        ("confidence", 0),
        ("delta", -0.05),
        ("n_priors", 0),
        ("n_priors", 1.5),
        ("delta_per_prior", 0.0),
        ("claims.0.route", "mcallester"),
        ("claims.0.route", "vote"),
        ("claims.1.predictor", "prior's vote"),
        ("claims.1.predictor", "discarded vote"),
        ("claims.1.quantity", "linear loss"),
        ("claims.1.given_class", "'yes'"),
        ("claims.0.settings.constant", "mine"),
        ("claims.0.settings.c", [1.0]),
        ("claims.0.settings.n_right", 3),
        ("claims.0.value", 1.0000001),
        ("claims.0.value", -1e-9),
        ("claims.1.value", 2.0),
        ("claims", []),
        ("choices.unions", [{"what": "x", "count": 0}]),
        ("comparison", 1),
        ("subject", None),
        ("subject.kind", "person"),
        ("subject.network", None),
        ("inputs.n", 0),
        ("inputs.n", 10**400),
        ("subject.empirical_risk", 1e400),
        ("subject.empirical_risk", 10**400),
        ("subject.divergence", -1.0),
        ("subject.numerical_error", math.nan),
        ("subject.divergence", math.inf),
        ("subject.network.hidden_layer_sizes", [0]),
        ("subject.network.hidden_layer_sizes", 4),
        ("subject.network.intercept", 1),
        ("subject.aggregation.method", "enumeration"),
        ("subject.aggregation.tolerance", 0.0),
        ("subject.prior.how", "leaked"),
        ("subject.prior.seed", -1),
        ("subject.preprocessing.status", "maybe"),
        ("subject.split.how", "stratified"),
        ("subject.split.seed", 3),
        ("n_rows_total", 0),
        ("seal", "0" * 63),
        ("alternatives.0.evidence.n_errors", 3),
        ("alternatives.3.evidence.n_errors", -1),
        ("alternatives.3.evidence.n_errors", 121),
        ("alternatives.0.evidence.n", 0),
        ("fingerprints.data", "0" * 63),
        ("fingerprints.data", "G" * 64),
        ("issued_at", "yesterday"),
    ],
)
def test_impossible_values_are_named(model, path, value):
    data = model.certificate.to_dict()
    parent, key = at(data, path.split("."))
    parent[key] = value
    text = json.dumps(data)
    place = re.sub(r"\.(\d)", r"[\1]", path)
    names = f"{re.escape(place)}|{path.split('.')[0]}.*{path.split('.')[-1]}|route .* bounds the"
    names += r"|kl theorem \(constant\) or by a mixture|exactly one bound|not the deployed classifier"
    names += "|settings lacks the key claims.0..settings.n_networks"  # which the route "vote" has
    with pytest.raises(
        DamagedFileError, match="NaN|Infinity" if "NaN" in text or "Infinity" in text else names
    ):
        Certificate.from_json(text)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "not valid JSON"),
        ("[]", "must be an object"),
        ("null", "must be an object, got null"),
        ('{"a": 1, "a": 2}', "'a' twice"),
        ("[" * 100_000, "not valid JSON"),
        ('{"schema": ' + "9" * 5000 + "}", "not valid JSON"),
        ('{"schema": Infinity}', "Infinity"),
        (
            '{"schema": "pbgnet-certificate", "version": 1, "statement": 1, "assumptions": 1, "seal": 1, '
            '"written": 1}',
            "written",
        ),
    ],
)
def test_hostile_json_is_refused(text, message):
    with pytest.raises(DamagedFileError, match=message):
        Certificate.from_json(text)


@given(
    st.recursive(
        st.none() | st.booleans() | st.floats() | st.text(),
        lambda s: st.lists(s) | st.dictionaries(st.text(), s),
    )
)
def test_no_json_at_all_is_taken_for_a_certificate(data):
    with pytest.raises(DamagedFileError):
        Certificate.from_json(json.dumps(data))


@given(st.floats(0, 1))
def test_numbers_in_sentences_are_rounded_up(value):
    shown = Fraction(round_up(value))
    assert Fraction(value) <= shown < Fraction(value) + Fraction(1, 10_000)


def test_the_sentence_speaks_plainly(model):
    def statement(confidence, n, loss, rate):
        claims = [
            dataclasses.replace(claim, value=value, evidence=dataclasses.replace(claim.evidence, n=n))
            for claim, value in zip(model.certificate.claims, (loss, rate), strict=True)
        ]
        return dataclasses.replace(model.certificate, confidence=confidence, claims=claims).statement

    assert statement(0.999, 10, 0.2, 0.4).startswith("With 99.9 % confidence over the draw of the 10 ")
    assert "so the error rate of its vote is at most 0.4001." in statement(0.5, 10, 0.2, 0.4)
    assert statement(0.95, 10, 0.6, 1.0).endswith(
        "0.6000, which says nothing about the error rate of its vote."
    )


def test_the_assumptions_name_what_the_proof_rests_on(model):
    def assumptions(n_priors, prior, preprocessing, description, split="none"):
        record = SplitRecord(split, seed=1, fraction=0.5) if split == "drawn" else SplitRecord(split)
        subject = dataclasses.replace(
            model.certificate.network,
            prior=PriorRecord(prior),
            preprocessing=PreprocessingRecord(preprocessing, description),
            split=record,
        )
        return dataclasses.replace(model.certificate, n_priors=n_priors, subject=subject).assumptions

    words = " ".join(assumptions(9, "pretrained", "outside", "a scaler."))
    assert "independent draws" in words
    assert "At most 9 priors" in words
    assert "never saw a certified row" in words
    assert "outside the proof" in words
    assert "Description: a scaler." in words
    assert "not about the plain sign network" in words
    assert "prior rows were" not in words
    given = " ".join(assumptions(1, "pretrained", "none", "", "given"))
    assert "chosen by the user, who vouches that this was done without looking at the features or" in given
    assert "Choosing them by their values invalidates the certificate." in given
    assert "prior rows were drawn at random" in " ".join(assumptions(1, "zero", "none", "", "drawn"))


def test_records_check_what_they_are_given():
    with pytest.raises(DomainError, match="how must be one of random, zero, pretrained, given"):
        PriorRecord("leaked")
    with pytest.raises(DomainError, match="status must be one of"):
        PreprocessingRecord("some")
    for options in ({"seed": 3}, {"fraction": 0.5}, {}):
        with pytest.raises(DomainError, match=r"A 'drawn' split needs its (seed|fraction)"):
            SplitRecord("drawn", **options)
    for how in ("given", "none"):
        with pytest.raises(DomainError, match=f"A '{how}' split has no fraction"):
            SplitRecord(how, fraction=0.5)
    with pytest.raises(DomainError, match="fraction must be below 1"):
        SplitRecord("drawn", seed=0, fraction=1.0)
    with pytest.raises(DtypeError, match="seed must be a whole number, got '7' of type str"):
        PriorRecord("random", seed="7")
    with pytest.raises(DtypeError, match="n_rows must be a whole number"):
        PriorRecord("random", n_rows=True)
