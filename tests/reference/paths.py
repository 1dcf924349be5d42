"""Depth reuse and dLLM-Cache on the reference model, row by row."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from reference.generate import Parts, choose_anchors, commit, place
from reference.llada import Array, Cache, ReferenceModel


def one_layer(model: ReferenceModel, layer: int, x: Array, positions: Sequence[int], cache: Cache) -> Array:
    """Hidden states `[n, hidden]` of the rows after one layer; their K/V go to `cache`."""
    block = f"blocks.{layer}"
    q, k, v = model.project(layer, model.norm(f"{block}.attn_norm", x))
    for row, position in enumerate(positions):
        cache[layer][position] = model.turn(k[row], position), v[row]
    q = np.stack([model.turn(q[row], position) for row, position in enumerate(positions)])
    x = x + model.linear(f"{block}.attn_out", model.attend(q, positions, cache[layer]))
    return x + model.mlp(block, model.norm(f"{block}.ff_norm", x))


def embed(model: ReferenceModel, ids: Sequence[int]) -> Array:
    """Embeddings `[n, hidden]`."""
    found: Array = model.weights["model.transformer.wte.weight"][list(ids)]
    return found


def hidden_before(model: ReferenceModel, ids: Sequence[int], depth: int) -> Array:
    """Hidden states before layer `depth` of an affix alone."""
    x, cache = embed(model, ids), model.empty_cache()
    for layer in range(depth):
        x = one_layer(model, layer, x, range(len(ids)), cache)
    return x


def depth_reuse(
    model: ReferenceModel, parts: Parts, budget: float, depth: int, gen_length: int, threshold: float
) -> tuple[list[int], list[int]]:
    """Anchors and answer, one block: below `depth` all of an affix comes from its page, from there on only
    the anchors are computed, starting from the stored hidden states."""
    prompt = [i for _, ids in parts for i in ids]
    anchors = choose_anchors(model, parts, gen_length, budget)
    cache = place(model, parts)
    stored: dict[int, Array] = {}
    offset = 0
    for is_affix, part in parts:
        rows = hidden_before(model, part, depth) if is_affix else []
        stored |= {offset + index: row for index, row in enumerate(rows)}
        offset += len(part)
    ids = [*prompt, *[model.mask_id] * gen_length]
    block = range(len(prompt), len(ids))
    live = [p for p in range(len(ids)) if p not in stored or p in anchors]
    x = {p: embed(model, [ids[p]])[0] for p in live if p not in anchors}
    for layer in range(model.config["n_layers"]):
        if layer == depth:
            x |= {p: stored[p] for p in anchors}
        rows = sorted(x)
        after = one_layer(model, layer, np.stack([x[p] for p in rows]), rows, cache)
        x = dict(zip(rows, after, strict=True))
    step = 0
    logits = {p: model.head(model.norm("ln_f", x[p][None]))[0] for p in block}
    while True:
        commit(model, ids, block, logits, lambda c, s, m: max(1, sum(v >= threshold for v in c)), step, 0)
        if all(ids[p] != model.mask_id for p in block):
            return anchors, ids[len(prompt) :]
        refined = model.forward_rows([ids[p] for p in block], list(block), cache)
        logits, step = dict(zip(block, refined, strict=True)), step + 1


class DLLMReference:
    """dLLM-Cache on a prompt without affixes; features per layer and canvas row in plain dicts."""

    def __init__(self, model: ReferenceModel, prompt_every: int, response_every: int, rho: float) -> None:
        self.model, self.every, self.rho = model, (prompt_every, response_every), rho
        self.values: dict[tuple[int, int], Array] = {}
        self.added: dict[tuple[int, int], Array] = {}

    def decode(
        self, prompt: Sequence[int], gen_length: int, block_length: int, threshold: float
    ) -> list[int]:
        """Answer ids."""
        model = self.model
        ids, cache, number = [*prompt, *[model.mask_id] * gen_length], model.empty_cache(), 0
        canvas = range(len(prompt), len(ids))
        for start in range(len(prompt), len(ids), block_length):
            block = range(start, min(start + block_length, len(ids)))
            while any(ids[p] == model.mask_id for p in block):
                rows = list(range(len(ids))) if number % self.every[0] == 0 else list(canvas)
                partial = bool(number % self.every[0] and number % self.every[1])
                logits = self._forward([ids[p] for p in rows], rows, canvas, cache, partial)
                count = lambda c, s, m: max(1, sum(v >= threshold for v in c))  # noqa: E731
                commit(model, ids, block, logits, count, 0, 0)
                number += 1
        return ids[len(prompt) :]

    def _forward(
        self, ids: list[int], rows: list[int], canvas: range, cache: Cache, partial: bool
    ) -> dict[int, Array]:
        model = self.model
        x = dict(zip(rows, embed(model, ids), strict=True))
        for layer in range(model.config["n_layers"]):
            chosen = self._least_alike(layer, x, cache) if partial else rows
            own = np.stack([x[p] for p in chosen]) if chosen else np.zeros((0, len(x[rows[0]])))
            after = one_layer(model, layer, own, chosen, cache) if chosen else own
            for p, new in zip(chosen, after, strict=True):
                if p in canvas:
                    self.added[layer, p] = new - x[p]
                if not partial and p in canvas:
                    self.values[layer, p] = cache[layer][p][1]
                x[p] = new
            for p in set(rows) - set(chosen):
                x[p] = x[p] + self.added[layer, p]
        return {p: model.head(model.norm("ln_f", x[p][None]))[0] for p in canvas}

    def _least_alike(self, layer: int, x: dict[int, Array], cache: Cache) -> list[int]:
        model, likeness = self.model, []
        for p in sorted(x):
            h = model.norm(f"blocks.{layer}.attn_norm", x[p][None])
            v = model.linear(f"blocks.{layer}.v_proj", h).reshape(model.kv_heads, -1)
            old = self.values[layer, p]
            cosine = (v * old).sum() / np.linalg.norm(v) / np.linalg.norm(old)
            likeness.append((min(cosine, 1 - 1e-5), p))
            cache[layer][p] = cache[layer][p][0], v
            self.values[layer, p] = v
        return sorted(p for _, p in sorted(likeness)[: math.ceil(self.rho * len(x))])
