"""Columns that a table stores as dates; they become texts only if needed, and are never parsed from them."""

import functools
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pbgnet.preprocessing.words import MISSING, Words, occurring_places

DAY = 86400.0
FIRST_YEAR, LAST_YEAR = 1, 9999


class Moments(Words):
    """The dates of a column, each distinct one stored once; its texts are written when needed.

    Parameters
    ----------
    moments : ndarray of datetime64, shape (k,)
        The distinct dates.
    places : ndarray of whole numbers, shape (n,)
        -1 if a date is missing.

    Examples
    --------
    >>> import numpy as np
    >>> from pbgnet.preprocessing.moments import Moments
    >>> dates = Moments.read(np.array(["2020-01-31", "NaT", "2020-01-31"], dtype="datetime64[D]"))
    >>> list(dates), dates.seconds.tolist()
    (['2020-01-31T00:00:00', None, '2020-01-31T00:00:00'], [1580428800.0])
    """

    def __init__(self, moments: NDArray[Any], places: NDArray[Any]) -> None:
        self.moments, self.places = moments, places

    @classmethod
    def read(cls, values: NDArray[Any]) -> "Moments":
        """Read an array of datetime64."""
        absent = np.isnat(values)
        places = np.full(values.size, MISSING, dtype=np.int64)
        moments, places[~absent] = np.unique(values[~absent], return_inverse=True)
        return cls(moments, places)

    @functools.cached_property
    def words(self) -> list[str]:  # type: ignore[override]
        """The distinct dates as texts: 2020-01-31T12:30:00."""
        return date_texts(self.moments)

    @property
    def n_words(self) -> int:
        """Number of distinct dates."""
        return int(self.moments.size)

    @functools.cached_property
    def seconds(self) -> NDArray[np.float64]:
        """Seconds of each distinct date since the beginning of 1970: the number that its text is read as."""
        days = self.moments.astype("datetime64[D]")
        minutes = self.moments.astype("datetime64[m]")
        rest = (self.moments - minutes).astype("timedelta64[ns]").astype(np.int64) / 1e9
        found = days.astype(np.int64) * DAY + (minutes - days).astype(np.int64) * 60.0 + rest
        years = self.moments.astype("datetime64[Y]").astype(np.int64) + 1970
        return np.where((years >= FIRST_YEAR) & (years <= LAST_YEAR), found, np.nan)

    @classmethod
    def joined(cls, parts: Sequence[Words]) -> Words:
        """Return the dates of several parts, one after the other."""
        dates = [part for part in parts if isinstance(part, cls)]
        moments, new = np.unique(np.concatenate([part.moments for part in dates]), return_inverse=True)
        ends = np.cumsum([part.moments.size for part in dates])
        shifted = [
            np.append(places, MISSING)[part.places]
            for part, places in zip(dates, np.split(new, ends[:-1]), strict=True)
        ]
        return cls(moments, np.concatenate(shifted))

    def _with(self, kept: NDArray[Any], places: NDArray[Any]) -> "Moments":
        return Moments(self.moments[kept], places)

    def take(self, rows: slice | NDArray[Any]) -> "Moments":
        """Return the dates of some rows; if there are fewer rows than dates, only theirs are kept."""
        places = self.places[rows]
        if isinstance(rows, slice) or places.size >= self.n_words:
            return Moments(self.moments, places)
        kept, places = occurring_places(places)
        return Moments(self.moments[kept], places)


def date_texts(values: NDArray[Any]) -> list[str]:
    """Write NumPy dates as texts, each separately: 2020-01-31T12:30:00."""
    whole = values.astype("datetime64[s]")
    texts = np.datetime_as_string(whole).astype(object)
    broken = values != whole
    texts[broken] = [str(text).rstrip("0") for text in np.datetime_as_string(values[broken])]
    found: list[str] = texts.tolist()
    return found
