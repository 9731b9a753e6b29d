"""A prepared table in a folder is the table that was written, or it is refused."""

import json
import os

import numpy as np
import pytest

pd = pytest.importorskip("pandas")
pytest.importorskip("pyarrow")

from pbgnet.certificates import load_prepared, prepared_files, save_prepared  # noqa: E402
from pbgnet.certificates.data import (  # noqa: E402
    Classes,
    Inputs,
    LabelledRows,
    PreparedTable,
    Split,
    rows_to_fit,
)
from pbgnet.exceptions import (  # noqa: E402
    CacheError,
    ChangedSourceError,
    DamagedFileError,
    OptionError,
    OutputExistsError,
)
from pbgnet.preprocessing import TablePreprocessor, code_files, take_rows  # noqa: E402
from pbgnet.sources import scan_table  # noqa: E402


@pytest.fixture
def path(tmp_path):
    rng = np.random.default_rng(0)
    number, word = rng.standard_normal(60), rng.choice(["a", "b"], 60)
    table = pd.DataFrame({"number": number, "word": word, "label": np.where(number > 0, "yes", "no")})
    table.to_parquet(tmp_path / "t.parquet", row_group_size=17)
    return tmp_path / "t.parquet"


def prepare(X, y):
    rows = LabelledRows(X, y)
    split = Split.of_table(rows, None, 0.5, seed=3)
    preprocessor = TablePreprocessor().fit(take_rows(X, rows_to_fit(rows, split)))
    return PreparedTable(rows, Inputs(Classes(("no", "yes")), ("number", "word"), preprocessor), split)


@pytest.fixture
def saved(path, tmp_path):
    source = scan_table(path)
    table = prepare(source.drop("label"), source["label"])
    return table, save_prepared(table, tmp_path / "cache" / "prepared")


def test_the_table_comes_back_without_its_source_being_read(path, saved, monkeypatch):
    table, folder = saved
    features = scan_table(path).drop("label")
    monkeypatch.setattr(type(features), "_walk", None)
    found = load_prepared(folder, features)
    np.testing.assert_array_equal(found.features.codes, table.features.codes)
    assert isinstance(found.features.codes, np.memmap)
    np.testing.assert_array_equal(found.truth, table.truth)
    np.testing.assert_array_equal(found.labels, table.labels)
    np.testing.assert_array_equal(found.split.prior_rows, table.split.prior_rows)
    assert found.split.record == table.split.record
    assert found.fingerprints == table.fingerprints
    assert found.inputs.to_dict() == table.inputs.to_dict()
    assert found.rows.set_fingerprint == table.rows.set_fingerprint
    assert (found.n_duplicates, found.near_copies) == (table.n_duplicates, table.near_copies)


def test_it_is_trusted_for_the_very_files_it_was_made_from(path, saved):
    _, folder = saved
    with pytest.raises(ChangedSourceError, match="other files or columns"):
        load_prepared(folder, scan_table(path).drop("label", "word"))
    os.utime(path, ns=(0, 0))
    with pytest.raises(ChangedSourceError, match="have changed since"):
        load_prepared(folder, scan_table(path).drop("label"))


@pytest.mark.parametrize("name", prepared_files.ARRAYS)
def test_a_changed_or_missing_file_is_refused(path, saved, name):
    _, folder = saved
    features, file = scan_table(path).drop("label"), folder / f"{name}.npy"
    content = bytearray(file.read_bytes())
    content[-1] ^= 1
    file.write_bytes(content)
    with pytest.raises(DamagedFileError, match=rf"{name}.npy is damaged: its checksum"):
        load_prepared(folder, features)
    file.unlink()
    with pytest.raises(DamagedFileError, match=rf"{name}.npy is missing"):
        load_prepared(folder, features)


def test_a_head_of_another_kind_is_refused(path, saved):
    _, folder = saved
    head = json.loads((folder / "prepared.json").read_text())
    (folder / "prepared.json").write_text(json.dumps({**head, "version": 2}))
    with pytest.raises(DamagedFileError, match=r"prepared.json is damaged: it is not"):
        load_prepared(folder, scan_table(path).drop("label"))


def test_nothing_is_written_over_or_left_half_written(saved, monkeypatch):
    table, folder = saved
    with pytest.raises(OutputExistsError):
        save_prepared(table, folder)
    save_prepared(table, folder, overwrite=True)
    monkeypatch.setattr(code_files.shutil, "disk_usage", lambda _: type("Disk", (), {"free": 10}))
    with pytest.raises(CacheError, match="the disk has only 0 MB left"):
        save_prepared(table, folder.parent / "other")
    assert [file.name for file in folder.parent.iterdir()] == ["prepared"]


def test_a_table_in_memory_is_none_of_files(path, tmp_path):
    frame = pd.read_parquet(path)
    with pytest.raises(OptionError, match="Only tables read from files"):
        save_prepared(prepare(frame.drop(columns="label"), frame["label"]), tmp_path / "p")
    source = scan_table(frame)
    with pytest.raises(OptionError, match="A table in memory cannot be cached"):
        save_prepared(prepare(source.drop("label"), source["label"]), tmp_path / "p")
    assert not (tmp_path / "p").exists()
