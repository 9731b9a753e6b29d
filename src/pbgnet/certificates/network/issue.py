"""Issuing the certificate of a network: its bounds on the certified rows, and everything they depend on."""

import datetime
import platform

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray

import pbgnet
from pbgnet.certificates.data import (
    PreparedTable,
    fingerprint_array,
    fingerprint_rows,
    fingerprint_split,
    fingerprint_tensors,
)
from pbgnet.certificates.format import (
    AggregationRecord,
    Certificate,
    CountedRows,
    Fingerprints,
    MajorityAnswer,
    NetworkRecord,
    NetworkSubject,
    PreprocessingRecord,
    PriorRecord,
    Software,
    never_answered,
)
from pbgnet.certificates.network.evaluation import (
    TOLERANCE,
    Answers,
    check_precise,
    evaluate,
    is_prior,
    prior_network,
)
from pbgnet.certificates.network.sampling import draw_risk
from pbgnet.certificates.network.strategy import Decision, Situation, as_margins, decide
from pbgnet.certificates.network.terms import Terms
from pbgnet.certificates.routes import balanced_bound, largest_difference
from pbgnet.exceptions import DomainError, OptionError
from pbgnet.kernels import one_thread
from pbgnet.networks import INITIALISATIONS, AggregatedNetwork
from pbgnet.validation import check_kind


@one_thread()  # thousands of small operations
def issue_certificate(
    network: AggregatedNetwork,
    table: PreparedTable,
    *,
    prior: PriorRecord,
    preprocessing: PreprocessingRecord,
    terms: Terms,
    prior_margins: ArrayLike | None = None,
) -> tuple[Certificate, Situation]:
    """Certify a network, as `certifiable` returns it, on rows its prior never saw.

    Returns
    -------
    Certificate
        If it is about the prior's vote, the prior is what is deployed.
    Situation
        What the networks answered.

    Raises
    ------
    DomainError
        If rows are left out of a split that was not given by the user, or the record of the prior is
        impossible.
    UncertifiedError
        If the weights are so large that the outputs cannot be computed to within `LARGEST_ERROR`.
    """
    split = table.split
    problem = (
        prior_problem(prior, split.prior_rows.size, terms)
        or split.record_problem(table.rows)
        or split.left_out_problem(table.n_rows)
    )
    if problem:
        raise DomainError(problem)
    situation = situation_of(network, table, prior, terms, prior_margins)
    for answers in (situation.posterior, situation.prior):
        check_precise(answers)
    decision = decide(situation, terms)
    answers = situation.prior if decision.deploys_prior else situation.posterior
    data = table.fingerprints
    certificate = Certificate(
        confidence=float(terms.confidence),
        delta=terms.delta,
        n_priors=int(terms.n_priors),
        delta_per_prior=terms.delta_per_prior,
        claims=decision.claims,
        alternatives=decision.alternatives,
        choices=decision.choices,
        inputs=CountedRows(
            answers.n,
            answers.n_errors,
            answers.n_errors / answers.n,
            table.n_duplicates,
            classes_never_answered(table, answers),
        ),
        majority=majority_of(table),
        balanced_error_rate=balanced_bound(decision.claims),
        subject=_subject(network, table, prior, preprocessing, terms, situation, decision, prior_margins),
        n_rows_total=data.n_rows,
        fingerprints=Fingerprints(
            data.data,
            data.features,
            data.labels,
            data.columns,
            fingerprint_split(split.prior_rows, split.certified_rows),
        ),
        versions=software(),
        issued_at=now(),
        groups=table.groups_record,
        largest_group_difference=largest_difference(decision.claims),
    )
    return certificate, situation


def situation_of(
    network: AggregatedNetwork,
    table: PreparedTable,
    prior: PriorRecord,
    terms: Terms,
    prior_margins: ArrayLike | None = None,
) -> Situation:
    """Compute the outputs of posterior and prior on certified rows, and of a learned prior on prior rows.

    Given margins are used for choices; without them, those on all prior rows are. These look better than
    future ones, so the choice is not the best one, but equally valid.
    """
    before, code = prior_network(network), table.inputs.code
    margins = kept_margins(prior_margins, prior, table.split.prior_rows)
    if margins is None and learned_from(prior, table.split.prior_rows):
        margins = as_margins(evaluate(before, *table.apart, code).margins)
    posterior = evaluate(network, *table.certified, code)
    scores = None
    if terms.selective:
        scores = prior_sureness(before, table, margins if code.n_outputs == 1 else None)
    return Situation(
        posterior,
        posterior if is_prior(network) else evaluate(before, *table.certified, code),
        table.inputs.classes.names,
        margins,
        draw_risk(network, *table.examples(table.split.certified_rows), terms) if terms.sampled else None,
        table.certified_groups,
        scores=scores,
    )


def prior_sureness(
    prior: AggregatedNetwork, table: PreparedTable, margins: NDArray[np.float64] | None
) -> NDArray[np.float64]:
    """Return how sure the prior is about prior rows; margins of a single output show it except for the sign.

    Best are margins on rows that it was not trained on.
    """
    if margins is not None:
        return np.abs(margins)
    if not table.split.prior_rows.size:
        raise OptionError(
            "Thresholds are set from the scores of prior rows, but there are no prior rows; set some aside."
        )
    return evaluate(prior, *table.apart, table.inputs.code).sureness


def majority_of(table: PreparedTable) -> MajorityAnswer:
    """Count how often the most frequent answer of the prior rows is wrong on the certified rows."""
    truth, split = table.truth, table.split
    return MajorityAnswer.counted(
        table.inputs.classes.names, truth[split.prior_rows], truth[split.certified_rows]
    )


def classes_never_answered(table: PreparedTable, answers: Answers) -> tuple[str, ...]:
    """Return the classes, or labels, that occur in certified rows but are never answered."""
    names = table.inputs.classes.names
    return never_answered(names, answers.truth, answers.answered)


def learned_from(prior: PriorRecord, prior_rows: NDArray[np.int64]) -> bool:
    """Whether the prior rows say what to expect from a prior: not if it is random or zero."""
    return prior_rows.size > 0 and prior.how in ("pretrained", "given")


def kept_margins(
    prior_margins: ArrayLike | None, prior: PriorRecord, prior_rows: NDArray[np.int64]
) -> NDArray[np.float64] | None:
    """Return the given margins for storage; None if the prior rows say nothing about the prior."""
    return as_margins(prior_margins) if learned_from(prior, prior_rows) else None


def prior_problem(prior: PriorRecord, n_prior_rows: int, terms: Terms) -> str:
    """Say what is impossible about a record of a prior, given the number of prior rows; "" if nothing.

    Draws of the risk from the prior's own seed would repeat the numbers that made its weights, but the bound
    on their mean needs draws that are independent of the network.
    """
    check_kind("prior", prior, PriorRecord)
    name = f"A {prior.how!r} prior"
    if prior.how == "random" and prior.seed is None:
        return "A random prior needs its seed in PriorRecord, so that anyone can draw it again."
    if prior.seed is not None and terms.sampled and prior.seed == terms.seed:
        return (
            f"The risk and the prior are both drawn from seed {prior.seed}; give the draws of the risk "
            "another seed."
        )
    if prior.how != "random" and prior.seed is not None:
        return f"{name} does not use a seed, but its seed is {prior.seed}."
    if prior.initialisation is not None and (prior.how, prior.initialisation) != ("zero", "zero"):
        if prior.how != "random":
            return f"{name} is not drawn, but its initialisation is {prior.initialisation!r:.40}."
        if prior.initialisation not in INITIALISATIONS:
            return f"{name} has the unknown initialisation {prior.initialisation!r:.40}."
    if prior.how in ("random", "zero") and prior.n_rows:
        return f"{name} does not see any rows, but its n_rows is {prior.n_rows}."
    if prior.how == "pretrained" and not 0 < prior.n_rows == n_prior_rows:
        return f"A pre-trained prior saw the {n_prior_rows} prior rows, but its n_rows is {prior.n_rows}."
    if prior.n_rows > n_prior_rows:
        return f"{name} saw {prior.n_rows} rows, but there are {n_prior_rows} prior rows."
    return ""


def software() -> Software:
    """Return the software in use."""
    return Software(pbgnet.__version__, str(torch.__version__), np.__version__, platform.python_version())


def now() -> str:
    """Return the time in the format of certificates."""
    return datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _subject(
    network: AggregatedNetwork,
    table: PreparedTable,
    prior: PriorRecord,
    preprocessing: PreprocessingRecord,
    terms: Terms,
    situation: Situation,
    decision: Decision,
    prior_margins: ArrayLike | None,
) -> NetworkSubject:
    answers = situation.prior if decision.deploys_prior else situation.posterior
    sizes, split = network.architecture, table.split
    before = fingerprint_tensors(network.prior_weights)
    margins = kept_margins(prior_margins, prior, split.prior_rows)
    return NetworkSubject(
        network=NetworkRecord(
            sizes.n_features,
            sizes.hidden_layer_sizes,
            sizes.intercept,
            sizes.n_members,
            sizes.n_outputs,
            patches=sizes.patches,
        ),
        aggregation=AggregationRecord(terms.aggregation, TOLERANCE, terms.n_samples, terms.seed),
        prior=prior,
        preprocessing=preprocessing,
        split=split.record,
        empirical_risk=answers.risk,
        numerical_error=answers.numerical_error,
        divergence=answers.divergence,
        n_left_out=split.n_left_out(table.n_rows),
        prior_weights=before,
        posterior_weights=before if decision.deploys_prior else fingerprint_tensors(list(network.weights)),
        inputs=table.inputs.fingerprint(),
        row_fingerprints=fingerprint_rows(table.row_fingerprints),
        prior_margins=None if margins is None else fingerprint_array(margins),
    )
