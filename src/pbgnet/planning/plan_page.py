"""The page of a plan."""

import os
from pathlib import Path

import pbgnet
from pbgnet.certificates import percent
from pbgnet.files import write_new
from pbgnet.pages import render_page
from pbgnet.planning import words
from pbgnet.planning.plan import Plan
from pbgnet.planning.plan_charts import bound_chart, chance_chart
from pbgnet.validation import check_kind


def render_plan(plan: Plan) -> str:
    """Return a plan as one HTML page, without external resources or scripts."""
    check_kind("plan", plan, Plan, advice="Make one with plan_rows.")
    return render_page(
        __file__,
        title="How many rows a claim needs",
        heading="How many rows a claim needs",
        lead=f"An error rate of at most {percent(plan.claim)} %, when you expect {percent(plan.error)} %.",
        version=pbgnet.__version__,
        question=words.question(plan),
        numbers=[(*number, number[0] == "rows-with-chance") for number in words.key_numbers(plan)],
        advice=words.advice(plan),
        shared=words.shared_delta(plan),
        parts_note=words.parts_note(plan),
        part_columns=words.PART_COLUMNS,
        parts=[words.part_texts(part) for part in plan.parts] if len(plan.parts) > 1 else [],
        n_rows=f"{plan.n_rows:,}" if plan.n_rows else "",
        split_columns=words.SPLIT_COLUMNS,
        split=[words.split_texts(plan, point) for point in plan.split],
        bound_chart=bound_chart(plan),
        chance_chart=chance_chart(plan),
        curve_columns=words.curve_columns(plan),
        curve=[words.curve_texts(plan, point) for point in plan.curve],
        assumed=words.ASSUMED,
    )


def write_plan(path: str | os.PathLike[str], plan: Plan, *, overwrite: bool = False) -> Path:
    """Write the page of a plan, completely or not at all; an existing file is replaced only on request."""
    return write_new(path, render_plan(plan), overwrite=overwrite)
