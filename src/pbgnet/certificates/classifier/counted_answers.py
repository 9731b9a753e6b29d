"""The answers of any classifier on certified rows, and the bounds that follow from counting."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pbgnet.certificates.classifier.losses import loss_settings
from pbgnet.certificates.data import Groups
from pbgnet.certificates.format import Choices, Claimed, Wanted
from pbgnet.certificates.network import check_class_size
from pbgnet.certificates.routes import (
    ANY_ERROR,
    COUNTED,
    ERROR_RATE,
    SELECTIVE,
    Claim,
    Event,
    Measured,
    SelectionSettings,
    make_claim,
)
from pbgnet.exceptions import DomainError, OptionError

OVERALL = Claimed(ERROR_RATE, ANY_ERROR)
"""What every certificate claims."""


@dataclass(frozen=True, eq=False)
class CountedAnswers:
    """The answers of a classifier on the certified rows.

    Attributes
    ----------
    measured : Measured
        Measured on all of them.
    names : tuple of str
        The classes, as Python writes them.
    truth, predictions : ndarray of int64
        Class indices of the labels, and of the answers.
    groups : Groups or None
        The group of each row.
    """

    measured: Measured
    names: tuple[str, ...]
    truth: NDArray[np.int64]
    predictions: NDArray[np.int64]
    groups: Groups | None = None

    def wanted(self, class_conditional: bool, confusion: bool, loss: str | None = None) -> Wanted:
        """Return what to claim besides the error rate over all rows, for all groups that occur."""
        groups = () if self.groups is None else self.groups.present
        selective = self.measured.scores is not None
        return Wanted(self.names, class_conditional, confusion, groups=groups, loss=loss, selective=selective)

    def among(self, event: Event) -> Measured:
        """Return what is measured on rows of a class or group; if an answer is named, it is the error."""
        if event.group is not None:
            if self.groups is None:
                raise DomainError(f"There is no group {event.group}: these rows have no groups.")
            return self.measured.among(self.groups.rows_of(event.group))
        if event.given_class is None:
            return self.measured
        rows = np.asarray(self.truth == self.names.index(event.given_class))
        if event.answered is None:
            return self.measured.among(rows)
        return Measured(np.asarray(self.predictions[rows] == self.names.index(event.answered)))


def count_claims(
    counted: CountedAnswers,
    wanted: Wanted,
    delta: float,
    chosen: tuple[str, ...] = (),
    thresholds: Callable[[float], SelectionSettings] | None = None,
) -> tuple[tuple[Claim, ...], Choices]:
    """Bound the error rate over all rows, and everything else requested, each at its share of delta.

    Returns the claims, and what was chosen for them: on the prior rows, as described, and through the shares.
    If only some rows are answered, `thresholds` places the thresholds for a share of delta.
    """
    choices = held_out_choices(wanted, chosen)
    claims = []
    for claimed in (OVERALL, *wanted.claims):
        quantity, event = claimed
        share, rows = wanted.delta_of(event, delta, choices.n_shares), counted.among(event)
        if event.given_class is not None:
            check_class_size(event.given_class, rows.n)
        settings = None if quantity in COUNTED else loss_settings(rows.n, share)
        if quantity in SELECTIVE and thresholds is not None:
            settings = thresholds(share)
        route = claimed.route_beside("clopper-pearson")
        claims.append(
            make_claim("classifier", route, rows, settings, delta=share, quantity=quantity, event=event)
        )
    return tuple(claims), choices


def count_on_rows(wrong: NDArray[np.bool_], delta: float) -> Claim:
    """Return the bound from a count of errors on rows that a classifier has never seen."""
    return make_claim("classifier", "clopper-pearson", Measured(wrong), delta=delta)


def held_out_choices(wanted: Wanted, chosen: tuple[str, ...] = ()) -> Choices:
    """Return what is chosen for the count of errors: what the prior rows chose, and one share per claim."""
    if (wanted.class_conditional or wanted.confusion) and len(wanted.names) < 2:
        raise OptionError("class_conditional and confusion need rows of at least two classes.")
    return Choices("held-out", chosen, wanted.unions(1), ("clopper-pearson",))
