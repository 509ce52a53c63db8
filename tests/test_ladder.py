"""Ladders: every size has its place, few places serve many sizes, and padding is bounded."""

import numpy as np
import pytest

from hedgerow import ladder

SIZES = [*range(1, 3000), 4095, 4096, 4097, 65_536, 65_537, 10**6, 2**20, 2**20 + 1, 2 * 10**7]


def test_there_is_room_for_everything_in_few_sizes():
    rooms = [ladder.room(size) for size in SIZES]
    assert all(room >= size for room, size in zip(rooms, SIZES, strict=True))
    assert {ladder.room(size) for size in range(200, 10**6, 97)} == {
        *(256, 4096, 16_384, 65_536, 2**17, 2**18, 2**19, 2**20)
    }
    # from 2**20 on no more than so many rows are wasted
    assert ladder.room(2 * 10**7) - 2 * 10**7 < 2**20
    assert [ladder.room(ladder.room(size)) for size in SIZES] == rooms


def test_what_grows_along_changes_at_the_same_time():
    for each in (1, 3, 32):
        found = {(ladder.room(n), ladder.room_beside(n, each * n)) for n in range(65, 5000)}
        assert len(found) == len({room for room, _ in found}) == 3
        assert all(beside >= each * room for room, beside in found)
    assert ladder.room_beside(100, 30) == ladder.room(100)
    assert all(ladder.room_beside(n, 7777) >= 7777 for n in range(1, 7777, 13))


def test_near_sizes_waste_at_most_half():
    assert [ladder.near(n) for n in range(1, 14)] == [1, 2, 3, 4, 6, 6, 8, 8, 12, 12, 12, 12, 16]
    for size in SIZES:
        assert size <= ladder.near(size) < max(1.5 * size, 2)
        assert size <= ladder.doubling(size) < max(2 * size, 257)


@pytest.mark.parametrize("most", [1, 3, 20, 64, 1000, 10**9])
def test_pieces_are_few_sizes_and_waste_little(most):
    lengths = set()
    for size in SIZES:
        piece = ladder.piece(size, most)
        assert 1 <= piece <= most
        padded = -(-size // piece) * piece
        assert padded <= max(1.25 * size, size + 63)
        lengths.add(piece)
    assert len(lengths) <= 11
    assert all(np.log2(piece) % 1 == 0 for piece in lengths)
