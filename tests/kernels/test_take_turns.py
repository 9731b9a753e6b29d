"""Work that threads take from one pile."""

import threading
import time

import pytest

from pbgnet.kernels import take_turns


def test_every_item_is_taken_once(two_threads):
    found = take_turns(list, range(100), operations=1e12)
    assert sorted(item for some in found for item in some) == list(range(100))


@pytest.mark.parametrize("in_main_thread", [True, False])
def test_where_one_fails_the_others_stop(two_threads, in_main_thread):
    done, both = [], threading.Barrier(2)

    def work(pile):
        both.wait(timeout=300)
        for item in pile:
            if (threading.current_thread() is threading.main_thread()) == in_main_thread:
                raise ValueError("no")
            time.sleep(0.01)
            done.append(item)

    with pytest.raises(ValueError, match="no"):
        take_turns(work, range(500), operations=1e12)
    assert len(done) < 400
