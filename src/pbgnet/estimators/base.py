"""What the classifiers share: the way from a table of numbers to a trained and certified network."""

import warnings
from abc import abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from sklearn.base import _fit_context
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.multiclass import check_classification_targets, type_of_target
from sklearn.utils.validation import check_is_fitted, validate_data

from pbgnet.certificates import (
    DUPLICATES_ADVICE,
    Certificate,
    CertifiedModel,
    Classes,
    Inputs,
    LabelledRows,
    PreparedTable,
    PreprocessingRecord,
    PriorRecord,
    Split,
    SplitRecord,
    Terms,
    certify_prepared,
)
from pbgnet.estimators.ensembles import in_encoding
from pbgnet.estimators.predictor import CertifiedPredictor
from pbgnet.exceptions import (
    ClassNeverAnsweredWarning,
    DomainError,
    DuplicateRowsWarning,
    FewRowsWarning,
    InterruptedFitWarning,
    LabelError,
    MajorityNotBeatenWarning,
    OptionError,
)
from pbgnet.networks import AggregatedNetwork, TanhNetwork, prepare_rows
from pbgnet.preprocessing import TablePreprocessor, column_names, take_rows
from pbgnet.stages import announce
from pbgnet.training import EnsembleChoice, FitResult
from pbgnet.validation import check_readable

FEWEST_ROWS = 10
"""With fewer rows even a classifier without errors gets a bound of little use: a warning says so, everywhere.

Two rows are the fewest that can be split; one is an error."""

# Rows evaluated at a time when predicting.
CHUNK_ROWS = 8192

MOST_STEPS = 10**9
"""Restarts, epochs, rows of a batch: more are a mistake."""
MOST_PRIORS = 2**53
"""So many can be counted in the numbers of a certificate."""

OUTSIDE = PreprocessingRecord(
    "outside",
    "the classifier was given numbers; what was done to them before, for example by other steps of a "
    "pipeline, is not part of the certificate",
)

BINNED = PreprocessingRecord(
    "outside",
    "the classifier was given numbers, and cut them into bins on the prior rows, which is part of the "
    "certificate; what was done to them before, for example by other steps of a pipeline, is not",
)


class CertifiedClassifier(CertifiedPredictor):
    """A binary classifier built on a network, most often with a certificate.

    Subclasses say how to learn (`_learn`), how their prior came about (`_prior_record`), and whether
    rows are set apart for it (`_sets_rows_apart`).
    """

    certificate = "seeger"  # the route, where it is not a parameter; see `pbgnet.choices.CERTIFICATES`

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "confidence": [Interval(Real, 0, 1, closed="neither")],
        "constant": [StrOptions({"maurer", "paper"})],
        "class_conditional": ["boolean"],
        "n_restarts": [Interval(Integral, 1, MOST_STEPS, closed="both")],
        "n_priors": [Interval(Integral, 1, MOST_PRIORS, closed="both")],
        "random_state": ["random_state"],
        "device": [str],
        "verbose": ["verbose"],
    }

    network_: AggregatedNetwork | TanhNetwork
    history_: list[dict[str, float | int | str]]
    row_fingerprints_: NDArray[np.uint64]
    preprocessor_: TablePreprocessor | None
    single_row_fingerprints_: NDArray[np.uint64]  # rounded to float32

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    def _sets_rows_apart(self) -> bool:
        """Whether a part of the rows trains the prior."""
        return False

    def _make_preprocessor(self, table: Any) -> TablePreprocessor | None:
        """Make what is to be fitted on the prior rows of a table of numbers; nothing unless said."""
        return None

    def _route(self) -> str:
        """Return the certificate that is asked for, by its name in `pbgnet.choices.CERTIFICATES`."""
        return str(self.certificate)

    @abstractmethod
    def _learn(self, table: PreparedTable, seeds: list[int]) -> FitResult:
        """Train on a prepared table; the rows that are not prior rows will be certified."""

    @abstractmethod
    def _prior_record(self, result: FitResult, n_prior_rows: int, seeds: list[int]) -> PriorRecord:
        """Say how the prior came about."""

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(
        self,
        X: Any,  # noqa: N803
        y: Any,
        *,
        prior_rows: ArrayLike | SplitRecord | None = None,
        **refused: Any,
    ) -> Self:
        """Train and certify.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Numbers, finite. For mixed types and missing values use `make_certified_pipeline`.
        y : array-like of shape (n_samples,)
            Labels of two classes.
        prior_rows : array-like of int or bool, or SplitRecord, optional
            Rows that train the prior, instead of a random draw: indices, or a mask over all rows.
            Choose them without looking at anything in the rows, neither labels nor features: the others are
            certified, and must still be draws from the distribution. A choice by what the rows hold breaks
            the certificate, and no program can tell: it is taken on trust. Or a rule that `verify` repeats,
            by a column of X: ``by_hash_of("customer_id")``, ``earliest_by("day")``.

        Returns
        -------
        self
        """
        announce("preparing")
        refuse_fit_parameters(refused)
        check_readable("X", X)
        check_readable("y", y)
        column_names(X)  # raises for a name that occurs twice
        with whole_or_unchanged(self):
            with numbers_in_range():
                features, labels = validate_data(self, X, y, accept_sparse="csr", dtype=np.float64)
            table = X if hasattr(X, "columns") else features
            classes = two_classes(labels)
            seeds = self.draw_seeds()
            rows = LabelledRows(table, labels)
            split = self.split_rows(rows, seeds, prior_rows)
            preprocessor = self._make_preprocessor(table)
            if preprocessor is not None and split.prior_rows.size:
                preprocessor.fit(take_rows(table, split.prior_rows))
            inputs = Inputs(classes, column_names(table), preprocessor)
            record = OUTSIDE if preprocessor is None else BINNED
            self.fit_prepared(PreparedTable(rows, inputs, split), seeds, preprocessing=record)
        return self

    def check_parameters(self) -> None:
        """Raise for parameters of the wrong kind, before any work is done."""
        self._validate_params()

    def draw_seeds(self) -> list[int]:
        """Draw the seeds of everything random in a fit from the one random state; the split's comes first."""
        draws = check_random_state(self.random_state).randint(np.iinfo(np.int32).max, size=4)
        return [int(draw) for draw in draws]

    def split_rows(
        self,
        rows: LabelledRows,
        seeds: list[int],
        prior_rows: ArrayLike | SplitRecord | None = None,
        fraction: float | None = None,
    ) -> Split:
        """Split rows into those of the prior and those to certify, as `fit` does.

        Parameters
        ----------
        rows : LabelledRows
            As they were given to `fit`.
        seeds : list of int
            From `draw_seeds`.
        prior_rows : array-like of int or bool, optional
            The user's own choice, made without looking at anything in the rows.
        fraction : float, optional
            Share of the rows to draw for the prior; the classifier's own unless given, which is none where
            it needs no prior rows.
        """
        if fraction is None and self._sets_rows_apart():
            fraction = float(self.prior_fraction)
        return Split.of_table(rows, prior_rows, fraction, seeds[0])

    def fit_prepared(
        self, table: PreparedTable, seeds: list[int], *, preprocessing: PreprocessingRecord | None = None
    ) -> Self:
        """Train and certify on a table that is prepared already: read, split and turned into numbers.

        Parameters
        ----------
        table : PreparedTable
        seeds : list of int
            From `draw_seeds`.
        preprocessing : PreprocessingRecord, optional
            What was done to the rows; told by the table's own preprocessor unless given.
        """
        warn_of_few_rows(table.features.shape[0])
        announce("training")
        result = self._learn(table, seeds[1:])
        announce("certifying")
        if isinstance(result.prior_choice, EnsembleChoice):
            table = in_encoding(table, result.prior_choice.encoding)
        model = None
        if isinstance(result.network, AggregatedNetwork):
            model = certify_prepared(
                result.network,
                table,
                prior=self._prior_record(result, table.split.prior_rows.size, seeds[1:]),
                terms=Terms(
                    float(self.confidence),
                    int(self.n_priors),
                    self.constant,
                    self._route(),
                    bool(self.class_conditional),
                ),
                preprocessing=preprocessing,
                prior_margins=None if result.prior_choice is None else result.prior_choice.margins,
            )
        self.classes_ = table.inputs.classes.array
        self.n_features_in_ = int(table.rows.X.shape[1])
        self.preprocessor_ = table.inputs.preprocessor
        # The certificate may speak of the prior's vote; then the prior is what answers.
        self.network_ = result.network if model is None else model.network
        self.history_, self.certified_model_ = result.history, model
        self.row_fingerprints_ = table.row_fingerprints
        self.single_row_fingerprints_ = table.rows.single_fingerprints
        _warn_of_the_fit(model, result)
        return self

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
        check_readable("X", X)
        with numbers_in_range():
            features = validate_data(self, X, reset=False, accept_sparse="csr", dtype=np.float64)
        if self.preprocessor_ is not None:
            named = hasattr(X, "columns") and hasattr(self.preprocessor_, "feature_names_in_")
            features = self.preprocessor_.encode(X) if named else self.preprocessor_.encode_array(features)
        return self.answer(features)

    def answer(self, features: Any) -> NDArray[np.float64]:
        """Return the aggregate G for rows that are preprocessed already: an array, or sparse, or binned."""
        unit = isinstance(self.network_, AggregatedNetwork)
        outputs = []
        with torch.no_grad():
            for start in range(0, features.shape[0], CHUNK_ROWS):
                part = features[start : start + CHUNK_ROWS]
                rows = prepare_rows(part, unit=unit, intercept=True, dtype=torch.float64, device="cpu")
                outputs.append(self.network_.output(rows))
        return np.asarray(torch.cat(outputs).numpy())


@contextmanager
def whole_or_unchanged(estimator: Any) -> Iterator[None]:
    """Give an estimator back its old state, all of it, if a fit fails."""
    before = dict(vars(estimator))
    try:
        yield
    except BaseException:
        vars(estimator).clear()
        vars(estimator).update(before)
        raise


@contextmanager
def numbers_in_range() -> Iterator[None]:
    """Turn what Python says of whole numbers beyond all doubles into a typed error."""
    try:
        yield
    except OverflowError as error:
        raise DomainError(f"The rows hold a number that no double can hold: {error}.") from error


def two_classes(y: NDArray[Any]) -> Classes:
    """Return the two classes of labels; refuse anything but two."""
    classes = np.array(sorted(set(y.tolist())), dtype=object) if y.dtype.kind == "O" else np.unique(y)
    check_classification_targets(classes)
    if len(classes) > 2 or type_of_target(classes).startswith("multi"):
        raise LabelError(
            "Only binary classification is supported. The type of the target is multiclass "
            f"({len(classes)} classes). Wrap the classifier in sklearn's OneVsRestClassifier, which gives "
            "one certificate per class, or keep two classes."
        )
    if len(classes) < 2:
        raise LabelError(
            f"The labels hold 1 class only ({classes.tolist()}); a classifier needs rows of two classes."
        )
    return Classes(tuple(classes.tolist()))


def warn_of_few_rows(n: int) -> None:
    """Warn where no certificate can be of use; see `FEWEST_ROWS`."""
    if n < FEWEST_ROWS:
        warnings.warn(
            f"{n} rows are too few for a useful certificate: below {FEWEST_ROWS} even a classifier that "
            "never errs on them gets a bound far from 0.",
            FewRowsWarning,
            stacklevel=4,
        )


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


def _warn_of_the_fit(model: CertifiedModel | None, result: FitResult) -> None:
    if model is not None and model.certificate.inputs.n_duplicates:
        warnings.warn(
            f"{model.certificate.inputs.n_duplicates} of the {model.certified_rows.size} certified rows "
            f"repeat another row of the table. {DUPLICATES_ADVICE}",
            DuplicateRowsWarning,
            stacklevel=4,
        )
    if model is not None:
        _warn_of_shortcomings(model.certificate)
    if result.interrupted:
        certified = "" if model is None else " and certified"
        warnings.warn(
            f"Training was interrupted; the best weights it had found were kept{certified}. "
            "More epochs might do better. Interrupt twice to abandon a fit.",
            InterruptedFitWarning,
            stacklevel=4,
        )


def _warn_of_shortcomings(certificate: Certificate) -> None:
    """Warn where the classifier is not shown to be of use; its certificate says it in the same words."""
    found: dict[type[Warning], bool] = {
        MajorityNotBeatenWarning: not certificate.beats_majority,
        ClassNeverAnsweredWarning: bool(certificate.inputs.never_answered),
    }
    kinds = [kind for kind, there in found.items() if there]
    for kind, told in zip(kinds, certificate.shortcomings, strict=True):
        warnings.warn(told, kind, stacklevel=5)
