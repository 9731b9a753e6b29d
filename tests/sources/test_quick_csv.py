"""Two readers of CSV files: what Arrow reads is what the careful reader reads."""

import gzip
import random
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from pandas.errors import ParserError, ParserWarning

import pbgnet.sources.csv_files as csv_files
import pbgnet.sources.quick_csv as quick_csv
import pbgnet.sources.spooled as spooled
from pbgnet.exceptions import PBGNetError
from pbgnet.preprocessing import CellTexts, Column, ColumnTable, PackedWords, Words, read_numbers
from pbgnet.sources import CsvFile, scan_table
from pbgnet.sources.spooled import Spool

CELLS = (
    *["1", "-2.5", "1e3", "+7", "5.", ".5", "1e999", "nan", "inf", "0x1", "1_000", "007", "1.0", "1"],
    *["red", "blue", "Österreich", "naïve", "?", "NA", "", "null", "2020-01-31", "two words", "$1,5"[:2]],
)
ODD = (
    *[" red", "red ", "\tred", "\N{NO-BREAK SPACE}red", "\x1cred", "?\N{NO-BREAK SPACE}", " ", '"red"'],
    *['"a\nb"', '"a,b"', 'a"b', '"', '""', "a\rb", "\x0b", "\x85", "#", "\\"],
)
PART = 8


@pytest.fixture(autouse=True)
def small_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(quick_csv, "PART_ROWS", PART)
    monkeypatch.setattr(csv_files, "PART_ROWS", PART)


def told(run: Any) -> tuple[Any, list[str]]:
    """Return what a reader returned or raised, and its warnings."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            found: Any = [[list(column.texts) for column in chunk.parts] for chunk in run()]
        except Exception as error:
            found = (type(error), str(error))
    return found, [str(one.message) for one in caught]


def messy_file(rng: random.Random) -> bytes:
    width, end, mark = rng.randint(1, 4), rng.choice(["\n", "\n", "\r\n"]), rng.choice(",,;\t")
    share = rng.choice([0.0, 0.0, 0.02, 0.2])
    lines = [mark.join(f"c{k}" for k in range(width))]
    for _ in range(rng.randint(0, 40)):
        cells = [rng.choice(ODD if rng.random() < share else CELLS) for _ in range(width)]
        if rng.random() < share / 4:
            cells = cells[:-1] if rng.random() < 0.5 else [*cells, "more"]
        lines.append(mark.join(cells))
        if rng.random() < share / 4:
            lines.append(rng.choice(["", " ", "\t", mark]))
    content = (end.join(lines) + rng.choice(["", end, end, end + end])).encode()
    if rng.random() < 0.2:
        content = "\ufeff".encode() + content
    return content if rng.random() < 0.9 else content.replace("Ö".encode(), b"\xd6")


@pytest.mark.parametrize("seed", range(12))
def test_readers_agree(seed: int, tmp_path: Path) -> None:
    rng, n_quick = random.Random(seed), 0
    for k in range(25):
        path, header = tmp_path / f"{k}.csv", rng.random() < 0.8
        path.write_bytes(messy_file(rng))
        file = CsvFile(path, header=header)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                assert file.columns
            except (PBGNetError, ParserError, ParserWarning):  # both readers need the names first
                continue
        quick, careful = told(file.chunks), told(file._careful_chunks)
        assert quick == careful, path.read_bytes()
        n_quick += bool(list(quick_csv.plain_chunks(path, file.separator, file.columns, header, {""})))
    assert n_quick > 2


def test_plain_file_needs_no_careful_reader(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = "".join(f"{k}.5,word {k % 3},{'NA' if k % 2 else k}\n" for k in range(5 * PART + 3))
    (tmp_path / "a.csv").write_text("x,y,z\n" + rows)
    (tmp_path / "b.csv.gz").write_bytes(
        gzip.compress(("\ufeffx,y,z\r\n" + rows.replace("\n", "\r\n")).encode())
    )
    expected = [
        [list(one.texts or ()) for one in chunk.parts]
        for chunk in CsvFile(tmp_path / "a.csv")._careful_chunks()
    ]
    monkeypatch.setattr(CsvFile, "_careful_chunks", None)
    for name in ("a.csv", "b.csv.gz"):
        chunks = list(CsvFile(tmp_path / name).chunks())
        assert [[list(one.texts or ()) for one in chunk.parts] for chunk in chunks] == expected
    kinds = [{type(chunk[name].texts) for chunk in chunks} for name in "xyz"]
    assert kinds == [{CellTexts}, {PackedWords, CellTexts}, {CellTexts}]  # the last three words all differ
    joined = ColumnTable.joined(chunks)["z"].texts
    assert isinstance(joined, CellTexts)
    assert isinstance(ColumnTable.joined(chunks)["y"].texts, PackedWords)
    np.testing.assert_array_equal(read_numbers(joined), read_numbers(list(joined)))


def test_quotes_in_a_late_row_leave_the_rest_to_the_careful_reader(tmp_path: Path) -> None:
    lines = ["x,y", *(f"{k},a" for k in range(3 * PART)), '7,"a,\nb"', *(f"{k},c" for k in range(PART))]
    (tmp_path / "a.csv").write_text("\n".join(lines))
    source = scan_table(tmp_path / "a.csv")
    assert source.shape == (4 * PART + 1, 2)
    assert source["y"].tolist() == ["a"] * 3 * PART + ["a,\nb"] + ["c"] * PART
    kinds = [type(batch["x"].texts) for batch in source.batches()]
    assert kinds == [CellTexts] * 3 + [Words] * 2
    assert list(source.take([3 * PART, 1])["x"].texts or ()) == ["7", "1"]


@pytest.mark.parametrize("n_words", [0, 1, 126, 127, 128, 129])
def test_places_of_spooled_words_can_be_counted(n_words: int, tmp_path: Path) -> None:
    texts = [*(f"word {k}" for k in range(n_words)), None]
    spool = Spool(tmp_path)
    spool.append(ColumnTable((Column("x", None, Words.of(texts)),)))
    (chunk,) = spool.read(["x"])
    found = Words.of(chunk["x"].texts or [])
    assert list(found) == texts
    assert found.counts.tolist() == [1] * (n_words + 1)


@pytest.mark.parametrize("most", [0, 1 << 30])
def test_a_spool_gives_back_what_it_was_given(most: int, tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.setattr(spooled, "SPOOLED_BYTES", most)
    rows = "".join(f"{k / 4},{'NA' if k % 3 else k},word {k},{'ab'[k % 2]},\n" for k in range(3 * PART))
    (tmp_path / "a.csv").write_text("number,gaps,word,letter,none\n" + rows + f'1,2,"c",d{", "}\n')
    file = CsvFile(tmp_path / "a.csv")
    spool = Spool(tmp_path)
    for chunk in file.chunks():
        spool.append(chunk)
    for _ in range(2):
        for found, given in zip(spool.read(file.columns), file.chunks(), strict=True):
            for name in file.columns:
                texts, expected = Words.of(found[name].texts or ()), Words.of(given[name].texts or ())
                assert list(texts) == list(expected)
                assert type(texts) is type(expected)
                np.testing.assert_array_equal(read_numbers(texts), read_numbers(list(expected)))
    assert [*tmp_path.iterdir()] == [tmp_path / "a.csv"]
