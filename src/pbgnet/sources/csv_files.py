"""CSV files, a few thousand rows at a time: cells are texts, so no row decides how others are read."""

import csv
import functools
import io
import itertools
import warnings
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from pbgnet.preprocessing import PART_ROWS, Column, ColumnTable, Words
from pbgnet.sources.encodings import SNIFFED_BYTES, open_utf8, read_start
from pbgnet.sources.file_damage import check_header
from pbgnet.sources.quick_csv import plain_chunks
from pbgnet.table_files import MISSING

if TYPE_CHECKING:
    import pandas as pd

DELIMITERS = ",;\t|"


@dataclass(frozen=True)
class CsvFile:
    """A CSV file and how it is read.

    Attributes
    ----------
    path : Path
        Gzipped if its name ends in .gz.
    missing : sequence of str
        Texts that mean "missing".
    header : bool
        Whether the first row contains the column names; otherwise they are column_1, column_2 and so on.
    marked : collection of str
        Columns in which an empty cell is an empty text, not missing.
    """

    path: Path
    missing: Sequence[str] = MISSING
    header: bool = True
    marked: Collection[str] = field(default=())

    @functools.cached_property
    def separator(self) -> str:
        """The delimiter."""
        start = read_start(self.path)
        return _delimiter(start) if self.header else _delimiter_of_rows(start)

    @functools.cached_property
    def columns(self) -> list[str]:
        """The names of the columns."""
        with open_utf8(self.path, warn=False) as file:
            first = self._read(file, header=None, nrows=1, dtype=str).iloc[0]
        if self.header:
            return check_header(self.path, [str(name).strip() for name in first])
        return [f"column_{place}" for place in range(1, len(first) + 1)]

    def chunks(self) -> Iterator[ColumnTable]:
        """Iterate over the rows; blanks around cells are removed."""
        done: int | None = 0
        if not self.marked:
            done = yield from plain_chunks(
                self.path, self.separator, self.columns, self.header, set(self.missing)
            )
        if done is not None:
            yield from itertools.islice(self._careful_chunks(), done, None)

    def _careful_chunks(self) -> Iterator[ColumnTable]:
        """Iterate over the rows, with any quotes and missing cells in them."""
        names, markers = self.columns, set(self.missing)
        with open_utf8(self.path) as file:
            reader = self._read(file, **self._names(), dtype=object, chunksize=PART_ROWS, low_memory=False)
            while (chunk := self._next(reader)) is not None:
                yield ColumnTable(
                    tuple(
                        Column(name, None, clean(chunk[name], markers, "" if name in self.marked else None))
                        for name in names
                    )
                )

    def text_frame(self) -> "pd.DataFrame":
        """Return all rows as a frame of texts, None if missing; the index is the line of each row."""
        import pandas as pd

        chunks = [*self.chunks()]
        n_rows = sum(chunk.shape[0] for chunk in chunks)
        lines = self.lines(n_rows)
        index = pd.RangeIndex(1, n_rows + 1, name="row") if lines is None else pd.Index(lines, name="line")
        return pd.DataFrame({name: text_series(chunks, name) for name in self.columns}).set_axis(index)

    def typed_frame(self) -> "pd.DataFrame":
        """Return all rows; a column contains numbers if all its cells are numbers.

        One cell then decides how all the others are read.
        """
        gaps = {
            name: [text for text in self.missing if text or name not in self.marked] for name in self.columns
        }
        with open_utf8(self.path) as file:
            return self._read(file, **self._names(), na_values=gaps, low_memory=False)

    def lines(self, n_rows: int) -> Sequence[int] | None:
        """Return the line at which each row begins, from 1; None if it cannot be determined."""
        n_lines, last = 0, b""
        with open_utf8(self.path, warn=False) as file:
            while block := file.read(SNIFFED_BYTES):
                n_lines, last = n_lines + block.count(b"\n"), block
        if n_lines + (not last.endswith(b"\n")) == n_rows + self.header:
            return range(1 + self.header, 1 + self.header + n_rows)
        with open_utf8(self.path, warn=False) as file:
            return self._count_lines(file, n_rows)

    def _count_lines(self, file: Any, n_rows: int) -> list[int] | None:
        """Find lines if a row may span several; empty lines are not rows."""
        text = io.TextIOWrapper(file, encoding="utf-8", newline="")
        reader = csv.reader(text, delimiter=self.separator, skipinitialspace=True)
        starts, start = [], 1
        try:
            for cells in reader:
                if cells not in ([], [""]):
                    starts.append(start)
                start = reader.line_num + 1
        except csv.Error:  # a cell too long for this reader
            return None
        starts = starts[int(self.header) :]
        return starts if len(starts) == n_rows else None

    def _names(self) -> dict[str, Any]:
        return {"header": 0 if self.header else None, "names": self.columns}

    def _read(self, file: Any, **options: Any) -> Any:
        import pandas as pd

        with warnings.catch_warnings():
            # Rows longer than the header would be truncated, or shifted.
            warnings.simplefilter("error", pd.errors.ParserWarning)
            return pd.read_csv(
                file,
                sep=self.separator,
                index_col=False,
                keep_default_na=False,
                skipinitialspace=True,
                **options,
            )

    @staticmethod
    def _next(reader: Any) -> Any:
        import pandas as pd

        with warnings.catch_warnings():
            warnings.simplefilter("error", pd.errors.ParserWarning)
            return next(reader, None)


def clean(cells: Any, missing: Collection[str], blank: str | None = None) -> Words:
    """Remove blanks around texts; those that mean "missing" become None, and empty ones `blank`."""
    import pandas as pd

    places, found = pd.factorize(cells.to_numpy())
    words: list[str] = found.tolist()
    cleaned = [_clean(word, missing, blank) for word in words]
    if cleaned == words and (blank is None or (places >= 0).all()):
        return Words(words, places)
    texts = Words.of([*cleaned, blank])  # the last one is for cells beyond the end of a short row
    return Words(texts.words, texts.places[places])


def text_series(chunks: Iterable[ColumnTable], name: str) -> "pd.Series[Any]":
    """Return the texts of a column over all chunks; each distinct one is stored once."""
    import pandas as pd

    known: dict[str, str] = {}
    parts = []
    for chunk in chunks:
        texts = Words.of(chunk[name].texts or [])
        words = [known.setdefault(word, word) for word in texts.words]
        parts.append(np.array([*words, None], dtype=object)[texts.places])
    return pd.Series(np.concatenate(parts) if parts else [], name=name, dtype=object)


def _clean(text: str, missing: Collection[str], blank: str | None) -> str | None:
    stripped = text.strip()
    if not stripped:
        return blank
    return None if stripped in missing else stripped


def _delimiter(start: str) -> str:
    """Return what splits the first line into the most columns; a comma if nothing does."""
    header = start.splitlines()[:1] or [""]
    counts = {mark: len(next(csv.reader(header, delimiter=mark), [])) for mark in DELIMITERS}
    return max(DELIMITERS, key=lambda mark: counts[mark])


def _delimiter_of_rows(start: str) -> str:
    """Return delimiters that split the first lines equally; the comma last, because decimals have it too."""
    lines = [line for line in start.splitlines()[:20] if line.strip()]
    if len(start) > SNIFFED_BYTES // 4 and 1 < len(lines) < 20:
        lines.pop()  # it may be incomplete
    for mark in reversed(DELIMITERS):
        widths = {len(cells) for cells in csv.reader(lines, delimiter=mark)}
        if len(widths) == 1 and widths != {1}:
            return mark
    return ","
