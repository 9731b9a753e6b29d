"""From a table in a file to a certified model in a folder."""

import time
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pbgnet.cli.console import echo, show_certificate
from pbgnet.cli.folder import TableReading, check_new_folder, save_reading, save_record
from pbgnet.cli.tables import check_finite, is_csv, labels, read_table
from pbgnet.cli.tested import TEST_SCHEMA, TEST_SET, Tested, measure_test_set
from pbgnet.exceptions import LabelError, OptionError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from pbgnet.certificates import CertifiedModel

REPORT = "report.html"


@dataclass(frozen=True)
class Trained:
    """A model that was trained, certified and saved, and how long that took, from table to report."""

    model: "CertifiedModel"
    folder: Path
    report: Path
    seconds: float
    tested: Tested | None = None

    def payload(self) -> dict[str, Any]:
        """Return everything for machines."""
        return {
            "model": str(self.folder),
            "report": str(self.report),
            "seconds": round(self.seconds, 3),
            "rows": {"prior": self.model.prior_rows.size, "certified": self.model.certified_rows.size},
            "classes": list(self.model.classes),
            "certificate": self.model.certificate.to_dict(),
            "test": None if self.tested is None else self.tested.payload(),
        }

    def show(self) -> None:
        """Print what was proved."""
        show_certificate(self.model, None if self.tested is None else self.tested.counts)
        echo(f"Model:  {self.folder}")
        echo(f"Report: {self.report}")


def train_model(
    data: Path,
    reading: TableReading,
    out: Path,
    *,
    test: Path | None = None,
    overwrite: bool = False,
    **parameters: Any,
) -> Trained:
    """Read a table, train and certify a classifier with these parameters, and save it with its report.

    The cells of a CSV come as texts, and what a column holds is decided on the prior rows; the types of
    Parquet are in its schema, which no single row can change.
    """
    start = time.perf_counter()
    check_new_folder(out, overwrite)
    frame = read_table(data, reading.missing)
    assert reading.target is not None
    y = labels(frame, reading.target, data)
    X = reading.training_features(frame)  # noqa: N806
    _check_rows(y, reading.target)
    check_finite(X, data)
    _check_parameters(parameters)

    from pbgnet.certificates import CERTIFICATE, FOLDER_FILES, write_model
    from pbgnet.estimators import PBGNetClassifier, make_certified_pipeline
    from pbgnet.files import replace_folder, write_whole
    from pbgnet.preprocessing import TablePreprocessor
    from pbgnet.report import render_report

    preprocessor = TablePreprocessor(parse_numbers=is_csv(data))
    pipeline = make_certified_pipeline(PBGNetClassifier(**parameters), preprocessor=preprocessor).fit(X, y)
    model = pipeline.certified_model_
    assert model is not None
    tested = None if test is None else measure_test_set(model, test, reading)
    page = render_report(model, pipeline.history_, X, y, tested=None if tested is None else tested.counts)
    # Model, reading and report take their place together.
    with replace_folder(out, overwrite=overwrite, marker=CERTIFICATE, ours=FOLDER_FILES) as fresh:
        write_model(model, fresh)
        save_reading(fresh, reading, model)
        if tested is not None:
            save_record(fresh / TEST_SET, TEST_SCHEMA, tested)
        write_whole(fresh / REPORT, page)
    return Trained(model, out, out / REPORT, time.perf_counter() - start, tested)


def _check_rows(y: "NDArray[Any]", target: str) -> None:
    """Raise unless there are rows of two classes."""
    counts = Counter(y.tolist())
    if len(counts) == 1:
        raise LabelError(
            f"Column {target!r} holds one class only, {next(iter(counts))!r}; two are needed to learn from."
        )
    if len(counts) > 2:
        common = counts.most_common(4)
        listed = ", ".join(f"{value!r} ({count} rows)" for value, count in common)
        more = f" and {len(counts) - 4} more" if len(counts) > 4 else ""
        raise LabelError(
            f"Column {target!r} holds {len(counts)} classes: {listed}{more}. pbgnet tells two classes apart: "
            f"keep the rows of two, or make a column that says whether it is {common[0][0]!r} or not, and "
            "use that as the target."
        )
    if y.dtype.kind == "f":
        raise LabelError(
            f"Column {target!r} holds numbers with decimals ({', '.join(map(str, sorted(counts)))}), which "
            "read like a quantity; name the two classes by words or whole numbers."
        )


def _check_parameters(parameters: dict[str, Any]) -> None:
    """Raise for values that would fail only after minutes of work."""
    import torch

    from pbgnet.choices import CERTIFICATES
    from pbgnet.training import ALGORITHMS as REGISTRY
    from pbgnet.validation import check_name

    name = parameters.get("algorithm", "pbgnet_pre")
    known = [known for known, algorithm in REGISTRY.items() if algorithm.certified]
    if name in REGISTRY and name not in known:
        raise OptionError(
            f"The algorithm {name!r} has no certificate to save; choose one of {', '.join(known)}."
        )
    check_name("algorithm", name, known)
    check_name("certificate", parameters.get("certificate", "auto"), CERTIFICATES)
    for option in ("confidence", "prior_fraction"):
        if not 0 < parameters.get(option, 0.5) < 1:
            shown = f"--{option.replace('_', '-')}"
            raise OptionError(
                f"{shown} must lie between 0 and 1, e.g. 0.5 or 0.95; got {parameters[option]:g}."
            )
    device = parameters.get("device", "auto")
    if device != "auto" and not (
        device == "cpu" or (device.startswith("cuda") and torch.cuda.is_available())
    ):
        raise OptionError(f"The device {device!r} is not there; choose auto or cpu.")
