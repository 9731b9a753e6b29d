"""Version 1 of the schema: read, verified and written back as it was, for ever."""

import dataclasses
import json
from pathlib import Path

import pytest

from pbgnet.certificates import Certificate, load_model, save_model
from pbgnet.certificates.evaluation import Evaluation
from pbgnet.certificates.origin_checks import check_rows
from pbgnet.certificates.subject import NetworkSubject
from pbgnet.exceptions import DamagedFileError

FOLDER = Path(__file__).resolve().parents[1] / "golden" / "v1" / "model"
TEXT = (FOLDER / "certificate.json").read_text()


def test_it_is_written_back_byte_for_byte(tmp_path):
    certificate = Certificate.from_json(TEXT)
    assert certificate.version == 1
    assert certificate.to_json() == TEXT
    assert certificate.seal == certificate.written.seal
    folder = save_model(load_model(FOLDER), tmp_path / "model")
    for name in ("certificate.json", "preprocessing.json", "model.safetensors"):
        assert (folder / name).read_bytes() == (FOLDER / name).read_bytes()


def test_its_numbers_are_claims_and_alternatives():
    certificate, data = Certificate.from_json(TEXT), json.loads(TEXT)
    assert certificate.linear_loss.value == data["bound"]["value"]
    assert certificate.error_rate.value == data["bound"]["error_rate_bound"]
    assert certificate.alternative("linear loss", "chernoff").value == data["held_out"]["risk_bound"]
    counted = certificate.alternative("error rate", "clopper-pearson")
    assert counted.value == data["held_out"]["error_rate_bound"]
    assert counted.evidence.n_errors == data["held_out"]["n_errors"]
    assert certificate.choices.certificate == "seeger"
    assert certificate.statement == data["statement"]
    assert list(certificate.assumptions) == data["assumptions"]
    assert list(certificate.predictors) == list(data["predictors"].values())


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("bound.name", "mcallester"),
        ("bound.value", 1.5),
        ("bound.extra", 1),
        ("inputs.divergence", None),
        ("inputs.n_duplicates", 3),
        ("held_out.n_errors", -1),
        ("loss", "zero-one"),
        ("aggregation.method", "monte_carlo"),
        ("fingerprints.predictions", None),
        ("claims", []),
        ("prior", None),
    ],
)
def test_it_is_read_as_strictly_as_ever(path, value):
    data = json.loads(TEXT)
    place, *keys = data, *path.split(".")
    for key in keys[:-1]:
        place = place[key]
    place[keys[-1]] = value
    with pytest.raises(DamagedFileError, match=keys[-1]):
        Certificate.from_json(json.dumps(data))


def test_a_forged_number_changes_its_seal():
    data = json.loads(TEXT)
    data["predictors"]["value"] = "The sign network."
    certificate = Certificate.from_json(json.dumps(data))
    assert certificate.written.predictors != certificate.predictors
    other = dataclasses.replace(certificate, n_rows_total=121)
    assert other.seal != certificate.seal


def test_rows_left_out_of_it_are_missed_too():
    model, labels = load_model(FOLDER), ["good"] * 120
    assert check_rows(NetworkSubject(model, None, labels)).ok
    inputs = dataclasses.replace(model.certificate.inputs, n=59)
    fewer = dataclasses.replace(
        model,
        certified_rows=model.certified_rows[:-1],
        certificate=dataclasses.replace(model.certificate, inputs=inputs),
    )
    outcome = check_rows(NetworkSubject(fewer, None, labels))
    assert (outcome.ok, outcome.found) == (False, "1 rows in neither part")


def test_its_errors_are_counted_as_it_counts():
    model = load_model(FOLDER)
    evaluation = Evaluation(
        n=60, risk=0.5, n_errors=60, n_wrong=28, n_ties=60, numerical_error=1e-10, divergence=0.0
    )
    assert NetworkSubject(model, None, None).n_errors(evaluation) == 28
    current = dataclasses.replace(model, certificate=dataclasses.replace(model.certificate, version=2))
    assert NetworkSubject(current, None, None).n_errors(evaluation) == 60
