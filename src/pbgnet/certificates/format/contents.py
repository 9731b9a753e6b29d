"""Parts of a certificate besides claims, choices and subject: counts, fingerprints, software, words."""

from dataclasses import dataclass
from typing import Annotated

from pbgnet.certificates.format.shares import FEW
from pbgnet.records import Count, PositiveCount, Probability, Record, Sha256


@dataclass(frozen=True)
class CountedRows(Record):
    """What was counted on the certified rows, of the predictor that is deployed.

    Attributes
    ----------
    n : int
        Number of certified rows; for a disagreement, of unlabelled ones.
    n_errors : int
        Number of them the predictor gets wrong, in any of several labels; for a disagreement, on which the
        two predictors differ.
    empirical_error_rate : float
        `n_errors / n`.
    n_duplicates : int
        Number of certified rows that repeat the features of another row of the table, prior rows
        included.
    never_answered : tuple of str
        Classes, or labels, of certified rows that the predictor answers on none of them, as Python writes
        them.
    """

    n: PositiveCount
    n_errors: Count
    empirical_error_rate: Probability
    n_duplicates: Count
    never_answered: tuple[str, ...] = ()


@dataclass(frozen=True)
class Fingerprints(Record):
    """SHA-256 of the data the proof speaks of; see `pbgnet.certificates.describe_data`.

    Attributes
    ----------
    data
        All rows given: features, labels and column names together.
    features, labels, columns
        Each of them alone, so that `verify` can say which one changed; columns is None without names,
        labels where the rows have none.
    split
        Which rows made the prior and which were certified.
    """

    data: Sha256
    features: Sha256
    labels: Sha256 | None
    columns: Sha256 | None
    split: Sha256


@dataclass(frozen=True)
class Software(Record):
    """Software that issued the certificate."""

    pbgnet: str
    torch: str
    numpy: str
    python: str


@dataclass(frozen=True)
class Words(Record):
    """The sentences and the seal as a file holds them; the certificate makes them anew from its content."""

    statement: str
    predictors: Annotated[tuple[str, ...], FEW]
    assumptions: Annotated[tuple[str, ...], FEW]
    comparison: str
    yardstick: str
    shortcomings: Annotated[tuple[str, ...], FEW]
    seal: Sha256
