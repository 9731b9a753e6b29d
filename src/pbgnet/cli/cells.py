"""The cells of a CSV: all of them texts, so no row influences how the others are read."""

import math
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pandas as pd
    from numpy.typing import NDArray

WHOLE = re.compile(r"[+-]?[0-9]+")
NUMBER = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")
CODE = re.compile(r"0[0-9]")
INFINITY = re.compile(r"[+-]?inf(inity)?", re.IGNORECASE)
LARGE = re.compile(r"e\+?[0-9]{3}")
FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n")
TRUTH = {"True": True, "true": True, "TRUE": True, "False": False, "false": False, "FALSE": False}


def parse_labels(texts: Sequence[str]) -> "NDArray[Any]":
    """Return labels as booleans or numbers if all of them are, otherwise as texts.

    Truth values are ``True``, ``true``, ``TRUE`` and the like. Whole numbers become int, others float, so
    that ``1`` and ``1.0`` are one class. Numbers too large to be told apart stay texts. So do
    codes of one length with zeros in front, such as ``01`` and ``12``: the zeros belong to the name.
    """
    import numpy as np

    kinds = dict.fromkeys(texts)
    values: dict[str, Any] | None = None
    if all(text in TRUTH for text in kinds):
        values = {text: TRUTH[text] for text in kinds}
    elif len(set(map(len, kinds))) == 1 and any(CODE.match(text) for text in kinds):
        pass
    elif all(WHOLE.fullmatch(text) for text in kinds):
        values = {text: int(text) for text in kinds}
    elif all(NUMBER.fullmatch(text) for text in kinds):
        numbers = {text: float(text) for text in kinds}
        whole = all(number.is_integer() for number in numbers.values())
        values = {text: int(number) for text, number in numbers.items()} if whole else dict(numbers)
    if values is None or any(abs(value) >= 2**53 for value in values.values()):
        return np.array(list(texts), dtype=object)
    return np.array([values[text] for text in texts])


def without_formulas(frame: "pd.DataFrame") -> "pd.DataFrame":
    """Return a table in which no text, in cells or names, is a formula to a spreadsheet.

    Such a text gets a ``'`` in front, which spreadsheets read as "this is text". Numbers stay as they are.
    """

    def escaped(cell: Any) -> Any:
        is_formula = isinstance(cell, str) and cell.startswith(FORMULA) and not NUMBER.fullmatch(cell)
        return f"'{cell}" if is_formula else cell

    safe = {escaped(name): column.map(escaped) for name, column in frame.items()}
    return type(frame)(safe)


def first_infinity(column: "pd.Series[Any]") -> int | None:
    """Return the first row with infinity in a column of numbers, written as text or not."""
    import numpy as np
    import pandas as pd

    if column.dtype.kind not in "fO":
        return None
    if column.dtype.kind == "O":
        cells = [cell for cell in column.tolist() if cell is not None]
        if set(map(type, cells)) <= {str} and not _may_overflow(cells):
            return None
    read = column.map(_read_number)
    numbers = pd.to_numeric(read, errors="coerce").to_numpy(dtype=np.float64, na_value=math.nan)
    infinite = np.isinf(numbers)
    words = np.isnan(numbers) & column.notna().to_numpy()
    return int(np.argmax(infinite)) if infinite.any() and not words.any() else None


def _may_overflow(cells: list[str]) -> bool:
    """Whether a text may be infinity, at a glance: none other is too large for a float."""
    joined = "\n".join(cells).lower()
    large = "e" in joined and LARGE.search(joined) is not None
    return large or "inf" in joined or max(map(len, cells), default=0) > 200


def _read_number(cell: Any) -> Any:
    """Return the number a text writes out, NaN for a word; versions of pandas do not agree on 1e999."""
    if not isinstance(cell, str):
        return cell
    text = cell.strip()
    return float(text) if NUMBER.fullmatch(text) or INFINITY.fullmatch(text) else math.nan
