"""What the command line keeps beside a model: how its table was read."""

import json
import os
import shutil
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pbgnet.cli.outcome import note
from pbgnet.cli.tables import MISSING, check_column, some
from pbgnet.exceptions import DamagedFileError, OptionError, OutputExistsError, PBGNetError

if TYPE_CHECKING:
    import pandas as pd

    from pbgnet.certificates import CertifiedModel, CertifiedPredictions

__all__ = [
    "TableReading",
    "check_new_folder",
    "features",
    "load_reading",
    "new_folder",
    "reads_text",
    "save_reading",
    "standing",
]

READING = "table.json"
SCHEMA, SCHEMA_VERSION = "pbgnet-table", 1


@dataclass(frozen=True)
class TableReading:
    """How a table in a file becomes features and labels.

    It is a convenience and no part of the proof: `verify` compares the data it reads by their fingerprint.

    Attributes
    ----------
    target : str or None
        Column of the labels.
    missing : tuple of str
        Texts that mean "missing" in a CSV.
    dropped : tuple of str
        Columns that are not features.
    """

    target: str | None = None
    missing: tuple[str, ...] = MISSING
    dropped: tuple[str, ...] = ()

    def with_missing(self, texts: list[str] | None) -> "TableReading":
        """Return the same with further texts that mean "missing"."""
        return replace(self, missing=tuple(dict.fromkeys((*self.missing, *(texts or ())))))

    def with_target(self, target: str | None) -> "TableReading":
        """Return the same with another column of labels, if one is given."""
        return replace(self, target=target or self.target)

    def training_features(self, frame: "pd.DataFrame") -> "pd.DataFrame":
        """Return the columns to learn from: all but the target and those dropped."""
        for name in self.dropped:
            check_column("dropped", name, frame.columns)
        if self.target in self.dropped:
            raise OptionError(f"The target {self.target!r} cannot be dropped.")
        left = [name for name in frame.columns if name != self.target and name not in self.dropped]
        if not left:
            raise OptionError(f"The table has no column but the target {self.target!r} to learn from.")
        return frame[left]


def save_reading(folder: Path, reading: TableReading, model: "CertifiedModel") -> None:
    """Keep how the table of a model was read, in its folder."""
    from pbgnet.files import replace_file

    content = {
        "schema": SCHEMA,
        "version": SCHEMA_VERSION,
        "target": reading.target,
        "missing": list(reading.missing),
        "dropped": list(reading.dropped),
        "data": model.certificate.fingerprints.data,
    }
    with replace_file(folder / READING) as temporary:
        temporary.write_text(json.dumps(content, indent=2) + "\n", encoding="utf-8", newline="\n")


def load_reading(folder: Path, model: "CertifiedModel | CertifiedPredictions") -> TableReading:
    """Read how the table of a model was read; the defaults where that was not kept, or is of another model.

    Raises
    ------
    DamagedFileError
        If the file holds anything `save_reading` could not have written.
    """
    from pbgnet.certificates.records import parse_json, read_keys

    path = standing(folder) / READING
    if not path.is_file():
        return TableReading()
    try:
        keys = ["schema", "version", "target", "missing", "dropped", "data"]
        content = read_keys(parse_json(path.read_text(encoding="utf-8")), keys)
        if content["schema"] != SCHEMA or content["version"] != SCHEMA_VERSION:
            raise DamagedFileError(f"it is not {SCHEMA!r} of version {SCHEMA_VERSION}.")
        reading = TableReading(
            _text(content["target"]), _texts(content["missing"]), _texts(content["dropped"])
        )
    except (PBGNetError, UnicodeDecodeError) as error:
        raise DamagedFileError(
            f"{path} is damaged: {error} Remove it, and name the column with --target."
        ) from error
    if content["data"] != model.certificate.fingerprints.data:
        note(f"{path} belongs to another model and is ignored.")
        return TableReading()
    return reading


def reads_text(model: "CertifiedModel | CertifiedPredictions") -> bool:
    """Whether the cells of a CSV are texts to a model, which itself tells numbers from words.

    That is how `train` makes models from a CSV; those from Parquet or Python mostly know typed columns.
    """
    preprocessor = getattr(model, "preprocessor", None)
    return preprocessor is not None and bool(preprocessor.parse_numbers)


def features(
    frame: "pd.DataFrame", model: "CertifiedModel | CertifiedPredictions", reading: TableReading
) -> Any:
    """Return the columns of the fitted table, as far as they are there, in its order; notes the others."""
    others = {reading.target, *reading.dropped}
    names = getattr(model, "feature_names", None)
    if names is None:  # fitted or certified by other means than this command line
        table = frame[[name for name in frame.columns if name not in others]]
        return table if model.certificate.fingerprints.columns is not None else table.to_numpy()
    known = set(names)
    ignored = [name for name in frame.columns if name not in known and name not in others]
    if ignored:
        note(f"Ignored, for the model does not know them: {some(ignored)}.")
    return frame[[name for name in names if name in frame.columns]]


def check_new_folder(folder: Path, overwrite: bool) -> None:
    """Raise before any work is done if a model could not be saved there."""
    if standing(folder).exists() and not overwrite:
        raise OutputExistsError(f"{folder} exists already; choose another place, or pass --overwrite.")
    if folder.exists() and (
        not folder.is_dir() or (any(folder.iterdir()) and not (folder / "certificate.json").is_file())
    ):
        raise OutputExistsError(
            f"{folder} exists and is not a model, so it is not replaced; choose another place."
        )
    parent = next(place for place in (folder.absolute(), *folder.absolute().parents) if place.exists())
    if not parent.is_dir():
        raise NotADirectoryError(20, "not a folder, so no model can be saved in it", str(parent))
    if not os.access(parent, os.W_OK | os.X_OK):
        raise PermissionError(13, "this folder cannot be written to", str(parent))


@contextmanager
def new_folder(folder: Path) -> Iterator[Path]:
    """Give a path for a model and all that belongs to it; at the end it takes the place of `folder`.

    Until then, and if the block raises, the old folder is untouched. If the machine stops between the two
    renamings the old one waits where `pbgnet.certificates.storage.set_aside_path` tells, as in saving a
    model; `load_model` finds it there. Files in the old folder that are not in the new one are kept.
    """
    from pbgnet.certificates.storage import set_aside_path

    target = folder.resolve() if folder.is_symlink() else folder.absolute()
    aside = set_aside_path(target)
    target.parent.mkdir(parents=True, exist_ok=True)
    fresh = target.parent / f".{target.name}.new-{uuid.uuid4().hex[:12]}"
    try:
        yield fresh
        if aside.is_dir():  # an earlier saving was interrupted
            _keep_others(aside, target) if target.exists() else os.rename(aside, target)
        if target.exists():
            os.rename(target, aside)
        try:
            os.rename(fresh, target)
        except BaseException:
            if aside.is_dir():
                os.rename(aside, target)
            raise
        _settle(target.parent)
    finally:
        shutil.rmtree(fresh, ignore_errors=True)  # gone already if all went well
    if aside.is_dir():
        _keep_others(aside, target)


def _keep_others(aside: Path, target: Path) -> None:
    """Move what only the old folder has to the new one, then remove the old one."""
    for path in aside.iterdir():
        if not (target / path.name).exists():
            os.rename(path, target / path.name)
    shutil.rmtree(aside)


def _settle(folder: Path) -> None:
    """Have renamings in a folder written to the disk, where the system lets folders be opened."""
    if os.name == "posix":
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def standing(folder: Path) -> Path:
    """Return where a model stands: beside its place if saving was interrupted."""
    from pbgnet.certificates.storage import set_aside_path

    return folder if folder.exists() or not set_aside_path(folder).is_dir() else set_aside_path(folder)


def _text(value: object) -> str | None:
    if value is not None and not isinstance(value, str):
        raise DamagedFileError(f"expected text, got {value!r:.60}.")
    return value


def _texts(value: object) -> tuple[str, ...]:
    if not isinstance(value, list) or not all(isinstance(text, str) for text in value):
        raise DamagedFileError(f"expected a list of texts, got {value!r:.60}.")
    return tuple(value)
