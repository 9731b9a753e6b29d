"""The certificate: what was proved, from which numbers, about which predictor, on which rows.

Its JSON form is versioned. The sentences in it are made from its numbers; `verify` compares the
two, so a change of wording is a new version of the schema.
"""

import json
from dataclasses import dataclass, field
from typing import Annotated, Any, Self

from pbgnet.certificates import words
from pbgnet.certificates.records import Limits, Record, parse_json
from pbgnet.exceptions import DamagedFileError

__all__ = [
    "SCHEMA",
    "SCHEMA_VERSION",
    "AggregationRecord",
    "BoundInputs",
    "BoundRecord",
    "Certificate",
    "Fingerprints",
    "HeldOutRecord",
    "NetworkRecord",
    "Predictors",
    "PreprocessingRecord",
    "PriorRecord",
    "Versions",
    "Words",
]

SCHEMA = "pbgnet-certificate"
SCHEMA_VERSION = 1

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
        Needed where the kind is "random", so that anyone can draw the prior again.
    initialisation : str or None
        Name in `pbgnet.networks.INITIALISATIONS`; "xavier_normal" where the kind is "random" and
        nothing is said.
    n_rows : int
        Number of rows the prior was trained on; 0 where it saw none.

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
        All rows given to fit, features and labels.
    split
        Which rows made the prior and which were certified.
    prior, posterior
        Weights in float64.
    preprocessing
        Classes, feature names and preprocessor; None where they were not stated.
    """

    data: Sha256
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
    """The sentences as a file holds them; the certificate makes them anew from its numbers."""

    statement: str
    assumptions: tuple[str, ...]


@dataclass(frozen=True)
class Certificate(Record):
    """A proved bound on the risk of a classifier, with all it rests on.

    Made by `issue_certificate`; read with `Certificate.from_json`; checked by `verify`.

    Attributes
    ----------
    confidence, delta : float
        The bound may fail with probability delta = 1 - confidence over the draw of the rows.
    n_priors : int
        Number of priors among which the choice was made; each pays a share of delta.
    delta_per_prior : float
        The share; what the bound was computed with.
    bound, inputs : BoundRecord, BoundInputs
    loss : {"linear"}
    predictors : Predictors
    network, aggregation, prior, preprocessing
        What was certified.
    held_out : HeldOutRecord
    fingerprints, versions
    issued_at : str
        UTC, ISO 8601.
    written : Words or None
        The sentences found in the file this certificate was read from.

    Examples
    --------
    >>> from pbgnet.certificates import Certificate
    >>> Certificate.from_json("{}")
    Traceback (most recent call last):
    ...
    pbgnet.exceptions.DamagedFileError: The content lacks the key schema.
    """

    confidence: OpenProbability
    delta: OpenProbability
    n_priors: PositiveCount
    delta_per_prior: OpenProbability
    bound: BoundRecord
    inputs: BoundInputs
    loss: Annotated[str, Limits(choices=("linear",))]
    predictors: Predictors
    network: NetworkRecord
    aggregation: AggregationRecord
    prior: PriorRecord
    preprocessing: PreprocessingRecord
    held_out: HeldOutRecord
    fingerprints: Fingerprints
    versions: Versions
    issued_at: Annotated[str, Limits(pattern=r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ")]
    written: Words | None = field(default=None, compare=False, repr=False)

    @property
    def statement(self) -> str:
        """The sentence a person reads; its numbers are rounded up."""
        return words.statement(self.confidence, self.inputs.n, self.bound.value, self.bound.error_rate_bound)

    @property
    def assumptions(self) -> tuple[str, ...]:
        """What must be true for the statement to hold, one sentence each."""
        return words.assumptions(
            self.n_priors, self.prior.kind, self.preprocessing.status, self.preprocessing.description
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the certificate as plain JSON-able values, sentences first."""
        content = super().to_dict()
        del content["written"]
        head = {"schema": SCHEMA, "version": SCHEMA_VERSION}
        sentences = Words(self.statement, self.assumptions).to_dict()
        return {**head, **sentences, **content}

    @classmethod
    def from_dict(cls, data: object, where: str = "") -> Self:
        """Read a certificate from parsed JSON; see `Record.from_dict`."""
        if not isinstance(data, dict):
            return super().from_dict(data, where)  # which says what is wrong
        head = ("schema", "version", "statement", "assumptions")
        if absent := [key for key in head if key not in data]:
            raise DamagedFileError(f"The content lacks the key {absent[0]}.")
        schema, version = data["schema"], data["version"]
        if schema != SCHEMA:
            raise DamagedFileError(f"schema must be {SCHEMA!r}, got {schema!r:.60}.")
        if type(version) is not int or version != SCHEMA_VERSION:
            raise DamagedFileError(
                f"version must be {SCHEMA_VERSION}, got {version!r:.60}. A newer pbgnet may read it."
            )
        if "written" in data:
            raise DamagedFileError("The content has the unknown key written.")
        written = {key: data[key] for key in ("statement", "assumptions")}
        content = {key: value for key, value in data.items() if key not in head}
        return super().from_dict({**content, "written": written}, where)

    def to_json(self) -> str:
        """Return the certificate as JSON text; floats are written exactly."""
        return json.dumps(self.to_dict(), indent=2, allow_nan=False) + "\n"

    @classmethod
    def from_json(cls, text: str) -> Self:
        """Read a certificate, strictly.

        Raises
        ------
        DamagedFileError
            If the text is not a certificate of this version; the message names the key.
        """
        return cls.from_dict(parse_json(text))
