"""``pbgnet train``: from a table to a certified model in a folder."""

import shlex
from pathlib import Path
from typing import Annotated

import typer

from pbgnet.choices import ALGORITHMS, CERTIFICATES
from pbgnet.cli.console import echo
from pbgnet.cli.folder import TableReading
from pbgnet.cli.options import Data, Debug, Json, Missing, Overwrite, out_option
from pbgnet.cli.outcome import Result, command
from pbgnet.cli.workflow import train_model
from pbgnet.exceptions import OptionError

CERTIFIED = [name for name in ALGORITHMS if name != "mlp"]

Target = Annotated[str, typer.Option("--target", metavar="COLUMN", help="Column of the labels: two classes.")]
Out = Annotated[Path, out_option("MODEL", "Folder to make for the model.")]
Hidden = Annotated[
    list[str],
    typer.Option(metavar="SIZES", help="Sizes of the hidden layers, as 10 or 10,10; none for linear."),
]
Algorithm = Annotated[str, typer.Option(metavar="NAME", help=f"One of {', '.join(CERTIFIED)}.")]
Confidence = Annotated[float, typer.Option(metavar="X", help="Probability with which the bound holds.")]
Certificate = Annotated[
    str, typer.Option(metavar="NAME", help=f"Route to the certificate: one of {', '.join(CERTIFICATES)}.")
]
ClassConditional = Annotated[
    bool, typer.Option("--class-conditional", help="Also bound the error rate in each class.")
]
Test = Annotated[
    Path | None,
    typer.Option(
        "--test", metavar="FILE", readable=False, help="Test set, whose error is shown beside the bounds."
    ),
]
PriorFraction = Annotated[
    float, typer.Option(metavar="X", help="Share of the rows that trains prior and preprocessing.")
]
Priors = Annotated[
    int,
    typer.Option(
        "--n-priors",
        min=1,
        metavar="N",
        help="Number of trainings you choose among by their certificates; each pays its share.",
    ),
]
Restarts = Annotated[
    int, typer.Option(min=1, metavar="N", help="Networks trained side by side; the best is kept.")
]
Seed = Annotated[int, typer.Option(min=0, max=2**32 - 1, metavar="N", help="Governs everything random.")]
MaxEpochs = Annotated[
    int | None, typer.Option(min=1, metavar="N", help="Most epochs; by default the solver's own.")
]
LearningRate = Annotated[
    float, typer.Option(metavar="X", help="First learning rate, also in training the prior.")
]
Device = Annotated[str, typer.Option(metavar="NAME", help="Where to train: auto, cpu or cuda.")]
Drop = Annotated[
    list[str] | None, typer.Option(metavar="COLUMN", help="Column that is not a feature. Repeatable.")
]
Quiet = Annotated[bool, typer.Option("--quiet", help="No progress bar, and no output but errors.")]


def parse_hidden(texts: list[str]) -> tuple[int, ...]:
    """Read the sizes of hidden layers: "10", "10,10", or "none" for a linear classifier."""
    parts = [part.strip() for text in texts for part in text.split(",")]
    if parts == ["none"]:
        return ()
    if not all(part.isdecimal() and int(part) > 0 for part in parts):
        raise OptionError(f"--hidden takes sizes such as 10 or 10,10, or none; got {' '.join(texts)!r}.")
    return tuple(map(int, parts))


@command
def train(
    data: Data,
    target: Target,
    out: Out,
    hidden: Hidden = ["10"],  # noqa: B006 (typer copies it)
    algorithm: Algorithm = "pbgnet_pre",
    confidence: Confidence = 0.95,
    certificate: Certificate = "auto",
    class_conditional: ClassConditional = False,
    prior_fraction: PriorFraction = 0.5,
    n_priors: Priors = 1,
    restarts: Restarts = 1,
    seed: Seed = 0,
    max_epochs: MaxEpochs = None,
    learning_rate: LearningRate = 0.1,
    device: Device = "auto",
    test: Test = None,
    drop: Drop = None,
    missing: Missing = None,
    overwrite: Overwrite = False,
    quiet: Quiet = False,
    as_json: Json = False,
    debug: Debug = False,
) -> Result:
    """Train a classifier on a table, certify it, save it with a report.

    Numbers, words and missing values may be mixed. The folder then holds the model, its certificate and
    report.html.
    """
    parameters = {
        "hidden_layer_sizes": parse_hidden(hidden),
        "algorithm": algorithm,
        "confidence": confidence,
        "certificate": certificate,
        "class_conditional": class_conditional,
        "prior_fraction": prior_fraction,
        "n_priors": n_priors,
        "n_restarts": restarts,
        "random_state": seed,
        "max_epochs": max_epochs,
        "learning_rate": learning_rate,
        "device": device,
        "verbose": int(not quiet and not as_json),
    }
    reading = TableReading(target, dropped=tuple(drop or ())).amended(missing=missing)
    trained = train_model(data, reading, out, test=test, overwrite=overwrite, **parameters)
    following = f"pbgnet verify {shlex.quote(str(out))} {shlex.quote(str(data))}"

    def show() -> None:
        if not quiet:
            trained.show()
            echo(f"Next:   {following}")

    return Result({**trained.payload(), "next": following}, show)
