"""What was chosen for a certificate, and the shares of delta that it cost."""

from dataclasses import dataclass, field
from typing import Annotated

from pbgnet.exceptions import DomainError
from pbgnet.records import ABSENT_IF_NONE, Limits, PositiveCount, Record

FEW = Limits(longest=64)
"""Far more than an issued certificate has; it keeps a file from making `verify` work through more."""


@dataclass(frozen=True)
class Union(Record):
    """Something that was chosen after looking at the certified rows, or several claims made together.

    Attributes
    ----------
    what : str
    count : int
        Number of possibilities; delta is divided by it.
    """

    what: str
    count: PositiveCount


@dataclass(frozen=True)
class Choices(Record):
    """What was chosen, and the cost of choosing.

    Attributes
    ----------
    certificate : str
        What was requested: "seeger", "mixture", "vote", "held-out", "auto", or "disagreement".
    on_prior_rows : tuple of str
        Chosen only on the prior rows, which costs nothing.
    unions : tuple of Union
        Paid for: the share of each claim is `delta_per_prior` divided by all counts; the limits of groups
        have a different one, see `Wanted.delta_of`.
    candidates : tuple of str
        The routes to the bound on the error rate between which the certified rows decided.
    keeps_prior : bool or None
        True if it was decided beforehand, for the route "vote", that the posterior is the prior; otherwise
        None, even if a training happened to end at the prior.
    """

    certificate: str
    on_prior_rows: Annotated[tuple[str, ...], FEW] = ()
    unions: Annotated[tuple[Union, ...], FEW] = ()
    candidates: Annotated[tuple[str, ...], FEW] = ()
    keeps_prior: bool | None = field(default=None, metadata=ABSENT_IF_NONE)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.keeps_prior is not None and (not self.keeps_prior or self.certificate != "vote"):
            raise DomainError("keeps_prior must be True (only with the certificate 'vote') or left out.")

    @property
    def n_shares(self) -> int:
        """Into how many parts delta was divided."""
        product = 1
        for union in self.unions:
            product *= union.count
        return product
