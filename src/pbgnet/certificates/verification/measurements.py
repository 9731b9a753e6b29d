"""Checks of `verify` for measured quantities: loss, errors, numerical error and divergence of a network."""

from dataclasses import replace

from pbgnet.certificates.network import LARGEST_ERROR, classes_never_answered, majority_of
from pbgnet.certificates.verification.cases import NetworkCase
from pbgnet.certificates.verification.outcomes import (
    MOST_TIES,
    TIES_ON_TRUST,
    Outcome,
    close,
    compare_duplicates,
    compare_majority,
    count_agrees,
    is_outward,
    risk_problem,
)


def check_risk(case: NetworkCase) -> Outcome:
    """Recompute the empirical risk."""
    stated, found = case.subject, case.answers
    problem = risk_problem(stated.empirical_risk, stated.numerical_error, found.risk, found.numerical_error)
    return Outcome(repr(stated.empirical_risk), repr(found.risk), not problem, problem)


def check_error_rate(case: NetworkCase) -> Outcome:
    """Recount the errors; a few rows whose output is within the numerical error of 0 may count either way."""
    inputs, found = case.certificate.inputs, case.answers
    ok = count_agrees(inputs.n_errors, found.n_errors, found.n_ties)
    ok &= inputs.empirical_error_rate == inputs.n_errors / inputs.n
    close_by = ok and inputs.n_errors != found.n_errors
    return Outcome(
        f"{inputs.n_errors} errors, rate {inputs.empirical_error_rate!r}",
        f"{found.n_errors} errors, rate {found.n_errors / found.n!r}",
        ok,
        TIES_ON_TRUST if close_by else "",
        trusted=close_by,
    )


def check_majority(case: NetworkCase) -> Outcome:
    """Recount how often always giving the same answer is wrong, and which classes are never answered.

    A class that is only answered within the numerical error of 0 may count either way.
    """
    found = classes_never_answered(case.table, case.answers)
    stated = case.certificate.inputs.never_answered
    outcome = compare_majority(case.certificate, majority_of(case.table), found)
    if stated != found and 0 < case.answers.n_ties <= MOST_TIES:
        known = compare_majority(case.certificate, majority_of(case.table), stated)
        return replace(known, detail=TIES_ON_TRUST, trusted=True) if known.ok else known
    return outcome


def check_numerical_error(case: NetworkCase) -> Outcome:
    """Recompute the proved numerical error, and check that it leaves no doubt about the vote."""
    largest = max(case.situation.posterior.error, case.situation.prior.error)
    if largest > LARGEST_ERROR:
        return Outcome(
            f"outputs to within {LARGEST_ERROR!r}",
            f"to within {largest!r}",
            False,
            "the weights are far too large to tell how the vote answers",
        )
    return close(case.subject.numerical_error, case.answers.numerical_error)


def check_divergence(case: NetworkCase) -> Outcome:
    """Recompute the divergence, which may be stated higher, not lower."""
    stated, found = case.subject.divergence, case.answers.divergence
    return Outcome(repr(stated), repr(found), is_outward(stated, found))


def check_duplicates(case: NetworkCase) -> Outcome:
    """Recount the certified rows that repeat another row of the table; near copies are on trust."""
    return compare_duplicates(
        case.certificate.inputs.n_duplicates, case.table.n_duplicates, case.table.near_copies
    )
