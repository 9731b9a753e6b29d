"""The tables of the comparison: ten CSV files, and sets of the paper."""

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

SETTLED_ON = ("banana", "tic-tac-toe", "german", "pima", "spambase")
"""The tables that defaults were settled on; the others say more."""

CSV_TABLES = (*SETTLED_ON, "phoneme", "crx", "titanic", "wisconsin", "saheart")
PAPER_SETS = ("adult", "ads", "breast", "mnist17", "mnist49", "mnist56")

ADULT_COLUMNS = (
    "age", "workclass", "fnlwgt", "education", "education-num", "marital-status", "occupation",
    "relationship", "race", "sex", "capital-gain", "capital-loss", "hours-per-week", "native-country",
    "income",
)  # fmt: skip


@dataclass(frozen=True)
class Example:
    """A table with its labels, as a user would have it."""

    name: str
    X: Any  # a frame, or an array of numbers
    y: NDArray[Any]


def data_folder() -> Path:
    """Return the folder of the data: PBGNET_DATA, or shared/data beside the project."""
    return Path(os.environ.get("PBGNET_DATA") or Path(__file__).resolve().parents[3] / "shared" / "data")


def load(name: str) -> Example:
    """Load a table by its name."""
    if name in CSV_TABLES:
        return _csv(name)
    if name == "adult":
        return _adult()
    from pbgnet.datasets import load_dataset

    data = load_dataset(name, data_dir=data_folder(), download=False)
    return Example(name, data.X, np.asarray(data.y))


def _csv(name: str) -> Example:
    import pandas as pd

    frame = pd.read_csv(data_folder() / "tables" / f"{name}.csv")
    y = frame.pop("class").astype(str).to_numpy(dtype=object)
    return Example(name, frame, y.astype(str))


def _adult() -> Example:
    """Adult as it is published, texts and all."""
    import pandas as pd

    parts = [
        pd.read_csv(
            data_folder() / "adult" / f"adult.{part}",
            header=None,
            names=list(ADULT_COLUMNS),
            skipinitialspace=True,
            keep_default_na=False,
            comment="|",
        )
        for part in ("data", "test")
    ]
    frame = pd.concat(parts, ignore_index=True)
    y = frame.pop("income").str.strip(". ").to_numpy(dtype=object)
    return Example("adult", frame, y.astype(str))


def train_and_test(n: int, seed: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Split rows into three quarters for training and a quarter for testing."""
    order = np.random.default_rng([seed, n]).permutation(n)
    border = round(0.75 * n)
    return np.sort(order[:border]), np.sort(order[border:])
