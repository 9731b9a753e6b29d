"""The paper's tables as they are kept: complete, and in places compared with the printed ones."""

import csv
from importlib import resources

import pytest

from pbgnet.training import ALGORITHMS

SETS = ["ads", "adult", "mnist17", "mnist49", "mnist56", "mnistLH"]
TABLES = ["main_results", "selected_models", "variance"]


def read(name):
    text = (resources.files("pbgnet.experiments") / "paper" / f"{name}.csv").read_text(encoding="utf-8")
    return {(row["dataset"], row["algorithm"]): row for row in csv.DictReader(text.splitlines())}


@pytest.mark.parametrize("name", TABLES)
def test_every_data_set_and_algorithm_is_there_once(name):
    text = (resources.files("pbgnet.experiments") / "paper" / f"{name}.csv").read_text(encoding="utf-8")
    assert list(read(name)) == [(dataset, algorithm) for dataset in SETS for algorithm in ALGORITHMS]
    assert len(text.splitlines()) == 31


@pytest.mark.parametrize("name", ["main_results", "variance"])
def test_errors_are_everywhere_and_bounds_where_the_paper_has_them(name):
    for (_, algorithm), row in read(name).items():
        numbers = {key: value for key, value in row.items() if key not in ("dataset", "algorithm")}
        assert all(0 <= float(value) < 1 for key, value in numbers.items() if not key.startswith("bound"))
        assert all(
            bool(value) == (algorithm not in ("mlp", "pbgnet_l"))
            for key, value in numbers.items()
            if key.startswith("bound")
        )


@pytest.mark.parametrize(
    ("dataset", "algorithm", "column", "printed"),
    [
        ("ads", "mlp", "train_error", 0.021),
        ("ads", "pbgnet_l", "test_error", 0.030),
        ("ads", "pbgnet_l_bnd", "bound", 0.763),
        ("adult", "pbgnet", "test_error", 0.163),
        ("adult", "pbgnet_pre", "bound", 0.164),
        ("mnist17", "pbgnet", "bound", 0.040),
        ("mnist49", "pbgnet_l", "test_error", 0.018),
        ("mnist49", "pbgnet_pre", "train_error", 0.016),
        ("mnist56", "pbgnet_l_bnd", "bound", 0.172),
        ("mnist56", "pbgnet_pre", "test_error", 0.009),
        ("mnistLH", "mlp", "test_error", 0.018),
        ("mnistLH", "pbgnet_pre", "bound", 0.033),
    ],
)
def test_results_are_the_printed_ones(dataset, algorithm, column, printed):
    assert float(read("main_results")[dataset, algorithm][column]) == printed


@pytest.mark.parametrize(
    ("dataset", "algorithm", "column", "printed", "deviation"),
    [
        ("ads", "pbgnet_pre", "test_error", 0.048, 0.012),
        ("ads", "pbgnet_l_bnd", "bound", 0.777, 0.000),
        ("adult", "mlp", "train_error", 0.133, 0.007),
        ("mnist17", "pbgnet", "bound", 0.041, 0.001),
        ("mnist49", "pbgnet_l", "test_error", 0.016, 0.003),
        ("mnist56", "pbgnet_pre", "bound", 0.020, 0.002),
        ("mnistLH", "pbgnet_l_bnd", "test_error", 0.049, 0.003),
        ("mnistLH", "pbgnet_pre", "train_error", 0.042, 0.002),
    ],
)
def test_the_variance_is_the_printed_one(dataset, algorithm, column, printed, deviation):
    row = read("variance")[dataset, algorithm]
    assert (float(row[column]), float(row[f"{column}_deviation"])) == (printed, deviation)


@pytest.mark.parametrize(
    ("dataset", "algorithm", "printed"),
    [
        ("ads", "mlp", "3,100,,1e-4,,,0.1,9"),
        ("ads", "pbgnet_l", "1,10,100,1e-6,11.44,14219,0.1,8"),
        ("adult", "pbgnet_l_bnd", "1,10,10,0,0.76,1294,0.001,111"),
        ("mnist17", "pbgnet", "1,10,10000,,1.33,164,0.1,106"),
        ("mnist49", "pbgnet_pre", "1,100,10000,,0.44,1.94,0.1,77"),
        ("mnist56", "mlp", "2,50,,1e-6,,,0.001,17"),
        ("mnistLH", "pbgnet_l", "3,100,10000,1e-6,19.99,98792960,0.1,92"),
        ("mnistLH", "pbgnet_pre", "2,100,10000,,0.16,0.43,0.01,99"),
    ],
)
def test_selected_models_are_the_printed_ones(dataset, algorithm, printed):
    _, _, *values = read("selected_models")[dataset, algorithm].values()
    assert ",".join(values) == printed


def test_selected_models_are_in_the_grid_of_the_paper_study():
    from pbgnet.experiments import load_study

    runs = {
        (r.dataset, r.training, r.hidden_layers, r.hidden_size, r.n_samples, r.weight_decay, r.learning_rate)
        for r in load_study("paper").runs
    }
    for (dataset, algorithm), row in read("selected_models").items():
        samples = int(row["n_samples"]) if row["n_samples"] else None
        decay, rate = float(row["weight_decay"] or 0), float(row["learning_rate"])
        sizes = int(row["hidden_layers"]), int(row["hidden_size"])
        assert (dataset, ALGORITHMS[algorithm].training, *sizes, samples, decay, rate) in runs
        assert 1 <= int(row["epoch"]) <= 150
