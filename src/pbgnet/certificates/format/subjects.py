"""What a certificate speaks of: a network, a classifier known by its answers, or one compared with a vote."""

import re
from dataclasses import dataclass, field
from typing import Annotated, ClassVar

from pbgnet.certificates.data import SplitRecord
from pbgnet.certificates.routes import Claim
from pbgnet.exceptions import DomainError, DtypeError
from pbgnet.networks import PatchShape
from pbgnet.records import (
    ABSENT_IF_NONE,
    Count,
    Limits,
    NonNegative,
    PositiveCount,
    Probability,
    Record,
    Seed,
    Sha256,
)

MOST_SAMPLES = 100_000
"""Most draws per row of a sampled risk: `verify` makes them all again."""

MOST_MEMBERS = 10_000
"""Most networks whose mean answers."""

NAME_PATTERN = r"[^\s\x00-\x1f]([^\x00-\x1f\x7f]{0,198}[^\s\x00-\x1f])?"
SubjectName = Annotated[str, Limits(pattern=NAME_PATTERN)]
"""One line of at most 200 characters, without blanks at its ends."""


def check_subject_name(name: object) -> None:
    """Raise unless a classifier can be called so, or has no name."""
    if name is None:
        return
    if not isinstance(name, str):
        raise DtypeError(f"name must be a string, got {type(name).__name__}.")
    if re.fullmatch(NAME_PATTERN, name) is None:
        raise DomainError(
            f"name must be one line of at most 200 characters that neither begins nor ends with a blank; got "
            f"{name!r:.60}."
        )


Size = Annotated[int, Limits(low=1, high=2**31)]


@dataclass(frozen=True)
class NetworkRecord(Record):
    """The sizes of the network, after preprocessing; see `pbgnet.networks.Architecture`.

    If it has members, several networks of these sizes answer together by their mean. With several outputs, a
    code says which of their signs mean which class. If it reads images, `patches` says how its first layer
    cuts them.
    """

    n_features: Size
    hidden_layer_sizes: Annotated[tuple[Size, ...], Limits(longest=1024)]
    intercept: bool
    n_members: Annotated[int, Limits(low=1, high=MOST_MEMBERS)] | None = None
    n_outputs: Size = 1
    patches: PatchShape | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.patches is None:
            return
        if self.patches.n_features != self.n_features or not self.intercept:
            raise DomainError(
                "Networks that read images need an intercept, and as many features as an image has numbers."
            )
        positions = self.patches.n_positions
        if (self.hidden_layer_sizes[0] if self.hidden_layer_sizes else 1) % positions:
            raise DomainError(
                f"The size of the first layer must be a multiple of the {positions} patch positions."
            )


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
    n_samples: Annotated[int, Limits(low=1, high=MOST_SAMPLES)] | None = None
    seed: Seed | None = None


@dataclass(frozen=True)
class PriorRecord(Record):
    """How the prior was made.

    Attributes
    ----------
    how : {"random", "zero", "pretrained", "given"}
        Drawn from a seed; all zero; trained on the prior rows; or given by the user.
    description : str
        One sentence for readers.
    seed : int or None
        Seed of the first weights: ``torch.Generator().manual_seed(seed)`` on the CPU, in float64.
        Needed if the prior is "random", so that anyone can draw it again; otherwise None.
    initialisation : str or None
        Name in `pbgnet.networks.INITIALISATIONS`; "xavier_normal" where the prior is "random" and
        nothing is said.
    n_rows : int
        Number of rows the prior was trained on: all prior rows if it is "pretrained", 0 if it saw none.

    Examples
    --------
    >>> from pbgnet.certificates import PriorRecord
    >>> PriorRecord("random", "drawn before the data were seen", seed=7).n_rows
    0
    """

    how: Annotated[str, Limits(choices=("random", "zero", "pretrained", "given"))]
    description: str = ""
    seed: Seed | None = None
    initialisation: str | None = None
    n_rows: Count = 0


@dataclass(frozen=True)
class PreprocessingRecord(Record):
    """Whether preprocessing is part of what was proved.

    Attributes
    ----------
    status : {"none", "inside", "outside"}
        None at all; fitted only on the prior rows, so the proof covers it; or fitted elsewhere on rows
        unknown to pbgnet.
    description : str
        One sentence for readers.
    """

    status: Annotated[str, Limits(choices=("none", "inside", "outside"))] = "none"
    description: str = ""


@dataclass(frozen=True)
class NetworkSubject(Record):
    """A network of pbgnet, which is stored with its certificate.

    Attributes
    ----------
    network, aggregation, prior, preprocessing, split
        What it is and how it was made.
    empirical_risk, numerical_error : float
        Mean linear loss of the aggregate on the certified rows, as computed, and the proved bound on its
        distance from the exact one.
    divergence : float
        KL(posterior || prior), rounded up.
    n_left_out : int
        Number of rows of the table that are neither prior nor certified rows.
    prior_weights, posterior_weights : str
        Fingerprints, in float64.
    inputs : str
        Fingerprint of classes, feature names and preprocessor.
    row_fingerprints : str
        Fingerprint of the row fingerprints of the table, which are stored with the model.
    prior_margins : str or None
        Fingerprint of the margins on which something was chosen, if they are stored with the model.
    """

    kind: ClassVar[str] = "network"

    network: NetworkRecord
    aggregation: AggregationRecord
    prior: PriorRecord
    preprocessing: PreprocessingRecord
    split: SplitRecord
    empirical_risk: Probability
    numerical_error: NonNegative
    divergence: NonNegative
    n_left_out: Count
    prior_weights: Sha256
    posterior_weights: Sha256
    inputs: Sha256
    row_fingerprints: Sha256
    prior_margins: Sha256 | None = None


@dataclass(frozen=True)
class ClassifierSubject(Record):
    """A classifier that is only known by its answers.

    Attributes
    ----------
    answers : str
        Fingerprint of the classes, the answers and the losses that are stored.
    row_fingerprints : str
        Fingerprint of those of the rows of the table, which are stored with the answers.
    name : str or None
        What whoever had it certified calls it; one that was fitted here is known by its fit.
    """

    kind: ClassVar[str] = "classifier"

    answers: Sha256
    row_fingerprints: Sha256
    name: SubjectName | None = field(default=None, kw_only=True, metadata=ABSENT_IF_NONE)


@dataclass(frozen=True)
class CandidateRecord(Record):
    """A classifier that could have been fitted, and its result in cross-validation within the prior rows.

    Attributes
    ----------
    classifier : str
        As Python writes it.
    n_errors : int
        Number of prior rows that it got wrong, each answered after a fit without its fold.
    """

    classifier: str
    n_errors: Count


@dataclass(frozen=True)
class FitRecord(Record):
    """How a classifier was fitted on the prior rows; none of this is repeated, all of it is on trust.

    Attributes
    ----------
    classifier : str
        What was fitted, as Python writes it.
    library : str
        Name and version of the library it is from.
    preprocessing : PreprocessingRecord
    candidates : tuple of CandidateRecord
        All that were compared; the one with fewest errors, the first of several, was fitted. Empty where
        there was one alone.
    n_folds : int
        Into how many folds the prior rows were divided to compare them; 0 where there was one alone.
    """

    classifier: str
    library: str
    preprocessing: PreprocessingRecord
    candidates: Annotated[tuple[CandidateRecord, ...], Limits(longest=64)] = ()
    n_folds: Count = 0

    def __post_init__(self) -> None:
        super().__post_init__()
        if bool(self.candidates) != (self.n_folds > 0):
            raise DomainError(
                "candidates and n_folds must be given together: candidates are compared on folds."
            )
        best = min(self.candidates, key=lambda candidate: candidate.n_errors, default=None)
        if best is not None and best.classifier != self.classifier:
            raise DomainError(
                "The classifier must be the candidate with the fewest errors on the prior rows."
            )

    @property
    def chosen(self) -> tuple[str, ...]:
        """What was chosen on the prior rows, at no cost."""
        count = len(self.candidates)
        return (
            f"the classifier, among {count} candidates, by cross-validation with {self.n_folds} folds",
        ) * (count > 0)


@dataclass(frozen=True)
class FittedSubject(ClassifierSubject):
    """A classifier that was fitted on rows set apart, and is known by what it answered on the others.

    Attributes
    ----------
    split : SplitRecord
        How the rows of the fit, the prior rows, were chosen.
    n_prior_rows : int
    fit : FitRecord
    """

    kind: ClassVar[str] = "fitted-classifier"

    split: SplitRecord
    n_prior_rows: PositiveCount
    fit: FitRecord

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.name is not None:
            raise DomainError("A fitted classifier is known by its fit and has no other name.")
        if self.split.how == "none":
            raise DomainError("A fitted classifier needs prior rows, so the split cannot be 'none'.")
        if any(candidate.n_errors > self.n_prior_rows for candidate in self.fit.candidates):
            raise DomainError("A candidate cannot have more errors than there are prior rows.")


@dataclass(frozen=True)
class ReferenceRecord(Record):
    """The certified vote that another classifier was compared with.

    Attributes
    ----------
    seal : str
        Fingerprint of its certificate.
    claim : Claim
        Its bound on the error rate, at the share of delta it has here.
    n_priors : int
        Number of priors its own delta is shared between.
    n_shares : int
        Into how many parts its own delta is divided besides.
    """

    seal: Sha256
    claim: Claim
    n_priors: PositiveCount
    n_shares: PositiveCount


@dataclass(frozen=True)
class DisagreementSubject(Record):
    """A classifier that was compared with a certified vote.

    Attributes
    ----------
    answers : str
        Fingerprint of the classes, and of what the two answered.
    row_fingerprints : str
        As for a classifier.
    reference : ReferenceRecord
    exported : str or None
        Fingerprint of kind, precision, weights and inputs, where the classifier is an exported network.
    """

    kind: ClassVar[str] = "disagreement"

    answers: Sha256
    row_fingerprints: Sha256
    reference: ReferenceRecord
    exported: Sha256 | None = None


Subject = NetworkSubject | ClassifierSubject | FittedSubject | DisagreementSubject
