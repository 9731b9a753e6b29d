"""The certificate of a classifier that is not stored, with its answers on the rows."""

import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pbgnet.certificates.classifier.asking import ask
from pbgnet.certificates.classifier.label_answers import as_label_answers
from pbgnet.certificates.classifier.losses import RowLosses
from pbgnet.certificates.classifier.scores import RowScores, Scores, measure_scores
from pbgnet.certificates.data import (
    Classes,
    KeptRows,
    Label,
    Split,
    fingerprint_array,
    fingerprint_json,
    fingerprint_split,
)
from pbgnet.certificates.format import (
    Certificate,
    ClassifierSubject,
    DisagreementSubject,
    FittedSubject,
    differences,
)
from pbgnet.exceptions import (
    DamagedFileError,
    DomainError,
    DtypeError,
    OptionError,
    PBGNetError,
    ShapeError,
)
from pbgnet.preprocessing import count_rows
from pbgnet.records import Limits, Record, Sha256, read_keys

SCHEMA = "pbgnet-predictions"
SCHEMA_VERSION = 1


@dataclass(frozen=True)
class ExportedNetwork(Record):
    """Which exported network answered, to distinguish its certificate from that of another.

    Attributes
    ----------
    network : {"sign", "aggregate"}
    dtype : {"float32", "float64"}
        Precision of its numbers.
    weights : str
        Fingerprint of its weights, in that precision.
    inputs : str
        Fingerprint of its classes, feature names and preprocessor.
    """

    network: Annotated[str, Limits(choices=("sign", "aggregate"))]
    dtype: Annotated[str, Limits(choices=("float32", "float64"))]
    weights: Sha256
    inputs: Sha256

    def fingerprint(self) -> str:
        """Return the fingerprint of all fields, which a certificate states."""
        return fingerprint_json(self.to_dict())


def exported_network(predict: Any) -> ExportedNetwork | None:
    """Return which exported network a classifier, or its method `predict`, is; None if it does not say."""
    found = getattr(getattr(predict, "__self__", predict), "exported_network", None)
    return found if isinstance(found, ExportedNetwork) else None


@dataclass(frozen=True, eq=False)
class CertifiedPredictions:
    """A certificate and the answers it counts.

    Attributes
    ----------
    certificate : Certificate
    classes : tuple of str, int, bool or float
        All known labels; or the names of those that a row may have together.
    predictions : ndarray of int64, shape (n,) or (n, L)
        What the classifier answered, as places among the classes; of several labels 1 for each that it
        answered with, 0 for the others.
    rows : KeptRows
        Fingerprints of all rows of the table, and the names of its columns, so that `verify` can name what
        was changed.
    reference : ndarray of int64, shape (n,) or None
        What the certified vote answered, for a disagreement.
    exported : ExportedNetwork or None
        Which exported network answered, for a disagreement.
    losses : RowLosses or None
        The loss of each row, if its mean is bounded.
    scores : RowScores or None
        How sure the classifier is about each row, if it only answers some of them.
    split : Split or None
        Rows of the table that the classifier was fitted on, and rows it answered, if these are parts of one
        table; see `certify_fitted`.
    truth : ndarray of int64, shape (n,) or (n, L), or None
        The labels of these rows, in the form of `predictions`, if they were just certified. They are not
        stored: after loading, a report needs the table again.

    Examples
    --------
    See `certify` and `certify_by_disagreement`, which make one, `save_predictions`, `load_predictions`
    and `verify`.
    """

    certificate: Certificate
    classes: tuple[Label, ...]
    predictions: NDArray[np.int64]
    rows: KeptRows = field(repr=False)
    reference: NDArray[np.int64] | None = None
    exported: ExportedNetwork | None = None
    losses: RowLosses | None = None
    split: Split | None = None
    scores: RowScores | None = None
    truth: NDArray[np.int64] | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        classes = Classes(tuple(self.classes)).labels
        object.__setattr__(self, "classes", classes)
        read = as_label_answers if self.certificate.of_labels else as_answers
        object.__setattr__(self, "predictions", read("predictions", self.predictions, len(classes)))
        if self.rows.fingerprints.shape != (self.certificate.n_rows_total,):
            raise ShapeError("There must be one row fingerprint for each row of the table.")
        if self.reference is not None:
            reference = as_answers("reference", self.reference, len(classes))
            object.__setattr__(self, "reference", reference)
            if reference.size != self.predictions.size:
                raise ShapeError("The reference must have as many answers as the classifier.")
        if self.losses is not None and self.losses.values.size != self.predictions.size:
            raise ShapeError("There must be as many losses as answers.")
        if (self.scores is not None) != (self.certificate.answered_error_rate is not None):
            raise DomainError("Scores are needed for a classifier that abstains, and only then.")
        if self.scores is not None and self.scores.values.size != self.predictions.size:
            raise ShapeError("There must be as many scores as answers.")
        if (self.split is not None) != isinstance(self.certificate.subject, FittedSubject):
            raise DomainError(
                "A split is needed for a classifier that was fitted on rows of the table, and only then."
            )
        if self.split is not None and self.split.certified_rows.size != len(self.predictions):
            raise ShapeError("There must be as many certified rows as answers.")

    @property
    def labels(self) -> NDArray[Any]:
        """The answers as the user's labels; several labels as 0 and 1."""
        if self.certificate.of_labels:
            return self.predictions
        return Classes(self.classes).named(self.predictions)

    @property
    def feature_names(self) -> tuple[str, ...] | None:
        """Columns of the table, where they have names."""
        return self.rows.columns

    def predict_or_abstain(self, model: Any, X: Any, scores: Scores | None = None) -> NDArray[Any]:  # noqa: N803
        """Have the classifier answer the rows that the certificate lets it answer; None for the others.

        Parameters
        ----------
        model : classifier or callable
            The one that was certified, which is not stored.
        X : DataFrame, ndarray or scipy sparse matrix, shape (n, d)
        scores : callable, optional
            The function given to `certify_selective` as scores, if any.

        Returns
        -------
        ndarray of object, shape (n,)
            Labels, and None for rows whose score is below `certificate.threshold`.

        Raises
        ------
        OptionError
            If the certificate has no threshold, or the function of the scores is missing.
        """
        threshold, n = self.certificate.require_selection(), count_rows(X)
        assert self.scores is not None
        if (scores is None) != (self.scores.lowest is not None):
            raise OptionError(
                f"This classifier answers a row depending on its {self.scores.quantity}: "
                + ("pass that function as scores." if scores is None else "leave scores out.")
            )
        answers = np.full(n, None, dtype=object)
        if threshold is not None and n:
            sure = measure_scores(self.scores.quantity, scores, model, X).values >= threshold
            known = Classes(self.classes)
            answers[sure] = known.named(ask(model, X, known)[sure]).tolist()
        return answers

    def fingerprint(self) -> str:
        """Return the fingerprint of classes, answers, losses and scores."""
        return fingerprint_predictions(
            self.classes, self.predictions, self.reference, self.losses, self.scores
        )

    def stated_and_found(self) -> dict[str, tuple[str, str, str]]:
        """Return what the certificate says of what is stored, what is found, and what a difference means."""
        stated = self.certificate.subject
        assert isinstance(stated, ClassifierSubject | DisagreementSubject)
        told = stated.exported if isinstance(stated, DisagreementSubject) else None
        found = None if self.exported is None else self.exported.fingerprint()
        compared = {
            "certificate text": self.certificate.seals,
            "exported network": (
                str(told),
                str(found),
                "predictions.json describes a different classifier from the certified one",
            ),
            "answers": (
                stated.answers,
                self.fingerprint(),
                "predictions.json was edited: an answer, a loss, a score or a class was changed",
            ),
            "column names": (
                str(self.certificate.fingerprints.columns),
                str(self.rows.column_fingerprint),
                "the names of the columns in predictions.json were changed",
            ),
            "row fingerprints": (
                stated.row_fingerprints,
                self.rows.fingerprint(),
                "a fingerprint of a row in rows.safetensors was changed",
            ),
        }
        if self.split is not None:
            rows = fingerprint_split(self.split.prior_rows, self.split.certified_rows)
            detail = "the list of prior rows in predictions.json was changed"
            compared["split"] = (self.certificate.fingerprints.split, rows, detail)
        return compared

    def mismatch(self) -> str:
        """Say where what is stored does not match the certificate; "" if it does."""
        return differences(self.stated_and_found())

    def to_dict(self) -> dict[str, Any]:
        """Return the answers as plain JSON-able values; certificate and row fingerprints have own files."""
        exported = None if self.exported is None else self.exported.to_dict()
        content = _content(self.classes, self.predictions, self.reference, self.losses)
        if self.scores is not None:
            content["scores"] = self.scores.to_dict()
        names = None if self.rows.columns is None else list(self.rows.columns)
        rows = {} if self.split is None else {"prior_rows": self.split.prior_rows.tolist()}
        return {**content, "exported": exported, "feature_names": names, **rows}

    @classmethod
    def from_dict(
        cls, data: object, certificate: Certificate, row_fingerprints: NDArray[np.uint64]
    ) -> "CertifiedPredictions":
        """Read what `to_dict` returned; raises `DamagedFileError` for anything else."""
        subject = certificate.subject
        fitted = isinstance(subject, FittedSubject)
        keys = ["schema", "version", "classes", "predictions", "reference", "exported", "losses"]
        keys += ["feature_names"]
        keys += ["prior_rows"] * fitted + ["scores"] * (certificate.answered_error_rate is not None)
        content = read_keys(data, keys)
        version = content["version"]
        if content["schema"] != SCHEMA or type(version) is not int or version != SCHEMA_VERSION:
            raise DamagedFileError(
                f"schema and version must be {SCHEMA!r} and {SCHEMA_VERSION}, got "
                f"{content['schema']!r:.60} and {version!r:.20}."
            )
        if not isinstance(content["classes"], list):
            raise DamagedFileError(f"classes must be a list, got {content['classes']!r:.60}.")
        for name in ("predictions", "reference", *(["prior_rows"] * fitted)):
            places = content[name]
            if places is None and name == "reference":
                continue
            rows = [places]
            if certificate.of_labels and name == "predictions" and isinstance(places, list):
                rows = places
            if not all(isinstance(row, list) and all(type(place) is int for place in row) for row in rows):
                raise DamagedFileError(f"{name} must be lists of whole numbers, got {places!r:.60}.")
        exported, names = content["exported"], content["feature_names"]
        if names is not None and not (
            isinstance(names, list) and all(isinstance(name, str) for name in names)
        ):
            raise DamagedFileError(f"feature_names must be a list of strings or null, got {names!r:.60}.")
        try:
            return cls(
                certificate,
                tuple(content["classes"]),
                content["predictions"],
                KeptRows(row_fingerprints, None if names is None else tuple(names)),
                content["reference"],
                None if exported is None else ExportedNetwork.from_dict(exported, "exported"),
                None if content["losses"] is None else RowLosses.from_dict(content["losses"]),
                _split_of(content, certificate) if isinstance(subject, FittedSubject) else None,
                RowScores.from_dict(content["scores"]) if "scores" in content else None,
            )
        except PBGNetError as error:
            raise DamagedFileError(str(error)) from error

    def __str__(self) -> str:
        """Return the summary of the certificate, as `print` shows it."""
        return self.certificate.summary

    def _repr_html_(self) -> str:
        """Return the card of the certificate, which notebooks show."""
        return self.certificate._repr_html_()

    def save(
        self,
        folder: str | os.PathLike[str],
        *,
        data: str | None = None,
        contact: str | None = None,
        overwrite: bool = False,
    ) -> Path:
        """Write the certificate, the answers and a report for readers into a folder, all or nothing.

        Parameters
        ----------
        folder : path
        data : str, optional
            Name of the data, for the header of the report.
        contact : str, optional
            Whom to ask about the classifier, for the same place.
        overwrite : bool, default=False
            As in `save_model`.

        Returns
        -------
        Path
            The folder, with ``certificate.json``, ``predictions.json``, ``rows.safetensors`` and
            ``report.html``.
        """
        from pbgnet.report import About, save_certified

        return save_certified(self, folder, about=About(data, contact), overwrite=overwrite)


def fingerprint_predictions(
    classes: tuple[Label, ...],
    predictions: NDArray[np.int64],
    reference: NDArray[np.int64] | None = None,
    losses: RowLosses | None = None,
    scores: RowScores | None = None,
) -> str:
    """Fingerprint the answers of a classifier, those of the vote it is compared with, losses and scores."""
    content = _content(classes, predictions, reference, losses)
    if scores is not None:  # as bytes, because writing a million numbers takes a second
        content["scores"] = {"quantity": scores.quantity, "values": fingerprint_array(scores.values)}
    return fingerprint_json(content)


def as_answers(name: str, places: ArrayLike, n_classes: int) -> NDArray[np.int64]:
    """Return class indices as a read-only array, or raise an error."""
    array: NDArray[Any] = np.asarray(places)
    if array.ndim != 1 or array.size == 0:
        raise ShapeError(
            f"{name} must be a one-dimensional list with at least one answer, got shape {array.shape}."
        )
    if array.dtype.kind not in "iu":
        raise DtypeError(f"{name} must be whole numbers, got {array.dtype}.")
    if array.min() < 0 or array.max() >= n_classes:
        raise ShapeError(f"{name} must be between 0 and {n_classes - 1}, the indices of the classes.")
    result = array.astype(np.int64)
    result.setflags(write=False)
    return result


def _split_of(content: dict[str, Any], certificate: Certificate) -> Split:
    """Return the split of a table into the stored prior rows and all others, which are certified."""
    subject, n_rows = certificate.subject, certificate.n_rows_total
    assert isinstance(subject, FittedSubject)
    stated = (subject.n_prior_rows, n_rows - subject.n_prior_rows)
    if stated != (len(content["prior_rows"]), len(content["predictions"])):
        raise DamagedFileError("the number of prior rows and of answers must match the certificate.")
    if not all(0 <= row < n_rows for row in content["prior_rows"]):
        raise DamagedFileError(f"prior_rows must be between 0 and {n_rows - 1}.")
    prior = np.asarray(content["prior_rows"], dtype=np.int64)
    return Split(prior, np.setdiff1d(np.arange(n_rows), prior), subject.split)


def _content(
    classes: tuple[Label, ...],
    predictions: NDArray[np.int64],
    reference: NDArray[np.int64] | None,
    losses: RowLosses | None,
) -> dict[str, Any]:
    return {
        "schema": SCHEMA,
        "version": SCHEMA_VERSION,
        "classes": list(classes),
        "predictions": predictions.tolist(),
        "reference": None if reference is None else reference.tolist(),
        "losses": None if losses is None else losses.to_dict(),
    }
