"""Models of several labels at the command line: shown, and asked for predictions."""

import numpy as np
import pytest

from pbgnet.estimators import PBGNetMultilabelClassifier

pd = pytest.importorskip("pandas")

NAMES = ["warm", "wet"]


@pytest.fixture(scope="module")
def fitted(tmp_path_factory):
    """A model in a folder, and the table it was made from."""
    folder, rng = tmp_path_factory.mktemp("labels"), np.random.default_rng(0)
    table = pd.DataFrame(rng.normal(size=(80, 2)), columns=["a", "b"]).round(4)
    labels = pd.DataFrame(table.to_numpy() + 0.3 * rng.normal(size=(80, 2)) > 0, columns=NAMES)
    classifier = PBGNetMultilabelClassifier((3,), n_members=2, max_epochs=5, per_label=True, random_state=0)
    classifier.fit(table, labels).save(folder / "model")
    table.to_csv(folder / "table.csv", index=False)
    return folder, classifier, table


def test_show_speaks_of_labels(run, fitted):
    folder, classifier, _ = fitted
    shown = " ".join(run("show", folder / "model").stdout.split())
    assert classifier.certificate_.summary in shown
    assert "Any label wrong on at most" in shown
    for words in ("labels 'warm' and 'wet'", "in label 'wet'", "bound on the share of wrong labels"):
        assert words in shown


def test_predict_answers_for_each_label(run, run_json, fitted, tmp_path):
    folder, classifier, table = fitted
    out = tmp_path / "p.csv"
    told = run_json("predict", folder / "model", folder / "table.csv", "--out", out)
    found, answers = pd.read_csv(out), classifier.predict(table)
    assert found.columns.tolist() == [f"{kind}_{name}" for kind in ("prediction", "share") for name in NAMES]
    assert (found.to_numpy()[:, :2] == answers).all()
    assert np.abs(found.to_numpy()[:, 2:] - classifier.predict_proba(table)).max() < 1e-6
    assert told["counts"] == dict(zip(NAMES, answers.sum(axis=0).tolist(), strict=True))
