"""What the classifiers share: the steps from a table of numbers to a trained and certified network."""

from abc import abstractmethod
from dataclasses import replace
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from sklearn.base import _fit_context
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted, validate_data

from pbgnet.certificates import (
    Inputs,
    LabelledRows,
    PreparedTable,
    PreprocessingRecord,
    PriorRecord,
    Split,
    SplitRecord,
    Terms,
    VerificationReport,
    certify_prepared,
    read_groups,
    rows_to_fit,
)
from pbgnet.estimators.around_fit import (
    check_workers_alike,
    numbers_in_range,
    refuse_fit_parameters,
    warn_of_few_rows,
    warn_of_the_fit,
    whole_or_unchanged,
)
from pbgnet.estimators.learning import ImageShape, flat_images, in_encoding, read_image_shape
from pbgnet.estimators.predictor import CertifiedPredictor
from pbgnet.estimators.table_labels import check_labels, classes_of
from pbgnet.exceptions import DomainError, DtypeError
from pbgnet.memory import release_free_memory
from pbgnet.networks import AggregatedNetwork, TanhNetwork, make_code, prepare_rows
from pbgnet.preprocessing import TablePreprocessor, column_names, is_source, take_rows
from pbgnet.stages import announce
from pbgnet.training import EnsembleChoice, FitResult
from pbgnet.validation import check_readable

# Rows and images evaluated at a time when predicting.
CHUNK_ROWS, CHUNK_IMAGES = 8192, 1024

FLOATS = (np.float64, np.float32)
"""What numbers may be; others become the first. Float32 stays so, for a copy takes twice its memory."""

MOST_STEPS = 10**9
"""Most restarts, epochs, rows of a batch: more are a mistake."""
MOST_PRIORS = 2**53
"""The most that the numbers of a certificate can count."""

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
    """A classifier based on a network, usually with a certificate.

    Subclasses define how to learn (`_learn`), how their prior was made (`_prior_record`), and whether there
    are prior rows (`_sets_rows_apart`).
    """

    # Where they are no parameters: the route, see `pbgnet.choices.CERTIFICATES`, the code of the classes,
    # whether the cells of the confusion matrix are bounded, what is asked of answered rows; the shape of rows
    # that are images, which False says they never are.
    certificate = "seeger"
    code: Any = "auto"
    confusion = False
    max_error: float | None = None
    coverage: float | None = None
    image_shape: Any = False
    _several_labels = False  # whether y is a matrix, with a column for each label that a row may have

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
    image_shape_: ImageShape | None
    single_row_fingerprints_: NDArray[np.uint64]  # rounded to float32

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    def _sets_rows_apart(self) -> bool:
        """Whether some of the rows train the prior."""
        return False

    def _make_preprocessor(self, table: Any) -> TablePreprocessor | None:
        """Make what is fitted on the prior rows of a table of numbers; by default nothing."""
        return None

    def _route(self) -> str:
        """Return the requested certificate, by its name in `pbgnet.choices.CERTIFICATES`."""
        return str(self.certificate)

    def _terms(self) -> Terms:
        """Return what is requested of the certificate."""
        return Terms(
            float(self.confidence),
            int(self.n_priors),
            self.constant,
            self._route(),
            bool(self.class_conditional),
            bool(self.confusion),
            max_error=self.max_error,
            coverage=self.coverage,
        )

    @abstractmethod
    def _learn(self, table: PreparedTable, seeds: list[int]) -> FitResult:
        """Train on a prepared table; the rows that are not prior rows will be certified."""

    @abstractmethod
    def _prior_record(self, result: FitResult, n_prior_rows: int, seeds: list[int]) -> PriorRecord:
        """Say how the prior was made."""

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(
        self,
        X: Any,  # noqa: N803
        y: Any,
        *,
        prior_rows: ArrayLike | SplitRecord | None = None,
        groups: str | ArrayLike | None = None,
        **refused: Any,
    ) -> Self:
        """Train and certify.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features), or images
            Finite numbers. For mixed types and missing values, use `make_certified_pipeline`.
        y : array-like of shape (n_samples,)
            Labels. Every label that occurs is a class.
        prior_rows : array-like of int or bool, or SplitRecord, optional
            Rows that train the prior, instead of a random draw: indices, or a mask over all rows.
            Choose them without looking at the content of the rows, neither labels nor features: the other
            rows are certified and must still be independent draws. A choice that depends on their content
            invalidates the certificate, and no program can detect that. Or pass a rule that `verify` can
            repeat, based on a column of X: ``by_hash_of("customer_id")``, ``earliest_by("day")``.
        groups : str, or array-like of shape (n_samples,), optional
            Also bound the error rate in each group, from above and below, and the largest difference
            between two groups. All bounds share delta. Requires the certificate "held-out". Pass the name of
            a column of X, or the group of each row; missing values form a group. Decide which groups there
            are without looking at the labels.

        Returns
        -------
        self
        """
        announce("preparing")
        refuse_fit_parameters(refused)
        check_readable("X", X)
        check_readable("y", y)
        column_names(X)  # raises for a name that occurs twice
        if is_source(X):
            raise DtypeError(
                "This estimator needs the table in memory. To train on a table that is read from "
                "files, use make_certified_pipeline(classifier)."
            )
        with whole_or_unchanged(self):
            self.image_shape_ = read_image_shape(self.image_shape, X)
            given = flat_images(X, self.image_shape_)
            with numbers_in_range():
                features, labels = validate_data(
                    self, given, y, accept_sparse="csr", dtype=FLOATS, multi_output=self._several_labels
                )
            labels = y if self._several_labels and hasattr(y, "columns") else labels
            table = X if hasattr(X, "columns") else features
            seeds = self.draw_seeds()
            rows = LabelledRows(table, labels)
            split = self.split_rows(rows, seeds, prior_rows)
            preprocessor = self._make_preprocessor(table)
            if preprocessor is not None and split.prior_rows.size:
                preprocessor.fit(take_rows(table, rows_to_fit(rows, split)))
            inputs = self.inputs_of(labels, column_names(table), preprocessor)
            record = OUTSIDE if preprocessor is None else BINNED
            prepared = PreparedTable(rows, inputs, split, read_groups(groups, table))
            self.fit_prepared(prepared, seeds, preprocessing=record)
        return self

    def labels_of(self, y: Any, table: Any) -> Any:
        """Return the labels of a table of any types, checked before any work is done."""
        return check_labels(y, table)

    def inputs_of(
        self, labels: NDArray[Any], names: tuple[str, ...] | None, preprocessor: TablePreprocessor | None
    ) -> Inputs:
        """Return what connects a table with these labels to the network; raise an error if nothing can."""
        classes = classes_of(labels)
        return Inputs(classes, names, preprocessor, make_code(self.code, len(classes)))

    def check_parameters(self) -> None:
        """Raise an error for parameters of the wrong kind, before any work is done."""
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
        """Split rows into prior rows and certified rows, as `fit` does.

        Parameters
        ----------
        rows : LabelledRows
            As they were given to `fit`.
        seeds : list of int
            From `draw_seeds`.
        prior_rows : array-like of int or bool, optional
            The user's own choice, made without looking at the content of the rows.
        fraction : float, optional
            Share of the rows to draw as prior rows; by default the classifier's own, or none if it needs no
            prior rows.
        """
        if fraction is None and self._sets_rows_apart():
            fraction = float(self.prior_fraction)
        return Split.of_table(rows, prior_rows, fraction, seeds[0])

    def fit_prepared(
        self, table: PreparedTable, seeds: list[int], *, preprocessing: PreprocessingRecord | None = None
    ) -> Self:
        """Train and certify on a table that is already prepared: read, split and turned into numbers.

        Parameters
        ----------
        table : PreparedTable
        seeds : list of int
            From `draw_seeds`.
        preprocessing : PreprocessingRecord, optional
            What was done to the rows; told by the table's own preprocessor unless given.
        """
        warn_of_few_rows(table.n_rows, table.split.certified_rows.size)
        if self._sets_rows_apart() and table.split.prior_rows.size == 0:
            raise DomainError("There are no rows to train the prior on: prior_rows is empty.")
        terms = self._terms()  # raises before any work is done, as do the next lines
        terms.check_groups(table.groups)
        terms.check_classes(table.inputs.classes.names, table.truth[table.split.certified_rows])
        check_workers_alike(table, self.get_params(), seeds)
        announce("training")
        result = self._learn(table, seeds[1:])
        announce("certifying")
        if is_source(table.rows.X):
            release_free_memory()  # what training needed
        if isinstance(result.prior_choice, EnsembleChoice):
            table = in_encoding(table, result.prior_choice.encoding)
        if table.inputs.temperature is not None:
            table = table.with_temperature(result.temperature)
        model = None
        if isinstance(result.network, AggregatedNetwork):
            model = certify_prepared(
                result.network,
                table,
                prior=self._prior_record(result, table.split.prior_rows.size, seeds[1:]),
                terms=replace(terms, keep_prior=result.keeps_prior and terms.certificate == "vote"),
                preprocessing=preprocessing,
                prior_margins=None if result.prior_choice is None else result.prior_choice.margins,
            )
        self.inputs_, self.classes_ = table.inputs, table.inputs.classes.array
        self.n_features_in_ = int(table.rows.X.shape[1])
        self.preprocessor_ = table.inputs.preprocessor
        # The certificate may be about the prior's vote; then the prior is what answers.
        self.network_ = result.network if model is None else model.network
        self.history_, self.certified_model_ = result.history, model
        self.row_fingerprints_ = table.row_fingerprints
        self.single_row_fingerprints_ = table.rows.single_fingerprints
        warn_of_the_fit(model, result)
        return self

    def output(self, X: Any) -> NDArray[np.float64]:  # noqa: N803
        """Return the outputs of the network for rows: shape (n,), or (n, r) for r > 1 outputs.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
        """
        check_is_fitted(self)
        check_readable("X", X)
        given = flat_images(X, self.image_shape_)
        with numbers_in_range():
            features = validate_data(self, given, reset=False, accept_sparse="csr", dtype=FLOATS)
        if self.preprocessor_ is not None:
            named = hasattr(X, "columns") and hasattr(self.preprocessor_, "feature_names_in_")
            features = self.preprocessor_.encode(X) if named else self.preprocessor_.encode_array(features)
        return self.answer(features)

    def verify(
        self,
        X: Any,  # noqa: N803
        y: ArrayLike,
        groups: ArrayLike | None = None,
    ) -> VerificationReport:
        """Recompute every number of the certificate from the table, or the images, given to fit."""
        check_is_fitted(self)
        return super().verify(flat_images(X, self.image_shape_), y, groups)

    def answer(self, features: Any) -> NDArray[np.float64]:
        """Return `output` for rows that are already preprocessed: an array, or sparse, or binned."""
        unit = isinstance(self.network_, AggregatedNetwork)
        patches = self.network_.architecture.patches
        size = CHUNK_ROWS if patches is None else CHUNK_IMAGES
        outputs = []
        with torch.no_grad():
            for start in range(0, features.shape[0], size):
                rows = prepare_rows(
                    features[start : start + size],
                    unit=unit,
                    intercept=True,
                    dtype=torch.float64,
                    device="cpu",
                    patches=patches,
                )
                outputs.append(self.network_.output(rows))
        return np.asarray(torch.cat(outputs).numpy())
