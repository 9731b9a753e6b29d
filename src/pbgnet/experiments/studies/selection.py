"""Which of many trained networks an algorithm would have selected: the paper's rules.

References
----------
Letarte et al. (2019), "Models overview" and "Hybrid model selection scheme" of the appendix.
"""

import functools
import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

from pbgnet.bounds import seeger_bound, split_delta
from pbgnet.experiments.runs import RunSpec
from pbgnet.experiments.studies.store import RunRecord
from pbgnet.training import ALGORITHMS
from pbgnet.validation import check_name


@dataclass(frozen=True)
class Candidate:
    """A trained network at the epoch a rule picked."""

    spec: RunSpec
    # As evaluated. If the aggregate was sampled, losses, errors and bounds are those of the sampled one, as
    # in the paper; the exact ones keep the prefix ``exact_``.
    numbers: dict[str, float]


@dataclass(frozen=True)
class Selected:
    """The result of an algorithm on one split of a data set."""

    algorithm: str
    candidate: Candidate
    # Number of priors among which the data could choose, for which the union bound pays. The paper counts
    # only architectures; a pre-trained prior also depends on the learning rate and on T.
    n_priors: int

    @functools.cached_property
    def honest_bound(self) -> float | None:
        """The bound that pays for all priors; None if there is none. Takes milliseconds."""
        numbers, spec = self.candidate.numbers, self.candidate.spec
        if "divergence" not in numbers:
            return None
        delta = float(split_delta(spec.delta, self.n_priors))
        loss = min(1.0, max(0.0, numbers["train_loss"]))
        return float(seeger_bound(loss, numbers["divergence"], int(numbers["n"]), delta, spec.constant))

    def number(self, name: str) -> float | None:
        """Return a number of the network by name; None if it has none."""
        return self.honest_bound if name == "honest_bound" else self.candidate.numbers.get(name)


def _smallest(name: str, candidates: Sequence[Candidate]) -> Candidate:
    """The candidate with the smallest number; a network that diverged is never the best of several."""

    def nan_last(candidate: Candidate) -> float:
        number = candidate.numbers[name]
        return math.inf if math.isnan(number) else number

    return min(candidates, key=nan_last)


def _hybrid(candidates: Sequence[Candidate]) -> Candidate:
    """The bound decides within each weight decay, the validation loss between them."""
    decays = {candidate.spec.weight_decay for candidate in candidates}
    best = [
        _smallest("bound", [candidate for candidate in candidates if candidate.spec.weight_decay == decay])
        for decay in sorted(decays)
    ]
    return _smallest("validation_loss", best)


# What picks the run, by what picks the epoch.
RULES: dict[str, Callable[[Sequence[Candidate]], Candidate]] = {
    "validation": functools.partial(_smallest, "validation_loss"),
    "bound": _hybrid,
    "objective": functools.partial(_smallest, "bound"),
}


def select(algorithm: str, records: Iterable[RunRecord], pick: str | None = None) -> Selected | None:
    """Select among the runs of one data set and split, of any algorithm; None if there are none.

    Failed runs are skipped. By default, the epoch is picked as the paper says for the algorithm.
    """
    check_name("algorithm", algorithm, ALGORITHMS)
    usual = ALGORITHMS[algorithm]
    candidates = [
        Candidate(record.spec, _as_in_the_paper(record.results[pick or usual.rule]))
        for record in records
        if record.done and record.spec.training == usual.training
    ]
    if not candidates:
        return None
    chosen = RULES[usual.rule](candidates)
    n_priors = _count_priors([candidate.spec for candidate in candidates], chosen.spec)
    return Selected(algorithm, chosen, n_priors)


def select_all(
    records: Iterable[RunRecord], algorithms: Sequence[str]
) -> dict[tuple[str, str, int, int | None], Selected]:
    """Select for every (data set, algorithm, split, training size), which are the keys of the result."""
    groups: dict[tuple[str, int, int | None], list[RunRecord]] = {}
    for record in records:
        spec = record.spec
        groups.setdefault((spec.dataset, spec.split_seed, spec.n_train), []).append(record)
    found = {}
    for (dataset, split_seed, n_train), group in groups.items():
        for algorithm in algorithms:
            selected = select(algorithm, group)
            if selected is not None:
                found[dataset, algorithm, split_seed, n_train] = selected
    return found


def _as_in_the_paper(numbers: dict[str, float]) -> dict[str, float]:
    """Replace exact numbers by sampled ones, if there are any."""
    sampled = {name.removeprefix("sampled_"): x for name, x in numbers.items() if name.startswith("sampled_")}
    if not sampled:
        return dict(numbers)
    exact = {name: x for name, x in numbers.items() if not name.startswith("sampled_")}
    return exact | {f"exact_{name}": exact[name] for name in sampled if name in exact} | sampled


def _count_priors(specs: Sequence[RunSpec], chosen: RunSpec) -> int:
    """Count the priors among which the selection could choose, at least as many as the study counts."""
    pretrained = chosen.training == "pretrained"
    keys = {
        replace(
            spec,
            weight_decay=0.0,
            restart=0,
            learning_rate=spec.learning_rate if pretrained else 0.0,
            n_samples=spec.n_samples if pretrained else None,
        )
        for spec in specs
    }
    return max(chosen.n_priors, len(keys))
