"""``pbgnet export`` from a table to the answers of the file."""

import json

import numpy as np
import pytest
import torch

pd = pytest.importorskip("pandas", reason="the command line needs pbgnet[cli]")
testing = pytest.importorskip("typer.testing", reason="the command line needs pbgnet[cli]")

from pbgnet.certificates import PriorRecord, certify_network, load_model, save_model  # noqa: E402
from pbgnet.export import OnnxClassifier  # noqa: E402
from pbgnet.networks import AggregatedNetwork  # noqa: E402
from pbgnet.preprocessing import TablePreprocessor  # noqa: E402


def read_as_text(path):
    return pd.read_csv(path, dtype=str, na_values=["?"])


@pytest.fixture(scope="module")
def run():
    from pbgnet.cli.app import app

    def call(*arguments):
        return testing.CliRunner().invoke(app, [str(argument) for argument in arguments])

    return call


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder with table.csv and model, as train makes it from a CSV."""
    folder = tmp_path_factory.mktemp("made")
    rng = np.random.default_rng(0)
    size, colour = rng.normal(size=120).round(4), rng.choice(["red", "green", "blue"], 120)
    frame = pd.DataFrame({"size": size, "colour": colour})
    frame.loc[::9, "size"] = np.nan
    frame.loc[::7, "colour"] = None
    frame.to_csv(folder / "table.csv", index=False, na_rep="?")
    table = read_as_text(folder / "table.csv")
    preprocessor = TablePreprocessor(parse_numbers=True).fit(table.iloc[:60])
    generator = torch.Generator().manual_seed(0)
    network = AggregatedNetwork.initialise(preprocessor.n_features_out_, (3,), generator=generator)
    model = certify_network(
        network,
        table,
        np.where(size + (colour == "red") > 0.3, "yes", "no"),
        classes=("no", "yes"),
        prior=PriorRecord("given", "for a test"),
        prior_rows=range(60),
        certified_rows=range(60, 120),
        preprocessor=preprocessor,
    )
    save_model(model, folder / "model")
    return folder


@pytest.mark.parametrize("network", ["sign", "aggregate"])
def test_from_a_table_to_the_answers_of_the_file(run, folder, tmp_path, network):
    path = tmp_path / "model.onnx"
    result = run("export", folder / "model", "--to", path, "--network", network)
    assert result.exit_code == 0, result.output
    assert f"the {network} network in float64" in result.output
    assert ("not this file" in result.output) == (network == "sign")
    model, classifier = load_model(folder / "model"), OnnxClassifier(path)
    assert model.certificate.statement in result.output
    table = read_as_text(folder / "table.csv")
    if network == "aggregate":
        assert np.abs(classifier.decision_function(table) - model.decision_function(table)).max() < 1e-9
        assert (classifier.predict(table) == model.predict(table)).all()
    else:
        assert set(classifier.predict(table)) <= {"yes", "no"}


def test_the_json_names_what_the_file_reads(run, folder, tmp_path):
    path = tmp_path / "model.onnx"
    payload = json.loads(run("export", folder / "model", "--to", path, "--dtype", "float32", "--json").stdout)
    assert payload["exit_code"] == 0
    assert payload["network"] == "aggregate"
    assert payload["numeric_columns"] == ["size"]
    assert payload["text_columns"] == ["colour"]
    assert payload["missing_text"] == "<missing>"
    assert payload["bytes"] == path.stat().st_size
    assert payload["fingerprint"] == OnnxClassifier(path).fingerprint
    assert payload["classes"] == ["no", "yes"]


@pytest.mark.parametrize(
    ("options", "code", "words"),
    [
        (("--network", "signs"), 2, "Did you mean 'sign'"),
        (("--dtype", "float16"), 2, "Unknown dtype"),
    ],
)
def test_bad_options(run, folder, tmp_path, options, code, words):
    result = run("export", folder / "model", "--to", tmp_path / "model.onnx", *options)
    assert result.exit_code == code
    assert words in result.output + result.stderr
    assert not (tmp_path / "model.onnx").exists()


def test_files_in_the_way_and_folders_without_a_model(run, folder, tmp_path):
    path = tmp_path / "model.onnx"
    path.write_text("mine")
    assert run("export", folder / "model", "--to", path).exit_code in (2, 3)
    assert path.read_text() == "mine"
    assert run("export", folder / "model", "--to", path, "--overwrite").exit_code == 0
    assert run("export", tmp_path / "nothing", "--to", path).exit_code == 3
