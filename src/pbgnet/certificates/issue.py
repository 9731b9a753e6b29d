"""Issuing a certificate: the bound of a network on the certified rows, and all it rests on."""

import datetime
import platform
from dataclasses import replace
from typing import Any

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from torch import Tensor

import pbgnet
from pbgnet.certificates.arguments import Situation
from pbgnet.certificates.certificate import Certificate
from pbgnet.certificates.evaluation import (
    TOLERANCE,
    Evaluation,
    answer,
    certifiable,
    check_precise,
    row_count,
)
from pbgnet.certificates.fingerprints import DataFingerprints, fingerprint_split, fingerprint_tensors
from pbgnet.certificates.parts import (
    AggregationRecord,
    BoundInputs,
    Fingerprints,
    NetworkRecord,
    PreprocessingRecord,
    PriorRecord,
    SplitRecord,
    Versions,
)
from pbgnet.certificates.sampling import draw_risk
from pbgnet.certificates.split import Split, check_split, draw_prior_rows
from pbgnet.certificates.strategy import as_margins, decide
from pbgnet.certificates.terms import Terms
from pbgnet.exceptions import DomainError, ShapeError
from pbgnet.networks import INITIALISATIONS, AggregatedNetwork

__all__ = [
    "deployed_network",
    "issue_certificate",
    "learned_from",
    "left_out_problem",
    "now",
    "prior_network",
    "prior_problem",
    "situation_of",
    "split_problem",
    "versions",
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
    apart: tuple[Any, Tensor] | None = None,
    prior_margins: ArrayLike | None = None,
    classes: tuple[str, str] = ("-1", "1"),
    n_duplicates: int | None = None,
    preprocessing_fingerprint: str | None = None,
    preprocessing: PreprocessingRecord | None = None,
    split: SplitRecord | None = None,
    terms: Terms | None = None,
) -> Certificate:
    """Certify a network on rows its prior never saw.

    The network is brought to float64 and the Fourier sum first, whatever it was trained with. To get
    a model that can be saved and verified in one call, use `certify_network`.

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
    apart : pair of rows and labels, optional
        The prior rows as `x` and `y`, for what is chosen on them; fixed settings are used without.
    prior_margins : array_like, optional
        As in `certify_network`.
    classes : pair of str
        What -1 and 1 stand for, as Python writes it.
    n_duplicates : int, optional
        Number of certified rows that repeat another row of the table; `verify` refuses a certificate
        without.
    preprocessing_fingerprint : str, optional
        Of classes, feature names and preprocessor; see `CertifiedModel`.
    preprocessing : PreprocessingRecord, optional
        No preprocessing unless given.
    split : SplitRecord, optional
        How the prior rows were chosen; "given", or "none" if there are none, unless said. Only where it
        is "given" may rows of the table be in neither part.
    terms : Terms, optional
        What is asked of the certificate.

    Returns
    -------
    Certificate
        If it speaks of the prior's vote, `deployed_network` is the prior.

    Raises
    ------
    PriorLeakageError
        If a certified row is also a prior row.
    DomainError
        If rows are left out of a split that was not given by the user.
    UncertifiedError
        If the weights are so large that the outputs cannot be computed to within `LARGEST_ERROR`.

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
    network, terms = certifiable(network), terms or Terms()
    rows = check_split(prior_rows, certified_rows, data.n_rows)
    if rows.certified_rows.size != row_count(x):
        raise ShapeError(f"certified_rows names {rows.certified_rows.size} rows, but x has {row_count(x)}.")
    split = split or SplitRecord("given" if rows.prior_rows.size else "none")
    _check_records(prior, split, rows, data.n_rows)
    situation = situation_of(network, (x, y), apart, classes, terms)
    for answers in (situation.posterior, situation.prior):
        check_precise(answers)
    situation = replace(situation, margins=as_margins(prior_margins))
    decision = decide(situation, terms)
    answers = situation.prior if decision.deploys_prior else situation.posterior
    architecture = network.architecture
    return Certificate(
        confidence=float(terms.confidence),
        delta=terms.delta,
        n_priors=int(terms.n_priors),
        delta_per_prior=terms.delta_per_prior,
        claims=decision.claims,
        alternatives=decision.alternatives,
        choices=decision.choices,
        inputs=_bound_inputs(answers.evaluation(), n_duplicates, rows.n_left_out(data.n_rows)),
        network=NetworkRecord(
            architecture.n_features, architecture.hidden_layer_sizes, architecture.intercept
        ),
        aggregation=AggregationRecord(terms.aggregation, TOLERANCE, terms.n_samples, terms.seed),
        prior=prior,
        split=split,
        preprocessing=preprocessing or PreprocessingRecord(),
        reference=None,
        n_rows_total=data.n_rows,
        fingerprints=_fingerprints(network, rows, data, preprocessing_fingerprint, decision.deploys_prior),
        versions=versions(),
        issued_at=now(),
    )


def situation_of(
    network: AggregatedNetwork,
    certified: tuple[Any, Tensor],
    apart: tuple[Any, Tensor] | None,
    classes: tuple[str, str],
    terms: Terms,
) -> Situation:
    """Compute what posterior and prior answer, on certified and prior rows."""
    prior = prior_network(network)
    return Situation(
        answer(network, *certified),
        answer(prior, *certified),
        None if apart is None else answer(prior, *apart),
        classes,
        draw_risk(network, *certified, terms) if terms.sampled else None,
    )


def learned_from(prior: PriorRecord, prior_rows: NDArray[np.int64]) -> bool:
    """Whether the prior rows can tell what to expect of a prior: not where it is random or zero."""
    return prior_rows.size > 0 and prior.kind in ("pretrained", "given")


def prior_network(network: AggregatedNetwork) -> AggregatedNetwork:
    """Return the network whose posterior is the prior."""
    return AggregatedNetwork(network.prior_weights, intercept=network.architecture.intercept)


def deployed_network(network: AggregatedNetwork, certificate: Certificate) -> AggregatedNetwork:
    """Return the network that a certificate issued for this one speaks of: itself, or its prior."""
    return prior_network(network) if certificate.error_rate.predictor == "prior's vote" else network


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


def split_problem(split: SplitRecord, rows: Split, n_rows: int) -> str:
    """Say how a record of the split contradicts the prior rows; "" if it does not.

    Without prior rows a split can be "given" all the same: the user may have left rows out.

    Examples
    --------
    >>> from pbgnet.certificates import SplitRecord, check_split
    >>> from pbgnet.certificates.issue import split_problem
    >>> split_problem(SplitRecord("none"), check_split([4], [0, 1, 2, 3]), 5)
    "The split is said to be 'none', but there are 1 prior rows."
    """
    prior_rows = rows.prior_rows
    chosen = prior_rows.size > 0 or (split.how == "given" and rows.n_left_out(n_rows) > 0)
    if (split.how == "none") == chosen:
        return f"The split is said to be {split.how!r}, but there are {prior_rows.size} prior rows."
    if split.how != "drawn" or split.seed is None or split.fraction is None:
        return ""
    if n_rows < 2 or not np.array_equal(
        draw_prior_rows(n_rows, split.fraction, split.seed), np.sort(prior_rows)
    ):
        return f"The prior rows are not those that seed {split.seed} draws from {n_rows} rows."
    return ""


def left_out_problem(split: SplitRecord, n_left_out: int) -> str:
    """Say that rows are left out though nobody vouches for it; "" if none are, or the user does.

    Whoever may leave out certified rows can leave out those that the network gets wrong.

    Examples
    --------
    >>> from pbgnet.certificates import SplitRecord
    >>> from pbgnet.certificates.issue import left_out_problem
    >>> left_out_problem(SplitRecord("given"), 7)
    ''
    """
    if not n_left_out or split.how == "given":
        return ""
    return (
        f"{n_left_out} rows of the table are neither prior nor certified rows, but the split is "
        f"{split.how!r}: all rows that are not prior rows must be certified. Certify them all, or pass "
        "split=SplitRecord('given') and vouch that they were left out without looking at anything."
    )


def versions() -> Versions:
    """Return the software at work."""
    return Versions(pbgnet.__version__, str(torch.__version__), np.__version__, platform.python_version())


def now() -> str:
    """Return the time, as certificates write it."""
    return datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _bound_inputs(evaluation: Evaluation, n_duplicates: int | None, n_left_out: int) -> BoundInputs:
    return BoundInputs(
        n=evaluation.n,
        n_errors=evaluation.n_errors,
        empirical_error_rate=evaluation.error_rate,
        empirical_risk=evaluation.risk,
        numerical_error=evaluation.numerical_error,
        divergence=evaluation.divergence,
        n_duplicates=n_duplicates,
        n_left_out=n_left_out,
    )


def _fingerprints(
    network: AggregatedNetwork,
    rows: Split,
    data: DataFingerprints,
    preprocessing: str | None,
    deploys_prior: bool,
) -> Fingerprints:
    prior = fingerprint_tensors(network.prior_weights)
    return Fingerprints(
        data=data.data,
        features=data.features,
        labels=data.labels,
        columns=data.columns,
        split=fingerprint_split(rows.prior_rows, rows.certified_rows),
        prior=prior,
        posterior=prior if deploys_prior else fingerprint_tensors(list(network.weights)),
        preprocessing=preprocessing,
    )


def _check_records(prior: PriorRecord, split: SplitRecord, rows: Split, n_rows: int) -> None:
    """Raise unless what is said about prior and split fits the rows."""
    problem = (
        prior_problem(prior, rows.prior_rows.size)
        or split_problem(split, rows, n_rows)
        or left_out_problem(split, rows.n_left_out(n_rows))
    )
    if problem:
        raise DomainError(problem)
