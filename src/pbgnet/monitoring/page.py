"""The page of a monitor: what was found, with charts, and what it proves and does not prove."""

import os
from pathlib import Path

import pbgnet
from pbgnet.files import as_path, write_whole
from pbgnet.monitoring.change import ChangeDetector
from pbgnet.monitoring.charts import change_chart, evidence_chart, rate_chart
from pbgnet.monitoring.claims import WatchedClaim
from pbgnet.monitoring.monitor import Monitor
from pbgnet.monitoring.words import change_sentences, e_value_text, error_sentences
from pbgnet.pages import Chart, render_page, render_picture

MOST_COLUMNS = 12
"""Most columns shown; if there are more, those with the most evidence."""

MOST_PARTS = 4
"""Most classes and groups drawn; if there are more, those with the most evidence. The table has all."""


def render_monitor(monitor: Monitor) -> str:
    """Return what a monitor has found as one HTML page, without external resources or scripts.

    Examples
    --------
    >>> import numpy as np
    >>> from pbgnet import Monitor, certify
    >>> from pbgnet.monitoring import render_monitor
    >>> monitor = Monitor(certify(lambda X: X[:, 0] % 2, np.arange(100)[:, None], [0, 1] * 50))
    >>> "No labelled rows yet." in render_monitor(monitor)
    True
    """
    sentences = error_sentences(monitor.claims, monitor.alpha, len(monitor.waiting))
    return render_page(
        __file__,
        title="Monitoring",
        heading="Does the certificate still hold?",
        lead=monitor.certificate.summary,
        version=pbgnet.__version__,
        alpha=monitor.alpha,
        alarm=monitor.alarm,
        sentences=sentences,
        numbers=_numbers(monitor),
        charts=_charts(monitor.claims[:1], monitor.alpha),
        parts=[_part_texts(claim, monitor.alpha) for claim in monitor.claims[1:]],
        part_charts=_charts(_strongest(monitor.claims[1:]), monitor.alpha),
        change=None if monitor.change is None else _change_values(monitor.change),
    )


def write_monitor_page(path: str | os.PathLike[str], monitor: Monitor) -> Path:
    """Write the page to a file, completely or not at all; see `render_monitor`."""
    return write_whole(as_path(path), render_monitor(monitor))


def write_monitor_picture(path: str | os.PathLike[str], monitor: Monitor) -> Path:
    """Write the charts of a monitor to one SVG file, completely or not at all."""
    charts = _charts(monitor.claims[:1], monitor.alpha)
    charts += [] if monitor.change is None else [change_chart(monitor.change)]
    return write_whole(as_path(path), render_picture("Does the certificate still hold?", charts))


def _charts(claims: tuple[WatchedClaim, ...], alpha: float) -> list[Chart]:
    return [
        chart
        for k, claim in enumerate(claims)
        for name in [f"claim{k}{'-part' if claim.rows_meant else ''}"]
        for chart in (rate_chart(name, claim, alpha), evidence_chart(name, claim, alpha))
    ]


def _strongest(claims: tuple[WatchedClaim, ...]) -> tuple[WatchedClaim, ...]:
    seen = [claim for claim in claims if claim.n_rows]
    return tuple(sorted(seen, key=lambda claim: (claim.alarm_row is None, -claim.log_e))[:MOST_PARTS])


def _numbers(monitor: Monitor) -> list[tuple[str, str, str, bool]]:
    claim, rate = monitor.claims[0], monitor.error_rate
    alarm_at = 1 / (monitor.alpha * claim.share)
    share = f"{100 * rate.n_errors / rate.n_rows:.1f} %" if rate.n_rows else "none yet"
    return [
        ("bound", f"{claim.bound_text} %", "certified bound on the error rate", True),
        ("recent", share, f"wrong among the latest {rate.n_rows} labelled rows", False),
        (
            "evidence",
            e_value_text(claim.log_e),
            f"e-value now; alarm at {alarm_at:,.0f}",
            False,
        ),
        ("rows", f"{claim.n_rows:,}", f"labelled rows, {claim.n_errors:,} of them wrong", False),
        ("waiting", f"{len(monitor.waiting):,}", "rows waiting for their label", False),
        (
            "alarm",
            "alarm" if monitor.alarm else "no alarm",
            f"false with probability at most {monitor.alpha:g}",
            False,
        ),
    ]


def _part_texts(claim: WatchedClaim, alpha: float) -> tuple[str, ...]:
    state = "-" if claim.alarm_row is None else f"alarm after {claim.alarm_row}"
    return (
        claim.rows_meant.removeprefix(" in ").removeprefix(" among "),
        f"{claim.n_errors} of {claim.n_rows}",
        f"{claim.bound_text} %",
        e_value_text(claim.log_e),
        f"{1 / (alpha * claim.share):,.0f}",
        state,
    )


def _change_values(change: ChangeDetector) -> dict[str, object]:
    ordered = sorted(change.columns, key=lambda column: -column.highest)[:MOST_COLUMNS]
    needed, changed = len(change.columns) / change.alpha, set(change.changed_columns)
    return {
        "alarm": change.alarm,
        "sentences": change_sentences(change),
        "chart": change_chart(change),
        "n_reference": change.n_reference,
        "n_columns": len(change.columns),
        "alpha": change.alpha,
        "columns": [
            (c.name, e_value_text(c.highest), f"{needed:,.0f}", "changed" if c.name in changed else "-")
            for c in ordered
        ],
    }
