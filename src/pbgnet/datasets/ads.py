"""Internet Advertisements (Kushmerick, 1998): images on web pages, advertisements or not.

The first four features have missing values and are left out, as in the paper. The other 1554 are bits. 856 of
the 3279 rows repeat an earlier one, and are kept.
"""

import os
from collections.abc import Mapping
from typing import Any

import numpy as np

from pbgnet.datasets.dataset import Dataset
from pbgnet.datasets.files import SourceFile
from pbgnet.datasets.sources import RawTable, Source, load_raw
from pbgnet.exceptions import DamagedFileError

N_LEFT_OUT = 4
N_BITS = 1554
LEFT_OUT = ("height", "width", "aratio", "local")
LABELS = {"ad": 0, "nonad": 1, "noad": 1}  # OpenML writes noad


def load_ads(data_dir: str | os.PathLike[str] | None = None, *, download: bool = True) -> Dataset:
    """Load the set; class -1 is ``ad``, as in the authors' program."""
    table, record = load_raw(ADS, data_dir, download)
    return Dataset(
        name="ads",
        X=table.features.astype(np.float32),
        y=2 * table.labels.astype(np.int64) - 1,
        label_names=("ad", "nonad"),
        feature_names=tuple(f"feature{k}" for k in range(N_LEFT_OUT, N_LEFT_OUT + N_BITS)),
        source=record,
        standardised_in_paper=True,
    )


def _parse(contents: Mapping[str, bytes]) -> RawTable:
    rows, labels = [], []
    for number, line in enumerate(contents["ad.data"].splitlines(), 1):
        # four values of any length, then a digit and a comma for each bit, then the label
        bits = line.split(b",", N_LEFT_OUT)[-1]
        label = bits[2 * N_BITS :].decode("ascii", "replace").strip().removesuffix(".")
        if label not in LABELS:
            raise DamagedFileError(f"Line {number} of ad.data does not have {N_BITS} bits and a label.")
        rows.append(bits[: 2 * N_BITS])
        labels.append(LABELS[label])
    cells = np.frombuffer(b"".join(rows), np.uint8).reshape(-1, N_BITS, 2)
    if not (np.isin(cells[:, :, 0], (ord("0"), ord("1"))).all() and (cells[:, :, 1] == ord(",")).all()):
        raise DamagedFileError("ad.data contains values other than 0 and 1 after the first four features.")
    return RawTable(cells[:, :, 0] - np.uint8(ord("0")), np.array(labels, np.uint8))


def _convert(data: Any, target: Any) -> RawTable:
    names = [name for name in data.columns if name not in LEFT_OUT]
    if len(names) != N_BITS or data.shape[1] != N_BITS + N_LEFT_OUT:
        raise ValueError(f"{data.shape[1]} features, {len(names)} of them beside {', '.join(LEFT_OUT)}")
    values = np.column_stack([np.asarray(data[name]).astype(np.float64) for name in names])
    if not np.isin(values, (0, 1)).all():
        raise ValueError("values other than 0 and 1 after the first four features")
    labels = [LABELS[str(label).strip().removesuffix(".")] for label in target]
    return RawTable(values.astype(np.uint8), np.array(labels, np.uint8))


ADS = Source(
    name="ads",
    url="https://archive.ics.uci.edu/dataset/51",
    files=(SourceFile("ad.data", "4841bab145e0b2df2bc17893ecd9d62f8fbeac2c389b41ca59d77da682c0c4eb"),),
    openml_id=40978,
    rows_sha256="180f2a0338c33b3dff58a6ac5b54326ac158aa7b9f91219d21ceb668ae5ec427",
    parse=_parse,
    convert=_convert,
)
