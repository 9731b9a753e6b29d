"""A certified model: everything needed to predict, save and verify, and nothing from training."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pbgnet.certificates.data import (
    Inputs,
    Label,
    Split,
    fingerprint_array,
    fingerprint_rows,
    fingerprint_split,
    fingerprint_tensors,
)
from pbgnet.certificates.format import Certificate, differences
from pbgnet.certificates.network.evaluation import Answers, outputs
from pbgnet.certificates.network.strategy import as_margins
from pbgnet.exceptions import ShapeError, UncertifiedError
from pbgnet.networks import AggregatedNetwork
from pbgnet.preprocessing import TablePreprocessor
from pbgnet.validation import as_read_only


@dataclass(frozen=True, eq=False)
class CertifiedModel:
    """A classifier with its certificate, as it is saved, loaded and audited.

    Parameters
    ----------
    network : AggregatedNetwork
        Posterior and prior; float64 on the CPU, as `certifiable` returns it.
    certificate : Certificate
    inputs : Inputs
        Classes, feature names and preprocessor.
    split : Split
        Rows of the table given to fit.
    row_fingerprints : ndarray of uint64
        For each row of that table, so that no certificate is issued on one of them again.
    prior_margins : array_like of float64 or None
        Margins on prior rows that the prior was not trained on, for each label if there are several, if
        something was chosen with them.
    answers : Answers or None
        The answers of the network on the certified rows; known after certifying, not saved.

    Examples
    --------
    See `certify_network`, which makes one, `save_model`, `load_model` and `verify`.
    """

    network: AggregatedNetwork
    certificate: Certificate
    inputs: Inputs
    split: Split
    row_fingerprints: NDArray[np.uint64] = field(repr=False)
    prior_margins: NDArray[np.float64] | None = None
    answers: Answers | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        margins = as_margins(self.prior_margins)
        if margins is not None and len(margins) > self.prior_rows.size:
            raise ShapeError(
                f"There are {len(margins)} prior_margins, but only {self.prior_rows.size} prior rows."
            )
        if margins is not None and margins.shape[1:] != self.inputs.margin_shape:
            expected = "one of each label" if self.inputs.has_several_labels else "one list of margins"
            raise ShapeError(f"prior_margins must be {expected}, got shape {np.shape(margins)}.")
        object.__setattr__(self, "prior_margins", margins)
        rows = as_read_only(self.row_fingerprints, np.uint64)
        if rows.ndim != 1:
            raise ShapeError(f"row_fingerprints must be a one-dimensional list, got shape {rows.shape}.")
        object.__setattr__(self, "row_fingerprints", rows)
        self.inputs.check_size(self.network.architecture.n_features, self.network.architecture.n_outputs)

    @property
    def classes(self) -> tuple[Label, ...]:
        """The classes, or the names of the labels that a row may have together."""
        return self.inputs.classes.labels

    @property
    def classes_(self) -> NDArray[Any]:
        """The classes, under scikit-learn's name: those of the columns of `predict_proba`."""
        return self.inputs.classes.array

    @property
    def feature_names(self) -> tuple[str, ...] | None:
        """Columns of the table, if they have names."""
        return self.inputs.feature_names

    @property
    def preprocessor(self) -> TablePreprocessor | None:
        """Fitted on the prior rows."""
        return self.inputs.preprocessor

    @property
    def prior_rows(self) -> NDArray[np.int64]:
        """Rows of the table that the prior or the preprocessing was fitted on."""
        return self.split.prior_rows

    @property
    def certified_rows(self) -> NDArray[np.int64]:
        """Rows of the table that the certificate is computed on."""
        return self.split.certified_rows

    def decision_function(self, X: Any) -> NDArray[np.float64]:  # noqa: N803
        """Return the aggregate G in [-1, 1] for two classes, above 0 for the second; for more, all scores.

        Parameters
        ----------
        X : DataFrame, ndarray or scipy sparse matrix, shape (n, d)
            Rows as they were passed to fit.

        Returns
        -------
        ndarray of float64, shape (n,), or (n, c) for c > 2 classes, or (n, L) for several labels
            The vote answers with the class of the largest score; or with each label above 0.
        """
        return self.inputs.decisions(self.output(X))

    def output(self, X: Any) -> NDArray[np.float64]:  # noqa: N803
        """Return the outputs of the network for rows: shape (n,), or (n, r) for r > 1 outputs."""
        features = self.inputs.features(X, self.network.architecture.n_features)
        return np.asarray(outputs(self.network, features).numpy())

    def predict(self, X: Any) -> NDArray[Any]:  # noqa: N803
        """Return the label the vote answers with, for each row; several labels as 0 and 1, shape (n, L)."""
        return self.inputs.answers(self.output(X))

    def predict_or_abstain(self, X: Any) -> NDArray[Any]:  # noqa: N803
        """Return the label of each row that the certificate lets the vote answer, and None for the others.

        A row is answered if its score (`|G|` for two classes, the lead over the next class for more) is at
        least `certificate.threshold`. The result is an array of objects, so that a row without an answer
        cannot be mistaken for one with an answer; `predict` answers all rows.

        Raises
        ------
        OptionError
            If no threshold was requested.
        """
        return self.inputs.sure_answers(self.output(X), self.certificate.require_selection())

    def predict_proba(self, X: Any) -> NDArray[np.float64]:  # noqa: N803
        """Return a share for each class, shape (n, c), in the order of `classes_`; not calibrated.

        For two classes (1 - G) / 2 and (1 + G) / 2: the share of networks drawn from the posterior that give
        this answer; with two or more hidden layers these are the paper's tree networks, not plain ones. For
        more classes, softmax of the scores times a temperature that was chosen on the prior rows. For several
        labels (1 + G) / 2 of each, shape (n, L).
        """
        return self.inputs.shares(self.output(X))

    def stated_and_found(self) -> dict[str, tuple[str, str, str]]:
        """Return what the certificate says of the model itself, what is found, and what a difference means.

        The names are those of the steps of `verify` that need no data.
        """
        stated, certificate = self.certificate.network, self.certificate
        return {
            "certificate text": certificate.seals,
            "network": (_sizes(stated.network), _sizes(self.network.architecture), "other sizes"),
            "posterior weights": (
                stated.posterior_weights,
                fingerprint_tensors(list(self.network.weights)),
                "a weight of the posterior in model.safetensors was changed",
            ),
            "prior weights": (
                stated.prior_weights,
                fingerprint_tensors(self.network.prior_weights),
                "a weight of the prior in model.safetensors was changed",
            ),
            "preprocessing": (
                stated.inputs,
                self.inputs.fingerprint(),
                "classes, feature names or the preprocessor in preprocessing.json were changed",
            ),
            "row fingerprints": (
                stated.row_fingerprints,
                fingerprint_rows(self.row_fingerprints),
                "a fingerprint of a row in model.safetensors was changed",
            ),
            "prior margins": (
                stated.prior_margins or "none",
                "none" if self.prior_margins is None else fingerprint_array(self.prior_margins),
                "a margin in model.safetensors was changed",
            ),
            "split": (
                certificate.fingerprints.split,
                fingerprint_split(self.prior_rows, self.certified_rows),
                "the list of prior or certified rows in model.safetensors was changed",
            ),
        }

    def _repr_html_(self) -> str:
        """Return the card of the certificate, which notebooks show."""
        return self.certificate._repr_html_()

    def mismatch(self) -> str:
        """Say where the model does not match its certificate; "" if it does.

        Checking that the certificate is right needs the data, and `verify`.
        """
        return differences(self.stated_and_found())

    def require_own_certificate(self) -> None:
        """Raise `UncertifiedError` unless the model matches its certificate."""
        if problem := self.mismatch():
            raise UncertifiedError(
                f"The model does not match its certificate: {problem}. Load it again, or certify it "
                "as it is now."
            )


def _sizes(network: Any) -> str:
    hidden = ", ".join(map(str, network.hidden_layer_sizes)) or "none"
    intercepts = "with" if network.intercept else "without"
    members = "" if network.n_members is None else f", {network.n_members} members"
    several = "" if network.n_outputs == 1 else f", {network.n_outputs} outputs"
    images = "" if network.patches is None else f", {network.patches!r}"
    layers = f"{network.n_features} features, hidden layers: {hidden}, {intercepts} intercepts"
    return f"{layers}{members}{several}{images}"
