"""``pbgnet train``: from a table to a certified model in a folder."""

import inspect
import shlex
from collections.abc import Iterable
from typing import Any

from pbgnet.cli.console import echo
from pbgnet.cli.folder import TableReading
from pbgnet.cli.given_tables import GivenTables
from pbgnet.cli.launch import launchable
from pbgnet.cli.options import Compare, Debug, Json, Missing, Overwrite, SeveralData
from pbgnet.cli.outcome import Result, command
from pbgnet.cli.stages import Stages
from pbgnet.cli.train_options import (
    Algorithm,
    Certificate,
    Checkpoint,
    ClassConditional,
    ClassWeight,
    Coding,
    Confidence,
    Confusion,
    Contact,
    Coverage,
    DecimalSign,
    Device,
    Drop,
    Groups,
    Hidden,
    Keep,
    KeepIds,
    KeepTogether,
    LearningRate,
    MaxEpochs,
    MaxError,
    Members,
    Models,
    NoHeader,
    Out,
    PerLabel,
    PriorFraction,
    Priors,
    PriorTraining,
    Quiet,
    Restarts,
    Seed,
    Target,
    Test,
    WorkerCount,
)
from pbgnet.cli.workflow import Trained, train_model
from pbgnet.exceptions import OptionError

OF_THE_RUN = ("test", "overwrite", "compare", "groups", "keep_together", "checkpoint", "contact")
"""Options that do not belong to the classifier."""

# Options by the name of the parameter they set: for all classifiers, and for networks only.
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
"""Options of networks with one target only."""

OF_ONE_TARGET = ("class_conditional", "confusion", "max_error", "coverage")
"""Claims about one target only."""


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
    """Raise an error for options that do not apply here."""
    known = inspect.signature(train).parameters
    for option in options:
        if given[option] != known[option].default:
            raise OptionError(f"--{option.replace('_', '-')} {why}.")


def reading_of(given: dict[str, Any]) -> TableReading:
    """Return how to read the table."""
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
    """Return what was trained, for people and machines; nothing for a worker that does not write."""
    if trained is None:
        return Result({}, lambda: None)

    def show() -> None:
        if not quiet:
            trained.show()
            echo(f"Next:   {following}")

    return Result({**trained.payload(), "next": following}, show)
