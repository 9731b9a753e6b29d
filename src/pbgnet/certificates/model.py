"""A certified model: everything needed to predict, to save and to verify, and nothing of training."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from torch import Tensor

from pbgnet.certificates.certificate import Certificate
from pbgnet.certificates.evaluation import certifiable, outputs
from pbgnet.certificates.fingerprints import describe_data, label_values
from pbgnet.certificates.inputs import Inputs, Label, encode_labels
from pbgnet.certificates.issue import deployed_network, issue_certificate, learned_from
from pbgnet.certificates.parts import PreprocessingRecord, PriorRecord, SplitRecord
from pbgnet.certificates.rows import count_duplicates, row_fingerprints
from pbgnet.certificates.split import check_split
from pbgnet.certificates.strategy import as_margins
from pbgnet.certificates.terms import Terms
from pbgnet.exceptions import OptionError, ShapeError
from pbgnet.networks import AggregatedNetwork
from pbgnet.preprocessing import TablePreprocessor, column_names, take_rows
from pbgnet.preprocessing.tables import count_rows

__all__ = ["CertifiedModel", "ReadTable", "certify_network"]


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
    prior_margins : array_like of float64 or None
        Margins on prior rows that the prior was not trained on, where something was chosen by them.

    Raises
    ------
    PriorLeakageError
        If a certified row is also a prior row.

    Examples
    --------
    See `certify_network`, which makes one, `save_model`, `load_model` and `verify`.
    """

    network: AggregatedNetwork
    certificate: Certificate
    classes: tuple[Label, Label]
    feature_names: tuple[str, ...] | None
    preprocessor: TablePreprocessor | None
    prior_rows: NDArray[np.int64]
    certified_rows: NDArray[np.int64]
    prior_margins: NDArray[np.float64] | None = None

    def __post_init__(self) -> None:
        split = check_split(self.prior_rows, self.certified_rows)
        margins = as_margins(self.prior_margins)
        if margins is not None and margins.size > split.prior_rows.size:
            raise ShapeError(
                f"There are {margins.size} prior_margins, but only {split.prior_rows.size} prior rows."
            )
        inputs = Inputs(self.classes, self.feature_names, self.preprocessor)
        network = certifiable(self.network)
        inputs.check_size(network.architecture.n_features)
        for name, value in {
            "network": network,
            "classes": inputs.classes,
            "feature_names": inputs.feature_names,
            "prior_rows": split.prior_rows,
            "certified_rows": split.certified_rows,
            "prior_margins": margins,
        }.items():
            object.__setattr__(self, name, value)

    @property
    def inputs(self) -> Inputs:
        """How a table becomes numbers, and -1 and 1 become labels."""
        return Inputs(self.classes, self.feature_names, self.preprocessor)

    @property
    def classes_(self) -> NDArray[Any]:
        """The classes by scikit-learn's name: those of the columns of `predict_proba`."""
        return np.array(self.classes)

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
        """Return (1 - G) / 2 and (1 + G) / 2, the share of the vote for each class: shape (n, 2).

        So many of the networks drawn from the posterior answer so; with two or more hidden layers, so many
        of the paper's tree networks, not of plain ones.
        """
        second = (1.0 + self.decision_function(X)) / 2.0
        return np.stack([1.0 - second, second], axis=1)


def certify_network(
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
    certificate: str = "seeger",
    class_conditional: bool = False,
    aggregation: str = "fourier",
    n_samples: int | None = None,
    seed: int | None = None,
    prior_margins: ArrayLike | None = None,
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
        "drawn" is drawn again and compared. Only where it is "given" may rows be in neither part.
    confidence : float, default=0.95
        Probability with which everything that is claimed holds, over the draw of the certified rows.
    n_priors : int, default=1
        Number of priors that could have been chosen after looking at the certified rows.
    constant : {"maurer", "paper"}, default="maurer"
        Of the kl theorem.
    certificate : {"seeger", "mixture", "vote", "held-out", "auto"}, default="seeger"
        The route: the kl bound or Catoni's mixture on the linear loss, doubled for the error rate; the
        error rate of the vote through several networks; the held-out count of errors of the prior's vote.
        "auto" computes the last two at half of delta each and deploys what the smaller one speaks of
        (without prior rows: the first two). What "vote" and the mixture need is chosen on the prior rows.
    class_conditional : bool, default=False
        Also bound the error rate among the rows of each class; delta is shared by the three.
    aggregation : {"fourier", "monte_carlo"}, default="fourier"
        By sampling, the empirical risk is an average over n T draws, which pay half of delta; for one
        hidden layer, and "seeger" or "mixture".
    n_samples, seed : int, optional
        T and the seed of "monte_carlo".
    prior_margins : array_like, optional
        Margins `y G(x)` on prior rows that the prior was not trained on: a better guess of what is to
        come than those on all prior rows, for what is chosen on them. They are saved with the model, so
        that `verify` can choose again; where they come from it takes on trust.

    Returns
    -------
    CertifiedModel
        Its network is the prior where the certificate speaks of the prior's vote.

    Examples
    --------
    >>> import numpy as np, torch
    >>> from pbgnet.certificates import PriorRecord, certify_network, verify
    >>> from pbgnet.networks import AggregatedNetwork
    >>> X, y = np.array([[1.0], [-1.0]] * 100), np.array(["yes", "no"] * 100)
    >>> network = AggregatedNetwork([torch.tensor([[3.0]])], [torch.tensor([[0.0]])], intercept=False)
    >>> model = certify_network(network, X, y, classes=("no", "yes"), prior=PriorRecord("zero"),
    ...                         prior_rows=[], certified_rows=range(200))
    >>> model.predict(X[:2])
    array(['yes', 'no'], dtype='<U3')
    >>> verify(model, X, y).ok
    True
    """
    terms = Terms(
        confidence, n_priors, constant, certificate, class_conditional, aggregation, n_samples, seed
    )
    values = label_values(y)
    if count_rows(X) != values.size:
        raise ShapeError(f"The table has {count_rows(X)} rows, but there are {values.size} labels.")
    rows = check_split(prior_rows, certified_rows, values.size)
    inputs = Inputs(classes, column_names(X) if feature_names is None else feature_names, preprocessor)
    table = ReadTable(X, values, inputs, network.architecture.n_features)
    learned = learned_from(prior, rows.prior_rows)
    issued = issue_certificate(
        network,
        *table.examples(rows.certified_rows),
        prior=prior,
        prior_rows=rows.prior_rows,
        certified_rows=rows.certified_rows,
        data=describe_data(X, y),
        apart=table.examples(rows.prior_rows) if learned else None,
        prior_margins=prior_margins,
        classes=inputs.class_names,
        n_duplicates=table.n_duplicates(rows.certified_rows),
        preprocessing_fingerprint=inputs.fingerprint(),
        preprocessing=_preprocessing_record(preprocessor, preprocessing),
        split=split,
        terms=terms,
    )
    return CertifiedModel(
        deployed_network(network, issued),
        issued,
        inputs.classes,
        inputs.feature_names,
        preprocessor,
        rows.prior_rows,
        rows.certified_rows,
        as_margins(prior_margins) if learned else None,
    )


@dataclass(frozen=True, eq=False)
class ReadTable:
    """A table and its labels, from which rows are read as a network takes them."""

    X: Any
    labels: NDArray[Any]
    inputs: Inputs
    n_features: int

    def examples(self, rows: NDArray[np.int64]) -> tuple[Any, Tensor]:
        """Return features and labels -1 and 1 of some rows."""
        features = self.inputs.features(take_rows(self.X, rows), self.n_features)
        return features, torch.from_numpy(encode_labels(self.labels[rows], self.inputs.classes))

    def n_duplicates(self, rows: NDArray[np.int64]) -> int:
        """Return how many of some rows repeat the features of another row of the table."""
        prints = row_fingerprints(self.X)
        return count_duplicates(prints[rows], np.delete(prints, rows))


def _preprocessing_record(
    preprocessor: TablePreprocessor | None, given: PreprocessingRecord | None
) -> PreprocessingRecord:
    if preprocessor is not None and given is not None and given.status == "none":
        raise OptionError("There is a preprocessor, but the preprocessing record says that there is none.")
    if given is not None:
        return given
    return PreprocessingRecord("none") if preprocessor is None else inside_record(preprocessor)


def inside_record(preprocessor: TablePreprocessor) -> PreprocessingRecord:
    """Return the record of a preprocessor fitted on the prior rows."""
    kinds = [column.kind for column in preprocessor.columns_]
    counts = ", ".join(f"{kinds.count(kind)} {kind}" for kind in ("numeric", "categorical", "empty"))
    return PreprocessingRecord("inside", f"imputation, one-hot encoding and scaling of columns: {counts}")
