"""The page that `pbgnet reproduce certificates` writes."""

import datetime
import os
import platform
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import fmean

import numpy as np
import torch

import pbgnet
from pbgnet.experiments.certificates.bounds_table import Certificates, CertificateSettings
from pbgnet.experiments.tables import paper_numbers

HEAD = """# Certificates of all routes

Made by `pbgnet reproduce certificates`. Each bound holds with {confidence:.0%} confidence on its
own; they do not all hold together. Losses, divergences and test figures are measured. {splits}
{fraction:.0%} of the training rows are prior rows: they train the prior and the tanh network, and
choose everything a route must fix beforehand. The others are the certified rows. Both networks have hidden
layers {hidden} and learning rate {rate}.

Training and test rows are those of the paper's splits. The six numeric columns of adult are standardised
with the prior rows; nothing else is scaled. A quarter of the rows of ads repeat others, so the independence
that all bounds assume is doubtful there.

Two routes were fixed in advance and can be compared with other methods: "chernoff" for the linear loss and
"Clopper-Pearson" for the error rate. The defaults were settled on mnist17, adult, breast, mnist38 and
mnistEO, which therefore say less about them than ads, mnist49, mnist56 and mnistLH.
"""

LOSS_TEXT = """## Linear loss of the aggregate

The first three routes are for the posterior: the kl bound with the paper's constant `2 sqrt(n)` and
with Maurer's, and the Catoni mixture with C chosen on the prior rows. "chernoff" and "betting" are
held-out bounds of the prior itself, the second with bets chosen on the prior rows. "best of the paper" is
the smallest bound in the paper for this data set. 1 is the trivial bound.
"""

ERROR_TEXT = """## Error rate of the deterministic vote

"doubled" is twice the mixture. "vote" draws T networks, of which at most k are right, with (T, k) chosen on
the prior rows. "Clopper-Pearson" counts the errors of the prior's vote on the certified rows. "tanh" and
"one class", the class that is more frequent among the prior rows, are counted in the same way. 1 is the
trivial bound.
"""

CHOICE_TEXT = """## Choices made on the prior rows

Validation figures are those of the network trained without the validation rows. Seconds are for
prior and posterior, and for the tanh network.
"""

Cell = Callable[[Sequence[Certificates]], str]


@dataclass(frozen=True)
class Circumstances:
    """When and where a page was made."""

    date: str
    machine: str  # kind and number of processors; nothing that identifies it
    versions: str
    seconds: float

    @classmethod
    def now(cls, seconds: float) -> "Circumstances":
        """Describe the present time and computer, for work that took this many seconds."""
        return cls(
            date=datetime.datetime.now(datetime.UTC).date().isoformat(),
            machine=f"{platform.machine()}, {os.cpu_count()} cores, {torch.get_num_threads()} threads",
            versions=f"pbgnet {pbgnet.__version__}, torch {torch.__version__}, numpy {np.__version__}, "
            f"python {platform.python_version()}",
            seconds=seconds,
        )


def certificate_page(
    results: Sequence[Certificates], settings: CertificateSettings, circumstances: Circumstances
) -> str:
    """Return the tables of all routes as Markdown, averaged over splits, in the order of the results."""
    names = list(dict.fromkeys(result.dataset for result in results))
    groups = [[result for result in results if result.dataset == name] for name in names]
    seeds = sorted({result.seed for result in results})
    head = HEAD.format(
        confidence=1.0 - settings.delta,
        splits="Split 0." if seeds == [0] else f"Means over splits {', '.join(map(str, seeds))}.",
        fraction=settings.prior_fraction,
        hidden=settings.hidden_layer_sizes,
        rate=settings.learning_rate,
    )
    foot = (
        f"{circumstances.date}; {circumstances.machine}; {circumstances.versions}; "
        f"{circumstances.seconds:.0f} s in all.\n"
    )
    sections = ((LOSS_TEXT, LOSS_COLUMNS), (ERROR_TEXT, ERROR_COLUMNS), (CHOICE_TEXT, CHOICE_COLUMNS))
    tables = (part for text, columns in sections for part in (text, _table(columns, groups)))
    return "\n".join([head, *tables, foot])


def _table(columns: dict[str, Cell], groups: Sequence[Sequence[Certificates]]) -> str:
    lines = ["| " + " | ".join(columns) + " |", "|" + "---|" * len(columns)]
    lines += ["| " + " | ".join(cell(group) for cell in columns.values()) + " |" for group in groups]
    return "\n".join(lines) + "\n"


def _mean(field: str, digits: int = 4) -> Cell:
    """Show the mean of a number over the splits."""
    return lambda group: f"{fmean(getattr(result, field) for result in group):.{digits}f}"


def _votes(group: Sequence[Certificates]) -> str:
    """Show the mean bound of the vote, and the (T, k) of each split."""
    pairs = ", ".join(f"({result.n_networks}, {result.n_right})" for result in group)
    return f"{fmean(result.vote for result in group):.4f} {pairs}"


def _best_of_the_paper(group: Sequence[Certificates]) -> str:
    """Show the smallest bound in the paper for a data set, or nothing if it has none."""
    printed = [
        numbers["bound"]
        for (dataset, _), numbers in paper_numbers("main_results").items()
        if dataset == group[0].dataset and numbers["bound"] is not None
    ]
    return f"{min(printed):.3f}" if printed else ""


def _against_tanh(group: Sequence[Certificates]) -> str:
    """Show whether the bound is at or below that of the tanh network."""
    ours, theirs = (fmean(getattr(r, f) for r in group) for f in ("clopper_pearson", "tanh"))
    return "yes" if ours <= theirs else "no"


def _each(field: str, form: str = "g") -> Cell:
    """Show a number of every split."""
    return lambda group: ", ".join(format(getattr(result, field), form) for result in group)


def _name(group: Sequence[Certificates]) -> str:
    return group[0].dataset


LOSS_COLUMNS: dict[str, Cell] = {
    "data": _name,
    "prior rows": _mean("n_prior", 0),
    "certified rows": _mean("n", 0),
    "divergence": _mean("divergence", 2),
    "loss, posterior": _mean("loss"),
    "loss, prior": _mean("prior_loss"),
    "seeger, paper": _mean("paper"),
    "seeger, maurer": _mean("maurer"),
    "mixture": _mean("mixture"),
    "chernoff": _mean("chernoff"),
    "betting": _mean("betting"),
    "best of the paper": _best_of_the_paper,
    "test loss": _mean("test_loss"),
}

ERROR_COLUMNS: dict[str, Cell] = {
    "data": _name,
    "doubled": _mean("doubled"),
    "vote (T, k)": _votes,
    "Clopper-Pearson": _mean("clopper_pearson"),
    "tanh": _mean("tanh"),
    "at or below tanh": _against_tanh,
    "one class": _mean("constant"),
    "test error": _mean("test_error"),
    "tanh test error": _mean("tanh_test_error"),
}

CHOICE_COLUMNS: dict[str, Cell] = {
    "data": _name,
    "deviation": _each("deviation"),
    "decay": _each("weight_decay"),
    "first factor": _each("first_factor"),
    "later factor": _each("later_factor"),
    "validation loss": _each("validation_loss", ".4f"),
    "validation error": _each("validation_error", ".4f"),
    "seconds": _each("seconds", ".0f"),
    "tanh seconds": _each("tanh_seconds", ".0f"),
}
