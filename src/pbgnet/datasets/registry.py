"""The list of data sets, and the one function that loads any of them by name."""

import inspect
import os
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

from pbgnet.datasets.ads import load_ads
from pbgnet.datasets.adult import load_adult
from pbgnet.datasets.bundled import load_breast, load_circles, load_moons
from pbgnet.datasets.dataset import Dataset
from pbgnet.datasets.files import given_path
from pbgnet.datasets.mnist import load_mnist, pair_of
from pbgnet.datasets.packed import load_packed
from pbgnet.exceptions import OptionError, UnknownNameError
from pbgnet.validation import check_name

__all__ = ["DATASETS", "PAPER_DATASETS", "DatasetEntry", "load_dataset"]

BSD, CC_BY, CC_BY_SA = "BSD-3-Clause", "CC BY 4.0", "CC BY-SA 3.0"


@dataclass(frozen=True)
class DatasetEntry:
    """A line of the registry.

    Attributes
    ----------
    name : str
    load : callable
        From data_dir and download (sets with files) or options of its own to the data set.
    summary : str
    licence : str
        As stated by the source.
    paper_rows : tuple of two int or None
        Rows for training and for testing in Table 3 of the paper, where it has the set.
    """

    name: str
    load: Callable[..., Dataset]
    summary: str
    licence: str
    paper_rows: tuple[int, int] | None = None


LOW, HIGH, EVEN, ODD = range(5), range(5, 10), range(0, 10, 2), range(1, 10, 2)

DATASETS: dict[str, DatasetEntry] = {
    entry.name: entry  # one line per data set
    for entry in (
        DatasetEntry("ads", load_ads, "advertisements on web pages", CC_BY, (2459, 820)),
        DatasetEntry("adult", load_adult, "income of persons in a census", CC_BY, (36631, 12211)),
        DatasetEntry("mnist17", partial(load_mnist, (1,), (7,)), "digits 1 and 7", CC_BY_SA, (11377, 3793)),
        DatasetEntry("mnist49", partial(load_mnist, (4,), (9,)), "digits 4 and 9", CC_BY_SA, (10336, 3446)),
        DatasetEntry("mnist56", partial(load_mnist, (5,), (6,)), "digits 5 and 6", CC_BY_SA, (9891, 3298)),
        DatasetEntry(
            "mnistLH", partial(load_mnist, LOW, HIGH), "low and high digits", CC_BY_SA, (52500, 17500)
        ),
        DatasetEntry("mnistEO", partial(load_mnist, EVEN, ODD), "even and odd digits", CC_BY_SA),
        DatasetEntry("breast", load_breast, "breast cancer, from scikit-learn", CC_BY),
        DatasetEntry("moons", load_moons, "two half moons, drawn", BSD),
        DatasetEntry("circles", load_circles, "two circles, drawn", BSD),
    )
}

PAPER_DATASETS = tuple(name for name, entry in DATASETS.items() if entry.paper_rows is not None)
"""The six data sets of the paper."""


def load_dataset(
    name: str, data_dir: str | os.PathLike[str] | None = None, *, download: bool = True, **options: Any
) -> Dataset:
    """Load a data set by name.

    Parameters
    ----------
    name : str
        One of `DATASETS`, or ``mnist`` and two digits, the first being class -1.
    data_dir : path, optional
        Folder of the original files, which may be in subfolders ``ads``, ``adult`` and ``mnist``; or a file
        written by `pack`. Otherwise the environment variable PBGNET_DATA says where it is. If neither is
        given, or the folder lacks the files, they are fetched from OpenML once and kept.
    download : bool, default=True
        Whether OpenML may be asked.
    **options
        ``n``, ``noise`` and ``seed`` for moons and circles.

    Raises
    ------
    UnknownNameError, OptionError
        For a name that does not exist, or an option the data set does not have.
    MissingDataError
        If it is in no folder and cannot be fetched.
    DamagedFileError
        If a file is not the expected one.

    Examples
    --------
    >>> from pbgnet.datasets import load_dataset
    >>> load_dataset("moons", n=100, seed=1)
    Dataset('moons', n=100, d=2, -1: upper, +1: lower)
    >>> load_dataset("circle")
    Traceback (most recent call last):
    ...
    pbgnet.exceptions.UnknownNameError: Unknown data set 'circle'; choose one of ads, adult, breast, circles,
    mnist17, mnist49, mnist56, mnistEO, mnistLH, moons. Did you mean 'circles'? Any two digits of MNIST make a
    set as well, such as mnist38.
    """
    load = _loader(name)
    if "data_dir" in inspect.signature(load).parameters:
        if options:
            raise OptionError(f"The data set {name!r} has no options, got {', '.join(sorted(options))}.")
        path = given_path(data_dir)
        if path is not None and path.is_file():
            return load_packed(path, [name])[name]
        return load(data_dir=path, download=download)
    known = list(inspect.signature(load).parameters)
    if unknown := sorted(set(options) - set(known)):
        raise OptionError(
            f"The data set {name!r} has no option {', '.join(unknown)}; its options are "
            f"{', '.join(known) or 'none'}."
        )
    return load(**options)


def _loader(name: str) -> Callable[..., Dataset]:
    if name not in DATASETS and (pair := pair_of(name)) is not None:
        return partial(load_mnist, pair[:1], pair[1:])
    try:
        entry = DATASETS[check_name("data set", name, DATASETS)]
    except UnknownNameError as error:
        raise UnknownNameError(
            f"{error} Any two digits of MNIST make a set as well, such as mnist38."
        ) from None
    return partial(entry.load, name=name) if name.startswith("mnist") else entry.load
