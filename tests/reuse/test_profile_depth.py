"""The depth profiler, against an obvious computation on the plain reference."""

from __future__ import annotations

import logging
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from ragcache.errors import ConfigError, InputError
from ragcache.model.checkpoint import save_model
from ragcache.reuse.depth import DepthTable
from ragcache.reuse.plan import depth_table
from ragcache.reuse.policy import parse_policy
from ragcache.reuse.profile_depth import DepthProfile, DepthProfiler
from reference.llada import Array, Cache, ReferenceModel
from reference.tiny import random_ids, tiny_model

TEXTS = [random_ids(60, 1), random_ids(50, 2), random_ids(45, 3)]
QUICK = DepthProfiler(threshold=0.9, shares=(0.0, 30.0, 60.0, 90.0))


def measured(profiler: DepthProfiler = QUICK, **options: object) -> DepthProfile:
    return profiler.measure(tiny_model(), TEXTS, name="tiny", **options)  # type: ignore[arg-type]


def pages(model: ReferenceModel, before: list[int], ids: list[int], after: list[int]) -> list[Array]:
    """Per layer, keys and values `[2, tokens, kv_heads * head_dim]` of `ids` between the other tokens."""
    raw: Cache = model.empty_cache()
    whole = [*before, *ids, *after]
    model.forward_rows(whole, range(len(whole)), model.empty_cache(), raw)
    return [
        np.stack([[layer[len(before) + i][kind].ravel() for i in range(len(ids))] for kind in (0, 1)])
        for layer in raw
    ]


def test_equals_the_obvious_computation(tmp_path: Path) -> None:
    predictor = tiny_model()
    save_model(predictor, tmp_path)
    model = ReferenceModel(tmp_path)
    profile = QUICK.measure(predictor, TEXTS, name="tiny")
    for share, row in zip(QUICK.shares, profile.similarity, strict=True):
        cosines: list[list[float]] = [[], [], []]
        for number, own in enumerate(TEXTS):
            tokens = int(len(own) / 0.9)
            size = max(round(share / 100 * tokens), 8)
            masks = min(32, (tokens - size) // 2)
            others = [i for text in [*TEXTS[number + 1 :], *TEXTS[:number], own[size:]] for i in text]
            request = others[: tokens - size - masks]
            half = len(request) // 2
            alone = pages(model, [], own[:size], [])
            within = pages(model, request[:half], own[:size], [*request[half:], *[59] * masks])
            for layer, (one, other) in enumerate(zip(alone, within, strict=True)):
                for token in range(size):
                    for kind in (0, 1):
                        a, b = one[kind, token], other[kind, token]
                        cosines[layer].append(a @ b / np.linalg.norm(a) / np.linalg.norm(b))
        np.testing.assert_allclose(row, [np.mean(layer) for layer in cosines], atol=1e-5)
    spread = [row[-1] for row in profile.similarity]
    assert max(spread) - min(spread) > 0.01  # else the shares were not told apart


def test_layer_0_depends_on_the_token_alone() -> None:
    for row in measured().similarity:
        assert row[0] == pytest.approx(1.0, abs=1e-6)
        assert row[1] < 0.999


def test_depths_count_leading_layers_and_never_fall() -> None:
    similarity = measured().similarity
    between = sorted(row[1] for row in similarity)
    for threshold in (0.0, *(sum(pair) / 2 for pair in pairwise(between)), 0.9999):
        table = measured(DepthProfiler(threshold=threshold, shares=QUICK.shares)).table
        leading = [next((i for i, v in enumerate(row) if v <= threshold), 3) for row in similarity]
        expected = [max(leading[: number + 1]) for number in range(len(leading))]
        assert [depth for _, depth in table.entries] == expected
    assert {depth for _, depth in measured(DepthProfiler(threshold=0.0)).table.entries} == {3}
    assert {depth for _, depth in measured(DepthProfiler(threshold=0.9999)).table.entries} == {1}


def test_a_fall_of_the_depth_is_levelled(monkeypatch: pytest.MonkeyPatch) -> None:
    depths = iter([1, 3, 2, 2])
    monkeypatch.setattr(DepthProfiler, "_depth", lambda *_: next(depths))
    assert measured().table == DepthTable("tiny", 3, ((0, 1), (30, 3), (60, 3), (90, 3)))


def test_policy_depth_takes_the_table() -> None:
    table = measured().table
    assert depth_table(parse_policy("depth"), 3, table) == table


def test_every_share_is_measured_on_every_sample_and_told() -> None:
    told: list[tuple[int, int]] = []
    measured(DepthProfiler(samples=2, shares=(0.0, 50.0)), progress=lambda *at: told.append(at))
    assert told == [(1, 4), (2, 4), (3, 4), (4, 4)]


@pytest.mark.parametrize("share", [0.0, 10.0, 50.0, 95.0])
def test_a_sample_fills_its_sequence(share: float) -> None:
    predictor, profiler = tiny_model(), DepthProfiler()
    pieces = [tuple(text) for text in TEXTS]
    affix, around = profiler.sample(pieces, 1, share, predictor)
    tokens = len(around.before) + len(affix) + len(around.after)
    assert tokens == int(50 / 0.95)
    assert len(affix) == min(max(round(share / 100 * tokens), 8), tokens - 2)
    assert affix == pieces[1][: len(affix)]
    masks = around.after.count(59)
    assert around.after[-masks:] == (59,) * masks
    assert 1 <= masks <= len(around.before) + len(around.after) - masks
    assert (*around.before, *around.after[:-masks])[:45] == pieces[2][: tokens - len(affix) - masks]


def test_long_texts_are_cut_and_the_window_is_kept() -> None:
    profiler, predictor = DepthProfiler(tokens=64), tiny_model()
    pieces = profiler._pieces([random_ids(200, 1)], 256)
    assert [len(piece) for piece in pieces] == [60, 60, 60]  # the last 20 are too few
    assert max(len(piece) for piece in DepthProfiler()._pieces([random_ids(999, 1)], 256)) == 243
    affix, around = profiler.sample(pieces, 0, 95.0, predictor)
    assert len(affix) + len(around.before) + len(around.after) <= 64


def test_short_texts_are_left_out_with_a_warning(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING, "ragcache"):
        profile = QUICK.measure(tiny_model(), [*TEXTS, [1, 2, 3]], name="tiny")
    assert "1 of 4 texts are too short" in caplog.text
    assert profile == measured()


@pytest.mark.parametrize("texts", [[], [[]], [random_ids(30, 1)], [random_ids(30, 1)] * 5])
def test_texts_too_short_for_the_largest_share(texts: list[list[int]]) -> None:
    with pytest.raises(InputError, match=r"texts too short: .* 40 are needed to measure a share of 95 %"):
        DepthProfiler().measure(tiny_model(), texts, name="tiny")


def test_a_window_too_small_for_the_largest_share() -> None:
    with pytest.raises(InputError, match="window of 256 tokens is below the 400"):
        DepthProfiler(shares=(0.0, 99.5)).measure(tiny_model(), TEXTS, name="tiny")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"threshold": 1.01}, r"threshold 1\.01 lies outside 0\.\.1"),
        ({"threshold": -0.1}, "threshold"),
        ({"threshold": float("nan")}, "threshold"),
        ({"samples": 0}, "samples must be at least 1"),
        ({"shares": ()}, "shares must rise"),
        ({"shares": (50.0, 10.0)}, "shares must rise"),
        ({"shares": (0.0, 100.0)}, "below 100"),
        ({"shares": (-1.0, 50.0)}, "below 100"),
        ({"tokens": 39}, "tokens must be at least 40"),
    ],
)
def test_settings_out_of_range(options: dict[str, object], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        DepthProfiler(**options)  # type: ignore[arg-type]
