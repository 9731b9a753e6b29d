"""From Arrow columns to those that pbgnet learns from, depending only on their types.

They become what the whole column would become as a column of a pandas frame.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from pbgnet.exceptions import DtypeError
from pbgnet.preprocessing import Column, Moments, Words, read_columns

if TYPE_CHECKING:
    import pyarrow as pa


def kind_of(kind: "pa.DataType") -> str:
    """Return the kind of a column of an Arrow type: files may differ in types, but not in kinds.

    "none" for a column without any value; "" for types that are not supported.
    """
    import pyarrow.types as types

    tests: dict[str, tuple[Callable[[Any], bool], ...]] = {
        "numbers": (types.is_integer, types.is_floating, types.is_decimal),
        "texts": (types.is_string, types.is_large_string, lambda one: str(one) == "string_view"),
        "truth values": (types.is_boolean,),
        "dates": (types.is_date, types.is_timestamp),
        "times": (types.is_time,),
        "spans of time": (types.is_duration,),
        "categories": (types.is_dictionary,),
        "none": (types.is_null,),
    }
    return next((name for name, some in tests.items() if any(test(kind) for test in some)), "")


def read_arrow(name: str, array: "pa.Array", kind: str) -> Column:
    """Read a part of a column of some kind."""
    if kind not in READERS:
        raise DtypeError(
            f"Column {name!r} holds {array.type}; use numbers, text, dates or true/false, or drop the column."
        )
    return READERS[kind](name, array)


def to_frame(table: Any) -> Any:
    """Return an Arrow table or batch as a pandas frame, with any index as an ordinary column."""
    return table.to_pandas(ignore_metadata=True, date_as_object=False)


def _read_numbers(name: str, array: "pa.Array") -> Column:
    import pyarrow.types as types

    if types.is_decimal(array.type):  # written out by Python, for consistent rounding
        return Column(
            name, np.array([np.nan if one is None else float(one) for one in array.to_pylist()]), None
        )
    numbers = array.cast("float64", safe=False).to_numpy(zero_copy_only=False)
    return Column(name, np.asarray(numbers, dtype=np.float64), None)


def _read_texts(name: str, array: "pa.Array") -> Column:
    import pyarrow.types as types

    coded = array if types.is_dictionary(array.type) else array.dictionary_encode()
    return Column(name, None, Words(coded.dictionary.to_pylist(), _places(coded.indices)))


def _read_truth_values(name: str, array: "pa.Array") -> Column:
    return Column(name, None, Words(["False", "True"], _places(array.cast("int8"))))


def _read_dates(name: str, array: "pa.Array") -> Column:
    if getattr(array.type, "tz", None) is not None:  # in local time, with the calendar of pandas
        return read_columns(_one_column(name, array))[0]
    return Column(name, None, Moments.read(array.to_numpy(zero_copy_only=False)), dates=True)


def _read_spans(name: str, array: "pa.Array") -> Column:
    return Column(name, array.to_numpy(zero_copy_only=False) / np.timedelta64(1, "s"), None)


def _read_times(name: str, array: "pa.Array") -> Column:
    (column,) = read_columns(_one_column(name, array))
    if column.texts is None:  # a part without any value says nothing about its kind
        return Column(name, None, Words([], np.full(len(array), -1)), dates=True)
    return column


def _read_categories(name: str, array: "pa.Array") -> Column:
    frame = _one_column(name, array.dictionary).astype({name: "category"})  # numbers are names here, too
    (column,) = read_columns(frame)
    words = Words.of(column.texts or [])  # two values may be written the same, or one may be missing
    places = np.append(words.places, -1)[_places(array.indices)]
    return Column(name, None, Words(words.words, places), categorical=True)


def _read_nothing(name: str, array: "pa.Array") -> Column:
    return Column(name, np.full(len(array), np.nan), None)


def _one_column(name: str, array: "pa.Array") -> Any:
    import pyarrow as pa

    return to_frame(pa.table({name: array}))


def _places(indices: "pa.Array") -> NDArray[np.int64]:
    return np.asarray(indices.cast("int64").fill_null(-1).to_numpy(zero_copy_only=False))


READERS: dict[str, Callable[[str, Any], Column]] = {
    "numbers": _read_numbers,
    "texts": _read_texts,
    "truth values": _read_truth_values,
    "dates": _read_dates,
    "times": _read_times,
    "spans of time": _read_spans,
    "categories": _read_categories,
    "none": _read_nothing,
}
