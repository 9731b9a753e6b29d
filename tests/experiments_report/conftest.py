"""Stores with made-up numbers: plausible, different for every run, and computed without training."""

import hashlib
import math

import pytest

from pbgnet.experiments import Store, load_study
from pbgnet.experiments.studies.store import RunRecord

BASE = {"ads": 0.03, "adult": 0.15, "mnist17": 0.005, "mnist49": 0.015, "mnist56": 0.011, "mnistLH": 0.02}
PICKS = {
    "mlp": ("validation",),
    "loss": ("validation", "bound"),
    "bound": ("objective",),
    "pretrained": ("objective",),
}
LIFT = {"mlp": 0.0, "loss": 0.002, "bound": 0.025, "pretrained": 0.008}
KL = {"loss": 20000.0, "bound": 200.0, "pretrained": 0.5}


def noise(*parts):
    """A number in (-1, 1) that depends on the parts alone."""
    digest = hashlib.sha256(repr(parts).encode()).digest()
    return int.from_bytes(digest[:4], "big") / 2**31 - 1


def made_up(spec):
    """Results as a run would leave them."""
    rows = spec.n_train or 10_000
    results = {}
    for pick in PICKS[spec.training]:
        lift = LIFT[spec.training] + (0.02 if pick == "bound" else 0.0)
        test = (BASE.get(spec.dataset, 0.05) + lift) * (1 + 3 / math.sqrt(rows))
        test *= 1 + 0.1 * noise(spec.to_json(), pick) + 0.5 / (spec.n_samples or 1000)
        train = test * (0.9 if spec.training in ("bound", "pretrained") else 0.5)
        numbers = {
            "train_error": train,
            "test_error": test,
            "train_loss": train + 0.01,
            "test_loss": test + 0.01,
            "epoch": 40.0 + round(30 * noise(spec.to_json())),
        }
        if spec.training in ("mlp", "loss"):
            numbers["validation_loss"] = test + 0.012
        if spec.training != "mlp":
            divergence = KL[spec.training] * (0.1 if pick == "bound" else 1.0) * rows / 10_000
            bound = min(1.0, train + 0.01 + math.sqrt((divergence + 10) / (2 * rows)))
            numbers |= {"divergence": divergence, "n": float(rows), "bound": bound, "c": 0.9}
            if spec.n_samples is not None:
                names = ("train_error", "test_error", "train_loss", "test_loss", "bound", "c")
                numbers |= {f"sampled_{name}": numbers[name] for name in names}
        results[pick] = numbers
    return results


def record_of(spec, results=None, error=""):
    return RunRecord(
        spec,
        {} if error else (made_up(spec) if results is None else results),
        error,
        2.0,
        "x86_64, 2 cores",
        "2026-03-01T10:00:00+00:00",
    )


@pytest.fixture
def fill(tmp_path):
    """Return a function that makes a store with the made-up runs of studies; `keep` leaves some out."""

    def make(*studies, keep=lambda k, spec: True, name="store.sqlite", failed=lambda k, spec: False):
        path = tmp_path / name
        with Store(path) as store:
            for study in studies:
                runs = [(k, spec) for k, spec in enumerate(load_study(study).runs) if keep(k, spec)]
                store.append(
                    record_of(spec, error="Traceback:\n  ...\nRuntimeError: boom" if failed(k, spec) else "")
                    for k, spec in runs
                )
        return path

    return make


@pytest.fixture
def put(tmp_path):
    """Return a function that makes a store of given records."""

    def make(records, name="store.sqlite"):
        with Store(tmp_path / name) as store:
            store.append(records)
        return tmp_path / name

    return make
