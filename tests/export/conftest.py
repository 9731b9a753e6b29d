"""Networks, certified models and files to export them to."""

import numpy as np
import pytest
import torch

pytest.importorskip("onnx", reason="exporting needs pbgnet[onnx]")
pytest.importorskip("onnxruntime", reason="running exported files needs pbgnet[onnx]")

import onnx
import onnxruntime

from pbgnet.certificates import PriorRecord, certify_network
from pbgnet.export import OnnxClassifier, export_onnx
from pbgnet.export.graph import Graph
from pbgnet.export.table import add_preprocessing, read_table
from pbgnet.networks import AggregatedNetwork


def build_network(n_features=6, hidden=(4,), *, intercept=True, scale=1.0, seed=0, n_members=None):
    """A network of random weights; members differ in their spread, so that they need other nodes."""
    if n_members is not None:
        parts = [
            build_network(n_features, hidden, intercept=intercept, scale=scale * 2.0**k, seed=seed + k)
            for k in range(n_members)
        ]
        layers = zip(*(part.weights for part in parts), strict=True)
        weights = [torch.stack([weight.detach() for weight in layer]) for layer in layers]
        return AggregatedNetwork(weights, intercept=intercept, members=True)
    generator = torch.Generator().manual_seed(seed)
    network = AggregatedNetwork.initialise(
        n_features, hidden, intercept=intercept, generator=generator, dtype=torch.float64
    )
    noise = [torch.randn(w.shape, generator=generator, dtype=torch.float64) for w in network.weights]
    weights = [scale * (w.detach() + e) for w, e in zip(network.weights, noise, strict=True)]
    return AggregatedNetwork(weights, intercept=intercept)


def build_rows(n=60, n_features=6, seed=1, scale=1.0):
    return scale * np.random.default_rng(seed).normal(size=(n, n_features))


def build_model(classes=("no", "yes"), n_features=6, hidden=(4,), n_members=None, **options):
    """A model on rows of numbers, whose labels are the sign of the first."""
    X = build_rows(80, n_features)
    y = np.array(classes, dtype=object)[(X[:, 0] > 0).astype(int)].tolist()
    network = build_network(n_features, hidden, n_members=n_members)
    prior = PriorRecord("given", "for a test")
    return certify_network(
        network, X, y, classes=classes, prior=prior, prior_rows=[], certified_rows=range(80), **options
    )


def run_preprocessing(preprocessor, dtype, table):
    """Run the operations of the preprocessing alone."""
    graph = Graph(dtype)
    features = add_preprocessing(graph, preprocessor)
    proto = graph.finish("preprocessing")
    kind = onnx.helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
    proto.output.append(onnx.helper.make_tensor_value_info(features, kind, ["n", "d"]))
    imports = [onnx.helper.make_opsetid("", 20)]
    model = onnx.helper.make_model(proto, opset_imports=imports, ir_version=9)
    onnx.checker.check_model(model, full_check=True)
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    feed = dict(zip(("x", "text"), read_table(table, preprocessor), strict=True))
    wanted = {entry.name for entry in session.get_inputs()}
    return session.run(None, {name: part for name, part in feed.items() if name in wanted})[0]


@pytest.fixture
def preprocess():
    """Preprocess a table inside the runtime: ``preprocess(preprocessor, "float64", table)``."""
    return run_preprocessing


@pytest.fixture
def make_network():
    """Make a network of random weights: ``make_network(n_features, hidden)``."""
    return build_network


@pytest.fixture
def make_rows():
    """Draw rows of numbers: ``make_rows(n, n_features)``."""
    return build_rows


@pytest.fixture
def make_model():
    """Certify a network on rows of numbers: ``make_model(classes)``."""
    return build_model


@pytest.fixture
def ship(tmp_path):
    """Export something and load it again."""

    def make(model, network="aggregate", n_threads=1, **options):
        path = tmp_path / f"{network}.onnx"
        return OnnxClassifier(
            export_onnx(model, path, network=network, overwrite=True, **options), n_threads=n_threads
        )

    return make
