"""The store of results: one append-only SQLite file that survives a kill at any moment.

Every batch of records is one transaction, so a run is in the store completely or not at all. No record is
ever changed or deleted; a run that failed and was tried again has two rows. Claims, beside them, are
temporary.
"""

import itertools
import json
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Self

from pbgnet.exceptions import DamagedFileError, StoreError
from pbgnet.experiments.runs import RunSpec, code_version

FORMAT = 1

TABLES = """
CREATE TABLE IF NOT EXISTS about (name TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT;
CREATE TABLE IF NOT EXISTS runs (
    number INTEGER PRIMARY KEY,
    identity TEXT NOT NULL,
    spec TEXT NOT NULL,
    status TEXT NOT NULL CHECK (status IN ('done', 'failed')),
    results TEXT NOT NULL,
    error TEXT NOT NULL,
    seconds REAL NOT NULL,
    machine TEXT NOT NULL,
    finished TEXT NOT NULL
) STRICT;
CREATE INDEX IF NOT EXISTS by_identity ON runs (identity);
CREATE TABLE IF NOT EXISTS claims (
    identity TEXT PRIMARY KEY,
    owner TEXT NOT NULL,
    place TEXT NOT NULL,
    process INTEGER NOT NULL,
    seen REAL NOT NULL
) STRICT;
"""


@dataclass(frozen=True)
class RunRecord:
    """The outcome of a run."""

    spec: RunSpec
    # Numbers by the rule that picked the epoch ("validation", "bound", "objective"); empty if it failed.
    results: dict[str, dict[str, float]] = field(default_factory=dict)
    error: str = ""  # what went wrong; empty if nothing did
    seconds: float = 0.0  # its share of the time of its batch
    machine: str = ""
    # Date and time, UTC.
    finished: str = field(default_factory=lambda: datetime.now(UTC).isoformat(timespec="seconds"))

    @property
    def done(self) -> bool:
        """Whether there are results."""
        return not self.error


class Store:
    """An append-only file of run records.

    Parameters
    ----------
    path : Path
        Created if it does not exist.
    read_only : bool, default=False
        Open it for reading, whatever code wrote it, as for tables and figures.

    Raises
    ------
    StoreError
        If another version of the code wrote it: its runs are not those of this version. Choose another file,
        or return to that version.
    DamagedFileError
        If it is not a store.
    """

    def __init__(self, path: Path | str, *, read_only: bool = False) -> None:
        self.path = Path(path)
        self.read_only = read_only
        if read_only and not self.path.is_file():
            raise StoreError(f"There is no store at {self.path}; run the study first.")
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with self._translated():
            # A store in WAL mode would have two more files beside it while open, and would be hard to copy.
            self._connection = sqlite3.connect(self.path, timeout=60, isolation_level=None)
            try:
                self._check_tables()
                if not read_only:
                    self._connection.executescript(TABLES)
                self._check_about()
            except BaseException:
                self.close()
                raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    @property
    def code(self) -> str:
        """Version and fingerprint of the code that wrote the store."""
        rows = self._fetched("SELECT value FROM about WHERE name = 'code'")
        return str(rows[0][0]) if rows else "unknown"

    def close(self) -> None:
        """Close the file."""
        self._connection.close()

    def append(self, records: Iterable[RunRecord]) -> None:
        """Add records, all of them or none."""
        rows = [
            (
                record.spec.identity(),
                record.spec.to_json(),
                "done" if record.done else "failed",
                json.dumps(record.results, sort_keys=True),
                record.error,
                record.seconds,
                record.machine,
                record.finished,
            )
            for record in records
        ]
        with self.changing() as connection:
            connection.executemany(
                "INSERT INTO runs (identity, spec, status, results, error, seconds, machine, finished) "
                "VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
                rows,
            )

    def records(self) -> list[RunRecord]:
        """Return the last record of every run, in the order in which the runs were first recorded."""
        rows = self._fetched(
            "SELECT identity, spec, results, error, seconds, machine, finished FROM runs ORDER BY number"
        )
        last: dict[str, RunRecord] = {}
        for identity, spec, results, *rest in rows:
            last[identity] = RunRecord(RunSpec.from_json(spec), json.loads(results), *rest)
        return list(last.values())

    def attempts(self) -> dict[str, tuple[bool, int]]:
        """Return, by identity, whether each run in the store is done and how often it was tried."""
        rows = self._fetched("SELECT identity, MAX(status = 'done'), COUNT(*) FROM runs GROUP BY identity")
        return {identity: (bool(done), count) for identity, done, count in rows}

    @contextmanager
    def changing(self) -> Iterator[sqlite3.Connection]:
        """Give the connection for changes that are made together or not at all, by one process at a time."""
        with self._translated(), self._transaction():
            yield self._connection

    def _fetched(self, query: str) -> list[tuple[Any, ...]]:
        with self._translated():
            return self._connection.execute(query).fetchall()

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        self._connection.execute("BEGIN IMMEDIATE")
        try:
            yield
            self._connection.execute("COMMIT")
        except BaseException:
            if self._connection.in_transaction:  # SQLite itself rolls back after some errors
                self._connection.execute("ROLLBACK")
            raise

    def _check_tables(self) -> None:
        """Raise an error for a database that is something else, before anything is written into it."""
        tables = {name for (name,) in self._connection.execute("SELECT name FROM sqlite_master")}
        if "about" not in tables and (tables or self.read_only):
            raise DamagedFileError(f"{self.path} is not a store of results: it has other tables, or none.")

    def _about(self) -> dict[str, str]:
        return dict(self._connection.execute("SELECT name, value FROM about"))

    def _check_about(self) -> None:
        expected = {"format": str(FORMAT), "code": code_version()}
        about = self._about()
        if not about and not self.read_only:
            with self._transaction():  # if two begin simultaneously, the second finds what the first wrote
                self._connection.execute(
                    "INSERT INTO about SELECT * FROM (VALUES (?, ?), (?, ?)) "
                    "WHERE NOT EXISTS (SELECT * FROM about)",
                    [word for pair in expected.items() for word in pair],
                )
            about = self._about()
        if about.get("format") != expected["format"]:
            raise StoreError(
                f"The store {self.path} has format {about.get('format')}, but this version of pbgnet "
                f"reads format {FORMAT}. Choose another file, or use the version that wrote it."
            )
        if not self.read_only and about.get("code") != expected["code"]:
            raise StoreError(
                f"The store {self.path} was written by pbgnet {about.get('code')}, and this is "
                f"{expected['code']}: their runs must not be mixed. Add the missing runs in a store beside "
                "it with --add, choose another folder with --out, or use that version. You can still make "
                "tables and figures from the store."
            )

    @contextmanager
    def _translated(self) -> Iterator[None]:
        """Turn errors of SQLite into pbgnet's own."""
        try:
            yield
        except sqlite3.OperationalError as error:
            if "disk is full" in str(error):
                raise StoreError(
                    f"The disk is full: {self.path} could not be extended. Nothing stored before is lost; "
                    "free some space and start the study again, and it resumes where it stopped."
                ) from error
            raise StoreError(f"The store {self.path} cannot be used: {error}.") from error
        except (sqlite3.ProgrammingError, sqlite3.IntegrityError) as error:  # the file itself is intact
            raise StoreError(f"The store {self.path} cannot be used: {error}") from error
        except sqlite3.DatabaseError as error:
            raise DamagedFileError(f"{self.path} is not a store of results: {error}.") from error


def place_to_add(stores: Sequence[Path]) -> Path:
    """Return the store of this version among those of a folder, or where a new one belongs.

    The first of them names the others: runs.sqlite, runs-2.sqlite and so on.
    """
    for path in filter(Path.is_file, stores):
        with Store(path, read_only=True) as store:
            if store.code == code_version():
                return path
    first = stores[0]
    numbered = (first.with_stem(f"{first.stem}-{number}") for number in itertools.count(2))
    return next(path for path in itertools.chain([first], numbered) if not path.exists())


def runs_in(stores: Iterable[Path]) -> set[RunSpec]:
    """Return the runs with results in some stores, whatever code wrote them."""
    found = set()
    for path in stores:
        with Store(path, read_only=True) as store:
            found |= {record.spec for record in store.records() if record.done}
    return found
