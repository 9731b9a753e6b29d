"""Issuing a certificate: the bound of a network on the certified rows, and all it rests on."""

import datetime
import platform
from decimal import Decimal
from typing import Any

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from torch import Tensor

import pbgnet
from pbgnet.bounds import chernoff_bound, clopper_pearson_bound, seeger_bound, split_delta
from pbgnet.certificates.certificate import (
    AggregationRecord,
    BoundInputs,
    BoundRecord,
    Certificate,
    Fingerprints,
    HeldOutRecord,
    NetworkRecord,
    Predictors,
    PreprocessingRecord,
    PriorRecord,
    SplitRecord,
    Versions,
)
from pbgnet.certificates.evaluation import (
    TOLERANCE,
    Evaluation,
    certifiable,
    evaluate,
    risk_ceiling,
    row_count,
)
from pbgnet.certificates.fingerprints import DataFingerprints, fingerprint_split, fingerprint_tensors
from pbgnet.certificates.split import Split, check_split, draw_prior_rows
from pbgnet.exceptions import DomainError, ShapeError
from pbgnet.networks import INITIALISATIONS, AggregatedNetwork

__all__ = [
    "bound_record",
    "delta_of",
    "held_out_record",
    "issue_certificate",
    "prior_evaluation",
    "prior_problem",
    "split_problem",
]


def issue_certificate(
    network: AggregatedNetwork,
    x: Any,
    y: Tensor,
    *,
    prior: PriorRecord,
    prior_rows: ArrayLike,
    certified_rows: ArrayLike,
    data: DataFingerprints,
    preprocessing_fingerprint: str | None = None,
    preprocessing: PreprocessingRecord | None = None,
    split: SplitRecord | None = None,
    confidence: float = 0.95,
    n_priors: int = 1,
    constant: str = "maurer",
) -> Certificate:
    """Certify a network on rows its prior never saw.

    The network is brought to float64 and the Fourier sum first, whatever it was trained with. To get
    a model that can be saved and verified in one call, use `certify`.

    Parameters
    ----------
    network : AggregatedNetwork
        Posterior and prior, without replica axes.
    x : Tensor, ndarray or scipy sparse matrix, shape (n, d)
        The certified rows, preprocessed; in the order of `certified_rows`.
    y : Tensor, shape (n,)
        Their labels, -1 and 1.
    prior : PriorRecord
        How the prior came about.
    prior_rows, certified_rows : array_like of int
        Indices into the table given by the user. Rows that the prior or the preprocessing was fitted
        on (may be empty), and the rows of `x`.
    data : DataFingerprints
        `describe_data` of that table, all rows.
    preprocessing_fingerprint : str, optional
        Of classes, feature names and preprocessor; see `CertifiedModel`.
    preprocessing : PreprocessingRecord, optional
        No preprocessing unless given.
    split : SplitRecord, optional
        How the prior rows were chosen; "given", or "none" if there are none, unless said.
    confidence : float, default=0.95
    n_priors : int, default=1
        Number of priors that could have been chosen after looking at the certified rows.
    constant : {"maurer", "paper"}, default="maurer"

    Returns
    -------
    Certificate

    Raises
    ------
    PriorLeakageError
        If a certified row is also a prior row.

    Examples
    --------
    >>> import torch
    >>> from pbgnet.certificates import PriorRecord, describe_data, issue_certificate
    >>> from pbgnet.networks import AggregatedNetwork
    >>> x, y = torch.tensor([[1.0], [-1.0]]).repeat(100, 1), torch.tensor([1, -1]).repeat(100)
    >>> weights, zero = [torch.tensor([[3.0]])], [torch.tensor([[0.0]])]
    >>> certificate = issue_certificate(
    ...     AggregatedNetwork(weights, zero, intercept=False), x, y, prior=PriorRecord("zero"),
    ...     prior_rows=[], certified_rows=range(200), data=describe_data(x.numpy(), y.numpy()))
    >>> certificate.statement
    'With confidence 95 %, over the draw of the 200 certified rows, the expected linear loss of the
     aggregate is at most 0.0569, so the error rate of its vote is at most 0.1137.'
    """
    network = certifiable(network)
    rows = check_split(prior_rows, certified_rows, data.n_rows)
    if rows.certified_rows.size != row_count(x):
        raise ShapeError(f"certified_rows names {rows.certified_rows.size} rows, but x has {row_count(x)}.")
    split = split or SplitRecord("given" if rows.prior_rows.size else "none")
    _check_records(prior, split, rows, data.n_rows)
    delta = delta_of(confidence)
    share = split_delta(delta, n_priors)
    inputs = _bound_inputs(evaluate(network, x, y))
    architecture = network.architecture
    return Certificate(
        confidence=float(confidence),
        delta=delta,
        n_priors=int(n_priors),
        delta_per_prior=share,
        bound=bound_record(inputs, share, constant),
        inputs=inputs,
        loss="linear",
        predictors=Predictors(),
        network=NetworkRecord(
            architecture.n_features, architecture.hidden_layer_sizes, architecture.intercept
        ),
        aggregation=AggregationRecord("fourier", TOLERANCE),
        prior=prior,
        split=split,
        preprocessing=preprocessing or PreprocessingRecord(),
        held_out=held_out_record(prior_evaluation(network, x, y), share),
        n_rows_total=data.n_rows,
        fingerprints=Fingerprints(
            data=data.data,
            features=data.features,
            labels=data.labels,
            columns=data.columns,
            split=fingerprint_split(rows.prior_rows, rows.certified_rows),
            prior=fingerprint_tensors(network.prior_weights),
            posterior=fingerprint_tensors(list(network.weights)),
            preprocessing=preprocessing_fingerprint,
        ),
        versions=_versions(),
        issued_at=datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
    )


def delta_of(confidence: float) -> float:
    """Return 1 - confidence as the decimals read: 0.05 for 0.95, not 0.050000000000000044.

    Examples
    --------
    >>> from pbgnet.certificates.issue import delta_of
    >>> delta_of(0.95)
    0.05
    """
    value = float(confidence)
    if not 0.0 < value < 1.0:
        raise DomainError(f"confidence must lie between 0 and 1, e.g. 0.95, got {confidence!r}.")
    return float(1 - Decimal(repr(value)))


def bound_record(inputs: BoundInputs, delta: float, constant: str) -> BoundRecord:
    """Return the bound of Seeger at the largest risk and divergence that rounding leaves open."""
    risk = risk_ceiling(inputs.empirical_risk, inputs.numerical_error)
    value = float(seeger_bound(risk, inputs.divergence, inputs.n, delta, constant=constant))
    return BoundRecord("seeger", str(constant), value, min(1.0, 2.0 * value))


def prior_evaluation(network: AggregatedNetwork, x: Any, y: Tensor) -> Evaluation:
    """Evaluate the prior's own classifier on the certified rows."""
    prior = AggregatedNetwork(network.prior_weights, intercept=network.architecture.intercept)
    return evaluate(prior, x, y)


def held_out_record(evaluation: Evaluation, delta: float) -> HeldOutRecord:
    """Return the test-set bounds of a classifier fixed before it was evaluated."""
    risk = risk_ceiling(evaluation.risk, evaluation.numerical_error)
    return HeldOutRecord(
        empirical_risk=evaluation.risk,
        numerical_error=evaluation.numerical_error,
        n_errors=evaluation.n_errors,
        risk_bound=float(chernoff_bound(risk, evaluation.n, delta)),
        error_rate_bound=float(clopper_pearson_bound(evaluation.n_errors, evaluation.n, delta)),
    )


def prior_problem(prior: PriorRecord, n_prior_rows: int) -> str:
    """Say what is impossible about a record of a prior, given the number of prior rows; "" if nothing.

    Examples
    --------
    >>> from pbgnet.certificates import PriorRecord
    >>> from pbgnet.certificates.issue import prior_problem
    >>> prior_problem(PriorRecord("zero", seed=3), 0)
    "A prior of kind 'zero' has no seed, but its seed is 3."
    """
    kind = f"A prior of kind {prior.kind!r}"
    if prior.kind == "random" and prior.seed is None:
        return "A random prior needs its seed in PriorRecord, so that anyone can draw it again."
    if prior.kind != "random" and prior.seed is not None:
        return f"{kind} has no seed, but its seed is {prior.seed}."
    if prior.initialisation is not None and (prior.kind, prior.initialisation) != ("zero", "zero"):
        if prior.kind != "random":
            return f"{kind} is not drawn, but its initialisation is {prior.initialisation!r:.40}."
        if prior.initialisation not in INITIALISATIONS:
            return f"{kind} has the unknown initialisation {prior.initialisation!r:.40}."
    if prior.kind in ("random", "zero") and prior.n_rows:
        return f"{kind} sees no rows, but its n_rows is {prior.n_rows}."
    if prior.kind == "pretrained" and not 0 < prior.n_rows == n_prior_rows:
        return f"A pre-trained prior saw the {n_prior_rows} prior rows, but its n_rows is {prior.n_rows}."
    if prior.n_rows > n_prior_rows:
        return f"{kind} saw {prior.n_rows} rows, but there are {n_prior_rows} prior rows."
    return ""


def split_problem(split: SplitRecord, prior_rows: NDArray[np.int64], n_rows: int) -> str:
    """Say how a record of the split contradicts the prior rows; "" if it does not.

    Examples
    --------
    >>> import numpy as np
    >>> from pbgnet.certificates import SplitRecord
    >>> from pbgnet.certificates.issue import split_problem
    >>> split_problem(SplitRecord("none"), np.array([4]), 10)
    "The split is said to be 'none', but there are 1 prior rows."
    """
    if (split.how == "none") != (prior_rows.size == 0):
        return f"The split is said to be {split.how!r}, but there are {prior_rows.size} prior rows."
    if split.how != "drawn" or split.seed is None or split.fraction is None:
        return ""
    if n_rows < 2 or not np.array_equal(
        draw_prior_rows(n_rows, split.fraction, split.seed), np.sort(prior_rows)
    ):
        return f"The prior rows are not those that seed {split.seed} draws from {n_rows} rows."
    return ""


def _bound_inputs(evaluation: Evaluation) -> BoundInputs:
    return BoundInputs(
        n=evaluation.n,
        empirical_risk=evaluation.risk,
        numerical_error=evaluation.numerical_error,
        divergence=evaluation.divergence,
        n_errors=evaluation.n_errors,
        empirical_error_rate=evaluation.error_rate,
    )


def _versions() -> Versions:
    return Versions(pbgnet.__version__, str(torch.__version__), np.__version__, platform.python_version())


def _check_records(prior: PriorRecord, split: SplitRecord, rows: Split, n_rows: int) -> None:
    """Raise unless what is said about prior and split fits the rows."""
    problem = prior_problem(prior, rows.prior_rows.size) or split_problem(split, rows.prior_rows, n_rows)
    if problem:
        raise DomainError(problem)
