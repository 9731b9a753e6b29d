"""Tables written in batches, to a file that is complete or does not exist."""

import gzip
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from pbgnet.exceptions import OutputExistsError
from pbgnet.files import replace_file
from pbgnet.table_files import kind_of_file

if TYPE_CHECKING:
    import pandas as pd

    Write = Callable[[pd.DataFrame], None]


def check_new_table(path: Path, *, overwrite: bool) -> None:
    """Raise an error before any work is done if a table could not be written there."""
    kind_of_file(path)
    if path.exists() and (path.is_dir() or not overwrite):
        raise OutputExistsError(f"{path} exists already; choose another name, or pass --overwrite.")
    if not path.absolute().parent.is_dir():
        raise FileNotFoundError(2, "there is no such folder", str(path.parent))


@contextmanager
def table_writer(
    path: Path, typical: "Iterable[pd.DataFrame]" = (), *, overwrite: bool = False
) -> "Iterator[Write]":
    """Give a function that appends rows to a table, in the format of its extension.

    At the end of the block, what was written replaces what was there; it is discarded if the block raises an
    error.

    Parameters
    ----------
    path : Path
    typical : iterable of DataFrame
        For Parquet, whose columns have one type: frames that together show the columns, in their order, and
        all kinds of their values. Rows get types that fit all of these.
    overwrite : bool
        Whether to replace an existing file.
    """
    check_new_table(path, overwrite=overwrite)
    append = _append_to_parquet if kind_of_file(path) == "parquet" else _append_to_csv
    with replace_file(path) as temporary, append(temporary, kind_of_file(path), typical) as write:
        yield write


def write_table(frame: "pd.DataFrame", path: Path, *, overwrite: bool = False) -> None:
    """Write a table in the format of its extension; an interrupted write leaves what was there."""
    with table_writer(path, [frame], overwrite=overwrite) as write:
        write(frame)


@contextmanager
def _append_to_csv(path: Path, kind: str, typical: object) -> "Iterator[Write]":
    opened = gzip.open if kind.endswith(".gz") else open
    separator = "\t" if kind.startswith("tsv") else ","
    with opened(path, "wt", encoding="utf-8", newline="") as file:
        begun = False

        def write(frame: "pd.DataFrame") -> None:
            nonlocal begun
            frame.to_csv(file, index=False, header=not begun, sep=separator, lineterminator="\n")
            begun = True

        yield write


@contextmanager
def _append_to_parquet(path: Path, kind: str, typical: "Iterable[pd.DataFrame]") -> "Iterator[Write]":
    import pyarrow as pa
    import pyarrow.parquet

    schema = pa.schema([])
    for frame in typical:
        found = pa.Schema.from_pandas(frame, preserve_index=False)
        plain = [
            (field.name, field.type.value_type if pa.types.is_dictionary(field.type) else field.type)
            for field in found
        ]
        schema = pa.unify_schemas([schema, pa.schema(plain)], promote_options="permissive")
    with pyarrow.parquet.ParquetWriter(path, schema) as writer:
        yield lambda frame: writer.write_table(
            pa.Table.from_pandas(frame, schema=schema, preserve_index=False)
        )
