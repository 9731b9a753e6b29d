"""The prior rows that columns are learned from: all of them, or a random draw if there are very many.

The draw only depends on the prior rows as a set and on the seed of the split. So what is learned is a
function of the prior rows, as the proof requires. It does not depend on the order of a table, or on the
files, chunks or processes with which it is read.

Rows of a random draw are themselves draws from the distribution. By the inequality of Dvoretzky, Kiefer and
Wolfowitz [1]_, all quantiles of k of them are those of the distribution up to a share of sqrt(ln(2 / p) / (2
k)) of the rows, except with probability p for each column: 0.0053 for k = 2**18, p = 1e-6.

References
----------
.. [1] P. Massart, "The tight constant in the Dvoretzky-Kiefer-Wolfowitz inequality", The Annals of
   Probability 18, 1990.
"""

import hashlib
import math

import numpy as np
from numpy.typing import NDArray

from pbgnet.certificates.data.labelled_rows import LabelledRows
from pbgnet.certificates.data.split import Split

FITTED_ROWS = 1 << 18
"""Most prior rows that columns are learned from."""


def rows_to_fit(rows: LabelledRows, split: Split, most: int = FITTED_ROWS) -> NDArray[np.int64]:
    """Return the prior rows that a preprocessor is fitted on: all, or `most` of them, drawn at random.

    Parameters
    ----------
    rows : LabelledRows
    split : Split
        Its seed is that of the draw; 0 if it has none.
    most : int

    Returns
    -------
    ndarray of int64
        Indices of the rows in the table: all prior rows as they are, or the drawn ones, in ascending order.

    Examples
    --------
    >>> import numpy as np
    >>> from pbgnet.certificates.data import LabelledRows, Split, rows_to_fit
    >>> rows = LabelledRows(np.arange(8.0)[:, None], [0, 1] * 4)
    >>> rows_to_fit(rows, Split([1, 2, 3, 6, 7], [0, 4, 5]), most=3)
    array([2, 3, 7])
    """
    prior = split.prior_rows
    if prior.size <= most:
        return prior
    hashes = rows.fingerprints[prior]
    order = np.argsort(hashes, kind="stable")  # rows with the same hash teach the same
    digest = hashlib.sha256(hashes[order].astype("<u8").tobytes()).digest()
    seed = [int(split.record.seed or 0), *np.frombuffer(digest, dtype="<u4").tolist()]
    drawn = np.random.default_rng(seed).permutation(prior.size)[:most]
    return np.sort(prior[order[drawn]])


def quantile_error(n_rows: int, probability: float = 1e-6) -> float:
    """Return by which share of the rows the quantiles of a draw of this size may be off, as proved above.

    Examples
    --------
    >>> from pbgnet.certificates.data.fitting_sample import FITTED_ROWS, quantile_error
    >>> round(quantile_error(FITTED_ROWS), 4)
    0.0053
    """
    return math.sqrt(math.log(2.0 / probability) / (2.0 * n_rows))
