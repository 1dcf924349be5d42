"""Near vectors find what was kept; far ones, other buckets and evicted entries do not."""

from __future__ import annotations

import copy
import pickle
from concurrent.futures import ThreadPoolExecutor
from math import cos, sin

import pytest

from ragcache.connectors.proximity import ProximityCache, ProximityStats
from ragcache.errors import ConfigError


def at(angle: float) -> list[float]:
    return [cos(angle), sin(angle)]


def test_the_nearest_within_the_tolerance() -> None:
    cache = ProximityCache[str](0.1, bits=0)
    assert cache.get(at(0.0)) is None
    cache.put(at(0.0), "zero")
    cache.put(at(0.15), "more")
    found = [cache.get(at(angle)) for angle in (0.0, 0.05, 0.12, 0.5)]
    assert found == ["zero", "zero", "more", None]
    assert cache.stats == ProximityStats(hits=3, exact=1, misses=2)
    assert cache.stats.hit_rate == pytest.approx(0.6)


def test_length_does_not_count() -> None:
    cache = ProximityCache[str](0.0, bits=0)
    cache.put([2.0, 0.0], "x")
    assert cache.get([5.0, 0.0]) == "x"


def test_only_the_own_bucket_is_searched() -> None:
    cache = ProximityCache[str](2.0, bits=1)
    cache.put([1.0, 0.0], "x")
    assert cache.get([-1.0, 0.0]) is None  # the other side of any plane
    assert cache.get([1.0, 0.0]) == "x"
    everything = ProximityCache[str](2.0, bits=0)
    everything.put([1.0, 0.0], "x")
    assert everything.get([-1.0, 0.0]) == "x"


def test_a_full_bucket_drops_the_oldest() -> None:
    cache = ProximityCache[int](0.01, bits=0, bucket_size=2)
    for number in range(3):
        cache.put(at(number), number)
    assert [cache.get(at(number)) for number in range(3)] == [None, 1, 2]
    assert (len(cache), cache.stats.evicted) == (2, 1)
    cache.clear()
    assert (len(cache), cache.get(at(2))) == (0, None)


def test_buckets_are_the_same_in_every_process() -> None:
    one, other = ProximityCache[str](0.1, bits=8), ProximityCache[str](0.1, bits=8)
    for angle in range(6):
        one.put(at(angle), "x")
        other.put(at(angle), "x")
    assert list(one._buckets) == list(other._buckets)
    assert len(one._buckets) > 1


def test_a_copy_is_the_cache_itself_and_a_pickle_is_empty() -> None:
    cache = ProximityCache[str](0.1, bits=2, bucket_size=3, seed=4)
    cache.put(at(0.0), "zero")
    assert copy.deepcopy([cache])[0] is cache is copy.copy(cache)
    again = pickle.loads(pickle.dumps(cache))
    assert (again.tolerance, again.bits, again.bucket_size, again.seed, len(again)) == (0.1, 2, 3, 4, 0)


def test_threads_lose_nothing() -> None:
    cache = ProximityCache[int](0.0, bits=2, bucket_size=1000)
    with ThreadPoolExecutor(8) as threads:
        list(threads.map(lambda number: cache.put(at(number / 100), number), range(400)))
        found = list(threads.map(lambda number: cache.get(at(number / 100)), range(400)))
    assert found == list(range(400))
    assert cache.stats == ProximityStats(hits=400, exact=400)


@pytest.mark.parametrize("options", [{"tolerance": -1}, {"tolerance": 3}, {"bits": 33}, {"bucket_size": 0}])
def test_values_out_of_range_are_refused(options: dict[str, float]) -> None:
    with pytest.raises(ConfigError, match=next(iter(options))):
        ProximityCache(**{"tolerance": 0.1, **options})  # type: ignore[arg-type]


@pytest.mark.parametrize("vector", [[], [0.0, 0.0], [float("nan"), 1.0], [[1.0]]])
def test_what_has_no_direction_is_refused(vector: list[float]) -> None:
    with pytest.raises(ConfigError, match="no direction"):
        ProximityCache[str](0.1).put(vector, "x")


def test_another_dimension_is_refused() -> None:
    cache = ProximityCache[str](0.1)
    cache.put([1.0, 0.0], "x")
    with pytest.raises(ConfigError, match="3 dimensions, the cache 2"):
        cache.get([1.0, 0.0, 0.0])
