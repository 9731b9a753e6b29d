"""Real kills, a disk that ends, many writers and readers at once: a folder is always one whole model."""

import errno
import json
import os
import subprocess
import sys

import pytest
from tests.certificates.conftest import verify

from pbgnet.certificates import load_model, save_model

pytestmark = pytest.mark.skipif(os.name == "nt", reason="Windows has neither fork nor limits on files")

N_LOOKS = 60

# One process that has everything loaded forks writers.
PREPARE = """
import collections, json, os, random, signal, sys
import torch
torch.set_num_threads(1)
from pbgnet.certificates import load_model, save_model
from pbgnet.exceptions import DamagedFileError
one, other, target, *amount = sys.argv[1:]
models = [load_model(one), load_model(other)]
seals = {model.certificate.seal: place for place, model in enumerate(models)}
found, asides = collections.Counter(), 0

def write_for_ever(first):
    pid = os.fork()
    if pid:
        return pid
    try:
        while True:
            for place in (first, 1 - first):
                save_model(models[place], target, overwrite=True)
    finally:
        os._exit(1)  # an error of a writer

def kill(pid):
    os.kill(pid, signal.SIGKILL)
    return os.WIFSIGNALED(os.waitpid(pid, 0)[1])

def look():
    loaded = load_model(target)
    assert loaded.mismatch() == ""
    found[seals[loaded.certificate.seal]] += 1
"""

# Before its k-th look at or change of the file system a writer kills itself, for every k of a whole save.
KILLS = """
def write_and_die(before):
    pid = os.fork()
    if pid:
        return os.WIFSIGNALED(os.waitpid(pid, 0)[1])
    events = 0
    def count(event, arguments):
        nonlocal events
        if event == "open" or event.startswith(("os.", "shutil.", "tempfile.")):
            events += 1
            if events == before:
                os.kill(os.getpid(), signal.SIGKILL)
    try:
        sys.addaudithook(count)
        save_model(models[1], target, overwrite=True)
    finally:
        os._exit(0)

kills = 0
while write_and_die(kills + 1):
    kills += 1
    asides += len(os.listdir(os.path.dirname(target))) > 1
    look()
    save_model(models[0], target, overwrite=True)
    assert os.listdir(os.path.dirname(target)) == ["model"], "the next writer clears up"
look()
print(json.dumps({"kills": kills, "found": dict(found), "left": asides}))
"""

CROWD = """
writers = [write_for_ever(place) for place in (0, 1, 0)]
rng, busy = random.Random(0), 0
try:
    while found.total() < int(amount[0]) or len(found) < 2:
        try:
            look()
        except DamagedFileError as error:
            assert "times while it was being read" in str(error), error
            busy += 1
        if rng.random() < 0.1:
            place = rng.randrange(3)
            assert kill(writers[place]), "a writer ended by itself"
            writers[place] = write_for_ever(place % 2)
finally:
    ended = [kill(pid) for pid in writers]
assert all(ended), "a writer ended by itself"
save_model(models[0], target, overwrite=True)
look()
print(json.dumps({"found": list(found.values()), "busy": busy}))
"""


@pytest.fixture
def two(build, tmp_path):
    """Two models in folders of their own."""
    return [save_model(build(kind)[0], tmp_path / kind) for kind in ("inside", "zero")]


def run(script, two, target, *amount):
    target.parent.mkdir()
    save_model(load_model(two[0]), target)
    arguments = [sys.executable, "-c", PREPARE + script, *map(str, (*two, target, *amount))]
    done = subprocess.run(arguments, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    assert [path.name for path in target.parent.iterdir()] == ["model"], "nothing is left beside it"
    return json.loads(done.stdout)


def test_a_writer_killed_at_any_moment_leaves_a_whole_model_and_the_next_one_clears_up(two, tmp_path):
    told = run(KILLS, two, tmp_path / "place" / "model")
    assert told["kills"] > 20, "a save has many moments"
    assert told["found"]["0"] > 10, "the old model, until the new one takes its place"
    assert told["found"]["1"] > 1, "the new one, afterwards"
    assert told["left"] > 10, "kills met unfinished folders"


def test_many_writers_some_killed_and_a_reader(two, tmp_path):
    told = run(CROWD, two, tmp_path / "place" / "model", N_LOOKS)
    assert len(told["found"]) == 2
    assert sum(told["found"]) > 10 * told["busy"]


def test_a_disk_that_ends_at_any_file_leaves_the_old_model(build, tmp_path):
    import resource

    old, X, y = build("zero")
    new, *_ = build("inside")
    target = save_model(old, tmp_path / "model")
    sizes = sorted(path.stat().st_size for path in save_model(new, tmp_path / "size").iterdir())
    before, failures = resource.getrlimit(resource.RLIMIT_FSIZE), set()
    for limit in (1, *(size - 1 for size in sizes), sizes[-1]):
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, before[1]))
        try:
            save_model(new, target, overwrite=True)
        except OSError as error:
            failures.add((error.errno, os.path.basename(error.filename or "")))
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, before)
        assert verify(target, X, y).ok == (limit < sizes[-1]), "the old one until it fits"
        assert sorted(path.name for path in tmp_path.iterdir()) == ["model", "size"]
    assert load_model(target).certificate == new.certificate, "the last limit is enough"
    assert {code for code, _ in failures} == {errno.EFBIG}
    assert len(failures) >= 2, "it ended at several files"
