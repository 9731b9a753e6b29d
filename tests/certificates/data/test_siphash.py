"""SipHash as its authors have it, for many numbers at once."""

import numpy as np

from pbgnet.certificates.data.siphash import siphash

MASK = 2**64 - 1


def reference(message: int, key: tuple[int, int]) -> int:
    """The algorithm on Python's whole numbers, line by line as in the paper."""

    def turned(value, by):
        return (value << by | value >> (64 - by)) & MASK

    def rounds(v, count):
        for _ in range(count):
            v[0] = (v[0] + v[1]) & MASK
            v[2] = (v[2] + v[3]) & MASK
            v[1], v[3] = turned(v[1], 13) ^ v[0], turned(v[3], 16) ^ v[2]
            v[0] = turned(v[0], 32)
            v[2] = (v[2] + v[1]) & MASK
            v[0] = (v[0] + v[3]) & MASK
            v[1], v[3] = turned(v[1], 17) ^ v[2], turned(v[3], 21) ^ v[0]
            v[2] = turned(v[2], 32)

    v = [key[0] ^ 0x736F6D6570736575, key[1] ^ 0x646F72616E646F6D]
    v += [key[0] ^ 0x6C7967656E657261, key[1] ^ 0x7465646279746573]
    for block in (message, 8 << 56):
        v[3] ^= block
        rounds(v, 2)
        v[0] ^= block
    v[2] ^= 0xFF
    rounds(v, 4)
    return v[0] ^ v[1] ^ v[2] ^ v[3]


def test_the_example_of_the_authors():
    key = (0x0706050403020100, 0x0F0E0D0C0B0A0908)
    message = np.array([0x0706050403020100], dtype=np.uint64)
    assert siphash(message, key)[0] == 0x93F5F5799A932462 == reference(int(message[0]), key)


def test_many_numbers_are_hashed_each_by_itself(monkeypatch):
    values = np.random.default_rng(0).integers(0, 2**64, size=50, dtype=np.uint64)
    before = values.copy()
    monkeypatch.setattr("pbgnet.certificates.data.siphash.BLOCK", 7)
    assert siphash(values).tolist() == [reference(value, (0, 0)) for value in values.tolist()]
    np.testing.assert_array_equal(values, before)
    assert siphash(values[:0]).size == 0
