"""An ensemble: networks that are each trained without one fold of the rows, and answer together.

A certificate that counts errors on other rows needs no bound in its training, only a good classifier. So the
loss is the logarithm of the probability that a drawn network is right, averaged over labels if there are
several; for several classes it is their cross-entropy, and then their margins. The learning rate falls to 0.
Cross-validation chooses how numbers are encoded, the weight decay, and whether margins are trained. The
networks of the best pair of candidates are the members, so nothing needs to be trained again.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np
import torch
from torch import Tensor

from pbgnet.memory import release_free_memory
from pbgnet.networks import AggregatedNetwork, BinnedRows, Code, initial_weights
from pbgnet.training.algorithms.ensemble_recipe import EnsembleChoice, EnsembleRecipe, Schedule, Setting
from pbgnet.training.algorithms.held_answers import HeldAnswers, ask_held
from pbgnet.training.algorithms.selection import nan_last
from pbgnet.training.algorithms.trained import FitResult
from pbgnet.training.solvers import Course, History, Journal, LinearDecay, Problem, Progress, fit
from pbgnet.training.steps import (
    FIRST_TEMPERATURE,
    Criterion,
    FoldPools,
    LinearLoss,
    MarginCriterion,
    RowBlocks,
    TrainingData,
    log_criterion,
)

# Second words of the seeds for the batches, and for the folds.
BATCHES, FOLDS = 1, 2

SCATTERED_CELLS, TOGETHER_CELLS, BLOCK_ROWS = 1 << 32, 1 << 30, 1 << 14
"""Up to this many cells, rows are read in any order. Larger tables may be on a disk and exceed the memory:
blocks of consecutive rows are read in random order, and this many cells are shuffled together.
"""


def fit_ensemble(recipe: EnsembleRecipe, *, verbose: int = 0) -> FitResult:
    """Train an ensemble on prior rows only; it is both prior and posterior."""
    with Progress(verbose) as progress:
        journal = Journal(progress=progress)
        team, tried, folds = (_choose if recipe.everything is None else _choose_on_sample)(recipe, journal)
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
        n_epochs=_schedule(recipe, folds).n_epochs,
        validation_loss=answers.loss,
        validation_error=answers.error,
        margins=answers.margins if folds.n_rows > 1 else np.empty(0),
        candidates=[one.described() for one in tried],
        temperature=_temperature(answers),
    )
    history, interrupted = journal.history.of_replica(0), journal.interrupted
    return FitResult(network, history, "pretrained", interrupted, choice, keeps_prior=True)


def _choose(
    recipe: EnsembleRecipe, journal: Journal
) -> tuple[Sequence["_Candidate"], Sequence["_Candidate"], "_Folds"]:
    """Return the candidates that form the ensemble, all candidates, and the folds that chose them."""
    folds = _Folds.of(recipe)
    has_many_rows = folds.n_rows >= recipe.course.many_rows
    judging = folds.part(slice(recipe.course.judging_folds)) if has_many_rows else folds
    tried = _try(recipe, judging, journal)
    team = _best(tried, most=1 if has_many_rows else 2)
    if len(judging.held) < len(folds.held) and not journal.interrupted:
        rest = folds.part(slice(len(judging.held), None))
        team = [one.joined(*_train(recipe, one.encoding, [one.setting], rest, journal)) for one in team]
    return team, tried, folds


def _choose_on_sample(
    recipe: EnsembleRecipe, journal: Journal
) -> tuple[Sequence["_Candidate"], Sequence["_Candidate"], "_Folds"]:
    """Choose a candidate on a sample of very many rows, and train its members on all of them."""
    sampled = replace(recipe, course=recipe.course.for_sample())
    folds = _Folds.of(sampled)
    tried = _try(sampled, folds.part(slice(recipe.course.judging_folds)), journal)
    (best,) = _best(tried, most=1)
    if journal.interrupted:
        return [best], tried, folds
    release_free_memory()
    whole = recipe.of_everything(best.encoding)
    all_folds = _Folds.of(whole)
    return _train(whole, best.encoding, [best.setting], all_folds, journal), tried, all_folds


def _try(recipe: EnsembleRecipe, folds: "_Folds", journal: Journal) -> "list[_Candidate]":
    """Train members for every encoding and every setting."""
    settings = recipe.course.settings(folds.n_rows)
    return [
        candidate
        for encoding in recipe.examples
        for candidate in _train(recipe, encoding, settings, folds, journal)
    ]


def _schedule(recipe: EnsembleRecipe, folds: "_Folds") -> Schedule:
    return recipe.course.schedule(recipe.learning_rate, folds.n_rows, folds.n_pool)


@dataclass(frozen=True)
class _Folds:
    """The rows each member is trained on, and the rows that judge it."""

    n_rows: int
    pools: Tensor | FoldPools  # int64, shape (members, p), or all rows without a fold if there are very many
    held: list[Tensor]  # int64; no row is in the pool of the same member, unless there is only one row
    seeds: Tensor  # of weights and batches of each member

    @classmethod
    def of(cls, recipe: EnsembleRecipe) -> "_Folds":
        data, course = next(iter(recipe.examples.values())), recipe.course
        n, device = len(data), data.y.device
        n_folds = min(course.n_folds, n)
        members = min(course.n_members, n_folds)
        words = np.random.SeedSequence((recipe.folds_seed, BATCHES)).generate_state(members, np.uint64)
        seeds = torch.from_numpy(words.view(np.int64)).to(device)
        if course.has_very_many(n):
            (word,) = np.random.SeedSequence((recipe.folds_seed, FOLDS)).generate_state(1, np.uint64)
            blocks = RowBlocks(n, n_folds, int(word.view(np.int64)), *_blocks(data))
            held = [blocks.held(fold, device) for fold in range(members)]
            return cls(n, FoldPools(blocks, torch.arange(members, device=device)), held, seeds)
        order = np.random.default_rng((recipe.folds_seed, FOLDS)).permutation(n)
        parts = [np.sort(part) for part in np.array_split(order, n_folds)[:members]]
        longest = max(part.size for part in parts)
        # Folds differ by at most one row. Pools must not, so the last row of a longer one is left out.
        pools = [np.setdiff1d(order, part)[: n - longest] for part in parts] if n > 1 else parts
        return cls(
            n,
            torch.from_numpy(np.stack(pools)).to(device),
            [torch.from_numpy(part).to(device) for part in parts],
            seeds,
        )

    @property
    def n_pool(self) -> int:
        """Number of rows each member is trained on."""
        return self.pools.blocks.n_pool if isinstance(self.pools, FoldPools) else self.pools.shape[1]

    def part(self, part: slice) -> "_Folds":
        """Return the folds of some members."""
        pools = self.pools.take(part) if isinstance(self.pools, FoldPools) else self.pools[part]
        return _Folds(self.n_rows, pools, self.held[part], self.seeds[part])

    def repeated_pools(self, times: int) -> Tensor | FoldPools:
        """Return the pools of all members, repeated this many times."""
        if isinstance(self.pools, FoldPools):
            return FoldPools(self.pools.blocks, self.pools.without.repeat(times))
        return self.pools.repeat(times, 1)


@dataclass(frozen=True, eq=False)
class _Candidate:
    """Members trained in one way, and their answers on rows they had not seen."""

    encoding: str
    read_in: str  # the same, or the wider encoding that contains it and that the weights are for
    setting: Setting
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
            "speed": self.setting.speed,
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
    """Return the candidates, at most this many and in one encoding, with the smallest joint loss."""
    teams = [
        team
        for size in range(1, most + 1)
        for team in combinations(tried, size)
        if len({one.read_in for one in team}) == 1
    ]
    losses = [HeldAnswers.averaged([one.answers for one in team]).loss for team in teams]
    return teams[int(nan_last(torch.tensor(losses)).argmin())]


def _train(
    recipe: EnsembleRecipe, encoding: str, settings: Sequence[Setting], folds: _Folds, journal: Journal
) -> list[_Candidate]:
    """Train the members of all folds for every setting, side by side.

    If there are few rows, several classes are then trained on their margins. The members before and after
    that are both candidates.
    """
    data, schedule = recipe.examples[encoding], _schedule(recipe, folds)
    n_members = len(folds.held)
    repeated = [torch.cat([w] * len(settings)) for w in _first_weights(recipe, data, folds)]
    network = AggregatedNetwork(repeated, aggregation=recipe.aggregation, patches=recipe.patches)
    decays = [recipe.course.decay_of(setting, folds.n_pool) for setting in settings]
    rates = data.y.new_tensor(
        np.repeat([schedule.rate * setting.speed for setting in settings], n_members), dtype=torch.float64
    )
    own = Journal(History(), journal.progress, journal.interrupted)

    def descend(criterion: Criterion, phase: str) -> None:
        problem = Problem(
            network,
            data,
            LinearLoss.of(list(network.weights), rates.new_tensor(np.repeat(decays, n_members))),
            folds.seeds.repeat(len(settings)),
            rates,
            criterion=criterion,
            pools=folds.repeated_pools(len(settings)),
            augmentation=recipe.augmentation,
        )
        course = Course(schedule.batch_size, schedule.n_epochs)
        if schedule.falls_by_step:
            fit(problem, course, own, phase, pace=schedule.pace)
        else:
            fit(problem, course, own, phase, callbacks=[LinearDecay(schedule.n_epochs, final=0.0)])

    phase = _phase(recipe, encoding)
    descend(log_criterion(recipe.code, len(rates), data.y), phase)
    found = _candidates(network, recipe, encoding, settings, folds, own.history)
    if _sharpens(recipe, folds) and not own.interrupted:
        assert isinstance(recipe.code, Code)
        descend(MarginCriterion.of(recipe.code), f"{phase}, margins")
        found += _candidates(network, recipe, encoding, settings, folds, own.history, sharpened=True)
    journal.interrupted = own.interrupted
    return found


def _sharpens(recipe: EnsembleRecipe, folds: _Folds) -> bool:
    several_classes = isinstance(recipe.code, Code) and not recipe.code.separate
    weighted = next(iter(recipe.examples.values())).weight is not None
    has_few_rows = folds.n_rows < recipe.course.many_rows and not recipe.course.has_very_many(folds.n_rows)
    return several_classes and not weighted and has_few_rows


def _candidates(
    network: AggregatedNetwork,
    recipe: EnsembleRecipe,
    encoding: str,
    settings: Sequence[Setting],
    folds: _Folds,
    history: History,
    *,
    sharpened: bool = False,
) -> list[_Candidate]:
    """Return the current members, one candidate for each setting."""
    n_members, part = len(folds.held), recipe.parts.get(encoding)
    weights = [w.detach().clone().reshape(len(settings), n_members, *w.shape[1:]) for w in network.weights]
    return [
        _Candidate(
            encoding,
            encoding if part is None else part.whole,
            setting,
            recipe.course.decay_of(setting, folds.n_pool),
            [weights[0][k] if part is None else part.widened(weights[0][k]), *(w[k] for w in weights[1:])],
            _ask([w[k] for w in weights], recipe, recipe.examples[encoding], folds),
            _mean_records(history, slice(k * n_members, (k + 1) * n_members)),
            sharpened,
        )
        for k, setting in enumerate(settings)
    ]


def _blocks(data: TrainingData) -> tuple[int, int]:
    """Return the number of blocks of rows, and how many of them are shuffled together.

    It only depends on the size of the codes: the machine must not change the result.
    """
    if not isinstance(data.rows, BinnedRows) or data.rows.codes.numel() < SCATTERED_CELLS:
        return 1, 1
    return -(-len(data) // BLOCK_ROWS), max(1, TOGETHER_CELLS // (BLOCK_ROWS * data.rows.codes.shape[1]))


def _temperature(answers: HeldAnswers) -> float | None:
    if answers.code.separate:
        return None
    return answers.temperature if len(answers.output) > 1 else FIRST_TEMPERATURE


def _phase(recipe: EnsembleRecipe, encoding: str) -> str:
    return f"members, {encoding}" if len(recipe.examples) > 1 else "members"


def _first_weights(recipe: EnsembleRecipe, data: TrainingData, folds: _Folds) -> list[Tensor]:
    """Draw weights of deviation 1 or more; with smaller ones, all neurons learn the same direction."""
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
    """Return each member's answers on the rows it was not trained on."""
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
        for records in zip(*several, strict=False)  # if training was interrupted, some are shorter
    ]


def _mean_records(history: History, replicas: slice) -> list[dict[str, float | int | str | Tensor]]:
    """Return the records of some members as those of one network, their mean, under separate names."""
    return [
        {
            key: value[replicas].double().mean()[None] if isinstance(value, Tensor) else value
            for key, value in record.items()
        }
        | {"phase": "members, margins" if str(record["phase"]).endswith("margins") else "members"}
        for record in history.records
    ]
