"""An ensemble: networks that are each trained without one fold of the rows, and answer together.

What is certified by counting errors on other rows needs no bound in its training, only a good classifier. So
the loss is the logarithm of the chance that a drawn network is right, a mean over several labels, or for
several classes their cross-entropy and then their margins; the learning rate falls to 0, and what is best
chosen by looking is chosen by cross-validation: how numbers are encoded, the weight decay, and whether
margins were trained. The networks of the best pair of candidates are the members, so nothing has to be
trained again.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np
import torch
from torch import Tensor

from pbgnet.networks import AggregatedNetwork, Code, initial_weights
from pbgnet.training.algorithms.ensemble_recipe import EnsembleChoice, EnsembleRecipe
from pbgnet.training.algorithms.held_answers import HeldAnswers, ask_held
from pbgnet.training.algorithms.selection import nan_last
from pbgnet.training.algorithms.trained import FitResult
from pbgnet.training.solvers import Course, History, Journal, LinearDecay, Problem, Progress, fit
from pbgnet.training.steps import (
    FIRST_TEMPERATURE,
    Criterion,
    LinearLoss,
    MarginCriterion,
    TrainingData,
    log_criterion,
)

# Second words of the seeds for the batches, and for the folds.
BATCHES, FOLDS = 1, 2


def fit_ensemble(recipe: EnsembleRecipe, *, verbose: int = 0) -> FitResult:
    """Train an ensemble on prior rows alone; it is prior and posterior at once."""
    with Progress(verbose) as progress:
        journal = Journal(progress=progress)
        folds = _Folds.of(recipe)
        has_many_rows = folds.n_rows >= recipe.course.many_rows
        judging = folds.part(slice(recipe.course.judging_folds)) if has_many_rows else folds
        decays = recipe.course.weight_decays(folds.pools.shape[1])
        tried = [
            candidate
            for encoding in recipe.examples
            for candidate in _train(recipe, encoding, decays, judging, journal)
        ]
        team = _best(tried, most=1 if has_many_rows else 2)
        if len(judging.held) < len(folds.held) and not journal.interrupted:
            rest = folds.part(slice(len(judging.held), None))
            team = [
                one.joined(*_train(recipe, one.encoding, (one.weight_decay,), rest, journal)) for one in team
            ]
    journal.history.records.extend(_mean_of_records([one.records for one in team]))
    layers = zip(*(one.weights for one in team), strict=True)
    network = AggregatedNetwork(
        [torch.cat(layer).double().cpu() for layer in layers],
        aggregation=recipe.aggregation,
        members=True,
        patches=recipe.patches,
    )
    answers = HeldAnswers.averaged([one.answers for one in team])
    choice = EnsembleChoice(
        encoding=team[0].read_in,
        chosen=[one.described() for one in team],
        n_epochs=recipe.course.n_epochs(folds.pools.shape[1]),
        validation_loss=answers.loss,
        validation_error=answers.error,
        margins=answers.margins if folds.n_rows > 1 else np.empty(0),
        candidates=[one.described() for one in tried],
        temperature=_temperature(answers),
    )
    history, interrupted = journal.history.of_replica(0), journal.interrupted
    return FitResult(network, history, "pretrained", interrupted, choice, keeps_prior=True)


@dataclass(frozen=True)
class _Folds:
    """Rows each member is trained on, and rows that judge it."""

    n_rows: int
    pools: Tensor  # int64, shape (members, p)
    held: list[Tensor]  # int64; no row of them is in the pool of the same member, unless there is one only
    seeds: Tensor  # of weights and batches of each member

    @classmethod
    def of(cls, recipe: EnsembleRecipe) -> "_Folds":
        data = next(iter(recipe.examples.values()))
        n, device = len(data), data.y.device
        order = np.random.default_rng((recipe.folds_seed, FOLDS)).permutation(n)
        parts = np.array_split(order, min(recipe.course.n_folds, n))
        held = [np.sort(part) for part in parts[: recipe.course.n_members]]
        longest = max(part.size for part in held)
        # Folds differ by a row at most; pools must not, so the last row of a longer one is left out.
        pools = [np.setdiff1d(order, part)[: n - longest] for part in held] if n > 1 else held
        words = np.random.SeedSequence((recipe.folds_seed, BATCHES)).generate_state(len(held), np.uint64)
        return cls(
            n,
            torch.from_numpy(np.stack(pools)).to(device),
            [torch.from_numpy(part).to(device) for part in held],
            torch.from_numpy(words.view(np.int64)).to(device),
        )

    def part(self, part: slice) -> "_Folds":
        """Return those of some members."""
        return _Folds(self.n_rows, self.pools[part], self.held[part], self.seeds[part])


@dataclass(frozen=True, eq=False)
class _Candidate:
    """Members trained in one way, and what they answered on the rows they had not seen."""

    encoding: str
    read_in: str  # the same, or the wider encoding that it is a part of, which the weights are for
    weight_decay: float
    weights: list[Tensor]  # shapes (members, m, d)
    answers: HeldAnswers
    records: list[dict[str, float | int | str | Tensor]]
    sharpened: bool = False  # whether margins were trained after the cross-entropy

    def described(self) -> dict[str, str | float]:
        return {
            "encoding": self.encoding,
            "loss": "margins" if self.sharpened else "log loss",
            "weight_decay": self.weight_decay,
            "validation_loss": self.answers.loss,
        }

    def joined(self, other: "_Candidate") -> "_Candidate":
        return replace(
            self,
            weights=[torch.cat(pair) for pair in zip(self.weights, other.weights, strict=True)],
            answers=HeldAnswers.joined([self.answers, other.answers]),
            records=[*self.records, *other.records],
        )


def _best(tried: Sequence[_Candidate], most: int) -> Sequence[_Candidate]:
    """Return the candidates, at most so many and read in one encoding, that together lose least."""
    teams = [
        team
        for size in range(1, most + 1)
        for team in combinations(tried, size)
        if len({one.read_in for one in team}) == 1
    ]
    losses = [HeldAnswers.averaged([one.answers for one in team]).loss for team in teams]
    return teams[int(nan_last(torch.tensor(losses)).argmin())]


def _train(
    recipe: EnsembleRecipe, encoding: str, decays: Sequence[float], folds: _Folds, journal: Journal
) -> list[_Candidate]:
    """Train the members of all folds for every decay, side by side.

    Where rows are few, several classes go on to train their margins; both the members before and those after
    are candidates.
    """
    data, course = recipe.examples[encoding], recipe.course
    n_members, n_pool = folds.pools.shape
    repeated = [torch.cat([w] * len(decays)) for w in _first_weights(recipe, data, folds)]
    network = AggregatedNetwork(repeated, aggregation=recipe.aggregation, patches=recipe.patches)
    rates = torch.full(
        (len(decays) * n_members,),
        course.rate_of(recipe.learning_rate, n_pool),
        dtype=torch.float64,
        device=data.y.device,
    )
    own = Journal(History(), journal.progress, journal.interrupted)
    n_epochs = course.n_epochs(n_pool)

    def descend(criterion: Criterion, phase: str) -> None:
        problem = Problem(
            network,
            data,
            LinearLoss.of(list(network.weights), rates.new_tensor(np.repeat(decays, n_members))),
            folds.seeds.repeat(len(decays)),
            rates,
            criterion=criterion,
            pools=folds.pools.repeat(len(decays), 1),
            augmentation=recipe.augmentation,
        )
        falling = LinearDecay(n_epochs, final=0.0)
        fit(problem, Course(course.batch_size_of(n_pool), n_epochs), own, phase, callbacks=[falling])

    phase = _phase(recipe, encoding)
    descend(log_criterion(recipe.code, len(rates), data.y), phase)
    found = _candidates(network, recipe, encoding, decays, folds, own.history)
    if _sharpens(recipe, folds) and not own.interrupted:
        assert isinstance(recipe.code, Code)
        descend(MarginCriterion.of(recipe.code), f"{phase}, margins")
        found += _candidates(network, recipe, encoding, decays, folds, own.history, sharpened=True)
    journal.interrupted = own.interrupted
    return found


def _sharpens(recipe: EnsembleRecipe, folds: _Folds) -> bool:
    several_classes = isinstance(recipe.code, Code) and not recipe.code.separate
    weighted = next(iter(recipe.examples.values())).weight is not None
    return several_classes and not weighted and folds.n_rows < recipe.course.many_rows


def _candidates(
    network: AggregatedNetwork,
    recipe: EnsembleRecipe,
    encoding: str,
    decays: Sequence[float],
    folds: _Folds,
    history: History,
    *,
    sharpened: bool = False,
) -> list[_Candidate]:
    """Return the members as they are now, one candidate for each decay."""
    n_members, part = len(folds.held), recipe.parts.get(encoding)
    weights = [w.detach().clone().reshape(len(decays), n_members, *w.shape[1:]) for w in network.weights]
    return [
        _Candidate(
            encoding,
            encoding if part is None else part.whole,
            float(decay),
            [weights[0][k] if part is None else part.widened(weights[0][k]), *(w[k] for w in weights[1:])],
            _ask([w[k] for w in weights], recipe, recipe.examples[encoding], folds),
            _mean_records(history, slice(k * n_members, (k + 1) * n_members)),
            sharpened,
        )
        for k, decay in enumerate(decays)
    ]


def _temperature(answers: HeldAnswers) -> float | None:
    if answers.code.separate:
        return None
    return answers.temperature if len(answers.output) > 1 else FIRST_TEMPERATURE


def _phase(recipe: EnsembleRecipe, encoding: str) -> str:
    return f"members, {encoding}" if len(recipe.examples) > 1 else "members"


def _first_weights(recipe: EnsembleRecipe, data: TrainingData, folds: _Folds) -> list[Tensor]:
    """Draw weights of deviation 1 or more: with smaller ones all neurons learn the same direction."""
    drawn = []
    for seed in folds.seeds.tolist():
        generator = torch.Generator().manual_seed(seed ^ recipe.weights_seed)
        drawn.append(
            initial_weights(
                data.rows.shape[-1] - 1,
                recipe.hidden_layer_sizes,
                n_outputs=recipe.code.n_outputs,
                initialisation="standard_normal",
                generator=generator,
                dtype=torch.float64,
                patches=recipe.patches,
            )
        )
    first, *others = (torch.stack(layer).to(data.y) for layer in zip(*drawn, strict=True))
    return [first * recipe.course.deviation, *others]


def _ask(weights: Sequence[Tensor], recipe: EnsembleRecipe, data: TrainingData, folds: _Folds) -> HeldAnswers:
    """Ask each member about the rows it was trained without, one after the other."""
    return HeldAnswers.joined(
        [
            ask_held(
                AggregatedNetwork(
                    [w[member] for w in weights], aggregation=recipe.aggregation, patches=recipe.patches
                ),
                data.take(rows),
                recipe.code,
            )
            for member, rows in enumerate(folds.held)
        ]
    )


def _mean_of_records(
    several: Sequence[list[dict[str, float | int | str | Tensor]]],
) -> list[dict[str, float | int | str | Tensor]]:
    """Return the records of candidates that answer together as those of one, their mean."""
    return [
        {
            key: torch.stack([torch.as_tensor(one[key]) for one in records]).mean(0)
            if isinstance(value, Tensor)
            else value
            for key, value in records[0].items()
        }
        for records in zip(*several, strict=False)  # where training was interrupted some are shorter
    ]


def _mean_records(history: History, replicas: slice) -> list[dict[str, float | int | str | Tensor]]:
    """Return the records of some members as those of one network, their mean, under names of their own."""
    return [
        {
            key: value[replicas].double().mean()[None] if isinstance(value, Tensor) else value
            for key, value in record.items()
        }
        | {"phase": "members, margins" if str(record["phase"]).endswith("margins") else "members"}
        for record in history.records
    ]
