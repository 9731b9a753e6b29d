"""The parts of a certificate: frozen records, one per subject, each with its range in its types."""

from dataclasses import dataclass
from typing import Annotated

from pbgnet.certificates import words
from pbgnet.certificates.records import Limits, Record
from pbgnet.exceptions import DomainError

__all__ = [
    "AggregationRecord",
    "BoundInputs",
    "BoundRecord",
    "Fingerprints",
    "HeldOutRecord",
    "NetworkRecord",
    "OpenProbability",
    "PositiveCount",
    "Predictors",
    "PreprocessingRecord",
    "PriorRecord",
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
class BoundRecord(Record):
    """The bound and its value.

    Attributes
    ----------
    name : {"seeger"}
    constant : {"maurer", "paper"}
        The factor that pays for the random sample; see `pbgnet.bounds.Constant`.
    value : float
        Bound on the expected linear loss of the aggregate.
    error_rate_bound : float
        Bound on the error rate of its vote: twice the value, at most 1.
    """

    name: Annotated[str, Limits(choices=("seeger",))]
    constant: Annotated[str, Limits(choices=("maurer", "paper"))]
    value: Probability
    error_rate_bound: Probability


@dataclass(frozen=True)
class BoundInputs(Record):
    """What the bound was computed from; all in float64.

    Attributes
    ----------
    n : int
        Number of certified rows.
    empirical_risk : float
        Mean linear loss of the aggregate on them, as computed.
    numerical_error : float
        Proved bound on the distance between the computed and the exact empirical risk. The bound is
        taken at their sum.
    divergence : float
        KL(posterior || prior), rounded up.
    n_errors : int
        Number of certified rows the vote gets wrong.
    empirical_error_rate : float
        `n_errors / n`; for comparison, the bound does not use it.
    """

    n: PositiveCount
    empirical_risk: Probability
    numerical_error: NonNegative
    divergence: NonNegative
    n_errors: Count
    empirical_error_rate: Probability


@dataclass(frozen=True)
class Predictors(Record):
    """Which predictor each number speaks of, in words."""

    value: str = words.PREDICTOR_OF_VALUE
    error_rate_bound: str = words.PREDICTOR_OF_ERROR_RATE
    not_covered: str = words.PREDICTOR_NOT_COVERED


@dataclass(frozen=True)
class NetworkRecord(Record):
    """The sizes of the network, after preprocessing; see `pbgnet.networks.Architecture`."""

    n_features: Size
    hidden_layer_sizes: tuple[Size, ...]
    intercept: bool


@dataclass(frozen=True)
class AggregationRecord(Record):
    """How the layers were computed for the certificate, and the largest truncation error of each."""

    method: Annotated[str, Limits(choices=("fourier",))]
    tolerance: Annotated[float, Limits(low=0.0, high=1.0, open_low=True)]


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
class HeldOutRecord(Record):
    """What the same certified rows say about the prior's own classifier, with no PAC-Bayes bound.

    A test-set bound at the same share of delta: if it is the smaller one, learning from the certified
    rows did not pay.

    Attributes
    ----------
    empirical_risk, n_errors
        Mean linear loss and number of errors of the prior's aggregate on the certified rows.
    numerical_error
        As in `BoundInputs`, for the prior.
    risk_bound
        Chernoff bound on its expected linear loss.
    error_rate_bound
        Clopper-Pearson bound on the error rate of its vote.
    """

    empirical_risk: Probability
    numerical_error: NonNegative
    n_errors: Count
    risk_bound: Probability
    error_rate_bound: Probability


@dataclass(frozen=True)
class Fingerprints(Record):
    """SHA-256 of everything the proof speaks of; see `pbgnet.certificates.fingerprints`.

    Attributes
    ----------
    data
        All rows given to fit: features, labels and column names together.
    features, labels, columns
        Each of them alone, so that `verify` can say which one changed; columns is None without names.
    split
        Which rows made the prior and which were certified.
    prior, posterior
        Weights in float64.
    preprocessing
        Classes, feature names and preprocessor; None where they were not stated.
    """

    data: Sha256
    features: Sha256
    labels: Sha256
    columns: Sha256 | None
    split: Sha256
    prior: Sha256
    posterior: Sha256
    preprocessing: Sha256 | None = None


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
    assumptions: tuple[str, ...]
    seal: Sha256
