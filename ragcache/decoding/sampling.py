"""From logits to a proposed token and its confidence at every masked position."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

import torch
from torch import Tensor

from ragcache.errors import ConfigError

# probabilities [m, vocabulary], proposed tokens [m], chance -> confidence [m]
Measure = Callable[[Tensor, Tensor, torch.Generator], Tensor]


@dataclass(frozen=True)
class Confidence:
    """How sure the model is of a token.

    LLaDA measures the model's own probabilities; Dream those that tokens are `drawn` from, after temperature,
    top-k and top-p.
    """

    measure: Measure
    drawn: bool


def _of_token(probabilities: Tensor, tokens: Tensor, chance: torch.Generator) -> Tensor:
    return probabilities.gather(-1, tokens[:, None]).squeeze(-1)


def _margin(probabilities: Tensor, tokens: Tensor, chance: torch.Generator) -> Tensor:
    best = probabilities.topk(2, dim=-1).values
    return best[:, 0] - best[:, 1]


def _negative_entropy(probabilities: Tensor, tokens: Tensor, chance: torch.Generator) -> Tensor:
    return (probabilities * probabilities.clamp_min(1e-30).log()).sum(-1)


def _random(probabilities: Tensor, tokens: Tensor, chance: torch.Generator) -> Tensor:
    return _uniform(tokens.shape, chance).to(probabilities.device)


# Sources: LLaDA (arXiv 2502.09992) for low_confidence and random; Dream (arXiv 2508.15487) for its `alg`s
CONFIDENCES: Mapping[str, Confidence] = MappingProxyType(
    {
        "low_confidence": Confidence(_of_token, drawn=False),
        "maskgit_plus": Confidence(_of_token, drawn=True),
        "topk_margin": Confidence(_margin, drawn=True),
        "entropy": Confidence(_negative_entropy, drawn=True),
        "random": Confidence(_random, drawn=True),
    }
)


def confidence_named(name: str) -> Confidence:
    """The confidence measure `name`; `ConfigError` lists the known ones."""
    if name not in CONFIDENCES:
        raise ConfigError(f"unknown confidence {name!r}; known: {', '.join(CONFIDENCES)}")
    return CONFIDENCES[name]


def propose(
    logits: Tensor,
    *,
    mask_id: int,
    temperature: float,
    generator: torch.Generator,
    confidence: Confidence = CONFIDENCES["low_confidence"],
    top_k: int | None = None,
    top_p: float | None = None,
    banned: Tensor | None = None,
) -> tuple[Tensor, Tensor]:
    """Proposed tokens `[m]` and fp64 confidences `[m]` for logits `[m, vocabulary]`.

    The mask token is never proposed, nor what is `banned` `[m, vocabulary]`: they stay in the softmax, so
    probabilities are the model's own, but a model whose best guess is the mask token commits its second best.
    Temperature 0 is argmax, above it Gumbel-max in fp64, among the `top_k` best and the nucleus `top_p`.
    """
    wide = logits.to(torch.float64)
    drawn = narrow(wide / temperature if temperature > 0 else wide, top_k, top_p)
    allowed = _without(drawn, mask_id, banned)
    if top_k is not None or top_p is not None:
        # where they left nothing else, the best of the others stands in
        nothing = allowed.isinf().all(-1, keepdim=True)
        allowed = torch.where(nothing, _without(wide, mask_id, banned), allowed)
    if temperature > 0:
        uniform = _uniform(allowed.shape, generator).to(allowed.device)
        allowed = allowed - (-uniform.clamp_min(1e-300).log()).log()
    tokens = allowed.argmax(dim=-1)
    probabilities = torch.softmax(drawn if confidence.drawn else wide, dim=-1)
    return tokens, confidence.measure(probabilities, tokens, generator)


def narrow(logits: Tensor, top_k: int | None, top_p: float | None) -> Tensor:
    """`logits` `[m, vocabulary]`, -inf outside the `top_k` best and outside the nucleus of mass `top_p`.

    The nucleus (Holtzman et al., arXiv 1904.09751) is the fewest best tokens whose mass reaches `top_p`.
    """
    if top_p is not None and top_p < 1.0:
        ordered, order = logits.sort(dim=-1, descending=True, stable=True)
        shares = torch.softmax(ordered, dim=-1)
        outside = shares.cumsum(-1) - shares >= top_p  # the mass before it suffices
        logits = logits.masked_fill(torch.zeros_like(outside).scatter(-1, order, outside), float("-inf"))
    if top_k is not None and top_k < logits.shape[-1]:
        least = logits.topk(top_k, dim=-1).values[:, -1:]
        logits = logits.masked_fill(logits < least, float("-inf"))
    return logits


def _without(logits: Tensor, mask_id: int, banned: Tensor | None) -> Tensor:
    left = logits.clone()
    left[:, mask_id] = float("-inf")
    return left if banned is None else left.masked_fill(banned, float("-inf"))


def _uniform(shape: torch.Size, generator: torch.Generator) -> Tensor:
    return torch.rand(shape, dtype=torch.float64, device=generator.device, generator=generator)
