"""A run is its description and the code: identity, canonical form, refusals."""

import dataclasses
import json

import pytest

from pbgnet.exceptions import OptionError
from pbgnet.experiments.runs import RunSpec
from pbgnet.experiments.runs import specification as module

OTHER_VALUES = {
    "dataset": "adult",
    "split_seed": 1,
    "n_train": 500,
    "scaling": "none",
    "training": "loss",
    "hidden_layers": 2,
    "hidden_size": 50,
    "n_samples": 10,
    "weight_decay": 1e-6,
    "learning_rate": 0.01,
    "batch_size": 32,
    "seed": 1,
    "restart": 1,
    "initialisation": "pass_through",
    "solver": "hybrid",
    "objective": "seeger",
    "max_epochs": 151,
    "plateau_patience": 6,
    "stopping_patience": 21,
    "pretraining_epochs": 21,
    "validation_fraction": 0.25,
    "prior_fraction": 0.4,
    "delta": 0.01,
    "n_priors": 10,
    "constant": "maurer",
    "n_predictions": 21,
}

FIELDS = [field.name for field in dataclasses.fields(RunSpec)]


@pytest.mark.parametrize("name", FIELDS)
def test_every_single_field_changes_the_identity(name):
    spec = RunSpec("ads")
    other = dataclasses.replace(spec, **{name: OTHER_VALUES[name]})
    assert other != spec
    assert other.identity() != spec.identity()


def test_the_identity_is_16_hexadecimal_digits_and_the_same_every_time():
    identity = RunSpec("ads").identity()
    assert identity == RunSpec("ads").identity()
    assert len(identity) == 16
    assert set(identity) <= set("0123456789abcdef")


def test_another_code_gives_another_identity(monkeypatch):
    spec = RunSpec("ads")
    before = spec.identity()
    monkeypatch.setattr(module, "code_version", lambda: "0+other")
    assert spec.identity() != before


@pytest.mark.parametrize("spec", [RunSpec("ads"), RunSpec(**OTHER_VALUES)])
def test_a_description_survives_json_whatever_the_order_of_its_fields(spec):
    assert RunSpec.from_json(spec.to_json()) == spec
    backwards = json.dumps(dict(reversed(json.loads(spec.to_json()).items())))
    assert backwards != spec.to_json()
    assert RunSpec.from_json(backwards).to_json() == spec.to_json()
    assert RunSpec.from_json(backwards).identity() == spec.identity()
    assert list(json.loads(spec.to_json())) == sorted(FIELDS)  # nor does the order in the class matter


@pytest.mark.parametrize(
    "name", ["weight_decay", "learning_rate", "validation_fraction", "prior_fraction", "delta"]
)
def test_whole_numbers_and_floats_describe_the_same_run(name):
    assert RunSpec("ads", **{name: 1}).identity() == RunSpec("ads", **{name: 1.0}).identity()


def test_fields_nobody_knows_are_refused_with_those_that_are_known():
    with pytest.raises(OptionError, match=r"no colour, depth; it has batch_size.*weight_decay"):
        RunSpec.from_dict({"dataset": "ads", "depth": 3, "colour": "red"})


def test_the_architecture_has_a_name_and_sizes():
    spec = RunSpec("ads", hidden_layers=3, hidden_size=50)
    assert spec.architecture == "3x50"
    assert spec.hidden_layer_sizes == (50, 50, 50)
