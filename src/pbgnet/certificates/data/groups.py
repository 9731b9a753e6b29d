"""The group of each row of a table: from one of its columns, or given row by row."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pbgnet.certificates.data.fingerprints import fingerprint_array, fingerprint_json
from pbgnet.exceptions import DomainError, OptionError, ShapeError
from pbgnet.preprocessing import Column, Words, column_names, count_rows, read_columns
from pbgnet.records import Count, Limits, Record, Sha256
from pbgnet.validation import check_readable

MOST_GROUPS = 64
"""Most groups: each costs two shares of delta, and a file stays small."""

MISSING = "missing"
"""The group of rows without a value; texts are written in quotes, so no value has this name."""


@dataclass(frozen=True)
class GroupSize(Record):
    """A group and how many certified rows belong to it.

    Attributes
    ----------
    name : str
        As Python writes it; "missing" for rows without a value.
    n : int
        0 for a group that only occurs in other rows of the table: nothing is claimed about it.
    """

    name: str
    n: Count


@dataclass(frozen=True)
class GroupsRecord(Record):
    """The groups, and what defines them.

    Attributes
    ----------
    column : str or None
        The column of the table whose value is the group; None if the groups were given row by row.
    sizes : tuple of GroupSize
        All groups of the table.
    assignment : str
        Fingerprint of the group of each row of the table.
    """

    column: str | None
    sizes: Annotated[tuple[GroupSize, ...], Limits(longest=MOST_GROUPS)]
    assignment: Sha256

    def __post_init__(self) -> None:
        super().__post_init__()
        if len({size.name for size in self.sizes}) != len(self.sizes):
            raise DomainError("A group must not be listed twice.")

    @property
    def claimed(self) -> tuple[str, ...]:
        """The groups that occur in the certified rows, about which something is claimed."""
        return tuple(size.name for size in self.sizes if size.n)


@dataclass(frozen=True, eq=False)
class Groups:
    """The group of each row.

    Attributes
    ----------
    names : tuple of str
        As Python writes them: numbers in order, then texts, then "missing" for rows without a value.
    places : ndarray of int64, shape (n,)
        The index of each row's group among the names.
    column : str or None
        The column they were read from.

    Examples
    --------
    >>> from pbgnet.certificates.data import Groups
    >>> groups = Groups.of(["b", None, "a", "b"], [[1.0], [2.0], [3.0], [4.0]])
    >>> groups.names, groups.places.tolist()
    (("'a'", "'b'", 'missing'), [1, 2, 0, 1])
    """

    names: tuple[str, ...]
    places: NDArray[np.int64]
    column: str | None = None

    @classmethod
    def of(cls, groups: str | ArrayLike, X: Any) -> "Groups":  # noqa: N803
        """Read the groups of the rows of a table.

        Parameters
        ----------
        groups : str, or array_like of shape (n,) or (n, 1)
            The name of a column, or the group of each row. Missing values form a group.
        X : table
            With n rows.

        Raises
        ------
        ShapeError
            If there is no such column, or not one group per row.
        OptionError
            If there are more than `MOST_GROUPS`.
        """
        column = groups if isinstance(groups, str) else None
        read = _read_column(column, X) if column is not None else _read(groups, count_rows(X))
        names, places = _told_apart(read)
        if len(names) > MOST_GROUPS:
            where = "" if column is None else f" in column {column!r:.60}"
            raise OptionError(
                f"There are {len(names)} groups{where}, but a certificate can bound at most {MOST_GROUPS}. "
                "Merge values into fewer groups (for example numbers into bands), without looking at labels."
            )
        return cls(names, places, column)

    @property
    def present(self) -> tuple[str, ...]:
        """The groups that occur."""
        found = set(np.unique(self.places).tolist())
        return tuple(name for k, name in enumerate(self.names) if k in found)

    def take(self, rows: NDArray[Any]) -> "Groups":
        """Return the same for some of the rows."""
        return Groups(self.names, self.places[rows], self.column)

    def rows_of(self, name: str) -> NDArray[np.bool_]:
        """Return which rows belong to a group."""
        return np.asarray(self.places == self.names.index(name))

    def record(self, certified_rows: NDArray[Any]) -> GroupsRecord:
        """Return what a certificate says about the groups of a table, some of whose rows are certified."""
        counts = np.bincount(self.places[certified_rows], minlength=len(self.names)).tolist()
        sizes = tuple(GroupSize(name, n) for name, n in zip(self.names, counts, strict=True))
        places = fingerprint_array(self.places.astype(np.int64))
        assignment = fingerprint_json({"names": list(self.names), "places": places})
        return GroupsRecord(self.column, sizes, assignment)


def read_groups(groups: str | ArrayLike | None, X: Any) -> Groups | None:  # noqa: N803
    """Read the groups of the rows of a table, if any are given; see `Groups.of`."""
    return None if groups is None else Groups.of(groups, X)


def group_names(groups: ArrayLike, n_rows: int) -> NDArray[Any]:
    """Return the group of each row by its name in a certificate: shape (n,).

    Examples
    --------
    >>> from pbgnet.certificates.data import group_names
    >>> group_names(["north", None], 2).tolist(), group_names([1.0, 2.5], 2).tolist()
    (["'north'", 'missing'], ['1', '2.5'])
    """
    names, places = _told_apart(_read(groups, n_rows))
    return np.array(names, dtype=object)[places]


def _read_column(name: str, X: Any) -> Column:  # noqa: N803
    known = column_names(X) or ()
    if name not in known:
        there = f"its columns are {', '.join(map(repr, known[:8]))}" if known else "its columns have no names"
        raise ShapeError(
            f"The table has no column {name!r:.60} to read the groups from: {there}. Name one of its "
            "columns, or pass the group of each row as an array."
        )
    return read_columns(X, [name])[0]


def _read(groups: ArrayLike, n: int) -> Column:
    check_readable("groups", groups)
    given: Any = groups.to_numpy() if hasattr(groups, "to_numpy") else groups
    values: NDArray[Any] = given if isinstance(given, np.ndarray) else _objects(given)
    if values.ndim == 2 and values.shape[1] == 1:
        values = values[:, 0]
    if values.shape != (n,):
        raise ShapeError(f"groups must name one group for each of the {n} rows, got shape {values.shape}.")
    return read_columns(values[:, None], ["groups"])[0]


def _objects(items: Any) -> NDArray[Any]:
    """Return a list unchanged: NumPy would turn numbers and missing values among texts into texts."""
    if not isinstance(items, Sequence):
        return np.asarray(items)
    array = np.empty(len(items), dtype=object)
    array[:] = list(items)
    return array


def _told_apart(column: Column) -> tuple[tuple[str, ...], NDArray[np.int64]]:
    """Return the names of the groups in order, and the index of each row's group."""
    order: list[Any]
    if column.numbers is None:
        texts = Words.of(column.texts or ())
        order = sorted(texts.words[place] for place in np.unique(texts.places).tolist() if place >= 0)
        ranks = {word: k for k, word in enumerate(order)}
        places = texts.each(lambda word: ranks.get(word, -1), len(order), np.int64)
    else:
        order = np.unique(column.numbers[~np.isnan(column.numbers)]).tolist()
        places = np.searchsorted(order, column.numbers)  # NaN comes after all numbers
    names = [_written(value) for value in order]
    if (places == len(order)).any():
        names.append(MISSING)
    return tuple(names), places


def _written(value: str | float) -> str:
    """Write a group as Python does, whole numbers without a decimal point."""
    whole = isinstance(value, float) and math.isfinite(value) and value.is_integer() and abs(value) < 2**53
    return repr(int(value)) if whole else repr(value)
