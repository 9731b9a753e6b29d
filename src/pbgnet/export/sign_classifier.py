"""The sign network of a certified model, run by pbgnet itself."""

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from pbgnet.certificates import CertifiedModel, ExportedNetwork, fingerprint_tensors
from pbgnet.export.metadata import DTYPES
from pbgnet.export.shipped import ShippedClassifier
from pbgnet.networks import SignNetwork, compute_rows, prepare_rows
from pbgnet.preprocessing import BinnedTable
from pbgnet.validation import check_finite, check_kind, check_name

# Rows are answered this many at a time: enough to make tables of weights worthwhile.
CHUNK = 1 << 14


class SignClassifier(ShippedClassifier):
    """The plain sign network of a certified model, or the mean of one per member, without an ONNX file.

    The network that `export_onnx` writes with ``network="sign"``, for users of pbgnet. Tables are read as
    codes, the first layer looks up sums of weights, and above it eight signs at a time are looked up
    (`pbgnet.kernels`). No certificate covers it directly, but `certify_by_disagreement` can certify it. A
    certificate of one holds for the other: their answers are the same, except for rows on which the first
    layer is within rounding of 0.

    Parameters
    ----------
    model : CertifiedModel
        Or a fitted estimator with `certified_model_`.
    dtype : {"float64", "float32"}, default="float64"
        Precision of the weights, and of the first layer.

    Attributes
    ----------
    classes_ : ndarray of shape (c,)
    network : SignNetwork

    Examples
    --------
    >>> import numpy as np, torch
    >>> from pbgnet.certificates import PriorRecord, certify_network
    >>> from pbgnet.export import SignClassifier
    >>> from pbgnet.networks import AggregatedNetwork
    >>> X, y = np.array([[1.0], [-1.0]] * 100), np.array(["yes", "no"] * 100)
    >>> network = AggregatedNetwork([torch.tensor([[3.0]])], [torch.tensor([[0.0]])], intercept=False)
    >>> model = certify_network(network, X, y, classes=("no", "yes"), prior=PriorRecord("zero"),
    ...                         prior_rows=[], certified_rows=range(200))
    >>> SignClassifier(model).predict([[0.5], [-2.0]])
    array(['yes', 'no'], dtype='<U3')
    """

    def __init__(self, model: CertifiedModel, *, dtype: str = "float64") -> None:
        certified = getattr(model, "certified_model_", model)
        check_kind("model", certified, CertifiedModel)
        self.dtype = check_name("dtype", dtype, DTYPES)
        self.inputs = certified.inputs
        sizes = certified.network.architecture
        weights = [weight.detach().cpu().to(self._precision) for weight in certified.network.weights]
        for k, weight in enumerate(weights):
            check_finite(f"weights[{k}]", weight, f"The network cannot be stored in {dtype}.")
        self.network = SignNetwork(weights, intercept=sizes.intercept, patches=sizes.patches)

    @torch.no_grad()
    def output(self, X: Any) -> NDArray[np.float64]:  # noqa: N803
        """Return -1 and 1 of each output; for members, their mean; see `ShippedClassifier`."""
        sizes = self.network.architecture
        rows = self.inputs.features(X, sizes.n_features)
        n, output = rows.shape[0], torch.zeros(0, sizes.n_outputs, dtype=torch.float64)
        if n:
            work = sum(weight.numel() for weight in self.network.weights) * sizes.n_positions
            output = compute_rows(lambda part: self._answers(rows[part]), n, CHUNK, float(n) * work)
        return np.asarray(output[:, 0] if sizes.n_outputs == 1 else output)

    @property
    def exported_network(self) -> ExportedNetwork:
        """Which network it is: the same as that of a file in this precision."""
        weights = fingerprint_tensors(self.network.weights)
        return ExportedNetwork("sign", self.dtype, weights, self.inputs.fingerprint())

    def __repr__(self) -> str:
        return f"SignClassifier({self.network.architecture}, {self.dtype})"

    @property
    def _precision(self) -> torch.dtype:
        return torch.float32 if self.dtype == "float32" else torch.float64

    def _answers(self, rows: Any) -> torch.Tensor:
        """Answer some rows of an array of any kind: the mean of all members, shape (n, r)."""
        sizes = self.network.architecture
        if not isinstance(rows, BinnedTable):  # what a preprocessor returns is finite
            numbers = rows.data if hasattr(rows, "tocsr") else rows
            check_finite("x", torch.from_numpy(np.asarray(numbers)), "Impute or drop such rows.")
        prepared = prepare_rows(
            rows,
            unit=False,
            intercept=sizes.intercept,
            dtype=self._precision,
            device="cpu",
            patches=sizes.patches,
        )
        signs = self.network.output(prepared)
        return signs.reshape(-1, len(prepared), sizes.n_outputs).double().mean(0)
