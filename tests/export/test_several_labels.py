"""Several labels in a file: each output and its answer, as the certified model gives them."""

import numpy as np
import pytest

from pbgnet.estimators import PBGNetMultilabelClassifier
from pbgnet.export import OnnxClassifier, export_onnx


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_the_file_answers_with_all_labels(tmp_path, dtype):
    rng = np.random.default_rng(1)
    X = rng.normal(size=(120, 4))
    Y = (X[:, :3] + rng.normal(size=(120, 3)) > 0).astype(int)
    classifier = PBGNetMultilabelClassifier((3,), n_members=2, max_epochs=5, random_state=0).fit(X, Y)
    path = export_onnx(
        classifier.certified_model_, tmp_path / "labels.onnx", network="aggregate", dtype=dtype
    )
    shipped = OnnxClassifier(path)
    exact, found = classifier.decision_function(X), shipped.decision_function(X)
    assert found.shape == (120, 3)
    assert np.abs(found - exact).max() < (1e-9 if dtype == "float64" else 1e-3)
    assert (shipped.predict(X) == (found > 0)).all()
    session = shipped._session
    (labels,) = session.run(["label"], next(shipped._feeds(X)))
    assert labels.dtype == np.int64
    assert (labels == shipped.predict(X)).all()
