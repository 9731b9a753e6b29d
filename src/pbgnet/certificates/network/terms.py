"""What is requested of a certificate: at which confidence, by which route, about which rates."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pbgnet.bounds import Constant, split_delta
from pbgnet.certificates.data import Groups
from pbgnet.certificates.format import MOST_SAMPLES, Wanted, class_events
from pbgnet.certificates.routes import check_selection
from pbgnet.choices import CERTIFICATES
from pbgnet.exceptions import DomainError, DtypeError, LabelError, OptionError
from pbgnet.validation import check_name, positive_int

# Fewer rows of a class say nothing about it.
FEWEST_OF_A_CLASS = 2


@dataclass(frozen=True)
class Terms:
    """How to certify a network; see `certify_network` for the meaning of each.

    Examples
    --------
    >>> from pbgnet.certificates import Terms
    >>> Terms(confidence=0.9, n_priors=2).delta_per_prior
    0.04999...
    """

    confidence: float = 0.95
    n_priors: int = 1
    constant: str = "maurer"
    certificate: str = "seeger"
    class_conditional: bool = False
    confusion: bool = False
    aggregation: str = "fourier"
    n_samples: int | None = None
    seed: int | None = None
    per_label: bool = False
    max_error: float | None = None
    coverage: float | None = None
    keep_prior: bool = False

    def __post_init__(self) -> None:
        if self.selective and self.certificate != "held-out":
            raise OptionError(
                "max_error and coverage need certificate='held-out', because answered rows are counted; got "
                f"{self.certificate!r}."
            )
        check_name("constant", self.constant, [member.value for member in Constant])
        check_name("certificate", self.certificate, CERTIFICATES)
        check_name("aggregation of a certificate", self.aggregation, ("fourier", "monte_carlo"))
        if self.confusion and self.certificate != "held-out":
            raise OptionError(
                "confusion needs certificate='held-out', because the cells of the confusion matrix are "
                f"counted; got {self.certificate!r}."
            )
        if self.per_label and self.certificate != "held-out":
            raise OptionError(
                "per_label needs certificate='held-out', because the errors of each label are counted; got "
                f"{self.certificate!r}."
            )
        if self.keep_prior and self.certificate != "vote":
            raise OptionError(
                "keep_prior needs certificate='vote', whose bound counts the divergence many times; got "
                f"{self.certificate!r}."
            )
        if not self.sampled:
            if self.n_samples is not None or self.seed is not None:
                raise OptionError("n_samples and seed are only for aggregation='monte_carlo'.")
            return
        if positive_int("n_samples", self.n_samples) > MOST_SAMPLES:
            raise DomainError(f"n_samples must be at most {MOST_SAMPLES}, got {self.n_samples}.")
        if isinstance(self.seed, bool) or not isinstance(self.seed, int) or self.seed < 0:
            raise OptionError(f"aggregation='monte_carlo' needs a seed, a whole number; got {self.seed!r}.")
        if self.certificate not in ("seeger", "mixture") or self.class_conditional:
            raise OptionError(
                "A sampled risk can only be certified over all rows with certificate='seeger' or 'mixture': "
                "other certificates need exact outputs. Use aggregation='fourier'."
            )

    @property
    def selective(self) -> bool:
        """Whether the classifier only answers when it is sure."""
        return check_selection(self.max_error, self.coverage)

    @property
    def sampled(self) -> bool:
        """Whether the empirical risk is estimated from draws."""
        return self.aggregation == "monte_carlo"

    @property
    def delta(self) -> float:
        """The failure probability."""
        return delta_of(self.confidence)

    @property
    def delta_per_prior(self) -> float:
        """The share of it for each prior."""
        return split_delta(self.delta, self.n_priors)

    def wanted(self, names: tuple[str, ...], several_labels: bool, groups: Groups | None) -> Wanted:
        """Return what to claim besides the error rate over all rows.

        Parameters
        ----------
        names : tuple of str
            All classes, or labels.
        several_labels : bool
            Whether they are labels.
        groups : Groups or None
            The group of each certified row.
        """
        return Wanted(
            names,
            self.class_conditional and not several_labels,
            self.confusion and not several_labels,
            self.per_label and several_labels,
            () if groups is None else groups.present,
            several_labels=several_labels,
            selective=self.selective,
        )

    def check_groups(self, groups: Groups | None) -> None:
        """Raise an error if groups are to be bounded and the route cannot do it."""
        if groups is not None and self.certificate != "held-out":
            raise OptionError(
                "groups needs certificate='held-out', because the errors in each group are counted; got "
                f"{self.certificate!r}."
            )

    def check_posterior(self, has_posterior: bool) -> None:
        """Raise an error if the prior was to be kept as the posterior, and there is another posterior."""
        if self.keep_prior and has_posterior:
            raise OptionError(
                "keep_prior says that the posterior is the prior, but their weights differ; leave it out."
            )

    def check_classes(self, names: Sequence[str], truth: NDArray[np.int64]) -> None:
        """Raise an error if classes or labels are to be bounded and cannot be.

        Parameters
        ----------
        names : sequence of str
            All classes, or labels.
        truth : ndarray of int, shape (n,), or (n, L) for several labels
            The class index of each certified row; or 1 for each label that it has.
        """
        by_class, several_labels = self.class_conditional or self.confusion, truth.ndim == 2
        if several_labels and by_class:
            raise OptionError(
                "class_conditional and confusion are for rows with a single class each. For several labels, "
                "use per_label."
            )
        if several_labels and self.selective:
            raise OptionError(
                "max_error and coverage are for rows with a single class each, not for several labels."
            )
        if self.per_label and not several_labels:
            raise OptionError(
                "per_label is for rows with several labels. For classes, use class_conditional."
            )
        if class_events(names, self.class_conditional, self.confusion):
            for name, count in zip(names, np.bincount(truth, minlength=len(names)).tolist(), strict=True):
                check_class_size(name, count)


def check_class_size(label: str, count: int) -> None:
    """Raise `LabelError` unless there are enough certified rows of a class to bound its error rate."""
    if count < FEWEST_OF_A_CLASS:
        raise LabelError(
            f"Class {label} has {count} certified rows, but class-conditional bounds need at least "
            f"{FEWEST_OF_A_CLASS} in each class. Certify more rows. Do not simply turn class_conditional off "
            "now: that would be a choice based on the labels, which the confidence does not cover."
        )


def delta_of(confidence: Any) -> float:
    """Return 1 - confidence with exact decimals: 0.05 for 0.95, not 0.050000000000000044."""
    if isinstance(confidence, bool) or not isinstance(confidence, Real):
        raise DtypeError(f"confidence must be a number such as 0.95, got {confidence!r:.60}.")
    try:
        value = float(confidence)
    except OverflowError:  # a whole number of hundreds of digits
        value = math.inf
    if not 0.0 < value < 1.0:
        raise DomainError(f"confidence must be between 0 and 1 (for example 0.95), got {confidence!r:.60}.")
    return float(1 - Decimal(repr(value)))
