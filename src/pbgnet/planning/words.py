"""A plan in plain words, for the terminal and the page."""

import math

from pbgnet.certificates import delta_of, percent, round_up
from pbgnet.planning.parts import Part
from pbgnet.planning.plan import CurvePoint, Plan, SplitPoint

PART_COLUMNS = ("", "share", "claim", "as expected", "from there on", "with the chance")
CURVE_COLUMNS = ("errors", "bound", "above the rate", "chance of the claim")
SPLIT_COLUMNS = ("certified", "rows", "rows to fit on", "bound", "above the rate", "chance")

UNKNOWN_LOSS = (
    "This table does not show what the classifier loses when rows are certified instead "
    "of used for training; that is not known in advance. To see how much it still "
    "improves with more rows, train on parts of the prior rows and compare there: that "
    "costs no confidence."
)
ASSUMED = (
    "The error rate is a guess until you have the rows; planning for a slightly larger one is safer.",
    "Rows must be independent draws of what the classifier will meet in use, and the "
    "classifier must not have seen them before.",
    "The counts use the exact (Clopper-Pearson) bound on held-out rows. Errors are whole "
    "numbers, rounded up: each further error makes the bound jump up, so a few more rows "
    "can give a slightly worse bound than a few less.",
)


def question(plan: Plan) -> str:
    """Say what was asked for."""
    of = "" if plan.answered == 1 else f" among the {percent(plan.answered)} % of rows that are answered"
    return (
        f"To claim an error rate of at most {percent(plan.claim)} %{of}, at "
        f"{percent(plan.confidence)} % confidence, when you expect {percent(plan.error)} %:"
    )


def key_numbers(plan: Plan) -> list[tuple[str, str, str]]:
    """Return three numbers of rows for the claim over all rows: a name, the number, and what it means."""
    part, expected = plan.overall, percent(plan.error)
    own = f"{part.own_rows:,} of them answered, " if plan.answered < 1 else ""
    return [
        (
            "rows",
            f"{part.rows:,}",
            f"certified rows are enough, {own}if {expected} % errors (rounded up) are observed; "
            f"if {expected} % is the true error rate, the chance of that is "
            f"{chance_text(part.chance)}",
        ),
        (
            "rows-for-good",
            f"{part.rows_for_good:,}",
            f"certified rows, and every larger number, are enough if {expected} % errors (rounded "
            "up) are observed",
        ),
        (
            "rows-with-chance",
            f"{part.rows_with_chance:,}",
            f"certified rows are enough with a chance of {percent(plan.chance)} %, if {expected} "
            "% is the true error "
            f"rate{': the number to plan for' if plan.deciding is part else ''}",
        ),
    ]


def shared_delta(plan: Plan) -> str:
    """Say how many claims share delta; nothing if there is one."""
    if plan.n_claims == 1:
        return ""
    classes = sum(part.kind == "class" for part in plan.parts)
    groups = sum(part.kind == "group" for part in plan.parts)
    told = ["1 over all rows"]
    told += ["2 on answered rows and on the share left unanswered"] * (plan.answered < 1)
    told += [f"{classes} for classes"] * (classes > 0)
    told += [f"2 for each of {groups} groups (an upper and a lower limit)"] * (groups > 0)
    half = ", half of it for the limits of the groups" if groups else " equally"
    return (
        f"{plan.n_claims} claims share the {percent(delta_of(plan.confidence))} % chance of "
        f"failure{half}, so that all of them hold at the same time: {', '.join(told)}."
    )


def advice(plan: Plan) -> list[str]:
    """Say what to do."""
    told, hardest = [], plan.deciding
    name = _named(hardest)
    if len(plan.parts) > 1:
        told.append(
            f"{name[:1].upper()}{name[1:]} decides, with {percent(hardest.share)} % of the rows: "
            f"its claim of {percent(hardest.claim)} % needs the most. Each claim on its own is "
            f"then reached with a chance of {percent(plan.chance)} % or more; all of them "
            "together, with a smaller chance."
        )
    if plan.n_rows is None:
        return [
            *told,
            f"Label {plan.certified_rows:,} rows for the certificate, in addition to those you train on.",
        ]
    n, fitted = plan.n_rows, plan.n_rows - plan.certified_rows
    if plan.n_missing:
        best = plan.split[-1] if plan.split else None
        less = (
            ""
            if best is None
            else (
                f" With {percent(best.share)} % of it certified, {percent(plan.error)} % errors would "
                f"prove {round_up(best.bound, decimals(plan))}."
            )
        )
        return [
            *told,
            f"The table of {n:,} rows is too small: {plan.certified_rows:,} rows have to be "
            "certified, and you need others to train on. Label more rows, or claim a larger "
            f"rate.{less}",
        ]
    fraction = math.floor(1000 * fitted / n) / 1000
    option = f" (--prior-fraction {fraction:g})" if fraction > 0 else ""
    return [
        *told,
        f"Certify {plan.certified_rows:,} of the {n:,} rows and train on the other "
        f"{fitted:,}{option}: the claim needs no more certified rows, and every other row "
        "is left for training.",
        UNKNOWN_LOSS,
    ]


def curve_columns(plan: Plan) -> tuple[str, ...]:
    """Return the headings of the table of bounds by rows."""
    return ("certified rows" if plan.answered == 1 else "answered rows", *CURVE_COLUMNS)


def parts_note(plan: Plan) -> str:
    """Say what the columns of the table of claims mean."""
    return (
        "Numbers of certified rows over all parts. As expected: enough if errors and shares "
        "turn out as expected (errors rounded up). From there on: every larger number is "
        f"enough, too. With the chance: enough with a chance of {percent(plan.chance)} %, if "
        "the true error rate is the expected one."
    )


def part_texts(part: Part) -> tuple[str, ...]:
    """Return the line of a claim."""
    rows = (part.rows, part.rows_for_good, part.rows_with_chance)
    return _named(part), f"{percent(part.share)} %", f"{percent(part.claim)} %", *(f"{n:,}" for n in rows)


def curve_texts(plan: Plan, point: CurvePoint) -> tuple[str, ...]:
    """Return the line of a number of rows."""
    bounds = (round_up(value, decimals(plan)) for value in (point.bound, point.gap))
    return f"{point.rows:,}", f"{point.n_errors:,}", *bounds, chance_text(point.chance)


def split_texts(plan: Plan, point: SplitPoint) -> tuple[str, ...]:
    """Return the line of a way to divide a table."""
    rows = f"{percent(point.share)} %", f"{point.certified:,}", f"{point.fitted:,}"
    bounds = (round_up(value, decimals(plan)) for value in (point.bound, point.gap))
    return *rows, *bounds, chance_text(point.chance)


def decimals(plan: Plan) -> int:
    """Return how many decimals are needed to tell bounds apart: four, and more for small claims."""
    return max(4, 2 - math.floor(math.log10(plan.claim)))


def chance_text(chance: float) -> str:
    """Write a probability in percent, rounded down, so that only certainty is 100."""
    return f"{math.floor(1000 * chance) / 10:g} %"


def _named(part: Part) -> str:
    return part.name if part.kind == "all" else f"{part.kind} {part.name}"
