"""``pbgnet verify``: recompute everything a certificate says, without importing anything from training."""

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from pbgnet.cli.answers import written_answers
from pbgnet.cli.console import console, echo, printable
from pbgnet.cli.folder import TableReading, features, load_reading, reads_text
from pbgnet.cli.given_tables import GivenTables
from pbgnet.cli.label_columns import label_matrix
from pbgnet.cli.options import Debug, Json, Missing, Model, SeveralData
from pbgnet.cli.outcome import ExitCode, Result, command, note
from pbgnet.cli.stages import Stages
from pbgnet.cli.tables import check_column, label_column
from pbgnet.exceptions import DamagedFileError, LabelError, OptionError, PBGNetError
from pbgnet.files import folder_stands, standing_folder
from pbgnet.records import is_fingerprint
from pbgnet.stages import announce, listening

if TYPE_CHECKING:
    import pandas as pd

    from pbgnet.certificates import CertifiedModel, CertifiedPredictions, VerificationReport

PAGE, AS_WRITTEN = "report.html", "the page that certificate and table give"

# Longer texts are cut in the table; --json has all of them.
LONGEST_CELL = 36

# What is printed for the status of a step, and its style: what was not recomputed is not green.
# Steps that were not checked are counted in the summary, not listed.
RESULTS = {"ok": ("ok", "green"), "failed": ("FAILED", "bold red"), "trusted": ("on trust", "yellow")}


def verify_model(
    model: Path, data: GivenTables, targets: list[str] | None = None, missing: list[str] | None = None
) -> "VerificationReport":
    """Verify the model in a folder against a table in files, read the way train read it."""
    import warnings

    import numpy as np

    from pbgnet.certificates import DisagreementSubject, load_certified
    from pbgnet.certificates import verify as recompute
    from pbgnet.exceptions import PBGNetWarning

    try:
        loaded = load_certified(model, check=False)  # the steps compare it
    except DamagedFileError:
        if not folder_stands(model):
            raise
        return recompute(model, np.zeros((0, 0)), np.zeros(0))  # lists the damage as its first step
    reading = load_reading(model, loaded).amended(targets, missing)
    if not reading.targets and not isinstance(loaded.certificate.subject, DisagreementSubject):
        raise OptionError("The model does not record which column holds the labels; name it with --target.")
    if reads_text(loaded) and reading.data is not None and not data.is_csv:
        raise OptionError(
            "The model was trained on a CSV, whose cells are compared exactly as they are "
            f"written. {data} is not a CSV; verify the model with the original file."
        )
    frame, table = read_as_certified(loaded, data, reading)
    if not reading.targets:  # a disagreement, which needs no labels
        return _with_page(recompute(loaded, table), model, table)
    y = _labels_to_compare(frame, reading, data.first)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PBGNetWarning)  # they were given when the model was made
        asked, groups = written_answers(reading, frame, data.first, y), reading.given_groups(frame)
        return _with_page(recompute(loaded, table, y, model=asked, groups=groups), model, table, y)


def _with_page(report: "VerificationReport", folder: Path, X: Any, y: Any = None) -> "VerificationReport":  # noqa: N803
    """Add a step that writes report.html again and compares it, if there is one and all else agrees."""
    from pbgnet.certificates import VerificationReport, VerificationStep

    path = standing_folder(folder) / PAGE
    if not path.is_file():
        return report
    if not report.ok:
        return VerificationReport(
            (*report.steps, VerificationStep(PAGE, AS_WRITTEN, "not checked", "skipped"))
        )
    from pbgnet.report import report_difference

    try:
        difference = report_difference(path.parent, X, y)
    except PBGNetError as error:
        note = f"the page could not be regenerated for comparison ({error}); do not rely on what it says"
        step = VerificationStep(PAGE, AS_WRITTEN, AS_WRITTEN, "trusted", note)
    else:
        detail = (
            "The page or the history.json that it shows was edited, or another version of pbgnet wrote it: "
            f"{difference}. The certificate itself was verified above; pbgnet report writes the page again."
        )
        step = VerificationStep(PAGE, AS_WRITTEN, AS_WRITTEN, "ok")
        if difference:
            step = VerificationStep(PAGE, AS_WRITTEN, "another page", "failed", detail)
    return VerificationReport((*report.steps, step))


def _labels_to_compare(frame: "pd.DataFrame", reading: TableReading, data: Path) -> Any:
    """Return the labels; cells that are not labels stay as they are, for the steps of `verify` to name."""
    if len(reading.targets) == 1:
        return label_column(frame, reading.targets[0], data)
    try:
        return label_matrix(frame, reading.targets, data)
    except LabelError as error:
        note(str(error))
        return frame[list(reading.targets)]


def read_as_certified(
    loaded: "CertifiedModel | CertifiedPredictions", data: GivenTables, reading: TableReading
) -> tuple[Any, Any]:
    """Return the table and the columns of the model, with typed cells if it is those that were certified.

    A model that tells numbers from words itself may have been made from a CSV, or in Python from a table.
    """
    from pbgnet.certificates import FittedSubject, fingerprint_features

    trained_here, either = reading.data is not None, [False, True]
    as_read = reads_text(loaded) or reading.answers is not None
    if not isinstance(loaded.certificate.subject, FittedSubject) and (trained_here or not as_read):
        either = [as_read]
    for as_text in either:
        frame = reading.open(data, as_text=as_text)
        for name in reading.targets:
            check_column("target", name, frame.columns)
        table = features(frame, loaded, reading, complete=False)
        if len(either) == 1 or fingerprint_features(table) == loaded.certificate.fingerprints.features:
            break
    return frame, table


def show_steps(report: "VerificationReport") -> None:
    """Print each step with what was expected and found, then the verdict."""
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for heading in ("step", "expected", "found", "result"):
        table.add_column(heading, no_wrap=heading in ("step", "result"), overflow="fold")
    for step in (step for step in report.steps if step.status in RESULTS):
        cells = [Text(_cell(text)) for text in (step.name, step.expected, step.found)]
        words, style = RESULTS[step.status]
        table.add_row(*cells, Text(words, style=style))
    console().print(table)
    echo()
    for wanted, words in (("failed", "FAILED"), ("trusted", "on trust"), ("ok", "note")):
        for step in report.steps:
            if step.status == wanted and (told := step.detail if step.name == PAGE else step.told):
                echo(f"  {words}: {step.name}: {told.removeprefix('taken on trust: ')}")
    echo(report.summary)


@command
def verify(
    model: Model,
    data: SeveralData,
    target: Annotated[
        list[str] | None,
        typer.Option(
            metavar="COLUMN",
            help="Column with the labels, if it has another name than in train. Repeatable, for "
            "several labels.",
        ),
    ] = None,
    missing: Missing = None,
    as_json: Json = False,
    debug: Debug = False,
) -> Result:
    """Recompute a certificate from the model and the table it was trained on.

    Exit code 0 if every step agrees, 1 if one does not. Verification stops at the first step that fails, and
    says what may explain it: a changed weight, label, value, row or number. Training is not repeated; what
    cannot be recomputed is listed as "on trust".
    """
    with listening(stages := Stages(shown=not as_json)):
        announce("verifying")
        report = verify_model(model, GivenTables.of(data), target, missing)
        stages.end()
    payload = {"ok": report.ok, "steps": [asdict(step) for step in report.steps]}
    return Result(payload, lambda: show_steps(report), ExitCode.DONE if report.ok else ExitCode.NOT_VERIFIED)


def _cell(text: str) -> str:
    """Shorten fingerprints and long texts for display."""
    if is_fingerprint(text):
        return f"{text[:12]}..."
    short = printable(text)
    return short if len(short) <= LONGEST_CELL else f"{short[: LONGEST_CELL - 3]}..."
