"""Labels, metadata, and everything that can be wrong with a file or its rows."""

import builtins
import importlib
import json
import sys

import numpy as np
import onnx
import pytest
import torch
from scipy import sparse

from pbgnet.certificates import Certificate, load_model, save_model
from pbgnet.estimators import PBGNetClassifier
from pbgnet.exceptions import (
    DamagedFileError,
    DomainError,
    DtypeError,
    OptionError,
    OutputExistsError,
    ShapeError,
    UnknownNameError,
)
from pbgnet.export import MissingOnnxError, OnnxClassifier, export_onnx
from pbgnet.export.metadata import FILE_SEAL, UNSEALED, seal_file
from pbgnet.networks import AggregatedNetwork, SignNetwork

CLASSES = [
    ("no", "yes"),
    ("ä", ""),
    (0, 1),
    (-7, 3),
    (2, 1),
    (False, True),
    (0.1, 2.5),
    (-(2**62), 2**62),
]


@pytest.mark.parametrize("classes", CLASSES, ids=repr)
@pytest.mark.parametrize("kind", ["sign", "aggregate"])
def test_labels_of_every_type_come_back(ship, classes, kind, make_model, make_rows):
    model = make_model(classes)
    rows = make_rows(50)
    classifier = ship(model, kind)
    found = classifier.predict(rows)
    second = classifier.decision_function(rows) > 0
    assert 0 < second.sum() < 50
    assert found.dtype == np.array(classes).dtype
    assert found.tolist() == [classes[k] for k in second.astype(int)]
    assert classifier.classes_.tolist() == list(classes)
    assert (classifier(rows) == found).all()
    if kind == "aggregate":
        assert (found == model.predict(rows)).all()
    assert classifier._session.run(["label"], {"x": rows})[0].tolist() == found.tolist()


def test_labels_keep_their_precision_in_a_float32_file(ship, make_model, make_rows):
    classifier = ship(make_model((0.1, 2.5)), dtype="float32")
    bare = classifier._session.run(["label"], {"x": make_rows(50).astype(np.float32)})[0]
    assert set(bare.tolist()) == {0.1, 2.5}


def test_the_file_carries_its_certificate(ship, tmp_path, make_model):
    model = make_model(feature_names=tuple("abcdef"))
    classifier = ship(model)
    metadata = classifier.metadata
    certificate = model.certificate
    assert Certificate.from_json(metadata.certificate) == certificate
    assert metadata.statement == certificate.statement
    assert metadata.seal == certificate.seal
    assert metadata.weights_fingerprint == certificate.network.posterior_weights
    texts = {entry.key: entry.value for entry in onnx.load(tmp_path / "aggregate.onnx").metadata_props}
    assert json.loads(texts["classes"]) == ["no", "yes"]
    assert json.loads(texts["feature_names"]) == list("abcdef")
    assert texts["statement"] == certificate.statement
    assert texts["certificate_seal"] == certificate.seal
    assert "covers the vote, which is the label this file predicts" in texts["covers"]
    assert "not this file" in ship(model, "sign").metadata.covers
    assert "nothing is proved" in ship(model.network, "sign").metadata.covers
    assert ship(model.network, "sign").metadata.certificate == ""


def test_a_saved_model_exports_the_same_file(tmp_path, make_model):
    model = make_model()
    save_model(model, tmp_path / "model")
    one = export_onnx(model, tmp_path / "one.onnx")
    two = export_onnx(load_model(tmp_path / "model"), tmp_path / "two.onnx")
    assert one.read_bytes() == two.read_bytes()
    assert OnnxClassifier(one).fingerprint == OnnxClassifier(two).fingerprint


def test_named_columns_and_sparse_rows(ship, make_model, make_rows):
    model = make_model(feature_names=tuple("abcdef"))
    classifier, rows = ship(model), make_rows(30)
    rows[rows < 0.5] = 0.0
    expected = classifier.decision_function(rows)
    assert (classifier.decision_function(sparse.csr_array(rows)) == expected).all()
    assert (classifier.decision_function(sparse.coo_matrix(rows)) == expected).all()
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame(rows, columns=list("abcdef"))[list("fedcba")]
    assert (classifier.decision_function(frame) == expected).all()
    assert "aggregate, 6-4-1" in repr(classifier)


@pytest.mark.parametrize("kind", ["sign", "aggregate"])
def test_rows_that_do_not_fit_are_refused(ship, kind, make_network, make_rows):
    classifier = ship(make_network(), kind)
    rows = make_rows(5)
    with pytest.raises(ShapeError, match="6 features, got shape \\(5, 5\\)"):
        classifier.predict(rows[:, :5])
    with pytest.raises(ShapeError):
        classifier.predict(rows[0])
    with pytest.raises(DtypeError, match="numbers"):
        classifier.predict(rows.astype(str))
    for bad in (np.nan, np.inf, -np.inf):
        broken = rows.copy()
        broken[3, 2] = bad
        with pytest.raises(DomainError, match="NaN or infinity"):
            classifier.predict(broken)
        with pytest.raises(DomainError, match="NaN or infinity"):
            classifier.predict(sparse.csr_array(broken))
    with pytest.raises(DomainError, match="float64"):
        ship(make_network(), kind, dtype="float32").predict(1e39 * rows)


def test_a_row_of_zeros_needs_an_intercept(ship, make_network):
    zeros = np.zeros((2, 6))
    with pytest.raises(DomainError, match="row of zeros"):
        ship(make_network(intercept=False)).predict(zeros)
    network = make_network()
    found = ship(network).decision_function(zeros)
    assert np.abs(found - network(torch.from_numpy(zeros)).detach().numpy()).max() < 1e-9


@pytest.mark.parametrize("options", [{"network": "tanh"}, {"dtype": "float16"}, {"network": 1}], ids=repr)
def test_unknown_names_are_refused(tmp_path, options, make_network):
    with pytest.raises(UnknownNameError):
        export_onnx(make_network(), tmp_path / "n.onnx", **options)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("opset", "error"), [(18, DomainError), (1000, DomainError), (20.0, DtypeError), (True, DtypeError)]
)
def test_impossible_operator_sets_are_refused(tmp_path, opset, error, make_network):
    with pytest.raises(error, match="opset"):
        export_onnx(make_network(), tmp_path / "n.onnx", opset=opset)


def test_what_is_no_network_is_refused(tmp_path, make_network):
    path = tmp_path / "n.onnx"
    with pytest.raises(DtypeError, match="certified_model_"):
        export_onnx(object(), path)
    with pytest.raises(OptionError, match="no aggregate"):
        export_onnx(make_network().sign_network(), path, network="aggregate")
    side_by_side = AggregatedNetwork([torch.zeros(2, 1, 3)])
    with pytest.raises(ShapeError, match="replica"):
        export_onnx(side_by_side, path)
    with pytest.raises(ShapeError, match="replica"):
        export_onnx(SignNetwork([torch.zeros(2, 1, 3)]), path)
    for several in (AggregatedNetwork([torch.zeros(2, 3)]), SignNetwork([torch.zeros(2, 3)])):
        with pytest.raises(ShapeError, match=r"has 2 outputs, but the code .* needs 1"):
            export_onnx(several, path)


@pytest.mark.parametrize("kind", ["sign", "aggregate"])
def test_weights_that_the_precision_cannot_hold_are_refused(tmp_path, kind):
    path = tmp_path / "n.onnx"
    large = AggregatedNetwork([torch.tensor([[1e39, 1.0]], dtype=torch.float64)])
    with pytest.raises(DomainError, match="float32"):
        export_onnx(large, path, network=kind, dtype="float32")
    export_onnx(large, path, network=kind)
    with pytest.raises(DomainError, match="finite"):
        export_onnx(AggregatedNetwork([torch.tensor([[torch.nan, 1.0]])]), path, network=kind, overwrite=True)


def test_an_existing_file_is_replaced_only_on_purpose(tmp_path, make_network):
    path = tmp_path / "n.onnx"
    path.write_text("something else")
    with pytest.raises(OutputExistsError):
        export_onnx(make_network(), path)
    assert path.read_text() == "something else"
    export_onnx(make_network(), path, overwrite=True)
    assert OnnxClassifier(path).metadata.network == "aggregate"
    assert [file.name for file in tmp_path.iterdir()] == ["n.onnx"]


def test_a_file_is_written_whole_or_not_at_all(tmp_path, monkeypatch, make_network):
    path = export_onnx(make_network(), tmp_path / "n.onnx")
    content = path.read_bytes()

    def fail(*paths):
        raise OSError("the disk is full")

    monkeypatch.setattr("os.replace", fail)
    with pytest.raises(OSError, match="full"):
        export_onnx(make_network(seed=5), path, overwrite=True)
    assert path.read_bytes() == content
    assert [file.name for file in tmp_path.iterdir()] == ["n.onnx"]


def test_a_damaged_file_is_noticed_wherever_the_damage_is(tmp_path, make_model):
    path = export_onnx(make_model(), tmp_path / "n.onnx", network="aggregate")
    content = path.read_bytes()
    damaged = [content[:1000], content[:-1], content + b"\0", b"", b"\0" * 100]
    places = np.linspace(0, len(content) - 1, 40).astype(int)
    damaged += [content[:k] + bytes([content[k] ^ 1]) + content[k + 1 :] for k in places]
    for changed in damaged:
        path.write_bytes(changed)
        with pytest.raises(DamagedFileError, match=r"n\.onnx"):
            OnnxClassifier(path)
    path.write_bytes(content)
    OnnxClassifier(path)


def test_files_of_others_and_changed_ones_are_refused(tmp_path, make_network):
    path = export_onnx(make_network(), tmp_path / "n.onnx")
    model = onnx.load(path)
    model.metadata_props[2].value = "sign"
    onnx.save(model, tmp_path / "changed.onnx")
    with pytest.raises(DamagedFileError, match="changed after it was written"):
        OnnxClassifier(tmp_path / "changed.onnx")
    del model.metadata_props[:]
    onnx.save(model, tmp_path / "other.onnx")
    with pytest.raises(DamagedFileError, match="not written by pbgnet"):
        OnnxClassifier(tmp_path / "other.onnx")
    with pytest.raises(DamagedFileError, match="no file"):
        OnnxClassifier(tmp_path)


@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        ("dtype", "float16", "Unknown dtype 'float16'"),
        ("dtype", "object", "Unknown dtype 'object'"),
        ("dtype", "float64", "numbers in float32"),
        ("network", "tanh", "Unknown network 'tanh'"),
        ("workspace", "0", "workspace must be at least 1"),
        ("workspace", "-5", "workspace must be at least 1"),
        ("workspace", "true", "workspace must be a whole number"),
        ("numeric_columns", '"abc"', "numeric_columns must be a list of texts"),
        ("text_columns", "[1]", "text_columns must be a list of texts"),
    ],
)
def test_what_a_file_says_of_itself_is_checked(tmp_path, make_network, key, value, message):
    model = onnx.load(export_onnx(make_network(), tmp_path / "n.onnx", dtype="float32"))
    for entry in model.metadata_props:
        if entry.key == key:
            entry.value = value
        elif entry.key == FILE_SEAL:
            entry.value = UNSEALED
    (tmp_path / "n.onnx").write_bytes(seal_file(model.SerializeToString()))
    with pytest.raises(DamagedFileError, match=message):
        OnnxClassifier(tmp_path / "n.onnx")


def test_without_the_libraries_the_extra_is_named(tmp_path, monkeypatch, make_network):
    path = export_onnx(make_network(), tmp_path / "n.onnx")
    genuine = importlib.import_module

    def absent(name, package=None):
        if name.split(".")[0] in ("onnx", "onnxruntime"):
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
        return genuine(name, package)

    monkeypatch.setattr(importlib, "import_module", absent)
    with pytest.raises(MissingOnnxError, match=r"requires onnx: pip install onnx"):
        export_onnx(make_network(), tmp_path / "m.onnx")
    with pytest.raises(MissingOnnxError, match=r"requires onnxruntime: pip install onnxruntime"):
        OnnxClassifier(path)


def test_importing_the_room_needs_no_library(monkeypatch):
    genuine = builtins.__import__

    def refuse(name, *rest, **more):
        assert name.split(".")[0] not in ("onnx", "onnxruntime")
        return genuine(name, *rest, **more)

    for name in [name for name in sys.modules if name.startswith("pbgnet.export")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setattr(builtins, "__import__", refuse)
    importlib.import_module("pbgnet.export")


@pytest.mark.parametrize(("version", "error"), [("1.28.0", MissingOnnxError), ("1.31.1", DamagedFileError)])
def test_a_runtime_that_is_too_old_is_not_taken_for_a_damaged_file(
    tmp_path, monkeypatch, make_network, version, error
):
    path = export_onnx(make_network(), tmp_path / "n.onnx", network="aggregate")
    runtime = importlib.import_module("onnxruntime")

    def refuse(*arguments, **options):
        raise NotImplementedError("Could not find an implementation for Cos(7)")

    monkeypatch.setattr(runtime, "InferenceSession", refuse)
    monkeypatch.setattr(runtime, "__version__", version)
    with pytest.raises(error, match=r"n\.onnx .*Cos\(7\)") as caught:
        OnnxClassifier(path)
    assert ("needs onnxruntime 1.29 or later" in str(caught.value)) == (error is MissingOnnxError)


def test_a_file_says_that_it_answers_rows_that_the_certificate_leaves_out(ship):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 2))
    y = (X[:, 0] > 0).astype(int)
    options = {"certificate": "held-out", "max_epochs": 2, "n_members": 1, "random_state": 0}
    told = {}
    for max_error in (None, 0.2):
        fitted = PBGNetClassifier(max_error=max_error, **options).fit(X, y)
        told[max_error] = ship(fitted.certified_model_, "aggregate").metadata.covers
    assert "predicts a label for every row" not in told[None]
    assert "leave out the rows whose score is below" in told[0.2]
