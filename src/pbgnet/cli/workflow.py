"""From a table in a file to a certified model in a folder."""

import time
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pbgnet.cli.compared import keep_classifier, measure_comparison
from pbgnet.cli.console import echo, show_certificate
from pbgnet.cli.folder import TableReading, check_new_folder, save_reading
from pbgnet.cli.given_tables import GivenTables
from pbgnet.cli.label_columns import targets_of
from pbgnet.cli.stages import Stages
from pbgnet.cli.tables import check_column, check_finite, some
from pbgnet.cli.tested import measure_test_set
from pbgnet.exceptions import LabelError, OptionError
from pbgnet.memory import release_free_memory
from pbgnet.stages import listening

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from pbgnet.certificates import CertifiedModel, CertifiedPredictions, SplitRecord
    from pbgnet.preprocessing import TablePreprocessor
    from pbgnet.report import Comparison, Kept, TestSet
    from pbgnet.training import Checkpoints

FEW_CLASSES = 20
"""This many distinct labels are accepted as classes, however few rows there are."""

NOT_STORED = (
    "The folder contains the certificate and the predictions. The classifier itself is "
    "not stored, because that would require a pickle; "
)


@dataclass(frozen=True)
class Trained:
    """A model that was trained, certified and saved, and how long that took, from table to report."""

    model: "CertifiedModel | CertifiedPredictions"
    folder: Path
    report: Path
    seconds: float
    tested: "TestSet | None" = None
    compared: "Comparison | None" = None
    kept: Path | None = None

    def payload(self) -> dict[str, Any]:
        """Return everything as plain values."""
        split = self.model.split
        assert split is not None
        return {
            "model": str(self.folder),
            "report": str(self.report),
            "seconds": round(self.seconds, 3),
            "rows": {"prior": split.prior_rows.size, "certified": split.certified_rows.size},
            "classes": list(self.model.classes),
            "certificate": self.model.certificate.to_dict(),
            "test": None if self.tested is None else self.tested.payload(),
            "alternatives": None if self.compared is None else self.compared.payload(),
        }

    def show(self) -> None:
        """Print what was proved."""
        others = None if self.compared is None else self.compared.named
        show_certificate(self.model, None if self.tested is None else self.tested.counts, others)
        if not self.model.certificate.of_network:
            own = "--keep FILE writes one" if self.kept is None else f"{self.kept} is one"
            echo(f"{NOT_STORED}{own} for your own use.")
        echo(f"Model:  {self.folder}")
        echo(f"Report: {self.report}")


def train_model(
    data: GivenTables,
    reading: TableReading,
    out: Path,
    *,
    test: Path | None = None,
    overwrite: bool = False,
    models: Sequence[str] = (),
    compare: bool = False,
    keep: Path | None = None,
    groups: str | None = None,
    keep_together: str | None = None,
    checkpoint: Path | None = None,
    contact: str | None = None,
    stages: Stages,
    **parameters: Any,
) -> Trained | None:
    """Read a table, train and certify a classifier with these parameters, and save it with its report.

    Of several workers only the first writes; the others return None.

    `models` are names of other classifiers than our networks, of which cross-validation takes the best;
    `groups` is a column whose values are bounded apart, `keep_together` one whose equal values stay together.
    `contact` is whom to ask, for the report.
    The cells of a CSV come as texts, and what a column holds is decided on the prior rows; the types of
    Parquet are in its schema, which no single row can change. What is being done is told to `stages`.
    """
    start = time.perf_counter()
    check_new_folder(out, overwrite)
    stages.begin("reading")
    frame = reading.open(data, hold=bool(models) or compare)
    y = targets_of(frame, reading.targets, data.first)
    X = reading.training_features(frame)  # noqa: N806
    if len(reading.targets) == 1:
        _check_rows(y, reading.targets[0])
    check_finite(X, data.first)
    if not models:
        _check_parameters(parameters)

    from pbgnet.report import REPORT, About, Kept, render_kept
    from pbgnet.workers import joined

    reading, told = with_groups(reading, frame, X, groups)
    rule = _together(keep_together, parameters)
    with listening(stages), joined() as workers, _kept_in(checkpoint) as checkpoints:
        pipeline, model, history = _fit(X, y, reading.preprocessor(data), models, rule, told, parameters)
        workers.barrier()  # nobody leaves while another waits for an answer
    if not workers.is_first:
        return None
    stages.begin("report")
    tested = None if test is None else measure_test_set(model, test, reading, pipeline if models else None)
    compared = measure_comparison(model, X, y, data.first) if compare else None
    kept = Kept(About(data.title, contact), history, tested, compared)
    # The table is the one of the fit: to look through all of it once more would take its time.
    page = render_kept(model, kept, X, y, check_table=False)
    save_folder(out, model, reading, kept, page, overwrite=overwrite)
    if keep is not None:
        keep_classifier(pipeline, keep, overwrite)
    if checkpoints is not None:
        checkpoints.remove()
    stages.end()
    return Trained(model, out, out / REPORT, time.perf_counter() - start, tested, compared, keep)


def _kept_in(folder: Path | None) -> AbstractContextManager["Checkpoints | None"]:
    """Return a context that saves the progress of training in a folder, if there is one."""
    if folder is None:
        return nullcontext()
    from pbgnet.training import checkpointing

    return checkpointing(folder, remove=False)


def _fit(
    X: Any,  # noqa: N803
    y: Any,
    preprocessor: "TablePreprocessor",
    models: Sequence[str],
    prior_rows: "SplitRecord | None",
    groups: Any,
    parameters: dict[str, Any],
) -> tuple[Any, Any, list[dict[str, Any]]]:
    """Fit a network or other classifiers; return the pipeline, what is certified, and the history."""
    from pbgnet.estimators import (
        HeldOutPipeline,
        PBGNetClassifier,
        PBGNetMultilabelClassifier,
        make_certified_pipeline,
    )

    if models:
        listed = models[0] if len(models) == 1 else list(models)
        others = HeldOutPipeline(listed, preprocessor=preprocessor, **parameters)
        others.fit(X, y, prior_rows=prior_rows, groups=groups)
        return others, others.certified_predictions_, []
    kind = PBGNetMultilabelClassifier if y.ndim == 2 else PBGNetClassifier
    classifier = kind(**parameters)
    pipeline: Any = make_certified_pipeline(classifier, preprocessor=preprocessor)
    pipeline.fit(X, y, prior_rows=prior_rows, groups=groups)
    release_free_memory()
    return pipeline, pipeline.certified_model_, pipeline.history_


def save_folder(
    out: Path,
    certified: "CertifiedModel | CertifiedPredictions",
    reading: TableReading,
    kept: "Kept",
    page: str,
    *,
    overwrite: bool,
) -> None:
    """Save what was certified, how its table was read and its report: all take their place together."""
    from pbgnet.certificates import CERTIFICATE, FOLDER_FILES, write_certified
    from pbgnet.files import replace_folder, write_whole
    from pbgnet.report import REPORT

    with replace_folder(out, overwrite=overwrite, marker=CERTIFICATE, ours=FOLDER_FILES) as fresh:
        write_certified(certified, fresh)
        save_reading(fresh, reading, certified)
        kept.write(fresh)
        write_whole(fresh / REPORT, page)


def with_groups(
    reading: TableReading,
    frame: Any,
    X: Any,  # noqa: N803
    column: str | None,
) -> tuple[TableReading, Any]:
    """Return how the table is read, and the groups: a feature by its name, another column row by row."""
    if column is None:
        return reading, None
    check_column("group", column, frame.columns)
    if column in reading.targets:
        raise OptionError(
            f"The column of --groups, {column!r}, is the target; to bound each class, use "
            "--class-conditional."
        )
    if column in X.columns:
        return reading, column
    return replace(reading, groups=column), frame[column]


def _together(column: str | None, parameters: dict[str, Any]) -> "SplitRecord | None":
    """Return the rule that keeps rows with the same value of a column together, if there is one."""
    from pbgnet.certificates import by_hash_of

    return by_hash_of(column, parameters["prior_fraction"], parameters["random_state"]) if column else None


def check_classes(y: "NDArray[Any]", target: str) -> list[Any]:
    """Return the classes of labels; raise unless there are two or more, and these read like classes."""
    from pbgnet.certificates import distinct_labels

    classes = list(distinct_labels(y)[0])
    if len(classes) == 1:
        raise LabelError(
            f"Column {target!r} contains only one class, {classes[0]!r}; at least two are needed."
        )
    listed = some(sorted(classes, key=str), 4)
    if y.dtype.kind == "f":
        raise LabelError(
            f"Column {target!r} contains numbers with decimals ({listed}), which look like a "
            "quantity, not classes; use words or whole numbers as classes."
        )
    return classes


def _check_rows(y: "NDArray[Any]", target: str) -> None:
    """Raise unless there are rows of two classes or more, enough of each to learn from."""
    classes = check_classes(y, target)
    listed = some(sorted(classes, key=str), 4)
    if len(classes) > max(FEW_CLASSES, y.size // 2):
        raise LabelError(
            f"Column {target!r} has {len(classes)} classes in {y.size} rows ({listed}): most have "
            "a single row to learn from. It looks like a quantity or a name; choose another "
            "--target, or make a column with fewer classes."
        )


def _check_parameters(parameters: dict[str, Any]) -> None:
    """Raise an error for values that would otherwise fail after minutes of work."""
    import torch

    from pbgnet.certificates import check_selection
    from pbgnet.choices import ALGORITHMS, CERTIFICATES, CODES
    from pbgnet.validation import check_name

    name = parameters.get("algorithm", "ensemble")
    known = [known for known in ALGORITHMS if known != "mlp"]
    if name == "mlp":
        raise OptionError(
            f"The algorithm {name!r} gives no certificate to save; choose one of {', '.join(known)}."
        )
    check_name("algorithm", name, known)
    if parameters.get("class_weight") is not None:
        check_name("class_weight", parameters["class_weight"], ["balanced"])
    check_name("prior_training", parameters.get("prior_training", "auto"), ["auto", "paper", "thorough"])
    check_name("code", parameters.get("code", "auto"), ["auto", *CODES])
    check_name("certificate", parameters.get("certificate", "auto"), CERTIFICATES)
    for option in ("confidence", "prior_fraction"):
        if not 0 < parameters.get(option, 0.5) < 1:
            shown = f"--{option.replace('_', '-')}"
            raise OptionError(
                f"{shown} must be between 0 and 1, for example 0.5 or 0.95; got {parameters[option]:g}."
            )
    check_selection(parameters.get("max_error"), parameters.get("coverage"), ("--max-error", "--coverage"))
    device = parameters.get("device", "auto")
    if device != "auto" and not (
        device == "cpu" or (device.startswith("cuda") and torch.cuda.is_available())
    ):
        raise OptionError(f"The device {device!r} is not available; choose auto or cpu.")
