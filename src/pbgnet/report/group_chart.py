"""The certified interval of the error rate in each group, as bars and in numbers."""

from pbgnet.certificates import Certificate, round_down, round_up
from pbgnet.pages import Axis, Chart, label, mark, tick_text
from pbgnet.report.bars import AXIS, CUT_BELOW, ROW, TOP, WIDTH
from pbgnet.report.class_facts import KeyNumber, short

LONGEST_NAME = 30


def group_chart(certificate: Certificate) -> Chart | None:
    """Draw a bar from the lower to the upper limit of each group, with a line at what was measured.

    None where no group is bounded apart.
    """
    groups = certificate.by_group
    if not groups:
        return None
    largest = max(group.upper for group in groups)
    high = 1.0 if largest >= CUT_BELOW else max(largest * 1.25, 0.01)
    axis = Axis(0.0, high, 0.0, WIDTH - 12.0)
    bottom = TOP + ROW * len(groups)
    marks = []
    for tick in axis.ticks(4):
        x = axis(tick)
        marks.append(mark("line", x1=x, x2=x, y1=TOP, y2=bottom, class_="grid"))
        marks.append(label(x, bottom + 17, tick_text(tick), "tick", "start" if x < 8 else "middle"))
    small = {size.name for size in certificate.small_groups}
    words = []
    for k, group in enumerate(groups):
        y, left, right = TOP + k * ROW, axis(group.lower), axis(group.upper)
        measured = axis(group.n_errors / group.n)
        rows = f"{group.n} {'row' if group.n == 1 else 'rows'}{', small' if group.name in small else ''}"
        interval = f"{round_down(group.lower)} to {round_up(group.upper)}"
        marks.append(label(0, y + 15, f"{short(group.name, LONGEST_NAME)}: {rows}", "name halo"))
        marks.append(label(WIDTH - 12, y + 15, interval, "value halo", "end"))
        width = max(2.0, right - left)
        marks.append(mark("rect", x=left, y=y + 21, width=width, height=15, rx=2, class_="bar certified"))
        marks.append(
            mark("rect", x=max(0.0, measured - 1.5), y=y + 18, width=3, height=21, class_="bar measured")
        )
        words.append(f"{group.name}, {rows}: {interval}")
    return Chart(
        "chart-groups", "Certified error rates of groups", "; ".join(words), WIDTH, bottom + AXIS, marks
    )


def group_rows(certificate: Certificate) -> list[tuple[str, ...]]:
    """Return the errors and the certified interval of each group, those without certified rows too."""
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
