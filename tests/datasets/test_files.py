import gzip
import hashlib
import struct

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays

from pbgnet.datasets.adult import normalise
from pbgnet.datasets.files import SourceFile, find_files, read_checked
from pbgnet.datasets.idx import read_idx
from pbgnet.exceptions import DamagedFileError

CONTENT = b"some content\n" * 9
FILE = SourceFile("a.data", hashlib.sha256(CONTENT).hexdigest())
BYTES = arrays(np.uint8, array_shapes(max_dims=3, min_side=0, max_side=4))


def write_idx(array: np.ndarray) -> bytes:
    return struct.pack(f">4B{array.ndim}I", 0, 0, 8, array.ndim, *array.shape) + array.tobytes()


@given(array=BYTES)
def test_idx_round_trip(array):
    assert np.array_equal(read_idx(write_idx(array), "a", array.ndim), array)


@given(array=BYTES, data=st.data())
def test_an_idx_file_of_any_other_length_is_refused(array, data):
    content = write_idx(array)
    cut = content[: data.draw(st.integers(0, len(content) - 1))]
    for wrong in (cut, content + b"\0"):
        with pytest.raises(DamagedFileError, match=r"must begin with|values, but \d+ follow"):
            read_idx(wrong, "a", array.ndim)


@pytest.mark.parametrize("start", [b"\0\0\x09\x01", b"\0\0\x08\x02", b"\x01\0\x08\x01"])
def test_idx_of_another_type_or_number_of_axes_is_refused(start):
    with pytest.raises(
        DamagedFileError, match="labels must begin with the bytes 00000801 of an idx file of 1 axes"
    ):
        read_idx(start + bytes(12), "labels", 1)


@pytest.mark.parametrize("suffix", ["", ".gz"])
@pytest.mark.parametrize("subfolder", ["", "own"])
def test_files_are_found_compressed_or_not_in_a_subfolder_or_not(tmp_path, suffix, subfolder):
    (tmp_path / subfolder).mkdir(exist_ok=True)
    path = tmp_path / subfolder / f"a.data{suffix}"
    path.write_bytes(gzip.compress(CONTENT) if suffix else CONTENT)
    assert find_files(tmp_path, "own", [FILE]) == [path]
    content, record = read_checked(path, FILE, "url")
    assert (content, record.name, record.sha256) == (CONTENT, "a.data", FILE.sha256)


def test_a_changed_file_is_refused_with_both_checksums(tmp_path):
    path = tmp_path / "a.data"
    path.write_bytes(CONTENT + b"x")
    found = hashlib.sha256(CONTENT + b"x").hexdigest()
    with pytest.raises(
        DamagedFileError, match=f"a.data is damaged.*{FILE.sha256}, found {found}.*again from url"
    ):
        read_checked(path, FILE, "url")


@given(where=st.integers(0, 10**6))
def test_a_damaged_gzip_file_is_refused(where, tmp_path_factory):
    path = tmp_path_factory.mktemp("gz") / "a.data.gz"
    raw = bytearray(gzip.compress(CONTENT, mtime=0))
    path.write_bytes(raw[: where % len(raw)])
    with pytest.raises(DamagedFileError, match=r"a.data.gz is damaged or another version: expected"):
        read_checked(path, FILE, "url")


def test_some_files_without_the_others_are_an_error_none_of_them_is_not(tmp_path):
    other = SourceFile("b.data", "")
    assert find_files(tmp_path, "own", [FILE, other]) is None
    (tmp_path / "a.data").write_bytes(CONTENT)
    with pytest.raises(DamagedFileError, match=r"not b.data \(with or without .gz\)"):
        find_files(tmp_path, "own", [FILE, other])


def test_variants_of_adult_are_made_alike_and_nothing_else_is():
    plain = b"25, Private, <=50K\n30, ?, >50K\n"
    variants = [
        plain + b"\n",
        b"|1x3 Cross validator\n" + plain,
        plain.replace(b"K\n", b"K.\n"),
        plain.replace(b"\n", b"\r\n") + b"\r\n",
        plain.removesuffix(b"\n"),
    ]
    assert {normalise(variant) for variant in variants} == {plain}
    assert normalise(plain.replace(b"25", b"26")) != plain
