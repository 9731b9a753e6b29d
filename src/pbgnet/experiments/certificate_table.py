"""Every certificate that one split of the rows gives: the routes beside each other, on the paper's data.

The prior is trained thoroughly on S0, half of the training rows, and everything a route needs to know
beforehand is chosen there. S1, the other half, is certified. A tanh network trained on S0 is the yardstick.
Training and test rows are those of the paper's split; columns are scaled by S0 alone: the bounds hold.
"""

import dataclasses
import time
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray

from pbgnet.aggregation import Fourier
from pbgnet.bounds import (
    catoni_grid,
    catoni_mixture_bound,
    chernoff_bound,
    choose_vote,
    clopper_pearson_bound,
    seeger_bound,
    vote_bound,
)
from pbgnet.certificates.evaluation import Answers, answer, risk_ceiling
from pbgnet.certificates.strategy import EXPECTED_DIVERGENCE
from pbgnet.datasets import Split, certified_split, load_dataset
from pbgnet.networks import AggregatedNetwork, TanhNetwork, append_one, sign
from pbgnet.training import ALGORITHMS, Course, FitResult, PriorCourse, Recipe, TrainingData, prepare_rows

__all__ = ["CertificateSettings", "Certificates", "VoteRoute", "certify_split"]

# The tanh network chooses between the paper's decays, and between these rates, on validation rows of S0.
TANH_RATES = (0.1, 0.01, 0.001)
TANH_COURSE = Course(batch_size=64, max_epochs=50)


@dataclass(frozen=True)
class CertificateSettings:
    """What is the same for all data sets, fixed before any of them was certified.

    Attributes
    ----------
    hidden_layer_sizes : tuple of int
        Of the network and of the tanh network.
    prior_fraction : float
    delta : float
        Failure probability of each certificate.
    learning_rate : float
    prior_course : PriorCourse
    tanh_course : Course
        Of the tanh network; it is given more epochs where the prior has more.
    """

    hidden_layer_sizes: tuple[int, ...] = (100,)
    prior_fraction: float = 0.5
    delta: float = 0.05
    learning_rate: float = 0.1
    prior_course: PriorCourse = dataclasses.field(default_factory=PriorCourse)
    tanh_course: Course = TANH_COURSE


@dataclass(frozen=True)
class VoteRoute:
    """A bound on the error rate of the vote through T networks of which at most k are right."""

    n_networks: int
    n_right: int
    bound: float


@dataclass(frozen=True)
class Certificates:
    """All bounds of one split, each valid on its own with probability 1 - delta.

    Attributes
    ----------
    dataset : str
    seed : int
    n_prior, n : int
        Rows of S0 and of S1.
    divergence : float
        Of the posterior from the prior.
    loss, prior_loss : float
        Linear losses of the posterior and of the prior on S1.
    paper, maurer, mixture : float
        Bounds on the linear loss of the posterior: the kl bound with the paper's and with Maurer's
        constant, and the Catoni mixture with C chosen on S0.
    chernoff : float
        Bound on the linear loss of the prior: held out.
    doubled : float
        Twice the mixture: a bound on the error rate of the posterior's vote.
    vote, prior_vote : VoteRoute
        The same with (T, k) chosen on S0, for the posterior and for the prior, whose divergence is 0.
    clopper_pearson, tanh, constant : float
        Held-out bounds on error rates: of the prior's vote, of the tanh network, and of always answering
        the class that is more frequent in S0.
    test_loss, test_error, tanh_test_error : float
        Of the prior, of its vote and of the tanh network on the test rows, which had no part in anything.
    deviation, weight_decay, first_factor, later_factor, validation_loss, validation_error
        What S0 chose, and by which losses; see `PriorChoice`.
    seconds, tanh_seconds : float
        Time of the training of prior and posterior, and of the tanh network.
    """

    dataset: str
    seed: int
    n_prior: int
    n: int
    divergence: float
    loss: float
    prior_loss: float
    paper: float
    maurer: float
    mixture: float
    chernoff: float
    doubled: float
    vote: VoteRoute
    prior_vote: VoteRoute
    clopper_pearson: float
    tanh: float
    constant: float
    test_loss: float
    test_error: float
    tanh_test_error: float
    deviation: float
    weight_decay: float
    first_factor: float
    later_factor: float
    validation_loss: float
    validation_error: float
    seconds: float
    tanh_seconds: float


def certify_split(
    name: str, seed: int, settings: CertificateSettings, data_dir: str | None = None
) -> Certificates:
    """Train on one split of a data set and compute the bounds of all routes.

    Parameters
    ----------
    name : str
        See `pbgnet.datasets.load_dataset`.
    seed : int
        Of the split, the draw of S0, the first weights and the batches.
    settings : CertificateSettings
    data_dir : str, optional
        Folder of the data.
    """
    split = certified_split(load_dataset(name, data_dir), seed, prior_fraction=settings.prior_fraction)
    prior_rows = split.prior_rows
    rows = np.setdiff1d(np.arange(len(split.y_train)), prior_rows)
    start = time.perf_counter()
    result = _fit("pbgnet_pre", _recipe(split, seed, settings), split, rows, prior_rows)
    middle = time.perf_counter()
    tanh = _fit_tanh(split, seed, settings, prior_rows)
    end = time.perf_counter()
    x, y = split.X_train[rows], torch.from_numpy(split.y_train[rows])
    network, choice = result.network, result.prior_choice
    assert isinstance(network, AggregatedNetwork)
    assert choice is not None
    prior = AggregatedNetwork(network.prior_weights)
    certified, held_out = answer(network, x, y), answer(prior, x, y)
    tested = answer(prior, split.X_test, torch.from_numpy(split.y_test))
    majority = 1 if split.y_train[prior_rows].sum() > 0 else -1
    n, delta = len(rows), settings.delta
    return Certificates(
        dataset=name,
        seed=seed,
        n_prior=len(prior_rows),
        n=n,
        divergence=certified.divergence,
        loss=certified.linear_risk()[0],
        prior_loss=held_out.linear_risk()[0],
        **_posterior_bounds(certified, choice.validation_loss, delta),
        chernoff=float(chernoff_bound(risk_ceiling(*held_out.linear_risk()), n, delta)),
        vote=_vote(certified, choice.margins, EXPECTED_DIVERGENCE, delta),
        prior_vote=_vote(held_out, choice.margins, 0.0, delta),
        clopper_pearson=float(clopper_pearson_bound(held_out.evaluation().n_errors, n, delta)),
        tanh=float(clopper_pearson_bound(_tanh_errors(tanh, x, split.y_train[rows]), n, delta)),
        constant=float(clopper_pearson_bound(int((split.y_train[rows] != majority).sum()), n, delta)),
        test_loss=tested.linear_risk()[0],
        test_error=tested.evaluation().n_wrong / tested.n,
        tanh_test_error=_tanh_errors(tanh, split.X_test, split.y_test) / len(split.y_test),
        deviation=choice.deviation,
        weight_decay=choice.weight_decay,
        first_factor=choice.first_factor,
        later_factor=choice.later_factor,
        validation_loss=choice.validation_loss,
        validation_error=choice.validation_error,
        seconds=middle - start,
        tanh_seconds=end - middle,
    )


def _recipe(split: Split, seed: int, settings: CertificateSettings) -> Recipe:
    return Recipe(
        n_features=split.X_train.shape[1],
        hidden_layer_sizes=settings.hidden_layer_sizes,
        delta=settings.delta,
        constant="maurer",
        objective="seeger",
        solver="hybrid",
        course=settings.tanh_course,
        learning_rate=settings.learning_rate,
        weight_decay=ALGORITHMS["mlp"].default_weight_decay,
        pretraining_epochs=0,
        pretraining_batch_size=settings.tanh_course.batch_size,
        validation_fraction=settings.prior_course.validation_fraction,
        n_restarts=1,
        aggregation=Fourier(),
        prior_seed=seed,
        batch_seed=seed,
        prior_course=settings.prior_course,
    )


def _fit(
    algorithm: str, recipe: Recipe, split: Split, rows: NDArray[np.int64], prior_rows: NDArray[np.int64]
) -> FitResult:
    """Train on rows, and on prior rows if there are any."""

    def data(chosen: NDArray[np.int64]) -> TrainingData:
        prepared = prepare_rows(
            split.X_train[chosen],
            unit=algorithm != "mlp",
            intercept=True,
            dtype=recipe.dtype,
            device=recipe.device,
        )
        return TrainingData(prepared, torch.from_numpy(split.y_train[chosen]).to(recipe.device, recipe.dtype))

    return ALGORITHMS[algorithm].fit(recipe, data(rows), data(prior_rows) if prior_rows.size else None)


def _fit_tanh(
    split: Split, seed: int, settings: CertificateSettings, prior_rows: NDArray[np.int64]
) -> TanhNetwork:
    """Train the tanh network on S0 with several rates; validation rows of S0 choose.

    It gets at least as many epochs as the prior, so that small data sets have enough steps.
    """
    n_epochs = max(settings.tanh_course.max_epochs, settings.prior_course.n_epochs(len(prior_rows)))
    course = dataclasses.replace(settings.tanh_course, max_epochs=n_epochs)
    recipe = dataclasses.replace(_recipe(split, seed, settings), course=course)
    none = np.empty(0, dtype=np.int64)
    results = [
        _fit("mlp", dataclasses.replace(recipe, learning_rate=rate), split, prior_rows, none)
        for rate in TANH_RATES
    ]
    network = min(results, key=_best_validation).network
    assert isinstance(network, TanhNetwork)
    return network


def _best_validation(result: FitResult) -> float:
    """Return the loss of the epoch that was kept, on the validation rows."""
    return min(float(record["validation"]) for record in result.history)


@torch.no_grad()
def _tanh_errors(network: TanhNetwork, x: NDArray[np.float32], y: NDArray[np.int64]) -> int:
    """Count the errors of the tanh network."""
    output = network.output(append_one(torch.from_numpy(x).double()))
    return int((sign(output) != torch.from_numpy(y)).sum())


def _posterior_bounds(certified: Answers, expected_loss: float, delta: float) -> dict[str, float]:
    """Bound the linear loss of the posterior by all routes, and the error rate of its vote by twice that."""
    risk, divergence, n = risk_ceiling(*certified.linear_risk()), certified.divergence, certified.n
    c = catoni_grid(expected_loss, EXPECTED_DIVERGENCE, n, delta)
    mixture = float(catoni_mixture_bound(risk, divergence, n, delta, c))
    return {
        "paper": float(seeger_bound(risk, divergence, n, delta, constant="paper")),
        "maurer": float(seeger_bound(risk, divergence, n, delta, constant="maurer")),
        "mixture": mixture,
        "doubled": min(1.0, 2.0 * mixture),
    }


def _vote(
    certified: Answers, margins: NDArray[np.float64], expected_divergence: float, delta: float
) -> VoteRoute:
    """Bound the error rate of the vote with (T, k) and C chosen by margins on S0."""
    n = certified.n
    choice = choose_vote(margins, expected_divergence, n, delta, mixture=True)
    pair = choice.n_networks, choice.n_right
    c = catoni_grid(choice.expected_risk, choice.n_networks * expected_divergence, n, delta)
    risk = risk_ceiling(*certified.vote_risk(*pair))
    bound = vote_bound(risk, certified.divergence, n, delta, *pair, c, margin_error=certified.error)
    return VoteRoute(*pair, float(bound))
