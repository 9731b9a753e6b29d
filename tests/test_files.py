"""Folders are replaced whole or not at all, whatever kind of folder it is; JSON is read with care."""

import pytest

from pbgnet import files
from pbgnet.exceptions import DamagedFileError, OutputExistsError
from pbgnet.files import read_json, replace_folder, set_aside_path, standing_folder

KIND = {"marker": "letter.txt", "ours": ("letter.txt", "stamp.txt")}


def post(folder, text="new", *, overwrite=False, meanwhile=lambda: None):
    """Write a letter into a folder; something may happen before it is done."""
    with replace_folder(folder, overwrite=overwrite, **KIND) as fresh:
        assert fresh.is_dir()
        assert not list(fresh.iterdir())
        (fresh / "letter.txt").write_text(text)
        meanwhile()


def contents(folder):
    return {path.name: path.read_text() for path in folder.iterdir()}


def test_a_folder_is_made_with_its_parents(tmp_path):
    folder = tmp_path / "a" / "b"
    post(folder)
    assert contents(folder) == {"letter.txt": "new"}
    assert [path.name for path in folder.parent.iterdir()] == ["b"], "nothing is left beside it"


def test_what_is_ours_goes_and_all_else_is_kept(tmp_path):
    folder = tmp_path / "a"
    post(folder, "old")
    (folder / "stamp.txt").write_text("old")
    (folder / "notes.txt").write_text("mine")
    with pytest.raises(OutputExistsError, match="exists already"):
        post(folder)
    assert contents(folder) == {"letter.txt": "old", "stamp.txt": "old", "notes.txt": "mine"}
    post(folder, overwrite=True)
    assert contents(folder) == {"letter.txt": "new", "notes.txt": "mine"}
    assert [path.name for path in tmp_path.iterdir()] == ["a"]


def test_a_folder_of_another_kind_is_never_replaced(tmp_path):
    folder = tmp_path / "a"
    folder.mkdir()
    (folder / "certificate.json").write_text("of another kind")
    with pytest.raises(OutputExistsError, match="is not replaced; move it away"):
        post(folder, overwrite=True)
    assert contents(folder) == {"certificate.json": "of another kind"}
    (tmp_path / "file").write_text("mine")
    with pytest.raises(OutputExistsError, match="is not replaced"):
        post(tmp_path / "file", overwrite=True)
    (tmp_path / "empty").mkdir()
    post(tmp_path / "empty", overwrite=True)
    assert contents(tmp_path / "empty") == {"letter.txt": "new"}


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt])
@pytest.mark.parametrize("exists", [True, False])
def test_a_block_that_fails_leaves_everything_as_it_was(tmp_path, error, exists):
    folder = tmp_path / "a"
    if exists:
        post(folder, "old")

    def fail():
        raise error

    with pytest.raises(error):
        post(folder, "half of the ne", overwrite=True, meanwhile=fail)
    assert [path.name for path in tmp_path.iterdir()] == (["a"] if exists else [])
    assert not exists or contents(folder) == {"letter.txt": "old"}


@pytest.mark.parametrize("overwrite", [True, False])
def test_what_came_there_meanwhile_is_left_alone(tmp_path, overwrite):
    folder = tmp_path / "a"

    def come():
        folder.mkdir()
        (folder / "thesis.tex").write_text("mine")

    with pytest.raises(OutputExistsError):
        post(folder, overwrite=overwrite, meanwhile=come)
    assert contents(folder) == {"thesis.tex": "mine"}
    assert [path.name for path in tmp_path.iterdir()] == ["a"]


def test_an_old_folder_set_aside_is_found_and_brought_back(tmp_path):
    folder = tmp_path / "a"
    assert standing_folder(folder) == folder
    post(folder, "old")
    folder.rename(set_aside_path(folder))  # as if the power failed between the two renamings
    assert contents(standing_folder(folder)) == {"letter.txt": "old"}
    with pytest.raises(OutputExistsError):
        post(folder)
    assert standing_folder(folder) == folder, "it was brought back"
    assert contents(folder) == {"letter.txt": "old"}


def test_what_was_left_aside_is_cleared_away_and_its_other_files_are_kept(tmp_path):
    # As if the power failed after the two renamings.
    folder = tmp_path / "a"
    post(folder, "newer")
    aside = set_aside_path(folder)
    aside.mkdir()
    (aside / "letter.txt").write_text("old")
    (aside / "notes.txt").write_text("mine")
    assert standing_folder(folder) == folder
    with pytest.raises(OutputExistsError):
        post(folder)
    assert contents(folder) == {"letter.txt": "newer", "notes.txt": "mine"}
    assert not aside.exists()


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (None, r"a\.json is missing"),
        (b"", r"a\.json is damaged: It is not valid JSON"),
        (b"\xff", r"a\.json is damaged: it is not UTF-8"),
        (b'{"a": NaN}', r"a\.json is damaged: It holds NaN"),
        (b"[1, 2]", r"a\.json is damaged: no list"),
        (b" " * 101, r"a\.json is damaged: it is larger than 100 bytes"),
    ],
)
def test_files_that_cannot_be_used_are_named(tmp_path, monkeypatch, content, message):
    def read(data):
        if isinstance(data, list):
            raise DamagedFileError("no list")
        return data

    monkeypatch.setattr(files, "LARGEST_JSON", 100)
    path = tmp_path / "a.json"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(DamagedFileError, match=message):
        read_json(path, read)
    path.write_text('{"a": 1}')
    assert read_json(path, read) == {"a": 1}
