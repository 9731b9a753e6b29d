"""A plan in plain words, for the terminal and the page."""

import math

from pbgnet.certificates import delta_of, percent, round_up
from pbgnet.planning.parts import Part
from pbgnet.planning.plan import CurvePoint, Plan, SplitPoint

PART_COLUMNS = ("", "share", "claim", "as expected", "from there on", "with the chance")
CURVE_COLUMNS = ("errors", "bound", "above the rate", "chance of the claim")
SPLIT_COLUMNS = ("certified", "rows", "rows to fit on", "bound", "above the rate", "chance")

UNKNOWN_LOSS = (
    "What the fit loses by the rows that are certified instead is not known beforehand, and not in this "
    "table. To see how fast it still improves, fit on parts of the rows set apart and compare there: that "
    "costs no confidence."
)
ASSUMED = (
    "The error rate is a guess until the rows are there; a plan for a somewhat larger one is the safer plan.",
    "Rows must be independent draws of what the classifier will meet, and not seen by it before.",
    "The counts are those of the exact (Clopper-Pearson) bound on held-out rows. Errors are whole, and "
    "rounded up: with each further error the bound jumps up, so that a few rows more can be worse than a "
    "few less.",
)


def question(plan: Plan) -> str:
    """Say what is asked."""
    of = "" if plan.answered == 1 else f" among the {percent(plan.answered)} % of rows that are answered"
    return (
        f"To claim an error rate of at most {percent(plan.claim)} %{of}, at {percent(plan.confidence)} % "
        f"confidence, where {percent(plan.error)} % is expected:"
    )


def key_numbers(plan: Plan) -> list[tuple[str, str, str]]:
    """Return three numbers of rows for the claim over all rows: a name, the number, and what it means."""
    part, expected = plan.overall, percent(plan.error)
    own = f"{part.own_rows:,} of them answered, " if plan.answered < 1 else ""
    return [
        (
            "rows",
            f"{part.rows:,}",
            f"certified rows do, {own}if {expected} % errors (rounded up) are observed; if {expected} % is "
            f"the true error rate, the chance of that is {chance_text(part.chance)}",
        ),
        (
            "rows-for-good",
            f"{part.rows_for_good:,}",
            f"certified rows, and every larger number, do if {expected} % errors (rounded up) are observed",
        ),
        (
            "rows-with-chance",
            f"{part.rows_with_chance:,}",
            f"certified rows do with a chance of {percent(plan.chance)} %, if {expected} % is the true error "
            f"rate{': the number to buy' if plan.deciding is part else ''}",
        ),
    ]


def shared_delta(plan: Plan) -> str:
    """Say how many claims share delta; nothing for one."""
    if plan.n_claims == 1:
        return ""
    classes = sum(part.kind == "class" for part in plan.parts)
    groups = sum(part.kind == "group" for part in plan.parts)
    told = ["1 over all rows"]
    told += ["2 on answered rows and on how many are left unanswered"] * (plan.answered < 1)
    told += [f"{classes} for classes"] * (classes > 0)
    told += [f"2 for each of {groups} groups (an upper and a lower limit)"] * (groups > 0)
    half = "; the limits of groups have one half of it together" if groups else " equally"
    return (
        f"{plan.n_claims} claims share the {percent(delta_of(plan.confidence))} % that may "
        f"fail{half}, so that all hold together: {', '.join(told)}."
    )


def advice(plan: Plan) -> list[str]:
    """Say what to do."""
    told, hardest = [], plan.deciding
    name = _named(hardest)
    if len(plan.parts) > 1:
        told.append(
            f"{name[:1].upper()}{name[1:]} decides, with {percent(hardest.share)} % of the rows: its claim "
            f"of {percent(hardest.claim)} % needs most. Each claim by itself is then reached with a chance "
            f"of {percent(plan.chance)} % or more, all of them together with less."
        )
    if plan.n_rows is None:
        return [*told, f"Label {plan.certified_rows:,} rows for the certificate, besides those to fit on."]
    n, fitted = plan.n_rows, plan.n_rows - plan.certified_rows
    if plan.n_missing:
        best = plan.split[-1] if plan.split else None
        less = (
            ""
            if best is None
            else (
                f" With {percent(best.share)} % of it certified, {percent(plan.error)} % errors would prove "
                f"{round_up(best.bound, decimals(plan))}."
            )
        )
        return [
            *told,
            f"The table of {n:,} rows is too small: {plan.certified_rows:,} are to be certified, and others "
            f"to fit on. Label more, or claim a larger rate.{less}",
        ]
    fraction = math.floor(1000 * fitted / n) / 1000
    option = f" (--prior-fraction {fraction:g})" if fraction > 0 else ""
    return [
        *told,
        f"Certify {plan.certified_rows:,} of the {n:,} rows, and fit on the other {fitted:,}{option}: the "
        "claim needs no more, and the fit learns from each row that is left to it.",
        UNKNOWN_LOSS,
    ]


def curve_columns(plan: Plan) -> tuple[str, ...]:
    """Return the headings of the table that shows how the bound falls."""
    return ("certified rows" if plan.answered == 1 else "answered rows", *CURVE_COLUMNS)


def parts_note(plan: Plan) -> str:
    """Say what the columns of the table of claims mean."""
    return (
        "Numbers of certified rows, of all parts together: with which a claim is reached if errors and "
        "shares turn out as expected (errors rounded up); from which on every number does; and with which it "
        f"is reached with a chance of {percent(plan.chance)} %, if the true error rate is the one expected."
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
    """Return how many decimals tell bounds apart: four, and more for small claims."""
    return max(4, 2 - math.floor(math.log10(plan.claim)))


def chance_text(chance: float) -> str:
    """Write a chance in percent, rounded down, so that only what is sure is 100."""
    return f"{math.floor(1000 * chance) / 10:g} %"


def _named(part: Part) -> str:
    return part.name if part.kind == "all" else f"{part.kind} {part.name}"
