"""Checks of `verify` of what was measured: loss, errors, numerical error and divergence of a network."""

from dataclasses import replace

from pbgnet.certificates.rows import count_duplicates, row_fingerprints
from pbgnet.certificates.subject import RELATIVE, NetworkSubject, Outcome, close, same
from pbgnet.preprocessing import take_rows

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
    """Recount the errors; rows whose output is within the numerical error of 0 may go either way."""
    inputs, found = subject.certificate.inputs, subject.evaluation
    ok = abs(inputs.n_errors - found.n_errors) <= found.n_ties
    ok &= inputs.empirical_error_rate == inputs.n_errors / inputs.n
    return Outcome(
        f"{inputs.n_errors} errors, rate {inputs.empirical_error_rate!r}",
        f"{found.n_errors} errors, rate {found.error_rate!r}",
        ok,
    )


def check_numerical_error(subject: NetworkSubject) -> Outcome:
    """Recompute the proved numerical error."""
    return close(subject.certificate.inputs.numerical_error or 0.0, subject.evaluation.numerical_error)


def check_divergence(subject: NetworkSubject) -> Outcome:
    """Recompute the divergence."""
    return close(subject.certificate.inputs.divergence or 0.0, subject.evaluation.divergence)


def check_duplicates(subject: NetworkSubject) -> Outcome:
    """Count again the certified rows that repeat another."""
    stated = subject.certificate.inputs.n_duplicates
    if stated is None:
        return Outcome("not counted", "not counted", True)
    table = take_rows(subject.X, subject.model.certified_rows)
    return same(f"{stated} rows", f"{count_duplicates(row_fingerprints(table))} rows")
