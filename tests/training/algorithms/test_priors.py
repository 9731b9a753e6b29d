"""A thoroughly trained prior: it sees its own rows only, chooses among them, and is worth it."""

import dataclasses

import numpy as np
import pytest
import torch

from pbgnet.aggregation import Fourier, make_aggregation
from pbgnet.bounds import chernoff_bound, seeger_bound
from pbgnet.exceptions import DomainError
from pbgnet.networks import AggregatedNetwork, linear_loss, make_code, prepare_rows, zero_one_loss
from pbgnet.training import (
    ALGORITHMS,
    BoundTerms,
    Course,
    Journal,
    PriorCourse,
    PriorTraining,
    Recipe,
    Replicas,
    Start,
    TrainingData,
)
from pbgnet.training.algorithms.priors import train_prior

DELTA = 0.05
QUICK = PriorCourse(n_steps=200, fewest_epochs=5, most_epochs=20)


def make_data(n=400, seed=0) -> TrainingData:
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, 3))
    y = np.where(x[:, 0] * x[:, 1] + 0.5 * x[:, 2] > 0, 1.0, -1.0)
    rows = prepare_rows(x, unit=True, intercept=True, dtype=torch.float32, device="cpu")
    return TrainingData(rows, torch.from_numpy(y).float())


def make_recipe(
    prior_rows,
    course=QUICK,
    *,
    n_features=3,
    hidden=(12,),
    prior_seed=1,
    batch_seed=2,
    rate=0.1,
    aggregation=None,
) -> Recipe:
    replicas = Replicas.restarts(1, rate, batch_seed)
    return Recipe(
        start=Start.drawn(n_features, hidden, prior_seed, aggregation or Fourier()),
        replicas=replicas,
        bound=BoundTerms(DELTA),
        course=Course(batch_size=32, max_epochs=6, max_iterations=20),
        solver="hybrid",
        prior=PriorTraining.of_restarts(prior_rows, course or Course(32, 20), rate, batch_seed, replicas),
    )


def train(course=QUICK, n=400, seed=0, journal=None, data=None, **changes):
    recipe = make_recipe(data or make_data(n, seed), course, **changes)
    return train_prior(recipe.start, recipe.prior, course, journal or Journal())


def mean_loss(weights, data, loss=linear_loss) -> float:
    with torch.no_grad():
        output = AggregatedNetwork(weights).output(data.rows.double())
        return loss(output, data.y.double()).mean().item()


def fit(course=QUICK, n=400, **changes):
    recipe = make_recipe(make_data(n, seed=8), course, **changes)
    return ALGORITHMS["pbgnet_pre"].fit(recipe, make_data(n, seed=7))


def test_the_prior_does_not_depend_on_the_certified_rows():
    prior_rows = make_data(seed=1)
    one, two = (
        ALGORITHMS["pbgnet_pre"].fit(make_recipe(prior_rows), make_data(seed=seed)) for seed in (2, 3)
    )
    for a, b in zip(one.network.prior_weights, two.network.prior_weights, strict=True):
        assert torch.equal(a, b)
    np.testing.assert_array_equal(one.prior_choice.margins, two.prior_choice.margins)


def test_it_is_reproducible_and_depends_on_both_seeds():
    (first, _), (second, _) = train(), train()
    for changes in ({"prior_seed": 9}, {"batch_seed": 9}):
        other, _ = train(**changes)
        for a, b, c in zip(first, second, other, strict=True):
            assert torch.equal(a, b)
            assert not torch.equal(a, c)


def test_it_is_better_than_the_papers_short_training():
    long = dataclasses.replace(QUICK, n_steps=1000, most_epochs=200)
    thorough, paper = (fit(course) for course in (long, None))
    fresh = make_data(4000, seed=9)
    assert paper.prior_choice is None
    for loss in (linear_loss, zero_one_loss):
        better, worse = (mean_loss(r.network.prior_weights, fresh, loss) for r in (thorough, paper))
        assert better < 0.9 * worse


def test_the_posterior_is_never_worse_than_its_prior():
    result, data = fit(), make_data(seed=7)
    bounds = [
        seeger_bound(mean_loss(list(weights), data), divergence, len(data), DELTA, "maurer")
        for weights, divergence in (
            (result.network.weights, result.network.divergence().item()),
            (result.network.prior_weights, 0.0),
        )
    ]
    assert bounds[0] <= bounds[1] + 1e-6
    assert 0 < result.network.divergence().item() < 5
    final = result.history[-1]
    assert final["phase"] == "final"
    assert final["objective"] == pytest.approx(float(bounds[0]), abs=1e-5)


def test_where_the_aggregate_is_estimated_the_posterior_is_the_prior():
    generator = torch.Generator().manual_seed(0)
    sampled = make_aggregation("monte_carlo", n_samples=20, generator=generator)
    quick = dataclasses.replace(QUICK, n_steps=20, fewest_epochs=1)
    result = fit(quick, n=100, aggregation=sampled)
    assert result.network.divergence().item() == 0.0


def test_margins_are_those_of_rows_that_did_not_train_the_network():
    # Labels are coins: what is learned from some rows says nothing about the others.
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(100, 300)), rng.choice([-1.0, 1.0], 100)
    rows = prepare_rows(x, unit=True, intercept=True, dtype=torch.float32, device="cpu")
    coins = TrainingData(rows, torch.from_numpy(y).float())
    long = dataclasses.replace(QUICK, deviations=(1.0,), weight_decay=(1e-6,), most_epochs=100)
    weights, choice = train(long, data=coins, n_features=300)
    assert choice.margins.shape == (20,)
    assert choice.validation_loss > 0.3
    assert mean_loss(weights, coins) < 0.05  # all rows trained the prior in the end


def test_margins_and_validation_figures_agree():
    _, choice = train()
    assert np.abs(choice.margins).max() <= 1
    assert np.mean((1 - choice.margins) / 2) == pytest.approx(choice.validation_loss, abs=1e-6)
    assert np.mean(choice.margins <= 0) == pytest.approx(choice.validation_error, abs=1e-9)


def test_margins_may_choose_for_a_certificate():
    # They foretell the loss on rows that nobody has seen, here with a generous allowance.
    weights, choice = train(n=1000)
    ceiling = chernoff_bound(choice.validation_loss, len(choice.margins), 1e-6)
    assert mean_loss(weights, make_data(20_000, seed=5)) < ceiling < 0.5


def test_factors_saturate_the_margins():
    plain = dataclasses.replace(QUICK, first_factors=(1.0,), later_factors=(1.0,))
    (_, without), (_, saturated) = train(plain), train()
    assert saturated.validation_loss < without.validation_loss
    assert max(saturated.first_factor, saturated.later_factor) > 1
    assert np.abs(saturated.margins).mean() > np.abs(without.margins).mean()


def test_the_weights_are_the_trained_ones_times_the_factors():
    forced = dataclasses.replace(QUICK, deviations=(3.0,), weight_decay=(1e-6,))
    one = dataclasses.replace(forced, first_factors=(1.0,), later_factors=(1.0,))
    more = dataclasses.replace(forced, first_factors=(2.0,), later_factors=(4.0,))
    for a, b, factor in zip(train(one)[0], train(more)[0], (2.0, 4.0), strict=True):
        torch.testing.assert_close(b, factor * a)


def test_the_best_candidate_wins():
    # Decay so strong that nothing is learned, against none.
    for decays in ((0.0, 10.0), (10.0, 0.0)):
        _, choice = train(dataclasses.replace(QUICK, weight_decay=decays))
        assert choice.weight_decay == 0.0
        assert choice.validation_error < 0.3


def test_first_weights_have_the_deviation_asked_for():
    still = PriorCourse(deviations=(3.0,), weight_decay=(0.0,), first_factors=(1.0,), later_factors=(1.0,))
    weights, _ = train(
        dataclasses.replace(still, n_steps=1, fewest_epochs=1), n=20, hidden=(4000,), rate=1e-12
    )
    for weight in weights:
        assert weight[:, :-1].std().item() == pytest.approx(3.0, rel=0.05)
        assert (weight[:, -1].abs() < 1e-6).all()  # intercepts start at 0


def test_candidates_train_as_they_would_alone():
    alone, _ = train(dataclasses.replace(QUICK, deviations=(1.0,), weight_decay=(1e-6,)))
    among, choice = train(dataclasses.replace(QUICK, deviations=(1.0,), weight_decay=(10.0, 1e-6)))
    assert choice.weight_decay == 1e-6
    for a, b in zip(alone, among, strict=True):
        torch.testing.assert_close(a, b, rtol=1e-4, atol=1e-5)


def test_history_tells_both_phases_and_falling_rates():
    journal = Journal()
    _, choice = train(journal=journal)
    n_epochs, history = choice.n_epochs, journal.history.of_replica(0)
    assert [r["phase"] for r in history] == ["prior, choice"] * n_epochs + ["prior"] * n_epochs
    rates = [r["learning_rate"] for r in history[:n_epochs]]
    assert rates == sorted(rates, reverse=True)
    assert (rates[0], rates[-1]) == pytest.approx((0.1, 0.1 * QUICK.last_rate))


@pytest.mark.parametrize("n", [1, 2, 3])
def test_few_rows_are_enough(n):
    weights, choice = train(dataclasses.replace(QUICK, n_steps=3, fewest_epochs=1), n=n)
    assert choice.margins.size == (0 if n == 1 else 1)
    assert choice.retrained is (n > 1)
    assert all(torch.isfinite(weight).all() for weight in weights)


def test_deep_and_linear_networks_are_trained_too():
    for hidden in ((), (8, 4)):
        weights, choice = train(hidden=hidden)
        assert len(weights) == len(hidden) + 1
        assert choice.validation_error < 0.4


class Impatient(Journal):
    """Somebody presses Ctrl-C in the third epoch."""

    def record(self, phase, step, total, **numbers):
        super().record(phase, step, total, **numbers)
        if step == 3:
            raise KeyboardInterrupt


def test_an_interrupt_leaves_the_best_candidate_so_far():
    journal = Impatient()
    _, choice = train(journal=journal)
    assert journal.interrupted
    assert not choice.retrained
    assert len(journal.history.of_replica(0)) == 3
    # Its margins are still those of rows it was not trained on.
    assert choice.margins.size == 80


def test_divergence_is_told():
    with pytest.raises(DomainError, match="smaller learning_rate"):
        train(dataclasses.replace(QUICK, n_steps=20, fewest_epochs=2), rate=float("nan"))


@pytest.mark.parametrize(("n", "epochs"), [(10, 200), (640, 200), (6400, 40), (64_000, 30)])
def test_epochs_follow_the_steps_within_limits(n, epochs):
    assert PriorCourse().n_epochs(n) == epochs


def test_a_prior_of_four_classes_is_sharpened():
    code = make_code("hadamard", 4)
    x = np.random.default_rng(0).normal(size=(600, 3))
    places = (x[:, 0] > 0) + 2 * (x[:, 1] > 0)
    rows = prepare_rows(x, unit=True, intercept=True, dtype=torch.float32, device="cpu")
    data = TrainingData(rows, torch.from_numpy(code.targets(places)).float())
    start = Start.drawn(3, (8,), 1, Fourier(), code.n_outputs)
    prior = PriorTraining.of_restarts(data, QUICK, 0.1, 2, Replicas.restarts(1, 0.1, 2), code)
    course = dataclasses.replace(QUICK, n_steps=600, most_epochs=60)
    weights, choice = train_prior(start, prior, course, Journal())
    soft, _ = train_prior(
        start, prior, dataclasses.replace(course, first_factors=(1.0,), later_factors=(1.0,)), Journal()
    )
    assert max(choice.first_factor, choice.later_factor) > 1
    assert mean_loss(weights, data) < 0.8 * mean_loss(soft, data), "voters are surer of the same answers"
    assert choice.margins.shape == (120,)
    assert choice.validation_error < 0.1
    assert choice.validation_loss == pytest.approx((1 - choice.margins.mean()) / 2, rel=1e-4)
    assert choice.temperature > 0.1


def sharpening_world(n=600, seed=0):
    """Five classes, by the direction of a point in the plane."""
    x = np.random.default_rng(seed).normal(size=(n, 2))
    places = ((np.arctan2(x[:, 1], x[:, 0]) / (2 * np.pi) % 1.0) * 5).astype(np.int64)
    code = make_code("hadamard", 5)
    rows = prepare_rows(x, unit=True, intercept=True, dtype=torch.float32, device="cpu")
    return code, TrainingData(rows, torch.from_numpy(code.targets(places)).float())


def classes_prior(sharpen):
    code, data = sharpening_world()
    course = dataclasses.replace(QUICK, sharpen=sharpen, weight_decay=(1e-6,), deviations=(3.0,))
    replicas = Replicas.restarts(1, 0.1, 2)
    prior = PriorTraining.of_restarts(data, course, 0.1, 2, replicas, code)
    start = Start.drawn(2, (12,), 1, Fourier(), code.n_outputs)
    journal = Journal()
    weights, choice = train_prior(start, prior, course, journal)
    return code, weights, choice, journal


def test_sharpened_priors_agree_with_their_classes_as_far_as_a_bound_needs_it():
    low = {}
    for sharpen in (False, True):
        code, _, choice, journal = classes_prior(sharpen)
        low[sharpen] = np.mean(choice.margins <= float(1 - code.distance))
        phases = {record["phase"] for record in journal.history.records}
        assert ("prior, margins" in phases) == sharpen == choice.sharpened
    assert low[True] < 0.75 * low[False], low


def test_the_posterior_is_the_prior_where_the_recipe_says_so():
    code, data = sharpening_world()
    course = dataclasses.replace(QUICK, weight_decay=(1e-6,), deviations=(3.0,))
    replicas = Replicas.restarts(1, 0.1, 2)
    recipe = Recipe(
        start=Start.drawn(2, (6,), 1, Fourier(), code.n_outputs),
        replicas=replicas,
        bound=BoundTerms(DELTA),
        course=Course(batch_size=32, max_epochs=6, max_iterations=20),
        solver="hybrid",
        prior=PriorTraining.of_restarts(data, course, 0.1, 2, replicas, code),
    )
    moved = {}
    for keep in (False, True):
        kept = dataclasses.replace(recipe, keep_prior=keep)
        result = ALGORITHMS["pbgnet_pre"].fit(kept, sharpening_world(seed=3)[1])
        moved[keep] = result.network.divergence().item()
        assert result.keeps_prior is keep
    assert moved[True] == 0 < moved[False]


def test_a_posterior_that_was_trained_and_did_not_move_is_no_prior_that_was_kept():
    """What the certified rows showed must not be taken for settled beforehand: settings would follow it."""
    code, data = sharpening_world()
    replicas = Replicas.restarts(1, 0.1, 2)
    recipe = Recipe(
        start=Start.drawn(2, (6,), 1, Fourier(), code.n_outputs),
        replicas=replicas,
        bound=BoundTerms(DELTA),
        course=Course(batch_size=32, max_epochs=6, max_iterations=0),
        solver="hybrid",
        prior=PriorTraining.of_restarts(data, QUICK, 0.1, 2, replicas, code),
    )
    result = ALGORITHMS["pbgnet_pre"].fit(recipe, sharpening_world(seed=3)[1])
    assert result.network.divergence().item() == 0
    assert not result.keeps_prior
