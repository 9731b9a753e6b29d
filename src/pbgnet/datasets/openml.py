"""Downloads from OpenML, through scikit-learn, and the folder where they are cached."""

import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

from sklearn.datasets import fetch_openml

from pbgnet.exceptions import DamagedFileError, MissingDataError

CACHE_VARIABLE = "PBGNET_CACHE"

Table = TypeVar("Table")


def cache_folder() -> Path:
    """Return the folder for downloaded data: PBGNET_CACHE, or pbgnet in the user's cache folder."""
    if given := os.environ.get(CACHE_VARIABLE):
        return Path(given).expanduser().absolute()
    if sys.platform == "win32":
        base = Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local")
    elif sys.platform == "darwin":
        base = Path.home() / "Library" / "Caches"
    else:
        base = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return base.absolute() / "pbgnet"


def fetch_table(openml_id: int, convert: Callable[[Any, Any], Table], where: str, ways: str) -> Table:
    """Download a data set by its number and convert it; `where` and `ways` are for the error message."""
    try:
        bunch = fetch_openml(data_id=openml_id, as_frame=True, cache=False, parser="auto")
    except ImportError as error:
        raise MissingDataError(
            f"{where} downloading it from OpenML requires pandas: pip install pandas."
        ) from error
    except (OSError, ValueError) as error:  # URLError is an OSError; an unknown number is a ValueError
        raise MissingDataError(
            f"{where} OpenML data set {openml_id} could not be downloaded ({error}). {ways}"
        ) from error
    try:
        return convert(bunch.data, bunch.target)
    except (ValueError, TypeError, KeyError) as error:
        raise DamagedFileError(f"OpenML data set {openml_id} is not as expected: {error}. {ways}") from error
