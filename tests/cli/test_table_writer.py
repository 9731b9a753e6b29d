"""Tables written in batches: whole or not at all, with one type for each column."""

import gzip

import pytest

pd = pytest.importorskip("pandas", reason="the command line needs pbgnet[cli]")

from pbgnet.cli.table_writer import table_writer, write_table  # noqa: E402
from pbgnet.cli.tables import read_table  # noqa: E402
from pbgnet.exceptions import OutputExistsError  # noqa: E402

NAMES = ["o.csv", "o.csv.gz", "o.tsv", "o.parquet"]


@pytest.mark.parametrize("name", NAMES)
def test_written_tables_can_be_read(tmp_path, name):
    frame = pd.DataFrame({"a": [0.1, 1 / 3], "b": ["x,y", 'q"']})
    write_table(frame, tmp_path / name)
    pd.testing.assert_frame_equal(read_table(tmp_path / name, as_text=False), frame)
    with pytest.raises(OutputExistsError, match="pass --overwrite"):
        write_table(frame, tmp_path / name)
    write_table(frame.iloc[:1], tmp_path / name, overwrite=True)
    assert len(read_table(tmp_path / name)) == 1
    assert [path.name for path in tmp_path.iterdir()] == [name]


@pytest.mark.parametrize("name", NAMES)
def test_batches_follow_each_other_under_one_header(tmp_path, name):
    parts = [pd.DataFrame({"a": [k, k + 1], "b": ["x", None]}) for k in range(3)]
    with table_writer(tmp_path / name, parts) as write:
        for part in parts:
            write(part)
        assert not (tmp_path / name).exists()
    found = read_table(tmp_path / name, as_text=False)
    assert found["a"].tolist() == [0, 1, 1, 2, 2, 3]
    assert found["b"].isna().tolist() == [False, True] * 3
    if name == "o.tsv":
        assert (tmp_path / name).read_bytes().startswith(b"a\tb\n")
    if name == "o.csv.gz":
        assert gzip.decompress((tmp_path / name).read_bytes()).count(b"a,b") == 1


def test_a_column_of_parquet_has_the_type_that_all_batches_have_room_in(tmp_path):
    parts = [
        pd.DataFrame({"none": [None], "number": [1], "kind": pd.Categorical(["p"])}),
        pd.DataFrame({"none": ["text"], "number": [0.5], "kind": pd.Categorical(["q"])}),
    ]
    with table_writer(tmp_path / "o.parquet", parts) as write:
        for part in parts:
            write(part)
    found = read_table(tmp_path / "o.parquet")
    assert found["number"].tolist() == [1.0, 0.5]
    assert found["none"].tolist()[1] == "text"
    assert found["kind"].tolist() == ["p", "q"]


@pytest.mark.parametrize("name", NAMES)
def test_an_interrupted_write_leaves_the_old_file(tmp_path, name):
    frame = pd.DataFrame({"a": [1]})
    write_table(frame, tmp_path / name)
    before = (tmp_path / name).read_bytes()

    def interrupted():
        with table_writer(tmp_path / name, [frame], overwrite=True) as write:
            write(frame)
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert [path.read_bytes() for path in tmp_path.iterdir()] == [before]
