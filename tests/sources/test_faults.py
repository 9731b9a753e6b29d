"""What can be wrong with files, each as an error that names the file and what to do."""

import errno
import os

import numpy as np
import pytest

pd = pytest.importorskip("pandas")
pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")

from pbgnet.exceptions import (  # noqa: E402
    CacheError,
    ChangedSourceError,
    DamagedFileError,
    DtypeError,
    MissingLibraryError,
    ShapeError,
)
from pbgnet.preprocessing import TablePreprocessor, code_files  # noqa: E402
from pbgnet.sources import file_damage, scan_table  # noqa: E402


@pytest.fixture
def folder(tmp_path):
    for k in range(3):
        table = pa.table({"a": [float(k), 1.0, 2.0], "b": ["x", "y", None]})
        pq.write_table(table, tmp_path / f"part-{k}.parquet")
    return tmp_path


def put(folder, k, **columns):
    pq.write_table(pa.table(columns), folder / f"part-{k}.parquet")


def test_files_follow_by_name_and_lists_as_they_are_given(folder):
    expected = [0.0, 1.0, 2.0, 1.0, 1.0, 2.0, 2.0, 1.0, 2.0]
    assert scan_table(folder)["a"].tolist() == expected
    assert scan_table(str(folder / "*.parquet"))["a"].tolist() == expected
    assert scan_table(f"file://{folder}")["a"].tolist() == expected
    assert scan_table([folder / "part-2.parquet", folder / "part-0.parquet"])["a"].tolist()[::3] == [2.0, 0.0]


def test_missing_files_and_empty_patterns(folder):
    for data, told in [
        (folder / "other.parquet", "There is no file .*other.parquet"),
        ([folder / "part-0.parquet", folder / "other.parquet"], "There is no file .*other.parquet"),
        (folder / "*.csv", r"No file matches .*\*\.csv"),
        ([], "list of files is empty"),
        (folder / "part-0.txt", "There is no file"),
        ([folder / "part-0.parquet"] * 2, "part-0.parquet is listed twice"),
    ]:
        with pytest.raises(DamagedFileError, match=told):
            scan_table(data)
    (folder / "none").mkdir()
    with pytest.raises(DamagedFileError, match="no Parquet or CSV file in the folder"):
        scan_table(folder / "none")
    with pytest.raises(DtypeError, match="got int"):
        scan_table(3)


def test_another_schema_in_one_file(folder):
    put(folder, 1, a=["1"], b=["x"])
    with pytest.raises(DtypeError, match=r"'a' is string in .*part-1.parquet, but double in .*part-0"):
        scan_table(folder)
    put(folder, 1, a=[1.0])
    with pytest.raises(ShapeError, match=r"part-1.parquet has no column 'b', but .*part-0.parquet does"):
        scan_table(folder)
    put(folder, 1, a=[1.0], b=["x"], c=[1])
    with pytest.raises(ShapeError, match=r"part-1.parquet has a column 'c', but .*part-0.parquet does not"):
        scan_table(folder)
    put(folder, 1, a=pa.array([7], pa.int32()), b=pa.nulls(1))  # other types, but the same kinds
    assert scan_table(folder)["a"].tolist()[3] == 7.0
    assert list(scan_table(folder).take([3, 0])["b"].texts) == [None, "x"]


def test_no_rows(folder):
    for k in range(3):
        put(folder, k, a=pa.array([], pa.float64()), b=pa.array([], pa.string()))
    with pytest.raises(ShapeError, match=r"part-0.parquet has no rows"):
        scan_table(folder)
    (folder / "t.csv").write_text("a,b\n")
    with pytest.raises(ShapeError, match=r"t.csv has a header but no rows"):
        scan_table(folder / "t.csv")
    with pytest.raises(ShapeError, match="no rows"):
        scan_table(np.empty((0, 2)))


def test_a_file_that_changes_between_passes(folder):
    source = scan_table(folder)
    assert sum(batch.shape[0] for batch in source.batches()) == 9
    state = os.stat(folder / "part-1.parquet")
    put(folder, 1, a=[9.0, 1.0, 2.0], b=["x", "y", None])
    os.utime(folder / "part-1.parquet", ns=(state.st_atime_ns, state.st_mtime_ns))  # the footer tells it
    with pytest.raises(ChangedSourceError, match=r"part-1.parquet has changed since"):
        list(source.batches())
    os.remove(folder / "part-1.parquet")
    with pytest.raises(ChangedSourceError, match=r"part-1.parquet existed .* no file"):
        source["a"]


def test_a_file_that_changes_during_a_pass(folder):
    walk = scan_table(folder).batches()
    next(walk)
    put(folder, 0, a=[9.0, 1.0, 2.0], b=["x", "y", None])
    with pytest.raises(ChangedSourceError, match=r"part-0.parquet has changed since"):
        list(walk)


def test_damaged_files(folder):
    path = folder / "part-1.parquet"
    whole = path.read_bytes()
    path.write_bytes(whole[:-20])
    with pytest.raises(DamagedFileError, match=r"part-1.parquet is not a Parquet table"):
        scan_table(folder)
    path.write_bytes(whole[:4] + bytes(40) + whole[44:])  # the footer is whole
    source = scan_table(folder)
    with pytest.raises(DamagedFileError, match=r"part-1.parquet"):
        list(source.batches())


def test_columns_that_no_table_should_hold(folder):
    for k in range(3):
        put(folder, k, a=[1.0], b=[[1, 2]])
    source = scan_table(folder)
    assert source.drop("b").take([1]).shape == (1, 1)
    with pytest.raises(DtypeError, match=r"'b' holds list<.*drop the column"):
        list(source.batches())


def test_csv_files_with_other_columns(tmp_path):
    (tmp_path / "1.csv").write_text("a,b\n1,2\n")
    (tmp_path / "2.csv").write_text("b,a\n3,4\n")
    assert scan_table(tmp_path)["a"].tolist() == ["1", "4"]
    (tmp_path / "3.csv").write_text("a\n3\n")
    with pytest.raises(ShapeError, match=r"3.csv lacks the column 'b', which .*1.csv has\."):
        scan_table(tmp_path)
    (tmp_path / "3.csv").write_text("a,b\n1,2\n1,2,3,4\n")
    with pytest.raises(DamagedFileError, match=r"3.csv is not a CSV table"):
        scan_table(tmp_path)
    pq.write_table(pa.table({"a": [1], "b": [2]}), tmp_path / "4.parquet")
    with pytest.raises(DamagedFileError, match="partly CSV and partly Parquet"):
        scan_table(tmp_path)


def test_a_full_disk_leaves_nothing(folder, tmp_path, monkeypatch):
    cache = tmp_path / "cache"
    cache.mkdir()
    source = scan_table(folder, cache_folder=cache)
    preprocessor = TablePreprocessor().fit(source.take(np.arange(9)))
    monkeypatch.setattr(code_files, "HELD_BYTES", 0)
    mapped = preprocessor.encode(source)
    assert isinstance(mapped.codes, np.memmap)
    monkeypatch.setattr(code_files.shutil, "disk_usage", lambda _: _Disk(3))
    with pytest.raises(CacheError, match=r"needs 0 MB in .*cache, but the disk has only 0 MB left. Free"):
        preprocessor.encode(source)
    monkeypatch.setattr(code_files.shutil, "disk_usage", lambda _: _Disk(10**9))

    def full(*_, **__):
        raise OSError(errno.ENOSPC, "full")

    monkeypatch.setattr(code_files.np, "ascontiguousarray", full)
    with pytest.raises(CacheError, match="No space left on device"):
        preprocessor.encode(source)
    assert list(cache.iterdir()) == []
    missing = scan_table(folder, cache_folder=tmp_path / "nowhere")
    monkeypatch.undo()
    monkeypatch.setattr(code_files, "HELD_BYTES", 0)
    with pytest.raises(CacheError, match="nowhere: No such file or directory"):
        preprocessor.encode(missing)


class _Disk:
    def __init__(self, free):
        self.free = free


def test_without_the_library_the_error_says_what_to_install(folder, monkeypatch):
    def absent(name):
        raise ImportError(name)

    monkeypatch.setattr(file_damage.importlib, "import_module", absent)
    with pytest.raises(
        MissingLibraryError, match=r"Reading Parquet files requires pyarrow.*: pip install pyarrow\."
    ):
        scan_table(folder / "part-0.parquet")
