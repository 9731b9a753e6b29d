"""A table, prepared once: what the estimator, the certificate, the report and `verify` all work on."""

import functools
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from pbgnet.certificates.data.duplicates import count_duplicates, note_on_near_copies, row_fingerprints
from pbgnet.certificates.data.fingerprints import DataFingerprints, describe_data
from pbgnet.certificates.data.inputs import Inputs
from pbgnet.certificates.data.labelled_rows import LabelledRows
from pbgnet.certificates.data.split import Split
from pbgnet.preprocessing import BinnedTable


@dataclass(frozen=True, eq=False)
class PreparedTable:
    """A table with labels and a split; numbers and fingerprints are computed once, when first asked for.

    Parameters
    ----------
    rows : LabelledRows
        The whole table and its labels, as the user has them.
    inputs : Inputs
        How rows become numbers; a preprocessor in it is fitted.
    split : Split

    Examples
    --------
    >>> import numpy as np
    >>> from pbgnet.certificates.data import Classes, Inputs, LabelledRows, PreparedTable, Split
    >>> inputs = Inputs(Classes(("no", "yes")))
    >>> table = PreparedTable(LabelledRows(np.eye(3), ["no", "yes", "no"]), inputs, Split([0], [1, 2]))
    >>> table.certified[1]
    tensor([ 1., -1.], dtype=torch.float64)
    """

    rows: LabelledRows
    inputs: Inputs
    split: Split

    def __post_init__(self) -> None:
        self.split.check_within(self.n_rows)

    @property
    def labels(self) -> NDArray[Any]:
        """The labels, one axis, of one type."""
        return self.rows.labels

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return self.rows.n_rows

    @property
    def row_fingerprints(self) -> NDArray[np.uint64]:
        """Of each row's features."""
        return self.rows.fingerprints

    def with_numbers(self, numbers: str) -> "PreparedTable":
        """Return the same table with another choice of what its preprocessor makes of a number.

        All that was computed is kept, the codes of the rows too.
        """
        other = PreparedTable(self.rows, self.inputs.with_numbers(numbers), self.split)
        assert other.inputs.preprocessor is not None
        kept = {name: value for name, value in vars(self).items() if name not in vars(other)}
        features = BinnedTable(self.features.codes, other.inputs.preprocessor.book_)
        vars(other).update(kept | {"features": features})
        return other

    @functools.cached_property
    def features(self) -> Any:
        """All rows as numbers, float64; sparse matrices stay sparse, preprocessed rows are codes."""
        return self.inputs.features(self.rows.X)

    @functools.cached_property
    def signs(self) -> NDArray[np.float64]:
        """All labels as -1 and 1."""
        return self.inputs.classes.signs(self.labels)

    @functools.cached_property
    def fingerprints(self) -> DataFingerprints:
        """Of features, labels and column names."""
        return describe_data(self.rows.X, self.rows.y)

    @functools.cached_property
    def n_duplicates(self) -> int:
        """How many certified rows repeat the features of another row of the table."""
        rows = self.split.certified_rows
        return count_duplicates(self.row_fingerprints[rows], np.delete(self.row_fingerprints, rows))

    @functools.cached_property
    def near_copies(self) -> str:
        """A note on certified rows that repeat another row of the table to six digits only."""
        rows, rounded = self.split.certified_rows, row_fingerprints(self.rows.X, rounding="six digits")
        return note_on_near_copies(rounded[rows], self.n_duplicates, np.delete(rounded, rows))

    def examples(self, rows: NDArray[np.int64]) -> tuple[Any, Tensor]:
        """Return features and labels -1 and 1 of some rows."""
        return self.features[rows], torch.from_numpy(self.signs[rows])

    @property
    def certified(self) -> tuple[Any, Tensor]:
        """The certified rows."""
        return self.examples(self.split.certified_rows)

    @property
    def apart(self) -> tuple[Any, Tensor]:
        """The prior rows."""
        return self.examples(self.split.prior_rows)
