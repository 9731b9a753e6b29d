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
        help="Share of the rows that each class has, to claim it of each: 0.9,0.1 or ham=0.9,spam=0.1.",
    ),
]


@command
def plan(
    error: Annotated[float, typer.Option(metavar="X", help="Error rate to be expected, such as 0.02.")],
    claim: Annotated[float, typer.Option(metavar="X", help="Bound that is wanted, such as 0.03.")],
    confidence: Annotated[float, typer.Option(metavar="X", help="Confidence of the certificate.")] = 0.95,
    chance: Annotated[
        float, typer.Option(metavar="X", help="Chance with which the claim is to be reached.")
    ] = 0.8,
    rows: Annotated[
        int | None, typer.Option(metavar="N", help="Rows of a table, to be divided into fit and certificate.")
    ] = None,
    class_shares: Shares = None,
    class_claim: Annotated[
        float | None, typer.Option(metavar="X", help="Bound wanted for each class; --claim by default.")
    ] = None,
    group_shares: Annotated[
        str | None, typer.Option(metavar="SHARES", help="The same for groups, such as north=0.7,south=0.3.")
    ] = None,
    group_claim: Annotated[
        float | None, typer.Option(metavar="X", help="Bound wanted for each group; --claim by default.")
    ] = None,
    answered: Annotated[
        float,
        typer.Option(metavar="X", help="Share of rows that are answered; others are left to a person."),
    ] = 1.0,
    page: Annotated[
        Path | None, typer.Option(metavar="FILE", readable=False, help="HTML page to write, with plots.")
    ] = None,
    overwrite: Overwrite = False,
    as_json: Json = False,
    debug: Debug = False,
) -> Result:
    """Say how many certified rows a claim needs, how the bound falls with rows, and how to divide a table."""
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
                f"{option} must be shares with commas between them, such as 0.9,0.1 or ham=0.9,spam=0.1; "
                f"{item!r:.60} is none."
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
        reached = ", and the chance to reach the claim that needs most" if len(made.parts) > 1 else ""
        echo(f"Ways to divide {made.n_rows:,} rows{reached}:")
        _table(SPLIT_COLUMNS, (split_texts(made, point) for point in made.split))
    echo()
    for sentence in advice(made):
        echo(sentence)


def _table(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    """Print texts in columns, the first on the left, numbers on the right."""
    from rich.table import Table

    from pbgnet.cli.console import printable

    table = Table(box=None, pad_edge=False, padding=(0, 3, 0, 0))
    for place, name in enumerate(columns):
        table.add_column(name, justify="left" if place == 0 and not name else "right")
    for row in rows:
        table.add_row(*map(printable, row))
    console().print(table)
