"""Workers: what they put together, what they refuse, and what becomes of them when one dies."""

import time

import pytest
import torch

from pbgnet.workers import Workers, current_workers, joined

TOGETHER = """
import time
import torch
import pbgnet.workers
from pbgnet.exceptions import WorkersDifferError
from pbgnet.workers import current_workers, joined

pbgnet.workers.PATIENCE = 5.0

with joined() as workers:
    assert current_workers() is workers
    big = 2**61 + workers.rank
    assert workers.sum(torch.tensor([big, 1])).tolist() == [2**62 + 1, 2]
    rows = workers.gather_rows(torch.full((workers.rank + 1, 2), float(workers.rank)))
    assert rows.tolist() == [[0.0, 0.0], [1.0, 1.0], [1.0, 1.0]]
    span = workers.span(5)
    assert workers.gather_rows(torch.tensor(span)).tolist() == [0, 1, 2, 3, 4]
    time.sleep(8 * workers.rank)  # longer than a sum may take
    workers.check_alike({"the rows": "alike"})
    workers.barrier()
    try:
        workers.check_alike({"the rows": "ab" * (workers.rank + 1)})
    except WorkersDifferError as error:
        print(error)
assert current_workers().size == 1
"""

OTHER_VERSION = """
import os
import pbgnet
from pbgnet.exceptions import WorkersDifferError
from pbgnet.workers import joined

pbgnet.__version__ = "0.2" if os.environ["RANK"] == "1" else "0.1"
try:
    with joined():
        print("met")
except WorkersDifferError as error:
    print(error)
"""

ONE_DIES = """
import os, signal
import torch
from pbgnet.exceptions import WorkerLostError
from pbgnet.workers import joined

with joined() as workers:
    workers.sum(torch.ones(10, dtype=torch.int64))
    if workers.rank == 1:
        os.kill(os.getpid(), signal.SIGKILL)
    try:
        while True:
            workers.sum(torch.ones(100_000, dtype=torch.int64))
    except WorkerLostError as error:
        print(error)
"""


def test_a_worker_alone_needs_nobody():
    alone, numbers = Workers(), torch.tensor([1, 2])
    assert alone.sum(numbers).tolist() == [1, 2]
    assert alone.gather_rows(numbers) is numbers
    assert alone.span(7) == range(7)
    alone.barrier()
    alone.check_alike({"anything": "goes"})
    with joined() as workers:
        assert workers.size == current_workers().size == 1
    assert not torch.distributed.is_initialized()


@pytest.mark.parametrize("size", [1, 2, 3, 8])
def test_spans_cover_everything_once(size):
    spans = [Workers(rank, size).span(20) for rank in range(size)]
    assert [place for span in spans for place in span] == list(range(20))


def test_two_put_together_what_they_have(start_workers):
    for process in start_workers(TOGETHER, 2):
        out, err = process.communicate(timeout=300)
        assert process.returncode == 0, err
        assert "Worker 1 differs from worker 0 in the rows: abab instead of ab" in out


def test_other_versions_are_refused(start_workers):
    for process in start_workers(OTHER_VERSION, 2):
        out, err = process.communicate(timeout=300)
        assert process.returncode == 0, err
        assert "Worker 1 differs from worker 0 in the version of pbgnet: 0.2 instead of 0.1" in out


def test_the_others_learn_soon_who_died(start_workers):
    first, lost, last = start_workers(ONE_DIES, 3)
    lost.communicate(timeout=300)
    since = time.monotonic()
    for rank, process in ((0, first), (2, last)):
        out, err = process.communicate(timeout=300)
        assert "Worker 1 has died or cannot be reached" in out, err
        assert f"worker {rank} of 3 cannot continue" in out
    assert time.monotonic() - since < 60
