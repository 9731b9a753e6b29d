"""Checks of `verify` for groups: that they are the certified ones, and what follows from their limits."""

from pbgnet.certificates.data import GroupsRecord
from pbgnet.certificates.routes import largest_difference
from pbgnet.certificates.verification.cases import Case
from pbgnet.certificates.verification.outcomes import Outcome, same


def check_groups(case: Case) -> Outcome:
    """Read the group of each row again, and count the certified rows of each."""
    stated = case.certificate.groups
    if stated is None:
        if case.given_groups is None:
            return Outcome("none", "none", True)
        return Outcome(
            "none", "groups", False, "the certificate makes no claims about groups; do not pass groups"
        )
    if stated.column is not None and case.given_groups is not None:
        detail = f"the groups are read from column {stated.column!r:.60} of the table; do not pass groups"
        return Outcome(_told(stated), "others", False, detail)
    groups = case.read_groups()
    if groups is None:
        detail = (
            "the groups were passed row by row and are not a column of the table: pass the same groups again"
        )
        return Outcome(_told(stated), "not given", False, detail)
    found = groups.record(case.certified_rows)
    return same(
        _told(stated), _told(found), "the rows belong to different groups than when they were certified"
    )


def check_difference(case: Case) -> Outcome:
    """Recompute the largest difference between the limits of two groups, which are checked separately."""
    stated, found = case.certificate.largest_group_difference, largest_difference(case.certificate.claims)
    return same(
        "not claimed" if stated is None else repr(stated),
        "not claimed" if found is None else repr(found),
        "it is not the largest difference between the limits of two groups",
    )


def _told(record: GroupsRecord) -> str:
    by = "given" if record.column is None else f"by column {record.column!r}"
    sizes = ", ".join(f"{size.name}: {size.n}" for size in record.sizes)
    return f"{by}; {sizes}; {record.assignment}"
