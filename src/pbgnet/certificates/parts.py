"""The parts of a certificate: frozen records, one per subject, each with its range in its types."""

from dataclasses import dataclass
from typing import Annotated

from pbgnet.certificates.records import Limits, Record
from pbgnet.exceptions import DomainError

__all__ = [
    "AggregationRecord",
    "BoundInputs",
    "Count",
    "Fingerprints",
    "NetworkRecord",
    "NonNegative",
    "OpenProbability",
    "PositiveCount",
    "PreprocessingRecord",
    "PriorRecord",
    "Probability",
    "Sha256",
    "SplitRecord",
    "Versions",
    "Words",
]

Probability = Annotated[float, Limits(low=0.0, high=1.0)]
OpenProbability = Annotated[float, Limits(low=0.0, high=1.0, open_low=True, open_high=True)]
NonNegative = Annotated[float, Limits(low=0.0)]
Count = Annotated[int, Limits(low=0, high=2**53)]
PositiveCount = Annotated[int, Limits(low=1, high=2**53)]
Size = Annotated[int, Limits(low=1, high=2**31)]
Sha256 = Annotated[str, Limits(pattern="[0-9a-f]{64}")]


@dataclass(frozen=True)
class BoundInputs(Record):
    """What was measured on the certified rows, of the predictor that is deployed; all in float64.

    Attributes
    ----------
    n : int
        Number of certified rows; for a disagreement, of unlabelled ones.
    n_errors : int
        Number of them the predictor gets wrong; for a disagreement, on which the two predictors differ.
    empirical_error_rate : float
        `n_errors / n`.
    empirical_risk, numerical_error : float or None
        Mean linear loss of the aggregate, as computed, and the proved bound on its distance from the
        exact one. None where there is no network.
    divergence : float or None
        KL(posterior || prior), rounded up. None where there is no network.
    n_duplicates : int or None
        Number of certified rows that repeat the features of another row of the table, prior rows
        included; None where nobody counted, as in version 1 of the schema.
    n_left_out : int or None
        Number of rows of the table that are neither prior nor certified rows; None where there are no
        prior rows to speak of, and in version 1 of the schema.
    """

    n: PositiveCount
    n_errors: Count
    empirical_error_rate: Probability
    empirical_risk: Probability | None = None
    numerical_error: NonNegative | None = None
    divergence: NonNegative | None = None
    n_duplicates: Count | None = None
    n_left_out: Count | None = None


@dataclass(frozen=True)
class NetworkRecord(Record):
    """The sizes of the network, after preprocessing; see `pbgnet.networks.Architecture`."""

    n_features: Size
    hidden_layer_sizes: tuple[Size, ...]
    intercept: bool


@dataclass(frozen=True)
class AggregationRecord(Record):
    """How the layers were computed for the certificate.

    Attributes
    ----------
    method : {"fourier", "monte_carlo"}
        By the Fourier sum; or the empirical risk was estimated from draws, which pay a share of delta.
    tolerance : float
        Largest truncation error of each layer in the Fourier sum, which the vote is computed by in any
        case.
    n_samples, seed : int or None
        Draws per row and the seed of ``torch.Generator().manual_seed(seed)`` on the CPU; None by Fourier.
    """

    method: Annotated[str, Limits(choices=("fourier", "monte_carlo"))]
    tolerance: Annotated[float, Limits(low=0.0, high=1.0, open_low=True)]
    n_samples: PositiveCount | None = None
    seed: Annotated[int, Limits(low=0, high=2**63 - 1)] | None = None


@dataclass(frozen=True)
class PriorRecord(Record):
    """How the prior came about.

    Attributes
    ----------
    kind : {"random", "zero", "pretrained", "given"}
        Drawn from a seed; all zero; trained on the prior rows; or handed in by the user.
    description : str
        One sentence for people.
    seed : int or None
        Seed of the first weights: ``torch.Generator().manual_seed(seed)`` on the CPU, in float64.
        Needed where the kind is "random", so that anyone can draw the prior again; None elsewhere.
    initialisation : str or None
        Name in `pbgnet.networks.INITIALISATIONS`; "xavier_normal" where the kind is "random" and
        nothing is said.
    n_rows : int
        Number of rows the prior was trained on: all prior rows where the kind is "pretrained", 0 where
        it saw none.

    Examples
    --------
    >>> from pbgnet.certificates import PriorRecord
    >>> PriorRecord("random", "drawn before the data were seen", seed=7).n_rows
    0
    """

    kind: Annotated[str, Limits(choices=("random", "zero", "pretrained", "given"))]
    description: str = ""
    seed: Annotated[int, Limits(low=0, high=2**63 - 1)] | None = None
    initialisation: str | None = None
    n_rows: Count = 0


@dataclass(frozen=True)
class SplitRecord(Record):
    """How the rows of the prior were chosen.

    Attributes
    ----------
    how : {"drawn", "given", "none"}
        Drawn by `draw_prior_rows`; named by the user; or there are none.
    seed, fraction : int, float or None
        What they were drawn with; None where they were not.

    Examples
    --------
    >>> from pbgnet.certificates import SplitRecord
    >>> SplitRecord("drawn", seed=3, fraction=0.5).how
    'drawn'
    >>> SplitRecord("given", seed=3)
    Traceback (most recent call last):
    ...
    pbgnet.exceptions.DomainError: seed and fraction belong to a split that was drawn; this one is 'given'.
    """

    how: Annotated[str, Limits(choices=("drawn", "given", "none"))]
    seed: Annotated[int, Limits(low=0, high=2**63 - 1)] | None = None
    fraction: OpenProbability | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.how == "drawn" and (self.seed is None or self.fraction is None):
            raise DomainError(
                "seed and fraction are needed for a drawn split, so that anyone can draw it again."
            )
        if self.how != "drawn" and (self.seed is not None or self.fraction is not None):
            raise DomainError(
                f"seed and fraction belong to a split that was drawn; this one is {self.how!r}."
            )


@dataclass(frozen=True)
class PreprocessingRecord(Record):
    """Whether preprocessing is part of what was proved.

    Attributes
    ----------
    status : {"none", "inside", "outside"}
        None at all; fitted on the prior rows alone, so the proof covers it; or fitted by someone else
        on rows this package knows nothing of.
    description : str
        One sentence for people.

    Examples
    --------
    >>> from pbgnet.certificates import PreprocessingRecord
    >>> PreprocessingRecord("outside", "a Pipeline with StandardScaler").status
    'outside'
    """

    status: Annotated[str, Limits(choices=("none", "inside", "outside"))] = "none"
    description: str = ""


@dataclass(frozen=True)
class Fingerprints(Record):
    """SHA-256 of everything the proof speaks of; see `pbgnet.certificates.fingerprints`.

    Attributes
    ----------
    data
        All rows given: features, labels and column names together.
    features, labels, columns
        Each of them alone, so that `verify` can say which one changed; columns is None without names,
        labels where the rows have none.
    split
        Which rows made the prior and which were certified.
    prior, posterior
        Weights in float64; None where there is no network.
    preprocessing
        Classes, feature names and preprocessor; None where they were not stated.
    predictions
        The answers of a classifier that is not stored itself; None for a network.
    """

    data: Sha256
    features: Sha256
    labels: Sha256 | None
    columns: Sha256 | None
    split: Sha256
    prior: Sha256 | None = None
    posterior: Sha256 | None = None
    preprocessing: Sha256 | None = None
    predictions: Sha256 | None = None


@dataclass(frozen=True)
class Versions(Record):
    """Software that issued the certificate."""

    pbgnet: str
    torch: str
    numpy: str
    python: str


@dataclass(frozen=True)
class Words(Record):
    """The sentences and the seal as a file holds them; the certificate makes them anew from its content."""

    statement: str
    predictors: tuple[str, ...]
    assumptions: tuple[str, ...]
    seal: Sha256
