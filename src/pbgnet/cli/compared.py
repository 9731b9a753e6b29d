"""Other classifiers on the same rows, and the pickle that a user keeps."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

from pbgnet.exceptions import OutputExistsError
from pbgnet.files import replace_file
from pbgnet.table_files import is_csv

if TYPE_CHECKING:
    from pbgnet.certificates import CertifiedModel, CertifiedPredictions
    from pbgnet.report import Comparison


def measure_comparison(
    model: "CertifiedModel | CertifiedPredictions",
    X: Any,  # noqa: N803
    y: Any,
    data: Path,
) -> "Comparison":
    """Fit other classifiers on the prior rows and count their errors on the certified rows."""
    from pbgnet.certificates import delta_of
    from pbgnet.estimators import compare_classifiers
    from pbgnet.preprocessing import TablePreprocessor
    from pbgnet.report import Comparison

    preprocessor = TablePreprocessor(parse_numbers=is_csv(data))
    found = compare_classifiers(model, X, y, preprocessor=preprocessor)
    certificate, n_rows = model.certificate, model.certificate.inputs.n
    n_errors = tuple(round(claim.empirical_risk * n_rows) for claim in found.values())
    return Comparison(tuple(found), n_errors, n_rows, delta_of(certificate.confidence), certificate.seal)


def keep_classifier(pipeline: Any, path: Path, overwrite: bool) -> None:
    """Pickle a fitted pipeline for the user."""
    import joblib  # type: ignore[import-untyped]

    if path.exists() and not overwrite:
        raise OutputExistsError(f"{path} exists already; choose another place, or pass --overwrite.")
    with replace_file(path) as temporary:
        joblib.dump(pipeline, temporary)
