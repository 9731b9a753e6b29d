"""Memory that is free is given back where the C library can, and nothing happens where it cannot."""

import pytest

from pbgnet import memory


@pytest.fixture(autouse=True)
def forgotten():
    """Look the function of the library up again, before and after."""
    memory._trim.cache_clear()
    yield
    memory._trim.cache_clear()


def test_memory_is_given_back_by_the_library(monkeypatch):
    calls = []

    class Library:
        def __init__(self, name):
            assert name is None

        malloc_trim = staticmethod(calls.append)

    monkeypatch.setattr(memory.ctypes, "CDLL", Library)
    memory.release_free_memory()
    memory.release_free_memory()
    assert calls == [0, 0]


@pytest.mark.parametrize("found", [OSError, TypeError, object])
def test_where_the_library_cannot_nothing_happens(monkeypatch, found):
    def library(name):
        if found is object:
            return object()
        raise found

    monkeypatch.setattr(memory.ctypes, "CDLL", library)
    memory.release_free_memory()


def test_it_works_here():
    memory.release_free_memory()
