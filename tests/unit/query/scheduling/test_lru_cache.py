"""Values by key, of which the most recently used stay."""

from concurrent.futures import ThreadPoolExecutor

from helix_query.scheduling.lru_cache import LruCache


def test_the_least_recently_used_value_goes_first() -> None:
    """A look counts as a use, and so does a new value."""
    kept: LruCache[str, int] = LruCache(2)
    kept.put("a", 1)
    kept.put("b", 2)
    assert kept.get("a") == 1
    kept.put("c", 3)
    assert [kept.get(key) for key in "abc"] == [1, None, 3]
    kept.put("a", 4)
    kept.put("d", 5)
    assert [kept.get(key) for key in "acd"] == [4, None, 5]
    kept.discard("a")
    kept.discard("unknown")
    assert [kept.get(key) for key in "ad"] == [None, 5]


def test_threads_never_get_the_value_of_another_key() -> None:
    """And there are never more values than the capacity."""
    kept: LruCache[int, int] = LruCache(8)

    def work(start: int) -> bool:
        for number in range(start, start + 2_000):
            key = number % 16
            kept.put(key, -key)
            if kept.get(key) not in (-key, None) or len(kept) > 8:
                return False
        return True

    with ThreadPoolExecutor(8) as pool:
        assert all(pool.map(work, range(8)))
