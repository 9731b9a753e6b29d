"""The certified interval of the error rate in each group, as bars and in numbers."""

from pbgnet.certificates import Certificate, round_down, round_up
from pbgnet.pages import Bar, Bars
from pbgnet.report.class_facts import KeyNumber, short

LONGEST_NAME = 30


def group_chart(certificate: Certificate) -> Bars | None:
    """Draw a bar from the lower to the upper limit of each group, with a line at the measured rate.

    None if no group has a bound.
    """
    small = {size.name for size in certificate.small_groups}
    bars = []
    for group in certificate.by_group:
        rows = f"{group.n} {'row' if group.n == 1 else 'rows'}{', small' if group.name in small else ''}"
        interval = f"{round_down(group.lower)} to {round_up(group.upper)}"
        name, measured = f"{short(group.name, LONGEST_NAME)}: {rows}", group.n_errors / group.n
        bars.append(Bar(name, group.upper, interval, "certified", group.lower, (measured,)))
    return Bars("chart-groups", "Certified error rates of groups", bars) if bars else None


def group_rows(certificate: Certificate) -> list[tuple[str, ...]]:
    """Return the errors and the certified interval of each group, including those without certified rows."""
    if certificate.groups is None:
        return []
    known, small = {group.name: group for group in certificate.by_group}, set(certificate.small_groups)
    rows: list[tuple[str, ...]] = []
    for size in certificate.groups.sizes:
        name = short(size.name, LONGEST_NAME) + (", small" if size in small else "")
        if (group := known.get(size.name)) is None:
            rows.append((name, "no rows", "nothing"))
            continue
        interval = f"{round_down(group.lower)} to {round_up(group.upper)}"
        rows.append((name, f"{group.n_errors} of {group.n}", interval))
    return rows


def group_numbers(certificate: Certificate) -> tuple[KeyNumber, ...]:
    """Return the largest upper limit of a group, and the bound on the largest difference between two."""
    groups = certificate.by_group
    if not groups:
        return ()
    worst = max(groups, key=lambda group: group.upper)
    what = "rows with any wrong label" if certificate.of_labels else "the error rate"
    told = f"largest bound on {what} in a group, {short(worst.name, LONGEST_NAME)}"
    numbers: list[KeyNumber] = [("worst-group", round_up(worst.upper), told, True)]
    if (difference := certificate.largest_group_difference) is not None:
        told = "bound on the difference between any two groups"
        numbers.append(("group-difference", round_up(difference), told, True))
    return tuple(numbers)
