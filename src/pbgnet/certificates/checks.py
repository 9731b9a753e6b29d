"""The checks `verify` runs, in the order they are listed in; those of the numbers are here."""

import math
from collections.abc import Callable
from dataclasses import replace

from pbgnet.bounds import split_delta
from pbgnet.certificates import identity_checks as identity
from pbgnet.certificates import origin_checks as origin
from pbgnet.certificates.certificate import HeldOutRecord
from pbgnet.certificates.evaluation import Evaluation
from pbgnet.certificates.issue import bound_record, delta_of, held_out_record, prior_evaluation
from pbgnet.certificates.subject import RELATIVE, Outcome, Subject, close, same

__all__ = ["CHECKS", "Outcome", "Subject"]


def check_risk(subject: Subject) -> Outcome:
    """Recompute the empirical risk; two computations may differ by the error of both, and no more."""
    inputs, found = subject.certificate.inputs, subject.evaluation
    slack = 2.0 * min(inputs.numerical_error, found.numerical_error * (1 + RELATIVE)) + 1e-12
    outcome = close(inputs.empirical_risk, found.risk, absolute=slack, relative=0.0)
    if outcome.ok and _understated(inputs.empirical_risk, inputs.numerical_error, found):
        return replace(outcome, ok=False, detail="it is understated by more than the numerical error")
    return outcome


def check_error_rate(subject: Subject) -> Outcome:
    """Recount the errors; rows whose output is within the numerical error of 0 may go either way."""
    inputs, found = subject.certificate.inputs, subject.evaluation
    ok = abs(inputs.n_errors - found.n_errors) <= found.n_ties
    ok &= inputs.empirical_error_rate == inputs.n_errors / inputs.n
    return Outcome(
        f"{inputs.n_errors} errors, rate {inputs.empirical_error_rate!r}",
        f"{found.n_errors} errors, rate {found.error_rate!r}",
        ok,
    )


def check_numerical_error(subject: Subject) -> Outcome:
    """Recompute the proved numerical error."""
    return close(subject.certificate.inputs.numerical_error, subject.evaluation.numerical_error)


def check_divergence(subject: Subject) -> Outcome:
    """Recompute the divergence."""
    return close(subject.certificate.inputs.divergence, subject.evaluation.divergence)


def check_delta(subject: Subject) -> Outcome:
    """Recompute delta from the confidence, and its share per prior."""
    certificate = subject.certificate
    delta = delta_of(certificate.confidence)
    return same(
        f"delta {certificate.delta!r}, {certificate.delta_per_prior!r} per prior",
        f"delta {delta!r}, {split_delta(delta, certificate.n_priors)!r} per prior",
        f"with confidence {certificate.confidence} and {certificate.n_priors} priors",
    )


def check_bound(subject: Subject) -> Outcome:
    """Recompute the bound from its stated inputs, each of which is checked by a step of its own."""
    stated = subject.certificate.bound
    found = bound_record(subject.certificate.inputs, subject.delta_per_prior, stated.constant)
    return close(stated.value, found.value)


def check_error_rate_bound(subject: Subject) -> Outcome:
    """See that the bound on the error rate is twice the bound on the risk, at most 1."""
    bound = subject.certificate.bound
    return close(bound.error_rate_bound, min(1.0, 2.0 * bound.value), relative=0.0)


def check_held_out(subject: Subject) -> Outcome:
    """Recompute the test-set bounds of the prior's classifier."""
    stated = subject.certificate.held_out
    evaluation = prior_evaluation(subject.model.network, *subject.certified)
    found = held_out_record(evaluation, subject.delta_per_prior)
    slack = 2.0 * evaluation.numerical_error + 1e-12
    # The bounds are recomputed from the stated risk and errors, which are compared with those found.
    restated = replace(
        evaluation,
        risk=stated.empirical_risk,
        n_errors=min(stated.n_errors, evaluation.n),
        numerical_error=stated.numerical_error,
    )
    again = held_out_record(restated, subject.delta_per_prior)
    ok = (
        abs(stated.empirical_risk - evaluation.risk) <= slack
        and not _understated(stated.empirical_risk, stated.numerical_error, evaluation)
        and abs(stated.n_errors - evaluation.n_errors) <= evaluation.n_ties
        and math.isclose(stated.numerical_error, evaluation.numerical_error, rel_tol=RELATIVE)
        and math.isclose(stated.risk_bound, again.risk_bound, rel_tol=RELATIVE)
        and math.isclose(stated.error_rate_bound, again.error_rate_bound, rel_tol=RELATIVE)
    )
    return Outcome(_held_out_text(stated), _held_out_text(found), ok)


def _understated(risk: float, numerical_error: float, found: Evaluation) -> bool:
    """Whether the largest risk a certificate allows for lies below the smallest one recomputed."""
    return risk + numerical_error < found.risk - found.numerical_error


def _held_out_text(record: HeldOutRecord) -> str:
    return (
        f"risk {record.empirical_risk!r} to within {record.numerical_error!r}, {record.n_errors} errors, "
        f"bounds {record.risk_bound!r} and {record.error_rate_bound!r}"
    )


CHECKS: dict[str, Callable[[Subject], Outcome]] = {
    "schema": identity.check_schema,
    "statement": identity.check_statement,
    "certificate text": identity.check_seal,
    "network": identity.check_network,
    "posterior weights": identity.check_posterior,
    "prior weights": identity.check_prior,
    "preprocessing": identity.check_preprocessing,
    "data: features": identity.check_features,
    "data: labels": identity.check_labels,
    "data: columns": identity.check_columns,
    "data: number of rows": identity.check_row_count,
    "data: fingerprint": identity.check_data,
    "split": identity.check_split,
    "certified rows": origin.check_rows,
    "split redrawn": origin.check_redraw,
    "preprocessing refitted": origin.check_refit,
    "prior record": origin.check_prior_record,
    "prior regenerated": origin.check_regeneration,
    "empirical risk": check_risk,
    "error rate": check_error_rate,
    "numerical error": check_numerical_error,
    "divergence": check_divergence,
    "delta": check_delta,
    "bound": check_bound,
    "error rate bound": check_error_rate_bound,
    "held-out comparison": check_held_out,
}
