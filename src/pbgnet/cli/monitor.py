"""``pbgnet monitor``: compare new rows with a certificate, batch after batch."""

import hashlib
import math
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from pbgnet.cli.console import echo, pairs
from pbgnet.cli.folder import TableReading, load_reading
from pbgnet.cli.options import Debug, Json, Missing, Model
from pbgnet.cli.outcome import ExitCode, Result, command, note
from pbgnet.cli.watched import Columns, make_detector, read_new_rows
from pbgnet.exceptions import DamagedFileError, DomainError, OptionError

if TYPE_CHECKING:
    from pbgnet.certificates import CertifiedModel, CertifiedPredictions
    from pbgnet.monitoring import Monitor

ALPHA = 0.01

UNLABELLED = ("pending", "drop", "error")

NewData = Annotated[
    Path | None,
    typer.Argument(
        metavar="[DATA]",
        readable=False,
        help="Table of new rows: .csv, .csv.gz or .parquet. Without it, the command shows the "
        "current state of the log.",
    ),
]
Log = Annotated[
    Path,
    typer.Option(
        "--log",
        metavar="FILE",
        readable=False,
        help="Small JSON file that keeps the state between calls. Created if it does not exist.",
    ),
]
Target = Annotated[
    str | None,
    typer.Option(metavar="COLUMN", help="Column with the labels, if it has another name than in train."),
]
Prediction = Annotated[
    str | None,
    typer.Option(
        metavar="COLUMN",
        help="Column with the predictions, for a classifier that is not stored with its certificate.",
    ),
]
Id = Annotated[
    str | None,
    typer.Option(
        "--id",
        metavar="COLUMN",
        help="Column that identifies each row. A row counts once, and its label may arrive later.",
    ),
]
Groups = Annotated[
    str | None,
    typer.Option(
        "--groups",
        metavar="COLUMN",
        help="Column with the groups, if it has another name than in the certificate.",
    ),
]
Unlabelled = Annotated[
    str | None,
    typer.Option(
        "--unlabelled",
        metavar="HOW",
        help="Rows without a label: pending (wait for the label, by id; the default with --id), "
        "drop (skip them; the default without --id) or error.",
    ),
]
Reference = Annotated[
    Path | None,
    typer.Option(
        "--reference",
        metavar="TABLE",
        readable=False,
        help="The table given to train. New rows are compared with its certified rows, column by "
        "column, without labels. Only read when the log is created.",
    ),
]
Alpha = Annotated[
    float | None,
    typer.Option(help=f"Probability of a false alarm, {ALPHA} by default. Fixed when the log is created."),
]
Page = Annotated[
    Path | None, typer.Option("--page", metavar="FILE", readable=False, help="HTML page to write (.html).")
]
Svg = Annotated[
    Path | None, typer.Option("--svg", metavar="FILE", readable=False, help="Picture to write (.svg).")
]


@command
def monitor(
    model: Model,
    log: Log,
    data: NewData = None,
    target: Target = None,
    prediction: Prediction = None,
    row_id: Id = None,
    groups: Groups = None,
    unlabelled: Unlabelled = None,
    reference: Reference = None,
    alpha: Alpha = None,
    page: Page = None,
    svg: Svg = None,
    missing: Missing = None,
    as_json: Json = False,
    debug: Debug = False,
) -> Result:
    """Check whether a certificate still holds as new rows arrive.

    Exit code 0 if everything is consistent with the certificate, 5 if the error rate has risen above a
    certified bound, 6 if only the rows have changed. Labels may be missing: they can arrive later, or only
    for a random sample of the rows. Rows are counted in the order of DATA. The log is written completely or
    not at all.
    """
    from pbgnet.certificates import load_certified
    from pbgnet.files import locked
    from pbgnet.monitoring import write_monitor_page, write_monitor_picture
    from pbgnet.validation import check_name

    if unlabelled is not None:
        check_name("--unlabelled", unlabelled, UNLABELLED)
    _check_ending("--page", page, ".html")
    _check_ending("--svg", svg, ".svg")
    _check_log(log, begin=data is not None)
    loaded = load_certified(model)
    reading = load_reading(model, loaded).amended(None if target is None else [target], missing)
    with locked(log.absolute().parent):
        watching = _open(log, loaded, reading, reference, alpha)
        taken = {}
        if data is not None:
            columns = Columns(prediction, row_id, groups or _group_column(watching, reading))
            taken = _count(watching, loaded, data, reading, columns, unlabelled)
            watching.save(log)
    written = [write_monitor_page(page, watching)] if page is not None else []
    written += [write_monitor_picture(svg, watching)] if svg is not None else []
    payload = {"log": str(log), "taken": taken, **_payload(watching), "written": list(map(str, written))}
    return Result(payload, lambda: _show(watching, taken, written), _exit_code(watching))


def _open(
    log: Path,
    loaded: "CertifiedModel | CertifiedPredictions",
    reading: TableReading,
    reference: Path | None,
    alpha: float | None,
) -> "Monitor":
    """Continue a log, or begin one."""
    from pbgnet.monitoring import Monitor

    if not log.exists():
        level = ALPHA if alpha is None else alpha
        begun = Monitor(loaded, level)  # checks alpha before tables are read
        if reference is None:
            return begun
        return Monitor(loaded, level, change=make_detector(loaded, reference, reading, level))
    watching = Monitor.resume(log, loaded)
    if alpha is not None and alpha != watching.alpha:
        raise OptionError(
            f"{log} was created with --alpha {watching.alpha:g}, which cannot change once rows "
            "have been counted. Leave out --alpha, or start another log."
        )
    if reference is not None and watching.change is None:
        raise OptionError(f"{log} was created without --reference; start another log to compare rows.")
    return watching


def _group_column(watching: "Monitor", reading: TableReading) -> str | None:
    """Return the column of the groups that the certificate has bounds for, as far as it is known."""
    groups = watching.certificate.groups
    if groups is None or not any(claim.group for claim in watching.claims):
        return None
    column = reading.groups or groups.column
    if column is None:
        raise OptionError(
            "The certificate has bounds for groups; name the column of the groups with --groups."
        )
    return column


def _count(
    watching: "Monitor",
    loaded: "CertifiedModel | CertifiedPredictions",
    data: Path,
    reading: TableReading,
    columns: Columns,
    unlabelled: str | None,
) -> dict[str, int]:
    """Count the rows of a table, and compare the new ones; return what was done with them."""
    import numpy as np

    rows = read_new_rows(loaded, data, reading, columns)
    content = hashlib.sha256(data.read_bytes()).hexdigest()
    if rows.ids is None and watching.has_read(content):
        raise DomainError(
            f"{data} is already in the log and counts only once. If these are different rows that "
            "happen to be equal, name a column that tells rows apart with --id."
        )
    fresh = np.ones(len(rows.answers), dtype=bool) if rows.ids is None else ~watching.knows(rows.ids)
    how = unlabelled or ("drop" if rows.ids is None else "pending")
    taken = watching.update(
        rows.labels,
        rows.answers,
        rows.ids,
        groups=rows.groups,
        answered=rows.answered,
        missing=how,
        repeated="skip",
    )
    if watching.change is not None and fresh.any():
        table = rows.features[fresh]
        watching.change.update(table, extra={name: column[fresh] for name, column in rows.extra().items()})
    if not watching.has_read(content):
        watching.note_table(content)
    if taken.n_skipped:
        note(f"{taken.n_skipped} rows were skipped because their ids were counted before.")
    counted = {name: getattr(taken, name) for name in taken._fields if name != "alarm"}
    return {"n_rows": len(rows.answers), **counted}


def _payload(watching: "Monitor") -> dict[str, Any]:
    change = watching.change
    return {
        "alarm": watching.alarm,
        "summary": watching.summary,
        "alpha": watching.alpha,
        "waiting": len(watching.waiting),
        "error_rate": watching.error_rate._asdict(),
        "claims": [
            {
                "class": claim.given_class,
                "group": claim.group,
                "answered": claim.answered,
                "bound": claim.bound,
                "rows": claim.n_rows,
                "errors": claim.n_errors,
                "log10_e": claim.log_e / math.log(10),
                "log10_alarm": claim.log_threshold(watching.alpha) / math.log(10),
                "alarm_row": claim.alarm_row,
            }
            for claim in watching.claims
        ],
        "change": None
        if change is None
        else {
            "alarm": change.alarm,
            "alarm_row": change.alarm_row,
            "rows": change.n_rows,
            "log10_e": change.log_e / math.log(10),
            "columns": list(change.changed_columns),
        },
    }


def _show(watching: "Monitor", taken: dict[str, int], written: list[Path]) -> None:
    from pbgnet.monitoring import change_sentences, e_value_text, error_sentences

    told = error_sentences(watching.claims, watching.alpha, len(watching.waiting))
    for number, sentence in enumerate(told):
        echo(f"ALARM: {sentence}" if watching.alarm and number == 0 else sentence)
    if watching.change is not None:
        for sentence in change_sentences(watching.change):
            echo(sentence)
    echo()
    words = {
        "n_rows": "rows read",
        "n_counted": "counted",
        "n_completed": "  of these, labels that were pending",
        "n_waiting": "waiting for a label",
        "n_dropped": "without a label, skipped",
        "n_skipped": "counted before, skipped",
    }
    rows = [
        (words[name], str(count)) for name, count in taken.items() if count or name in ("n_rows", "n_counted")
    ]
    for claim in watching.claims:
        state = f"{claim.n_errors} of {claim.n_rows} wrong, e-value {e_value_text(claim.log_e)}, alarm at "
        rows.append(
            (f"bound{claim.rows_meant}", f"{state}{math.exp(claim.log_threshold(watching.alpha)):,.0f}")
        )
    pairs(rows)
    for path in written:
        echo(f"Written: {path}")


def _exit_code(watching: "Monitor") -> ExitCode:
    if watching.alarm:
        return ExitCode.ALARM
    return ExitCode.CHANGED if watching.change is not None and watching.change.alarm else ExitCode.DONE


def _check_log(log: Path, begin: bool) -> None:
    """Raise an error before any work is done if there can be no log at this place."""
    if log.is_dir():
        raise DamagedFileError(f"{log} is a folder, not the log of a monitor.")
    if not log.absolute().parent.is_dir():
        raise FileNotFoundError(2, "there is no such folder", str(log.parent))
    if not begin and not log.exists():
        raise DamagedFileError(f"There is no log {log} yet; pass DATA to create it.")


def _check_ending(option: str, path: Path | None, ending: str) -> None:
    if path is not None and path.suffix.lower() != ending:
        raise OptionError(f"{option} writes {ending} files; {path} has another extension.")
