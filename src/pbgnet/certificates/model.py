"""A certified model: everything needed to predict, to save and to verify, and nothing of training."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray

from pbgnet.certificates.certificate import Certificate, PreprocessingRecord, PriorRecord, SplitRecord
from pbgnet.certificates.evaluation import certifiable, outputs
from pbgnet.certificates.fingerprints import describe_data, label_values
from pbgnet.certificates.inputs import Inputs, Label, encode_labels
from pbgnet.certificates.issue import issue_certificate
from pbgnet.certificates.split import check_split
from pbgnet.exceptions import OptionError, ShapeError
from pbgnet.networks import AggregatedNetwork
from pbgnet.preprocessing import TablePreprocessor, column_names, take_rows
from pbgnet.preprocessing.tables import count_rows

__all__ = ["CertifiedModel", "certify"]


@dataclass(frozen=True, eq=False)
class CertifiedModel:
    """A classifier with its certificate, as it is saved, loaded and audited.

    Parameters
    ----------
    network : AggregatedNetwork
        Posterior and prior; converted to float64 on the CPU.
    certificate : Certificate
    classes : pair of str, int, bool or float
        The labels that -1 and 1 stand for.
    feature_names : tuple of str or None
        Columns of the table, where they have names.
    preprocessor : TablePreprocessor or None
        Fitted on the prior rows.
    prior_rows, certified_rows : array_like of int
        Indices into the table given to fit.

    Raises
    ------
    PriorLeakageError
        If a certified row is also a prior row.

    Examples
    --------
    See `certify`, which makes one, `save_model`, `load_model` and `verify`.
    """

    network: AggregatedNetwork
    certificate: Certificate
    classes: tuple[Label, Label]
    feature_names: tuple[str, ...] | None
    preprocessor: TablePreprocessor | None
    prior_rows: NDArray[np.int64]
    certified_rows: NDArray[np.int64]

    def __post_init__(self) -> None:
        split = check_split(self.prior_rows, self.certified_rows)
        inputs = Inputs(self.classes, self.feature_names, self.preprocessor)
        network = certifiable(self.network)
        inputs.check_size(network.architecture.n_features)
        for name, value in {
            "network": network,
            "classes": inputs.classes,
            "feature_names": inputs.feature_names,
            "prior_rows": split.prior_rows,
            "certified_rows": split.certified_rows,
        }.items():
            object.__setattr__(self, name, value)

    @property
    def inputs(self) -> Inputs:
        """How a table becomes numbers, and -1 and 1 become labels."""
        return Inputs(self.classes, self.feature_names, self.preprocessor)

    def decision_function(self, X: Any) -> NDArray[np.float64]:  # noqa: N803
        """Return the aggregate G in [-1, 1] for each row; above 0 the vote is the second class.

        Parameters
        ----------
        X : DataFrame, ndarray or scipy sparse matrix, shape (n, d)
            Rows as they were given to fit.
        """
        features = self.inputs.features(X, self.network.architecture.n_features)
        return np.asarray(outputs(self.network, features).numpy())

    def predict(self, X: Any) -> NDArray[Any]:  # noqa: N803
        """Return the label the vote answers with, for each row."""
        labels: NDArray[Any] = np.array(self.classes)
        return labels[(self.decision_function(X) > 0).astype(np.int64)]

    def predict_proba(self, X: Any) -> NDArray[np.float64]:  # noqa: N803
        """Return the share of the posterior's networks that answer with each class: shape (n, 2)."""
        second = (1.0 + self.decision_function(X)) / 2.0
        return np.stack([1.0 - second, second], axis=1)


def certify(
    network: AggregatedNetwork,
    X: Any,  # noqa: N803
    y: ArrayLike,
    *,
    classes: tuple[Label, Label],
    prior: PriorRecord,
    prior_rows: ArrayLike,
    certified_rows: ArrayLike,
    feature_names: tuple[str, ...] | None = None,
    preprocessor: TablePreprocessor | None = None,
    preprocessing: PreprocessingRecord | None = None,
    split: SplitRecord | None = None,
    confidence: float = 0.95,
    n_priors: int = 1,
    constant: str = "maurer",
) -> CertifiedModel:
    """Certify a network on the user's own table, and return a model that can be saved and verified.

    Parameters
    ----------
    network : AggregatedNetwork
        Posterior and prior, without replica axes.
    X : DataFrame, ndarray or scipy sparse matrix, shape (N, d)
        The whole table as the user has it.
    y : array_like, shape (N,) or (N, 1)
        The labels as the user has them.
    classes : pair of labels
        The labels that the network's -1 and 1 stand for.
    prior : PriorRecord
        How the prior came about.
    prior_rows, certified_rows : array_like of int
        Rows that the prior or the preprocessor was fitted on, and rows to certify.
    feature_names : tuple of str, optional
        The column names of X unless given.
    preprocessor : TablePreprocessor, optional
        Fitted on ``take_rows(X, prior_rows)`` alone; `verify` fits it again and compares.
    preprocessing : PreprocessingRecord, optional
        "inside" with a preprocessor and "none" without, unless given.
    split : SplitRecord, optional
        How the prior rows were chosen: "given", or "none" if there are none, unless said. One that is
        "drawn" is drawn again and compared.
    confidence, n_priors, constant
        As in `issue_certificate`.

    Returns
    -------
    CertifiedModel

    Examples
    --------
    >>> import numpy as np, torch
    >>> from pbgnet.certificates import PriorRecord, certify, verify
    >>> from pbgnet.networks import AggregatedNetwork
    >>> X, y = np.array([[1.0], [-1.0]] * 100), np.array(["yes", "no"] * 100)
    >>> network = AggregatedNetwork([torch.tensor([[3.0]])], [torch.tensor([[0.0]])], intercept=False)
    >>> model = certify(network, X, y, classes=("no", "yes"), prior=PriorRecord("zero"),
    ...                 prior_rows=[], certified_rows=range(200))
    >>> model.predict(X[:2])
    array(['yes', 'no'], dtype='<U3')
    >>> verify(model, X, y).ok
    True
    """
    values = label_values(y)
    if count_rows(X) != values.size:
        raise ShapeError(f"The table has {count_rows(X)} rows, but there are {values.size} labels.")
    rows = check_split(prior_rows, certified_rows, values.size)
    if preprocessor is not None and preprocessing is not None and preprocessing.status == "none":
        raise OptionError("There is a preprocessor, but the preprocessing record says that there is none.")
    if preprocessing is None:
        preprocessing = PreprocessingRecord("none") if preprocessor is None else inside_record(preprocessor)
    names = column_names(X) if feature_names is None else feature_names
    inputs = Inputs(classes, names, preprocessor)
    architecture = network.architecture
    features = inputs.features(take_rows(X, rows.certified_rows), architecture.n_features)
    labels = encode_labels(values[rows.certified_rows], inputs.classes)
    certificate = issue_certificate(
        network,
        features,
        torch.from_numpy(labels),
        prior=prior,
        prior_rows=rows.prior_rows,
        certified_rows=rows.certified_rows,
        data=describe_data(X, y),
        preprocessing_fingerprint=inputs.fingerprint(),
        preprocessing=preprocessing,
        split=split,
        confidence=confidence,
        n_priors=n_priors,
        constant=constant,
    )
    return CertifiedModel(
        network,
        certificate,
        inputs.classes,
        inputs.feature_names,
        preprocessor,
        rows.prior_rows,
        rows.certified_rows,
    )


def inside_record(preprocessor: TablePreprocessor) -> PreprocessingRecord:
    """Return the record of a preprocessor fitted on the prior rows."""
    kinds = [column.kind for column in preprocessor.columns_]
    counts = ", ".join(f"{kinds.count(kind)} {kind}" for kind in ("numeric", "categorical", "empty"))
    return PreprocessingRecord("inside", f"imputation, one-hot encoding and scaling of columns: {counts}")
