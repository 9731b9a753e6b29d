"""Tables of several files, as a user gives them: the same certificate, and faults that leave nothing."""

import errno
import json
import os
import subprocess
import sys

import numpy as np
import pytest

pq = pytest.importorskip("pyarrow.parquet")

from pbgnet.preprocessing import code_files  # noqa: E402
from pbgnet.sources.parquet_files import ParquetFile  # noqa: E402


@pytest.fixture
def parts(table, tmp_path):
    """The same rows in one file and in three of a folder."""
    table.to_parquet(tmp_path / "table.parquet")
    (tmp_path / "data").mkdir()
    for k, rows in enumerate(np.split(np.arange(len(table)), [17, 80])):
        table.iloc[rows].reset_index(drop=True).to_parquet(tmp_path / "data" / f"part-{k}.parquet")
    return tmp_path


def nothing_beside(folder):
    return sorted(path.name for path in folder.iterdir()) == ["data", "table.parquet"]


def test_the_certificate_does_not_depend_on_files(run, parts, quick):
    given = {"one": ["table.parquet"], "folder": ["data"], "pattern": ["data/*.parquet"]}
    given["list"] = [f"data/part-{k}.parquet" for k in range(3)]
    found = {}
    for name, words in given.items():
        paths = [parts / word for word in words]
        result = run("train", *paths, "--target", "label", "--out", parts / name, *quick)
        assert result.exit_code == 0, result.output
        found[name] = json.loads((parts / name / "certificate.json").read_text(encoding="utf-8"))
        del found[name]["issued_at"], found[name]["seal"]
    assert all(one == found["one"] for one in found.values())
    assert run("verify", parts / "one", parts / "data").exit_code == 0
    assert run("verify", parts / "folder", parts / "table.parquet").exit_code == 0


def test_a_file_that_changes_in_the_last_pass_is_noticed(run, parts, quick, monkeypatch):
    """Each pass is taken for the last one: the file changes when its rows have been read."""
    check, changed = ParquetFile.check_unchanged, parts / "data" / "part-1.parquet"
    calls = []

    def touch_before_second_look(self):
        calls.append(self.path)
        if calls.count(str(changed)) == 2:
            os.utime(changed, ns=(1, 1))
        check(self)

    monkeypatch.setattr(ParquetFile, "check_unchanged", touch_before_second_look)
    result = run("train", parts / "data", "--target", "label", "--out", parts / "model", *quick)
    assert result.exit_code == 3
    assert "part-1.parquet has changed since the table was scanned" in result.stderr
    assert calls[-2:] == [str(changed)] * 2  # before its rows and after them, with no other file between
    assert nothing_beside(parts)


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EFBIG])
def test_no_room_for_the_cache(run, parts, quick, monkeypatch, number):
    def full(*_, **__):
        raise OSError(number, "full")

    monkeypatch.setattr(code_files, "HELD_BYTES", 0)
    monkeypatch.setattr(code_files.tempfile, "TemporaryFile", full)
    result = run("train", parts / "data", "--target", "label", "--out", parts / "model", *quick)
    assert result.exit_code == 3
    assert os.strerror(number) in result.stderr
    assert "TMPDIR=FOLDER" in result.stderr
    assert nothing_beside(parts)


@pytest.mark.parametrize("name", ["nowhere", "nowhere.parquet"])
def test_what_is_not_there_is_called_so(run, parts, name):
    result = run("train", parts / name, "--target", "label", "--out", parts / "model")
    assert result.exit_code == 3
    assert f"There is no file {parts / name}." in result.stderr


def test_a_request_to_end_leaves_nothing(made, tmp_path):
    """SIGTERM comes when a part of the result is written."""
    program = (
        "import os, signal\n"
        "from pbgnet.cli import predict\n"
        "from pbgnet.cli.app import app\n"
        "predict._counts = lambda *_: os.kill(os.getpid(), signal.SIGTERM)\n"
        f"app(['predict', {str(made / 'model')!r}, {str(made / 'table.csv')!r}, '--out', 'answers.csv'])\n"
    )
    ended = subprocess.run(
        [sys.executable, "-c", program],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert ended.returncode == 130, ended.stderr
    assert ended.stderr.endswith("Stopped by SIGTERM.\n")
    assert list(tmp_path.iterdir()) == []
