"""What the command line stores beside a model: how its table was read."""

import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Self

from pbgnet.cli.given_tables import GivenTables
from pbgnet.cli.outcome import note
from pbgnet.cli.tables import check_column, read_table, some
from pbgnet.exceptions import OptionError, OutputExistsError
from pbgnet.files import final_place, load_record, save_record, standing_folder
from pbgnet.records import Limits, Record
from pbgnet.table_files import MISSING

if TYPE_CHECKING:
    import pandas as pd

    from pbgnet.certificates import CertifiedModel, CertifiedPredictions
    from pbgnet.preprocessing import TablePreprocessor
    from pbgnet.sources import RowSource

READING, SCHEMA = "table.json", "pbgnet-table"


@dataclass(frozen=True)
class TableReading(Record):
    """How a table in a file becomes features and labels.

    It is a convenience, not part of the proof: `verify` compares the data it reads by their fingerprint.
    """

    targets: tuple[str, ...] = ()  # the column of the labels; or one for each label that a row may have
    missing: tuple[str, ...] = MISSING  # texts that mean "missing" in a CSV
    dropped: tuple[str, ...] = ()  # columns that are not features
    data: str | None = None  # fingerprint of the table it was kept for
    header: bool = True  # whether the first line of a CSV names the columns
    decimal: Annotated[str, Limits(choices=("auto", ".", ","))] = "auto"  # sign before decimals in a CSV
    keep_ids: bool = False  # whether columns that name the rows are features
    groups: str | None = None  # column of the groups, where it is not a feature
    answers: str | None = None  # column of the answers, where `certify` read them from the table

    @classmethod
    def from_dict(cls, data: object, where: str = "") -> Self:
        """Read a record; what older ones do not say is as it was then."""
        if not isinstance(data, dict):
            return super().from_dict(data, where)
        content = {"header": True, "decimal": "auto", "keep_ids": False, "groups": None, "answers": None}
        content |= data
        if "target" in content and "targets" not in content:  # there was one column of labels then
            target = content.pop("target")
            content["targets"] = [] if target is None else [target]
        return super().from_dict(content, where)

    def preprocessor(self, data: GivenTables) -> "TablePreprocessor":
        """Return the preprocessor of a table for training: cells of a CSV are texts to be parsed."""
        from pbgnet.preprocessing import TablePreprocessor

        return TablePreprocessor(parse_numbers=data.is_csv, decimal=self.decimal, drop_ids=not self.keep_ids)

    def open(self, data: GivenTables, *, as_text: bool = True, hold: bool = False) -> Any:
        """Return a table: a frame if it is one small file or must be in memory, otherwise a source."""
        if data.held:
            return self.read(data.first, as_text=as_text)
        source = self.scan(data, as_text=as_text)
        if not hold:
            return source
        import pandas as pd

        return pd.concat(source.frames(), ignore_index=True)

    def read(self, data: Path, *, as_text: bool = True) -> "pd.DataFrame":
        """Read the table at `data`; see `read_table`.

        With several labels, an empty cell in a label's column may mean that a row does not have it.
        """
        marked = self.targets if len(self.targets) > 1 else ()
        return read_table(data, self.missing, as_text=as_text, header=self.header, marked=marked)

    def scan(self, data: GivenTables, *, as_text: bool = True) -> "RowSource":
        """Return a table that is not in memory.

        But a CSV whose cells are not to be texts is: all of its cells decide together what a column is.
        """
        from pbgnet.sources import scan_table

        if as_text or not data.is_csv:
            return scan_table(list(data.names), missing=self.missing, header=self.header)
        import pandas as pd

        parts = [self.read(Path(path), as_text=False) for path in data.files]
        return scan_table(pd.concat(parts, ignore_index=True))

    def amended(self, targets: list[str] | None = None, missing: list[str] | None = None) -> "TableReading":
        """Return the same with other columns of labels, if given, and further texts for "missing"."""
        texts = tuple(dict.fromkeys((*self.missing, *(missing or ()))))
        return replace(self, targets=tuple(targets or self.targets), missing=texts)

    def given_groups(self, frame: Any) -> Any:
        """Return the group of each row, if a column that is not a feature says it."""
        return frame[self.groups] if self.groups is not None and self.groups in frame.columns else None

    def training_features(self, frame: Any) -> Any:
        """Return the columns of a table to learn from: all but the targets and dropped columns."""
        for name in self.dropped:
            check_column("dropped", name, frame.columns)
        for name in self.targets:
            if name in self.dropped:
                raise OptionError(f"The target {name!r} cannot be dropped.")
        left = [name for name in frame.columns if name not in (*self.targets, *self.dropped)]
        if not left:
            raise OptionError(
                f"The table has no columns to learn from besides the target {some(self.targets)}."
            )
        return columns_of(frame, left)


def save_reading(folder: Path, reading: TableReading, model: "CertifiedModel | CertifiedPredictions") -> None:
    """Store how the table of a model was read, in its folder."""
    save_record(folder / READING, SCHEMA, replace(reading, data=model.certificate.fingerprints.data))


def load_reading(folder: Path, model: "CertifiedModel | CertifiedPredictions") -> TableReading:
    """Return how the table of a model was read; the defaults where that was not kept, or is another's."""
    advice = "Remove it, and name the column with --target."
    reading = load_record(TableReading, standing_folder(folder) / READING, SCHEMA, advice)
    if reading is not None and reading.data != model.certificate.fingerprints.data:
        note(f"Ignoring {standing_folder(folder) / READING}, which belongs to another model.")
        reading = None
    return reading or TableReading()


def reads_text(model: "CertifiedModel | CertifiedPredictions") -> bool:
    """Whether the cells of a CSV are texts to a model, which itself tells numbers from words.

    That is how `train` makes models from a CSV; those from Parquet or Python mostly know typed columns.
    """
    preprocessor = getattr(model, "preprocessor", None)
    return preprocessor is not None and bool(preprocessor.parse_numbers)


def columns_of(table: Any, names: list[str]) -> Any:
    """Return some columns of a frame or a source."""
    return table.select(names) if hasattr(table, "batches") else table[names]


def features(
    frame: Any,
    model: "CertifiedModel | CertifiedPredictions",
    reading: TableReading,
    *,
    complete: bool = True,
) -> Any:
    """Return the existing columns of the fitted table, in its order; note the others.

    With `complete=False`, a table that lacks one of them keeps all its columns, so that `verify` can say
    which of them may have been renamed.
    """
    names, columns = getattr(model, "feature_names", None), list(frame.columns)
    if complete or names is None or set(names) <= set(columns):
        chosen = feature_columns(columns, model, reading)
    else:
        chosen = [name for name in columns if name not in {*reading.targets, *reading.dropped}]
    table = columns_of(frame, chosen)
    named = names or model.certificate.fingerprints.columns is not None
    return table if named else table.to_numpy()


def feature_columns(
    columns: Sequence[str], model: "CertifiedModel | CertifiedPredictions", reading: TableReading
) -> list[str]:
    """Return which columns of a table are those of the fitted one, in its order; notes the others."""
    others = {*reading.targets, *reading.dropped}
    names = getattr(model, "feature_names", None)
    if names is None:  # fitted or certified by other means than this command line
        return [name for name in columns if name not in others]
    known, there = set(names), set(columns)
    if ignored := [name for name in columns if name not in known and name not in others]:
        note(f"Ignoring columns that the model does not use: {some(ignored)}.")
    return [name for name in names if name in there]


def check_new_folder(folder: Path, overwrite: bool) -> None:
    """Raise an error before any work is done if a model could not be saved there."""
    if standing_folder(folder).exists() and not overwrite:
        raise OutputExistsError(f"{folder} exists already; choose another folder, or pass --overwrite.")
    if folder.exists() and (
        not folder.is_dir() or (any(folder.iterdir()) and not (folder / "certificate.json").is_file())
    ):
        raise OutputExistsError(
            f"{folder} exists and is not a model, so pbgnet does not replace it; choose another folder."
        )
    # The new folder takes the place of the old one by renaming, so it is the parent that must let it.
    parent = next(place for place in final_place(folder).parents if place.exists())
    if not parent.is_dir():
        raise NotADirectoryError(20, "not a folder, so no model can be saved in it", str(parent))
    if not os.access(parent, os.W_OK | os.X_OK):
        raise PermissionError(13, "you have no permission to write to this folder", str(parent))


def all_stores(first: Path) -> list[Path]:
    """Return a store and those beside it, runs-2 and so on; of a run in several, the last by name counts."""
    return [first, *sorted(first.parent.glob(f"{first.stem}-*{first.suffix}"))]
