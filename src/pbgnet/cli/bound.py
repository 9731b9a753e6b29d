"""``pbgnet bound``: all bounds side by side, for numbers given by hand."""

import math
from typing import Annotated

import typer

from pbgnet.cli.console import console, echo
from pbgnet.cli.options import Debug, Json
from pbgnet.cli.outcome import Result, command


def all_bounds(risk: float, divergence: float, n: int, delta: float) -> list[tuple[str, float, str]]:
    """Return each bound: its name, its value, and a remark."""
    from pbgnet.bounds import (
        FIXED_GRID,
        catoni_mixture_bound,
        catoni_optimal,
        chernoff_bound,
        mcallester_bound,
        seeger_bound,
    )

    given = risk, divergence, n, delta
    catoni = catoni_optimal(*given, constant="maurer")
    best_c = f"C = {float(catoni.c):.4g}" if math.isfinite(catoni.c) else "C tends to infinity"
    grid = f"{len(FIXED_GRID)} values of C, fixed in advance"
    bounds = [
        ("Seeger, exact constant", seeger_bound(*given, "maurer"), "Maurer's xi(n)"),
        ("Seeger, paper's constant", seeger_bound(*given, "paper"), "2 sqrt(n)"),
        ("Catoni, best C", catoni.bound, best_c),
        ("Catoni, mixture", catoni_mixture_bound(*given, FIXED_GRID), grid),
        ("McAllester", mcallester_bound(*given, "maurer"), "never tighter than Seeger"),
        ("Held-out (Chernoff)", chernoff_bound(risk, n, delta), "if fixed before the rows were seen"),
        ("Trivial", 1.0, ""),
    ]
    return [(name, float(value), remark) for name, value, remark in bounds]


@command
def bound(
    risk: Annotated[
        float, typer.Option(metavar="X", help="Empirical risk on the n certified rows, between 0 and 1.")
    ],
    divergence: Annotated[
        float,
        typer.Option(
            metavar="X", help="Divergence of the posterior from the prior, KL(posterior || prior), in nats."
        ),
    ],
    n: Annotated[int, typer.Option("--n", metavar="N", help="Number of certified rows.")],
    delta: Annotated[
        float, typer.Option(metavar="X", help="Probability that the bound fails: 0.05 for 95 % confidence.")
    ] = 0.05,
    n_priors: Annotated[int, typer.Option(metavar="N", help="Number of priors that share delta.")] = 1,
    as_json: Json = False,
    debug: Debug = False,
) -> Result:
    """Compute several PAC-Bayes bounds side by side, rounded up."""
    from pbgnet.bounds import split_delta

    share = split_delta(delta, n_priors)
    bounds = all_bounds(risk, divergence, n, share)

    def show() -> None:
        from rich.table import Table

        from pbgnet.bounds import round_up

        table = Table(box=None, pad_edge=False, padding=(0, 3, 0, 0))
        table.add_column("bound")
        table.add_column("on the risk", justify="right")
        table.add_column("on the vote's error rate", justify="right")
        table.add_column("")
        for name, value, remark in bounds:
            table.add_row(name, round_up(value, 6), round_up(min(1.0, 2 * value), 6), remark)
        console().print(table)
        echo()
        shared = f", for all {n_priors} priors together (delta {share:.4g} each)" if n_priors > 1 else ""
        echo(f"Each bound holds with probability {1 - delta:.6g} over the draw of the {n} rows{shared}.")

    payload = {
        "inputs": {"risk": risk, "divergence": divergence, "n": n, "delta": delta, "n_priors": n_priors},
        "delta_per_prior": share,
        "bounds": [{"name": name, "value": value, "remark": remark} for name, value, remark in bounds],
    }
    return Result(payload, show)
