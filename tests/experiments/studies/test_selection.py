"""The paper's selection rules on records made by hand, and what an honest union pays for."""

import math

import pytest

from pbgnet.bounds import seeger_bound
from pbgnet.exceptions import UnknownNameError
from pbgnet.experiments.studies import select, select_all
from pbgnet.training import ALGORITHMS


def by_rate(selected):
    return selected.candidate.spec.learning_rate


@pytest.mark.parametrize(("algorithm", "training"), [("mlp", "mlp"), ("pbgnet_l", "loss")])
def test_the_validation_loss_decides_where_the_paper_says_so(record, algorithm, training):
    records = [
        record(
            training, "validation", {"validation_loss": v, "bound": b, "test_error": t}, learning_rate=rate
        )
        for rate, v, b, t in [(0.1, 0.3, 0.1, 0.1), (0.2, 0.1, 0.9, 0.9), (0.3, 0.2, 0.05, 0.01)]
    ]
    selected = select(algorithm, records)
    assert by_rate(selected) == 0.2
    assert selected.algorithm == algorithm
    assert selected.candidate.numbers["test_error"] == 0.9


@pytest.mark.parametrize(("algorithm", "training"), [("pbgnet", "bound"), ("pbgnet_pre", "pretrained")])
def test_the_bound_decides_where_the_paper_says_so(record, algorithm, training):
    records = [
        record(training, "objective", {"bound": b, "train_loss": t, "test_error": t}, learning_rate=rate)
        for rate, b, t in [(0.1, 0.3, 0.01), (0.2, 0.1, 0.05), (0.3, 0.2, 0.02)]
    ]
    assert by_rate(select(algorithm, records)) == 0.2


def test_the_hybrid_lets_the_bound_decide_within_and_the_validation_loss_between_weight_decays(record):
    """The smallest bound of all and the smallest validation loss of all both lose."""
    table = [  # weight decay, learning rate, bound, validation loss
        (0.0, 0.1, 0.20, 0.30),  # smallest bound of all, but its decay loses on validation
        (0.0, 0.2, 0.25, 0.01),  # smallest validation loss of all, but not the best bound of its decay
        (1e-4, 0.1, 0.50, 0.20),
        (1e-4, 0.2, 0.40, 0.25),  # chosen: best bound of its decay, and best validation among those
        (1e-6, 0.1, 0.30, 0.28),
        (1e-6, 0.2, 0.35, 0.05),
    ]
    records = [
        record("loss", "bound", {"bound": b, "validation_loss": v}, weight_decay=decay, learning_rate=rate)
        for decay, rate, b, v in table
    ]
    for some in (records, records[::-1]):
        chosen = select("pbgnet_l_bnd", some).candidate.spec
        assert (chosen.weight_decay, chosen.learning_rate) == (1e-4, 0.2)


def test_the_rules_look_at_the_epoch_that_their_algorithm_picked(record):
    one = record("loss", "validation", {"validation_loss": 0.1, "bound": 0.9})
    one.results["bound"] = {"validation_loss": 0.2, "bound": 0.5, "train_loss": 0.3}
    assert select("pbgnet_l", [one]).candidate.numbers["bound"] == 0.9
    assert select("pbgnet_l_bnd", [one]).candidate.numbers["bound"] == 0.5
    assert select("pbgnet_l_bnd", [one], "validation").candidate.numbers["bound"] == 0.9


def test_runs_that_failed_and_those_of_other_trainings_are_passed_over(record):
    records = [
        record("bound", "objective", {}, error="no", learning_rate=0.1),
        record("pretrained", "objective", {"bound": 0.01}, learning_rate=0.2),
        record("bound", "objective", {"bound": 0.5}, learning_rate=0.3),
    ]
    assert by_rate(select("pbgnet", records)) == 0.3
    assert select("pbgnet", records[:2]) is None
    assert select("mlp", records) is None
    assert select("pbgnet", []) is None


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_a_network_that_diverged_is_never_chosen_over_one_that_did_not(record, algorithm):
    pick = ALGORITHMS[algorithm].rule
    training = {"mlp": "mlp", "pbgnet": "bound", "pbgnet_pre": "pretrained"}.get(algorithm, "loss")
    records = [
        record(training, pick, {"bound": x, "validation_loss": x}, learning_rate=rate)
        for rate, x in [(0.1, math.nan), (0.2, 0.9), (0.3, math.nan)]
    ]
    assert by_rate(select(algorithm, records)) == 0.2


def test_an_unknown_algorithm_lists_those_there_are():
    with pytest.raises(UnknownNameError, match=r"svm.*mlp.*pbgnet_pre"):
        select("svm", [])


ARCHITECTURES = [(layers, size) for layers in (1, 2, 3) for size in (10, 50, 100)]


def grid_of(record, training, pick, *, rates=(0.1, 0.01, 0.001), samples=(None,), n_priors=9, decays=(0.0,)):
    """A whole grid; the last run has the best numbers."""
    runs = [
        {
            "hidden_layers": layers,
            "hidden_size": size,
            "learning_rate": rate,
            "n_samples": t,
            "weight_decay": d,
        }
        for layers, size in ARCHITECTURES
        for rate in rates
        for t in samples
        for d in decays
    ]
    loss = 0.1
    bound = float(seeger_bound(loss, 10.0, 1000, 0.05 / n_priors, "paper"))
    return [
        record(
            training,
            pick,
            {"bound": bound + 0.001 * (len(runs) - 1 - k), "train_loss": loss, "validation_loss": 0.1},
            n_priors=n_priors,
            **run,
        )
        for k, run in enumerate(runs)
    ]


@pytest.mark.parametrize("samples", [(None,), (10, 100)])
def test_a_random_prior_depends_on_the_architecture_alone(record, samples):
    selected = select("pbgnet", grid_of(record, "bound", "objective", samples=samples))
    assert selected.n_priors == 9
    assert selected.honest_bound == selected.candidate.numbers["bound"]


def test_weight_decay_does_not_change_a_random_prior(record):
    records = grid_of(record, "loss", "bound", decays=(0.0, 1e-4, 1e-6))
    selected = select("pbgnet_l_bnd", records)
    assert selected.n_priors == 9
    assert selected.honest_bound == pytest.approx(
        float(seeger_bound(0.1, 10.0, 1000, 0.05 / 9, "paper")), rel=1e-12
    )


@pytest.mark.parametrize(("samples", "expected"), [((None,), 27), ((10, 50, 100, 1000, 10000), 135)])
def test_a_pretrained_prior_depends_on_learning_rate_and_samples_too(record, samples, expected):
    selected = select("pbgnet_pre", grid_of(record, "pretrained", "objective", samples=samples))
    assert selected.n_priors == expected
    paid = float(seeger_bound(0.1, 10.0, 1000, 0.05 / expected, "paper"))
    assert selected.honest_bound == pytest.approx(paid, rel=1e-12)
    assert selected.honest_bound > selected.candidate.numbers["bound"]


def test_a_pretrained_prior_that_was_counted_honestly_pays_no_more(record):
    selected = select("pbgnet_pre", grid_of(record, "pretrained", "objective", n_priors=27))
    assert selected.n_priors == 27
    assert selected.honest_bound == selected.candidate.numbers["bound"]


def test_a_study_that_counts_more_priors_than_it_has_keeps_its_count(record):
    records = grid_of(record, "bound", "objective")[:3]
    selected = select("pbgnet", records)
    assert selected.n_priors == 9
    assert selected.honest_bound == pytest.approx(
        float(seeger_bound(0.1, 10.0, 1000, 0.05 / 9, "paper")), rel=1e-12
    )


def test_failed_runs_do_not_count_as_priors_unless_they_were_among_the_choices(record):
    records = grid_of(record, "pretrained", "objective", n_priors=1)
    failed = [record("pretrained", "objective", {}, error="no", n_priors=1, learning_rate=5.0)]
    assert select("pbgnet_pre", records + failed).n_priors == 27


def test_the_honest_bound_has_the_constant_and_delta_of_its_run(record):
    (one,) = [
        record(
            "bound", "objective", {"bound": 0.5}, n_priors=4, delta=0.01, constant="maurer", learning_rate=1.0
        )
    ]
    expected = float(seeger_bound(0.1, 10.0, 1000, 0.01 / 4, "maurer"))
    assert select("pbgnet", [one]).honest_bound == expected


def test_where_there_is_no_divergence_there_is_no_honest_bound(record):
    one = record("mlp", "validation", {"validation_loss": 0.1})
    del one.results["validation"]["divergence"]
    assert select("mlp", [one]).honest_bound is None


def test_sampled_numbers_stand_in_for_exact_ones(record):
    numbers = {
        "train_loss": 0.10,
        "bound": 0.30,
        "test_error": 0.02,
        "epoch": 7,
        "sampled_train_loss": 0.20,
        "sampled_bound": 0.40,
        "sampled_test_error": 0.03,
        "sampled_test_error_deviation": 0.001,
    }
    selected = select("pbgnet", [record("bound", "objective", numbers, n_samples=10)])
    assert selected.candidate.numbers == {
        "train_loss": 0.20,
        "exact_train_loss": 0.10,
        "bound": 0.40,
        "exact_bound": 0.30,
        "test_error": 0.03,
        "exact_test_error": 0.02,
        "test_error_deviation": 0.001,
        "epoch": 7,
        "divergence": 10.0,
        "n": 1000.0,
    }
    expected = float(seeger_bound(0.20, 10.0, 1000, 0.05 / 4, "paper"))
    assert selected.honest_bound == expected


def test_the_sampled_bound_decides_between_sampled_runs(record):
    records = [
        record("bound", "objective", {"bound": b, "sampled_bound": s}, n_samples=10, learning_rate=rate)
        for rate, b, s in [(0.1, 0.1, 0.5), (0.2, 0.2, 0.4)]
    ]
    assert by_rate(select("pbgnet", records)) == 0.2


def test_a_loss_outside_its_range_by_rounding_has_a_bound_all_the_same(record):
    for loss in (-1e-9, 1 + 1e-9):
        one = record("bound", "objective", {"bound": 0.5, "train_loss": loss})
        assert 0 < select("pbgnet", [one]).honest_bound <= 1


def test_every_data_set_split_and_training_size_has_its_own_choice(record):
    places = [
        {"dataset": dataset, "split_seed": split, "n_train": n}
        for dataset in ("ads", "adult")
        for split in (0, 1)
        for n in (None, 500)
    ]
    records = [
        record("bound", "objective", {"bound": 0.1 * k + 0.1 * j}, learning_rate=0.1 * (k + 1), **place)
        for j, place in enumerate(places)
        for k in range(3)
    ]
    records.append(record("mlp", "validation", {"validation_loss": 0.1}, dataset="ads"))
    found = select_all(records, ["mlp", "pbgnet", "pbgnet_pre"])
    expected = {(p["dataset"], "pbgnet", p["split_seed"], p["n_train"]) for p in places}
    assert found.keys() == expected | {("ads", "mlp", 0, None)}
    for (dataset, algorithm, split, n_train), selected in found.items():
        spec = selected.candidate.spec
        assert (spec.dataset, selected.algorithm) == (dataset, algorithm)
        assert (spec.split_seed, spec.n_train, spec.learning_rate) == (split, n_train, 0.1)
