"""Rows of a CSV that are no more than cells between separators, read by Arrow, several times as fast.

Whatever two readers might understand differently, such as quotes or rows of another length, is left to the
careful one.
"""

import gzip
import itertools
from codecs import BOM_UTF8
from collections.abc import Callable, Collection, Generator, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pbgnet.preprocessing import (
    PART_ROWS,
    CellTexts,
    Column,
    ColumnTable,
    PackedWords,
    Words,
    unpack_arrow,
)

BLOCK_BYTES = 1 << 20

# So few cells tell mostly that others are no numbers, and so many whether most of them differ.
FEW, MANY = 64, 8192


def plain_chunks(
    path: Path, separator: str, names: Sequence[str], header: bool, missing: Collection[str]
) -> Generator[ColumnTable, None, int | None]:
    """Walk through the rows of a file, `PART_ROWS` at a time, up to those that a careful reader has to read.

    Returns how many chunks there were before these; None if there are no such rows.
    """
    try:
        import pyarrow  # noqa: F401
    except ImportError:
        return 0
    blocks = _blocks(path, header)
    if header and _read(*next(blocks), separator, [f"{k}" for k, _ in enumerate(names)]) is None:
        return 0
    done = 0
    with _threads() as each:
        for block, n_lines in blocks:
            if (table := _read(block, n_lines, separator, names, missing)) is None:
                return done
            found = zip(names, each(partial(_texts, missing=missing), table.columns), strict=True)
            yield ColumnTable(tuple(Column(name, None, texts) for name, texts in found))
            done += 1
    return None if done else 0


@contextmanager
def _threads() -> Iterator[Callable[..., Iterator[Any]]]:
    """Have a function called for columns side by side, by as many threads as Arrow uses."""
    import pyarrow as pa

    if pa.cpu_count() == 1:
        yield map
    else:
        with ThreadPoolExecutor(pa.cpu_count(), thread_name_prefix="pbgnet-csv") as pool:
            yield pool.map


def _read(
    block: bytes, n_lines: int, separator: str, names: Sequence[str], missing: Collection[str] = ()
) -> Any:
    """Read so many lines as a table of texts; None where another reader might read them otherwise.

    Texts that mean "missing", and empty ones, are null.
    """
    import pyarrow as pa
    from pyarrow import csv

    rows = block.replace(b"\r\n", b"\n") if b"\r" in block else block
    if b"\r" in rows or b'"' in rows or b"\0" in rows:
        return None
    try:
        table = csv.read_csv(
            pa.BufferReader(rows),
            csv.ReadOptions(column_names=list(names), block_size=BLOCK_BYTES),
            csv.ParseOptions(delimiter=separator, quote_char=False),
            csv.ConvertOptions(
                column_types=dict.fromkeys(names, pa.string()),
                null_values=["", *missing],
                strings_can_be_null=True,
            ),
        )
    except pa.ArrowInvalid:  # rows of another length, a cell that is very long, or what is not UTF-8
        return None
    # Empty lines and lines of blanks are no rows to some, and one empty cell to others.
    return table if table.num_rows == n_lines and not _begin_blank(table.column(0)) else None


def _begin_blank(cells: Any) -> bool:
    """Whether some cell begins with a blank."""
    import pyarrow.compute as compute

    return any(compute.any(compute.starts_with(cells, blank)).as_py() for blank in (" ", "\t"))


def _blocks(path: Path, header: bool) -> Iterator[tuple[bytes, int]]:
    """Walk through the lines of a file, as many as a part has rows, and their count; a header comes first."""
    opened: Any = gzip.open if path.name.lower().endswith(".gz") else open
    with opened(path, "rb") as file:
        start = file.read(BLOCK_BYTES).removeprefix(BOM_UTF8)
        if header:
            first, _, start = start.partition(b"\n")
            yield first + b"\n", 1
        pieces: list[bytes] = []
        n_lines = 0
        for block in itertools.chain([start], iter(lambda: file.read(BLOCK_BYTES), b"")):
            rest, n_new = block, block.count(b"\n")
            while n_lines + n_new >= PART_ROWS:
                cut = _nth_line_end(rest, PART_ROWS - n_lines)
                yield b"".join([*pieces, rest[:cut]]), PART_ROWS
                pieces, rest = [], rest[cut:]
                n_lines, n_new = 0, n_lines + n_new - PART_ROWS
            pieces.append(rest)
            n_lines += n_new
        if last := b"".join(pieces):
            yield last, n_lines + (not last.endswith(b"\n"))


def _nth_line_end(block: bytes, count: int) -> int:
    """Return where the line ends that is the last of so many."""
    ends = np.flatnonzero(np.frombuffer(block, dtype=np.uint8) == ord("\n"))
    return int(ends[count - 1]) + 1


def _texts(cells: Any, missing: Collection[str]) -> Words:
    """Return texts without blanks around them, and none where they mean "missing"."""
    import pyarrow as pa

    whole = cells.combine_chunks()
    array = whole.chunk(0) if isinstance(whole, pa.ChunkedArray) else whole
    if _written(array.slice(0, FEW)) is not None and (numbers := _written(array)) is not None:
        return CellTexts(len(array), lambda: array, numbers)
    if 2 * len((sample := array.slice(0, MANY)).unique()) > len(sample):
        content, starts = unpack_arrow(array.drop_null())
        if not _may_have_blanks(content, starts):
            return CellTexts(len(array), lambda: array)
    return _cleaned(array.dictionary_encode(), missing)


def _cleaned(coded: Any, missing: Collection[str]) -> Words:
    words, places = coded.dictionary, coded.indices.fill_null(-1).to_numpy()
    content, starts = unpack_arrow(words)
    if _may_have_blanks(content, starts):
        stripped = [word.strip() for word in words.to_pylist()]
        texts = Words.of([None if not word or word in missing else word for word in stripped] + [None])
        return Words(texts.words, texts.places[places])
    return PackedWords(content, starts, places)


def _may_have_blanks(content: NDArray[np.uint8], starts: NDArray[np.int64]) -> bool:
    """Whether some word begins or ends with a blank, or with what might be one beyond ASCII."""
    edges = np.concatenate([content[starts[:-1]], content[starts[1:] - 1]])
    return bool(((edges <= ord(" ")) | (edges > ord("~"))).any())


def _written(cells: Any) -> NDArray[np.float64] | None:
    """Return the numbers that cells write out, NaN for null, if each writes out a finite one; else None."""
    import pyarrow as pa

    try:
        numbers = cells.cast(pa.float64()).to_numpy(zero_copy_only=False)
    except pa.ArrowInvalid:
        return None
    n_finite = np.count_nonzero(np.isfinite(numbers))  # "nan" and "inf" are no numbers in a table
    return numbers if n_finite == len(cells) - cells.null_count else None
