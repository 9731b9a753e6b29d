"""What a check of `verify` returns, and how stated and recomputed values are compared."""

import math
from dataclasses import dataclass

from pbgnet.certificates.format import Certificate, MajorityAnswer

RELATIVE = 1e-9
"""Recomputed numbers may differ by this much, because other machines round differently."""

ROUNDING = 1e-12
"""An upper limit may be stated lower than recomputed only by this much: more is not rounding."""

# This many rows within the numerical error of a tie may be counted differently on another machine. A trained
# network has none; with more, a forged count could hide behind them.
MOST_TIES = 3

TIES_ON_TRUST = (
    "rows within the numerical error of a tie are counted differently here; the stated count is taken on "
    "trust"
)


@dataclass(frozen=True)
class Outcome:
    """What a check expected and found; `trusted` if it could not recompute it."""

    expected: str
    found: str
    ok: bool
    detail: str = ""
    trusted: bool = False


def same(expected: object, found: object, detail: str = "") -> Outcome:
    """Compare two values exactly; the detail is given if they differ."""
    ok = expected == found
    return Outcome(str(expected), str(found), ok, "" if ok else detail)


def compare_duplicates(stated: int, found: int, near_copies: str) -> Outcome:
    """Compare the numbers of rows that repeat another; near copies, if noted, are on trust."""
    if stated != found or not near_copies:
        return same(f"{stated} rows", f"{found} rows")
    return Outcome(f"{stated} rows", f"{found} rows", True, near_copies, trusted=True)


def compare_majority(
    certificate: Certificate, majority: MajorityAnswer | None, never_answered: tuple[str, ...]
) -> Outcome:
    """Compare the errors of always the same answer, and the classes never answered; say what that means."""

    def told(counted: MajorityAnswer | None, missing: tuple[str, ...]) -> str:
        unanswered = f"; never answered: {', '.join(missing)}" if missing else ""
        if counted is None:
            return f"no labels{unanswered}"
        return (
            f"always {counted.answer}, of the {counted.chosen_on}: {counted.n_errors} of {counted.n} wrong, "
            f"rate {counted.error_rate!r}{unanswered}"
        )

    stated = told(certificate.majority, certificate.inputs.never_answered)
    found = told(majority, never_answered)
    detail = " ".join((certificate.yardstick, *certificate.shortcomings))
    return Outcome(stated, found, stated == found, detail)


def close(expected: float, found: float) -> Outcome:
    """Compare two numbers up to rounding."""
    return Outcome(repr(expected), repr(found), math.isclose(expected, found, rel_tol=RELATIVE))


def is_outward(stated: float, found: float, slack: float = 0.0) -> bool:
    """Whether an upper limit is stated as recomputed, or slightly higher; never lower than rounding allows.

    Parameters
    ----------
    stated, found : float
        Not negative.
    slack : float, default=0.0
        How much lower it may also be, up to `RELATIVE`: the proved error of what it was computed from.
    """
    lower = min(found * ROUNDING + slack, found * RELATIVE)
    return found - lower <= stated <= found * (1 + RELATIVE)


def count_agrees(stated: int, found: int, n_ties: int) -> bool:
    """Whether two counts of errors differ by at most a few rows that are ties up to rounding."""
    return abs(stated - found) <= min(n_ties, MOST_TIES)


def risk_problem(stated: float, stated_error: float, found: float, found_error: float) -> str:
    """Say what is wrong with a stated mean; two computations may differ by the sum of their errors."""
    slack = 2.0 * min(stated_error, found_error * (1 + RELATIVE)) + 1e-12
    if not math.isclose(stated, found, rel_tol=0.0, abs_tol=slack):
        return "it differs by more than the numerical error"
    if stated + stated_error < found - found_error:
        return "it is understated by more than the numerical error"
    return ""
