"""Folders are replaced whole or not at all, whatever kind of folder it is; JSON is read with care."""

import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import pytest

from pbgnet import files
from pbgnet.exceptions import DamagedFileError, OutputExistsError
from pbgnet.files import (
    folder_stands,
    read_json,
    replace_folder,
    set_aside_path,
    standing_folder,
    write_new,
)

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
    with pytest.raises(OutputExistsError, match="does not replace it; move it away"):
        post(folder, overwrite=True)
    assert contents(folder) == {"certificate.json": "of another kind"}
    (tmp_path / "file").write_text("mine")
    with pytest.raises(OutputExistsError, match="does not replace"):
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
    fresh = tmp_path / ".a.new-0123456789ab"
    fresh.mkdir()
    folder.rename(set_aside_path(fresh))  # as if the power failed between the two renamings
    assert contents(standing_folder(folder)) == {"letter.txt": "old"}
    with pytest.raises(OutputExistsError):
        post(folder)
    assert standing_folder(folder) == folder, "it was brought back"
    assert contents(folder) == {"letter.txt": "old"}


def test_what_was_left_aside_is_cleared_away_and_its_other_files_are_kept(tmp_path):
    # As if the power failed after the two renamings.
    folder = tmp_path / "a"
    post(folder, "newer")
    aside = set_aside_path(tmp_path / ".a.new-0123456789ab")
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
        (b'{"a": NaN}', r"a\.json is damaged: It contains NaN"),
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


KILLED = """
import os, sys
from pbgnet.files import replace_folder
with replace_folder(sys.argv[1], overwrite=True, marker="letter.txt", ours=("letter.txt",)) as fresh:
    (fresh / "letter.txt").write_text("half")
    print("writing", flush=True)
    sys.stdin.read(1)
    os._exit(9)
"""


def test_what_a_killed_process_left_is_removed_and_what_a_living_one_writes_is_not(tmp_path):
    folder = tmp_path / "a"
    post(folder, "old")
    with subprocess.Popen(
        [sys.executable, "-c", KILLED, str(folder)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as other:
        assert other.stdout.readline() == b"writing\n"
        post(folder, "new", overwrite=True)
        (fresh,) = tmp_path.glob(".a.new-*")
        assert contents(fresh) == {"letter.txt": "half"}, "it is still being written"
        other.communicate(b"x")
    assert other.returncode == 9
    assert list(tmp_path.glob(".a.new-*")) == [fresh]
    (tmp_path / ".a.new-notes").mkdir()  # not ours
    post(folder, "newer", overwrite=True)
    assert sorted(path.name for path in tmp_path.iterdir()) == [".a.new-notes", "a"]
    assert contents(folder) == {"letter.txt": "newer"}


def test_what_was_set_aside_counts_only_if_the_new_folder_never_took_its_place(tmp_path):
    folder, fresh = tmp_path / "a", tmp_path / ".a.new-0123456789ab"
    aside = set_aside_path(fresh)
    assert aside.name == ".a.old-0123456789ab"
    aside.mkdir()
    (aside / "letter.txt").write_text("old")
    (tmp_path / ".a.new-ffffffffffff").mkdir()  # of another process
    assert standing_folder(folder) == folder, "the folder was deleted on purpose"
    fresh.mkdir()
    assert standing_folder(folder) == aside
    fresh.rmdir()
    (aside / "notes.txt").write_text("mine")
    post(folder)
    assert contents(folder) == {"letter.txt": "new"}
    assert contents(aside) == {"notes.txt": "mine"}, "never lost"
    post(folder, overwrite=True)
    assert contents(folder) == {"letter.txt": "new", "notes.txt": "mine"}
    assert [path.name for path in tmp_path.iterdir()] == ["a"]


def test_many_overwriters_end_with_one_whole_folder(tmp_path):
    folder = tmp_path / "a"
    post(folder, "old")
    with ThreadPoolExecutor(8) as pool:
        for done in [pool.submit(post, folder, f"{k}", overwrite=True) for k in range(80)]:
            done.result()
    assert contents(folder)["letter.txt"] in {str(k) for k in range(80)}
    assert [path.name for path in tmp_path.iterdir()] == ["a"]


def test_an_overwriter_without_locks_gets_a_typed_error(tmp_path, monkeypatch):
    folder, rename = tmp_path / "a", os.rename
    post(folder, "old")

    def meet(source, target):
        rename(source, target)
        if ".old-" in str(target):  # another process is quicker
            folder.mkdir()
            (folder / "letter.txt").write_text("other")

    monkeypatch.setattr(os, "rename", meet)
    with pytest.raises(OutputExistsError, match=r"by another process at the same time.*Try again"):
        post(folder, overwrite=True)
    assert contents(folder) == {"letter.txt": "other"}
    assert not list(tmp_path.glob(".a.new-*"))


def test_a_folder_set_aside_that_is_removed_while_it_is_looked_at_is_no_error(tmp_path, monkeypatch):
    aside = set_aside_path(tmp_path / ".a.new-0123456789ab")
    aside.mkdir()

    def removed_meanwhile(path):
        path.rmdir()
        return True

    monkeypatch.setattr(files, "_interrupted", removed_meanwhile)
    assert standing_folder(tmp_path / "a") == aside


def test_a_folder_that_one_look_has_missed_stands_and_one_that_is_not_there_does_not(tmp_path, monkeypatch):
    post(tmp_path / "a")
    assert folder_stands(tmp_path / "a")
    assert not folder_stands(tmp_path / "b")
    assert not folder_stands(tmp_path / "no" / "parent")
    genuine, missed = files.standing_folder, iter([tmp_path / "gone"])
    monkeypatch.setattr(files, "standing_folder", lambda path: next(missed, None) or genuine(path))
    assert folder_stands(tmp_path / "a")


def test_a_file_is_replaced_only_if_so_asked(tmp_path):
    path = tmp_path / "a.txt"
    assert write_new(path, "one\n", overwrite=False) == path
    with pytest.raises(OutputExistsError, match="exists already"):
        write_new(path, "two", overwrite=False)
    assert path.read_bytes() == b"one\n"
    write_new(path, "two", overwrite=True)
    assert contents(tmp_path) == {"a.txt": "two"}
    with pytest.raises(OutputExistsError, match="is a folder"):
        write_new(tmp_path, "three", overwrite=True)
    with pytest.raises(FileNotFoundError, match="no such folder"):
        write_new(tmp_path / "none" / "a.txt", "four", overwrite=False)
