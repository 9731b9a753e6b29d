"""``pbgnet train``: from a table to a certified model in a folder."""

import inspect
import shlex
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated, Any

import typer

from pbgnet.choices import ALGORITHMS, CERTIFICATES, CLASSIFIERS, CODES
from pbgnet.cli.console import echo
from pbgnet.cli.folder import TableReading
from pbgnet.cli.given_tables import GivenTables
from pbgnet.cli.launch import launchable
from pbgnet.cli.options import Compare, Debug, Json, Missing, Overwrite, SeveralData, offering, out_option
from pbgnet.cli.outcome import Result, command
from pbgnet.cli.stages import Stages
from pbgnet.cli.workflow import Trained, train_model
from pbgnet.exceptions import OptionError

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
        "when rows are set apart.",
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
OF_THE_RUN = ("test", "overwrite", "compare", "groups", "keep_together", "checkpoint", "contact")
"""Options that are not of the classifier."""

# Options by the name of the parameter they set: of all classifiers, and of networks alone.
SHARED = {
    "confidence": "confidence",
    "class_conditional": "class_conditional",
    "confusion": "confusion",
    "max_error": "max_error",
    "coverage": "coverage",
    "prior_fraction": "prior_fraction",
    "seed": "random_state",
}
OF_NETWORKS = {
    "hidden": "hidden_layer_sizes",
    "algorithm": "algorithm",
    "code": "code",
    "members": "n_members",
    "class_weight": "class_weight",
    "prior_training": "prior_training",
    "certificate": "certificate",
    "restarts": "n_restarts",
    "max_epochs": "max_epochs",
    "learning_rate": "learning_rate",
    "device": "device",
}
OF_CLASSES = ("algorithm", "code", "class_weight", "prior_training", "restarts")
"""Options of networks for one target alone."""

OF_ONE_TARGET = ("class_conditional", "confusion", "max_error", "coverage")
"""Claims about one target alone."""

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


def parse_hidden(texts: list[str]) -> tuple[int, ...] | str:
    """Read the sizes of hidden layers: "10", "10,10", "none" for a linear classifier, or "auto"."""
    parts = [part.strip() for text in texts for part in text.split(",")]
    if parts == ["auto"]:
        return "auto"
    if parts == ["none"]:
        return ()
    if not all(part.isdecimal() and int(part) > 0 for part in parts):
        raise OptionError(
            f"--hidden takes sizes such as 10 or 10,10, or none, or auto; got {' '.join(texts)!r}."
        )
    return tuple(map(int, parts))


def parameters_of(given: dict[str, Any]) -> dict[str, Any]:
    """Return the options of ``train`` as parameters of what it trains; raise for those that do not fit."""
    shared = {name: given[option] for option, name in SHARED.items()}
    several_labels = len(given["target"]) > 1
    if given["per_label"] and not several_labels:
        raise OptionError(
            "--per-label requires several --target; use --class-conditional to bound each class."
        )
    if several_labels:
        _refuse("requires a single --target", OF_ONE_TARGET, given)
        shared = {name: shared[name] for name in ("confidence", "prior_fraction", "random_state")}
        shared["per_label"] = given["per_label"]
    if given["model"]:
        _refuse("only applies to networks; remove it, or remove --model", OF_NETWORKS, given)
        return {**shared, "n_models": given["n_priors"], "models": given["model"], "keep": given["keep"]}
    if given["keep"] is not None:
        raise OptionError("--keep requires --model: a network is always stored in the folder.")
    options = set(OF_NETWORKS)
    if several_labels:
        _refuse("requires a single --target; several labels are learned by one ensemble", OF_CLASSES, given)
        options -= set(OF_CLASSES)
    network = {name: given[option] for option, name in OF_NETWORKS.items() if option in options}
    network["hidden_layer_sizes"] = parse_hidden(given["hidden"])
    silent = given["quiet"] or given["as_json"]
    return {**shared, **network, "n_priors": given["n_priors"], "verbose": int(not silent)}


def _refuse(why: str, options: Iterable[str], given: dict[str, Any]) -> None:
    """Raise for options that were given and have no place here."""
    known = inspect.signature(train).parameters
    for option in options:
        if given[option] != known[option].default:
            raise OptionError(f"--{option.replace('_', '-')} {why}.")


def reading_of(given: dict[str, Any]) -> TableReading:
    """Return how the table is to be read."""
    if given["decimal"] not in ("auto", ".", ","):
        raise OptionError(f"--decimal must be . or , or auto; got {given['decimal']!r:.20}.")
    reading = TableReading(
        tuple(given["target"]),
        dropped=tuple(given["drop"] or ()),
        header=not given["no_header"],
        decimal=given["decimal"],
        keep_ids=given["keep_ids"],
    )
    return reading.amended(missing=given["missing"])


@launchable
@command
def train(
    data: SeveralData,
    target: Target,
    out: Out,
    hidden: Hidden = ["auto"],  # noqa: B006 (typer copies it)
    algorithm: Algorithm = "ensemble",
    code: Coding = "auto",
    members: Members = 5,
    class_weight: ClassWeight = None,
    prior_training: PriorTraining = "auto",
    confidence: Confidence = 0.95,
    certificate: Certificate = "auto",
    class_conditional: ClassConditional = False,
    confusion: Confusion = False,
    per_label: PerLabel = False,
    max_error: MaxError = None,
    coverage: Coverage = None,
    groups: Groups = None,
    prior_fraction: PriorFraction = 0.5,
    keep_together: KeepTogether = None,
    n_priors: Priors = 1,
    restarts: Restarts = 1,
    seed: Seed = 0,
    max_epochs: MaxEpochs = None,
    learning_rate: LearningRate = 0.1,
    device: Device = "auto",
    workers: WorkerCount = 1,
    checkpoint: Checkpoint = None,
    model: Models = None,
    compare: Compare = False,
    keep: Keep = None,
    test: Test = None,
    drop: Drop = None,
    missing: Missing = None,
    no_header: NoHeader = False,
    decimal: DecimalSign = "auto",
    keep_ids: KeepIds = False,
    contact: Contact = None,
    overwrite: Overwrite = False,
    quiet: Quiet = False,
    as_json: Json = False,
    debug: Debug = False,
) -> Result:
    """Train a classifier on a table, certify it, and save it with a report.

    The table may contain numbers, text and missing values. The new folder contains the model, its certificate
    and report.html.
    """
    given = dict(locals())
    trained = train_model(
        GivenTables.of(data),
        reading_of(given),
        out,
        **{name: given[name] for name in OF_THE_RUN},
        stages=Stages(shown=not (quiet or as_json)),
        **parameters_of(given),
    )
    return _outcome(trained, f"pbgnet verify {shlex.quote(str(out))} {GivenTables.of(data)}", quiet)


def _outcome(trained: Trained | None, following: str, quiet: bool) -> Result:
    """Return what was trained, for people and machines; nothing of a worker that does not write."""
    if trained is None:
        return Result({}, lambda: None)

    def show() -> None:
        if not quiet:
            trained.show()
            echo(f"Next:   {following}")

    return Result({**trained.payload(), "next": following}, show)
