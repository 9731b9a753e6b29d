"""Large tables with a known labelling rule: ``python -m benchmarks.scale_data OUT --rows 10000000``.

Parquet files in row groups of 2**17 rows, written one row group at a time. A row group depends on the seed
and its number alone, so a shorter table is the beginning of a longer one.
"""

import argparse
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.random import Generator
from numpy.typing import NDArray

GROUP_ROWS = 1 << 17
GROUPS_PER_FILE = 16
LABEL_NOISE = 0.05
"""Share of labels that are drawn against the rule: no classifier errs less."""

FEW, MANY = 6, 3000
DAYS = 3650
FIRST_DAY = np.datetime64("2015-01-01", "D")

Cells = NDArray[Any]


def normal(rng: Generator, n: int) -> pa.Array:
    """Numbers around zero."""
    return pa.array(rng.standard_normal(n))


def gappy(rng: Generator, n: int) -> pa.Array:
    """Numbers of which every twelfth is missing."""
    return pa.array(rng.uniform(0.0, 100.0, n).round(3), mask=rng.random(n) < 1 / 12)


def skewed(rng: Generator, n: int) -> pa.Array:
    """Amounts: many small, few very large, to the cent."""
    return pa.array(np.exp(4.0 + 1.5 * rng.standard_normal(n)).round(2))


def counts(rng: Generator, n: int) -> pa.Array:
    """Small whole numbers."""
    return pa.array(rng.poisson(3.0, n).astype(np.int32))


def gappy_counts(rng: Generator, n: int) -> pa.Array:
    """Whole numbers, of which some are missing."""
    return pa.array(rng.integers(18, 90, n), mask=rng.random(n) < 0.03)


def few_words(rng: Generator, n: int) -> pa.Array:
    """One of six words, some missing."""
    words = pa.array([f"kind {k}" for k in range(FEW)])
    places = pa.array(rng.integers(0, FEW, n).astype(np.int32), mask=rng.random(n) < 0.02)
    return pa.DictionaryArray.from_arrays(places, words).cast(pa.string())


def many_words(rng: Generator, n: int) -> pa.Array:
    """One of thousands of words, the first ones far more often than the last."""
    words = pa.array([f"place {k:04d}" for k in range(MANY)])
    places = np.floor(MANY ** rng.random(n)).astype(np.int32) - 1
    return pa.DictionaryArray.from_arrays(pa.array(np.clip(places, 0, MANY - 1)), words).cast(pa.string())


def days(rng: Generator, n: int) -> pa.Array:
    """Days of ten years."""
    return pa.array(FIRST_DAY + rng.integers(0, DAYS, n))


def times(rng: Generator, n: int) -> pa.Array:
    """Moments of ten years, to the second, some missing."""
    seconds = FIRST_DAY.astype("datetime64[s]") + rng.integers(0, DAYS * 86400, n)
    return pa.array(seconds.astype("datetime64[us]"), mask=rng.random(n) < 0.01)


def truths(rng: Generator, n: int) -> pa.Array:
    """True or false."""
    return pa.array(rng.random(n) < 0.4)


KINDS: tuple[Callable[[Generator, int], pa.Array], ...] = (
    normal, gappy, skewed, counts, few_words, many_words, days, truths, gappy_counts, times,
)  # fmt: skip
"""The kinds of columns, over and over; the labels depend on the first of each."""


def true_labels(columns: dict[str, pa.Array]) -> NDArray[np.bool_]:
    """Label rows by the rule, without noise: sums, thresholds and interactions of the first columns."""

    def numbers(name: str, missing: float) -> Cells:
        return np.asarray(columns[name].cast(pa.float64()).fill_null(missing))

    number, amount = numbers("normal_0", 0.0), np.log(numbers("skewed_0", 0.0))
    share, count = numbers("gappy_0", 70.0), numbers("counts_0", 0.0)
    truth = np.asarray(columns["truths_0"].cast(pa.int8())) == 1
    first_kinds = _numbers_in(columns["few_words_0"].fill_null("kind 0")) < FEW // 2
    place = _numbers_in(columns["many_words_0"])
    year = columns["days_0"].cast(pa.timestamp("s")).to_numpy().astype("datetime64[Y]").astype(int)
    score = np.where(first_kinds, 1.2, -1.2) * number  # what a number means depends on a word
    score += 0.8 * np.where(truth, amount > 4.5, amount < 3.5)
    score += 0.6 * ((share > 60) & (count >= 3)) - 0.5 * (place < 10) + 0.15 * (year - 50)
    return np.asarray(score > 0.55)


def _numbers_in(words: pa.Array) -> Cells:
    coded = words.dictionary_encode()
    numbers = np.array([int(word.split()[1]) for word in coded.dictionary.to_pylist()])
    return np.asarray(numbers[np.asarray(coded.indices)])


def row_group(number: int, n_rows: int, n_columns: int, seed: int) -> pa.Table:
    """Make the first rows of a row group: `n_columns` columns and the column "label"."""
    columns = {}
    for k in range(n_columns):
        draw = KINDS[k % len(KINDS)]
        column = draw(np.random.default_rng([seed, number, k]), GROUP_ROWS)
        columns[f"{draw.__name__}_{k // len(KINDS)}"] = column
    wrong = np.random.default_rng([seed, number, 1 << 20]).random(GROUP_ROWS) < LABEL_NOISE
    labels = np.where(true_labels(columns) ^ wrong, "yes", "no")
    return pa.table({**columns, "label": pa.array(labels)}).slice(0, n_rows)


def row_groups(n_rows: int, n_columns: int, seed: int) -> Iterator[pa.Table]:
    """Make a table, one row group after the other."""
    for number, start in enumerate(range(0, n_rows, GROUP_ROWS)):
        yield row_group(number, min(GROUP_ROWS, n_rows - start), n_columns, seed)


def write_table(folder: Path, n_rows: int, n_columns: int = 30, seed: int = 0) -> list[Path]:
    """Write a table as Parquet files of at most 16 row groups each; returns the files in order."""
    if n_columns < len(KINDS):
        raise ValueError(f"The labels depend on {len(KINDS)} columns; there cannot be {n_columns}.")
    folder.mkdir(parents=True, exist_ok=True)
    files: list[Path] = []
    writer: pq.ParquetWriter | None = None
    for number, group in enumerate(row_groups(n_rows, n_columns, seed)):
        if number % GROUPS_PER_FILE == 0:
            if writer is not None:
                writer.close()
            files.append(folder / f"part-{number // GROUPS_PER_FILE:04d}.parquet")
            writer = pq.ParquetWriter(files[-1], group.schema)
        assert writer is not None
        writer.write_table(group, row_group_size=GROUP_ROWS)
    if writer is not None:
        writer.close()
    return files


def main(arguments: Sequence[str] | None = None) -> int:
    """Write the files and say how long it took."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.scale_data", description=__doc__)
    parser.add_argument("folder", type=Path, metavar="OUT", help="folder for the Parquet files")
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--columns", type=int, default=30, help="besides the column 'label'; at least 10")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args(arguments)
    start = time.perf_counter()
    files = write_table(options.folder, options.rows, options.columns, options.seed)
    size = sum(file.stat().st_size for file in files)
    print(f"{len(files)} files, {size / 1e6:.0f} MB, {time.perf_counter() - start:.0f} s")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
