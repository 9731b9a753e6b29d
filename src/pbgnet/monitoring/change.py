"""A test of change: whether new rows still look like the certified rows, without any label.

It tests for change, not for errors: rows may change without causing more errors, and errors may become more
frequent without a visible change. It says where to look, and that labels are due.
"""

import math
import warnings
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Annotated, Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pbgnet.exceptions import DamagedFileError, DomainError, OptionError, PBGNetWarning, ShapeError
from pbgnet.monitoring.accounts import NO_ROWS, Accounts
from pbgnet.monitoring.conformal import MEMORIES, N_CELLS, conformal_places, place_log_factors
from pbgnet.monitoring.tables import NamedColumns, selected
from pbgnet.monitoring.trail import Trail
from pbgnet.preprocessing import DateColumn, TablePreprocessor, coded
from pbgnet.records import Count, Limits, OpenProbability, PositiveCount, Record, Seed, read_keys

MOST_BINS = 12
"""Most bins of a column of numbers, and most categories of a text column."""

FEWEST_REFERENCE_ROWS = 2

Cells = Annotated[tuple[float, ...], Limits(longest=N_CELLS)]


@dataclass(frozen=True)
class WatchedColumn(Record):
    """The evidence that the new values of a column differ from those of the reference rows.

    Attributes
    ----------
    name : str
    counts : tuple of int
        Number of values in each bin so far, reference rows included.
    recent : tuple of tuple of float
        Recent conformal places by cell, for each memory.
    accounts : Accounts
    highest : float
        The largest logarithm of its e-value so far.
    """

    name: str
    counts: Annotated[tuple[Count, ...], Limits(longest=2**10)]
    recent: Annotated[tuple[Cells, ...], Limits(longest=len(MEMORIES))] = ((0.0,) * N_CELLS,) * len(MEMORIES)
    accounts: Accounts = NO_ROWS
    highest: float = 0.0

    def __post_init__(self) -> None:
        super().__post_init__()
        if [len(cells) for cells in self.recent] != [N_CELLS] * len(MEMORIES):
            raise DomainError(f"recent must be {len(MEMORIES)} lists of {N_CELLS} numbers.")

    @property
    def log_e(self) -> float:
        """Logarithm of the e-value now."""
        return self.accounts.log_e if self.accounts.rows else 0.0

    def after(
        self, codes: NDArray[np.int64], lots: NDArray[np.float64]
    ) -> tuple["WatchedColumn", NDArray[np.float64]]:
        """Return the column after further rows, and the logarithm of its e-value after each."""
        places, counts = conformal_places(codes, np.array(self.counts, dtype=np.int64), lots)
        factors, recent = place_log_factors(places, np.array(self.recent))
        accounts, log_e = self.accounts.after(factors)
        kept = tuple(tuple(cells) for cells in recent.tolist())
        highest = max(self.highest, float(log_e.max()))
        return WatchedColumn(self.name, tuple(counts.tolist()), kept, accounts, highest), log_e


@dataclass(frozen=True)
class ChangeState(Record):
    """The state of a change detector, except for its bins, in its JSON form."""

    alpha: OpenProbability
    seed: Seed
    n_reference: PositiveCount
    rows: Count
    alarm_row: PositiveCount | None
    trail: Trail
    columns: Annotated[tuple[WatchedColumn, ...], Limits(longest=2**17)]


class ChangeDetector:
    """Test whether new rows still look like the reference rows, column by column and without labels.

    The bins are fixed on separate rows, which makes the test exact: as long as reference rows and new rows
    are exchangeable (independent draws from one distribution are), the probability of an alarm is at most
    alpha, however many rows arrive. It tests for change, not for errors.

    Parameters
    ----------
    bin_rows : DataFrame or ndarray
        Rows that determine the bins of each column and are not compared: the prior rows.
    reference : DataFrame or ndarray
        Rows to compare new rows with: the certified rows.
    alpha : float, default=0.01
        Probability of a false alarm.
    bin_extra, reference_extra : mapping of str to array_like, optional
        Further columns of both, such as the predictions and margins of the model.
    random_state : int, default=0
        Seed of the random numbers that break ties.

    Attributes
    ----------
    columns : tuple of WatchedColumn
    n_rows : int
        Number of new rows so far.
    log_e : float
        Logarithm of the mean of the e-values of the columns.
    alarm_row : int or None
        After how many rows the alarm was raised.

    Examples
    --------
    >>> import numpy as np
    >>> from pbgnet import ChangeDetector
    >>> rng = np.random.default_rng(0)
    >>> detector = ChangeDetector(rng.normal(size=(300, 2)), rng.normal(size=(1000, 2)))
    >>> detector.update(rng.normal(size=(500, 2)))
    False
    >>> detector.update(rng.normal(size=(500, 2)) + [0.0, 1.5])
    True
    >>> detector.changed_columns
    ('x1',)
    """

    def __init__(
        self,
        bin_rows: Any,
        reference: Any,
        alpha: float = 0.01,
        *,
        bin_extra: Mapping[str, ArrayLike] | None = None,
        reference_extra: Mapping[str, ArrayLike] | None = None,
        random_state: int = 0,
    ) -> None:
        bins = _fit_bins(NamedColumns.of(bin_rows, bin_extra))
        codes = _codes(bins, selected(NamedColumns.of(reference, reference_extra), bins))
        if len(codes) < FEWEST_REFERENCE_ROWS:
            raise ShapeError(
                f"At least {FEWEST_REFERENCE_ROWS} reference rows are required, got {len(codes)}."
            )
        names, sizes = _coded_names(bins), [book.n_codes for book in bins.book_.columns]
        columns = tuple(
            WatchedColumn(name, tuple(np.bincount(codes[:, k], minlength=size).tolist()))
            for k, (name, size) in enumerate(zip(names, sizes, strict=True))
        )
        self._bins = bins
        self._state = ChangeState(alpha, random_state, len(codes), 0, None, Trail(), columns)

    def update(self, X: Any = None, *, extra: Mapping[str, ArrayLike] | None = None) -> bool:  # noqa: N803
        """Compare further rows, and return whether the alarm was raised, now or earlier.

        Parameters
        ----------
        X : DataFrame or ndarray
            With the columns of the reference rows. Other columns of a DataFrame are ignored.
        extra : mapping of str to array_like, optional
            The same further columns.

        Raises
        ------
        ShapeError
            If a column is missing. No row is counted then.
        """
        codes = _codes(self._bins, selected(NamedColumns.of(X, extra), self._bins))
        if not len(codes):
            return self.alarm
        state, n_columns = self._state, len(self.columns)
        lots = _lots(state.seed, state.rows, len(codes), n_columns)
        found = [column.after(codes[:, k], lots[:, k]) for k, column in enumerate(self.columns)]
        log_e = np.logaddexp.reduce([each for _, each in found], axis=0) - math.log(n_columns) - 2.0**-44
        alarms = np.flatnonzero(log_e >= -math.log(state.alpha))
        alarm_row = state.rows + int(alarms[0]) + 1 if alarms.size else None
        self._state = replace(
            state,
            rows=state.rows + len(codes),
            alarm_row=alarm_row if state.alarm_row is None else state.alarm_row,
            trail=state.trail.after(state.rows, np.zeros(len(codes), dtype=np.int64), log_e),
            columns=tuple(column for column, _ in found),
        )
        return self.alarm

    @property
    def columns(self) -> tuple[WatchedColumn, ...]:
        """The columns that are compared; a date counts as several."""
        return self._state.columns

    @property
    def alpha(self) -> float:
        """Probability of a false alarm."""
        return self._state.alpha

    @property
    def n_rows(self) -> int:
        """Number of new rows so far."""
        return self._state.rows

    @property
    def n_reference(self) -> int:
        """Number of reference rows."""
        return self._state.n_reference

    @property
    def log_e(self) -> float:
        """Logarithm of the mean of the e-values of the columns."""
        each = [column.log_e for column in self.columns]
        return float(np.logaddexp.reduce(each)) - math.log(len(each))

    @property
    def alarm_row(self) -> int | None:
        """After how many rows the alarm was raised; None if it was not."""
        return self._state.alarm_row

    @property
    def alarm(self) -> bool:
        """Whether the alarm was raised."""
        return self.alarm_row is not None

    @property
    def trail(self) -> Trail:
        """The course of the e-value."""
        return self._state.trail

    @property
    def changed_columns(self) -> tuple[str, ...]:
        """Columns that changed by their own evidence, at their share of alpha; the strongest first."""
        ordered = sorted(self.columns, key=lambda column: -column.highest)
        enough = math.log(len(ordered)) - math.log(self.alpha)
        return tuple(column.name for column in ordered if column.highest >= enough)

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain values for JSON."""
        return {"bins": self._bins.to_dict(), "state": self._state.to_dict()}

    @classmethod
    def from_dict(cls, data: object) -> Self:
        """Read what `to_dict` returned; raise `DamagedFileError` for anything else."""
        content = read_keys(data, ["bins", "state"], "change")
        made = cls.__new__(cls)
        made._bins = TablePreprocessor.from_dict(content["bins"])
        made._state = ChangeState.from_dict(content["state"], "change.state")
        sizes = [
            (name, book.n_codes)
            for name, book in zip(_coded_names(made._bins), made._bins.book_.columns, strict=True)
        ]
        if sizes != [(column.name, len(column.counts)) for column in made.columns]:
            raise DamagedFileError("change: the columns are not those of its bins.")
        return made


def _fit_bins(columns: NamedColumns) -> TablePreprocessor:
    """Fix bins and categories on some rows; missing values always have their own bin.

    A column without any value, or one that identifies rows, cannot be compared.
    """
    if not columns.columns:
        raise OptionError("There are no columns to compare: pass rows or further columns.")
    bins = TablePreprocessor(max_bins=MOST_BINS, max_categories=MOST_BINS)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PBGNetWarning)  # about columns left out, which training has reported
        memory = bins.fit(columns).to_dict()
    memory["columns"] = [column for column in memory["columns"] if column["kind"] not in ("empty", "id")]
    for column in memory["columns"]:
        column["missing"] = True
        for part in column.get("parts", ()):
            part["missing"] = True
    return TablePreprocessor.from_dict(memory)


def _codes(bins: TablePreprocessor, columns: NamedColumns) -> NDArray[np.int64]:
    """Return the bin of each value: shape (n, c)."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PBGNetWarning)  # unknown values have their own bin
        return np.asarray(bins.encode(columns).codes, dtype=np.int64)


def _coded_names(bins: TablePreprocessor) -> list[str]:
    """Return the name of each column of codes; for a date, with the part of the date."""
    names: list[str] = []
    for column in bins.columns_:
        if isinstance(column, DateColumn):
            names += [f"{column.name} ({part})" for part in column.shown]
        else:
            names += [column.name] * len(coded(column))
    return names


def _lots(seed: int, first_row: int, n_rows: int, n_columns: int) -> NDArray[np.float64]:
    """Return the random numbers of some rows, always the same for a row: shape (n_rows, n_columns)."""
    steps = -(-n_columns // 4)  # this generator advances by four numbers
    generator = np.random.Philox(key=seed)
    generator.advance(first_row * steps)
    return np.random.Generator(generator).random((n_rows, 4 * steps))[:, :n_columns]
