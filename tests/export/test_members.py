"""A network with members: one file holds all of them, and answers with their mean."""

import numpy as np
import onnx
import pytest
import torch

from pbgnet.certificates import (
    certify_by_disagreement,
    fingerprint_tensors,
    load_model,
    save_model,
    verify,
)
from pbgnet.exceptions import ShapeError
from pbgnet.export import OnnxClassifier, export_onnx
from pbgnet.export.layers import GROUP
from pbgnet.networks import AggregatedNetwork

HIDDEN = [(), (1,), (GROUP + 1,), (7, 5)]


def exact(network, rows):
    """The mean of the members' own answers, one network after the other."""
    weights = [weight.detach() for weight in network.weights]
    intercept = network.architecture.intercept
    members = [
        AggregatedNetwork([weight[k] for weight in weights], intercept=intercept)
        for k in range(network.architecture.n_members)
    ]
    x = torch.as_tensor(rows)
    with torch.no_grad():
        means = np.mean([member(x).numpy() for member in members], axis=0)
        signs = np.mean([member.sign_network()(x).numpy() for member in members], axis=0)
    return means, signs


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("hidden", HIDDEN, ids=str)
@pytest.mark.parametrize("n_members", [1, 2, 5])
def test_both_files_answer_with_the_mean(ship, make_network, make_rows, hidden, intercept, n_members):
    network = make_network(6, hidden, intercept=intercept, n_members=n_members)
    rows = make_rows(60)
    means, signs = exact(network, rows)
    shipped = ship(network)
    found = shipped.decision_function(rows)
    assert np.abs(found - means).max() < 1e-9
    assert np.abs(found).max() <= 1.0
    assert (shipped.predict(rows) == np.where(found > 0, 1, -1)).all()
    single = ship(network, dtype="float32").decision_function(rows)
    assert np.abs(single - means).max() < 2e-5
    plain = ship(network, "sign")
    assert np.abs(plain.decision_function(rows) - signs).max() < 1e-15
    assert (plain.predict(rows) == np.where(signs > 0, 1, -1)).all()
    assert f"members={n_members}" in plain.metadata.architecture
    assert plain.metadata.architecture == shipped.metadata.architecture


def test_it_is_within_the_proved_error_of_the_exact_mean(ship, make_network, make_rows):
    network = make_network(3, (6,), intercept=False, n_members=3)
    enumerated = AggregatedNetwork(
        list(network.weights), intercept=False, aggregation="enumeration", members=True
    )
    rows = make_rows(50, 3)
    with torch.no_grad():
        expected = enumerated(torch.from_numpy(rows)).numpy()
    error = float(network.error_bound())
    assert 0 < error < 1e-9
    assert np.abs(ship(network).decision_function(rows) - expected).max() < 2 * error


@pytest.mark.parametrize("kind", ["sign", "aggregate"])
def test_a_tie_between_members_goes_to_the_first_class(ship, make_network, make_rows, kind):
    weights = [weight.detach() for weight in make_network(3, ()).weights]
    against = AggregatedNetwork([torch.stack([weight, -weight]) for weight in weights], members=True)
    shipped = ship(against, kind)
    assert shipped.decision_function(make_rows(9, 3)).tolist() == [0.0] * 9
    assert shipped.predict(make_rows(9, 3)).tolist() == [-1] * 9


@pytest.mark.parametrize("kind", ["sign", "aggregate"])
@pytest.mark.parametrize("n", [0, 1, 3000])
def test_any_number_of_rows(ship, make_network, make_rows, kind, n):
    network = make_network(3, (5, 4), n_members=3)
    rows = make_rows(n, 3)
    found = ship(network, kind).decision_function(rows)
    assert found.shape == (n,)
    assert np.allclose(found, exact(network, rows)[kind == "sign"], rtol=0, atol=1e-9)


@pytest.mark.parametrize("kind", ["sign", "aggregate"])
def test_the_file_holds_the_weights_once_and_no_branch_per_member(tmp_path, make_network, kind):
    models = {}
    for n_members in (None, 8):
        network = make_network(100, (20,), n_members=n_members, scale=0.05)
        path = export_onnx(network, tmp_path / f"{n_members}.onnx", network=kind)
        models[n_members] = onnx.load(path)
        n_bytes = sum(weight.nbytes for weight in network.weights)
        assert path.stat().st_size < n_bytes + 20_000
    stored = {t.name: onnx.numpy_helper.to_array(t) for t in models[8].graph.initializer}
    weights = [torch.from_numpy(stored[f"weight_{k}"].copy()) for k in range(2)]
    assert fingerprint_tensors(weights) == fingerprint_tensors(list(network.weights))
    assert len(models[8].graph.node) <= len(models[None].graph.node)


def test_memory_is_bounded_for_all_members_together(ship, make_network):
    one, five = (ship(make_network(6, (40,), n_members=n, scale=0.1)) for n in (1, 5))
    assert five.metadata.workspace >= 5 * one.metadata.workspace


def test_sign_networks_side_by_side_are_not_taken_for_members(tmp_path, make_network):
    with pytest.raises(ShapeError, match=r"replica axes \(2,\)"):
        export_onnx(make_network(n_members=2).sign_network(), tmp_path / "n.onnx")
    assert not (tmp_path / "n.onnx").exists()


def test_a_model_with_members_is_exported_with_its_certificate(ship, tmp_path, make_model, make_rows):
    model, fresh = make_model(n_members=3), make_rows(300, seed=9)
    shipped = ship(model)
    assert shipped.metadata.seal == model.certificate.seal
    assert shipped.metadata.weights_fingerprint == model.certificate.network.posterior_weights
    assert (shipped.predict(fresh) == model.predict(fresh)).all()
    assert certify_by_disagreement(model, shipped, fresh).certificate.inputs.n_errors == 0
    save_model(model, tmp_path / "model")
    one = export_onnx(model, tmp_path / "one.onnx", network="aggregate")
    two = export_onnx(load_model(tmp_path / "model"), tmp_path / "two.onnx", network="aggregate")
    assert one.read_bytes() == two.read_bytes()


def test_the_mean_of_sign_networks_is_certified_through_disagreement(ship, tmp_path, make_model, make_rows):
    model, fresh = make_model(n_members=3), make_rows(400, seed=9)
    shipped = ship(model, "sign")
    counted = certify_by_disagreement(model, shipped, fresh)
    n_different = int((shipped.predict(fresh) != model.predict(fresh)).sum())
    assert 0 < n_different < 400
    assert counted.certificate.inputs.n_errors == n_different
    path = export_onnx(model, tmp_path / "n.onnx", network="sign", certificate=counted.certificate)
    again = OnnxClassifier(path)
    assert again.metadata.seal == counted.certificate.seal
    assert again.metadata.covers.startswith("The certificate covers this file")
    assert (again.predict(fresh) == shipped.predict(fresh)).all()
    folder = counted.save(tmp_path / "certified")
    assert verify(folder, fresh, model=shipped, reference=model).ok
