"""Tables in files, above all the broken ones."""

import gzip
import re
import warnings

import numpy as np
import pytest

pd = pytest.importorskip("pandas")

from pbgnet.cli.cells import parse_labels  # noqa: E402
from pbgnet.cli.tables import check_column, check_finite, read_table  # noqa: E402
from pbgnet.exceptions import (  # noqa: E402
    DamagedFileError,
    DomainError,
    FileReadingWarning,
    ShapeError,
    UnknownNameError,
)
from pbgnet.preprocessing import TablePreprocessor  # noqa: E402
from pbgnet.table_files import MISSING  # noqa: E402


def put(tmp_path, content, name="t.csv"):
    path = tmp_path / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


@pytest.mark.parametrize("mark", [*MISSING, " ?"])
def test_markers_of_missing_values(tmp_path, mark):
    path = put(tmp_path, f"a,b,c\n1,x,0\n{mark},{mark},1\n")
    frame = read_table(path)
    assert frame["a"].tolist() == ["1", None]
    assert frame["b"].tolist() == ["x", None]
    typed = read_table(path, as_text=False)
    assert typed["a"].isna().tolist() == typed["b"].isna().tolist() == [False, True]
    assert typed["a"].dtype == np.float64


def test_cells_are_texts_whatever_the_others_hold(tmp_path):
    plain = read_table(put(tmp_path, "a,b,c\n007,1.50,True\n2, x ,\n3,1e3\n"))
    assert plain.to_numpy().tolist() == [["007", "1.50", "True"], ["2", "x", None], ["3", "1e3", None]]
    changed = read_table(put(tmp_path, "a,b,c\n007,1.50,True\n2, x ,\nword,1e3,4\n"))
    pd.testing.assert_frame_equal(plain[:2], changed[:2])


@pytest.mark.parametrize(
    ("texts", "expected"),
    [
        (["0", "1", "01"], [0, 1, 1]),
        (["01", "12"], ["01", "12"]),
        (["0", "1"], [0, 1]),
        (["1.0", "-1", "1e0"], [1, -1, 1]),
        (["0.5", "1"], [0.5, 1.0]),
        (["True", "false"], [True, False]),
        (["True", "1"], ["True", "1"]),
        (["1", "1_0"], ["1", "1_0"]),
        (["1", "inf"], ["1", "inf"]),
        (["9007199254740993", "9007199254740992"], ["9007199254740993", "9007199254740992"]),
        (["1e999", "1"], ["1e999", "1"]),
    ],
)
def test_labels_are_numbers_or_truth_values_only_if_all_are(texts, expected):
    found = parse_labels(texts).tolist()
    assert found == expected
    assert {type(value) for value in found} == {type(value) for value in expected}


@pytest.mark.parametrize("name", ["t.csv", "t.csv.gz"])
def test_rows_are_named_by_their_line(tmp_path, name):
    text = b'\xef\xbb\xbfa,b\r\n1,x\r\n\r\n2,"two\r\nlines"\r\n3, "y, z"\r\n'
    path = put(tmp_path, gzip.compress(text) if name.endswith("gz") else text, name)
    frame = read_table(path)
    assert frame["a"].tolist() == ["1", "2", "3"]
    assert (frame.index.name, frame.index.tolist()) == ("line", [2, 4, 6])
    without = read_table(path, header=False)
    assert without["column_1"].tolist() == ["a", "1", "2", "3"]
    assert without.index.tolist() == [1, 2, 4, 6]


def test_where_lines_cannot_be_told_rows_are_counted(tmp_path):
    path = put(tmp_path, "a,b\n\n1," + "x" * 200_000 + "\ninf,y\n")
    frame = read_table(path)
    assert (frame.index.name, frame.index.tolist()) == ("row", [1, 2])
    with pytest.raises(DomainError, match="infinity in row 2 of"):
        check_finite(frame, path)


def test_plain_lines_are_counted(tmp_path):
    for end in ("", "\n"):
        assert read_table(put(tmp_path, f"a,b\n1,2\n3,4{end}")).index.tolist() == [2, 3]


@pytest.mark.parametrize("name", ["t.csv", "t.csv.gz"])
def test_what_is_not_utf8_is_read_as_latin1_byte_by_byte(tmp_path, name):
    def write(text):
        return put(tmp_path, gzip.compress(text) if name.endswith("gz") else text, name)

    with pytest.warns(FileReadingWarning, match="is not UTF-8 text in line 2, so it is read as Windows-1252"):
        frame = read_table(
            write("Stra\u00dfe,b\nna\u00efve,\u20ac 5\n".encode("cp1252").replace(b"\xdf", b"ss"))
        )
    assert frame.to_numpy().tolist() == [["na\u00efve", "\u20ac 5"]]
    # A byte in one row does not change how another is read.
    with pytest.warns(FileReadingWarning, match="in line 3"):
        frame = read_table(write("a\ncaf\u00e9 \u6771\n".encode() + b"caf\xe9\n\x81\n"))
    assert frame["a"].tolist() == ["caf\u00e9 \u6771", "caf\u00e9", "\x81"]


def test_without_a_header_columns_are_named_by_their_place(tmp_path):
    frame = read_table(put(tmp_path, "1,5;x\n2,5;y\n"), header=False)
    assert frame.columns.tolist() == ["column_1", "column_2"]
    assert frame.to_numpy().tolist() == [["1,5", "x"], ["2,5", "y"]]
    assert read_table(put(tmp_path, "1,x\n2,y\n"), header=False, as_text=False)["column_1"].tolist() == [1, 2]
    assert read_table(put(tmp_path, "1\n2\n"), header=False).shape == (2, 1)


def test_dates_of_parquet_are_dates(tmp_path):
    moments = pd.to_datetime(["2020-01-31 12:30", None, "2021-05-01 00:00"])
    frame = pd.DataFrame({"day": [moment.date() if moment is not pd.NaT else None for moment in moments]})
    frame = frame.assign(moment=moments, zoned=moments.tz_localize("Europe/Berlin"))
    frame.to_parquet(tmp_path / "t.parquet")
    preprocessor = TablePreprocessor(parse_numbers=False).fit(read_table(tmp_path / "t.parquet"))
    assert [column.kind for column in preprocessor.columns_] == ["date"] * 3
    day, moment, zoned = preprocessor.columns_
    assert day.shown == ("days", "year", "month", "weekday")
    assert moment.shown == ("days", "year", "month", "weekday", "hour")
    assert zoned.parts[0].thresholds == moment.parts[0].thresholds


def test_infinity_is_named_by_its_line_and_among_words_it_is_a_word(tmp_path):
    for text in ("inf", "-Infinity", "1e999"):
        path = put(tmp_path, f"a,b\n1,x\n?,y\n{text},z\n")
        with pytest.raises(DomainError, match="'a' contains infinity in line 4"):
            check_finite(read_table(path), path)
    path = put(tmp_path, "a,b\nsup,1\ninf,2\n")
    check_finite(read_table(path), path)
    frame = pd.DataFrame({"a": [1.0, np.nan, np.inf]})
    with pytest.raises(DomainError, match="'a' contains infinity in row 3"):
        check_finite(frame, tmp_path / "t.parquet")


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
    assert frame.iloc[0].tolist() == ["1", "x, y", "2"]


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
        ("t.csv", b"\x89PNG\r\n\x1a\n\0\0\0", "is not a text file, whatever its extension says"),
        ("t.csv", b"PAR1 something", "is not a text file"),
        ("t.csv", b'a,b\n1,2\n"never closed,1\n3,4\n', "is not a CSV table: .* opens near line 3 is never"),
        ("t.csv", "a,b\n1,2\n".encode("utf-16"), "is UTF-16 text.* save it again as CSV in UTF-8"),
        ("t.csv.gz", b"a,b\n1,2\n", "is not a complete gzip file"),
        ("t.csv.gz", gzip.compress(b"a,b\n" + b"1,2\n" * 100, mtime=0)[:-12], "is not a complete gzip file"),
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
    with pytest.raises(ShapeError, match="a header but no rows"):
        read_table(put(tmp_path, "a,b\n"))


def test_two_columns_of_one_name(tmp_path):
    with pytest.raises(ShapeError, match="several columns named 'a'"):
        read_table(put(tmp_path, "a,b,a\n1,2,3\n"))


def test_a_column_without_a_name_is_named_by_its_place(tmp_path):
    with pytest.warns(FileReadingWarning, match="--drop unnamed_1"):
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


def test_reading_gives_no_warnings_of_its_own(tmp_path):
    mixed = "a,b\n" + "1,x\n" * 50_000 + "z,y\n"  # pandas would warn of mixed types, chunk by chunk
    for as_text in (True, False):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            frame = read_table(put(tmp_path, mixed), as_text=as_text)
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


def test_the_last_of_many_columns_is_named_because_it_often_holds_the_label():
    with pytest.raises(UnknownNameError, match=r"'x5' and 5 more; the last is 'class'\.$"):
        check_column("target", "label", [*(f"x{k}" for k in range(10)), "class"])
    with pytest.raises(UnknownNameError, match=r"The table has 'x0', 'x1'\.$"):
        check_column("target", "label", ["x0", "x1"])
