"""Version 1 of the schema: certificates of earlier releases are read, verified and written back as they were.

A certificate of version 1 has one bound, that of Seeger, and the held-out bounds of the prior beside it.
"""

from dataclasses import dataclass
from typing import Annotated, Any

from pbgnet.certificates import words
from pbgnet.certificates.claim import Choices, Claim, Evidence, Settings
from pbgnet.certificates.parts import (
    AggregationRecord,
    BoundInputs,
    Count,
    Fingerprints,
    NetworkRecord,
    NonNegative,
    OpenProbability,
    PositiveCount,
    PreprocessingRecord,
    PriorRecord,
    Probability,
    Sha256,
    SplitRecord,
    Versions,
)
from pbgnet.certificates.records import Limits, Record

__all__ = ["Version1"]


@dataclass(frozen=True)
class _Bound(Record):
    """The bound and its value."""

    name: Annotated[str, Limits(choices=("seeger",))]
    constant: Annotated[str, Limits(choices=("maurer", "paper"))]
    value: Probability
    error_rate_bound: Probability


@dataclass(frozen=True)
class _Inputs(Record):
    """What it was computed from."""

    n: PositiveCount
    empirical_risk: Probability
    numerical_error: NonNegative
    divergence: NonNegative
    n_errors: Count
    empirical_error_rate: Probability


@dataclass(frozen=True)
class _Predictors(Record):
    """Which predictor each number speaks of."""

    value: str = words.PREDICTOR_OF_VALUE
    error_rate_bound: str = words.PREDICTOR_OF_ERROR_RATE
    not_covered: str = words.PREDICTOR_NOT_COVERED


@dataclass(frozen=True)
class _Aggregation(Record):
    """How the layers were computed."""

    method: Annotated[str, Limits(choices=("fourier",))]
    tolerance: Annotated[float, Limits(low=0.0, high=1.0, open_low=True)]


@dataclass(frozen=True)
class _HeldOut(Record):
    """The held-out bounds of the prior's own classifier."""

    empirical_risk: Probability
    numerical_error: NonNegative
    n_errors: Count
    risk_bound: Probability
    error_rate_bound: Probability


@dataclass(frozen=True)
class _Fingerprints(Record):
    """SHA-256 of everything the proof speaks of."""

    data: Sha256
    features: Sha256
    labels: Sha256
    columns: Sha256 | None
    split: Sha256
    prior: Sha256
    posterior: Sha256
    preprocessing: Sha256 | None


@dataclass(frozen=True)
class Version1(Record):
    """A certificate as version 1 of the schema writes it, its sentences and seal apart."""

    confidence: OpenProbability
    delta: OpenProbability
    n_priors: PositiveCount
    delta_per_prior: OpenProbability
    bound: _Bound
    inputs: _Inputs
    loss: Annotated[str, Limits(choices=("linear",))]
    predictors: _Predictors
    network: NetworkRecord
    aggregation: _Aggregation
    prior: PriorRecord
    split: SplitRecord
    preprocessing: PreprocessingRecord
    held_out: _HeldOut
    n_rows_total: PositiveCount
    fingerprints: _Fingerprints
    versions: Versions
    issued_at: Annotated[str, Limits(pattern=r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ")]

    def to_current(self) -> dict[str, Any]:
        """Return the same as the fields of `Certificate`."""
        held, bound, share = self.held_out, self.bound, self.delta_per_prior
        n, settings = self.inputs.n, Settings(constant=bound.constant)
        evidence = Evidence(
            n, self.inputs.empirical_risk, self.inputs.numerical_error, divergence=self.inputs.divergence
        )
        counted = Evidence(n, min(1.0, held.n_errors / n), n_errors=held.n_errors)
        prior = Evidence(n, held.empirical_risk, held.numerical_error)
        kept = ("confidence", "delta", "n_priors", "delta_per_prior", "network", "prior", "split")
        return {
            **{name: getattr(self, name) for name in (*kept, "preprocessing", "n_rows_total", "versions")},
            "issued_at": self.issued_at,
            "claims": (
                Claim("linear loss", "aggregate", "seeger", bound.value, share, evidence, settings),
                Claim("error rate", "vote", "doubled", bound.error_rate_bound, share, evidence, settings),
            ),
            "alternatives": (
                Claim("linear loss", "prior's aggregate", "chernoff", held.risk_bound, share, prior),
                Claim("error rate", "prior's vote", "clopper-pearson", held.error_rate_bound, share, counted),
            ),
            "choices": Choices("seeger"),
            "inputs": BoundInputs(**self.inputs.to_dict()),
            "aggregation": AggregationRecord(**self.aggregation.to_dict()),
            "fingerprints": Fingerprints(**self.fingerprints.to_dict()),
        }

    @classmethod
    def of(cls, certificate: Any) -> "Version1":
        """Return a `Certificate` that was read from version 1 in its own form again."""
        loss, rate = certificate.claims
        prior, counted = certificate.alternatives
        fingerprints, inputs = certificate.fingerprints.to_dict(), certificate.inputs.to_dict()
        del fingerprints["predictions"], inputs["n_duplicates"], inputs["n_left_out"]
        kept = ("confidence", "delta", "n_priors", "delta_per_prior", "network", "prior", "split")
        return cls(
            **{
                name: getattr(certificate, name)
                for name in (*kept, "preprocessing", "n_rows_total", "versions", "issued_at")
            },
            bound=_Bound("seeger", loss.settings.constant, loss.value, rate.value),
            inputs=_Inputs(**inputs),
            loss="linear",
            predictors=_Predictors(),
            aggregation=_Aggregation(certificate.aggregation.method, certificate.aggregation.tolerance),
            held_out=_HeldOut(
                prior.evidence.empirical_risk,
                prior.evidence.numerical_error,
                counted.evidence.n_errors,
                prior.value,
                counted.value,
            ),
            fingerprints=_Fingerprints(**fingerprints),
        )

    def sentences(self) -> tuple[str, tuple[str, ...], tuple[str, ...]]:
        """Return the statement, what the predictors are, and the assumptions, as version 1 words them."""
        inputs, bound, said = self.inputs, self.bound, _Predictors()
        return (
            words.statement(self.confidence, inputs.n, bound.value, bound.error_rate_bound),
            (said.value, said.error_rate_bound, said.not_covered),
            words.assumptions(
                self.n_priors,
                self.prior.kind,
                self.preprocessing.status,
                self.preprocessing.description,
                self.split.how,
            ),
        )
