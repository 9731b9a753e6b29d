"""The claims of a certificate that are monitored, each with its own rows, bound and share of alpha."""

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from pbgnet.certificates import Certificate, Claim, percent, percent_up
from pbgnet.exceptions import OptionError
from pbgnet.monitoring.accounts import NO_ROWS, Accounts
from pbgnet.monitoring.error_bets import error_log_factors
from pbgnet.monitoring.limits import START_EVERY, rate_limits
from pbgnet.monitoring.trail import NO_POINTS, Trail
from pbgnet.records import Count, PositiveCount, Probability, Record

OVERALL_SHARE = 0.5
"""Share of alpha for the error rates over all rows, and all answered rows, if there are other claims."""

ROUND_DIGITS = 5
"""A percentage with so few digits was chosen by a person: its double may be above it and round up."""

RECENT_ROWS = 500
"""The present error rate covers this many of the last rows, or slightly more."""


class RecentRate(NamedTuple):
    """The error rate of the last rows, with limits that hold at all times simultaneously.

    The limits are for the mean of the probabilities, given the past, that each of these rows is wrong.
    """

    first_row: int
    n_rows: int
    n_errors: int
    lower: float
    upper: float


@dataclass(frozen=True)
class WatchedClaim(Record):
    """A bound on an error rate, and the evidence of its rows against it.

    Attributes
    ----------
    bound : float
        The claimed bound.
    share : float
        Its share of alpha.
    given_class, group : str or None
        Which rows it is about: those of a class or of a group, as Python writes them; None for all.
    answered : bool
        Whether it is only about answered rows.
    n_errors : int
    alarm_row : int or None
        After how many of its rows the alarm was raised.
    accounts : Accounts
    trail : Trail
    """

    bound: Probability
    share: Probability
    given_class: str | None = None
    group: str | None = None
    answered: bool = False
    n_errors: Count = 0
    alarm_row: PositiveCount | None = None
    accounts: Accounts = NO_ROWS
    trail: Trail = NO_POINTS

    @property
    def rows_meant(self) -> str:
        """The rows it is about, in words; empty for all rows."""
        if self.given_class is not None:
            return f" in class {self.given_class}"
        if self.answered:
            return " among answered rows"
        return "" if self.group is None else f" in group {self.group}"

    @property
    def bound_text(self) -> str:
        """The bound in percent, rounded up; a round number chosen by a person is left as it is."""
        asked = percent(self.bound)
        return asked if len(asked) <= ROUND_DIGITS else percent_up(self.bound)

    @property
    def identity(self) -> tuple[float, float, str | None, str | None, bool]:
        """What is claimed about which rows, at which share of alpha."""
        return self.bound, self.share, self.given_class, self.group, self.answered

    @property
    def n_rows(self) -> int:
        """Number of its rows with a label so far."""
        return self.accounts.rows

    @property
    def log_e(self) -> float:
        """Logarithm of the e-value now: at least `log_threshold` is an alarm."""
        return self.accounts.log_e if self.n_rows else 0.0

    def log_threshold(self, alpha: float) -> float:
        """Return the logarithm of the e-value at which the alarm is raised, rounded up."""
        return -math.log(alpha * self.share) * (1.0 + 2.0**-48)

    def concerns(
        self, truth: NDArray[np.object_], groups: NDArray[np.object_] | None, answered: NDArray[np.bool_]
    ) -> NDArray[np.bool_]:
        """Return which rows it is about, given the names of their classes and groups."""
        if self.answered:
            return answered
        if self.given_class is not None:
            return np.asarray(truth == self.given_class)
        if self.group is not None:
            return np.zeros(len(truth), dtype=bool) if groups is None else np.asarray(groups == self.group)
        return np.ones(len(truth), dtype=bool)

    def after(self, errors: NDArray[np.bool_], alpha: float) -> "WatchedClaim":
        """Return the claim after further rows that it is about."""
        if not errors.size:
            return self
        accounts, log_e = self.accounts.after(error_log_factors(errors, self.bound))
        alarms = np.flatnonzero(log_e >= self.log_threshold(alpha))
        n_errors = self.n_errors + np.cumsum(errors)
        return replace(
            self,
            n_errors=int(n_errors[-1]),
            alarm_row=self.alarm_row or (self.n_rows + int(alarms[0]) + 1 if alarms.size else None),
            accounts=accounts,
            trail=self.trail.after(self.n_rows, n_errors, log_e),
        )

    def course(self) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64]]:
        """Return rows, errors and logarithm of the e-value at all stored points, including the last row."""
        points = (self.trail.rows, np.array(self.trail.errors, dtype=np.int64), np.array(self.trail.log_e))
        last = (self.n_rows, self.n_errors, self.log_e)
        if self.n_rows in (0, *points[0][-1:]):
            return points
        rows, errors, log_e = (np.append(kept, end) for kept, end in zip(points, last, strict=True))
        return rows, errors, log_e

    def recent_rates(self, alpha: float) -> list[RecentRate]:
        """Return the error rate of the latest rows at each stored point, with its limits.

        The latest rows are all rows since the last starting point that is at least `RECENT_ROWS` rows back,
        or since the first row. The error rate of single rows could not be determined.
        """
        rows, errors, _ = self.course()
        begins = rows % START_EVERY == 0
        starts = np.concatenate([[0], rows[begins]])
        before = np.concatenate([[0], errors[begins]])
        chosen = np.maximum(np.searchsorted(starts, rows - RECENT_ROWS, side="right") - 1, 0)
        n_rows, n_errors = rows - starts[chosen], errors - before[chosen]
        lower, upper = rate_limits(n_errors, n_rows, starts[chosen], alpha)
        columns = (starts[chosen] + 1, n_rows, n_errors, lower, upper)
        return [RecentRate(*each) for each in zip(*(column.tolist() for column in columns), strict=True)]


def watched_claims(certificate: Certificate) -> tuple[WatchedClaim, ...]:
    """Return what is monitored: the certificate's bounds on error rates, over all rows, classes and groups.

    If there are classes or groups, they share half of alpha, and the error rates over all rows and all
    answered rows share the other half. A bound of 1 says nothing and is not monitored. Neither are cells of
    the confusion matrix, lower limits, and the share of rows that are answered.
    """
    if certificate.of_labels:
        raise OptionError(
            "Monitoring does not support certificates of several labels yet; use one with a "
            "single label per row."
        )
    if certificate.error_rate.value >= 1.0:
        raise OptionError(
            "The certificate proves nothing about the error rate (its bound is 1), so no row can "
            "contradict it."
        )
    of_parts = [claim for claim in certificate.claims if _of_part(claim) and claim.value < 1.0]
    of_answered = certificate.answered_error_rate
    whole = [certificate.error_rate]
    whole += [of_answered] if of_answered is not None and of_answered.value < 1.0 else []
    share = (OVERALL_SHARE if of_parts else 1.0) / len(whole)
    part_share = (1.0 - OVERALL_SHARE) / max(1, len(of_parts))
    return (
        *(WatchedClaim(claim.value, share, answered=claim is of_answered) for claim in whole),
        *(WatchedClaim(claim.value, part_share, claim.given_class, claim.group) for claim in of_parts),
    )


def _of_part(claim: Claim) -> bool:
    """Whether a claim bounds the error rate of one class or one group."""
    apart = claim.given_class is not None or claim.group is not None
    return apart and claim.quantity == "error rate" and claim.answered is None


def any_alarm(claims: Iterable[WatchedClaim]) -> bool:
    """Whether the alarm of any claim was raised."""
    return any(claim.alarm_row is not None for claim in claims)
