"""A table, prepared once: what the estimator, the certificate, the report and `verify` all work on."""

import functools
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from pbgnet.certificates.data.duplicates import count_duplicates, note_on_near_copies
from pbgnet.certificates.data.fingerprints import DataFingerprints
from pbgnet.certificates.data.groups import Groups, GroupsRecord
from pbgnet.certificates.data.inputs import Inputs
from pbgnet.certificates.data.labelled_rows import LabelledRows
from pbgnet.certificates.data.split import Split
from pbgnet.memory import release_free_memory
from pbgnet.preprocessing import is_source, kept_beside


@dataclass(frozen=True, eq=False)
class PreparedTable:
    """A table with labels and a split; numbers and fingerprints are computed once, when first needed.

    Parameters
    ----------
    rows : LabelledRows
        The whole table and its labels, as the user has them.
    inputs : Inputs
        How rows become numbers; its preprocessor, if any, is fitted.
    split : Split
    groups : Groups, optional
        The group of each row, if groups are to be bounded.

    Examples
    --------
    >>> import numpy as np
    >>> from pbgnet.certificates.data import Classes, Inputs, LabelledRows, PreparedTable, Split
    >>> inputs = Inputs(Classes(("no", "yes")))
    >>> table = PreparedTable(LabelledRows(np.eye(3), ["no", "yes", "no"]), inputs, Split([0], [1, 2]))
    >>> table.certified[1]
    array([1, 0])
    """

    rows: LabelledRows
    inputs: Inputs
    split: Split
    groups: Groups | None = None

    def __post_init__(self) -> None:
        self.split.check_within(self.n_rows)

    @property
    def labels(self) -> NDArray[Any]:
        """The labels: one axis, of one type; or 0 and 1, shape (N, L), if a row may have several."""
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
        """Return the same table with another choice of what its preprocessor turns numbers into.

        Everything already computed is kept, including the codes of the rows.
        """
        features, other = self.features, self._with_inputs(self.inputs.with_numbers(numbers))
        assert other.inputs.preprocessor is not None
        vars(other)["features"] = features.with_book(other.inputs.preprocessor.book_)
        return other

    def with_temperature(self, temperature: float) -> "PreparedTable":
        """Return the same table with another temperature of its classes' scores."""
        return self._with_inputs(replace(self.inputs, temperature=temperature))

    def _with_inputs(self, inputs: Inputs) -> "PreparedTable":
        """Return the same table with other inputs, and with everything already computed."""
        other = PreparedTable(self.rows, inputs, self.split, self.groups)
        vars(other).update({name: value for name, value in vars(self).items() if name not in vars(other)})
        return other

    @functools.cached_property
    def features(self) -> Any:
        """All rows as numbers, float64; sparse matrices stay sparse, preprocessed rows are codes."""
        features = self.inputs.features(self.rows.X)
        if is_source(self.rows.X):
            release_free_memory()  # what reading needed
        return features

    @functools.cached_property
    def truth(self) -> NDArray[np.int64]:
        """The place of each label among the classes; for several labels 0 and 1, shape (N, L)."""
        return kept_beside(self.rows.X, self.inputs.truth(self.labels))

    @property
    def fingerprints(self) -> DataFingerprints:
        """Of features, labels and column names."""
        return self.rows.data

    @functools.cached_property
    def n_duplicates(self) -> int:
        """How many certified rows repeat the features of another row of the table."""
        certified, others = self._certified_and_others(self.rows.fingerprints)
        return count_duplicates(certified, others)

    @functools.cached_property
    def near_copies(self) -> str:
        """A note on certified rows that repeat another row of the table only up to six digits."""
        certified, others = self._certified_and_others(self.rows.near_fingerprints)
        return note_on_near_copies(certified, self.n_duplicates, others)

    def _certified_and_others(self, of_rows: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
        """Divide what there is one of for each row: those of certified rows in order, and all others."""
        others = np.ones(self.n_rows, dtype=bool)
        others[self.split.certified_rows] = False
        return of_rows[self.split.certified_rows], of_rows[others]

    @property
    def certified_groups(self) -> Groups | None:
        """The group of each certified row, if there are groups."""
        return None if self.groups is None else self.groups.take(self.split.certified_rows)

    @property
    def groups_record(self) -> GroupsRecord | None:
        """What a certificate says about the groups, if there are any."""
        return None if self.groups is None else self.groups.record(self.split.certified_rows)

    def examples(self, rows: NDArray[np.int64]) -> tuple[Any, Tensor]:
        """Return features of some rows, and the signs that outputs should have: (n,), or (n, r) for r > 1."""
        return self.features[rows], torch.from_numpy(self.inputs.code.targets(self.truth[rows]))

    @property
    def certified(self) -> tuple[Any, NDArray[np.int64]]:
        """Features of the certified rows, and their class indices, or 0 and 1 for labels."""
        return self.features[self.split.certified_rows], self.truth[self.split.certified_rows]

    @property
    def apart(self) -> tuple[Any, NDArray[np.int64]]:
        """Features of the prior rows, and their class indices, or 0 and 1 for labels."""
        return self.features[self.split.prior_rows], self.truth[self.split.prior_rows]
