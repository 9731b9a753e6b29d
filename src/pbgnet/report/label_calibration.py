"""Margins and calibration for several labels: each label has its own vote."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from pbgnet.certificates import Answers
from pbgnet.pages import Chart
from pbgnet.report.calibration import Bin, margin_chart, reliability_bins, reliability_chart

MOST_LABELS = 6
"""Most labels with a calibration chart: those with the most errors."""


def label_margins(answers: Answers) -> Chart:
    """Draw the smallest margin of each row; if it is at most 0, a label is wrong."""
    right = np.asarray((answers.answered == answers.truth).all(axis=1))
    return margin_chart(
        answers.agreement.min(axis=1), right, meaning="smallest margin of a row: label times aggregate"
    )


def label_bins(answers: Answers, names: Sequence[str]) -> dict[str, list[Bin]]:
    """Group rows by the share of the vote on a label, for the labels with the most errors, in order."""
    wrong = answers.answered != answers.truth
    worst = np.argsort(-wrong.sum(axis=0), kind="stable")[:MOST_LABELS]
    return {
        names[k]: reliability_bins(_shares(answers.output[:, k]), np.asarray(~wrong[:, k]))
        for k in sorted(worst.tolist())
    }


def label_reliability(bins: dict[str, list[Bin]]) -> dict[str, Chart]:
    """Draw how often the vote on a label is right, against its share."""
    return {
        name: reliability_chart(found, name=f"reliability-{k}")
        for k, (name, found) in enumerate(bins.items())
    }


def _shares(output: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the shares of the votes against and for a label."""
    return np.column_stack([1.0 - output, 1.0 + output]) / 2.0
