"""Columns that say which of several labels a row has: two values each, one of which means "has it"."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pbgnet.cli.tables import check_column, labels, place_of, refuse_gaps, some
from pbgnet.exceptions import LabelError, OptionError

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd
    from numpy.typing import NDArray

MARK = "x"
PAIRS = (("0", "1"), ("false", "true"), ("no", "yes"), ("n", "y"), ("f", "t"), ("", MARK))
"""Values of a label column, in any case: the second of a pair means "has it"."""

OF_GAPS = "remove those rows, or mark rows that do not have the label, for example with 0"

RULE = (
    "0 and 1, false and true, no and yes, n and y, f and t, or an x for rows that have "
    "the label and an empty cell for those that do not"
)


def targets_of(frame: "pd.DataFrame", targets: Sequence[str], path: Path) -> Any:
    """Return the labels of the table at `path`: one per row, or a table of 0 and 1 for several targets."""
    if len(targets) == 1:
        return labels(frame, targets[0], path)
    return label_matrix(frame, targets, path)


def label_matrix(frame: "pd.DataFrame", targets: Sequence[str], path: Path) -> "pd.DataFrame":
    """Return which rows have which label: a column of 0 and 1 for each target.

    Raises
    ------
    LabelError
        If a column contains anything but one of `PAIRS`, or missing values.
    OptionError
        If a target is named twice.
    """
    import pandas as pd

    if twice := sorted({name for name in targets if list(targets).count(name) > 1}):
        raise OptionError(f"--target names {some(twice)} twice; name each label once.")
    for name in targets:
        check_column("target", name, frame.columns)
    return pd.DataFrame({name: _has_label(frame, name, path) for name in targets}, index=frame.index)


def _has_label(frame: "pd.DataFrame", name: str, path: Path) -> "NDArray[np.int8]":
    """Return 1 for the rows that have a label, 0 for the others."""
    import numpy as np

    column = frame[name]
    refuse_gaps(frame, name, path, column.isna().to_numpy(), OF_GAPS)
    words = [_word(cell) for cell in column.tolist()]
    found = set(words)
    pair = next((pair for pair in PAIRS if found <= set(pair)), None)
    if pair is None:
        if MARK not in found:
            refuse_gaps(frame, name, path, np.array([word == "" for word in words]), OF_GAPS)
        known = max(PAIRS, key=lambda pair: sum(word in pair for word in words))
        odd = next(row for row, word in enumerate(words) if word not in known)
        raise LabelError(
            f"Column {name!r} must say which rows have that label, using {RULE}; it contains "
            f"{str(column.iloc[odd])!r:.40} in {place_of(frame, path, odd)}. Correct it or, if "
            "the column holds classes, make it the only --target."
        )
    if found == {""}:
        raise LabelError(f"Column {name!r} is empty: no row has that label. Remove it from --target.")
    return np.array([word == pair[1] for word in words], dtype=np.int8)


def _word(cell: Any) -> str:
    """Return a cell in lower case, with numbers written as whole numbers."""
    text = str(cell).strip().casefold()
    return text[:-2] if text in ("0.0", "1.0") else text
