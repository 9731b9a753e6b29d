"""Which bounds a certificate contains, in which order, and how many shares of delta they cost.

Requests, issuing and verifying all use this: another kind of claim is one more part of `Wanted`.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from pbgnet.bounds import split_delta
from pbgnet.certificates.format.shares import Union
from pbgnet.certificates.routes import (
    ACCURACY,
    ANY_ERROR,
    COUNT_BELOW,
    ERROR_RATE,
    HELD_OUT_LOSS,
    MOST_CLAIMS,
    SELECTIVE,
    Claim,
    Event,
)
from pbgnet.exceptions import OptionError


class Claimed(NamedTuple):
    """A quantity, and what counts as an error."""

    quantity: str
    event: Event

    def __str__(self) -> str:
        return f"{self.quantity}{self.event.words}"

    def route_beside(self, headline: str) -> str:
        """Return its route, given that of the error rate over all rows."""
        if self.quantity in SELECTIVE:
            return SELECTIVE[self.quantity]
        if self.quantity in (ERROR_RATE, ACCURACY):
            return COUNT_BELOW if self.quantity == ACCURACY else headline
        return HELD_OUT_LOSS


GROUPS = "the upper and lower limits of the error rate in each group"


class Part(NamedTuple):
    """Claims of one kind, and the words for what delta is divided between."""

    words: str
    claims: tuple[Claimed, ...]


@dataclass(frozen=True)
class Wanted:
    """What a certificate claims besides the error rate over all rows.

    Attributes
    ----------
    names : tuple of str
        All classes, or several labels, as Python writes them.
    class_conditional, confusion, per_label : bool
        Whether the error rate of each class, the cells of the confusion matrix, the error rate of each of
        several labels is bounded.
    groups : tuple of str
        The groups whose error rates are bounded, from above and below: those that occur in the certified
        rows.
    loss : str or None
        The quantity of a loss that is bounded.
    several_labels : bool
        Whether the names are labels that a row may have together, rather than classes.
    selective : bool
        Whether the classifier only answers when it is sure: then the error rate among answered rows, and the
        share of the others, are bounded.

    Examples
    --------
    >>> from pbgnet.certificates.format import Wanted
    >>> wanted = Wanted(("'no'", "'yes'"), groups=("'a'", "'b'"))
    >>> [str(claimed) for claimed in wanted.claims[:2]]
    ["error rate in group 'a'", "accuracy in group 'a'"]
    >>> [union.count for union in wanted.unions(1)], wanted.delta_of(wanted.claims[0].event, 0.08, 2)
    ([2], 0.0099...)
    """

    names: tuple[str, ...]
    class_conditional: bool = False
    confusion: bool = False
    per_label: bool = False
    groups: tuple[str, ...] = ()
    loss: str | None = None
    several_labels: bool = False
    selective: bool = False

    @classmethod
    def stated(
        cls,
        claims: Iterable[Claim],
        names: tuple[str, ...],
        groups: tuple[str, ...] = (),
        loss: str | None = None,
        several_labels: bool = False,
    ) -> "Wanted":
        """Return what must have been requested if a certificate has these claims and groups.

        Whether the claims are then exactly those requested is a question for `verify`.
        """
        listed = list(claims)
        events = [claim.event for claim in listed]
        return cls(
            names,
            any(event.given_class is not None for event in events) and not several_labels,
            any(event.answered is not None for event in events) and not several_labels,
            any(event.label is not None for event in events) and several_labels,
            groups,
            loss,
            several_labels,
            any(claim.quantity in SELECTIVE for claim in listed),
        )

    @property
    def parts(self) -> list[Part]:
        """Claims of each requested kind, in the order of a certificate."""
        by_class = class_events(self.names, self.class_conditional, self.confusion)
        n = len(self.names)
        of_groups = [
            Claimed(quantity, Event(group=name))
            for name in self.groups
            for quantity in (ERROR_RATE, ACCURACY)
        ]
        of_answers = [Claimed(quantity, ANY_ERROR) for quantity in SELECTIVE if self.selective]
        parts = [
            Part("the error rate of each class", _error_rates(by_class[:n])),
            Part("each cell of the confusion matrix", _error_rates(by_class[n:])),
            Part("the error rate of each label", _error_rates(label_events(self.names, self.per_label))),
            Part(GROUPS, tuple(of_groups)),
            Part("the error rate of answered rows, the share of unanswered rows", tuple(of_answers)),
            Part("the expected loss", () if self.loss is None else (Claimed(self.loss, ANY_ERROR),)),
        ]
        return [part for part in parts if part.claims]

    @property
    def claims(self) -> tuple[Claimed, ...]:
        """All that is bounded besides what the route claims over all rows, in the order of a certificate."""
        return tuple(claimed for part in self.parts for claimed in part.claims)

    def unions(self, n_overall: int) -> tuple[Union, ...]:
        """Return what delta is divided between; empty if there is only one claim.

        The number of groups may depend on the certified rows, so no other claim may have a share that depends
        on it: the limits of all groups together have half of delta.

        Parameters
        ----------
        n_overall : int
            Number of claims over all rows that cost a share each.
        """
        words = [
            "the share of rows with any wrong label"
            if self.several_labels
            else "the error rate over all rows"
        ]
        words += ["the Hamming loss"] * (n_overall > 1)
        fixed = [part for part in self.parts if part.words != GROUPS]
        words += [part.words for part in fixed]
        *most, last = ", ".join(words).split(", ")
        told = f"{', '.join(most)} and {last}" if most else last
        count = n_overall + sum(len(part.claims) for part in fixed)
        shared = (Union(told, count),) if len(words) > 1 else ()
        if not self.groups:
            return shared
        groups = f"{GROUPS}, which share one half equally, and everything else"
        return (Union(groups, 2), *shared)

    def delta_of(self, event: Event, delta: float, n_shares: int) -> float:
        """Return the share of a claim, out of the delta of a prior.

        Parameters
        ----------
        event : Event
            What the claim is about.
        delta : float
            The delta of the prior.
        n_shares : int
            Into how many parts the choices divide it: the product of their unions.
        """
        if event.group is None:
            return split_delta(delta, n_shares)
        return split_delta(split_delta(delta, 2), 2 * max(1, len(self.groups)))


def _error_rates(events: Iterable[Event]) -> tuple[Claimed, ...]:
    return tuple(Claimed(ERROR_RATE, event) for event in events)


def class_events(names: Sequence[str], class_conditional: bool, confusion: bool) -> list[Event]:
    """Return what is bounded for each class: its error rate, and the cells of the confusion matrix.

    With two classes, the only cell of a class is its error rate, and needs no claim of its own.

    Examples
    --------
    >>> from pbgnet.certificates.format import class_events
    >>> class_events(("'a'", "'b'"), True, True)
    [Event(given_class="'a'", ...), Event(given_class="'b'", ...)]
    """
    if not (class_conditional or confusion):
        return []
    if confusion and len(names) ** 2 >= MOST_CLAIMS:
        raise OptionError(
            f"The confusion matrix of {len(names)} classes has more cells than the {MOST_CLAIMS} claims a "
            "certificate can hold. Bound the error rate of each class instead: use class_conditional "
            "without confusion."
        )
    cells = [Event(a, b) for a in names for b in names if a != b] if confusion and len(names) > 2 else []
    return [*(Event(name) for name in names), *cells]


def label_events(names: Sequence[str], per_label: bool) -> list[Event]:
    """Return what is bounded for each of several labels: its error rate.

    Examples
    --------
    >>> from pbgnet.certificates.format.claim_list import label_events
    >>> [event.label for event in label_events(("'a'", "'b'"), True)]
    ["'a'", "'b'"]
    """
    return [Event(label=name) for name in names] if per_label else []
