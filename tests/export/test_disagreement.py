"""An exported network is certified like any other classifier, and through its disagreement with the vote."""

import dataclasses

import numpy as np
import onnx
import pytest

from pbgnet.certificates import (
    Certificate,
    certify,
    certify_by_disagreement,
    load_predictions,
    verify,
)
from pbgnet.certificates.format.version1_words import EXPORTED
from pbgnet.exceptions import OptionError, UncertifiedError
from pbgnet.export import export_onnx


def test_the_sign_network_is_certified_through_disagreement(ship, tmp_path, make_model, make_rows):
    model, fresh = make_model(), make_rows(400, seed=9)
    shipped = ship(model, "sign")
    certified = certify_by_disagreement(model, shipped, fresh)
    n_different = int((shipped.predict(fresh) != model.predict(fresh)).sum())
    assert 0 < n_different < 400
    assert certified.certificate.inputs.n_errors == n_different
    assert certified.certificate.error_rate.value >= n_different / 400
    again = ship(model, "sign", certificate=certified.certificate)
    assert again.metadata.seal == certified.certificate.seal
    assert again.metadata.statement == certified.certificate.statement
    assert Certificate.from_json(again.metadata.certificate) == certified.certificate
    assert again.metadata.covers.startswith("The certificate covers this file")
    assert (again.predict(fresh) == shipped.predict(fresh)).all()
    texts = {entry.key: entry.value for entry in onnx.load(tmp_path / "sign.onnx").metadata_props}
    assert texts["statement"] == certified.certificate.statement


def test_the_exported_aggregate_never_disagrees(ship, make_model, make_rows):
    model = make_model()
    certified = certify_by_disagreement(model, ship(model), make_rows(300, seed=9))
    assert certified.certificate.inputs.n_errors == 0


def test_a_certificate_of_another_model_is_refused(tmp_path, make_model, make_rows, ship):
    model, other = make_model(), make_model((0, 1))
    foreign = certify_by_disagreement(other, ship(other, "sign"), make_rows(50, seed=9)).certificate
    for refused in (foreign, model.certificate):
        with pytest.raises(OptionError, match="certify_by_disagreement"):
            export_onnx(model, tmp_path / "n.onnx", certificate=refused)
    with pytest.raises(OptionError, match="certify_by_disagreement"):
        export_onnx(model.network, tmp_path / "n.onnx", certificate=foreign)
    assert not (tmp_path / "n.onnx").exists()


def test_a_certificate_of_another_network_of_the_model_is_refused(tmp_path, make_model, make_rows, ship):
    model, fresh = make_model(), make_rows(200, seed=9)
    counted = certify_by_disagreement(model, ship(model, "sign"), fresh)
    network = counted.exported
    assert (network.network, network.dtype) == ("sign", "float64")
    assert network.weights == model.certificate.network.posterior_weights
    assert counted.certificate.subject.exported == network.fingerprint()
    assert counted.certificate.predictors == (EXPORTED,)
    of_method = certify_by_disagreement(model, ship(model, "sign").predict, fresh)
    assert of_method.exported == network
    for options in ({"network": "aggregate"}, {"network": "sign", "dtype": "float32"}):
        with pytest.raises(OptionError, match="belongs to another classifier, not to the"):
            export_onnx(model, tmp_path / "n.onnx", certificate=counted.certificate, **options)
    of_vote = certify_by_disagreement(model, model.predict, fresh).certificate
    assert of_vote.subject.exported is None
    with pytest.raises(OptionError, match="does not record which classifier was counted"):
        export_onnx(model, tmp_path / "n.onnx", network="sign", certificate=of_vote)
    assert not (tmp_path / "n.onnx").exists()
    in_float32 = ship(model, "sign", dtype="float32")
    assert in_float32.exported_network.dtype == "float32", "also where the weights are the same"
    single = certify_by_disagreement(model, in_float32, fresh).certificate
    assert ship(model, "sign", dtype="float32", certificate=single).metadata.seal == single.seal


def test_verify_asks_the_network_that_was_counted(tmp_path, make_model, make_rows, ship):
    model, fresh = make_model(), make_rows(200, seed=9)
    shipped, aggregate = ship(model, "sign"), ship(model)
    folder = certify_by_disagreement(model, shipped, fresh).save(tmp_path / "certified")
    assert verify(folder, fresh, model=shipped, reference=model).ok
    assert load_predictions(folder).exported == shipped.exported_network
    for other in (aggregate, lambda X: shipped(X[:])):
        report = verify(folder, fresh, model=other, reference=model)
        assert [step.name for step in report.failures] == ["answers"]
    other = dataclasses.replace(load_predictions(folder), exported=aggregate.exported_network)
    assert "answers stored" in [step.name for step in verify(other, fresh, model=aggregate).failures]


def test_a_model_that_is_not_the_certified_one_is_refused(tmp_path, make_model, make_network):
    forged = dataclasses.replace(make_model(), network=make_network(seed=5))
    with pytest.raises(UncertifiedError, match="posterior weights"):
        export_onnx(forged, tmp_path / "n.onnx")
    assert not (tmp_path / "n.onnx").exists()


def test_it_is_certified_on_held_out_rows_like_any_classifier(ship, make_model, make_rows):
    shipped, fresh = ship(make_model(), "sign"), make_rows(200, seed=9)
    y = np.where(fresh[:, 0] > 0, "yes", "no")
    certified = certify(shipped, fresh, y)
    assert certified.certificate.inputs.n_errors == (shipped.predict(fresh) != y).sum()
    assert certified.certificate.error_rate.route == "clopper-pearson"
