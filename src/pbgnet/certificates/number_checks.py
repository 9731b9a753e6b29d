"""Checks of `verify` of what was measured: loss, errors, numerical error and divergence of a network."""

from dataclasses import replace

from pbgnet.certificates.evaluation import LARGEST_ERROR
from pbgnet.certificates.subject import (
    RELATIVE,
    TIES_ON_TRUST,
    NetworkSubject,
    Outcome,
    close,
    count_agrees,
    same,
)

__all__ = [
    "check_divergence",
    "check_duplicates",
    "check_error_rate",
    "check_numerical_error",
    "check_risk",
]


def check_risk(subject: NetworkSubject) -> Outcome:
    """Recompute the empirical risk; two computations may differ by the error of both, and no more."""
    stated, found = subject.certificate.inputs, subject.evaluation
    risk, error = stated.empirical_risk or 0.0, stated.numerical_error or 0.0
    slack = 2.0 * min(error, found.numerical_error * (1 + RELATIVE)) + 1e-12
    outcome = close(risk, found.risk, absolute=slack, relative=0.0)
    if outcome.ok and risk + error < found.risk - found.numerical_error:
        return replace(outcome, ok=False, detail="it is understated by more than the numerical error")
    return outcome


def check_error_rate(subject: NetworkSubject) -> Outcome:
    """Recount the errors; a few rows whose output is within the numerical error of 0 may go either way."""
    inputs, evaluation = subject.certificate.inputs, subject.evaluation
    found = subject.n_errors(evaluation)
    ok = count_agrees(inputs.n_errors, found, evaluation.n_ties)
    ok &= inputs.empirical_error_rate == inputs.n_errors / inputs.n
    close_by = ok and inputs.n_errors != found
    return Outcome(
        f"{inputs.n_errors} errors, rate {inputs.empirical_error_rate!r}",
        f"{found} errors, rate {found / evaluation.n!r}",
        ok,
        TIES_ON_TRUST if close_by else "",
        trusted=close_by,
    )


def check_numerical_error(subject: NetworkSubject) -> Outcome:
    """Recompute the proved numerical error, and see that it leaves no doubt about the vote."""
    largest = max(subject.situation.posterior.error, subject.situation.prior.error)
    if largest > LARGEST_ERROR:
        return Outcome(
            f"outputs to within {LARGEST_ERROR!r}",
            f"to within {largest!r}",
            False,
            "the weights are absurdly large: nobody can tell how the vote answers",
        )
    return close(subject.certificate.inputs.numerical_error or 0.0, subject.evaluation.numerical_error)


def check_divergence(subject: NetworkSubject) -> Outcome:
    """Recompute the divergence."""
    return close(subject.certificate.inputs.divergence or 0.0, subject.evaluation.divergence)


def check_duplicates(subject: NetworkSubject) -> Outcome:
    """Count again the certified rows that repeat another row of the table."""
    stated = subject.certificate.inputs.n_duplicates
    if subject.certificate.version == 1:
        return Outcome("not counted", "not counted", True)
    found = f"{subject.table.n_duplicates(subject.model.certified_rows)} rows"
    return same("not counted" if stated is None else f"{stated} rows", found)
