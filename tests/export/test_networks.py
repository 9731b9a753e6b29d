"""An exported file computes what the network computes."""

import math

import numpy as np
import onnx
import pytest
import torch
from scipy import special

from pbgnet.aggregation import Fourier
from pbgnet.certificates import fingerprint_tensors
from pbgnet.export import OnnxClassifier, export_onnx
from pbgnet.export.layers import GROUP
from pbgnet.networks import AggregatedNetwork, SignNetwork

HIDDEN = [(), (1,), (3,), (GROUP,), (2 * GROUP + 1,), (7, 5), (4, 1, 6)]


def exact(network, rows):
    with torch.no_grad():
        return network(torch.as_tensor(rows, dtype=network.weights[0].dtype)).numpy()


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("hidden", HIDDEN, ids=str)
@pytest.mark.parametrize("scale", [0.1, 1.0, 40.0])  # the last saturates most neurons
def test_the_aggregate_agrees(ship, hidden, intercept, scale, make_network, make_rows):
    network = make_network(6, hidden, intercept=intercept, scale=scale)
    rows = np.concatenate([make_rows(30), make_rows(30, scale=1e-3), make_rows(30, scale=1e200)])
    found = ship(network).decision_function(rows)
    assert np.abs(found - exact(network, rows)).max() < 1e-9
    rows = rows[:60]  # 1e200 is no number in float32
    single = ship(network, dtype="float32").decision_function(rows)
    assert np.abs(single - exact(network, rows)).max() < 2e-5
    assert max(np.abs(found).max(), np.abs(single).max()) <= 1.0


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("hidden", HIDDEN, ids=str)
def test_the_sign_network_agrees(ship, hidden, intercept, make_network, make_rows):
    network = make_network(6, hidden, intercept=intercept)
    rows = make_rows(400)
    found = ship(network, "sign").decision_function(rows)
    assert set(found) <= {-1.0, 1.0}
    assert len(set(found)) == 2 or 1 in hidden  # one neuron may be constant
    assert (found == exact(network.sign_network(), rows)).all()
    assert (ship(network.sign_network(), "sign").predict(rows) == found).all()


def test_a_wide_network_agrees(ship, make_network, make_rows):
    network = make_network(50, (33, 20), scale=0.7)
    rows = make_rows(40, 50)
    assert np.abs(ship(network).decision_function(rows) - exact(network, rows)).max() < 1e-9


def test_it_is_within_the_proved_error_of_the_exact_layer(ship, make_network, make_rows):
    network = make_network(3, (9,), intercept=False)
    rows = make_rows(50, 3)
    enumerated = AggregatedNetwork(list(network.weights), intercept=False, aggregation="enumeration")
    error = float(Fourier().error_bound(network.weights[1].detach()).max())
    assert np.abs(ship(network).decision_function(rows) - exact(enumerated, rows)).max() < 2 * error


def test_erf_of_the_first_layer_is_exact_over_its_whole_range(ship):
    slopes = np.concatenate([np.linspace(-12, 12, 4001), [8.4999, 8.5001, 1e-12, -1e-12, 1e6, -1e6]])
    # One weight w and the constant: rows (x, 1) / length times (w, 0); x large makes the argument w.
    for slope in slopes[::400].tolist() + slopes[-6:].tolist():
        network = AggregatedNetwork([torch.tensor([[slope]], dtype=torch.float64)], intercept=False)
        found = ship(network).decision_function(np.array([[2.0], [-3.0]]))
        assert np.abs(found - special.erf(np.array([slope, -slope]) / math.sqrt(2))).max() < 4e-15
        assert found[0] == -found[1]


@pytest.mark.parametrize("kind", ["sign", "aggregate"])
@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("intercept", [True, False])
def test_ties_go_to_the_first_class(ship, kind, dtype, intercept, make_network, make_rows):
    network = make_network(2, (3, 4), intercept=intercept)
    weights = [weight.detach() for weight in network.weights]
    network = AggregatedNetwork([*weights[:-1], torch.zeros_like(weights[-1])], intercept=intercept)
    classifier, rows = ship(network, kind, dtype=dtype), make_rows(20, 2)
    assert classifier.decision_function(rows).tolist() == [-1.0 if kind == "sign" else 0.0] * 20
    assert classifier.predict(rows).tolist() == [-1] * 20
    assert classifier._session.run(["label"], {"x": rows.astype(dtype)})[0].tolist() == [-1] * 20


def test_a_hidden_neuron_at_0_is_minus_1(ship):
    weights = [torch.tensor([[1.0, -1.0]]), torch.tensor([[-1.0]])]
    network = SignNetwork(weights, intercept=False)
    rows = np.array([[1.0, 1.0], [2.0, 1.0], [1.0, 2.0]])  # the first has the pre-activation 0
    assert ship(network, "sign").decision_function(rows).tolist() == [1.0, -1.0, 1.0]
    assert network(torch.tensor(rows, dtype=torch.float32)).tolist() == [1.0, -1.0, 1.0]


@pytest.mark.parametrize("kind", ["sign", "aggregate"])
@pytest.mark.parametrize("n", [0, 1, 5000])
def test_any_number_of_rows(ship, kind, n, make_network, make_rows):
    network = make_network(3, (5, 4))
    rows = make_rows(n, 3)
    expected = network if kind == "aggregate" else network.sign_network()
    found = ship(network, kind).decision_function(rows)
    assert found.shape == (n,)
    assert np.allclose(found, exact(expected, rows), rtol=0, atol=1e-9)


@pytest.mark.parametrize("kind", ["sign", "aggregate"])
@pytest.mark.parametrize("n", [0, 1, 7])
def test_the_bare_runtime_answers_the_same(ship, kind, n, make_network, make_rows):
    classifier = ship(make_network(3, (5,)), kind)
    rows = make_rows(n, 3)
    decision, label = classifier._session.run(None, {"x": rows})
    assert (decision == classifier.decision_function(rows)).all()
    assert label.dtype == np.int64
    assert (label == classifier.predict(rows)).all()


@pytest.mark.parametrize("opset", [19, 20, 21, 22])
def test_every_version_of_the_operators_can_be_asked_for(ship, tmp_path, opset, make_network, make_rows):
    network = make_network(3, (5,))
    rows = make_rows(20, 3)
    found = ship(network, opset=opset).decision_function(rows)
    assert np.allclose(found, exact(network, rows), rtol=0, atol=1e-9)
    assert onnx.load(tmp_path / "aggregate.onnx").opset_import[0].version == opset


@pytest.mark.parametrize("kind", ["sign", "aggregate"])
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_the_file_is_valid_and_holds_the_weights_once(tmp_path, kind, dtype, make_network):
    network = make_network(300, (40,))
    path = export_onnx(network, tmp_path / "n.onnx", network=kind, dtype=dtype)
    model = onnx.load(path)
    onnx.checker.check_model(model, full_check=True)
    stored = {tensor.name: onnx.numpy_helper.to_array(tensor) for tensor in model.graph.initializer}
    weights = [torch.from_numpy(stored[f"weight_{k}"].copy()) for k in range(2)]
    metadata = {entry.key: entry.value for entry in model.metadata_props}
    assert metadata["weights_fingerprint"] == fingerprint_tensors(weights)
    assert all(str(weight.dtype) == f"torch.{dtype}" for weight in weights)
    given = [weight.to(getattr(torch, dtype)) for weight in network.weights]
    assert fingerprint_tensors(weights) == fingerprint_tensors(given)
    assert path.stat().st_size < sum(weight.nbytes for weight in weights) + 20_000
    assert {node.op_type for node in model.graph.node} & {"Sign", "Loop", "Scan"} == set()


def test_more_threads_change_nothing(tmp_path, make_network, make_rows):
    network, rows = make_network(20, (11, 6)), make_rows(300, 20)
    path = export_onnx(network, tmp_path / "n.onnx", network="aggregate")
    one, two = (OnnxClassifier(path, n_threads=k).decision_function(rows) for k in (1, 2))
    assert np.abs(one - two).max() < 1e-12


def test_float32_networks_and_other_aggregations_are_exported_as_they_are_certified(
    ship, make_network, make_rows
):
    network = make_network(4, (5,))
    sampled = AggregatedNetwork(list(network.weights), aggregation="enumeration").float()
    rows = make_rows(30, 4)
    assert np.abs(ship(sampled).decision_function(rows) - exact(network.float().double(), rows)).max() < 1e-9


def test_a_network_without_a_certificate_says_so(ship, make_network):
    assert ship(make_network(2, ()), network="sign").metadata.covers.startswith("There is no certificate")
