"""``pbgnet plan``: how many certified rows a claim needs, before labels are bought."""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from pbgnet.cli.console import console, echo
from pbgnet.cli.options import Debug, Json, Overwrite
from pbgnet.cli.outcome import Result, command
from pbgnet.exceptions import OptionError

if TYPE_CHECKING:
    from pbgnet.planning import Plan

Shares = Annotated[
    str | None,
    typer.Option(
        metavar="SHARES",
        help="Share of each class, to plan a bound for each: 0.9,0.1 or ham=0.9,spam=0.1.",
    ),
]


@command
def plan(
    error: Annotated[float, typer.Option(metavar="X", help="Error rate you expect, such as 0.02.")],
    claim: Annotated[float, typer.Option(metavar="X", help="Bound you want to claim, such as 0.03.")],
    confidence: Annotated[
        float, typer.Option(metavar="X", help="Confidence of the certificate, such as 0.95.")
    ] = 0.95,
    chance: Annotated[
        float, typer.Option(metavar="X", help="Chance of reaching the claim that you want.")
    ] = 0.8,
    rows: Annotated[
        int | None,
        typer.Option(
            metavar="N", help="Number of rows you have, to be divided between training and certification."
        ),
    ] = None,
    class_shares: Shares = None,
    class_claim: Annotated[
        float | None, typer.Option(metavar="X", help="Bound you want for each class; default: --claim.")
    ] = None,
    group_shares: Annotated[
        str | None, typer.Option(metavar="SHARES", help="Share of each group, such as north=0.7,south=0.3.")
    ] = None,
    group_claim: Annotated[
        float | None, typer.Option(metavar="X", help="Bound you want for each group; default: --claim.")
    ] = None,
    answered: Annotated[
        float,
        typer.Option(metavar="X", help="Share of rows the classifier answers; the rest go to a person."),
    ] = 1.0,
    page: Annotated[
        Path | None, typer.Option(metavar="FILE", readable=False, help="HTML page with charts to write.")
    ] = None,
    overwrite: Overwrite = False,
    as_json: Json = False,
    debug: Debug = False,
) -> Result:
    """Plan how many rows to certify for the bound you want, and how to divide a table."""
    from pbgnet.planning import plan_rows, write_plan

    made = plan_rows(
        error,
        claim,
        confidence,
        chance=chance,
        n_rows=rows,
        class_shares=_shares("--class-shares", class_shares),
        class_claim=class_claim,
        group_shares=_shares("--group-shares", group_shares),
        group_claim=group_claim,
        answered=answered,
    )
    written = None if page is None else write_plan(page, made, overwrite=overwrite)

    def show() -> None:
        _show(made)
        if written is not None:
            echo()
            echo(f"Page: {written}")

    return Result({**made.to_dict(), "page": None if written is None else str(written)}, show)


def _shares(option: str, text: str | None) -> dict[str, float] | None:
    """Read shares, with names or without."""
    if text is None:
        return None
    shares: dict[str, float] = {}
    for place, item in enumerate(text.split(","), start=1):
        name, _, number = item.rpartition("=")
        name = name.strip() or str(place)
        try:
            share = float(number)
        except ValueError:
            raise OptionError(
                f"{option} takes shares separated by commas, such as 0.9,0.1 or ham=0.9,spam=0.1; "
                f"{item!r:.60} is not a share."
            ) from None
        if name in shares:
            raise OptionError(f"{option} names {name!r:.60} twice.")
        shares[name] = share
    return shares


def _show(made: "Plan") -> None:
    from pbgnet.planning import (
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

    echo(question(made))
    echo()
    width = max(len(number) for _, number, _ in key_numbers(made))
    for _, number, meaning in key_numbers(made):
        echo(f"  {number:>{width}}  {meaning}.")
    if len(made.parts) > 1:
        echo()
        _table(PART_COLUMNS, map(part_texts, made.parts))
        echo(parts_note(made))
    if told := shared_delta(made):
        echo()
        echo(told)
    echo()
    _table(curve_columns(made), (curve_texts(made, point) for point in made.curve))
    if made.split:
        echo()
        reached = (
            ", with the chance of reaching the claim that needs the most rows" if len(made.parts) > 1 else ""
        )
        echo(f"Ways to divide {made.n_rows:,} rows{reached}:")
        _table(SPLIT_COLUMNS, (split_texts(made, point) for point in made.split))
    echo()
    for sentence in advice(made):
        echo(sentence)


def _table(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    """Print texts in columns: the first left-aligned, numbers right-aligned."""
    from rich.table import Table

    from pbgnet.cli.console import printable

    table = Table(box=None, pad_edge=False, padding=(0, 3, 0, 0))
    for place, name in enumerate(columns):
        table.add_column(name, justify="left" if place == 0 and not name else "right")
    for row in rows:
        table.add_row(*map(printable, row))
    console().print(table)
