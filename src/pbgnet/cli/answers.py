"""A column of a table that holds what a classifier answered, wherever it runs."""

from collections.abc import Collection, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pbgnet.cli.cells import NUMBER, parse_labels
from pbgnet.cli.folder import TableReading
from pbgnet.cli.tables import check_column, place_of, some
from pbgnet.exceptions import LabelError, PBGNetError
from pbgnet.table_files import is_csv

if TYPE_CHECKING:
    import pandas as pd

    from pbgnet.certificates import AnswerColumn


def answer_column(
    frame: "pd.DataFrame", name: str, path: Path, labels: Collection[Any], target: str
) -> "AnswerColumn":
    """Return the answers in a column of the table at `path`, each of them one of the labels.

    Raises
    ------
    UnknownNameError
        If there is no such column.
    LabelError
        If a row has no answer, or one that is not a label.
    """
    from pbgnet.certificates import AnswerColumn

    check_column("answers", name, frame.columns)
    column = frame[name]
    gaps = column.isna().to_numpy().nonzero()[0]
    if gaps.size:
        raise LabelError(
            f"{gaps.size} of {len(frame)} rows have no answer in column {name!r}, the first of them "
            f"{place_of(frame, path, int(gaps[0]))}. Do not remove these rows: the bound is about every row "
            "that the classifier meets. Write into the cell what is done there instead, for example none, "
            "and name it with --class none; such a row counts as an error."
        )
    cells = column.tolist()
    meant = read_classes(list(dict.fromkeys(cells)), labels) if is_csv(path) else None
    values = cells if meant is None else [meant[cell] for cell in cells]
    _refuse_unknown(frame, name, path, values, labels, target)
    return AnswerColumn(name, meant)


def read_classes(texts: Sequence[str], labels: Collection[Any]) -> dict[str, Any]:
    """Return the label that each text of a CSV stands for: 1.0 for the class 1, true for True."""
    if any(isinstance(label, str) for label in labels):
        return {text: text for text in texts}
    return {text: parse_labels([text]).tolist()[0] for text in texts}


def written_answers(
    reading: TableReading, frame: "pd.DataFrame", path: Path, labels: Any
) -> "AnswerColumn | None":
    """Return the answers that a table holds, for `verify`; None where there are none, or not as certified."""
    from pbgnet.certificates import AnswerColumn, label_values

    if reading.answers is None or reading.answers not in frame.columns:
        return None
    try:
        known = set(label_values(labels).tolist())
    except PBGNetError:  # a step of its own says so
        return None
    cells = list(dict.fromkeys(frame[reading.answers].dropna().tolist()))
    return AnswerColumn(reading.answers, read_classes(cells, known) if is_csv(path) else None)


def _refuse_unknown(
    frame: "pd.DataFrame",
    name: str,
    path: Path,
    values: Sequence[Any],
    labels: Collection[Any],
    target: str,
) -> None:
    """Raise for an answer that is not a label: a score, another way to write it, or a class by itself."""
    known = set(labels)
    rows = [row for row, value in enumerate(values) if value not in known]
    if not rows:
        return
    odd = values[rows[0]]
    where = place_of(frame, path, rows[0])
    if _is_score(odd):
        raise LabelError(
            f"Column {name!r} contains numbers with decimals, such as {odd!r} in {where}. Scores and "
            f"probabilities are not answers: make a column with the label that is answered, one of "
            f"{some(sorted(known, key=str), 4)}."
        )
    raise LabelError(
        f"Column {name!r} answers {odd!r} in {where}, which is never a label in column {target!r} "
        f"({some(sorted(known, key=str), 4)}); {len(rows)} of {len(values)} answers are not labels. "
        "If they mean the same, write both columns alike. If it is a class that no row here has, name it "
        f"with --class {odd}."
    )


def _is_score(answer: Any) -> bool:
    """Whether an answer is a number with decimals, perhaps one written as text."""
    if isinstance(answer, str) and NUMBER.fullmatch(answer):
        answer = float(answer)
    return isinstance(answer, float) and not answer.is_integer()
