"""``pbgnet predict``: labels, and a share for each class, for the rows of a table."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from pbgnet.cli.cells import without_formulas
from pbgnet.cli.console import MOST_CLASSES, echo, pairs
from pbgnet.cli.folder import features, load_reading, reads_text
from pbgnet.cli.options import Data, Debug, Json, Missing, Model, Overwrite, out_option
from pbgnet.cli.outcome import Result, command
from pbgnet.cli.tables import check_column, write_table
from pbgnet.exceptions import OptionError
from pbgnet.table_files import is_csv

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from pbgnet.certificates import CertifiedModel

# A share is written into a CSV with so many decimals; Parquet keeps all of them.
SHARE_DECIMALS = 6


@command
def predict(
    model: Model,
    data: Data,
    out: Annotated[Path, out_option("FILE", "Table to write: .csv, .csv.gz or .parquet.")],
    keep: Annotated[
        list[str] | None,
        typer.Option(
            metavar="COLUMN", help="Column of DATA to copy into the result, such as a key. Repeatable."
        ),
    ] = None,
    target: Annotated[
        list[str] | None,
        typer.Option(
            metavar="COLUMN",
            help="Column of labels in DATA, which is ignored, if train had another. Repeatable.",
        ),
    ] = None,
    missing: Missing = None,
    escape_formulas: Annotated[
        bool,
        typer.Option(
            "--escape-formulas",
            help="In a CSV, put ' before texts that a spreadsheet would run as a formula: those that begin "
            "with = + - @ and are no numbers. Labels are then not exactly those of the model.",
        ),
    ] = False,
    overwrite: Overwrite = False,
    as_json: Json = False,
    debug: Debug = False,
) -> Result:
    """Predict the label of each row, with a share for each class.

    The result has one row per row of DATA, in its order: prediction, and a column share_CLASS for each class.
    For two classes that is the share of the vote: of the networks drawn from the posterior or, with two or
    more hidden layers, of the paper's tree networks; for more, softmax of the scores. A share is not a
    calibrated probability: 0.999 does not mean that one in a thousand such predictions is wrong. A model of
    several labels answers 1 or 0 for each, in prediction_LABEL. A model that was trained with --max-error or
    --coverage leaves the prediction empty where it is not sure enough, and says so in the column answered.
    """
    import pandas as pd

    from pbgnet.certificates import load_model
    from pbgnet.preprocessing import check_columns

    if escape_formulas and not is_csv(out):
        raise OptionError("--escape-formulas is for a CSV; programs do not run the texts of a Parquet file.")
    loaded = load_model(model)
    reading = load_reading(model, loaded).amended(target, missing)
    frame = reading.read(data, as_text=reads_text(loaded))
    for name in keep or ():
        check_column("kept", name, frame.columns)
    if loaded.feature_names is not None and not set(loaded.feature_names) <= set(frame.columns):
        check_columns(list(frame.columns), loaded.feature_names)  # raises, with the nearest names
    output = loaded.output(features(frame, loaded, reading))
    columns = _answers(loaded, output, SHARE_DECIMALS if is_csv(out) else None)
    if both := sorted(set(columns) & set(keep or ())):
        raise OptionError(f"The column {both[0]!r} cannot be kept: the result has one of that name.")
    table = pd.DataFrame({**{name: frame[name] for name in keep or ()}, **columns})
    write_table(without_formulas(table) if escape_formulas else table, out, overwrite=overwrite)
    counts = _counts(loaded, output)

    def show() -> None:
        echo(f"{len(table)} predictions in {out}")
        _show_counts(counts)

    return Result(
        {"out": str(out), "rows": len(table), "columns": list(table.columns), "counts": counts}, show
    )


def _show_counts(counts: dict[str, int]) -> None:
    """Print how often each class, or label, is answered; of many, the most frequent."""
    frequent = sorted(counts.items(), key=lambda each: -each[1])
    shown = counts.items() if len(counts) <= MOST_CLASSES else frequent[:MOST_CLASSES]
    pairs((label, str(count)) for label, count in shown)
    if others := frequent[len(shown) :]:
        echo(f"  and {sum(count for _, count in others)} of {len(others)} other classes")


def _answers(
    model: "CertifiedModel", output: "NDArray[np.float64]", decimals: int | None
) -> dict[str, "NDArray[Any]"]:
    """Return the columns of the result: the label the vote answers with, and the share of each class.

    Of several labels, 1 or 0 for each. Where only some rows are answered, which.
    """
    import numpy as np

    shares = model.inputs.shares(output)
    written = shares if decimals is None else shares.round(decimals)
    named = {f"share_{label}": share for label, share in zip(model.classes, written.T, strict=True)}
    if model.certificate.answered_error_rate is not None:
        sure = model.inputs.sure_answers(output, model.certificate.threshold)
        return {"prediction": sure, "answered": np.array([answer is not None for answer in sure]), **named}
    answers = model.inputs.answers(output)
    if not model.inputs.has_several_labels:
        return {"prediction": answers, **named}
    each = zip(model.classes, answers.T, strict=True)
    return {f"prediction_{label}": column for label, column in each} | named


def _counts(model: "CertifiedModel", output: "NDArray[np.float64]") -> dict[str, int]:
    """Return on how many rows the vote answers with each class, or label; and how many it leaves."""
    if model.certificate.answered_error_rate is not None:
        sure = model.inputs.sure_answers(output, model.certificate.threshold).tolist()
        return {str(label): sure.count(label) for label in model.classes} | {"not answered": sure.count(None)}
    answers = model.inputs.answers(output)
    if model.inputs.has_several_labels:
        return dict(zip(map(str, model.classes), answers.sum(axis=0).tolist(), strict=True))
    return {str(label): int((answers == label).sum()) for label in model.classes}
