from __future__ import annotations

import pytest

from ragcache.errors import ConfigError
from ragcache.registry import GDSF, LFU, LRU
from ragcache.registry.replay import Costs, replay
from ragcache.registry.trace import TraceAffix

COSTS = Costs(bytes_per_token=1, encode_s_per_token=1.0, encode_s_per_pair=0.0, load_s_per_byte=0.25)


def requests(ids: str, **affix: float) -> list[list[TraceAffix]]:
    return [[TraceAffix(name, 10, **affix)] for name in ids]


def test_hits_tokens_and_seconds_are_counted() -> None:
    found = replay(requests("abaa"), LRU(), 100, COSTS)
    assert (found.requests, found.affixes, found.tokens) == (4, 4, 40)
    assert (found.hits, found.hit_tokens, found.token_hit_rate) == (2, 20, 0.5)
    assert (found.encode_s, found.saved_s, found.evicted) == (40.0, 15.0, 0)


@pytest.mark.parametrize(
    ("policy", "ids", "hits"),
    [(LRU(), "abcacb", 1), (LRU(), "aaabcbcbc", 6), (LFU(), "aaabcbcbca", 3), (GDSF(), "aaabcbcbcbcbc", 8)],
)
def test_two_pages_fit(policy: LRU | LFU | GDSF, ids: str, hits: int) -> None:
    """By hand: LFU never lets go of a, LRU and GDSF do."""
    assert replay(requests(ids), policy, 20, COSTS).hits == hits


def test_gdsf_keeps_what_is_costly_for_its_size() -> None:
    costly, cheap = TraceAffix("costly", 10, encode_s=1000.0), [TraceAffix(str(n), 10) for n in range(5)]
    trace = [[costly], *([affix] for affix in cheap), [costly]]
    assert [replay(trace, policy, 20, COSTS).hits for policy in (LRU(), LFU(), GDSF())] == [0, 0, 1]


def test_what_loads_slower_than_it_encodes_saves_nothing() -> None:
    found = replay(requests("aaa", encode_s=0.5), GDSF(), 20, COSTS)
    assert (found.hits, found.saved_s) == (2, 0.0)


def test_same_affix_twice_in_a_request_is_one_and_another_length_another_page() -> None:
    twice = [TraceAffix("a", 10), TraceAffix("a", 10)]
    found = replay([twice, [TraceAffix("a", 11)]], LRU(), 100, COSTS)
    assert (found.affixes, found.hits) == (2, 0)


def test_affix_over_the_limit_is_never_stored() -> None:
    found = replay(
        [[TraceAffix("a", 10)], *requests("bb"), [TraceAffix("big", 50)] * 2, *requests("b")],
        LRU(),
        20,
        COSTS,
    )
    assert (found.hits, found.evicted) == (2, 0)


def test_empty_trace_and_impossible_costs() -> None:
    assert replay([], LRU(), 1, COSTS).token_hit_rate == 0.0
    with pytest.raises(ConfigError, match="limit_bytes"):
        replay([], LRU(), 0, COSTS)
    for wrong in ({"bytes_per_token": 0}, {"load_s_per_byte": -1.0}, {"encode_s_per_pair": float("nan")}):
        with pytest.raises(ConfigError, match=next(iter(wrong))):
            Costs(**wrong)
