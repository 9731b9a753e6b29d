"""``pbgnet predict``: labels and probabilities for the rows of a table."""

from pathlib import Path
from typing import Annotated, Any

import typer

from pbgnet.cli.console import echo, pairs
from pbgnet.cli.folder import features, load_reading
from pbgnet.cli.options import Data, Debug, Json, Missing, Model, Overwrite
from pbgnet.cli.outcome import Result, command
from pbgnet.cli.tables import check_column, read_table, write_table
from pbgnet.exceptions import OptionError

__all__ = ["predict"]


@command
def predict(
    model: Model,
    data: Data,
    out: Annotated[
        Path,
        typer.Option(
            "--out", metavar="FILE", readable=False, help="Table to write: .csv, .csv.gz or .parquet."
        ),
    ],
    keep: Annotated[
        list[str] | None,
        typer.Option(
            metavar="COLUMN", help="Column of DATA to copy into the result, such as a key. Repeatable."
        ),
    ] = None,
    target: Annotated[
        str | None,
        typer.Option(
            metavar="COLUMN", help="Column of labels in DATA, which is ignored, if train had another."
        ),
    ] = None,
    missing: Missing = None,
    overwrite: Overwrite = False,
    as_json: Json = False,
    debug: Debug = False,
) -> Result:
    """Predict the label of each row, with the probability of each class.

    The result has one row per row of DATA, in its order: prediction, and the share of the posterior's
    networks that answer with each class.
    """
    import numpy as np
    import pandas as pd

    from pbgnet.certificates import load_model
    from pbgnet.preprocessing.tables import check_columns

    loaded = load_model(model)
    reading = load_reading(model, loaded).with_target(target).with_missing(missing)
    frame = read_table(data, reading.missing)
    for name in keep or ():
        check_column("kept", name, frame.columns)
    if loaded.feature_names is not None and not set(loaded.feature_names) <= set(frame.columns):
        check_columns(list(frame.columns), loaded.feature_names)  # raises, with the nearest names
    output = loaded.decision_function(features(frame, loaded, reading))
    columns: dict[str, Any] = {
        "prediction": np.array(loaded.classes)[(output > 0).astype(np.int64)],
        f"probability_{loaded.classes[0]}": (1.0 - output) / 2.0,
        f"probability_{loaded.classes[1]}": (1.0 + output) / 2.0,
    }
    if both := sorted(set(columns) & set(keep or ())):
        raise OptionError(f"The column {both[0]!r} cannot be kept: the result has one of that name.")
    table = pd.DataFrame({**{name: frame[name] for name in keep or ()}, **columns})
    write_table(table, out, overwrite=overwrite)
    counts = {str(label): int((table["prediction"] == label).sum()) for label in loaded.classes}

    def show() -> None:
        echo(f"{len(table)} predictions in {out}")
        pairs((label, str(count)) for label, count in counts.items())

    return Result(
        {"out": str(out), "rows": len(table), "columns": list(table.columns), "counts": counts}, show
    )
