"""``python -m checks.soundness``: certificates in worlds whose truth is known, and how many are wrong.

Routes alone are tried on a coin, whose probability of every outcome is known: how often a bound fails is
computed, not counted, for each of many coins. Whole certificates are issued in worlds that are drawn, and the
wrong ones counted; at low confidence, so that there are some.
"""

import argparse
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from scipy import stats

from checks.subjects import SUBJECTS, Issued, Subject
from checks.worlds import WORLDS
from pbgnet.certificates import ROUTES, Claim, Foresight
from pbgnet.certificates.routes import COUNTED, ERROR_RATE, SELECTIVE, Measured
from pbgnet.exceptions import LabelError

CONFIDENCE = 0.7
SURPRISE = 1e-5
"""More violations than chance gives at this rate are a fault."""
SLOW_SHARE = 10
"""Of slow certificates, one is made where ten of the others are."""
ROUNDING = 1e-9
"""Truths are computed to this."""


@dataclass(frozen=True)
class Tally:
    """How often something was wrong.

    Attributes
    ----------
    what : str
    n_violated, n : int
    delta : float
        How often it may be wrong.
    """

    what: str
    n_violated: int
    n: int
    delta: float

    @property
    def allowed(self) -> int:
        """The largest number that is no surprise."""
        return int(stats.binom.ppf(1.0 - SURPRISE, self.n, self.delta))

    @property
    def ok(self) -> bool:
        """Whether there were no more."""
        return self.n_violated <= self.allowed

    def __str__(self) -> str:
        verdict = "ok" if self.ok else "UNSOUND"
        counted = f"{self.n_violated} of {self.n} wrong, {self.allowed} allowed"
        return f"{verdict:8}{self.what:75}{counted} (delta {self.delta:.3g})"


# ----- whole certificates ----------------------------------------------------------------------------


def count_wrong(
    subject: Subject, n: int, *, seed: int = 0, confidence: float = CONFIDENCE, what: str = ""
) -> list[Tally]:
    """Issue certificates in n worlds of each kind that fits, and count the wrong ones.

    Returns
    -------
    list of Tally
        What is claimed together, in each kind of world and in all; then each alternative in all, which may
        be wrong as often alone.
    """
    delta, together, alone = 1.0 - confidence, [], Counter[str]()
    for place, (kind, make) in enumerate(WORLDS.items()):
        rng = np.random.default_rng([seed, place])
        if subject.only_two and make(rng).n_classes > 2:
            continue
        wrong = 0
        for _ in range(n):
            try:
                issued = subject.issue(make(rng), rng, confidence)
            except LabelError:  # too few rows of a class: nothing is claimed
                continue
            claims = issued.certificate.claims
            wrong += any(is_wrong(claim, issued.truth) for claim in claims)
            alone.update(_alternatives(issued))
        together.append(Tally(f"{what}: {kind}", wrong, n, delta))
    n_all = n * len(together)
    return [
        *together,
        Tally(f"{what}: all worlds", sum(each.n_violated for each in together), n_all, delta),
        *(Tally(f"{what}: all worlds, {each}", wrong, n_all, delta) for each, wrong in sorted(alone.items())),
    ]


def _alternatives(issued: Issued) -> Counter[str]:
    """Return 1 or 0 for each alternative; one of a posterior that was not kept is as good as the others."""
    seen, wrong = Counter[str](), Counter[str]()
    for each in issued.certificate.alternatives:
        name = f"{each.predictor.removeprefix('discarded ')} by {each.route}"
        seen[name] += 1
        wrong[f"{name} {seen[name]}"] = int(is_wrong(each, issued.truth))
    return wrong


def is_wrong(claim: Claim, truth: Callable[[Claim], float]) -> bool:
    """Whether what a claim bounds is larger than the bound."""
    return truth(claim) - ROUNDING > claim.value


def certificates(n: int, seed: int = 0, confidence: float = CONFIDENCE) -> Iterator[Tally]:
    """Count in n worlds of each kind, for each subject."""
    for name, subject in SUBJECTS.items():
        size = max(1, n // SLOW_SHARE) if subject.slow else n
        yield from count_wrong(subject, size, seed=seed, confidence=confidence, what=name)


# ----- routes alone ----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Coin:
    """Rows of which each is wrong with the same probability, as of a prior.

    Attributes
    ----------
    n : int
        Number of rows.
    right, wrong : float
        `y G(x)` of rows that are right and of those that are wrong.
    reference_bound : float
        What a disagreement adds to: a bound that is attained.
    """

    n: int
    right: float
    wrong: float
    reference_bound: float = 0.05

    def measured(self, n_errors: int) -> Measured:
        """Return what routes look at, after so many errors."""
        wrong = np.arange(self.n) < n_errors
        margins = np.where(wrong, self.wrong, self.right)
        return Measured(
            wrong,
            (1.0 - margins) / 2.0,
            margins=margins,
            divergence=0.0,
            reference_bound=self.reference_bound,
        )

    def truth(self, route: str, p: np.ndarray) -> np.ndarray:
        """Return what a route bounds, for each probability of an error."""
        if route == "disagreement":
            return np.minimum(1.0, self.reference_bound + p)
        if ROUTES[route].quantity in COUNTED:
            return p if ROUTES[route].quantity == ERROR_RATE else 1.0 - p
        return p * (1.0 - self.wrong) / 2.0 + (1.0 - p) * (1.0 - self.right) / 2.0

    def failure_rates(self, route: str, p: np.ndarray, delta: float, learned: bool) -> np.ndarray:
        """Return how often the bound of a route is too small, for each probability of an error."""
        found = ROUTES[route]
        expected = np.where(np.arange(30) < 3, self.wrong, self.right) if learned else None
        planner = ROUTES["seeger"] if route == "doubled" else found
        settings = Foresight(self.n, delta, expected).settings_of(planner)
        counts = np.arange(self.n + 1)
        values = [
            found.value(found.evidence(self.measured(int(k)), settings, delta), settings, delta)
            for k in counts
        ]
        chances = stats.binom.pmf(counts[:, None], self.n, p)
        return np.asarray(
            (chances * (self.truth(route, p) - ROUNDING > np.array(values)[:, None])).sum(axis=0)
        )


COINS = (Coin(1, 0.9999, -0.9999), Coin(5, 0.9999, -0.9999), Coin(3, 0.9999, -0.0001), Coin(20, 0.5, -0.5))
"""Losses of 0 and 1 are the hardest for bounds on a loss; for the vote, errors that are all but ties."""


COUNTED_COINS = tuple(name for name, route in ROUTES.items() if route.quantity not in SELECTIVE)
"""Routes that coins can try: those about answered rows need scores, and have worlds of their own."""


def worst_coins(
    n_worlds: int, delta: float, routes: Iterable[str] = COUNTED_COINS
) -> Iterator[tuple[str, float]]:
    """Compute the largest rate of failures over n coins for each route, with and without prior rows."""
    p = np.linspace(0.0, 1.0, n_worlds + 2)[1:-1]
    for route in routes:
        for coin in COINS:
            for learned in (False, True):
                worst = float(coin.failure_rates(route, p, delta, learned).max())
                told = f"margins {coin.wrong} and {coin.right}{', planned on prior rows' * learned}"
                yield f"{route}, {coin.n} rows, {told}", worst


def report(tallies: Iterable[Tally], coins: Iterable[tuple[str, float]], delta: float) -> int:
    """Print what was found, and return how much of it is a fault."""
    faults = 0
    for what, rate in coins:
        ok = rate <= delta
        faults += not ok
        told = f"worst coin: wrong at a rate of {rate:.4f}, {delta:.3g} allowed"
        print(f"{'ok' if ok else 'UNSOUND':8}{what:75}{told}", flush=True)
    for tally in tallies:
        faults += not tally.ok
        print(tally, flush=True)
    return faults


def main(arguments: Sequence[str] | None = None) -> int:
    """Try everything; return 1 if anything is wrong more often than it may be."""
    parser = argparse.ArgumentParser(prog="python -m checks.soundness", description=__doc__)
    parser.add_argument("--worlds", type=int, default=300, help="worlds of each kind, and coins (300)")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--confidence", type=float, default=CONFIDENCE)
    options = parser.parse_args(arguments)
    start, delta = time.monotonic(), 1.0 - options.confidence
    faults = report(
        certificates(options.worlds, options.seed, options.confidence),
        worst_coins(options.worlds, delta),
        delta,
    )
    print(f"{faults} faults; {time.monotonic() - start:.0f} s.")
    return int(faults > 0)


if __name__ == "__main__":
    sys.exit(main())
