"""``pbgnet export``: a model as one ONNX file, to run without this package."""

from pathlib import Path
from typing import Annotated

import typer

from pbgnet.cli.console import MOST_CLASSES, echo, pairs
from pbgnet.cli.options import Debug, Json, Model, Overwrite
from pbgnet.cli.outcome import Result, command
from pbgnet.cli.tables import some


@command
def export(
    model: Model,
    to: Annotated[Path, typer.Option("--to", metavar="FILE", readable=False, help="ONNX file to write.")],
    network: Annotated[
        str,
        typer.Option(
            metavar="NAME",
            help="aggregate: the network that the certificate covers; sign: the plain sign network, "
            "which it does not cover.",
        ),
    ] = "aggregate",
    dtype: Annotated[
        str, typer.Option(metavar="TYPE", help="Number format in the file: float64 or float32.")
    ] = "float64",
    overwrite: Overwrite = False,
    as_json: Json = False,
    debug: Debug = False,
) -> Result:
    """Write a model, including its preprocessing, as an ONNX file.

    By default, the file contains the classifier that the certificate covers. The sign network (--network
    sign) is smaller and gives almost the same answers, but the certificate does not cover it.
    """
    from pbgnet.certificates import load_model
    from pbgnet.export import OnnxClassifier, export_onnx

    path = export_onnx(load_model(model), to, network=network, dtype=dtype, overwrite=overwrite)
    classifier = OnnxClassifier(path)
    record, size = classifier.metadata, path.stat().st_size

    def show() -> None:
        echo(f"{path}: the {network} network in {dtype}, {size} bytes.")
        pairs(
            (
                ("columns of x", _columns(record.numeric_columns, classifier.n_features_in_)),
                ("columns of text", _columns(record.text_columns, 0)),
                ("labels", some(record.inputs.classes.labels, MOST_CLASSES)),
                ("SHA-256", classifier.fingerprint),
            )
        )
        echo(record.statement)
        echo(record.covers)

    payload = {
        "out": str(path),
        "network": network,
        "dtype": dtype,
        "bytes": size,
        "fingerprint": classifier.fingerprint,
        "classes": list(record.inputs.classes.labels),
        "numeric_columns": record.numeric_columns,
        "text_columns": record.text_columns,
        "missing_text": record.missing_text,
        "statement": record.statement,
        "covers": record.covers,
    }
    return Result(payload, show)


def _columns(names: tuple[str, ...] | None, count: int) -> str:
    if names is None:
        return str(count)
    return f"{len(names)}: {some(list(names))}" if names else "0"
