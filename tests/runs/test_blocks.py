"""The cache of blocks is bounded, and forgets the oldest."""

from sonde.runs.blocks import OVERHEAD, BlockCache, Encoded


def block(size: int) -> Encoded:
    return Encoded(size, 1, b"x" * size)


def test_the_oldest_make_room() -> None:
    cache = BlockCache(limit=4 * (1000 + OVERHEAD))
    for number in range(6):
        cache.put(number, block(1000))
    assert [cache.get(number) is not None for number in range(6)] == [False, False] + [True] * 4
    assert cache.bytes <= cache.limit


def test_one_block_never_takes_most_of_it() -> None:
    cache = BlockCache(limit=4000)
    cache.put("large", block(3000))
    assert cache.get("large") is None
    assert cache.bytes == 0


def test_a_block_is_counted_once() -> None:
    cache = BlockCache()
    cache.put("a", block(10))
    cache.put("a", block(10))
    assert cache.bytes == 10 + OVERHEAD
