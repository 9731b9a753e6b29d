"""Adult (Becker and Kohavi, 1996): people of a census who earn up to, or more than, 50,000 dollars a year.

The categories are those in the documentation of the data set, listed here. The columns therefore do not
depend on the rows, so the encoding is a fixed function and can be used before certifying. ``?``, a missing
value, is a category of its own.
"""

import math
import os
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from pbgnet.datasets.dataset import Dataset
from pbgnet.datasets.files import SourceFile
from pbgnet.datasets.sources import RawTable, Source, load_raw
from pbgnet.exceptions import DamagedFileError

# In the order of the file; None for numbers.
COLUMNS: dict[str, str | None] = {
    "age": None,
    "workclass": (
        "? Federal-gov Local-gov Never-worked Private Self-emp-inc Self-emp-not-inc State-gov Without-pay"
    ),
    "fnlwgt": None,
    "education": (
        "10th 11th 12th 1st-4th 5th-6th 7th-8th 9th Assoc-acdm Assoc-voc Bachelors Doctorate HS-grad Masters "
        "Preschool Prof-school Some-college"
    ),
    "education-num": None,
    "marital-status": (
        "Divorced Married-AF-spouse Married-civ-spouse Married-spouse-absent Never-married Separated Widowed"
    ),
    "occupation": (
        "? Adm-clerical Armed-Forces Craft-repair Exec-managerial Farming-fishing Handlers-cleaners "
        "Machine-op-inspct Other-service Priv-house-serv Prof-specialty Protective-serv Sales Tech-support "
        "Transport-moving"
    ),
    "relationship": "Husband Not-in-family Other-relative Own-child Unmarried Wife",
    "race": "Amer-Indian-Eskimo Asian-Pac-Islander Black Other White",
    "sex": "Female Male",
    "capital-gain": None,
    "capital-loss": None,
    "hours-per-week": None,
    "native-country": (
        "? Cambodia Canada China Columbia Cuba Dominican-Republic Ecuador El-Salvador England France Germany "
        "Greece Guatemala Haiti Holand-Netherlands Honduras Hong Hungary India Iran Ireland Italy Jamaica "
        "Japan Laos Mexico Nicaragua Outlying-US(Guam-USVI-etc) Peru Philippines Poland Portugal Puerto-Rico "
        "Scotland South Taiwan Thailand Trinadad&Tobago United-States Vietnam Yugoslavia"
    ),
}
NUMBERS = [name for name, categories in COLUMNS.items() if categories is None]
CATEGORIES = {name: texts.split() for name, texts in COLUMNS.items() if texts is not None}
LABELS = {"<=50K": 0, ">50K": 1}
FILES = {
    "adult.data": "df25a4e32ed6f1bd4b3910d21a7bd661a09061eced7cb45555a519d9667cc87b",
    "adult.test": "710432867c555a7b7eb850b83724172b75e288ff12ca59f19a8bf4aadb3edf1c",
}


def load_adult(data_dir: str | os.PathLike[str] | None = None, *, download: bool = True) -> Dataset:
    """Load the set: the six numbers first, then the 102 categories, one column each."""
    table, record = load_raw(ADULT, data_dir, download)
    n = len(table.labels)
    names = [*NUMBERS, *(f"{name}={text}" for name, texts in CATEGORIES.items() for text in texts)]
    encoded = np.zeros((n, len(names)), dtype=np.float32)
    encoded[:, : len(NUMBERS)] = table.features[:, : len(NUMBERS)]
    start = len(NUMBERS)
    for codes, texts in zip(table.features[:, len(NUMBERS) :].T, CATEGORIES.values(), strict=True):
        encoded[np.arange(n), start + codes] = 1
        start += len(texts)
    return Dataset(
        name="adult",
        X=encoded,
        y=2 * table.labels.astype(np.int64) - 1,
        label_names=("<=50K", ">50K"),
        feature_names=tuple(names),
        source=record,
        numeric=tuple(range(len(NUMBERS))),
        standardised_in_paper=True,
    )


def normalise(content: bytes) -> bytes:
    """Bring the known variants of the files to one form.

    They differ in a first line ``|1x3 Cross validator``, empty lines, line ends, and a full stop after the
    label.
    """
    lines = (line.strip().removesuffix(b".") for line in content.splitlines())
    return b"".join(line + b"\n" for line in lines if line and not line.startswith(b"|"))


def _table(columns: Mapping[str, Iterable[str]], labels: Iterable[str]) -> RawTable:
    """Encode the columns, numbers first; raise ValueError or KeyError for unexpected values."""
    numbers = [np.array([int(float(text)) for text in columns[name]], np.int32) for name in NUMBERS]
    codes = []
    for name, texts in CATEGORIES.items():
        index = {text: k for k, text in enumerate(texts)}
        codes.append(np.array([index[text] for text in columns[name]], np.int32))
    return RawTable(
        np.column_stack([*numbers, *codes]), np.array([LABELS[label] for label in labels], np.uint8)
    )


def _parse(contents: Mapping[str, bytes]) -> RawTable:
    text = "".join(contents[name].decode("ascii") for name in ("adult.data", "adult.test"))
    try:
        rows = [line.split(", ") for line in text.splitlines()]
        *columns, labels = zip(*rows, strict=True)
        return _table(dict(zip(COLUMNS, columns, strict=True)), labels)
    except (ValueError, KeyError) as error:
        raise DamagedFileError(f"The files of adult hold something unexpected: {error}.") from error


def _convert(data: Any, target: Any) -> RawTable:
    if set(data.columns) != set(COLUMNS):
        raise ValueError(f"the columns {sorted(map(str, data.columns))!r:.200}")
    columns = {name: [_text(value) for value in data[name].tolist()] for name in COLUMNS}
    return _table(columns, [_text(label).removesuffix(".") for label in target.tolist()])


def _text(value: object) -> str:
    """Write a value as in the files, where missing values are question marks."""
    if value is None or type(value).__name__ == "NAType" or (isinstance(value, float) and math.isnan(value)):
        return "?"
    return str(value).strip()


ADULT = Source(
    name="adult",
    url="https://archive.ics.uci.edu/dataset/2",
    files=tuple(SourceFile(name, sha256, normalise) for name, sha256 in FILES.items()),
    openml_id=1590,
    rows_sha256="bc58f3454f31990598ee4973dc01cd00b26db5fbbcfb1566d957155d0abcd6af",
    parse=_parse,
    convert=_convert,
)
