"""What the tests of experiments share: small data, short runs, stores, records made by hand."""

import math
from dataclasses import replace

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer

from pbgnet.experiments import Store
from pbgnet.experiments.runs import RunSpec
from pbgnet.experiments.runs import specification as specification_module
from pbgnet.experiments.runs.batch import Rows, Table
from pbgnet.experiments.studies import store as store_module
from pbgnet.experiments.studies.store import RunRecord
from pbgnet.experiments.studies.study import Study

SHORT = {
    "hidden_size": 3,
    "batch_size": 32,
    "max_epochs": 4,
    "plateau_patience": 2,
    "stopping_patience": 3,
    "pretraining_epochs": 2,
    "n_predictions": 3,
    "n_priors": 4,
}


@pytest.fixture(scope="session")
def breast() -> Rows:
    """300 and 100 rows of scikit-learn's breast cancer data, standardised and shuffled."""
    x, y = load_breast_cancer(return_X_y=True)
    order = np.random.default_rng(0).permutation(len(x))[:400]
    x, y = x[order], np.where(y[order] > 0, 1.0, -1.0)
    x = (x - x[:300].mean(axis=0)) / x[:300].std(axis=0)
    return Rows(Table(x, y), np.arange(300), np.arange(300, 400))


@pytest.fixture
def spec():
    """Make a run that takes a blink."""

    def make(training="bound", dataset="breast", **changes) -> RunSpec:
        return RunSpec(dataset, training=training, **(SHORT | changes))

    return make


@pytest.fixture
def grid(spec):
    """Make the runs of one batch: every learning rate, and every weight decay where there is one."""

    def make(training, rates=(0.1, 0.01), decays=(0.0, 1e-2), **changes) -> list[RunSpec]:
        base = spec(training, **changes)
        decays = decays if training in ("mlp", "loss") else (0.0,)
        return [replace(base, learning_rate=rate, weight_decay=decay) for decay in decays for rate in rates]

    return make


@pytest.fixture
def study(spec) -> Study:
    """Two data sets, two trainings, two architectures, two rates: 16 runs in 8 batches."""
    runs = [
        spec(training, dataset, hidden_size=size, learning_rate=rate, max_epochs=2)
        for dataset in ("one", "two")
        for training in ("loss", "bound")
        for size in (2, 3)
        for rate in (0.1, 0.01)
    ]
    return Study("mine", "", ("one", "two"), ("pbgnet_l", "pbgnet"), tuple(runs))


@pytest.fixture
def source(breast):
    """Few rows for every run; remembers for which, and can be told to fail."""
    rows = Rows(breast.table, breast.train[:64], breast.test[:32])

    class Source:
        def __init__(self):
            self.calls = []
            self.trouble = lambda run: None

        def __call__(self, run) -> Rows:
            self.calls.append(run)
            self.trouble(run)
            return rows

    return Source()


@pytest.fixture
def store(tmp_path):
    with Store(tmp_path / "runs.sqlite") as opened:
        yield opened


@pytest.fixture
def pretend_version(monkeypatch):
    """Pretend that the code is another one."""

    def pretend(version: str) -> None:
        monkeypatch.setattr(specification_module, "code_version", lambda: version)
        monkeypatch.setattr(store_module, "code_version", lambda: version)

    return pretend


@pytest.fixture
def record(spec):
    """Make a record by hand: the numbers of one epoch, under the name of the rule that picked it."""

    def make(training, pick, numbers, *, error="", **changes) -> RunRecord:
        results = {} if error else {pick: {"train_loss": 0.1, "divergence": 10.0, "n": 1000.0} | numbers}
        return RunRecord(spec(training, **changes), results, error)

    return make


def assert_close_results(left, right, tolerance=1e-5):
    """Compare numbers of runs, by pick and name."""
    assert left.keys() == right.keys()
    for pick, numbers in left.items():
        assert numbers.keys() == right[pick].keys()
        for name, value in numbers.items():
            assert math.isclose(value, right[pick][name], rel_tol=tolerance, abs_tol=tolerance), (pick, name)


@pytest.fixture(scope="session")
def close_results():
    return assert_close_results
