"""Tables in files, above all the broken ones."""

import gzip
import re
import warnings

import numpy as np
import pytest

pd = pytest.importorskip("pandas")

from pbgnet.cli.outcome import Note  # noqa: E402
from pbgnet.cli.tables import MISSING, read_table, write_table  # noqa: E402
from pbgnet.exceptions import DamagedFileError, OutputExistsError, ShapeError  # noqa: E402


def put(tmp_path, content, name="t.csv"):
    path = tmp_path / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


@pytest.mark.parametrize("mark", [*MISSING, " ?"])
def test_markers_of_missing_values(tmp_path, mark):
    frame = read_table(put(tmp_path, f"a,b,c\n1,x,0\n{mark},{mark},1\n"))
    assert frame["a"].isna().tolist() == frame["b"].isna().tolist() == [False, True]
    assert frame["a"].dtype == np.float64


def test_words_that_only_look_missing_are_kept(tmp_path):
    frame = read_table(put(tmp_path, "a,b\nNone,-\nnone,n.a.\n"))
    assert frame["a"].tolist() == ["None", "none"]
    assert frame["b"].tolist() == ["-", "n.a."]


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
@pytest.mark.parametrize("start", ["", "\ufeff"], ids=["plain", "byte order mark"])
def test_delimiters_and_byte_order_marks(tmp_path, delimiter, start):
    text = (
        start
        + "\n".join(delimiter.join(row) for row in (["a", '"b, c; d"', "e"], ["1", '"x, y"', "2"]))
        + "\n"
    )
    frame = read_table(put(tmp_path, text))
    assert frame.columns.tolist() == ["a", "b, c; d", "e"]
    assert frame.iloc[0].tolist() == [1, "x, y", 2]


def test_blanks_after_commas_do_not_count(tmp_path):
    frame = read_table(put(tmp_path, "age, job\n39, State-gov\n"))
    assert frame.columns.tolist() == ["age", "job"]
    assert frame["job"].tolist() == ["State-gov"]


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("t.csv", b"", "t.csv is empty"),
        ("t.csv", b"a,b\n1,2\n3,4,5\n", "is not a CSV table: .*3 fields|is not a CSV table: Expected 2"),
        ("t.csv", b"a,b\n1,2,3\n4,5,6\n", "is not a CSV table"),
        ("t.csv", b"\x89PNG\r\n\x1a\n\0\0\0", "is not text, whatever its extension says"),
        ("t.csv", b"PAR1 something", "is not text"),
        ("t.csv", b"a,b\nna\xefve,1\n", "is not UTF-8 text"),
        ("t.csv", b'a,b\n"never closed,1\n', "is not a CSV table"),
        ("t.csv.gz", b"a,b\n1,2\n", "is not a whole gzip file"),
        ("t.csv.gz", gzip.compress(b"a,b\n" + b"1,2\n" * 100)[:-12], "is not a whole gzip file"),
        ("t.parquet", b"a,b\n1,2\n", "is not a Parquet table"),
        ("t.parquet", b"PAR1PAR1", "is not a Parquet table"),
        ("t.xlsx", b"PK", "use .csv, .csv.gz or .parquet"),
        ("table", b"a,b\n1,2\n", "use .csv, .csv.gz or .parquet"),
    ],
)
def test_damaged_files_are_named(tmp_path, name, content, message):
    with pytest.raises(DamagedFileError, match=message) as caught:
        read_table(put(tmp_path, content, name))
    assert str(tmp_path / name) in str(caught.value)
    assert "\n" not in str(caught.value)


def test_absent_files_and_folders(tmp_path):
    with pytest.raises(DamagedFileError, match=r"There is no file .*absent\.csv"):
        read_table(tmp_path / "absent.csv")
    (tmp_path / "folder.csv").mkdir()
    with pytest.raises(DamagedFileError, match="is a folder"):
        read_table(tmp_path / "folder.csv")


def test_no_rows(tmp_path):
    with pytest.raises(ShapeError, match="no rows, only a header"):
        read_table(put(tmp_path, "a,b\n"))


def test_two_columns_of_one_name(tmp_path):
    with pytest.raises(ShapeError, match="several columns named 'a'"):
        read_table(put(tmp_path, "a,b,a\n1,2,3\n"))


def test_a_column_without_a_name_is_named_by_its_place(tmp_path):
    with pytest.warns(Note, match="--drop unnamed_1"):
        frame = read_table(put(tmp_path, ",b\n0,2\n1,3\n"))
    assert frame.columns.tolist() == ["unnamed_1", "b"]


def test_parquet_keeps_types_and_shows_the_index_as_a_column(tmp_path):
    frame = pd.DataFrame(
        {"a": pd.array([1, None], dtype="Int64"), "b": pd.Categorical(["x", "y"]), "c": [True, False]}
    )
    frame.index = pd.Index([5, 6], name="key")
    frame.to_parquet(tmp_path / "t.pq")
    read = read_table(tmp_path / "t.pq")
    assert set(read.columns) == {"a", "b", "c", "key"}
    assert read["a"].isna().tolist() == [False, True]
    assert read["c"].dtype == bool


@pytest.mark.parametrize("name", ["o.csv", "o.csv.gz", "o.parquet"])
def test_written_tables_can_be_read(tmp_path, name):
    frame = pd.DataFrame({"a": [0.1, 1 / 3], "b": ["x,y", 'q"']})
    write_table(frame, tmp_path / name)
    pd.testing.assert_frame_equal(read_table(tmp_path / name), frame)
    with pytest.raises(OutputExistsError, match="pass --overwrite"):
        write_table(frame, tmp_path / name)
    write_table(frame.iloc[:1], tmp_path / name, overwrite=True)
    assert len(read_table(tmp_path / name)) == 1
    assert [path.name for path in tmp_path.iterdir()] == [name]


def test_an_interrupted_write_leaves_the_old_file(tmp_path, monkeypatch):
    frame = pd.DataFrame({"a": [1]})
    write_table(frame, tmp_path / "o.csv")

    def half(self, path, **_):
        path.write_text("a\n")
        raise KeyboardInterrupt

    monkeypatch.setattr(pd.DataFrame, "to_csv", half)
    with pytest.raises(KeyboardInterrupt):
        write_table(frame, tmp_path / "o.csv", overwrite=True)
    assert [path.read_text() for path in tmp_path.iterdir()] == ["a\n1\n"]


def test_reading_gives_no_warnings_of_its_own(tmp_path):
    mixed = "a,b\n" + "1,x\n" * 50_000 + "z,y\n"  # pandas would warn of mixed types, chunk by chunk
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        frame = read_table(put(tmp_path, mixed))
    assert {type(value) for value in frame["a"]} == {str}


def test_exit_codes_for_files(run, made, tmp_path):
    for bad in (put(tmp_path, b"", "empty.csv"), tmp_path / "absent.csv", put(tmp_path, b"x", "t.docx")):
        for arguments in (
            ("train", bad, "--target", "label", "--out", tmp_path / "m"),
            ("verify", made / "model", bad),
            ("predict", made / "model", bad, "--out", tmp_path / "p.csv"),
        ):
            result = run(*arguments)
            assert result.exit_code == 3, result.output
            assert re.fullmatch(r"Error: .*\n", result.stderr)
    assert not (tmp_path / "m").exists()
