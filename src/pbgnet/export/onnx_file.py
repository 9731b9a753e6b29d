"""Write a network as one ONNX file: table or rows in, decision and label out, and what is proved."""

import os
from pathlib import Path

import numpy as np
import torch

import pbgnet
from pbgnet.certificates import (
    Certificate,
    CertifiedModel,
    Classes,
    DisagreementSubject,
    ExportedNetwork,
    Inputs,
    certifiable,
    fingerprint_tensors,
)
from pbgnet.exceptions import DomainError, DtypeError, OptionError, OutputExistsError, ShapeError
from pbgnet.export.dependency import import_onnx
from pbgnet.export.graph import Graph, check_opset
from pbgnet.export.layers import add_network, workspace_per_row
from pbgnet.export.metadata import Metadata, coverage, seal_file
from pbgnet.export.table import (
    add_preprocessing,
    missing_text,
    numeric_columns,
    preprocessing_per_row,
    text_columns,
)
from pbgnet.files import as_path, write_whole
from pbgnet.networks import AggregatedNetwork, LabelCode, SignNetwork
from pbgnet.validation import check_finite, check_kind, check_name

NETWORKS = ("sign", "aggregate")
DTYPES = {"float32": torch.float32, "float64": torch.float64}
DEFAULT_OPSET = 20


def export_onnx(
    model: CertifiedModel | AggregatedNetwork | SignNetwork,
    path: str | os.PathLike[str],
    *,
    network: str | None = None,
    dtype: str = "float64",
    opset: int = DEFAULT_OPSET,
    certificate: Certificate | None = None,
    overwrite: bool = False,
) -> Path:
    """Write a network as an ONNX file that runs without this package.

    Parameters
    ----------
    model : CertifiedModel, AggregatedNetwork or SignNetwork
        A certified model includes its classes, its preprocessing and its certificate. A plain network reads
        rows of numbers and answers with the labels -1 and 1.
    path : path
    network : {"aggregate", "sign"}, optional
        The aggregate G as a Fourier sum, whose sign is the certified vote; or the plain sign network, which
        the certificate does not cover. Default: the aggregate, or the network itself if `model` is a
        `SignNetwork`. For an ensemble, the mean over its members.
    dtype : {"float64", "float32"}, default="float64"
        Precision of the file and of its input; the numbers of a table are always read in float64.
    opset : int, default=20
        Version of the ONNX operator set.
    certificate : Certificate, optional
        The result of `pbgnet.certify_by_disagreement` for the `OnnxClassifier` of the same network in the
        same precision, exported before. It replaces the certificate of the vote.
    overwrite : bool, default=False
        Whether to replace an existing file.

    Returns
    -------
    Path

    Raises
    ------
    MissingOnnxError
        If the optional extra ``pbgnet[onnx]`` is not installed.
    UnknownNameError, OptionError, DomainError, DtypeError, ShapeError
        If the model cannot be exported this way, or the certificate belongs to another network.
    UncertifiedError
        If a certified model does not match its certificate.
    OutputExistsError
        If the file already exists.

    Notes
    -----
    The certificate covers the vote, and therefore the labels of an exported aggregate. It does not cover the
    sign network, but `pbgnet.certify_by_disagreement` can certify that through its disagreement with the
    vote.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> import numpy as np, torch
    >>> from pbgnet.export import OnnxClassifier, export_onnx
    >>> from pbgnet.networks import SignNetwork
    >>> f = SignNetwork([torch.tensor([[1.0, -1.0]])], intercept=False)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     classifier = OnnxClassifier(export_onnx(f, pathlib.Path(folder) / "f.onnx"))
    >>> classifier.predict(np.array([[2.0, 1.0], [1.0, 2.0]]))
    array([ 1, -1])
    """
    if network is None:
        network = "sign" if isinstance(model, SignNetwork) else "aggregate"
    check_name("network", network, NETWORKS)
    check_name("dtype", dtype, DTYPES)
    check_opset(opset)
    proof = _check_certificate(model, certificate)
    check_kind("overwrite", overwrite, bool)
    target = as_path(path)
    if target.is_dir():
        raise OutputExistsError(f"{target} is a folder; pass the name of a file.")
    if target.exists() and not overwrite:
        raise OutputExistsError(f"{target} exists already; choose another name, or pass overwrite=True.")
    inputs = model.inputs if isinstance(model, CertifiedModel) else Inputs(Classes((-1, 1)))
    source = _source(model, network)
    inputs.check_size(source.architecture.n_features, source.architecture.n_outputs)
    written = _written(source, network, dtype)
    metadata = _describe(proof, network, dtype, written, inputs, str(source.architecture))
    if certificate is not None:
        _check_counted(certificate, metadata.exported_network)
    try:
        content = _assemble(_draw(written, inputs, dtype), metadata, opset)
    except UnicodeEncodeError as error:
        raise DomainError(
            f"A class, column or category contains text that an ONNX file cannot store: {error}. Rename it."
        ) from error
    return write_whole(target, seal_file(content))


def _draw(written: AggregatedNetwork | SignNetwork, inputs: Inputs, dtype: str) -> Graph:
    """Return the operations from a table or rows to decision and label."""
    graph = Graph(dtype)
    if inputs.preprocessor is None:
        x = graph.input("x", written.architecture.n_features)
    else:
        x = add_preprocessing(graph, inputs.preprocessor)
    _add_outputs(graph, add_network(graph, x, written), inputs)
    return graph


def _source(model: object, network: str) -> AggregatedNetwork | SignNetwork:
    """Return the network to export, on the CPU, and in float64 if it is an aggregate."""
    found: object = model.network if isinstance(model, CertifiedModel) else model
    return certifiable(found) if isinstance(found, AggregatedNetwork) else _check_sign_network(found, network)


def _written(
    source: AggregatedNetwork | SignNetwork, network: str, dtype: str
) -> AggregatedNetwork | SignNetwork:
    """Return the network to write: float64 on the CPU, its weights rounded to the precision of the file."""
    weights = [weight.detach().cpu().to(DTYPES[dtype]).double() for weight in source.weights]
    for k, weight in enumerate(weights):
        check_finite(f"weights[{k}]", weight, f"The network cannot be exported in {dtype}.")
    sizes = source.architecture
    if network == "sign":
        return SignNetwork(weights, intercept=sizes.intercept, patches=sizes.patches)
    return AggregatedNetwork(
        weights,
        intercept=sizes.intercept,
        members=sizes.n_members is not None,
        patches=sizes.patches,
    )


def _check_sign_network(model: object, network: str) -> SignNetwork:
    """Return the model if it is a sign network, and is to be exported as one."""
    if not isinstance(model, SignNetwork):
        raise DtypeError(
            "Expected a CertifiedModel, an AggregatedNetwork or a SignNetwork, got "
            f"{type(model).__name__}; for a fitted estimator, export its certified_model_."
        )
    if network != "sign":
        raise OptionError(
            "A SignNetwork has no aggregate; export the AggregatedNetwork, or pass network='sign'."
        )
    if model.architecture.replicas:
        raise ShapeError(
            f"The network has replica axes {model.architecture.replicas}; export one network at a time."
        )
    return model


def _add_outputs(graph: Graph, decision: str, inputs: Inputs) -> None:
    """Add what the network returns, the scores of classes if it has several outputs, and the label.

    Several labels are 0 and 1, one column for each.
    """
    labels, code = inputs.classes.array, inputs.code
    graph.output("decision", decision, n_columns=None if code.n_outputs == 1 else code.n_outputs)
    if isinstance(code, LabelCode):
        above = graph.op("Greater", decision, graph.constant(0.0))
        each = graph.op("Cast", above, to=import_onnx().TensorProto.INT64)
        graph.output("label", each, np.dtype(np.int64), n_columns=code.n_labels)
        return
    if code.n_outputs == 1:
        above = graph.op("Greater", decision, graph.constant(0.0))
        # The code says which class a positive output means.
        labels = labels[np.argsort(code.matrix[:, 0])]
        place = graph.op("Cast", above, to=import_onnx().TensorProto.INT64)
    else:
        scores = graph.op("MatMul", decision, graph.constant(code.matrix.T / code.n_outputs, "code"))
        graph.output("scores", scores, n_columns=code.n_classes)
        place = graph.op("ArgMax", scores, axis=1, keepdims=0)
    graph.output("label", graph.op("Gather", graph.store(labels, "classes"), place), labels.dtype)


def _check_certificate(model: object, certificate: Certificate | None) -> Certificate | None:
    """Return the certificate to write; one about the file itself must refer to the model's."""
    own = None
    if isinstance(model, CertifiedModel):
        model.require_own_certificate()
        own = model.certificate
    if certificate is None:
        return own
    check_kind("certificate", certificate, Certificate)
    subject = certificate.subject
    if own is None or not isinstance(subject, DisagreementSubject) or subject.reference.seal != own.seal:
        raise OptionError(
            "certificate must come from certify_by_disagreement with the vote of this same "
            "model; without it, the file carries the certificate of the model."
        )
    return certificate


def _check_counted(certificate: Certificate, written: ExportedNetwork) -> None:
    """Raise an error unless the certificate counted the answers of the network that is written."""
    subject = certificate.subject
    counted = subject.exported if isinstance(subject, DisagreementSubject) else None
    if counted is None:
        raise OptionError(
            "The certificate does not record which classifier was counted; pass the "
            "OnnxClassifier of the file to certify_by_disagreement, not a function."
        )
    if counted != written.fingerprint():
        raise OptionError(
            f"The certificate belongs to another classifier, not to the {written.network} network "
            f"of this model in {written.dtype}; count the disagreements of this classifier, or "
            "export the one that was counted."
        )


def _describe(
    certificate: Certificate | None,
    network: str,
    dtype: str,
    written: AggregatedNetwork | SignNetwork,
    inputs: Inputs,
    architecture: str,
) -> Metadata:
    table = inputs.preprocessor
    workspace = workspace_per_row(written, DTYPES[dtype])
    return Metadata(
        network=network,
        dtype=dtype,
        architecture=architecture,
        inputs=inputs,
        numeric_columns=None if table is None else tuple(column.name for column in numeric_columns(table)),
        text_columns=None if table is None else tuple(column.name for column in text_columns(table)),
        missing_text=None if table is None else missing_text(table),
        workspace=workspace if table is None else max(workspace, preprocessing_per_row(table)),
        weights_fingerprint=fingerprint_tensors(list(written.weights)),
        covers=coverage(network, certificate),
        statement="" if certificate is None else certificate.statement,
        seal="" if certificate is None else certificate.seal,
        certificate="" if certificate is None else certificate.to_json(),
    )


def _assemble(graph: Graph, metadata: Metadata, opset: int) -> bytes:
    onnx = import_onnx()
    imports = [onnx.helper.make_opsetid("", opset)]
    proto = onnx.helper.make_model(
        graph.finish(f"pbgnet_{metadata.network}"),
        opset_imports=imports,
        ir_version=onnx.helper.find_min_ir_version_for(imports),
        producer_name="pbgnet",
        producer_version=pbgnet.__version__,
        doc_string=f"{metadata.statement} {metadata.covers}".strip(),
    )
    onnx.helper.set_model_props(proto, metadata.to_texts())
    onnx.checker.check_model(proto, full_check=True)
    content: bytes = proto.SerializeToString(deterministic=True)
    return content
