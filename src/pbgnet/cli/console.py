"""Printing for people: text that cannot play tricks on a terminal, and plain tables."""

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import typer

if TYPE_CHECKING:
    from rich.console import Console

    from pbgnet.certificates import Certificate

__all__ = ["certificate_numbers", "console", "echo", "pairs", "printable", "short_hash"]

# Where the output is not a terminal, tables are this wide.
PLAIN_WIDTH = 110


def printable(text: str) -> str:
    r"""Replace control characters, which could recolour or rewrite what the terminal shows.

    Examples
    --------
    >>> from pbgnet.cli.console import printable
    >>> printable("a\x1b[31mb") == "a\N{REPLACEMENT CHARACTER}[31mb"
    True
    """
    return "".join(c if c.isprintable() or c == "\n" else "\N{REPLACEMENT CHARACTER}" for c in text)


def echo(text: str = "") -> None:
    """Print a line."""
    typer.echo(printable(text))


def console() -> "Console":
    """Return where tables are printed; made anew, for standard output may have been replaced."""
    from rich.console import Console

    made = Console(highlight=False, markup=False, emoji=False)
    return (
        made if made.is_terminal else Console(highlight=False, markup=False, emoji=False, width=PLAIN_WIDTH)
    )


def pairs(rows: Iterable[tuple[str, str]]) -> None:
    """Print names and values in two columns; long values are not broken."""
    listed = list(rows)
    width = max((len(name) for name, _ in listed), default=0)
    for name, value in listed:
        echo(f"  {name:<{width}}  {value}")


def certificate_numbers(certificate: "Certificate", n_prior_rows: int) -> Sequence[tuple[str, str]]:
    """Return the numbers a reader asks for first, bounds rounded up."""
    from pbgnet.certificates.words import round_up

    inputs, bound, held_out = certificate.inputs, certificate.bound, certificate.held_out
    shared = f", shared between {certificate.n_priors} priors" if certificate.n_priors > 1 else ""
    return (
        ("bound on the linear loss", round_up(bound.value)),
        ("bound on the error rate", round_up(bound.error_rate_bound)),
        ("linear loss, certified rows", f"{inputs.empirical_risk:.4f}"),
        (
            "error rate, certified rows",
            f"{inputs.empirical_error_rate:.4f}  ({inputs.n_errors} of {inputs.n})",
        ),
        (
            "held-out bounds, prior alone",
            f"{round_up(held_out.risk_bound)} linear loss, {round_up(held_out.error_rate_bound)} error rate",
        ),
        ("divergence from the prior", f"{inputs.divergence:.4g} nats"),
        ("rows", f"{inputs.n} certified, {n_prior_rows} for prior and preprocessing"),
        ("confidence", f"{100 * certificate.confidence:g} %{shared}"),
    )


def short_hash(text: str) -> str:
    """Shorten fingerprints for the eye; other text is left as it is."""
    return f"{text[:12]}..." if len(text) == 64 and set(text) <= set("0123456789abcdef") else text
