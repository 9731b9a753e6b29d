"""Dates and times as people write them, and the parts of a date that become columns."""

import math
import re
from collections.abc import Callable, Sequence
from datetime import date, datetime, time
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pbgnet.preprocessing.cell_texts import CellTexts
from pbgnet.preprocessing.moments import DAY, Moments
from pbgnet.preprocessing.shapes import Shapes, character_codes
from pbgnet.preprocessing.words import Words

MOST_DAYS = 3_000_000
"""Largest distance from 1970 of a day in the years from 1 to 9999."""

# A longer text is not a date, and is not searched for one.
LONGEST = 64

LAYOUTS = ("year first", "day first", "month first", "time")
"""How a column writes its dates: 2020-01-31, 31.01.2020 or 01/31/2020, with or without a time; or 12:30."""

_CLOCK = (
    r"(?P<hour>[0-9]{1,2}):(?P<minute>[0-9]{2})(?::(?P<second>[0-9]{2}(?:[.,][0-9]+)?))?"
    r"(?:\s*(?P<half>[AaPp])\.?[Mm]\.?)?"
)
_REST = rf"(?:(?:[Tt]|,?\s+){_CLOCK}\s*(?:[Zz]|UTC|[+-][0-9]{{2}}:?[0-9]{{2}})?)?"
_YEAR, _MONTH, _DATE = r"(?P<year>[0-9]{4})", r"(?P<month>[0-9]{1,2})", r"(?P<date>[0-9]{1,2})"


def _layout(first: str, second: str, third: str) -> re.Pattern[str]:
    return re.compile(rf"{first}(?P<mark>[-/.]){second}(?P=mark){third}{_REST}")


_PATTERNS = {
    "year first": _layout(_YEAR, _MONTH, _DATE),
    "day first": _layout(_DATE, _MONTH, _YEAR),
    "month first": _layout(_MONTH, _DATE, _YEAR),
    "time": re.compile(_CLOCK),
}

PARTS: dict[str, Callable[[NDArray[np.float64]], NDArray[np.float64]]] = {
    "days": lambda seconds: seconds / DAY,
    "year": lambda seconds: _by_day(lambda days: _months(days) // 12 + 1970, seconds),
    "month": lambda seconds: _by_day(lambda days: _months(days) % 12 + 1, seconds),
    # 1 January 1970 was a Thursday.
    "weekday": lambda seconds: _by_day(lambda days: (days + 3) % 7 + 1, seconds),
    "hour": lambda seconds: np.floor(seconds % DAY / 3600),
}
"""What a date becomes, from seconds since the beginning of 1970: days since then, the year, the month, the
weekday from Monday, 1, to Sunday, 7, and the hour."""


_Whole = NDArray[np.int32]
Fields = tuple[_Whole, _Whole, _Whole, _Whole, _Whole, NDArray[Any]]
"""Year, month, day, hour, minute and second of dates."""


def part_of(which: str, seconds: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return a part of each date, NaN where there is none.

    Examples
    --------
    >>> import numpy as np
    >>> from pbgnet.preprocessing.dates import PARTS, part_of, read_dates
    >>> moment = read_dates(["2020-02-29 13:45"], "year first")
    >>> [part_of(which, moment).item() for which in PARTS]
    [18321.572916666668, 2020.0, 2.0, 6.0, 13.0]
    """
    absent = np.isnan(seconds)
    return np.where(absent, math.nan, PARTS[which](np.where(absent, 0.0, seconds)))


def read_dates(texts: Sequence[str | None], layout: str) -> NDArray[np.float64]:
    """Return seconds since the beginning of 1970, or of the day for times; NaN if a text is not a date.

    Dates are in the local time of their author: an offset from UTC is ignored. Dates with the year first, as
    typed tables write them, are read in every layout except "time".
    """
    if isinstance(texts, Moments) and layout != "time":
        return np.asarray(np.append(texts.seconds, math.nan)[texts.places])
    read = texts.one_by_one() if isinstance(texts, CellTexts) else Words.of(texts)
    found = np.full(read.n_words + 1, math.nan)  # the last one stands for missing texts
    shapes = Shapes.of(read)
    for shape, members in zip(shapes.shapes, shapes.members(), strict=True):
        if (match := _match(shape, layout)) is not None:
            found[members] = _seconds(_fields(match, read, members))
    return np.asarray(found[read.places])


def choose_layout(texts: Words) -> tuple[str, NDArray[np.float64]]:
    """Return the layout in which most cells are dates, and what they are read as: see `read_dates`.

    Where day and month cannot be told apart in any row, the month comes first between slashes, and the day
    otherwise.
    """
    written = Words(texts.words, texts.places) if isinstance(texts, Moments) else texts
    best = "year first"
    read, n_present = read_dates(written, best), written.n_present
    if _n_read(read) == n_present:
        return best, read
    slashes = int(written.each(lambda word: "/" in word, False).sum()) * 2 > n_present
    for layout in (*(("month first", "day first") if slashes else ("day first", "month first")), "time"):
        if _n_read(read) == n_present:  # none can read more
            break
        other = read_dates(written, layout)
        if _n_read(other) > _n_read(read):
            best, read = layout, other
    return best, read


def _n_read(seconds: NDArray[np.float64]) -> int:
    return int(np.count_nonzero(~np.isnan(seconds)))


def date_text(value: date | time) -> str:
    """Write a date, a moment or a time of day as text, as `Moments` does."""
    if isinstance(value, time):
        return value.replace(tzinfo=None).isoformat()
    if not isinstance(value, datetime):
        return f"{value.isoformat()}T00:00:00"
    text = value.replace(tzinfo=None).isoformat()
    return text.rstrip("0") if "." in text else text


def _match(text: str, layout: str) -> re.Match[str] | None:
    """Match a text, or a shape of such, without blanks around it."""
    stripped = text.strip()
    if len(stripped) > LONGEST:
        return None
    found = _PATTERNS[layout].fullmatch(stripped)
    if found is None and layout in ("day first", "month first"):
        found = _PATTERNS["year first"].fullmatch(stripped)
    return found


def _fields(match: re.Match[str], read: Words, members: NDArray[np.int64]) -> Fields:
    """Return the fields of those words whose shape is matched so.

    Year, month and date, those of 1 January 1970 for a time alone; hour, minute, second.
    """
    codes = character_codes(read, members, len(match.string))
    found = match.groupdict()

    def whole(name: str, otherwise: int) -> NDArray[np.int32]:
        value = np.full(len(members), otherwise if not found.get(name) else 0, dtype=np.int32)
        if found.get(name):
            for code in codes[slice(*match.span(name))]:
                value *= 10
                value += code
                value -= ord("0")
        return value

    hour = whole("hour", 0)
    if found["half"]:  # 12 am is midnight, 12 pm noon; 13 pm is no time
        clock = hour % 12 + 12 * (found["half"] in "Pp")
        hour = np.where((hour >= 1) & (hour <= 12), clock, 24)
    if len(found["second"] or "") > 2:  # with decimals
        start, end = match.span("second")
        stripped = (read.words[place].strip() for place in members.tolist())
        second = np.array([float(text[start:end].replace(",", ".")) for text in stripped])
    else:
        second = whole("second", 0).astype(np.float64)
    days = whole("year", 1970), whole("month", 1), whole("date", 1)
    return (*days, hour, whole("minute", 0), second)


def _seconds(fields: Fields) -> NDArray[np.float64]:
    """Seconds since the beginning of 1970, NaN for a day or an hour that no calendar has."""
    year, month, day, hour, minute, second = fields
    months = (year - 1970) * 12 + month - 1
    low, high = (int(months.min()), int(months.max())) if months.size else (0, 0)
    firsts, which = _first_days(np.arange(low, high + 2)), months - low
    days = firsts[which] + day - 1
    real = (month >= 1) & (month <= 12) & (day >= 1) & (days < firsts[which + 1])
    real &= (year >= 1) & (hour < 24) & (minute < 60) & (second < 60)
    seconds = days * DAY + (hour * 3600 + minute * 60) + second
    return np.where(real, seconds, math.nan)


def _first_days(months: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the first day of months, both counted from the beginning of 1970."""
    return months.astype("datetime64[M]").astype("datetime64[D]").astype(np.int64)


def _by_day(
    compute: Callable[[NDArray[np.int64]], NDArray[np.int64]], seconds: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return what a function makes of the day of each date, counted from the beginning of 1970.

    It is computed once for each day of those between, where these are fewer than the dates.
    """
    days = np.floor(seconds / DAY).astype(np.int64)
    first, last = (int(days.min()), int(days.max())) if days.size else (0, 0)
    if last - first >= days.size:
        return compute(days).astype(np.float64)
    return np.asarray(compute(np.arange(first, last + 1)).astype(np.float64)[days - first])


def _months(days: NDArray[np.int64]) -> NDArray[np.int64]:
    """Months since the beginning of 1970."""
    return days.astype("datetime64[D]").astype("datetime64[M]").astype(np.int64)
