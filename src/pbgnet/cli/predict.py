"""``pbgnet predict``: labels, and a share for each class, for the rows of a table."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from pbgnet.cli.cells import without_formulas
from pbgnet.cli.console import MOST_CLASSES, echo, pairs
from pbgnet.cli.folder import TableReading, feature_columns, features, load_reading, reads_text
from pbgnet.cli.given_tables import GivenTables
from pbgnet.cli.options import Debug, Json, Missing, Model, Overwrite, SeveralData, out_option
from pbgnet.cli.outcome import Result, command
from pbgnet.cli.stages import Stages, warned_once
from pbgnet.cli.table_writer import check_new_table, table_writer
from pbgnet.cli.tables import check_column
from pbgnet.exceptions import OptionError, UnseenCategoryWarning
from pbgnet.stages import announce, listening, progress
from pbgnet.table_files import is_csv

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd
    from numpy.typing import NDArray

    from pbgnet.certificates import CertifiedModel
    from pbgnet.sources import RowSource

# Number of decimals of a share in a CSV; Parquet keeps all of them.
SHARE_DECIMALS = 6

Kept = Annotated[
    list[str] | None,
    typer.Option(metavar="COLUMN", help="Column of DATA to copy into the result, such as an id. Repeatable."),
]
LabelColumns = Annotated[
    list[str] | None,
    typer.Option(
        metavar="COLUMN",
        help="Column of DATA that holds labels and is ignored, if its name is not the one given "
        "to train. Repeatable.",
    ),
]
EscapeFormulas = Annotated[
    bool,
    typer.Option(
        "--escape-formulas",
        help="In a CSV, put ' before texts that a spreadsheet would run as a formula: those that "
        "start with = + - @ and are not numbers. Labels may then differ from those of the "
        "model by that sign.",
    ),
]


@command
def predict(
    model: Model,
    data: SeveralData,
    out: Annotated[Path, out_option("FILE", "Table to write: .csv, .csv.gz or .parquet.")],
    keep: Kept = None,
    target: LabelColumns = None,
    missing: Missing = None,
    escape_formulas: EscapeFormulas = False,
    overwrite: Overwrite = False,
    as_json: Json = False,
    debug: Debug = False,
) -> Result:
    """Predict the label of each row, with a share for each class.

    The result has one row for each row of DATA, in the same order: the column prediction, and a column
    share_CLASS for each class. A share says how strongly the model favours a class; it is not a calibrated
    probability: 0.999 does not mean that one in a thousand such predictions is wrong. For two classes it is
    the share of the vote; for more, the softmax of the scores. A model of several labels answers 1 or 0 for
    each, in prediction_LABEL. A model trained with --max-error or --coverage leaves the prediction empty when
    it is not confident enough; the column answered says so. Several files are read one after the other.
    """
    from pbgnet.certificates import load_model

    if escape_formulas and not is_csv(out):
        raise OptionError(
            "--escape-formulas only applies to CSV files; texts in a Parquet file are never run as formulas."
        )
    check_new_table(out, overwrite=overwrite)
    loaded = load_model(model)
    reading, kept = load_reading(model, loaded).amended(target, missing), list(keep or ())
    with listening(stages := Stages(shown=not as_json)):
        announce("reading")
        source = reading.scan(GivenTables.of(data), as_text=reads_text(loaded))
        _check_names(loaded, source.columns, kept)
        announce("predicting")
        counts = Counter[str]()
        with (
            table_writer(out, _typical(loaded, source, kept, out), overwrite=overwrite) as write,
            warned_once(UnseenCategoryWarning),
        ):
            for table, output in _predicted(loaded, source, reading, kept, is_csv(out)):
                write(without_formulas(table) if escape_formulas else table)
                counts.update(_counts(loaded, output))
        stages.end()
    named, n_rows = [*kept, *_answers(loaded, _no_output(loaded))], source.shape[0]

    def show() -> None:
        echo(f"{n_rows} predictions in {out}")
        _show_counts(counts)

    return Result({"out": str(out), "rows": n_rows, "columns": named, "counts": dict(counts)}, show)


def _predicted(
    model: "CertifiedModel", source: "RowSource", reading: TableReading, kept: list[str], as_csv: bool
) -> "Iterator[tuple[pd.DataFrame, NDArray[np.float64]]]":
    """Yield the rows of the result with the outputs of the network, a batch at a time."""
    import pandas as pd

    from pbgnet.preprocessing import count_rows

    names, n_done = feature_columns(source.columns, model, reading), 0
    in_frames = bool(kept) or model.feature_names is None
    walked = source.select([*dict.fromkeys([*names, *kept])])
    batches: Iterator[Any] = walked.frames() if in_frames else walked.batches()
    for batch in batches:
        output = model.output(features(batch[names], model, reading) if in_frames else batch)
        answers = pd.DataFrame(_answers(model, output, SHARE_DECIMALS if as_csv else None))
        if kept:
            answers = pd.concat([batch[kept].reset_index(drop=True), answers], axis=1)
        n_done += count_rows(batch)
        progress(n_done, source.shape[0])
        yield answers, output


def _check_names(model: "CertifiedModel", columns: Sequence[str], kept: Sequence[str]) -> None:
    """Raise an error unless the table has the model's columns, and those to keep, without name clashes."""
    from pbgnet.preprocessing import check_columns

    for name in kept:
        check_column("kept", name, columns)
    if model.feature_names is not None and not set(model.feature_names) <= set(columns):
        check_columns(columns, model.feature_names)  # raises, with the nearest names
    if both := sorted(set(_answers(model, _no_output(model))) & set(kept)):
        raise OptionError(
            f"The column {both[0]!r} cannot be kept: the result already has a column of that name."
        )


def _no_output(model: "CertifiedModel") -> "NDArray[np.float64]":
    import numpy as np

    n_outputs = model.inputs.code.n_outputs
    return np.zeros(0 if n_outputs == 1 else (0, n_outputs))


def _typical(
    model: "CertifiedModel", source: "RowSource", kept: list[str], out: Path
) -> "Iterator[pd.DataFrame]":
    """Return an example of the result to determine column types: kept columns, and all answers."""
    import pandas as pd

    if is_csv(out):
        return
    if kept:
        yield from source.select(kept).frames()
    answers = _answers(model, _no_output(model))
    yield pd.DataFrame(answers)
    if "prediction" in answers:
        yield pd.DataFrame({"prediction": list(model.classes)})


def _show_counts(counts: Mapping[str, int]) -> None:
    """Print how often each class, or label, is answered; of many, the most frequent."""
    frequent = sorted(counts.items(), key=lambda each: -each[1])
    shown = counts.items() if len(counts) <= MOST_CLASSES else frequent[:MOST_CLASSES]
    pairs((label, str(count)) for label, count in shown)
    if others := frequent[len(shown) :]:
        echo(f"  and {sum(count for _, count in others)} in {len(others)} other classes")


def _answers(
    model: "CertifiedModel", output: "NDArray[np.float64]", decimals: int | None = None
) -> dict[str, "NDArray[Any]"]:
    """Return the columns of the result: the label the vote answers with, and the share of each class.

    For several labels, 1 or 0 for each. If only some rows are answered, also which.
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
    """Return how many rows are answered with each class, or label, and how many are left unanswered."""
    if model.certificate.answered_error_rate is not None:
        sure = model.inputs.sure_answers(output, model.certificate.threshold).tolist()
        return {str(label): sure.count(label) for label in model.classes} | {"not answered": sure.count(None)}
    answers = model.inputs.answers(output)
    if model.inputs.has_several_labels:
        return dict(zip(map(str, model.classes), answers.sum(axis=0).tolist(), strict=True))
    return {str(label): int((answers == label).sum()) for label in model.classes}
