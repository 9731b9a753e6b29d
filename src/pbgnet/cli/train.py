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
        help="Column of the labels. Repeatable, if rows may have several labels: one column for each, which "
        "holds 0 and 1, no and yes, false and true, or x and nothing.",
    ),
]
Out = Annotated[Path, out_option("MODEL", "Folder to make for the model.")]
Hidden = Annotated[
    list[str],
    typer.Option(metavar="SIZES", help="Sizes of the hidden layers: 10 or 10,10; none for linear; auto."),
]
Algorithm = Annotated[
    str,
    typer.Option(metavar="NAME", help=f"One of {', '.join(CERTIFIED)}.", autocompletion=offering(CERTIFIED)),
]
Coding = Annotated[
    str,
    typer.Option(
        "--code",
        metavar="NAME",
        help=f"What the outputs stand for with more than two classes: auto, {', '.join(CODES)}.",
        autocompletion=offering(["auto", *CODES]),
    ),
]
Members = Annotated[
    int, typer.Option("--members", min=1, metavar="N", help="Networks of an ensemble, which answer together.")
]
ClassWeight = Annotated[
    str | None,
    typer.Option(
        metavar="NAME",
        help="balanced: rows of rarer classes weigh more in training.",
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
        help="Rows with one value of it, as of one customer, stay together when rows are set apart.",
    ),
]
Groups = Annotated[
    str | None,
    typer.Option(
        metavar="COLUMN",
        help="Also bound the error rate in each group that this column names, and how far two groups differ: "
        "the held-out route. With --drop it is no feature.",
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
        help=f"Route to the certificate: one of {', '.join(CERTIFICATES)}.",
        autocompletion=offering(CERTIFICATES),
    ),
]
ClassConditional = Annotated[
    bool, typer.Option("--class-conditional", help="Also bound the error rate in each class.")
]
Confusion = Annotated[
    bool,
    typer.Option(
        "--confusion", help="Also bound how often each class is answered with each other: the held-out route."
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
        help="Answer only where sure: as many rows as can be with at most this share of answers wrong.",
    ),
]
Coverage = Annotated[
    float | None,
    typer.Option("--coverage", metavar="X", help="Answer only where sure: about this share of rows."),
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
Device = Annotated[
    str,
    typer.Option(
        metavar="NAME",
        help="Where to train: auto, cpu or cuda.",
        autocompletion=offering(["auto", "cpu", "cuda"]),
    ),
]
Drop = Annotated[
    list[str] | None, typer.Option(metavar="COLUMN", help="Column that is not a feature. Repeatable.")
]
Models = Annotated[
    list[str] | None,
    typer.Option(
        "--model",
        metavar="NAME",
        help=f"Another classifier than a network: {' | '.join(CLASSIFIERS)} . Repeatable: the best by "
        "cross-validation on the rows set apart is taken. It is not stored.",
        autocompletion=offering(CLASSIFIERS),
    ),
]
Keep = Annotated[
    Path | None,
    typer.Option(
        "--keep",
        metavar="FILE",
        readable=False,
        help="With --model: also pickle the fitted pipeline there, for yourself. Open no pickle of others.",
    ),
]
NoHeader = Annotated[
    bool,
    typer.Option("--no-header", help="The CSV has no line of names: its columns are column_1, column_2 ..."),
]
DecimalSign = Annotated[
    str,
    typer.Option(
        "--decimal", metavar="SIGN", help="Sign before decimals in a CSV: . or , (auto: whichever fits)."
    ),
]
KeepIds = Annotated[
    bool, typer.Option("--keep-ids", help="Learn also from columns that differ in every row, as names do.")
]
WorkerCount = Annotated[
    int,
    typer.Option(
        "--workers",
        min=1,
        max=256,
        metavar="N",
        help="Train in N processes on this machine, of one thread each; the result is the same. Over several "
        "machines: torchrun.",
    ),
]
Checkpoint = Annotated[
    Path | None,
    typer.Option(
        "--checkpoint",
        metavar="FOLDER",
        readable=False,
        help="Keep there what training has reached, every two minutes: one that was ended goes on there, "
        "with the same result. Removed when the model is saved.",
    ),
]
Contact = Annotated[
    str | None,
    typer.Option(
        "--contact", metavar="TEXT", help="Whom to ask about the model, for the header of the report."
    ),
]
Quiet = Annotated[bool, typer.Option("--quiet", help="No stages, no progress bar, and no output but errors.")]


def parse_hidden(texts: list[str]) -> tuple[int, ...] | str:
    """Read the sizes of hidden layers: "10", "10,10", "none" for a linear classifier, or "auto"."""
    parts = [part.strip() for text in texts for part in text.split(",")]
    if parts == ["auto"]:
        return "auto"
    if parts == ["none"]:
        return ()
    if not all(part.isdecimal() and int(part) > 0 for part in parts):
        raise OptionError(f"--hidden takes sizes such as 10 or 10,10, none or auto; got {' '.join(texts)!r}.")
    return tuple(map(int, parts))


def parameters_of(given: dict[str, Any]) -> dict[str, Any]:
    """Return the options of ``train`` as parameters of what it trains; raise for those that do not fit."""
    shared = {name: given[option] for option, name in SHARED.items()}
    several_labels = len(given["target"]) > 1
    if given["per_label"] and not several_labels:
        raise OptionError("--per-label is for several --target; --class-conditional bounds each class.")
    if several_labels:
        _refuse("is for one --target, whose rows have a class each", OF_ONE_TARGET, given)
        shared = {name: shared[name] for name in ("confidence", "prior_fraction", "random_state")}
        shared["per_label"] = given["per_label"]
    if given["model"]:
        _refuse("is an option of networks; --model is none", OF_NETWORKS, given)
        return {**shared, "n_models": given["n_priors"], "models": given["model"], "keep": given["keep"]}
    if given["keep"] is not None:
        raise OptionError("--keep is for --model: a network is stored in the folder as it is.")
    options = set(OF_NETWORKS)
    if several_labels:
        _refuse("is for one --target; several are learned by one ensemble", OF_CLASSES, given)
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
        raise OptionError(
            f"--decimal is the sign before decimals, . or , (or auto); got {given['decimal']!r:.20}."
        )
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
    """Train a classifier on a table, certify it, save it with a report.

    Numbers, words and missing values may be mixed. The folder then holds the model, its certificate and
    report.html.
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
