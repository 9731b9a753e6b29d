"""``pbgnet certify``: a certificate for a classifier that runs elsewhere, from a table with its answers."""

import shlex
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from pbgnet.cli.answers import answer_column, read_classes
from pbgnet.cli.console import echo, show_certificate
from pbgnet.cli.folder import TableReading, check_new_folder, columns_of
from pbgnet.cli.given_tables import GivenTables
from pbgnet.cli.options import Debug, Json, Missing, Overwrite, SeveralData, out_option
from pbgnet.cli.outcome import Result, command, note
from pbgnet.cli.stages import Stages
from pbgnet.cli.tables import labels
from pbgnet.cli.train_options import (
    ClassConditional,
    Confidence,
    Confusion,
    Contact,
    Drop,
    Groups,
    NoHeader,
    Quiet,
)
from pbgnet.cli.workflow import check_classes, save_folder, with_groups
from pbgnet.exceptions import DuplicateRowsWarning, OptionError
from pbgnet.stages import listening

if TYPE_CHECKING:
    from pbgnet.certificates import CertifiedPredictions

Target = Annotated[str, typer.Option("--target", metavar="COLUMN", help="Column with the true labels.")]
Answers = Annotated[
    str, typer.Option("--answers", metavar="COLUMN", help="Column with what the classifier answered.")
]
Out = Annotated[Path, out_option("FOLDER", "Folder to create for the certificate.")]
Name = Annotated[
    str | None,
    typer.Option(
        "--name",
        metavar="TEXT",
        help="What gave the answers, such as 'credit score 3.2'; in the certificate.",
    ),
]
ClassNames = Annotated[
    list[str] | None,
    typer.Option(
        "--class",
        metavar="NAME",
        help="A possible class or answer that no row may have. Repeatable. With --class-conditional or "
        "--confusion, name all classes.",
    ),
]
Models = Annotated[
    int,
    typer.Option(
        "--n-models",
        min=1,
        metavar="N",
        help="Number of classifiers you choose from by looking at these rows; the confidence is shared "
        "between them.",
    ),
]
TrainingData = Annotated[
    Path | None,
    typer.Option(
        "--training-data",
        metavar="FILE",
        readable=False,
        help="Table the classifier was trained on. pbgnet refuses to certify if a row is in both.",
    ),
]


@command
def certify(
    data: SeveralData,
    target: Target,
    answers: Answers,
    out: Out,
    name: Name = None,
    confidence: Confidence = 0.95,
    class_names: ClassNames = None,
    class_conditional: ClassConditional = False,
    confusion: Confusion = False,
    groups: Groups = None,
    n_models: Models = 1,
    training_data: TrainingData = None,
    drop: Drop = None,
    missing: Missing = None,
    no_header: NoHeader = False,
    contact: Contact = None,
    overwrite: Overwrite = False,
    quiet: Quiet = False,
    as_json: Json = False,
    debug: Debug = False,
) -> Result:
    """Certify a classifier that runs elsewhere, from a table with its answers and the true labels.

    The classifier may be written in any language, or be a service: pbgnet only counts its answers. The rows
    must have had no part in making it. The new folder contains the certificate, the answers and report.html;
    verify, monitor, show, report and declare work on it.
    """
    if target == answers:
        raise OptionError(
            f"--target and --answers both name {target!r}. The labels say what is right, the answers what "
            "the classifier said; they are two columns."
        )
    if answers in (drop or ()):
        raise OptionError(f"The column of the answers, {answers!r}, cannot be dropped.")
    if (class_conditional or confusion) and not class_names:
        raise OptionError(
            "--class-conditional and --confusion share the confidence between classes, whose number must "
            "not depend on the labels in this table. Name every possible class with --class."
        )
    if not 0 < confidence < 1:
        raise OptionError(f"--confidence must be between 0 and 1, for example 0.95; got {confidence:g}.")
    check_new_folder(out, overwrite)
    tables = GivenTables.of(data)
    reading = TableReading((target,), dropped=tuple(drop or ()), header=not no_header, answers=answers)
    reading = reading.amended(missing=missing)
    with listening(stages := Stages(shown=not (quiet or as_json))):
        stages.begin("reading")
        certified = _certify(
            tables,
            reading,
            out,
            {"contact": contact, "overwrite": overwrite, "training_data": training_data, "groups": groups},
            class_names or [],
            {
                "name": name,
                "confidence": confidence,
                "class_conditional": class_conditional,
                "confusion": confusion,
                "n_models": n_models,
            },
        )
        stages.end()
    return _outcome(certified, out, f"pbgnet verify {shlex.quote(str(out))} {tables}", quiet)


def _certify(
    data: GivenTables,
    reading: TableReading,
    out: Path,
    given: dict[str, Any],
    class_names: list[str],
    options: dict[str, Any],
) -> "CertifiedPredictions":
    """Read the table, count the errors, and save the certificate with its report."""
    from pbgnet.certificates import certify as count
    from pbgnet.report import About, Kept, render_kept

    target, answers = reading.targets[0], reading.answers
    assert answers is not None
    frame = reading.open(data)
    y = labels(frame, target, data.first)
    classes = check_classes(y, target)
    named = list(read_classes(class_names, classes).values())
    column = answer_column(frame, answers, data.first, [*classes, *named], target)
    X = reading.training_features(frame)  # noqa: N806
    reading, told = with_groups(reading, frame, X, given["groups"])
    seen = None
    if given["training_data"] is not None:
        seen = _training_rows(given["training_data"], reading, list(X.columns))
    with warnings.catch_warnings():
        if list(X.columns) == [answers]:
            warnings.simplefilter("ignore", DuplicateRowsWarning)
            note(
                f"The table has no columns besides {target!r} and {answers!r}, so equal rows may be copies "
                "of one case or different cases; the certificate says so. A column that tells cases apart, "
                "such as an id, prevents that."
            )
        certified = count(column, X, y, training_data=seen, classes=named or None, groups=told, **options)
    if certified.certificate.inputs.n_errors == 0:
        note(f"Every answer equals its label. Check that {answers!r} is not a copy of {target!r}.")
    kept = Kept(About(data.title, given["contact"]))
    page = render_kept(certified, kept, X, y, check_table=False)
    save_folder(out, certified, reading, kept, page, overwrite=given["overwrite"])
    return certified


def _training_rows(path: Path, reading: TableReading, columns: list[str]) -> Any:
    """Return the table the classifier was trained on, in the columns that both tables have."""
    frame = reading.open(GivenTables.of([path]))
    shared = [name for name in columns if name in frame.columns and name != reading.answers]
    if not shared:
        raise OptionError(f"{path} has no column in common with the table, so rows cannot be compared.")
    return columns_of(frame, shared)


def _outcome(certified: "CertifiedPredictions", out: Path, following: str, quiet: bool) -> Result:
    """Return what was certified, for people and machines."""
    certificate, report = certified.certificate, out / "report.html"
    payload = {
        "folder": str(out),
        "report": str(report),
        "rows": certificate.inputs.n,
        "classes": list(certified.classes),
        "certificate": certificate.to_dict(),
        "next": following,
    }

    def show() -> None:
        if not quiet:
            show_certificate(certified)
            echo(f"Folder: {out}")
            echo(f"Report: {report}")
            echo(f"Next:   {following}")

    return Result(payload, show)
