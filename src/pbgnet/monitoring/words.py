"""What a monitor has found, in plain sentences."""

import math
from collections.abc import Sequence

from pbgnet.certificates import percent_up
from pbgnet.monitoring.change import ChangeDetector
from pbgnet.monitoring.claims import RecentRate, WatchedClaim

MOST_COLUMNS = 5


def error_sentences(claims: Sequence[WatchedClaim], alpha: float, n_waiting: int) -> list[str]:
    """Say which bounds are refuted, how often the latest rows were wrong, and how many rows are waiting."""
    told = [alarm_sentence(claim) for claim in claims if claim.alarm_row is not None]
    overall = claims[0]
    if not overall.n_rows:
        told.append("No labelled rows yet.")
    elif not told:
        others = " The other bounds are not contradicted either." if len(claims) > 1 else ""
        told.append(
            f"No alarm: {rows(overall.n_rows)} with labels do not contradict the certified "
            f"{overall.bound_text} %.{others}"
        )
    if overall.n_rows:
        told.append(rate_sentence(overall.recent_rates(alpha)[-1], overall.n_rows, alpha))
    if n_waiting:
        told.append(
            f"{rows(n_waiting)} {'waits for its label' if n_waiting == 1 else 'wait for their labels'}."
        )
    return told


def alarm_sentence(claim: WatchedClaim) -> str:
    """Say that a bound is refuted, and after how many rows."""
    return (
        f"The error rate{claim.rows_meant} has risen above the certified {claim.bound_text} %: alarm "
        f"after {claim.alarm_row} labelled rows{claim.rows_meant}."
    )


def rate_sentence(rate: RecentRate, n_rows: int, alpha: float) -> str:
    """Say how often the latest rows were wrong, and the limits of their error rate."""
    which = f"Of {rows(rate.n_rows)}" if rate.n_rows == n_rows else f"Of the last {rows(rate.n_rows)}"
    return (
        f"{which} with labels {rate.n_errors} {'was' if rate.n_errors == 1 else 'were'} "
        f"wrong ({100 * rate.n_errors / rate.n_rows:.1f} %); their error rate is between "
        f"{percent_down(rate.lower)} % and {percent_up(rate.upper)} % "
        f"({100 * (1 - alpha):.12g} % confidence, at all times simultaneously)."
    )


def change_sentences(change: ChangeDetector) -> list[str]:
    """Say whether rows have changed, and in which columns."""
    if not change.n_rows:
        return ["No rows have been compared yet."]
    if not change.alarm:
        return [f"No change found: {rows(change.n_rows)} compared, with or without labels."]
    names = change.changed_columns
    listed = ", ".join(map(repr, names[:MOST_COLUMNS])) + (
        f" and {len(names) - MOST_COLUMNS} more" if len(names) > MOST_COLUMNS else ""
    )
    where = (
        f"in {'column' if len(names) == 1 else 'columns'} {listed}"
        if names
        else "across all columns taken together, but not clearly in any single one"
    )
    return [
        "The rows no longer look like the certified ones: detected after "
        f"{rows(change.alarm_row or 0)}, {where}. This tests for change, not for errors: it "
        "does not mean that more answers are wrong."
    ]


def rows(count: int) -> str:
    """Write a number of rows."""
    return "1 row" if count == 1 else f"{count} rows"


def percent_down(value: float) -> str:
    """Write a share as a percentage with one decimal, rounded down; with two decimals below 1 %.

    Examples
    --------
    >>> from pbgnet.monitoring.words import percent_down
    >>> percent_down(0.04561), percent_down(0.00329)
    ('4.5', '0.32')
    """
    digits = 1 if value >= 0.01 else 2
    return f"{math.floor(100 * value * 10**digits) / 10**digits:.{digits}f}"


def e_value_text(log_e: float) -> str:
    """Write an e-value, given its logarithm, in a few digits, however large it is."""
    exponent = log_e / math.log(10)
    return f"{math.exp(log_e):.3g}" if abs(exponent) < 4 else f"1e{math.floor(exponent):+d}"
