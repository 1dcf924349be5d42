"""The probe: one forward of the live rows, and how much attention every frozen token gets in it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import Tensor

from ragcache.decoding.canvas import Canvas
from ragcache.decoding.step import forward
from ragcache.model.checkpoint import save_model
from ragcache.model.reads import Reads
from ragcache.model.rows import LayerRows
from ragcache.model.scores import scores_of as attention_scores
from ragcache.reuse.context import AnchorCriterion, ReuseContext
from ragcache.reuse.criteria import AttentionMass, Influence, QuestionAndAnswer, QuestionAttention, attention
from reference.fast_path import BACKENDS, Fast, backend_named
from reference.generate import influence, place
from reference.llada import ReferenceModel
from reference.tiny import CONFIGS, random_ids, tiny_model

PARTS = [
    (True, random_ids(4, 1)),
    (False, random_ids(5, 2)),
    (True, random_ids(11, 3)),
    (False, random_ids(3, 4)),
]
MASKS = 6
FIRST, SECOND = range(4), range(9, 20)
FROZEN, QUESTION, MASKED = [*FIRST, *SECOND], range(20, 23), range(23, 29)
LIVE = [p for p in range(29) if p not in FROZEN]
# criterion -> the rows that are watched, the affix keys of one softmax, the keys beside these
CRITERIA: list[tuple[AnchorCriterion, range, list[Sequence[int]], Sequence[int]]] = [
    (Influence(), MASKED, [FROZEN], ()),
    (Influence(joint=False), MASKED, [FIRST, SECOND], ()),
    (AttentionMass(), MASKED, [FROZEN], LIVE),
    (QuestionAttention(), QUESTION, [FROZEN], LIVE),
]


def context_of(fast: Fast) -> ReuseContext:
    config = fast.model.config
    canvas = Canvas([i for _, ids in PARTS for i in ids], MASKS, MASKS, config.mask_id)
    segments = fast.segments(PARTS)
    kv = fast.backend(config, canvas.tokens, segments, torch.float32, torch.device("cpu"))
    live, frozen, masked = (torch.tensor([*positions]) for positions in (LIVE, FROZEN, MASKED))
    return ReuseContext(canvas.token_ids, live, frozen, masked, kv, segments, fast.model)


def scores_of(criterion: AnchorCriterion, context: ReuseContext) -> Tensor:
    work = criterion.score(context)
    step = next(work)
    assert step.positions.tolist() == LIVE
    assert (len(step.sample), step.kind) == (0, "probe")
    with pytest.raises(StopIteration) as end:
        work.send(forward(context.predictor, [step])[0])
    scores: Tensor = end.value.value
    return scores


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("kind", CONFIGS)
@pytest.mark.parametrize(
    ("criterion", "watched", "groups", "beside"), CRITERIA, ids=lambda c: getattr(c, "name", "")
)
def test_scores_equal_the_reference(
    criterion: AnchorCriterion,
    watched: range,
    groups: list[Sequence[int]],
    beside: Sequence[int],
    kind: str,
    backend: str,
    tmp_path: Path,
) -> None:
    fast = Fast(tiny_model(CONFIGS[kind]), backend_named(backend))
    context = context_of(fast)
    save_model(fast.model, tmp_path)
    plain, ids = ReferenceModel(tmp_path), context.token_ids.tolist()
    frozen = place(plain, PARTS)
    wanted = np.concatenate([influence(plain, ids, watched, frozen, group, beside) for group in groups])
    scores = scores_of(criterion, context)
    torch.testing.assert_close(scores.double(), torch.from_numpy(wanted), atol=1e-4, rtol=0)


@pytest.mark.parametrize("kind", CONFIGS)
def test_question_and_masks_count_the_same_however_many_they_are(kind: str, tmp_path: Path) -> None:
    fast = Fast(tiny_model(CONFIGS[kind]))
    context = context_of(fast)
    save_model(fast.model, tmp_path)
    plain, ids = ReferenceModel(tmp_path), context.token_ids.tolist()
    frozen, first = place(plain, PARTS), fast.model.config.layers // 2
    parts = [influence(plain, ids, rows, frozen, FROZEN, LIVE, first) for rows in (QUESTION, MASKED)]
    wanted = sum(part / part.sum() for part in parts)
    scores = scores_of(QuestionAndAnswer(), context)
    torch.testing.assert_close(scores.double(), torch.as_tensor(wanted), atol=1e-4, rtol=0)


def test_influence_is_shared_out_among_all_affixes() -> None:
    """One softmax per mask, head and layer over all affixes together: they compete for its mass."""
    fast = Fast(tiny_model())
    config = fast.model.config
    total = scores_of(Influence(), context_of(fast)).sum().item()
    assert total == pytest.approx(MASKS * config.heads * config.layers, rel=1e-5)


@pytest.mark.parametrize(
    ("criterion", "watched", "first"),
    [
        (Influence(), MASKS, 0),
        (AttentionMass(), MASKS, 0),
        (QuestionAttention(), len(QUESTION), 0),
        (QuestionAndAnswer(), len(QUESTION) + MASKS, 1),  # from the middle of two layers on
    ],
)
def test_no_attention_but_that_of_the_watched_rows_is_held(
    criterion: AnchorCriterion, watched: int, first: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[tuple[int, int]] = []

    def noted(
        reads: Reads, layer: int, rows: LayerRows, index: Tensor, among: Tensor | None
    ) -> Iterator[Tensor]:
        asked.append((layer, len(index)))
        return attention_scores(reads, layer, rows, index, among)

    monkeypatch.setattr(attention, "scores_of", noted)
    context = context_of(Fast(tiny_model()))
    scores_of(criterion, context)
    assert asked == [(layer, watched) for layer in range(first, context.predictor.config.layers)]
