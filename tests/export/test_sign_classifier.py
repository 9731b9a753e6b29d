"""The sign network without a file answers as the one in a file, and is the same to a certificate."""

import numpy as np
import pandas as pd
import pytest
import torch
from scipy import sparse

from pbgnet.certificates import PriorRecord, certify_by_disagreement, certify_network, verify
from pbgnet.exceptions import DomainError, DtypeError, ShapeError, UnknownNameError
from pbgnet.export import SignClassifier, export_onnx
from pbgnet.networks import AggregatedNetwork
from pbgnet.preprocessing import BinnedTable, TablePreprocessor


def make_table_model(n=400, classes=("a", "b"), **options):
    """A model that reads codes: many more inputs than columns."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({f"n{k}": rng.normal(size=n).round(3) for k in range(3)})
    frame["word"] = np.array(["red", "blue", None], dtype=object)[rng.integers(0, 3, n)]
    preprocessor = TablePreprocessor().fit(frame)
    y = np.array(classes)[(frame["n0"] > 0).astype(int)]
    network = AggregatedNetwork.initialise(
        preprocessor.n_features_out_,
        (30, 7),
        dtype=torch.float64,
        generator=torch.Generator().manual_seed(0),
        n_outputs=1 if len(classes) == 2 else 4,
        **options,
    )
    model = certify_network(
        network,
        frame,
        y,
        classes=classes,
        preprocessor=preprocessor,
        feature_names=tuple(frame.columns),
        prior=PriorRecord("given", "for a test"),
        prior_rows=[],
        certified_rows=range(n),
    )
    return model, frame


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("hidden", [(), (4,), (70, 9)])
@pytest.mark.parametrize("n_members", [None, 3])
def test_it_answers_as_the_file_does(ship, make_model, make_rows, n_members, hidden, dtype):
    model, rows = make_model(hidden=hidden, n_members=n_members), make_rows(700, seed=3)
    native, file = SignClassifier(model, dtype=dtype), ship(model, "sign", dtype=dtype)
    assert np.abs(native.output(rows) - file.output(rows)).max() < 1e-6
    assert (native.predict(rows) == file(rows)).all()
    assert (native.decision_function(rows[:3]) == native.decision_function(rows)[:3]).all()
    assert native.exported_network == file.exported_network
    assert (native.classes_ == file.classes_).all()
    assert dtype in repr(native)


def test_tables_are_read_as_codes(ship):
    model, frame = make_table_model()
    assert isinstance(model.inputs.features(frame), BinnedTable)
    native, file = SignClassifier(model), ship(model, "sign")
    assert len(set(native.predict(frame))) == 2
    assert (native.predict(frame) == file.predict(frame)).all()
    rows = torch.from_numpy(model.preprocessor.transform(frame))
    assert (native.output(frame) == model.network.sign_network()(rows).numpy()).all()


def test_a_certificate_of_one_is_one_of_the_other(ship, tmp_path, make_model, make_rows):
    model, fresh = make_model(n_members=3), make_rows(400, seed=9)
    native = SignClassifier(model)
    counted = certify_by_disagreement(model, native, fresh)
    assert 0 < counted.certificate.inputs.n_errors < 400
    assert verify(counted, fresh, model=ship(model, "sign"), reference=model).ok
    assert export_onnx(model, tmp_path / "n.onnx", network="sign", certificate=counted.certificate).exists()
    other = SignClassifier(model, dtype="float32")
    assert not verify(counted, fresh, model=other, reference=model).ok


def test_sparse_rows_none_and_nonsense(make_model, make_rows):
    model, rows = make_model(), make_rows(30)
    native = SignClassifier(model)
    assert (native.predict(sparse.csr_matrix(rows)) == native.predict(rows)).all()
    assert native.output(rows[:0]).shape == (0,)
    with pytest.raises(ShapeError, match="6 features"):
        native.predict(rows[:, :5])
    for bad in (np.nan, np.inf):
        with pytest.raises(DomainError, match="Impute or drop"):
            native.predict(np.where(rows > 1, bad, rows))
    with pytest.raises(UnknownNameError, match="float16"):
        SignClassifier(model, dtype="float16")
    with pytest.raises(DtypeError, match="CertifiedModel"):
        SignClassifier(model.network)
