"""Block decoding and ACache on the reference model, written straight down from the papers."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from itertools import pairwise

import numpy as np

from reference.llada import Array, Cache, ReferenceModel, softmax

Parts = Sequence[tuple[bool, Sequence[int]]]
# (probabilities sorted descending, forwards of the block so far, masks of the block at its start) -> how many
Count = Callable[[Sequence[float], int, int], int]


def threshold(value: float) -> Count:
    """All at or above `value`, and always the best."""
    return lambda confidence, step, masks: max(1, sum(c >= value for c in confidence))


def fixed_steps(steps: int) -> Count:
    """Masks split evenly over the steps, the remainder to the first."""
    return lambda confidence, step, masks: masks // steps + (1 if step < masks % steps else 0)


def decode(
    model: ReferenceModel,
    prompt: Sequence[int],
    gen_length: int,
    block_length: int,
    count: Count,
    mode: str,
    frozen: Cache | None = None,
) -> list[int]:
    """Answer ids. `frozen` holds the K/V of positions that are never computed; none by default."""
    ids = [*prompt, *[model.mask_id] * gen_length]
    cache = [dict(layer) for layer in frozen] if frozen is not None else model.empty_cache()
    live = [p for p in range(len(ids)) if p not in cache[0]]
    for block in blocks(model, len(prompt), len(ids), block_length):
        step, rows = 0, live
        while any(ids[p] == model.mask_id for p in block):
            logits = dict(zip(rows, model.forward_rows([ids[p] for p in rows], rows, cache), strict=True))
            first_alone = model.shift and mode != "none" and step == 0
            commit(model, ids, block[:1] if first_alone else block, logits, count, step, len(block))
            step, rows = step + 1, refine_rows(model, mode, live, block)
    return ids[len(prompt) :]


def blocks(model: ReferenceModel, start: int, stop: int, block_length: int) -> list[range]:
    """The answer's blocks; those of a block-causal model lie on the grid of its attention."""
    origin = 0 if model.block else start
    grid = range(origin, stop + block_length, block_length)
    edges = [start, *(edge for edge in grid if start < edge < stop), stop]
    return [range(a, b) for a, b in pairwise(edges)]


def refine_rows(model: ReferenceModel, mode: str, live: list[int], block: range) -> list[int]:
    """What a forward after the first computes; prompt tokens within a block-causal block belong to it."""
    if mode == "none":
        return live
    start = block.start // model.block * model.block if model.block else block.start
    return [p for p in live if p >= start and (mode == "prefix" or p < block.stop)]


def commit(
    model: ReferenceModel,
    ids: list[int],
    block: range,
    logits: dict[int, Array],
    count: Count,
    step: int,
    masks: int,
) -> None:
    """Turn the most confident masks of the block into tokens, in place."""
    proposals = []
    for position in block:
        if ids[position] == model.mask_id:
            own = logits[max(position - model.shift, 0)]
            allowed = own.copy()
            allowed[model.mask_id] = -np.inf
            token = int(allowed.argmax())
            proposals.append((-model.probabilities(own)[token], position, token))
    proposals.sort()
    for _, position, token in proposals[: count([-p[0] for p in proposals], step, masks)]:
        ids[position] = token


def encode(model: ReferenceModel, ids: Sequence[int]) -> Cache:
    """K before RoPE and V of an affix alone, at positions 0..n-1."""
    raw = model.empty_cache()
    model.forward_rows(ids, range(len(ids)), model.empty_cache(), raw)
    return raw


def place(model: ReferenceModel, parts: Parts) -> Cache:
    """All affixes of a prompt, each encoded alone, at their true positions; not what is always computed."""
    cache, offset = model.empty_cache(), 0
    for is_affix, ids in parts:
        for layer, columns in enumerate(encode(model, ids) if is_affix else []):
            for index, (key, value) in columns.items():
                position = offset + index
                cache[layer][position] = model.turn(key, position), value
        offset += len(ids)
    for position in always_live(model, parts):
        for columns in cache:
            columns.pop(position, None)
    return cache


def always_live(model: ReferenceModel, parts: Parts) -> list[int]:
    """The row that the answer's first token is read from; an exact affix's rows in an unfinished block."""
    tokens = sum(len(ids) for _, ids in parts)
    read = [tokens - model.shift] if model.shift else []
    if not model.block or not parts[0][0]:
        return read
    return [*read, *range(len(exact(model, parts)), len(parts[0][1]))]


def exact(model: ReferenceModel, parts: Parts) -> range:
    """Positions whose K and V no context can change: whole blocks of an affix that begins the prompt."""
    if not model.block or not parts[0][0]:
        return range(0)
    return range(len(parts[0][1]) // model.block * model.block)


def influence(
    model: ReferenceModel,
    ids: Sequence[int],
    masked: Sequence[int],
    frozen: Cache,
    among: Sequence[int] | None = None,
    beside: Sequence[int] = (),
    first: int = 0,
) -> Array:
    """Attention each position `among` the frozen gets from the masks, over those keys; all heads.

    Keys `beside` them take their share of the attention too. Of the layers from `first` on.
    """
    live = [p for p in range(len(ids)) if p not in frozen[0]]
    among = list(frozen[0]) if among is None else among
    queries: list[Array] = []
    cache = [dict(layer) for layer in frozen]
    model.forward_rows([ids[p] for p in live], live, cache, queries=queries)
    total = np.zeros(len(among))
    for layer, q in enumerate(queries[first:], start=first):
        for position in masked:
            for head in range(model.heads):
                shared = head // (model.heads // model.kv_heads)
                keys = np.stack([cache[layer][p][0][shared] for p in (*among, *beside)])
                weights = softmax(keys @ q[live.index(position), head] / np.sqrt(q.shape[-1]))
                total += weights[: len(among)]
    return total


def choose_anchors(model: ReferenceModel, parts: Parts, gen_length: int, budget: float) -> list[int]:
    """Positions of the ceil(budget * affix tokens) most influential affix tokens, all affixes together."""
    prompt = [i for _, ids in parts for i in ids]
    frozen = place(model, parts)
    affix = [p for p in frozen[0] if p not in exact(model, parts)]
    number = math.ceil(round(budget * len(affix), 9))
    if number >= len(affix) or number == 0:
        return affix[:number]
    masked = range(len(prompt), len(prompt) + gen_length)
    scores = influence(model, [*prompt, *[model.mask_id] * gen_length], masked, frozen, affix)
    order = sorted(range(len(affix)), key=lambda i: (-scores[i], i))
    return sorted(affix[i] for i in order[:number])


def acache(
    model: ReferenceModel,
    parts: Parts,
    budget: float,
    gen_length: int,
    block_length: int,
    count: Count,
    mode: str = "dual",
) -> tuple[list[int], list[int]]:
    """Anchor positions and answer ids of a prompt with affixes."""
    anchors = choose_anchors(model, parts, gen_length, budget)
    frozen = [{p: kv for p, kv in layer.items() if p not in set(anchors)} for layer in place(model, parts)]
    prompt = [i for _, ids in parts for i in ids]
    return anchors, decode(model, prompt, gen_length, block_length, count, mode, frozen)
