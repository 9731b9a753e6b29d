"""The paper's algorithms on a small problem: what they minimise, what they select, what they may see."""

import dataclasses
from types import SimpleNamespace

import numpy as np
import pytest
import torch

from pbgnet.aggregation import Fourier
from pbgnet.bounds import seeger_bound
from pbgnet.networks import AggregatedNetwork, TanhNetwork, linear_loss, prepare_rows, zero_one_loss
from pbgnet.training import (
    ALGORITHMS,
    TRAININGS,
    BoundTerms,
    Course,
    EpochChoice,
    FitResult,
    Journal,
    LinearRecipe,
    PriorTraining,
    Recipe,
    Replicas,
    Start,
    TrainingData,
    fit_linear,
)

DELTA = 0.05


def make_data(n=300, seed=0, unit=True, dtype=torch.float32) -> TrainingData:
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, 3))
    y = np.where(x[:, 0] * x[:, 1] + 0.5 * x[:, 2] > 0, 1.0, -1.0)
    rows = prepare_rows(x, unit=unit, intercept=True, dtype=dtype, device="cpu")
    return TrainingData(rows, torch.from_numpy(y).to(dtype))


def make_recipe(
    *,
    prior_seed=1,
    n_restarts=1,
    learning_rate=0.1,
    weight_decay=(0.0,),
    rule="validation",
    prior=None,
    **changes,
) -> Recipe:
    replicas = Replicas.restarts(
        n_restarts, learning_rate, 2, weight_decay=weight_decay, explore=len(weight_decay) == 1
    )
    recipe = Recipe(
        start=Start.drawn(3, (6,), prior_seed, Fourier()),
        replicas=replicas,
        bound=BoundTerms(DELTA),
        course=Course(batch_size=32, max_epochs=6),
        solver="hybrid",
        epochs=EpochChoice(0.2, 2, (rule,)),
        prior=PriorTraining.of_restarts(prior, Course(32, 20), learning_rate, 2, replicas) if prior else None,
    )
    return dataclasses.replace(recipe, **changes)


def bound_of(result: FitResult, data: TrainingData) -> float:
    with torch.no_grad():
        risk = linear_loss(result.network.output(data.rows.double()), data.y.double()).mean().item()
        return float(seeger_bound(risk, result.network.divergence().item(), len(data), DELTA, "maurer"))


def error_of(result: FitResult, data: TrainingData) -> float:
    with torch.no_grad():
        return zero_one_loss(result.network.output(data.rows.double()), data.y.double()).mean().item()


@pytest.mark.parametrize("name", ALGORITHMS)
def test_every_algorithm_learns(name):
    algorithm = ALGORITHMS[name]
    unit = name != "mlp"
    course = Course(32, 6 if algorithm.minimises_bound else 40)
    recipe = make_recipe(
        course=course,
        weight_decay=algorithm.default_weight_decay,
        rule=algorithm.rule,
        prior=make_data(seed=1) if algorithm.uses_prior_rows else None,
    )
    result = algorithm.fit(recipe, make_data(600, unit=unit))
    assert isinstance(result.network, AggregatedNetwork if algorithm.certified else TanhNetwork)
    assert error_of(result, make_data(1000, seed=2, unit=unit)) < 0.3
    assert result.history
    assert all(weight.dtype == torch.float64 and weight.ndim == 2 for weight in result.network.weights)
    if algorithm.certified:
        assert bound_of(result, make_data(600)) < 1


def test_results_are_reproducible_and_depend_on_the_seeds():
    data = make_data()
    first, second = (ALGORITHMS["pbgnet"].fit(make_recipe(), data) for _ in range(2))
    other = ALGORITHMS["pbgnet"].fit(make_recipe(prior_seed=9), data)
    for a, b, c in zip(first.network.weights, second.network.weights, other.network.weights, strict=True):
        assert torch.equal(a, b)
        assert not torch.equal(a, c)


def test_random_prior_is_the_seeds_own():
    result = ALGORITHMS["pbgnet"].fit(make_recipe(), make_data())
    for prior, expected in zip(result.network.prior_weights, make_recipe().start.weights, strict=True):
        assert torch.equal(prior, expected)


def test_pretrained_prior_does_not_depend_on_the_certified_rows():
    prior_rows = make_data(seed=1)
    one, two = (
        ALGORITHMS["pbgnet_pre"].fit(make_recipe(prior=prior_rows), make_data(seed=seed)) for seed in (2, 3)
    )
    for a, b in zip(one.network.prior_weights, two.network.prior_weights, strict=True):
        assert torch.equal(a, b)
    assert not torch.equal(one.network.weights[0], two.network.weights[0])


def test_pretrained_prior_makes_a_tighter_bound_than_a_random_one():
    data = make_data(600)
    pre = ALGORITHMS["pbgnet_pre"].fit(make_recipe(prior=make_data(600, seed=1)), data)
    plain = ALGORITHMS["pbgnet"].fit(make_recipe(), data)
    assert bound_of(pre, data) < bound_of(plain, data)


def test_restarts_compete_and_the_first_is_the_single_run():
    data = make_data()
    single = ALGORITHMS["pbgnet"].fit(make_recipe(), data)
    several = ALGORITHMS["pbgnet"].fit(make_recipe(n_restarts=3), data)
    assert bound_of(several, data) <= bound_of(single, data) + 1e-3
    final = several.history[-1]
    assert final["phase"] == "final"
    assert final["objective"] == pytest.approx(bound_of(several, data), abs=1e-5)


def test_the_best_restart_is_kept(monkeypatch):
    # Two of three restarts hardly move, so that their bound stays that of the prior.
    monkeypatch.setattr("pbgnet.training.algorithms.recipe.RATE_MULTIPLES", (1e-9, 1.0, 1e-9))
    data = make_data()
    recipe = make_recipe(n_restarts=3, solver="adam", course=Course(32, 20))
    result = ALGORITHMS["pbgnet"].fit(recipe, data)
    assert result.network.divergence().item() > 1
    assert result.history[-1]["objective"] == pytest.approx(bound_of(result, data), abs=1e-5)


def test_hybrid_ends_below_adam():
    data = make_data()
    hybrid = ALGORITHMS["pbgnet"].fit(make_recipe(), data)
    adam = ALGORITHMS["pbgnet"].fit(make_recipe(solver="adam", course=Course(32, 30)), data)
    assert bound_of(hybrid, data) < bound_of(adam, data) + 1e-3


def test_learned_c_reaches_a_similar_bound():
    data = make_data()
    course = Course(32, 40)
    seeger, catoni = (
        ALGORITHMS["pbgnet"].fit(
            make_recipe(solver="adam", course=course, bound=BoundTerms(DELTA, objective=objective)), data
        )
        for objective in ("seeger", "catoni")
    )
    assert bound_of(catoni, data) == pytest.approx(bound_of(seeger, data), abs=0.02)


def test_selection_by_the_bound_gives_a_smaller_bound_than_selection_on_validation_rows():
    data = make_data(600)
    options = {"weight_decay": (0.0, 1e-4), "course": Course(32, 40), "learning_rate": 0.01}
    by_loss, by_bound = (
        ALGORITHMS[name].fit(make_recipe(**options, rule=ALGORITHMS[name].rule), data)
        for name in ("pbgnet_l", "pbgnet_l_bnd")
    )
    assert bound_of(by_bound, data) <= bound_of(by_loss, data)
    assert "bound" in by_bound.history[0]
    assert "validation" in by_loss.history[0]


def make_linear_recipe(**changes) -> LinearRecipe:
    recipe = LinearRecipe(
        bound=BoundTerms(DELTA),
        c=(),
        n_folds=3,
        n_restarts=2,
        max_iterations=200,
        seed=0,
    )
    return dataclasses.replace(recipe, **changes)


def test_linear_bound_minimiser_is_a_stationary_point_of_the_bound():
    data = make_data(400, dtype=torch.float64)
    result = fit_linear(make_linear_recipe(), data)
    best = bound_of(result, data)
    generator = torch.Generator().manual_seed(0)
    for _ in range(20):
        step = 0.05 * torch.randn(1, 4, generator=generator, dtype=torch.float64)
        moved = AggregatedNetwork([result.network.weights[0] + step], result.network.prior_weights)
        assert bound_of(FitResult(moved, [], "zero"), data) >= best - 1e-7


def test_linear_trade_off_is_chosen_among_its_candidates():
    data = make_data(400)
    timid, chosen = (
        fit_linear(make_linear_recipe(c=c), data).network.weights[0].norm().item()
        for c in ((0.01,), (0.01, 10.0))
    )
    assert chosen > 2 * timid


def test_linear_prior_is_zero():
    result = fit_linear(make_linear_recipe(), make_data())
    assert result.prior_kind == "zero"
    assert (result.network.prior_weights[0] == 0).all()


@pytest.mark.parametrize("training", TRAININGS)
def test_a_training_returns_every_network_with_its_picks(training):
    rule = "bound" if training == "loss" else "validation"
    recipe = make_recipe(
        n_restarts=2, weight_decay=(0.0, 1e-2), solver="adam", rule=rule, prior=make_data(seed=1)
    )
    trained = TRAININGS[training](recipe, make_data(unit=training != "mlp"), Journal())
    rule = rule if training in ("mlp", "loss") else "objective"
    assert list(trained.picks) == [rule]
    assert trained.picks[rule].epoch.shape == (4,)
    weights = [w.detach().clone() for w in trained.network.weights]
    for weight, picked in zip(weights, trained.picks[rule].weights, strict=True):
        assert weight.shape[0] == 4
        assert torch.equal(weight, picked)
        with torch.no_grad():
            picked.add_(1.0)
    for moved, weight in zip(trained.at(rule).weights, weights, strict=True):
        assert torch.equal(moved, weight + 1.0)
    assert (trained.held is None) == (training in ("bound", "pretrained"))


def test_restarts_of_one_decay_compete_by_the_bound_and_decays_by_validation():
    """Among made-up numbers: the best bound of decay 0 is replica 2, of decay 1 replica 1."""
    numbers = {"bound": torch.tensor([0.5, 0.3, 0.4, 0.6]), "validation": torch.tensor([0.0, 0.2, 0.1, 0.0])}
    recipe = make_recipe(n_restarts=2, weight_decay=(0.0, 1.0))
    made_up = SimpleNamespace(measured=lambda: numbers)
    assert ALGORITHMS["pbgnet_l_bnd"].choose(made_up, recipe, Journal()) == 2
    numbers["bound"][2] = torch.nan
    assert ALGORITHMS["pbgnet_l_bnd"].choose(made_up, recipe, Journal()) == 0
