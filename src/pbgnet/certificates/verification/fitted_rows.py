"""Checks of `verify` for a classifier that was fitted on some rows of a table and counted on the others."""

from pbgnet.certificates.data import count_duplicates, note_on_near_copies
from pbgnet.certificates.verification.cases import FittedCase
from pbgnet.certificates.verification.origin import settled_claims
from pbgnet.certificates.verification.outcomes import Outcome, compare_duplicates, same


def check_split(case: FittedCase) -> Outcome:
    """Fingerprint the rows that are stored."""
    return same(*case.certified.stated_and_found()["split"])


def check_rows(case: FittedCase) -> Outcome:
    """Check that every row of the table is either a prior row or counted."""
    n, n_prior, total = case.certificate.inputs.n, case.subject.n_prior_rows, case.n_rows
    expected = f"{n} certified rows, all rows except the {n_prior} prior rows"
    split = case.split
    ok = (split.certified_rows.size, split.prior_rows.size, n + n_prior) == (n, n_prior, total)
    return Outcome(expected, expected if ok else f"a table of {total} rows", ok)


def check_duplicates(case: FittedCase) -> Outcome:
    """Recount the certified rows that repeat another row of the table; near copies are on trust."""
    split, exact, rounded = case.split, case.rows.fingerprints, case.rows.near_fingerprints
    found = count_duplicates(exact[split.certified_rows], exact[split.prior_rows])
    near = note_on_near_copies(rounded[split.certified_rows], found, rounded[split.prior_rows])
    return compare_duplicates(case.certificate.inputs.n_duplicates, found, near)


def check_fit(case: FittedCase) -> Outcome:
    """Name what was fitted; answers do not show which rows it has seen."""
    fit = case.subject.fit
    told = f"{fit.classifier} of {fit.library}"
    chosen = ""
    if fit.candidates:
        chosen = f" and chosen among {len(fit.candidates)} candidates"
    note = (
        f"not repeated; taken on trust: the classifier and its preprocessing were fitted{chosen} only on the "
        "prior rows; its answer on a row does not depend on other rows; the column types were fixed without "
        "looking at the certified rows"
    )
    return Outcome(told, told, True, note, trusted=True)


def check_settled(case: FittedCase) -> Outcome:
    """Name what no file can show: when the claims were decided."""
    count = case.certificate.n_priors
    number = "one fit" if count == 1 else f"at most {count} fits"
    told = f"a count of errors and {number}, chosen in advance"
    note = (
        f"taken on trust: the confidence, {settled_claims(case.certificate)}, the number of fits compared on "
        "the certified rows and the seed were chosen before looking at these rows"
    )
    return Outcome(told, told, True, note, trusted=True)
