"""Checks of `verify` that the certificate, the model and the data are what they claim to be."""

from collections.abc import Callable

from pbgnet.certificates.data import (
    DataFingerprints,
    fingerprint_columns,
    fingerprint_labels,
    fingerprint_rows,
)
from pbgnet.certificates.network import TOLERANCE
from pbgnet.certificates.verification.cases import Case, NetworkCase
from pbgnet.certificates.verification.differences import (
    differing_columns,
    differing_count,
    differing_labels,
    differing_rows,
)
from pbgnet.certificates.verification.outcomes import Outcome, same
from pbgnet.preprocessing import count_rows

EDITED = (
    "certificate.json was edited after it was written: its text no longer matches its seal. If a later step "
    "fails as well, it shows which number was changed"
)


def check_schema(case: Case) -> Outcome:
    """Reading it has checked the schema; the tolerance that the numbers depend on is compared here."""
    version = f"version {case.certificate.version}"
    if isinstance(case, NetworkCase) and (found := case.subject.aggregation.tolerance) != TOLERANCE:
        return Outcome(f"tolerance {TOLERANCE!r}", f"tolerance {found!r}", False, "the tolerance was changed")
    return Outcome(version, version, True)


def check_statement(case: Case) -> Outcome:
    """Compare the sentences in the file with those that its numbers give."""
    certificate, written = case.certificate, case.certificate.written
    if written is None:
        return Outcome(certificate.statement, certificate.statement, True)
    for name, genuine, found in (
        ("statement is", (certificate.statement,), (written.statement,)),
        ("predictors are", certificate.predictors, written.predictors),
        ("assumptions are", certificate.assumptions, written.assumptions),
        ("comparison sentences are", (certificate.comparison,), (written.comparison,)),
        ("yardstick is", (certificate.yardstick,), (written.yardstick,)),
        ("shortcomings are", certificate.shortcomings, written.shortcomings),
    ):
        pairs = [(_nth(genuine, k), _nth(found, k)) for k in range(max(len(genuine), len(found)))]
        for expected, other in pairs:
            if expected != other:
                detail = f"the {name} not the one that the numbers in certificate.json give"
                return Outcome(expected, other, False, detail)
    return Outcome(certificate.statement, certificate.statement, True)


def check_seal(case: Case) -> Outcome:
    """Fingerprint the whole text, for the fields that no other step recomputes."""
    certificate = case.certificate
    if certificate.written is None:
        return Outcome(certificate.seal, certificate.seal, True, "it has not been saved to a file")
    return same(certificate.written.seal, certificate.seal, EDITED)


def check_own(name: str) -> Callable[[NetworkCase], Outcome]:
    """Return a check of what the certificate says about the model itself: its sizes, weights or inputs."""
    return lambda case: same(*case.stated_and_found[name])


def check_data(case: Case) -> Outcome:
    """Check that the fingerprint of the data follows from the stated parts, which have separate steps."""
    stated = case.certificate.fingerprints
    rows = case.certificate.n_rows_total
    found = DataFingerprints(rows, stated.features, stated.labels or "none", stated.columns).data
    return same(stated.data, found, "the certificate's fingerprints of the data contradict each other")


def check_columns(case: Case) -> Outcome:
    """Fingerprint the names of the columns."""
    expected, found = case.certificate.fingerprints.columns, fingerprint_columns(case.X)
    return explained(expected or "no names", found or "no names", case, differing_columns)


def check_row_count(case: Case) -> Outcome:
    """Count the rows."""
    count, found = count_rows(case.X), f"{case.n_rows} rows"
    if count != case.n_rows:
        found = f"{count} rows with {case.n_rows} labels"
    return explained(f"{case.certificate.n_rows_total} rows", found, case, differing_count)


def check_features(case: Case) -> Outcome:
    """Fingerprint the values of all rows."""
    return explained(case.certificate.fingerprints.features, case.facts.features, case, differing_rows)


def check_labels(case: Case) -> Outcome:
    """Fingerprint all labels."""
    expected = case.certificate.fingerprints.labels
    if expected is None:
        return Outcome("no labels", "no labels", True, "none are needed")
    return explained(expected, fingerprint_labels(case.y), case, differing_labels)


def explained(expected: str, found: str, case: Case, explain: Callable[[Case], str]) -> Outcome:
    """Compare two values exactly; if they differ, the table is examined to say why."""
    ok = expected == found
    return Outcome(expected, found, ok, "" if ok else explain(case))


def check_stored_rows(case: Case) -> Outcome:
    """See that the row fingerprints that are stored are those of the table."""
    stored, found = case.certified_hashes, case.facts.exact
    detail = "the stored row fingerprints are not those of the rows of this table"
    return same(fingerprint_rows(stored), fingerprint_rows(found), detail)


def _nth(sentences: tuple[str, ...], k: int) -> str:
    return sentences[k] if k < len(sentences) else "no such sentence"
