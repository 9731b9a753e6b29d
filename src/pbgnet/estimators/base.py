"""What the classifiers share: the way from a table of numbers to a trained and certified network."""

import warnings
from abc import abstractmethod
from typing import Any, Self

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from sklearn.base import _fit_context
from sklearn.utils import check_random_state
from sklearn.utils.multiclass import check_classification_targets, type_of_target
from sklearn.utils.validation import check_is_fitted, validate_data

from pbgnet.certificates import PreprocessingRecord, PriorRecord, SplitRecord, certify_network
from pbgnet.certificates.inputs import Inputs
from pbgnet.certificates.rows import row_fingerprints
from pbgnet.certificates.split import check_split
from pbgnet.estimators.predictor import CertifiedPredictor
from pbgnet.estimators.split import certified_rows_of, choose_prior_rows
from pbgnet.exceptions import (
    DuplicateRowsWarning,
    FewRowsWarning,
    InterruptedFitWarning,
    LabelError,
    OptionError,
)
from pbgnet.networks import AggregatedNetwork, TanhNetwork
from pbgnet.preprocessing import TablePreprocessor, column_names, take_rows
from pbgnet.training import FitResult, TrainingData, prepare_rows

__all__ = ["CertifiedClassifier", "choose_device", "encode_binary", "refuse_fit_parameters", "training_data"]

# Below this number of rows even a classifier without errors gets a bound of little use.
FEWEST_ROWS = 10

# Rows evaluated at a time when predicting.
CHUNK_ROWS = 8192

OUTSIDE = PreprocessingRecord(
    "outside",
    "the classifier was given numbers; what was done to them before, for example by other steps of a "
    "pipeline, is not part of the certificate",
)


class CertifiedClassifier(CertifiedPredictor):
    """A binary classifier built on a network, most often with a certificate.

    Subclasses say how to learn (`_learn`), how their prior came about (`_prior_record`), and whether
    rows are set apart for it (`_sets_rows_apart`).
    """

    network_: AggregatedNetwork | TanhNetwork
    history_: list[dict[str, float | int | str]]
    row_fingerprints_: NDArray[np.uint64]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    @abstractmethod
    def _sets_rows_apart(self) -> bool:
        """Whether a part of the rows trains the prior."""

    @abstractmethod
    def _learn(
        self, features: Any, signs: NDArray[np.float64], prior_rows: NDArray[np.int64], seeds: list[int]
    ) -> FitResult:
        """Train on a validated table; the rows that are not prior rows will be certified."""

    @abstractmethod
    def _prior_record(self, result: FitResult, n_prior_rows: int, seeds: list[int]) -> PriorRecord:
        """Say how the prior came about."""

    def _certificate(self) -> str:
        """Name the route to the certificate; see `pbgnet.certificates.CERTIFICATES`."""
        return "seeger"

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: Any, *, prior_rows: ArrayLike | None = None, **refused: Any) -> Self:  # noqa: N803
        """Train and certify.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Numbers, finite. For mixed types and missing values use `make_certified_pipeline`.
        y : array-like of shape (n_samples,)
            Labels of two classes.
        prior_rows : array-like of int, optional
            Rows that train the prior, instead of a random draw. The choice must not depend on the
            labels of the other rows, which are certified.

        Returns
        -------
        self
        """
        refuse_fit_parameters(refused)
        features, labels = validate_data(self, X, y, accept_sparse="csr", dtype=np.float64)
        self.classes_, signs = encode_binary(labels)
        if len(signs) < FEWEST_ROWS:
            warnings.warn(
                f"{len(signs)} rows are too few for a useful certificate: below {FEWEST_ROWS} even a "
                "classifier that never errs on them gets a bound far from 0.",
                FewRowsWarning,
                stacklevel=2,
            )
        split_seed, *seeds = self._seeds()
        fraction = float(self.prior_fraction) if self._sets_rows_apart() else None
        rows, split = choose_prior_rows(len(signs), prior_rows, fraction, split_seed)
        table = X if hasattr(X, "columns") else features
        return self._fit_table(table, labels, features, signs, rows, split, seeds)

    def _fit_table(
        self,
        table: Any,
        labels: NDArray[Any],
        features: Any,
        signs: NDArray[np.float64],
        prior_rows: NDArray[np.int64],
        split: SplitRecord,
        seeds: list[int],
        preprocessor: TablePreprocessor | None = None,
    ) -> Self:
        """Learn from features and signs, and certify on the table as the user has it."""
        certified_rows = certified_rows_of(len(signs), prior_rows)
        classes, names = tuple(self.classes_.tolist()), column_names(table)
        # What certifying would refuse is refused before the time is spent on training.
        check_split(prior_rows, certified_rows)
        Inputs(classes, names, preprocessor).features(take_rows(table, certified_rows), features.shape[1])
        result = self._learn(features, signs, prior_rows, seeds)
        model = None
        if isinstance(result.network, AggregatedNetwork):
            model = certify_network(
                result.network,
                table,
                labels,
                classes=classes,
                prior=self._prior_record(result, len(prior_rows), seeds),
                prior_rows=prior_rows,
                certified_rows=certified_rows,
                split=split,
                feature_names=names,
                preprocessor=preprocessor,
                preprocessing=OUTSIDE if preprocessor is None else None,
                confidence=float(self.confidence),
                n_priors=int(self.n_priors),
                constant=self.constant,
                certificate=self._certificate(),
                class_conditional=bool(self.class_conditional),
                prior_margins=None if result.prior_choice is None else result.prior_choice.margins,
            )
        # The certificate may speak of the prior's vote; then the prior is what answers.
        self.network_ = result.network if model is None else model.network
        self.history_, self.certified_model_ = result.history, model
        self.row_fingerprints_ = row_fingerprints(table)
        if model is not None and model.certificate.inputs.n_duplicates:
            warnings.warn(
                f"{model.certificate.inputs.n_duplicates} of the {len(certified_rows)} certified rows repeat "
                "another row of the table. The certificate assumes independent draws: copies, time series "
                "and repeated measurements are none; drop or group them first.",
                DuplicateRowsWarning,
                stacklevel=3,
            )
        if result.interrupted:
            certified = "" if model is None else " and certified"
            warnings.warn(
                f"Training was interrupted; the best weights it had found were kept{certified}. "
                "More epochs might do better. Interrupt twice to abandon a fit.",
                InterruptedFitWarning,
                stacklevel=3,
            )
        return self

    def _seeds(self) -> list[int]:
        """Draw the seeds of everything random in a fit from the one random state; the split comes first."""
        draws = check_random_state(self.random_state).randint(np.iinfo(np.int32).max, size=4)
        return [int(draw) for draw in draws]

    def decision_function(self, X: Any) -> NDArray[np.float64]:  # noqa: N803
        """Return the aggregate G in [-1, 1] for each row; above 0 the vote is the second class.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples,), float64
        """
        check_is_fitted(self)
        features = validate_data(self, X, reset=False, accept_sparse="csr", dtype=np.float64)
        unit = isinstance(self.network_, AggregatedNetwork)
        outputs = []
        with torch.no_grad():
            for start in range(0, features.shape[0], CHUNK_ROWS):
                part = features[start : start + CHUNK_ROWS]
                rows = prepare_rows(part, unit=unit, intercept=True, dtype=torch.float64, device="cpu")
                outputs.append(self.network_.output(rows))
        return np.asarray(torch.cat(outputs).numpy())


def encode_binary(y: NDArray[Any]) -> tuple[NDArray[Any], NDArray[np.float64]]:
    """Return the two classes, and the labels as -1 and 1; refuse anything but two classes."""
    check_classification_targets(y)
    classes = np.unique(y)
    if len(classes) > 2 or type_of_target(y).startswith("multi"):
        raise LabelError(
            "Only binary classification is supported. The type of the target is multiclass "
            f"({len(classes)} classes). Wrap the classifier in sklearn's OneVsRestClassifier, which gives "
            "one certificate per class, or keep two classes."
        )
    if len(classes) < 2:
        raise LabelError(
            f"The labels hold 1 class only ({classes.tolist()}); a classifier needs rows of two classes."
        )
    return classes, np.where(y == classes[1], 1.0, -1.0)


def refuse_fit_parameters(parameters: dict[str, Any]) -> None:
    """Raise for parameters of fit that the proof has no place for."""
    parameters = {name: value for name, value in parameters.items() if value is not None}
    if "sample_weight" in parameters:
        raise OptionError("sample_weight is refused: the bound counts every certified row once.")
    if parameters:
        raise OptionError(f"fit has no parameter {', '.join(sorted(parameters))}.")


def choose_device(device: str) -> str:
    """Return the device of that name; "auto" is a GPU where there is one."""
    if device == "auto":
        return "cuda" if torch.cuda.is_available() else "cpu"
    try:
        torch.empty(0, device=device)
    except (RuntimeError, AssertionError) as error:
        reason = str(error).splitlines()[0]
        raise OptionError(
            f"device={device!r} cannot be used here ({reason}); try 'cpu' or 'auto'."
        ) from error
    return device


def training_data(features: Any, signs: NDArray[np.float64], *, unit: bool, device: str) -> TrainingData:
    """Prepare a table for training: float32 on the device, rows of length 1 if asked for."""
    rows = prepare_rows(features, unit=unit, intercept=True, dtype=torch.float32, device=device)
    return TrainingData(rows, torch.from_numpy(signs).to(device, torch.float32))
