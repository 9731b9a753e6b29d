"""What is kept beside a model besides: other classifiers on the same rows, and the course of training."""

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pbgnet.cli.folder import load_record
from pbgnet.exceptions import DamagedFileError, DomainError, OutputExistsError
from pbgnet.files import read_json, replace_file, standing_folder, write_whole
from pbgnet.records import Count, OpenProbability, PositiveCount, Record, Sha256
from pbgnet.table_files import is_csv

if TYPE_CHECKING:
    from pbgnet.certificates import CertifiedModel, CertifiedPredictions, Claim

COMPARED, COMPARED_SCHEMA = "compared.json", "pbgnet-compared"
HISTORY = "history.json"


@dataclass(frozen=True)
class Comparison(Record):
    """Errors of other classifiers on the same rows: alternatives, and no part of the proof."""

    names: tuple[str, ...]
    n_errors: tuple[Count, ...]
    n_rows: PositiveCount
    delta: OpenProbability
    certificate: Sha256  # the seal of the one they stand beside

    def __post_init__(self) -> None:
        super().__post_init__()
        if len(self.names) != len(self.n_errors) or max(self.n_errors, default=0) > self.n_rows:
            raise DomainError("There must be one count of errors per name, of at most all rows.")

    @property
    def named(self) -> "dict[str, Claim]":
        """The bounds by the names of the classifiers."""
        import numpy as np

        from pbgnet.certificates import count_on_rows

        rows = np.arange(self.n_rows)
        counted = zip(self.names, self.n_errors, strict=True)
        return {name: count_on_rows(rows < n_errors, self.delta) for name, n_errors in counted}

    def payload(self) -> list[dict[str, Any]]:
        """Return errors and bounds for machines."""
        return [
            {"classifier": name, **claim.evidence.to_dict(), "bound": claim.value}
            for name, claim in self.named.items()
        ]


def measure_comparison(
    model: "CertifiedModel | CertifiedPredictions",
    X: Any,  # noqa: N803
    y: Any,
    data: Path,
) -> Comparison:
    """Fit other classifiers on the rows set apart and count on the certified ones."""
    from pbgnet.certificates import delta_of
    from pbgnet.estimators import compare_classifiers
    from pbgnet.preprocessing import TablePreprocessor

    preprocessor = TablePreprocessor(parse_numbers=is_csv(data))
    found = compare_classifiers(model, X, y, preprocessor=preprocessor)
    certificate, n_rows = model.certificate, model.certificate.inputs.n
    n_errors = tuple(round(claim.empirical_risk * n_rows) for claim in found.values())
    return Comparison(tuple(found), n_errors, n_rows, delta_of(certificate.confidence), certificate.seal)


def load_comparison(folder: Path, model: "CertifiedModel | CertifiedPredictions") -> Comparison | None:
    """Return what was kept, or None if there is nothing or it is of another model."""
    found = load_record(Comparison, folder, COMPARED, COMPARED_SCHEMA, "Remove it.")
    certificate = model.certificate
    stated = (certificate.seal, certificate.inputs.n)
    return found if found is not None and (found.certificate, found.n_rows) == stated else None


def save_history(folder: Path, history: Sequence[Mapping[str, Any]]) -> None:
    """Keep the course of training, so that the report can be written again; NaN is left out."""
    if not history:
        return
    finite = [
        {name: value for name, value in record.items() if isinstance(value, str) or math.isfinite(value)}
        for record in history
    ]
    write_whole(folder / HISTORY, json.dumps(finite) + "\n")


def load_history(folder: Path) -> list[dict[str, Any]]:
    """Return the course of training, as far as it was kept."""
    path = standing_folder(folder) / HISTORY
    return read_json(path, _records) if path.is_file() else []


def _records(content: object) -> list[dict[str, Any]]:
    if not isinstance(content, list) or not all(isinstance(record, dict) for record in content):
        raise DamagedFileError("it must be a list of records. Remove it.")
    return content


def keep_classifier(pipeline: Any, path: Path, overwrite: bool) -> None:
    """Pickle a fitted pipeline for its owner."""
    import joblib  # type: ignore[import-untyped]

    if path.exists() and not overwrite:
        raise OutputExistsError(f"{path} exists already; choose another place, or pass --overwrite.")
    with replace_file(path) as temporary:
        joblib.dump(pipeline, temporary)
