"""Load or recompute: the store is read until encoding has proved faster."""

from __future__ import annotations

import pytest
from engine.asks import RIVER, TOWN, ask_about

from ragcache.engine import Engine
from ragcache.engine.costs import SURE_AFTER, CostModel, Rate, RowCost
from ragcache.registry import Registry

REASON = "encoding is faster than reading here"


def measured(costs: CostModel, *, load_s: float, encode_s: float, times: int = SURE_AFTER) -> CostModel:
    """So many loads and encodings of 100 tokens each."""
    for _ in range(times):
        costs.loaded(100, load_s)
        costs.encoded(100, encode_s)
    return costs


def test_loading_is_preferred_until_both_are_known() -> None:
    costs = CostModel()
    assert not costs.encoding_is_faster(1)
    measured(costs, load_s=1.0, encode_s=0.1, times=SURE_AFTER - 1)
    assert not costs.encoding_is_faster(100)
    for _ in range(SURE_AFTER):
        costs.encoded(100, 0.1)
    assert not costs.encoding_is_faster(100)
    costs.loaded(100, 1.0)
    assert costs.encoding_is_faster(100)


@pytest.mark.parametrize(("load_s", "faster"), [(0.2, True), (0.1, False), (0.05, False)])
def test_the_faster_one_is_chosen(load_s: float, faster: bool) -> None:
    costs = measured(CostModel(), load_s=load_s, encode_s=0.1)
    assert [costs.encoding_is_faster(tokens) for tokens in (1, 100, 10_000)] == [faster] * 3


def test_old_measurements_fade() -> None:
    costs = measured(CostModel(), load_s=1.0, encode_s=0.1)
    measured(costs, load_s=0.001, encode_s=0.1, times=20)
    assert not costs.encoding_is_faster(100)


def test_a_rate_weighs_by_tokens() -> None:
    rate = Rate()
    rate.add(100, 1.0)
    assert rate.estimate_s(50) == pytest.approx(0.5)
    rate.add(20, 0.0)
    assert rate.estimate_s(100) == pytest.approx(0.8)


def test_an_engine_measures_what_it_does(engine: Engine, registry: Registry) -> None:
    costs = engine._source.costs
    engine.generate([ask_about(RIVER, TOWN)])
    assert (costs.load.seen, costs.encode.seen) == (0, 1)
    engine.generate([ask_about(RIVER, TOWN)])
    assert (costs.load.seen, costs.encode.seen) == (2, 1)
    assert min(costs.load.seconds, costs.encode.seconds) > 0
    stats = registry.stats()
    assert (stats.hits, stats.misses) == (2, 2)  # looking again before a build does not count


def test_an_engine_encodes_where_that_is_faster(engine: Engine, registry: Registry) -> None:
    (cold,) = engine.generate([ask_about(RIVER)])
    measured(engine._source.costs, load_s=100.0, encode_s=0.0)
    before = registry.stats()
    both = engine.generate([ask_about(RIVER), ask_about(TOWN)])
    assert [(c.reuse.affixes[0].status, c.reuse.affixes[0].reason) for c in both] == [("built", REASON)] * 2
    assert [c.bytes_read for c in both] == [0, 0]
    assert both[0].token_ids == cold.token_ids
    assert registry.stats() == before  # neither read nor written


def test_an_engine_loads_where_that_is_faster(engine: Engine) -> None:
    engine.generate([ask_about(RIVER)])
    measured(engine._source.costs, load_s=0.0, encode_s=100.0)
    (warm,) = engine.generate([ask_about(RIVER)])
    assert (warm.reuse.affixes[0].status, warm.reuse.affixes[0].reason) == ("hit", "")


def test_warming_stores_whatever_is_faster(engine: Engine, registry: Registry) -> None:
    measured(engine._source.costs, load_s=100.0, encode_s=0.0)
    for status in ("built", "hit"):
        (page,) = engine.warm([RIVER]).pages.values()
        assert (page.status, page.reason) == (status, "")
    assert len(registry.pages()) == 1


def test_warming_is_no_use_and_saves_nothing(engine: Engine, registry: Registry) -> None:
    for _ in range(3):
        engine.warm([RIVER])
    assert (registry.stats().hits, registry.stats().misses, registry.usage().saved_s) == (0, 0, 0.0)
    measured(engine._source.costs, load_s=0.0, encode_s=100.0)
    engine.generate([ask_about(RIVER)])
    assert (registry.stats().hits, registry.stats().misses, registry.usage().hits) == (1, 0, 1)


def test_a_rows_cost_leaves_out_what_every_forward_costs() -> None:
    cost = RowCost()
    assert cost.row_s == 0.0
    for rows in (10, 10, 50, 200):
        cost.add(rows, 0.5 + 0.01 * rows)
    assert cost.row_s == pytest.approx(0.01)
    one = RowCost()
    one.add(10, 1.0)
    assert one.row_s == 0.0  # a single size says nothing


def test_an_engine_watches_its_forwards(engine: Engine) -> None:
    (completion,) = engine.generate([ask_about(RIVER)])
    assert engine.row_cost.count == completion.forwards
    assert engine.row_cost.rows == completion.rows
