"""What every certified estimator offers after fitting."""

from abc import abstractmethod
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted

from pbgnet.certificates import (
    Certificate,
    CertifiedModel,
    Inputs,
    VerificationReport,
    verify,
)
from pbgnet.exceptions import UncertifiedError


class TakesTables:
    """Tags of estimators that accept tables of any types, with missing values."""

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()  # type: ignore[misc]
        tags.input_tags.allow_nan = True
        tags.input_tags.string = True
        tags.input_tags.categorical = True
        return tags


class ShowsCertificate:
    """Shows scikit-learn's diagram in notebooks, below the card of the certificate if there is one."""

    def _repr_html_inner(self) -> str:
        return self._with_card(super()._repr_html_inner())  # type: ignore[misc]

    def _repr_mimebundle_(self, **kwargs: Any) -> dict[str, str]:
        shown = super()._repr_mimebundle_(**kwargs)  # type: ignore[misc]
        if "text/html" in shown:
            shown["text/html"] = self._with_card(shown["text/html"])
        return dict(shown)

    def _with_card(self, diagram: str) -> str:
        try:
            certificate: Certificate = self.certificate_  # type: ignore[attr-defined]
        except (NotFittedError, UncertifiedError):
            return diagram
        return certificate._repr_html_() + diagram


class CertifiedPredictor(ShowsCertificate, ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Prediction, certificate, saving and verifying, from `decision_function` and `certified_model_`."""

    inputs_: Inputs  # classes, code, columns and preprocessor
    certified_model_: CertifiedModel | None
    classes_: NDArray[Any]

    @abstractmethod
    def output(self, X: Any) -> NDArray[np.float64]:  # noqa: N803
        """Return the outputs of the network for rows: shape (n,), or (n, r) for r > 1 outputs."""

    def decision_function(self, X: Any) -> NDArray[np.float64]:  # noqa: N803
        """Return how strongly the network favours each class.

        For two classes, the aggregate G in [-1, 1], above 0 for the second class. For more classes, one score
        per class.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)

        Returns
        -------
        ndarray of float64, shape (n_samples,), or (n_samples, n_classes) for more than two classes
        """
        output = self.output(X)  # first, because it raises an error if nothing was fitted
        return self.inputs_.decisions(output)

    @property
    def certificate_(self) -> Certificate:
        """The certificate of the fitted classifier."""
        return self._require_certificate().certificate

    @property
    def prior_rows_(self) -> NDArray[np.int64]:
        """Indices of the rows that trained the prior, among those given to fit."""
        return self._require_certificate().prior_rows

    @property
    def certified_rows_(self) -> NDArray[np.int64]:
        """Indices of the rows that the certificate is computed on, among those given to fit."""
        return self._require_certificate().certified_rows

    def predict(self, X: Any) -> NDArray[Any]:  # noqa: N803
        """Predict the class of each row."""
        output = self.output(X)
        return self.inputs_.answers(output)

    def predict_or_abstain(self, X: Any) -> NDArray[Any]:  # noqa: N803
        """Predict the class of each row where the classifier is confident enough, and None for the others.

        Requires a fit with `max_error` or `coverage`. Returns an array of objects, so that a row without an
        answer cannot be mistaken for one with an answer. `predict` still answers all rows, because
        scikit-learn's scores, searches and pipelines need a label for each.
        """
        threshold = self.certificate_.require_selection()
        return self.inputs_.sure_answers(self.output(X), threshold)

    def predict_proba(self, X: Any) -> NDArray[np.float64]:  # noqa: N803
        """Return a share for each class; it is not a calibrated probability.

        For two classes, (1 - G) / 2 and (1 + G) / 2: the share of networks sampled from the posterior that
        predict the class. With two or more hidden layers, these are the paper's tree networks (Section 4),
        not plain ones. For more classes, the softmax of the scores times a temperature that was chosen on
        the prior rows.

        Returns
        -------
        ndarray of shape (n_samples, n_classes), float64
            Columns in the order of `classes_`.
        """
        output = self.output(X)
        return self.inputs_.shares(output)

    def verify(
        self,
        X: Any,  # noqa: N803
        y: ArrayLike,
        groups: ArrayLike | None = None,
    ) -> VerificationReport:
        """Recompute every number of the certificate from the table that was given to fit.

        Pass groups if you gave fit the group of each row instead of the name of a column.
        """
        return verify(self._require_certificate(), X, y, groups=groups)

    def save(
        self,
        folder: str | Path,
        *,
        data: str | None = None,
        contact: str | None = None,
        overwrite: bool = False,
    ) -> None:
        """Write the certified model and a report into a folder, all or nothing.

        `pbgnet.load_model` reads the model back. ``report.html`` is for people: it shows which errors were
        made, but not which columns matter, because the estimator does not keep the table;
        ``pbgnet report FOLDER DATA`` adds that.

        Parameters
        ----------
        folder : path
        data : str, optional
            Name of the data, for the header of the report.
        contact : str, optional
            Whom to ask about the model, for the same place.
        overwrite : bool, default=False
            Replace an existing model; other files in the folder are kept.
        """
        from pbgnet.report import About, save_certified

        model, history = self._require_certificate(), getattr(self, "history_", [])
        save_certified(model, folder, about=About(data, contact), history=history, overwrite=overwrite)

    def _require_certificate(self) -> CertifiedModel:
        check_is_fitted(self)
        if self.certified_model_ is None:
            raise UncertifiedError("algorithm='mlp' gives no certificate; choose another algorithm.")
        return self.certified_model_
