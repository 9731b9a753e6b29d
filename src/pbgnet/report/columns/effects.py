"""How the answers change with each column: which columns, thresholds and categories matter.

All of this describes the classifier on a sample of the certified rows. Their labels are not used, and none of
it is part of the proof.
"""

import copy
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from pbgnet.certificates import CertifiedModel
from pbgnet.exceptions import PBGNetWarning
from pbgnet.networks import prepare_rows
from pbgnet.preprocessing import BinnedTable, take_rows
from pbgnet.report.columns.effect_grids import Grid, coded_grids, plain_grids

MOST_COLUMNS = 6
"""Most columns that are shown: those that matter most."""

# Rows that determine how often a column has each value; and the most rows that the vote is computed on.
COUNTED_ROWS, VARIED_ROWS, FEWEST_ROWS = 2000, 200, 16

# Votes computed for the importance of all columns, and for the curve of one of them.
IMPORTANCE_BUDGET, CURVE_BUDGET = 20_000, 12_800

CHUNK = 4096  # rows computed together

LEAST_IMPORTANCE = 5e-4
"""Columns that change the shares by less are not shown."""


@dataclass(frozen=True, eq=False)
class Effect:
    """The effect of a column on the share of a class, as in `predict_proba`.

    Attributes
    ----------
    grid : Grid
        The values that the column was set to.
    importance : float
        Mean change of the shares if a row gets the value of another row: half the sum of the absolute changes
        over all classes, which for two classes is the change of either; the mean over several labels.
    levels : ndarray of float64
        Mean share if all rows have the same value, for each value of the grid.
    answer : int
        The class whose share it is: the second of two, or the one of several classes or labels that the
        column moves most.
    """

    grid: Grid
    importance: float
    levels: NDArray[np.float64]
    answer: int = 1


@dataclass(frozen=True, eq=False)
class Effects:
    """The columns that matter most, and the importance of all columns.

    Attributes
    ----------
    shown : tuple of Effect
        Most important first.
    importances : tuple of (str, float)
        For all columns, most important first.
    n_rows : int
        Most certified rows that the vote was computed on.
    """

    shown: tuple[Effect, ...]
    importances: tuple[tuple[str, float], ...]
    n_rows: int


def column_effects(model: CertifiedModel, X: Any) -> Effects:  # noqa: N803
    """Vary each column of some certified rows, and measure the effect on the vote.

    Parameters
    ----------
    model : CertifiedModel
    X : DataFrame, ndarray or scipy sparse matrix
        The whole table given to fit.
    """
    rng = np.random.default_rng(0)  # so that the page of a model is always the same
    rows = rng.permutation(model.certified_rows)[:COUNTED_ROWS]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PBGNetWarning)  # they were given when the model was made
        features = model.inputs.features(take_rows(X, rows))
    if isinstance(features, BinnedTable):
        assert model.preprocessor is not None
        cells, grids = features.codes, coded_grids(model.preprocessor.columns_, features.codes)
    else:
        cells = features.toarray() if hasattr(features, "toarray") else np.asarray(features)
        grids = plain_grids(model.feature_names, cells)
    shares, several_labels = _shares(model, features), model.inputs.has_several_labels
    importances = _importances(shares, cells, rng, several_labels)
    order = np.argsort(-importances, kind="stable")
    return Effects(
        tuple(
            _effect(grids(j), float(importances[j]), _levels(shares, cells, j, grids(j)), several_labels)
            for j in order[:MOST_COLUMNS].tolist()
            if importances[j] >= LEAST_IMPORTANCE
        ),
        tuple((grids(j).name, float(importances[j])) for j in order.tolist()),
        min(VARIED_ROWS, len(cells)),
    )


Shares = Callable[[NDArray[Any]], NDArray[np.float64]]


def _shares(model: CertifiedModel, features: Any) -> Shares:
    """Return a function that computes the shares of all classes, shape (n, c), in single precision."""
    single = copy.deepcopy(model.network).float()
    sizes = model.network.architecture
    options: dict[str, Any] = {"unit": True, "intercept": sizes.intercept, "patches": sizes.patches}

    def shares(cells: NDArray[Any]) -> NDArray[np.float64]:
        parts = []
        for start in range(0, len(cells), CHUNK):
            part: Any = cells[start : start + CHUNK]
            if isinstance(features, BinnedTable):
                part = BinnedTable(part, features.book)
            rows = prepare_rows(part, dtype=torch.float32, device="cpu", **options)
            with torch.no_grad():
                output = single.output(rows, validate_args=False).double().numpy()
            parts.append(model.inputs.shares(output))
        return np.concatenate(parts)

    return shares


def _effect(grid: Grid, importance: float, levels: NDArray[np.float64], several_labels: bool) -> Effect:
    """Choose the class, or label, to show: the one whose share varies most; the second of two classes."""
    answer = 1
    if several_labels or levels.shape[1] > 2:
        spread = levels - np.average(levels, axis=0, weights=grid.shares)
        answer = int(np.argmax(grid.shares @ spread**2))
    return Effect(grid, importance, levels[:, answer], answer)


def _importances(
    shares: Shares, cells: NDArray[Any], rng: np.random.Generator, several_labels: bool
) -> NDArray[np.float64]:
    """Swap each column between rows, one column at a time."""
    n_columns = cells.shape[1]
    some = cells[: max(FEWEST_ROWS, min(VARIED_ROWS, IMPORTANCE_BUDGET // max(1, n_columns)))]
    before = shares(some)
    donors = rng.permuted(np.tile(np.arange(len(some)), (n_columns, 1)), axis=1)
    found = np.zeros(n_columns)
    together = max(1, CHUNK // len(some))
    for start in range(0, n_columns, together):
        columns = range(start, min(start + together, n_columns))
        varied = np.tile(some, (len(columns), 1, 1))
        for k, j in enumerate(columns):
            varied[k, :, j] = some[donors[j], j]
        after = shares(varied.reshape(-1, n_columns)).reshape(len(columns), *before.shape)
        changes = np.abs(after - before).sum(axis=2) / (before.shape[1] if several_labels else 2.0)
        found[columns.start : columns.stop] = changes.mean(axis=1)
    return found


def _levels(shares: Shares, cells: NDArray[Any], column: int, grid: Grid) -> NDArray[np.float64]:
    """Set a column to one value in all rows, each value in turn; return mean shares, shape (g, c)."""
    n_rows = max(FEWEST_ROWS, min(VARIED_ROWS, CURVE_BUDGET // len(grid.cells)))
    some = cells[:n_rows]
    varied = np.tile(some, (len(grid.cells), 1, 1))
    varied[:, :, column] = grid.cells[:, None]
    found = shares(varied.reshape(-1, cells.shape[1]))
    return np.asarray(found.reshape(*varied.shape[:2], -1).mean(axis=1))
