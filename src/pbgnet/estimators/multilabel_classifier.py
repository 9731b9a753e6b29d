"""Several labels per row, answered by one certified ensemble."""

from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from sklearn.utils._param_validation import Interval, StrOptions

from pbgnet.aggregation import make_aggregation
from pbgnet.certificates import (
    MOST_MEMBERS,
    Inputs,
    PreparedTable,
    PriorRecord,
    Terms,
    code_for,
    has_several_labels,
    label_names,
    target_values,
)
from pbgnet.choices import CERTIFICATES
from pbgnet.estimators.around_fit import choose_device, warn_of_constant_labels
from pbgnet.estimators.base import MOST_PRIORS, CertifiedClassifier
from pbgnet.estimators.learning import HIDDEN_LAYER_SIZES, Layout, ensemble_recipe, hidden_sizes
from pbgnet.exceptions import ShapeError
from pbgnet.preprocessing import TablePreprocessor
from pbgnet.training import FitResult, fit_ensemble


class PBGNetMultilabelClassifier(CertifiedClassifier):
    """Ensemble of networks with binary activations that predicts several labels per row, with a certificate.

    The networks have one output per label and share their hidden layers. They are trained on the prior rows
    with the log loss, averaged over labels, and their errors are counted on the certified rows. The
    certificate bounds the share of rows with any wrong label (1 minus scikit-learn's subset accuracy) and
    the Hamming loss, the share of wrong labels.

    Parameters
    ----------
    hidden_layer_sizes : "auto", int or sequence of int, default="auto"
        Neurons per hidden layer; empty for a linear classifier. "auto" means 20.
    confidence : float, default=0.95
        Probability with which the certificate holds, over the draw of the certified rows.
    prior_fraction : float, default=0.5
        Share of the rows used as prior rows, which train the networks.
    n_members : int, default=5
        Number of folds: each network is trained without one of them. The networks of the candidate that
        does best on the folds, or of the best two, form the ensemble.
    preprocessing : {"auto", "none"}, default="auto"
        Whether to bin and scale numbers, as learned from the prior rows, as part of the model. Sparse rows
        are used as they are.
    certificate : {"auto", "seeger", "mixture", "vote", "held-out"}, default="auto"
        How the errors are bounded. "held-out", which is the meaning of "auto", counts them. The others are
        PAC-Bayes bounds on the Hamming loss; times the number of labels, they bound the share of rows with
        any wrong label.
    per_label : bool, default=False
        Also bound the error rate of each label, with "held-out". All bounds then share delta.
    constant : {"maurer", "paper"}, default="maurer"
        Constant of the kl bound: the exact one, or `2 sqrt(n)` as in the paper.
    n_priors : int, default=1
        Number of classifiers among which you choose by looking at certificates or certified rows; see the
        Notes of `PBGNetClassifier`.
    batch_size : int or "auto", default="auto"
        Rows per step of Adam; "auto" means 32 to 256.
    learning_rate : float, default=0.1
        Initial learning rate of Adam, which falls to 0; half of it if there are many rows.
    max_epochs : int, default=None
        Epochs of Adam. Default: enough for 1600 steps, and at least 40.
    weight_decay : float, default=None
        L2 penalty. Default: chosen by cross-validation.
    random_state : int, RandomState instance or None, default=None
        Seed of everything random: the split, the initial weights, the batches.
    device : str, default="auto"
        Where to train; "auto" uses a GPU if there is one. The fitted network is always on the CPU.
    verbose : int, default=0
        1 shows a progress bar in a terminal.

    Attributes
    ----------
    certificate_ : Certificate
        What is proved about this classifier.
    certified_model_ : CertifiedModel
        Network, certificate and split, ready to save and verify.
    network_ : AggregatedNetwork
        The networks that predict.
    history_ : list of dict
        One record per epoch of training.
    classes_ : ndarray of shape (n_labels,)
        Names of the labels: the column names of y, or 0, 1 and so on.
    n_features_in_ : int
        Number of columns of the table given to fit.
    feature_names_in_ : ndarray of str
        Their names, if all of them are strings.

    Examples
    --------
    >>> from sklearn.datasets import make_multilabel_classification
    >>> from pbgnet.estimators import PBGNetMultilabelClassifier
    >>> X, Y = make_multilabel_classification(n_samples=400, n_classes=3, random_state=0)
    >>> classifier = PBGNetMultilabelClassifier(random_state=0, max_epochs=40).fit(X, Y)
    >>> classifier.predict(X[:2]).shape, classifier.certificate_.hamming_loss.value < 0.3
    ((2, 3), True)
    >>> classifier.verify(X, Y).ok
    True
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "hidden_layer_sizes": [
            StrOptions({"auto"}),
            "array-like",
            Interval(Integral, 1, None, closed="left"),
        ],
        "confidence": [Interval(Real, 0, 1, closed="neither")],
        "prior_fraction": [Interval(Real, 0, 1, closed="neither")],
        "n_members": [Interval(Integral, 1, MOST_MEMBERS, closed="both")],
        "preprocessing": [StrOptions({"auto", "none"})],
        "certificate": [StrOptions(set(CERTIFICATES))],
        "per_label": ["boolean"],
        "constant": [StrOptions({"maurer", "paper"})],
        "n_priors": [Interval(Integral, 1, MOST_PRIORS, closed="both")],
        "batch_size": [Interval(Integral, 1, None, closed="left"), StrOptions({"auto"})],
        "learning_rate": [Interval(Real, 0, None, closed="neither")],
        "max_epochs": [Interval(Integral, 1, None, closed="left"), None],
        "weight_decay": [Interval(Real, 0, None, closed="left"), None],
        "random_state": ["random_state"],
        "device": [str],
        "verbose": ["verbose"],
    }
    _several_labels = True

    def __init__(
        self,
        hidden_layer_sizes: ArrayLike = "auto",
        *,
        confidence: float = 0.95,
        prior_fraction: float = 0.5,
        n_members: int = 5,
        preprocessing: str = "auto",
        certificate: str = "auto",
        per_label: bool = False,
        constant: str = "maurer",
        n_priors: int = 1,
        batch_size: int | str = "auto",
        learning_rate: float = 0.1,
        max_epochs: int | None = None,
        weight_decay: float | None = None,
        random_state: Any = None,
        device: str = "auto",
        verbose: int = 0,
    ) -> None:
        self.hidden_layer_sizes = hidden_layer_sizes
        self.confidence = confidence
        self.prior_fraction = prior_fraction
        self.n_members = n_members
        self.preprocessing = preprocessing
        self.certificate = certificate
        self.per_label = per_label
        self.constant = constant
        self.n_priors = n_priors
        self.batch_size = batch_size
        self.learning_rate = learning_rate
        self.max_epochs = max_epochs
        self.weight_decay = weight_decay
        self.random_state = random_state
        self.device = device
        self.verbose = verbose

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        tags.classifier_tags.multi_label = True
        tags.target_tags.multi_output = True
        tags.target_tags.single_output = False
        return tags

    def predict(self, X: Any) -> NDArray[np.int64]:  # noqa: N803
        """Predict which labels each row has: 0 or 1, shape (n_samples, n_labels)."""
        return super().predict(X)

    def predict_proba(self, X: Any) -> NDArray[np.float64]:  # noqa: N803
        """Return the share of sampled networks that predict each label; it is not a calibrated probability.

        Returns
        -------
        ndarray of shape (n_samples, n_labels), float64
            `(1 + G) / 2`, columns in the order of `classes_`.
        """
        return super().predict_proba(X)

    def decision_function(self, X: Any) -> NDArray[np.float64]:  # noqa: N803
        """Return the aggregate G of each label, in [-1, 1], above 0 if the label is predicted.

        Returns
        -------
        ndarray of float64, shape (n_samples, n_labels)
        """
        return super().decision_function(X)

    def labels_of(self, y: Any, table: Any) -> Any:
        """Return the labels of a table of any types: a matrix, or a table that names them."""
        return y if hasattr(y, "columns") else target_values(y)

    def inputs_of(
        self, labels: NDArray[Any], names: tuple[str, ...] | None, preprocessor: TablePreprocessor | None
    ) -> Inputs:
        """Return what connects a table with these labels to the network; raise an error if nothing can."""
        if not has_several_labels(labels):
            raise ShapeError(
                "PBGNetMultilabelClassifier needs a matrix of 0 and 1 with at least two columns, one per "
                "label. For one label per row, binary or of several classes, use PBGNetClassifier."
            )
        known = label_names(labels)
        return Inputs(known, names, preprocessor, code_for(target_values(labels), "auto", len(known)))

    def _sets_rows_apart(self) -> bool:
        return True

    def _make_preprocessor(self, table: Any) -> TablePreprocessor | None:
        return None if self.preprocessing == "none" or sparse.issparse(table) else TablePreprocessor()

    def _route(self) -> str:
        # Its prior is its posterior, so no bound through several networks can be smaller than the count.
        return "held-out" if self.certificate == "auto" else str(self.certificate)

    def _terms(self) -> Terms:
        return Terms(
            float(self.confidence),
            int(self.n_priors),
            self.constant,
            self._route(),
            per_label=bool(self.per_label),
        )

    def _learn(self, table: PreparedTable, seeds: list[int]) -> FitResult:
        warn_of_constant_labels(table.apart[1], table.inputs.classes.names)
        recipe = ensemble_recipe(
            table,
            Layout(hidden_sizes(self.hidden_layer_sizes, HIDDEN_LAYER_SIZES)),
            aggregation=make_aggregation("fourier"),
            n_members=int(self.n_members),
            learning_rate=float(self.learning_rate),
            weight_decay=None if self.weight_decay is None else float(self.weight_decay),
            batch_size=None if self.batch_size == "auto" else int(self.batch_size),
            max_epochs=None if self.max_epochs is None else int(self.max_epochs),
            class_weight=None,
            seeds=seeds,
            device=choose_device(self.device),
        )
        return fit_ensemble(recipe, verbose=int(self.verbose))

    def _prior_record(self, result: FitResult, n_prior_rows: int, seeds: list[int]) -> PriorRecord:
        text = "trained on the prior rows by minimising the log loss, a mean over labels"
        return PriorRecord("pretrained", description=text, n_rows=n_prior_rows)
