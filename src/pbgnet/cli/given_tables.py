"""The tables that a user names: files, folders, patterns, remote places; in memory, or streamed."""

import functools
import os
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pbgnet.exceptions import DamagedFileError
from pbgnet.files import folder_stands
from pbgnet.table_files import check_file, is_csv, kind_of_file

HELD_FILE = 32 * 2**20
"""A single file of at most this many bytes is read into memory; larger ones, or several, are streamed."""


@dataclass(frozen=True)
class GivenTables:
    """Tables with the same columns, which are one table.

    Attributes
    ----------
    names : tuple of str
        As they were given.
    """

    names: tuple[str, ...]

    @classmethod
    def of(cls, names: Sequence[str | Path]) -> "GivenTables":
        """Return tables by what the user calls them."""
        return cls(tuple(map(str, names)))

    @functools.cached_property
    def files(self) -> tuple[str, ...]:
        """The files that the names mean, in the order of their rows.

        A name that is that of one file, as by its ending it should be, is looked at when it is read.
        """
        if len(self.names) == 1 and not (os.path.isdir(self.names[0]) or _is_pattern(self.names[0])):
            return self.names
        from pbgnet.sources import find_files

        return tuple(find_files(list(self.names)))

    @property
    def first(self) -> Path:
        """The first file, which messages name."""
        return Path(self.files[0])

    @property
    def title(self) -> str:
        """Their name in a report: without folders, the first of several."""
        first = self.names[0].rstrip("/\\").replace("\\", "/").rpartition("/")[2] or self.names[0]
        return first if len(self.names) == 1 else f"{first} and {len(self.names) - 1} more"

    @property
    def is_csv(self) -> bool:
        """Whether cells are texts."""
        return is_csv(self.files[0])

    @property
    def held(self) -> bool:
        """Whether the table is a single small file, which is read into memory."""
        if len(self.files) > 1 or "://" in self.files[0]:
            return False
        return not self.first.exists() or self.first.stat().st_size <= HELD_FILE

    def __str__(self) -> str:
        return " ".join(map(shlex.quote, self.names))


def check_given(options: Mapping[str, Any]) -> None:
    """Raise `DamagedFileError` if a model or table given to a command is missing or of an unknown kind.

    Every command checks this before it does anything else: the libraries that compute take seconds to load.
    """
    model, data = options.get("model"), options.get("data")
    if isinstance(model, Path) and not folder_stands(model):
        raise DamagedFileError(f"There is no model folder {model}.")
    for name in [data] if isinstance(data, str | Path) else data or ():
        if not (os.path.isdir(name) or _is_pattern(str(name))):
            check_file(Path(name))
            kind_of_file(name)


def _is_pattern(name: str) -> bool:
    return "://" in name or (any(mark in name for mark in "*?[") and not os.path.exists(name))
