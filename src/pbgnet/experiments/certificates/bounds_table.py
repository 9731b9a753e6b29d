"""All certificates for one split of the rows: the routes beside each other, on the paper's data.

The prior is trained thoroughly on half of the training rows, and everything that a route must know beforehand
is chosen there. The other half are the certified rows. A tanh network trained on the prior rows is the
yardstick. Training and test rows are those of the paper's split. Columns are scaled only with the prior rows,
so the bounds hold.
"""

import dataclasses
import time
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from pbgnet.aggregation import Fourier
from pbgnet.bounds import clopper_pearson_bound
from pbgnet.certificates import ROUTES, Answers, Claim, Foresight, certifiable, evaluate, make_claim
from pbgnet.datasets import TrainTest, certified_split, load_dataset
from pbgnet.networks import AggregatedNetwork, TanhNetwork, append_one, make_code, sign
from pbgnet.training import (
    ALGORITHMS,
    BoundTerms,
    Course,
    EpochChoice,
    PriorChoice,
    PriorCourse,
    PriorTraining,
    Recipe,
    Replicas,
    Start,
    TrainingData,
)

# The tanh network chooses between the paper's decays and these rates on validation rows of the prior rows.
TANH_RATES = (0.1, 0.01, 0.001)
TANH_COURSE = Course(batch_size=64, max_epochs=50)

# What is reported about the choices made on the prior rows; see `PriorChoice`.
CHOSEN = ("deviation", "weight_decay", "first_factor", "later_factor", "validation_loss", "validation_error")


@dataclass(frozen=True)
class CertificateSettings:
    """What is the same for all data sets, fixed before any of them was certified."""

    hidden_layer_sizes: tuple[int, ...] = (100,)  # of the network and of the tanh network
    prior_fraction: float = 0.5
    delta: float = 0.05  # failure probability of each certificate
    learning_rate: float = 0.1
    prior_course: PriorCourse = dataclasses.field(default_factory=PriorCourse)
    # For the tanh network; it gets more epochs if the prior does.
    tanh_course: Course = TANH_COURSE


@dataclass(frozen=True)
class Certificates:
    """All bounds of one split, each valid on its own with probability 1 - delta."""

    dataset: str
    seed: int
    n_prior: int  # prior rows
    n: int  # certified rows
    divergence: float  # of the posterior from the prior
    # Linear losses of the posterior and of the prior on the certified rows.
    loss: float
    prior_loss: float
    # Bounds on the linear loss of the posterior: the kl bound with the paper's and with Maurer's constant,
    # and the Catoni mixture with C chosen on the prior rows.
    paper: float
    maurer: float
    mixture: float
    chernoff: float  # held-out bound on the linear loss of the prior, from its mean
    betting: float  # the same, with bets chosen on the prior rows
    doubled: float  # twice the mixture: a bound on the error rate of the posterior's vote
    vote: float  # the same with T and k chosen on the prior rows
    n_networks: int  # this T
    n_right: int  # this k
    # Held-out bounds on error rates: of the prior's vote, of the tanh network, and of always answering the
    # class that is more frequent among the prior rows.
    clopper_pearson: float
    tanh: float
    constant: float
    # For the prior, its vote and the tanh network on the test rows, which were used for nothing else.
    test_loss: float
    test_error: float
    tanh_test_error: float
    # What was chosen on the prior rows, and by which losses; see `PriorChoice`.
    deviation: float
    weight_decay: float
    first_factor: float
    later_factor: float
    validation_loss: float
    validation_error: float
    # Training time of prior and posterior, and of the tanh network.
    seconds: float
    tanh_seconds: float


def certify_split(
    name: str, seed: int, settings: CertificateSettings, data_dir: str | None = None
) -> Certificates:
    """Train on one split of a data set and compute the bounds of all routes.

    The seed determines the split, the prior rows, the initial weights and the batches.
    """
    split = certified_split(load_dataset(name, data_dir), seed, prior_fraction=settings.prior_fraction)
    prior_rows = split.prior_rows
    rows = np.setdiff1d(np.arange(len(split.y_train)), prior_rows)
    start = time.perf_counter()
    recipe = _recipe("pbgnet_pre", split, seed, settings, settings.learning_rate)
    prior_training = PriorTraining.of_restarts(
        _data(split, prior_rows), settings.prior_course, settings.learning_rate, seed, recipe.replicas
    )
    recipe = dataclasses.replace(recipe, prior=prior_training)
    result = ALGORITHMS["pbgnet_pre"].fit(recipe, _data(split, rows))
    middle = time.perf_counter()
    tanh = _fit_tanh(split, seed, settings, prior_rows)
    end = time.perf_counter()
    x, y = split.X_train[rows], _places(split.y_train[rows])
    network, choice = result.network, result.prior_choice
    assert isinstance(network, AggregatedNetwork)
    assert isinstance(choice, PriorChoice)
    network = certifiable(network)
    prior = AggregatedNetwork(network.prior_weights)
    code = make_code("auto", 2)
    certified, held_out = evaluate(network, x, y, code), evaluate(prior, x, y, code)
    tested = evaluate(prior, split.X_test, _places(split.y_test), code)
    majority = 1 if split.y_train[prior_rows].sum() > 0 else -1
    n, delta = len(rows), settings.delta
    return Certificates(
        dataset=name,
        seed=seed,
        n_prior=len(prior_rows),
        n=n,
        divergence=certified.divergence,
        loss=certified.risk,
        prior_loss=held_out.risk,
        **_bounds(certified, held_out, Foresight(n, delta, choice.margins)),
        tanh=float(clopper_pearson_bound(_tanh_errors(tanh, x, split.y_train[rows]), n, delta)),
        constant=float(clopper_pearson_bound(int((split.y_train[rows] != majority).sum()), n, delta)),
        test_loss=tested.risk,
        test_error=float(np.mean(tested.answered != tested.truth)),
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


def _recipe(
    algorithm: str, split: TrainTest, seed: int, settings: CertificateSettings, rate: float
) -> Recipe:
    return Recipe(
        start=Start.drawn(split.X_train.shape[1], settings.hidden_layer_sizes, seed, Fourier()),
        replicas=Replicas.restarts(1, rate, seed, weight_decay=ALGORITHMS[algorithm].default_weight_decay),
        bound=BoundTerms(settings.delta),
        course=settings.tanh_course,
        solver="hybrid",
        epochs=EpochChoice(settings.prior_course.validation_fraction, seed),
    )


def _places(y: NDArray[Any]) -> NDArray[np.int64]:
    """Return 0 for the label -1 and 1 for 1."""
    return (y > 0).astype(np.int64)


def _data(split: TrainTest, rows: NDArray[np.int64], *, unit: bool = True) -> TrainingData:
    return TrainingData.of(split.X_train[rows], split.y_train[rows], unit=unit, device="cpu")


def _fit_tanh(
    split: TrainTest, seed: int, settings: CertificateSettings, prior_rows: NDArray[np.int64]
) -> TanhNetwork:
    """Train the tanh network on the prior rows with several rates; validation rows among them choose.

    It gets at least as many epochs as the prior, so that small data sets have enough steps.
    """
    n_epochs = max(settings.tanh_course.max_epochs, settings.prior_course.n_epochs(len(prior_rows)))
    course = dataclasses.replace(settings.tanh_course, max_epochs=n_epochs)
    settings = dataclasses.replace(settings, tanh_course=course)
    examples = _data(split, prior_rows, unit=False)
    results = [
        ALGORITHMS["mlp"].fit(_recipe("mlp", split, seed, settings, rate), examples) for rate in TANH_RATES
    ]
    # The stored epoch is the one with the smallest loss on the validation rows.
    network = min(results, key=lambda result: min(float(r["validation"]) for r in result.history)).network
    assert isinstance(network, TanhNetwork)
    return network


@torch.no_grad()
def _tanh_errors(network: TanhNetwork, x: NDArray[np.float32], y: NDArray[np.int64]) -> int:
    """Count the errors of the tanh network."""
    output = network.output(append_one(torch.from_numpy(x).double()))
    return int((sign(output) != torch.from_numpy(y)).sum())


def _bounds(certified: Answers, held_out: Answers, foresight: Foresight) -> dict[str, Any]:
    """Bound loss and error rate by every route, with settings planned on S0, as certificates do."""

    def claim(predictor: str, route: str, told: Foresight = foresight, planned_by: str = "") -> Claim:
        answers = held_out if predictor.startswith("prior's") else certified
        settings = ROUTES[planned_by or route].plan(told)
        return make_claim(predictor, route, answers.measured, settings, delta=told.delta)

    vote = claim("vote", "vote")
    return {
        "paper": claim("aggregate", "seeger", dataclasses.replace(foresight, constant="paper")).value,
        "maurer": claim("aggregate", "seeger").value,
        "mixture": claim("aggregate", "catoni-mixture").value,
        "doubled": claim("vote", "doubled", planned_by="catoni-mixture").value,
        "vote": vote.value,
        **{name: getattr(vote.settings, name) for name in ("n_networks", "n_right")},
        "chernoff": claim("prior's aggregate", "chernoff").value,
        "betting": claim("prior's aggregate", "betting").value,
        "clopper_pearson": claim("prior's vote", "clopper-pearson").value,
    }
