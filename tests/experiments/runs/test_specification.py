"""A run is its description and the code: identity, canonical form, refusals."""

import dataclasses
import json
from pathlib import Path

import pytest

import pbgnet
from pbgnet.exceptions import OptionError
from pbgnet.experiments.runs import RunSpec, code_version
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


@pytest.fixture
def copied_code(tmp_path, monkeypatch):
    """A copy of a few files of the package, taken for the package."""
    for room in ("training", "estimators"):
        (tmp_path / room).mkdir()
        (tmp_path / room / "loop.py").write_text("x = 1\n")
    monkeypatch.setattr(module.pbgnet, "__file__", str(tmp_path / "__init__.py"))
    code_version.cache_clear()
    yield tmp_path
    code_version.cache_clear()


@pytest.mark.parametrize(
    ("change", "counts"),
    [
        (lambda root: (root / "training" / "loop.py").write_text("x = 2\n"), True),
        (lambda root: (root / "training" / "loop.py").rename(root / "training" / "other.py"), True),
        (lambda root: (root / "training" / "more.py").write_text(""), True),
        (lambda root: (root / "estimators" / "loop.py").write_text("x = 2\n"), False),
        (lambda root: (root / "training" / "notes.txt").write_text("x"), False),
    ],
    ids=["edited", "renamed", "added", "elsewhere", "no-code"],
)
def test_the_version_changes_with_code_that_decides_what_a_run_computes(copied_code, change, counts):
    before = code_version()
    change(copied_code)
    assert code_version() == before  # a process has one version
    code_version.cache_clear()
    assert (code_version() != before) == counts


def test_the_version_begins_with_that_of_the_package(copied_code, monkeypatch):
    version, _, fingerprint = code_version().partition("+")
    assert version == pbgnet.__version__
    monkeypatch.setattr(module.pbgnet, "__version__", "99.0")
    code_version.cache_clear()
    assert code_version() == f"99.0+{fingerprint}"


def test_all_code_that_counts_exists():
    root = Path(pbgnet.__file__).parent
    for name in module.CODE_THAT_COUNTS:
        place = root / name
        assert place.is_file() if name.endswith(".py") else list(place.glob("*.py")), name
