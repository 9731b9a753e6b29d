"""The JSON Schema of certificates: it takes what we write, and refuses what we would not read."""

import copy
import json
from pathlib import Path

import jsonschema
import numpy as np
import pytest
from tests.certificates.conftest import Reads, build_model, make_data

from pbgnet.certificates import (
    Certificate,
    certificate_schema,
    certify,
    certify_by_disagreement,
    certify_selective,
)
from pbgnet.certificates.classifier import ExportedNetwork
from pbgnet.certificates.routes import ROUTES
from pbgnet.exceptions import DamagedFileError

GOLDEN = sorted((Path(__file__).resolve().parents[2] / "golden").glob("v*/model/certificate.json"))


@pytest.fixture(scope="module")
def validator():
    kind = jsonschema.validators.validator_for(certificate_schema())
    kind.check_schema(certificate_schema())
    return kind(certificate_schema())


class Exported:
    """A classifier that says which exported network it is."""

    exported_network = ExportedNetwork("sign", "float32", "0" * 64, "1" * 64)

    def predict(self, X):
        return np.where(np.asarray(X)[:, 0] > 0, "yes", "no")


@pytest.fixture(scope="module")
def issued():
    """Certificates of every kind of subject, as they are written."""
    x, y = make_data(40, classes=(0, 1, 2))
    fresh = np.random.default_rng(9).normal(size=(100, 1))
    networks = [
        build_model("inside", certificate="auto", class_conditional=True),
        build_model("inside", certificate="vote"),
        build_model("inside", certificate="held-out"),
        build_model("random", certificate="mixture", n_priors=3),
        build_model("zero", aggregation="monte_carlo", n_samples=3, seed=1),
    ]
    vote, known = build_model("zero")[0], Reads((0, 1, 2))
    found = {
        **{f"network {k}": model.certificate for k, (model, *_) in enumerate(networks)},
        "classifier": certify(known, x, y).certificate,
        "classes and loss": certify(known, x, y, loss="brier", class_conditional=True).certificate,
        "answers some rows": certify_selective(known, x, y, error=0.5).certificate,
        "groups": certify(known, x, y, groups=["a", "b"] * 20).certificate,
        "disagreement": certify_by_disagreement(vote, Exported().predict, fresh).certificate,
        "exported": certify_by_disagreement(vote, Exported(), fresh, n_models=2).certificate,
    }
    return {name: certificate.to_json() for name, certificate in found.items()}


@pytest.fixture
def certificates(issued):
    return {name: json.loads(text) for name, text in issued.items()}


@pytest.mark.parametrize("path", GOLDEN, ids=lambda path: path.parents[1].name)
def test_golden_certificates_are_as_the_schema_says(validator, path):
    assert list(validator.iter_errors(json.loads(path.read_text()))) == []


def test_there_are_golden_certificates():
    assert len(GOLDEN) >= 3


def test_certificates_of_every_subject_are_as_the_schema_says(validator, certificates):
    for name, content in certificates.items():
        validator.validate(content)
        assert validator.is_valid(json.loads(json.dumps(content, sort_keys=True))), name
    kinds = {content["subject"]["kind"] for content in certificates.values()}
    assert kinds == {"network", "classifier", "disagreement"}
    routes = {
        claim["route"]
        for content in certificates.values()
        for claim in (*content["claims"], *content["alternatives"])
    }
    assert routes == set(ROUTES)


def places(data, path=()):
    """Every path to a value, whatever it is."""
    for key, value in data.items() if isinstance(data, dict) else enumerate(data):
        yield (*path, key)
        if isinstance(value, dict | list):
            yield from places(value, (*path, key))


def places_of_each_kind(data):
    """One path for all items of a list that share their schema: claims of one route, values of one type."""
    found = {}
    for path in places(data):
        items = (at(data, path[: k + 1]) if isinstance(key, int) else key for k, key in enumerate(path))
        kind = (str(item.get("route")) if isinstance(item, dict) else type(item) for item in items)
        names = tuple(key if isinstance(key, str) else "" for key in path)
        found.setdefault((names, tuple(kind)), path)
    return found.values()


def at(data, path):
    for key in path:
        data = data[key]
    return data


def changed(data, path, value):
    """A copy with another value at a place."""
    content = copy.deepcopy(data)
    at(content, path[:-1])[path[-1]] = value
    return content


def refused(validator, content):
    """Whether the schema refuses it; then our reader, which is as strict or stricter, has to as well."""
    valid = validator.is_valid(content)
    if not valid:
        with pytest.raises(DamagedFileError):
            Certificate.from_json(json.dumps(content))
    return not valid


LEFT_OUT_WITHOUT_GROUPS = ("groups", "group", "largest_group_difference")

NAMES = ["network 1", "classes and loss", "groups", "exported"]


@pytest.mark.parametrize("name", NAMES)
def test_no_key_may_be_missing_and_none_added(validator, certificates, name):
    genuine = certificates[name]
    for path in places_of_each_kind(genuine):
        if isinstance(path[-1], str) and path[-1] not in LEFT_OUT_WITHOUT_GROUPS:
            content = copy.deepcopy(genuine)
            del at(content, path[:-1])[path[-1]]
            assert refused(validator, content), path
    objects = [(), *(path for path in places_of_each_kind(genuine) if isinstance(at(genuine, path), dict))]
    for path in objects:
        assert refused(validator, changed(genuine, (*path, "extra"), 1)), path


@pytest.mark.parametrize("name", NAMES)
def test_values_of_another_type_are_refused(validator, certificates, name):
    genuine = certificates[name]
    for path in places_of_each_kind(genuine):
        value = at(genuine, path)
        wrong = [{"a": 1}, [[]], "text" if isinstance(value, float | bool) else 1.5]
        if not isinstance(value, bool):
            wrong.append(True)
        for other in wrong:
            assert refused(validator, changed(genuine, path, other)), (path, other)


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("schema", "x"),
        ("version", 2),
        ("confidence", 1.0),
        ("confidence", 0),
        ("delta", 0.0),
        ("n_priors", 0),
        ("n_priors", 1.5),
        ("claims.0.value", 1.0000001),
        ("claims.0.value", -1e-9),
        ("claims.0.delta", 1),
        ("claims.0.quantity", "loss 'brier'"),
        ("claims.0.predictor", "sign network"),
        ("claims.0.route", "mcallester"),
        ("claims.0.evidence.n", 0),
        ("claims.0.settings.n_networks", 0),
        ("claims.0.settings.n_networks", 10**6),
        ("claims.0.settings.c", [0.5, 0.0]),
        ("inputs.n", 0),
        ("inputs.n_errors", -1),
        ("inputs.empirical_error_rate", 1.5),
        ("inputs.n_duplicates", None),
        ("subject.kind", "person"),
        ("subject.network.hidden_layer_sizes", [0]),
        ("subject.aggregation.method", "enumeration"),
        ("subject.prior.how", "leaked"),
        ("subject.prior.seed", -1),
        ("subject.split.fraction", 1.0),
        ("subject.divergence", -1.0),
        ("subject.posterior_weights", "0" * 63),
        ("subject.posterior_weights", "G" * 64),
        ("fingerprints.data", None),
        ("issued_at", "yesterday"),
        ("seal", "0" * 65),
    ],
)
def test_numbers_and_names_out_of_range_are_refused(validator, certificates, path, value):
    content = certificates["network 1"]
    assert content["claims"][0]["route"] == "vote"
    keys = [int(key) if key.isdigit() else key for key in path.split(".")]
    assert refused(validator, changed(content, keys, value))


def test_evidence_and_settings_are_those_of_the_route(validator, certificates):
    claims = [
        (content, part, k)
        for content in certificates.values()
        for part in ("claims", "alternatives")
        for k in range(len(content[part]))
    ]
    samples = {content[part][k]["route"]: (content, part, k) for content, part, k in claims}
    assert set(samples) == set(ROUTES)
    for route, (content, part, k) in samples.items():
        for other, (where, whose, place) in samples.items():
            for name in ("evidence", "settings"):
                if getattr(ROUTES[route], f"{name}_type") is not getattr(ROUTES[other], f"{name}_type"):
                    swapped = changed(content, (part, k, name), where[whose][place][name])
                    assert refused(validator, swapped), (route, other, name)


def test_a_subject_has_what_its_kind_says(validator, certificates):
    for name, content in certificates.items():
        genuine = content["subject"]
        for other in ("network", "classifier", "disagreement"):
            if other != genuine["kind"]:
                assert refused(validator, {**content, "subject": {**genuine, "kind": other}}), name
