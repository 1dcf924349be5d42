"""The probe: one forward of the live rows, and the influence of every frozen token on the masks."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from ragcache.decoding.canvas import Canvas
from ragcache.decoding.step import forward
from ragcache.model.checkpoint import save_model
from ragcache.reuse.context import ReuseContext
from ragcache.reuse.criteria import Influence
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


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("kind", CONFIGS)
def test_scores_equal_the_reference(kind: str, backend: str, tmp_path: Path) -> None:
    fast = Fast(tiny_model(CONFIGS[kind]), backend_named(backend))
    config = fast.model.config
    canvas = Canvas([i for _, ids in PARTS for i in ids], MASKS, MASKS, config.mask_id)
    segments = fast.segments(PARTS)
    kv = fast.backend(config, canvas.tokens, segments, torch.float32, torch.device("cpu"))
    frozen = torch.tensor([*range(4), *range(9, 20)])
    live = torch.tensor([p for p in range(canvas.tokens) if p not in frozen.tolist()])
    masked = torch.arange(23, 29)
    context = ReuseContext(canvas.token_ids, live, frozen, masked, kv, segments, fast.model)
    work = Influence().score(context)
    step = next(work)
    assert step.positions.tolist() == live.tolist()
    assert (len(step.sample), step.kind) == (0, "probe")
    with pytest.raises(StopIteration) as end:
        work.send(forward(fast.model, [step])[0])
    scores = end.value.value

    save_model(fast.model, tmp_path)
    plain = ReferenceModel(tmp_path)
    wanted = influence(plain, canvas.token_ids.tolist(), range(23, 29), place(plain, PARTS))
    torch.testing.assert_close(scores.double(), torch.from_numpy(wanted), atol=1e-4, rtol=0)
    # one softmax per mask, head and layer over all affixes together: they compete for its mass
    assert scores.sum().item() == pytest.approx(MASKS * config.heads * config.layers, rel=1e-5)
