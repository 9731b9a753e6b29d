"""A source holds what the whole table in memory holds, whatever it lies in and however it is cut."""

import datetime
import decimal
import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

pd = pytest.importorskip("pandas")
pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")

from pbgnet.exceptions import DomainError, UnknownNameError  # noqa: E402
from pbgnet.preprocessing import column_names, count_rows, is_source, read_columns, take_rows  # noqa: E402
from pbgnet.sources import parquet_files, read_parquet, scan_table  # noqa: E402

TYPES = {
    "float64": (pa.float64(), st.floats()),
    "float32": (pa.float32(), st.floats(width=32)),
    "int8": (pa.int8(), st.integers(-128, 127)),
    "int64": (pa.int64(), st.integers(-(2**63), 2**63 - 1)),
    "uint64": (pa.uint64(), st.integers(0, 2**64 - 1)),
    "bool": (pa.bool_(), st.booleans()),
    "string": (pa.string(), st.text(alphabet="ab é1.", max_size=3)),
    "large_string": (pa.large_string(), st.sampled_from(["x", "y", ""])),
    "decimal": (pa.decimal128(12, 3), st.decimals(-1000, 1000, places=3)),
    "date": (pa.date32(), st.dates()),
    "moment": (pa.timestamp("us"), st.datetimes()),
    "nanoseconds": (
        pa.timestamp("ns"),
        st.datetimes(datetime.datetime(1700, 1, 1), datetime.datetime(2200, 1, 1)),
    ),
    "zoned": (
        pa.timestamp("ms", "Europe/Berlin"),
        st.datetimes(datetime.datetime(1900, 1, 1), datetime.datetime(2100, 1, 1)).map(
            lambda moment: moment.replace(microsecond=0)
        ),
    ),
    "time": (pa.time64("us"), st.times()),
    "span": (
        pa.duration("ms"),
        st.integers(-(10**12), 10**12).map(lambda ms: datetime.timedelta(milliseconds=ms)),
    ),
    "words": (pa.dictionary(pa.int32(), pa.string()), st.sampled_from(["red", "blue", "1"])),
    "numbered": (pa.dictionary(pa.int8(), pa.int64()), st.integers(0, 5)),
    "nothing": (pa.null(), st.none()),
}


def made_array(kind, values):
    """An array of a type; categories by their numbers, as Arrow makes no others from Python."""
    if not pa.types.is_dictionary(kind):
        return pa.array(values, kind)
    return pa.array(values, kind.value_type).dictionary_encode().cast(kind)


@st.composite
def tables(draw):
    n = draw(st.integers(1, 12))
    columns = {}
    for name, (kind, values) in TYPES.items():
        gaps = draw(st.sampled_from(["none", "some", "all"]))
        cells = {"none": values, "some": st.none() | values, "all": st.none()}[gaps]
        columns[name] = made_array(kind, draw(st.lists(cells, min_size=n, max_size=n)))
    return pa.table(columns)


def assert_alike(found, expected):
    assert found.name == expected.name
    assert (found.numbers is None) == (expected.numbers is None), found.name
    assert (found.categorical, found.dates) == (expected.categorical, expected.dates), found.name
    if expected.numbers is not None:
        np.testing.assert_array_equal(found.numbers, expected.numbers, err_msg=found.name)
    else:
        assert list(found.texts) == list(expected.texts), found.name


def write_in_pieces(folder, table, cuts, group_rows):
    """Write a table as files that begin at the cuts, in row groups of so many rows."""
    edges = [0, *sorted({cut for cut in cuts if 0 < cut < table.num_rows}), table.num_rows]
    for k, (start, stop) in enumerate(itertools.pairwise(edges)):
        pq.write_table(
            table.slice(start, stop - start), folder / f"{k:03d}.parquet", row_group_size=group_rows
        )


@settings(max_examples=25, deadline=None)
@given(table=tables(), cuts=st.lists(st.integers(0, 12), max_size=3), group_rows=st.integers(1, 5))
def test_parquet_in_pieces_reads_as_the_whole_in_memory(tmp_path_factory, table, cuts, group_rows):
    folder = tmp_path_factory.mktemp("pieces")
    pq.write_table(table, folder.parent / f"{folder.name}.parquet")
    expected = read_columns(read_parquet(folder.parent / f"{folder.name}.parquet"))
    write_in_pieces(folder, table, cuts, group_rows)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(parquet_files, "PART_ROWS", 2)
        source = scan_table(folder)
        assert (source.columns, source.shape) == (tuple(table.column_names), table.shape)
        for found, column in zip(read_columns(source), expected, strict=True):
            assert_alike(found, column)
        rows = np.arange(source.n_rows)[::-2]
        for found, column in zip(source.take(rows).parts, expected, strict=True):
            assert_alike(found, column.take(rows))
        kinds = {
            (column.name, column.numbers is None, column.categorical, column.dates)
            for batch in source.batches()
            for column in batch.parts
        }
        assert len(kinds) == len(source.columns)  # of one kind in all batches


@settings(max_examples=15, deadline=None)
@given(table=tables())
def test_tables_of_arrow_and_frames_read_alike(table):
    frame = table.to_pandas(date_as_object=False)
    for found, column in zip(read_columns(scan_table(frame)), read_columns(frame), strict=True):
        assert_alike(found, column)
    names = [name for name in table.column_names if table[name].null_count < table.num_rows]
    arrow = scan_table(table).select(names)
    for found, column in zip(read_columns(arrow), read_columns(frame, names), strict=True):
        assert_alike(found, column)


def csv_text(n):
    words = ["red", " blue ", "NA", "", '"two\nlines"', "007", "é"]
    return "a,b,c\n" + "".join(f"{k},{words[k % 7]},{k / 8}\n" for k in range(n))


@pytest.mark.parametrize("name", ["t.csv", "t.csv.gz"])
def test_csv_in_chunks_reads_as_the_whole(tmp_path, name, monkeypatch):
    import gzip

    from pbgnet.cli.tables import read_table
    from pbgnet.sources import csv_files

    content = csv_text(50).encode()
    path = tmp_path / name
    path.write_bytes(gzip.compress(content) if name.endswith("gz") else content)
    expected = read_table(path)
    monkeypatch.setattr(csv_files, "PART_ROWS", 7)
    source = scan_table(path)
    assert source.shape == (50, 3)
    assert sum(1 for _ in source.batches()) == 8
    for found, column in zip(read_columns(source), read_columns(expected), strict=True):
        assert_alike(found, column)
    assert source["b"].tolist() == expected["b"].tolist()
    path.write_bytes(b"gone")  # it was parsed once
    np.testing.assert_array_equal(np.concatenate([*source.frames()]), expected.to_numpy())


def test_bytes_that_are_no_utf8_are_read_alike_wherever_a_block_ends(tmp_path, monkeypatch):
    from pbgnet.sources import encodings

    content = "a,b\n1,é€\n2,".encode() + b"caf\xe9,\n3,\xe2\x82\n4,\x81" + "€\n".encode()
    path = tmp_path / "t.csv"
    path.write_bytes(content)
    read = []
    for size in (1, 2, 3, 1 << 20):
        monkeypatch.setattr(encodings, "BLOCK_BYTES", size)
        with pytest.warns(Warning, match="in line 3"), encodings.open_utf8(path) as file:
            read.append(file.read())
    assert set(read) == {content.decode(errors="pbgnet-bytewise").encode()}


def test_what_generic_functions_make_of_a_source(tmp_path):
    frame = pd.DataFrame({"n": [1.0, 2.0, 3.0], "w": ["a", None, "b"], "label": ["x", "y", "x"]})
    frame.to_parquet(tmp_path / "t.parquet")
    source = scan_table(tmp_path / "t.parquet")
    assert is_source(source)
    assert column_names(source) == ("n", "w", "label")
    assert count_rows(source) == len(source) == 3
    assert source["label"].tolist() == ["x", "y", "x"]
    pd.testing.assert_series_equal(source["n"], frame["n"])
    features = source.drop("label")
    assert (features.columns, source.columns) == (("n", "w"), ("n", "w", "label"))
    assert list(take_rows(features, np.array([2, 0]))["w"].texts) == ["b", "a"]
    assert features.take([]).shape == (0, 2)
    pd.testing.assert_frame_equal(pd.concat(features.frames()), frame[["n", "w"]])
    with pytest.raises(UnknownNameError, match="no column 'm'; the columns are 'n', 'w'"):
        features.select(["m"])
    with pytest.raises(DomainError, match="between 0 and 2"):
        features.take([3])


def test_decimals_are_rounded_as_python_rounds(tmp_path):
    cells = [decimal.Decimal("0.1"), decimal.Decimal("123456789.123456789")]
    pq.write_table(pa.table({"d": pa.array(cells, pa.decimal128(30, 9))}), tmp_path / "t.parquet")
    (column,) = read_columns(scan_table(tmp_path / "t.parquet"))
    assert column.numbers.tolist() == [0.1, 123456789.123456789]


def test_frames_of_a_frame_are_copies_of_their_rows_alone(monkeypatch):
    frame = pd.DataFrame({"a": np.arange(10.0), "b": list("abcdefghij")})
    monkeypatch.setattr("pbgnet.sources.held.PART_ROWS", 4)
    taken = []
    select = pd.DataFrame.__getitem__
    monkeypatch.setattr(
        pd.DataFrame, "__getitem__", lambda self, key: taken.append(len(self)) or select(self, key)
    )
    parts = [*scan_table(frame).select(["b", "a"]).frames()]
    assert [len(part) for part in parts] == taken == [4, 4, 2]
    parts[0].loc[0, "a"] = 7.0
    assert frame.loc[0, "a"] == 0.0


def test_of_a_file_only_the_row_group_that_is_looked_at_is_in_memory(tmp_path, monkeypatch):
    numbers = np.random.default_rng(0).random((1 << 15, 8))
    table = pa.table({f"x{k}": numbers[:, k] for k in range(8)})
    pq.write_table(table, tmp_path / "a.parquet", row_group_size=1 << 11, use_dictionary=False)
    monkeypatch.setattr(parquet_files, "PART_ROWS", 1 << 10)
    before, most = pa.total_allocated_bytes(), 0
    monkeypatch.setattr(parquet_files, "READ_BYTES", 1 << 12)
    for _ in scan_table(tmp_path).batches():
        most = max(most, pa.total_allocated_bytes() - before)
    assert most < numbers.nbytes / 2
