"""Plan before you buy labels: how many rows to certify for a claim, and how to divide a table."""

from pbgnet.planning.by_rows import bound_by_rows
from pbgnet.planning.needed import rows_needed
from pbgnet.planning.parts import share_delta
from pbgnet.planning.plan import Plan, plan_rows
from pbgnet.planning.plan_page import render_plan, write_plan
from pbgnet.planning.words import (
    PART_COLUMNS,
    SPLIT_COLUMNS,
    advice,
    curve_columns,
    curve_texts,
    key_numbers,
    part_texts,
    parts_note,
    question,
    shared_delta,
    split_texts,
)

__all__ = [
    "PART_COLUMNS",
    "SPLIT_COLUMNS",
    "Plan",
    "advice",
    "bound_by_rows",
    "curve_columns",
    "curve_texts",
    "key_numbers",
    "part_texts",
    "parts_note",
    "plan_rows",
    "question",
    "render_plan",
    "rows_needed",
    "share_delta",
    "shared_delta",
    "split_texts",
    "write_plan",
]
