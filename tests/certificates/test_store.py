"""Saving and loading: exact, without pickle, all or nothing, and deaf to hostile files."""

import dataclasses
import json
import os
import struct
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from tests.certificates.conftest import failed, verify

from pbgnet import files
from pbgnet.certificates import (
    Classes,
    Inputs,
    PriorRecord,
    certify,
    certify_network,
    load_certified,
    load_model,
    load_predictions,
    save_model,
    store,
    tensors,
)
from pbgnet.exceptions import DamagedFileError, DomainError, OutputExistsError
from pbgnet.files import set_aside_path
from pbgnet.networks import AggregatedNetwork

FILES = ["certificate.json", "model.safetensors", "preprocessing.json"]


@pytest.fixture
def folder(model, tmp_path) -> Path:
    return save_model(model, tmp_path / "model")


def contents(folder):
    return {path.name: path.read_bytes() for path in Path(folder).iterdir()}


@pytest.mark.parametrize("kind", ["inside", "random", "zero"])
def test_round_trip(build, tmp_path, kind):
    model, X, _ = build(kind)
    again = load_model(save_model(model, str(tmp_path / "deep" / "er")))
    assert again.certificate == model.certificate
    assert again.classes == model.classes
    assert again.feature_names == model.feature_names
    np.testing.assert_array_equal(again.prior_rows, model.prior_rows)
    np.testing.assert_array_equal(again.certified_rows, model.certified_rows)
    np.testing.assert_array_equal(again.decision_function(X), model.decision_function(X))
    for ours, theirs in (
        (again.network.weights, model.network.weights),
        (again.network.prior_weights, model.network.prior_weights),
    ):
        for a, b in zip(ours, theirs, strict=True):
            assert torch.equal(a, b)
            assert a.dtype == torch.float64
            assert a.device.type == "cpu"
    assert again.inputs.to_dict() == model.inputs.to_dict()


def test_what_is_kept_of_rows_is_written_in_order_wherever_it_lies(build, tmp_path):
    model, *_ = build("inside")
    strided = np.linspace(-1.0, 1.0, 2 * model.prior_rows.size)[::2]
    strided.setflags(write=False)
    hashes = np.repeat(model.row_fingerprints, 3)[::3]
    hashes.setflags(write=False)
    model = dataclasses.replace(model, prior_margins=strided, row_fingerprints=hashes)
    assert model.prior_margins is strided, "nobody can write to it, so it is not copied"
    again = load_model(save_model(model, tmp_path / "model"), check=False)
    np.testing.assert_array_equal(again.prior_margins, strided)
    np.testing.assert_array_equal(again.row_fingerprints, hashes)


@pytest.mark.parametrize("classes", [("no", "yes"), (0, 1), (False, True), (0.5, 1.5), ("é", "\ud800")])
def test_labels_keep_their_type(build, tmp_path, classes):
    model, *_ = build("zero")
    model = dataclasses.replace(model, inputs=Inputs(Classes(classes)))
    again = load_model(save_model(model, tmp_path / "model"), check=False)  # another certificate
    assert again.classes == classes
    assert type(again.classes[0]) is type(classes[0])


def test_the_folder_holds_the_documented_files_and_nothing_else(folder):
    assert sorted(path.name for path in folder.iterdir()) == FILES
    assert sorted(load_file(folder / "model.safetensors")) == [
        *["certified_rows", "posterior_0", "posterior_1", "prior_0", "prior_1", "prior_rows"],
        "row_fingerprints",
    ]
    assert [path.name for path in folder.parent.iterdir()] == ["model"]


def test_saving_twice_gives_the_same_bytes(model, tmp_path):
    assert contents(save_model(model, tmp_path / "a")) == contents(save_model(model, tmp_path / "b"))


def test_what_stands_there_is_left_alone(model, folder, tmp_path):
    before = contents(folder)
    with pytest.raises(OutputExistsError, match="exists already"):
        save_model(model, folder)
    assert contents(folder) == before
    (tmp_path / "file").write_text("mine")
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "thesis.tex").write_text("mine")
    for name in ("file", "other"):
        with pytest.raises(OutputExistsError, match="exists already"):
            save_model(model, tmp_path / name)
        with pytest.raises(OutputExistsError, match="not a pbgnet model"):
            save_model(model, tmp_path / name, overwrite=True)
    assert (tmp_path / "file").read_text() == (tmp_path / "other" / "thesis.tex").read_text() == "mine"
    (tmp_path / "empty").mkdir()
    load_model(save_model(model, tmp_path / "empty", overwrite=True))


def test_overwriting_replaces_the_model_and_keeps_other_files(build, folder):
    (folder / "notes.txt").write_text("mine")
    (folder / "report.html").write_text("of the old model")
    model, *_ = build("zero")
    save_model(model, folder, overwrite=True)
    assert sorted(path.name for path in folder.iterdir()) == sorted([*FILES, "notes.txt"])
    assert load_model(folder).certificate == model.certificate
    assert [path.name for path in folder.parent.iterdir()] == ["model"]


def test_a_link_to_a_folder_is_followed(build, folder, tmp_path):
    link = tmp_path / "link"
    link.symlink_to(folder)
    model, *_ = build("zero")
    save_model(model, link, overwrite=True)
    assert link.is_symlink()
    assert load_model(link).certificate == load_model(folder).certificate == model.certificate


class Interrupted(BaseException):
    """Like a key press or a killed process."""


def interrupt(monkeypatch, name, call):
    """Let the call-th use of a function by the modules that save fail."""
    owner, attribute = next((place, name) for place in (store, files, os) if hasattr(place, name))
    original, count = getattr(owner, attribute), [0]

    def fail(*args, **kwargs):
        count[0] += 1
        if count[0] == call:
            raise Interrupted
        return original(*args, **kwargs)

    monkeypatch.setattr(owner, attribute, fail)


STEPS = [
    *[("save_file", 1), ("write_model", 1), ("_swap", 1), ("rename", 1), ("rename", 2)],
    *[("_fsync", call) for call in (1, 2, 3, 4, 5)],
    *[("fsync", 1), ("mkdir", 1), ("_keep_other_files", 1)],
]


@pytest.mark.parametrize(("name", "call"), STEPS)
@pytest.mark.parametrize("exists", [True, False])
def test_an_interrupted_save_leaves_the_old_model(build, monkeypatch, tmp_path, name, call, exists):
    old, *_ = build("inside")
    new, *_ = build("zero")
    target = tmp_path / "model"
    if exists:
        save_model(old, target)
    with monkeypatch.context() as patch:
        interrupt(patch, name, call)
        try:
            save_model(new, target, overwrite=True)
        except Interrupted:
            interrupted = True
        else:
            interrupted = False
    assert target.exists() or not exists, "the old model is back under its own name"
    found = load_model(target).certificate if target.exists() or exists else None
    after_the_swap = (name, call) in (("_fsync", 5), ("_keep_other_files", 1))
    if interrupted and not after_the_swap:
        assert found == (old.certificate if exists else None)
    else:
        assert found == new.certificate
    assert not list(tmp_path.glob(".model.new-*"))
    save_model(new, target, overwrite=True)
    assert load_model(target).certificate == new.certificate
    assert [path.name for path in tmp_path.iterdir()] == ["model"]


def test_a_machine_that_stops_between_the_renamings_loses_nothing(build, folder):
    # As if the power failed: the old folder is set aside, the new one not yet there.
    old = load_model(folder).certificate
    (folder / "notes.txt").write_text("mine")
    fresh = folder.parent / ".model.new-0123456789ab"
    fresh.mkdir()
    folder.rename(set_aside_path(fresh))
    assert load_model(folder).certificate == old
    new, *_ = build("zero")
    with pytest.raises(OutputExistsError):
        save_model(new, folder)
    save_model(new, folder, overwrite=True)
    assert load_model(folder).certificate == new.certificate
    assert (folder / "notes.txt").read_text() == "mine"
    assert [path.name for path in folder.parent.iterdir()] == ["model"]


def test_a_deleted_model_stays_deleted(build, folder):
    # As if the power failed after both renamings; then the user deletes the model.
    folder.rename(set_aside_path(folder.parent / ".model.new-0123456789ab"))
    with pytest.raises(DamagedFileError, match="There is no model folder"):
        load_model(folder)
    new, *_ = build("zero")
    save_model(new, folder)
    assert load_model(folder).certificate == new.certificate
    assert [path.name for path in folder.parent.iterdir()] == ["model"]


def test_a_full_disk_is_an_error_of_the_system(model, tmp_path, monkeypatch):
    def fail(*_):
        raise SafetensorError("Error while serializing: I/O error: No space left on device (os error 28)")

    monkeypatch.setattr(store, "save_file", fail)
    with pytest.raises(OSError, match=r"No space left.*model\.safetensors") as told:
        save_model(model, tmp_path / "model")
    assert told.value.errno == 28
    assert not list(tmp_path.iterdir())


@pytest.mark.skipif(os.name == "nt", reason="Windows has no limit on files")
def test_a_disk_that_really_ends_is_an_error_of_the_system(model, tmp_path):
    import resource

    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100, before[1]))
    try:
        with pytest.raises(OSError, match=r"File too large.*model\.safetensors"):
            save_model(model, tmp_path / "model")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("damage", ["missing", "empty", "truncated", "garbage", "folder"])
def test_damaged_files_are_named(folder, name, damage):
    path = folder / name
    data = path.read_bytes()
    path.unlink()
    if damage == "folder":
        path.mkdir()
    elif damage != "missing":
        path.write_bytes(
            {"empty": b"", "truncated": data[: len(data) // 2], "garbage": b"\xff" + data[1:]}[damage]
        )
    with pytest.raises(DamagedFileError, match=name):
        load_model(folder)


def test_every_truncation_of_the_weights_is_caught(folder):
    path = folder / "model.safetensors"
    data = path.read_bytes()
    for length in [*range(0, 64), *range(64, len(data), 97), len(data) - 1]:
        path.write_bytes(data[:length])
        with pytest.raises(DamagedFileError, match=r"model\.safetensors"):
            load_model(folder)


@pytest.mark.parametrize(
    "header",
    [
        struct.pack("<Q", 2**63) + b"{}",
        struct.pack("<Q", 200_000_000) + b"{",
        struct.pack("<Q", 2) + b"{}",
        struct.pack("<Q", 8) + b"\x80\x04pickle",
    ],
)
def test_hostile_headers_are_refused(folder, header):
    (folder / "model.safetensors").write_bytes(header)
    with pytest.raises(DamagedFileError, match=r"model\.safetensors"):
        load_model(folder)


def test_nothing_is_unpickled(folder):
    class Bomb:
        def __reduce__(self):
            return (os.mkdir, (str(folder / "exploded"),))

    torch.save(Bomb(), folder / "model.safetensors")
    with pytest.raises(DamagedFileError):
        load_model(folder)
    assert not (folder / "exploded").exists()


@pytest.mark.parametrize(
    ("name", "change", "message"),
    [
        ("posterior_0", lambda t: t.float(), "float64"),
        ("posterior_0", lambda t: t[:, 1:].contiguous(), "shape"),
        ("posterior_1", lambda t: t * float("nan"), "NaN"),
        ("prior_1", lambda t: t.reshape(-1), "shape"),
        ("prior_0", lambda t: t[None], "shape"),
        ("prior_rows", lambda t: t.double(), "int64"),
        ("prior_rows", lambda t: t[None], "one-dimensional list"),
        ("certified_rows", lambda t: t[:0], "no rows to certify"),
        ("certified_rows", lambda t: -t - 1, "negative indices"),
        ("certified_rows", lambda t: t * 0, "twice"),
        ("prior_1", None, "missing or unexpected"),
        ("posterior_2", lambda t: torch.ones(1), "missing or unexpected"),
    ],
)
def test_tensors_that_do_not_fit_are_named(folder, name, change, message):
    tensors = load_file(folder / "model.safetensors")
    if change is None:
        del tensors[name]
    else:
        tensors[name] = change(tensors.get(name))
    save_file(tensors, folder / "model.safetensors")
    with pytest.raises(DamagedFileError, match=message):
        load_model(folder)


def test_rows_in_both_parts_are_refused(folder):
    tensors = load_file(folder / "model.safetensors")
    tensors["prior_rows"][0] = tensors["certified_rows"][0]
    save_file(tensors, folder / "model.safetensors")
    with pytest.raises(DamagedFileError, match="also prior rows"):
        load_model(folder)


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("schema", "x"),
        ("version", 7),
        ("classes", {"type": "str", "values": ["a"]}),
        ("classes", {"type": "str", "values": ["a", "a"]}),
        ("classes", {"type": "int", "values": ["a", "b"]}),
        ("classes", {"type": "object", "values": [0, 1]}),
        ("classes", {"type": ["str"], "values": [0, 1]}),
        ("classes", ["a", "b"]),
        ("feature_names", "abc"),
        ("feature_names", ["a", 1]),
        ("feature_names", ["a", "a"]),
        ("preprocessor", {"format": "pickle"}),
        ("preprocessor", 3),
        ("extra", 3),
    ],
)
def test_hostile_preprocessing_is_refused(folder, key, value):
    path = folder / "preprocessing.json"
    data = json.loads(path.read_text())
    data[key] = value
    path.write_text(json.dumps(data))
    with pytest.raises(DamagedFileError, match=r"preprocessing\.json"):
        load_model(folder)


def test_sizes_that_contradict_each_other_are_refused(folder):
    path = folder / "preprocessing.json"
    data = json.loads(path.read_text())
    del data["preprocessor"]["columns"][0]
    path.write_text(json.dumps(data))
    with pytest.raises(DamagedFileError, match="the preprocessor makes"):
        load_model(folder)


def test_absurdly_large_json_is_refused(folder, monkeypatch):
    monkeypatch.setattr(files, "LARGEST_JSON", 100)
    with pytest.raises(DamagedFileError, match=r"certificate\.json is damaged: it is larger than 100 bytes"):
        load_model(folder)


def test_sparse_files_of_gigabytes_are_refused_before_they_are_read(folder, monkeypatch):
    monkeypatch.setattr(tensors, "safe_open", None)  # would be a TypeError
    path = folder / "model.safetensors"
    data = path.read_bytes()
    for size in (20 * 2**20, 8 * 2**30):
        with path.open("r+b") as file:
            file.truncate(size)
        with pytest.raises(DamagedFileError, match=r"model\.safetensors is damaged: it is larger than"):
            load_model(folder)
    # A certificate of a larger network lets no more than the largest model through.
    path.write_bytes(data)
    content = json.loads((folder / "certificate.json").read_text())
    content["subject"]["network"]["hidden_layer_sizes"] = [10**9]
    (folder / "certificate.json").write_text(json.dumps(content))
    with path.open("r+b") as file:
        file.truncate(store.LARGEST_WEIGHTS + 1)
    with pytest.raises(DamagedFileError, match="larger than 1024 MiB"):
        load_model(folder)


def test_a_long_header_is_refused_before_it_is_read(folder, monkeypatch):
    monkeypatch.setattr(tensors, "safe_open", None)
    for length in (store.LARGEST_HEADER + 1, 90 * 2**20, 2**63):
        (folder / "model.safetensors").write_bytes(struct.pack("<Q", length) + b"{")
        with pytest.raises(DamagedFileError, match=f"header cannot be {length} bytes"):
            load_model(folder)


def test_layer_sizes_of_another_network_cost_nothing(folder):
    content = json.loads((folder / "certificate.json").read_text())
    content["subject"]["network"]["hidden_layer_sizes"] = [10**9]
    (folder / "certificate.json").write_text(json.dumps(content))
    with pytest.raises(DamagedFileError, match=r"posterior_0 must be float64 of shape \(1000000000, "):
        load_model(folder)


def test_a_model_that_would_not_be_read_back_is_not_written(model, tmp_path, monkeypatch):
    monkeypatch.setattr(store, "LARGEST_WEIGHTS", store.LARGEST_HEADER + 100)
    with pytest.raises(DomainError, match="cannot be read back"):
        save_model(model, tmp_path / "model")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("keys", "value", "message"),
    [
        (
            ("choices", "unions"),
            [{"what": "x", "count": 2**53}] * 300_000,
            "choices.unions .* at most 64 items",
        ),
        (("claims",), [None] * 300_000, "claims must have at most 65536 items, got 300000"),
        (("alternatives",), [None] * 100, "alternatives must have at most 64 items"),
        (("assumptions",), ["x"] * 100_000, "assumptions must have at most 64 items"),
        (("subject", "network", "hidden_layer_sizes"), [1] * 3_000_000, "at most 1024 items"),
        (("subject", "aggregation", "n_samples"), 10**12, "n_samples must be at most 100000"),
    ],
)
def test_counts_that_would_keep_verify_busy_are_refused(folder, keys, value, message):
    content = json.loads((folder / "certificate.json").read_text())
    place = content
    for key in keys[:-1]:
        place = place[key]
    place[keys[-1]] = value
    (folder / "certificate.json").write_text(json.dumps(content))
    start = time.process_time()
    with pytest.raises(DamagedFileError, match=message):
        load_model(folder)
    assert time.process_time() - start < 5


def test_a_hundred_thousand_columns_are_read_in_a_moment(folder):
    content = json.loads((folder / "preprocessing.json").read_text())
    column = next(c for c in content["preprocessor"]["columns"] if c["kind"] == "numeric")
    column = {**column, "thresholds": [], "values": [0.0]}
    columns = [{**column, "name": f"c{k}"} for k in range(2**17 + 1)]
    content["preprocessor"]["columns"] = columns
    (folder / "preprocessing.json").write_text(json.dumps(content))
    with pytest.raises(DamagedFileError, match="columns must have at most 131072 items"):
        load_model(folder)
    content["preprocessor"]["columns"] = columns[:20_000]
    (folder / "preprocessing.json").write_text(json.dumps(content))
    start = time.process_time()
    with pytest.raises(DamagedFileError, match="the preprocessor makes"):
        load_model(folder)
    assert time.process_time() - start < 5


def test_no_folder(tmp_path):
    with pytest.raises(DamagedFileError, match="There is no model folder"):
        load_model(tmp_path / "nowhere")


@pytest.mark.skipif(os.name == "nt", reason="Windows has no umask")
@pytest.mark.parametrize("umask", [0o022, 0o077])
def test_all_files_have_the_mode_of_the_umask(model, tmp_path, umask):
    before = os.umask(umask)
    try:
        folder = save_model(model, tmp_path / "model")
    finally:
        os.umask(before)
    assert {path.stat().st_mode & 0o777 for path in folder.iterdir()} == {0o666 & ~umask}


@pytest.mark.parametrize(
    ("name", "what"),
    [
        ("posterior_0", "posterior weights"),
        ("posterior_1", "posterior weights"),
        ("prior_0", "prior weights"),
        ("prior_rows", "split"),
        ("certified_rows", "split"),
        ("row_fingerprints", "row fingerprints"),
    ],
)
def test_a_flipped_bit_is_noticed_when_the_model_is_loaded(build, folder, name, what):
    _, X, y = build()
    tensors = load_file(folder / "model.safetensors")
    if name.endswith("rows"):  # still a split, but another one
        tensors[name][[0, 1]] = tensors[name][[1, 0]]
    else:
        tensors[name].view(torch.int64).view(-1)[0] ^= 1
    save_file(tensors, folder / "model.safetensors")
    for load in (load_model, load_certified):
        with pytest.raises(DamagedFileError, match=f"does not match its certificate: {what}"):
            load(folder)
    assert load_model(folder, check=False).mismatch().startswith(what)
    assert what in failed(verify(folder, X, y)), "verify goes on, and names the step"


def test_an_edited_certificate_or_preprocessor_is_noticed_when_the_model_is_loaded(folder):
    for name, old, new in (
        ("certificate.json", '"issued_at": "2', '"issued_at": "1'),
        ("preprocessing.json", '"max_bins": 255', '"max_bins": 254'),
    ):
        path = folder / name
        text = path.read_text()
        path.write_text(text.replace(old, new, 1))
        assert path.read_text() != text
        with pytest.raises(DamagedFileError, match="does not match its certificate"):
            load_model(folder)
        path.write_text(text)
        load_model(folder)


def test_changed_answers_are_noticed_when_they_are_loaded(tmp_path):
    X = np.arange(20.0)[:, None]
    folder = certify(lambda X: X[:, 0] > 9, X, X[:, 0] > 8).save(tmp_path / "certified")
    path = folder / "predictions.json"
    data = json.loads(path.read_text())
    data["predictions"][9] = 1 - data["predictions"][9]
    path.write_text(json.dumps(data))
    for load in (load_predictions, load_certified):
        with pytest.raises(
            DamagedFileError, match=r"answers \(predictions\.json was edited: an answer, a loss"
        ):
            load(folder)
    assert load_predictions(folder, check=False).predictions[9] == data["predictions"][9]
    assert "answers stored" in failed(verify(folder, X, X[:, 0] > 8))


def test_damaged_fingerprints_of_rows_beside_answers_are_named(tmp_path):
    X = np.arange(20.0)[:, None]
    folder = certify(lambda X: X[:, 0] > 9, X, X[:, 0] > 8).save(tmp_path / "certified")
    path, rows = folder / "rows.safetensors", load_predictions(folder).rows.fingerprints.view(np.int64)
    genuine = path.read_bytes()
    assert len(genuine) < 8 * 20 + 200, "8 bytes a row"
    for stored in (
        {"row_fingerprints": torch.tensor(rows[1:])},
        {"row_fingerprints": torch.tensor(rows[None])},
        {"row_fingerprints": torch.tensor(rows), "more": torch.tensor(rows)},
        {"other": torch.tensor(rows)},
    ):
        save_file(stored, path)
        with pytest.raises(DamagedFileError, match=r"rows\.safetensors"):
            load_predictions(folder)
    path.write_bytes(genuine[:-1] + bytes([genuine[-1] ^ 1]))
    with pytest.raises(DamagedFileError, match=r"a fingerprint of a row in rows\.safetensors was changed"):
        load_predictions(folder)
    assert failed(verify(folder, X, X[:, 0] > 8)) == {"row fingerprints", "data: rows"}
    path.write_bytes(genuine)
    answers = folder / "predictions.json"
    answers.write_text(answers.read_text().replace('"feature_names": null', '"feature_names": ["a"]'))
    with pytest.raises(DamagedFileError, match=r"names of the columns in predictions\.json were changed"):
        load_predictions(folder)
    assert failed(verify(folder, X, X[:, 0] > 8)) == {"answers stored"}
    path.unlink()
    with pytest.raises(DamagedFileError, match=r"rows\.safetensors"):
        load_predictions(folder)


def test_a_loaded_model_does_not_change_with_its_file(folder):
    loaded = load_model(folder)
    with open(folder / "model.safetensors", "r+b") as file:
        file.seek(-1000, os.SEEK_END)
        file.write(b"\xff" * 1000)
    assert loaded.mismatch() == ""


OVERWRITER = """
import sys
from pbgnet.certificates import load_model, save_model
one, other, target = sys.argv[1:]
models = [load_model(one), load_model(other)]
print("ready", flush=True)
while True:
    for model in models:
        save_model(model, target, overwrite=True)
"""


@pytest.mark.parametrize("check", [True, False])
def test_a_model_that_is_overwritten_is_loaded_as_one_version(build, tmp_path, check):
    models = [build("zero")[0], build("zero", confidence=0.9, certificate="mixture")[0]]
    shifted = [weight + 0.5 for weight in models[1].network.weights]
    _, X, y = build("zero")
    models[1] = certify_network(
        AggregatedNetwork(shifted, models[1].network.prior_weights),
        *(X, y),
        classes=("no", "yes"),
        prior=PriorRecord("zero"),
        prior_rows=[],
        certified_rows=range(len(y)),
    )
    saved = [save_model(model, tmp_path / str(k)) for k, model in enumerate(models)]
    target = save_model(models[0], tmp_path / "target")
    prints = {model.certificate.seal: model.certificate.network.posterior_weights for model in models}
    assert len(set(prints.values())) == 2
    arguments = [sys.executable, "-c", OVERWRITER, *map(str, (*saved, target))]
    seen = []
    with subprocess.Popen(arguments, stdout=subprocess.PIPE, text=True) as writer:
        try:
            assert writer.stdout.readline() == "ready\n"
            until = time.monotonic() + 600.0
            while len(seen) < 100 or (set(seen) != set(prints) and time.monotonic() < until):
                loaded = load_model(target, check=check)
                assert loaded.mismatch() == ""
                seen.append(loaded.certificate.seal)
        finally:
            writer.kill()
    assert set(seen) == set(prints), "both were met"


def test_a_folder_that_is_set_aside_while_it_is_read_is_found_there(model, folder, monkeypatch):
    genuine, fresh = store.read_json, folder.parent / f".{folder.name}.new-0123456789ab"

    def set_aside_meanwhile(path, read):
        if not fresh.exists():  # as a save does before it brings the new folder
            fresh.mkdir()
            os.rename(folder, set_aside_path(fresh))
        return genuine(path, read)

    monkeypatch.setattr(store, "read_json", set_aside_meanwhile)
    assert load_model(folder).certificate.seal == model.certificate.seal
    assert not folder.exists()


def test_a_folder_that_two_looks_have_missed_is_found_by_the_next(model, folder, monkeypatch):
    genuine, looks = store.standing_folder, iter([folder.with_name("gone")] * 2)
    monkeypatch.setattr(store, "standing_folder", lambda path: next(looks, None) or genuine(path))
    assert load_model(folder).certificate.seal == model.certificate.seal


def test_a_folder_that_is_replaced_without_end_is_given_up(model, folder, monkeypatch):
    genuine, count = store.read_tensors, [0]

    def replaced_meanwhile(path, largest):
        count[0] += 1
        os.utime(path, ns=(count[0], count[0]))
        return genuine(path, largest)

    monkeypatch.setattr(store, "read_tensors", replaced_meanwhile)
    with pytest.raises(DamagedFileError, match="was replaced 5 times while it was being read"):
        load_model(folder)
    assert count == [5]
