import dataclasses

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pbgnet.datasets import PAPER_DATASETS, Dataset, SourceRecord, load_dataset, load_packed, pack
from pbgnet.exceptions import DamagedFileError, DomainError, UnknownNameError


def make(X: np.ndarray, name: str = "own") -> Dataset:
    rng = np.random.default_rng(len(X))
    return Dataset(
        name=name,
        X=X.astype(np.float32),
        y=2 * rng.integers(0, 2, len(X)) - 1,
        label_names=("no", "yes"),
        feature_names=tuple(f"f{k}" for k in range(X.shape[1])),
        source=SourceRecord("generated", note="made up"),
        numeric=(0,) if X.shape[1] else (),
    )


def assert_same(one: Dataset, two: Dataset) -> None:
    for field in dataclasses.fields(Dataset):
        first, second = getattr(one, field.name), getattr(two, field.name)
        if isinstance(first, np.ndarray):
            assert first.dtype == second.dtype
            assert first.tobytes() == second.tobytes()
        else:
            assert first == second


KINDS = {
    "bits": lambda rng, shape: rng.integers(0, 2, shape),
    "pixels": lambda rng, shape: rng.integers(0, 256, shape) / np.float32(255),
    "floats": lambda rng, shape: rng.standard_normal(shape),
}


@given(
    n=st.integers(0, 20), widths=st.lists(st.integers(0, 12), min_size=3, max_size=3), seed=st.integers(0, 99)
)
def test_round_trip_is_exact_for_any_mixture_of_columns(n, widths, seed, tmp_path_factory):
    rng = np.random.default_rng(seed)
    parts = [make_part(rng, (n, width)) for make_part, width in zip(KINDS.values(), widths, strict=True)]
    table = np.hstack(parts).astype(np.float32)
    dataset = make(table[:, rng.permutation(table.shape[1])])
    packed = pack([dataset], tmp_path_factory.mktemp("pack") / "sets.npz")
    assert_same(load_packed(packed.path)["own"], dataset)


@pytest.mark.parametrize(("kind", "bits"), [("bits", 1), ("pixels", 8), ("floats", 32)])
def test_each_kind_takes_its_bits_and_no_more(kind, bits, tmp_path):
    table = KINDS[kind](np.random.default_rng(0), (5000, 64))  # two blocks of rows; random, so incompressible
    size = pack([make(table)], tmp_path / "sets.npz").n_bytes
    assert 0.85 < size * 8 / (bits * table.size) < 1.1


@pytest.mark.parametrize("kind", ["bits", "pixels"])
@pytest.mark.parametrize("row", [0, -1])  # in the first and the last block of rows
def test_a_single_value_that_does_not_fit_is_not_rounded(kind, row, tmp_path):
    table = KINDS[kind](np.random.default_rng(0), (5000, 3)).astype(np.float32)
    table[row, -1] = np.nextafter(np.float32(0.2), np.float32(1))
    dataset = make(table)
    assert_same(load_packed(pack([dataset], tmp_path / "a.npz").path)["own"], dataset)


def test_several_sets_keep_their_order_and_can_be_chosen(tmp_path):
    sets = [load_dataset(name) for name in ("moons", "breast", "circles")]
    path = pack(iter(sets), tmp_path / "new" / "sets.npz").path
    assert list(load_packed(path)) == ["moons", "breast", "circles"]
    (chosen,) = load_packed(path, ["breast"]).values()
    assert_same(chosen, sets[1])
    with pytest.raises(UnknownNameError, match=r"Unknown packed data set 'moon'; choose one of .*'moons'\?"):
        load_packed(path, ["moon"])


def test_the_same_sets_give_the_same_file(tmp_path):
    first, second = (pack([load_dataset("moons")], tmp_path / name) for name in ("a.npz", "b.npz"))
    assert first.sha256 == second.sha256
    assert first.n_bytes == first.path.stat().st_size


def test_impossible_collections(tmp_path):
    moons = load_dataset("moons")
    with pytest.raises(DomainError, match="Two data sets are named 'moons'"):
        pack([moons, moons], tmp_path / "a.npz")
    with pytest.raises(DomainError, match="no data sets to pack"):
        pack([], tmp_path / "a.npz")
    assert list(tmp_path.iterdir()) == []


@given(where=st.floats(0, 1, exclude_max=True))
def test_no_damage_goes_unnoticed(where, tmp_path_factory):
    path = tmp_path_factory.mktemp("damage") / "sets.npz"
    dataset = make(np.random.default_rng(0).standard_normal((30, 4)))
    pack([dataset], path)
    content = bytearray(path.read_bytes())
    content[int(where * len(content))] ^= 0x55
    path.write_bytes(content)
    try:
        again = load_packed(path)["own"]
    except DamagedFileError:
        return
    assert_same(again, dataset)  # a byte of the zip format that carries nothing


def test_checksums_catch_what_the_zip_format_does_not(tmp_path):
    path = pack([load_dataset("moons", n=20)], tmp_path / "sets.npz").path
    with np.load(path) as file:
        arrays = dict(file)
    arrays["moons/floats"][3, 1] += 1
    np.savez_compressed(path, **arrays)
    with pytest.raises(
        DamagedFileError, match=r"'moons/floats' should have sha256 .*, found .* Pack the data sets"
    ):
        load_packed(path)
    del arrays["moons/floats"]
    np.savez_compressed(path, **arrays)
    with pytest.raises(DamagedFileError, match="'moons/floats' cannot be read"):
        load_packed(path)


def test_other_files_are_refused(tmp_path):
    path = tmp_path / "sets.npz"
    for write in (
        lambda: path.write_bytes(b""),
        lambda: path.write_text("no archive"),
        lambda: np.savez(path, a=np.ones(3)),
        lambda: np.savez(path, header=np.frombuffer(b'{"form": "other", "sha256": {}}', np.uint8)),
        lambda: np.savez(path, header=np.array([{}], dtype=object)),
    ):
        write()
        with pytest.raises(DamagedFileError, match="is damaged or not a file of this kind"):
            load_packed(path)


def test_a_failed_write_leaves_the_old_file(tmp_path, monkeypatch):
    path = pack([load_dataset("moons")], tmp_path / "sets.npz").path
    before = path.read_bytes()

    def full(file, **arrays):
        file.write(b"half of it")
        raise OSError("no space left on device")

    monkeypatch.setattr("pbgnet.datasets.store.np.savez_compressed", full)
    with pytest.raises(OSError, match="no space left"):
        pack([load_dataset("breast")], path)
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]


def test_the_papers_six_sets_fit_in_a_small_file_that_replaces_the_folder(data_dir, tmp_path):
    sets = [load_dataset(name, data_dir) for name in PAPER_DATASETS]
    packed = pack(sets, tmp_path / "sets.npz")
    assert packed.n_bytes < 20e6
    for dataset in sets:
        assert_same(load_dataset(dataset.name, packed.path), dataset)
