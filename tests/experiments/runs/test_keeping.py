"""What is kept is made once."""

import threading
import time
from concurrent.futures import ThreadPoolExecutor

from pbgnet.experiments.runs.keeping import kept


def test_threads_that_ask_together_get_one_result():
    made = []

    @kept(4)
    def make(name):
        time.sleep(0.05)
        made.append((name, threading.get_ident()))
        return object()

    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(make, ["rows"] * 8))
    assert len(made) == 1
    assert len(set(map(id, found))) == 1


def test_only_the_last_ones_are_kept():
    made = []

    @kept(2)
    def make(name):
        made.append(name)
        return name

    for name in ("a", "b", "a", "c", "b"):
        make(name)
    assert made == ["a", "b", "c", "b"]


def test_an_error_is_not_kept():
    calls = []

    @kept(2)
    def make():
        calls.append(1)
        if len(calls) == 1:
            raise OSError
        return 1

    try:
        make()
    except OSError:
        assert make() == 1
