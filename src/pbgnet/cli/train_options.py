"""The options of ``pbgnet train``, each with its help text."""

from pathlib import Path
from typing import Annotated

import typer

from pbgnet.choices import ALGORITHMS, CERTIFICATES, CLASSIFIERS, CODES
from pbgnet.cli.options import offering, out_option

CERTIFIED = [name for name in ALGORITHMS if name != "mlp"]

Target = Annotated[
    list[str],
    typer.Option(
        "--target",
        metavar="COLUMN",
        help="Column with the labels. Repeat it if a row can have several labels: one column for "
        "each, containing 0 and 1, no and yes, false and true, or x and an empty cell.",
    ),
]
Out = Annotated[Path, out_option("MODEL", "Folder to create for the model.")]
Hidden = Annotated[
    list[str],
    typer.Option(
        metavar="SIZES", help="Sizes of the hidden layers: 10 or 10,10; none for a linear model; auto."
    ),
]
Algorithm = Annotated[
    str,
    typer.Option(
        metavar="NAME",
        help=f"Training algorithm: {', '.join(CERTIFIED)}.",
        autocompletion=offering(CERTIFIED),
    ),
]
Coding = Annotated[
    str,
    typer.Option(
        "--code",
        metavar="NAME",
        help=f"How the outputs of the network encode more than two classes: auto, {', '.join(CODES)}.",
        autocompletion=offering(["auto", *CODES]),
    ),
]
Members = Annotated[
    int,
    typer.Option(
        "--members", min=1, metavar="N", help="Folds of the ensemble; one network is trained for each."
    ),
]
ClassWeight = Annotated[
    str | None,
    typer.Option(
        metavar="NAME",
        help="balanced: give rows of rarer classes more weight in training.",
        autocompletion=offering(["balanced"]),
    ),
]
PriorTraining = Annotated[
    str,
    typer.Option(
        metavar="NAME",
        help="How pbgnet_pre trains its prior: auto, paper or thorough.",
        autocompletion=offering(["auto", "paper", "thorough"]),
    ),
]
KeepTogether = Annotated[
    str | None,
    typer.Option(
        metavar="COLUMN",
        help="Rows with the same value in this column, for example of one customer, stay together "
        "when the rows are divided.",
    ),
]
Groups = Annotated[
    str | None,
    typer.Option(
        metavar="COLUMN",
        help="Also bound the error rate in each group of this column, and the difference between "
        "groups (held-out certificate). With --drop, the column is not used as a feature.",
    ),
]
Confidence = Annotated[float, typer.Option(metavar="X", help="Probability with which the bound holds.")]
Certificate = Annotated[
    str,
    typer.Option(
        metavar="NAME",
        help=f"How to certify: {', '.join(CERTIFICATES)}.",
        autocompletion=offering(CERTIFICATES),
    ),
]
ClassConditional = Annotated[
    bool, typer.Option("--class-conditional", help="Also bound the error rate in each class.")
]
Confusion = Annotated[
    bool,
    typer.Option(
        "--confusion",
        help="Also bound how often each class is mistaken for each other class (held-out certificate).",
    ),
]
PerLabel = Annotated[
    bool, typer.Option("--per-label", help="With several --target: also bound the error rate of each label.")
]
MaxError = Annotated[
    float | None,
    typer.Option(
        "--max-error",
        metavar="X",
        help="Only answer when confident: answer as many rows as possible with at most this share "
        "of wrong answers.",
    ),
]
Coverage = Annotated[
    float | None,
    typer.Option(
        "--coverage", metavar="X", help="Only answer when confident: answer about this share of the rows."
    ),
]
Test = Annotated[
    Path | None,
    typer.Option(
        "--test",
        metavar="FILE",
        readable=False,
        help="Test table; its error rate is shown next to the bounds.",
    ),
]
PriorFraction = Annotated[
    float,
    typer.Option(
        metavar="X", help="Share of the rows used for training and preprocessing; the rest are certified."
    ),
]
Priors = Annotated[
    int,
    typer.Option(
        "--n-priors",
        min=1,
        metavar="N",
        help="Number of trainings you will choose from by their certificates; the confidence is "
        "shared between them.",
    ),
]
Restarts = Annotated[
    int, typer.Option(min=1, metavar="N", help="Networks trained side by side; the best one is kept.")
]
Seed = Annotated[int, typer.Option(min=0, max=2**32 - 1, metavar="N", help="Seed of everything random.")]
MaxEpochs = Annotated[
    int | None,
    typer.Option(min=1, metavar="N", help="Maximum number of epochs; default: chosen by the solver."),
]
LearningRate = Annotated[
    float, typer.Option(metavar="X", help="Initial learning rate, also for training the prior.")
]
Device = Annotated[
    str,
    typer.Option(
        metavar="NAME",
        help="Device to train on: auto, cpu or cuda.",
        autocompletion=offering(["auto", "cpu", "cuda"]),
    ),
]
Drop = Annotated[
    list[str] | None, typer.Option(metavar="COLUMN", help="Column that is not used as a feature. Repeatable.")
]
Models = Annotated[
    list[str] | None,
    typer.Option(
        "--model",
        metavar="NAME",
        help=f"Train another classifier instead of a network: {' | '.join(CLASSIFIERS)} . Repeat "
        "it to choose the best by cross-validation on the prior rows. The classifier itself "
        "is not stored; see --keep.",
        autocompletion=offering(CLASSIFIERS),
    ),
]
Keep = Annotated[
    Path | None,
    typer.Option(
        "--keep",
        metavar="FILE",
        readable=False,
        help="With --model: also pickle the fitted pipeline to this file, for your own use. Never "
        "open a pickle you do not trust.",
    ),
]
NoHeader = Annotated[
    bool,
    typer.Option(
        "--no-header", help="The CSV has no header; its columns are named column_1, column_2 and so on."
    ),
]
DecimalSign = Annotated[
    str,
    typer.Option(
        "--decimal", metavar="SIGN", help="Decimal separator in a CSV: . or , (auto: whichever fits)."
    ),
]
KeepIds = Annotated[
    bool,
    typer.Option(
        "--keep-ids", help="Also learn from columns whose values differ in every row, such as names."
    ),
]
WorkerCount = Annotated[
    int,
    typer.Option(
        "--workers",
        min=1,
        max=256,
        metavar="N",
        help="Train in N processes on this machine, one thread each; the result is the same. For "
        "several machines, use torchrun.",
    ),
]
Checkpoint = Annotated[
    Path | None,
    typer.Option(
        "--checkpoint",
        metavar="FOLDER",
        readable=False,
        help="Save the state of training in this folder every two minutes. After an interruption, "
        "the same command resumes from there with the same result. Removed once the model is "
        "saved.",
    ),
]
Contact = Annotated[
    str | None,
    typer.Option(
        "--contact", metavar="TEXT", help="Whom to contact about the model; shown at the top of the report."
    ),
]
Quiet = Annotated[bool, typer.Option("--quiet", help="Print nothing but errors.")]
