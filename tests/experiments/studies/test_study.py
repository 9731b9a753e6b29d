"""Studies as data: what comes with the package is the paper's, and what is wrong is refused."""

import itertools
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from pbgnet.exceptions import DamagedFileError, OptionError, UnknownNameError
from pbgnet.experiments import PaperRows, load_study
from pbgnet.experiments.runs import RunSpec
from pbgnet.experiments.studies.store import Store
from pbgnet.experiments.studies.study import GRID, study_names

RESULTS = Path(__file__).resolve().parents[3] / "results"
PAPER_SETS = ("ads", "adult", "mnist17", "mnist49", "mnist56", "mnistLH")
ALGORITHMS = ("mlp", "pbgnet_l", "pbgnet_l_bnd", "pbgnet", "pbgnet_pre")

# Runs of each training: data sets x splits x architectures x T x weight decays x learning rates.
EXPECTED = {
    "paper": {"mlp": 6 * 9 * 9, "loss": 6 * 9 * 45, "bound": 6 * 9 * 15, "pretrained": 6 * 9 * 15},
    "exact": {"mlp": 6 * 9 * 9, "loss": 6 * 9 * 9, "bound": 6 * (27 + 4 + 10), "pretrained": 6 * (27 + 12)},
    "variance": {"mlp": 120 * 9, "loss": 120 * 9, "bound": 120 * 3, "pretrained": 120 * 3},
    "variance-exact": {"mlp": 120 * 9, "loss": 120 * 9, "bound": 120 * (3 + 2), "pretrained": 120 * (3 + 4)},
    "sample-size": {"loss": 120 * 7, "bound": 120 * 7},
    "training-size": {"loss": 10 * 7 * (9 + 8 * 3), "bound": 10 * 7 * 3},
    "smoke": {"mlp": 2 * 2 * 4, "loss": 2 * 2 * 2 * 4, "bound": 2 * 2 * 2 * 2, "pretrained": 2 * 2 * 2 * 2},
}


def values(study, name, **where):
    runs = [run for run in study.runs if all(getattr(run, key) == value for key, value in where.items())]
    return {getattr(run, name) for run in runs}


def test_there_is_an_expectation_for_every_study_that_comes_with_the_package():
    assert study_names(GRID) == sorted(EXPECTED)


@pytest.mark.parametrize("name", EXPECTED)
def test_studies_have_the_expected_number_of_runs_without_repetitions(name):
    study = load_study(name)
    assert Counter(run.training for run in study.runs) == EXPECTED[name]
    assert len({run.identity() for run in study.runs}) == len(study.runs)
    assert study.name == name
    assert study.summary
    assert {run.dataset for run in study.runs} == set(study.datasets)


def test_the_paper_study_is_the_grid_of_the_appendix_verbatim():
    study = load_study("paper")
    assert study.datasets == PAPER_SETS
    assert study.algorithms == ALGORITHMS
    assert values(study, "hidden_layers") == {1, 2, 3}
    assert values(study, "hidden_size") == {10, 50, 100}
    assert values(study, "learning_rate") == {0.1, 0.01, 0.001}
    assert values(study, "split_seed") == values(study, "seed") == {0}
    assert values(study, "n_train") == {None}
    for training in ("loss", "bound", "pretrained"):
        assert values(study, "n_samples", training=training) == {10, 50, 100, 1000, 10000}
    assert values(study, "n_samples", training="mlp") == {None}
    for training in ("mlp", "loss"):
        assert values(study, "weight_decay", training=training) == {0, 1e-4, 1e-6}
    for training in ("bound", "pretrained"):
        assert values(study, "weight_decay", training=training) == {0}


@pytest.mark.parametrize("name", ["paper", "exact", "variance", "variance-exact"])
def test_the_optimisation_is_that_of_the_appendix(name):
    study = load_study(name)
    batch_sizes = {run.dataset: run.batch_size for run in study.runs}
    assert batch_sizes == {
        "ads": 32,
        "adult": 64,
        "mnist17": 32,
        "mnist49": 32,
        "mnist56": 32,
        "mnistLH": 64,
    }
    common = {
        (run.max_epochs, run.plateau_patience, run.stopping_patience, run.n_predictions) for run in study.runs
    }
    assert common == {(150, 5, 20, 20)}
    shares = {(run.validation_fraction, run.prior_fraction, run.delta) for run in study.runs}
    assert shares == {(0.2, 0.5, 0.05)}
    assert values(study, "constant") == {"paper"}
    paper = ("catoni", "adam")
    bound = ("seeger", "hybrid") if name.endswith("exact") else paper
    for training, expected in {"mlp": paper, "loss": paper, "bound": bound, "pretrained": bound}.items():
        chosen = [run for run in study.runs if run.training == training]
        assert {(run.objective, run.solver) for run in chosen} == {expected}


@pytest.mark.parametrize("name", ["paper", "variance"])
def test_priors_are_those_of_the_paper(name):
    study = load_study(name)
    assert values(study, "n_priors") == {9}
    assert values(study, "pretraining_epochs") == {20}
    assert values(study, "initialisation") == {"xavier_normal"}
    assert values(study, "restart") == {0}


def test_the_exact_study_pays_for_the_priors_it_adds():
    study = load_study("exact")
    counts = {}
    for training in ("bound", "pretrained"):
        chosen = [run for run in study.runs if run.training == training]
        # As the paper counts: a prior for each architecture, whatever the learning rate.
        priors = {(run.architecture, run.initialisation, run.pretraining_epochs) for run in chosen}
        counts[training] = len(priors)
        assert {run.n_priors for run in chosen} == {15}
    assert counts == {"bound": 9 + 1, "pretrained": 9 + 6}


@pytest.mark.parametrize("training", ["mlp", "loss", "pretrained"])
def test_a_grid_may_be_for_some_algorithms_only(training):
    study = load_study("exact")
    assert values(study, "restart", training=training) == {0}
    assert "pass_through" not in values(study, "initialisation", training=training)
    assert values(study, "restart", training="bound") == {0, 1, 2, 3, 4}
    assert values(study, "initialisation", training="bound") == {"xavier_normal", "pass_through"}
    assert values(study, "pretraining_epochs", training="pretrained") == {20, 60}


@pytest.mark.parametrize("name", study_names(GRID))
def test_only_the_exact_study_leaves_indicators_as_they_are(name):
    assert values(load_study(name), "scaling") == {"numeric" if name == "exact" else "paper"}


@pytest.mark.parametrize("scaling", ["paper", "none"])
def test_rows_are_scaled_as_the_run_says(scaling):
    rows = PaperRows()(RunSpec("breast", scaling=scaling))
    spread = rows.table.x.std(axis=0)
    assert np.allclose(spread, 1, atol=1e-3) == (scaling == "paper")


@pytest.mark.parametrize("name", ["exact", "variance-exact", "training-size"])
def test_exact_studies_have_no_samples(name):
    assert values(load_study(name), "n_samples") == {None}


@pytest.mark.parametrize(("name", "sampled"), [("exact", "paper"), ("variance-exact", "variance")])
def test_an_exact_study_is_its_sampled_one_without_the_samples(name, sampled):
    exact, paper = (
        {
            (run.dataset, run.split_seed, run.training, run.architecture, run.weight_decay, run.learning_rate)
            for run in s.runs
        }
        for s in (load_study(name), load_study(sampled))
    )
    assert exact == paper


def test_the_variance_study_samples_as_often_as_agrees_with_the_paper():
    study = load_study("variance")
    for training in ("loss", "bound", "pretrained"):
        assert values(study, "n_samples", training=training) == {1000}


@pytest.mark.parametrize(
    ("name", "repetitions"),
    [("variance", 20), ("variance-exact", 20), ("sample-size", 20), ("training-size", 10)],
)
def test_repetitions_have_splits_and_starts_of_their_own(name, repetitions):
    study = load_study(name)
    assert {(run.split_seed, run.seed) for run in study.runs} == {(s, s) for s in range(repetitions)}


@pytest.mark.parametrize("name", ["variance", "variance-exact", "sample-size"])
def test_studies_of_repetitions_have_one_architecture(name):
    assert values(load_study(name), "architecture") == {"1x10"}


def test_the_study_of_samples_ends_with_the_exact_aggregate():
    study = load_study("sample-size")
    assert values(study, "n_samples") == {1, 10, 50, 100, 1000, 10000, None}
    assert values(study, "learning_rate") == {0.1}
    assert study.algorithms == ("pbgnet_l", "pbgnet")


def test_the_study_of_training_sizes_grows_to_all_rows_of_mnist():
    study = load_study("training-size")
    assert study.datasets == ("mnistLH",)
    assert max(values(study, "n_train")) == 52500
    assert len(values(study, "n_train")) == 7
    assert values(study, "batch_size") == {64}


@pytest.mark.parametrize(("training", "decays"), [("loss", {0, 1e-4, 1e-6}), ("bound", {0})])
def test_at_every_training_size_all_algorithms_have_one_hidden_layer_of_10(training, decays):
    study = load_study("training-size")
    found = Counter(
        (run.n_train, run.weight_decay, run.learning_rate)
        for run in study.runs
        if run.training == training and run.architecture == "1x10"
    )
    sizes = (500, 1000, 2500, 5000, 10000, 25000, 52500)
    assert found == dict.fromkeys(itertools.product(sizes, decays, (0.1, 0.01, 0.001)), 10)


def test_at_every_training_size_the_loss_is_minimised_with_the_architectures_of_the_paper():
    study = load_study("training-size")
    found = Counter(
        (run.architecture, run.n_train, run.learning_rate)
        for run in study.runs
        if run.training == "loss" and run.weight_decay == 0
    )
    architectures = values(load_study("paper"), "architecture")
    assert len(architectures) == 9
    places = itertools.product(architectures, values(study, "n_train"), (0.1, 0.01, 0.001))
    assert found == dict.fromkeys(places, 10)
    assert values(study, "architecture", training="bound") == {"1x10"}
    assert values(study, "architecture", weight_decay=1e-4) == {"1x10"}


def test_results_of_the_training_sizes_with_one_architecture_stay_valid():
    """They are in the repository: a change of the study must not make their runs others."""
    with Store(RESULTS / "training-size" / "runs.sqlite", read_only=True) as store:
        specs = {record.spec for record in store.records()}
    one = load_study("training-size").where({"architecture": ["1x10"]})
    assert specs >= set(one.runs)
    assert len(one.runs) == 840


def test_two_algorithms_share_their_runs():
    study = load_study("exact")
    both = study.narrowed(algorithms=["pbgnet_l", "pbgnet_l_bnd"])
    assert both.runs == study.narrowed(algorithms=["pbgnet_l_bnd"]).runs
    assert both.algorithms == ("pbgnet_l", "pbgnet_l_bnd")


def test_a_narrowed_study_has_the_runs_that_were_asked_for_and_no_others():
    study = load_study("exact")
    narrow = study.narrowed(["adult", "ads"], ["pbgnet", "mlp"])
    assert narrow.datasets == ("adult", "ads")
    assert {(run.dataset, run.training) for run in narrow.runs} == {
        (dataset, training) for dataset in ("ads", "adult") for training in ("bound", "mlp")
    }
    assert len(narrow.runs) == 2 * (81 + 27 + 4 + 10)
    assert set(narrow.runs) <= set(study.runs)
    assert study.narrowed() == study


@pytest.mark.parametrize(
    ("chosen", "message"),
    [
        ({"datasets": ["moon"]}, r"data set of the study smoke.*moon.*breast"),
        ({"algorithms": ["svm"]}, r"algorithm of the study smoke.*svm.*mlp.*pbgnet_pre"),
    ],
)
def test_narrowing_to_something_unknown_lists_what_there_is(chosen, message):
    with pytest.raises(UnknownNameError, match=message):
        load_study("smoke").narrowed(**chosen)


def test_narrowing_to_an_algorithm_that_the_study_leaves_out_lists_those_it_has():
    with pytest.raises(UnknownNameError, match="'mlp'; choose one of pbgnet, pbgnet_l") as caught:
        load_study("sample-size").narrowed(algorithms=["mlp"])
    assert "pbgnet_pre" not in str(caught.value)


def test_an_unknown_study_lists_those_there_are():
    with pytest.raises(UnknownNameError, match=r"papers.*exact.*paper.*sample-size.*smoke.*variance"):
        load_study("papers")


MINE = """
datasets = ["breast", "moons"]
algorithms = ["pbgnet_l", "pbgnet"]

[grid]
hidden_size = 4
weight_decay = [0, 0.1]
learning_rate = [0.1, 0.2]

[common]
max_epochs = 3
"""


@pytest.fixture
def write(tmp_path):
    def write_file(text, name="mine.toml"):
        path = tmp_path / name
        path.write_bytes(text.encode() if isinstance(text, str) else text)
        return path

    return write_file


@pytest.mark.parametrize("as_text", [False, True])
def test_a_study_of_ones_own_is_read_from_its_file(write, as_text):
    path = write(MINE)
    study = load_study(str(path) if as_text else path)
    assert (study.name, study.summary) == ("mine", "")
    assert len(study.runs) == 2 * (4 + 2)
    expected = RunSpec("moons", training="loss", hidden_size=4, weight_decay=0.1, max_epochs=3)
    assert expected in study.runs
    assert values(study, "batch_size") == {64}
    assert values(study, "hidden_layers") == {1}


def test_weight_decay_does_not_multiply_bound_runs_nor_samples_those_of_tanh_networks(write):
    text = MINE.replace('["pbgnet_l", "pbgnet"]', '["mlp", "pbgnet", "pbgnet_pre"]')
    study = load_study(write(text.replace("hidden_size = 4", "n_samples = [0, 5, 6]")))
    per_set = Counter(run.training for run in study.runs if run.dataset == "moons")
    assert per_set == {"mlp": 4, "bound": 6, "pretrained": 6}
    assert values(study, "n_samples", training="bound") == {None, 5, 6}


def test_batch_sizes_need_no_default(write):
    study = load_study(write(MINE + "[batch_size]\nmoons = 16\n"))
    assert {(run.dataset, run.batch_size) for run in study.runs} == {("breast", 64), ("moons", 16)}


def test_seeds_are_those_of_the_split_where_the_file_says_so(write):
    study = load_study(write('seeds = ["split", 7]\nsplit_seeds = [1, 2]\n' + MINE))
    assert {(run.split_seed, run.seed) for run in study.runs} == {(1, 1), (1, 7), (2, 2), (2, 7)}


@pytest.mark.parametrize(
    ("text", "error", "message"),
    [
        ("datasets = [", DamagedFileError, "mine.toml is not valid TOML"),
        (b"\xff\xfe", DamagedFileError, "mine.toml cannot be read: it is not UTF-8"),
        (
            MINE + "[gird]\n",
            OptionError,
            "unknown sections: gird. The known sections are algorithms.*summary",
        ),
        ("", OptionError, "The study mine has no algorithms, datasets, grid"),
        (MINE.replace("[grid]", "[batch_size]"), OptionError, "has no grid"),
        (MINE.replace("pbgnet_l", "pbgnet_x"), UnknownNameError, "pbgnet_x.*mlp.*pbgnet_pre"),
        (MINE.replace("max_epochs", "epochs"), OptionError, "no epochs; it has .*max_epochs"),
        (
            MINE.replace("[grid]", '[grid]\nalgorithms = ["mlp"]'),
            UnknownNameError,
            "algorithm of a grid.*'mlp'",
        ),
        (MINE.replace("hidden_size", "width"), OptionError, "no width; it has .*hidden_size"),
    ],
)
def test_a_study_that_is_wrong_is_refused_with_the_reason(write, text, error, message):
    with pytest.raises(error, match=message):
        load_study(write(text))


def test_a_file_that_is_not_there_is_named(tmp_path):
    with pytest.raises(DamagedFileError, match=r"nothing.toml cannot be read: No such file"):
        load_study(tmp_path / "nothing.toml")


def test_runs_are_chosen_by_the_values_of_their_properties():
    study = load_study("paper")
    part = study.where({"n_samples": ["1000", "10000"], "architecture": ["2x50"], "weight_decay": ["1e-6"]})
    assert values(part, "n_samples") == {1000, 10000}
    assert values(part, "architecture") == {"2x50"}
    assert values(part, "weight_decay") == {1e-6}
    assert len(part.runs) == 6 * 2 * 3  # data sets x T x learning rates, of PBGNet_l
    assert study.where({}) == study


def test_an_exact_aggregate_has_no_samples():
    assert values(load_study("sample-size").where({"n_samples": ["0"]}), "n_samples") == {None}


def test_conditions_that_no_run_fulfils_are_refused():
    study = load_study("smoke")
    with pytest.raises(UnknownNameError, match="n_samples"):
        study.where({"samples": ["10"]})
    with pytest.raises(OptionError, match="No run of the study smoke has hidden_size=7, hidden_size=many"):
        study.where({"hidden_size": ["7", "many"]})


def test_a_study_without_some_of_its_runs_has_the_others_in_order():
    study = load_study("smoke")
    first, *others = study.runs
    assert study.without({first}).runs == tuple(others)
