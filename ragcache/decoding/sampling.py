"""From logits to a proposed token and its confidence at every masked position."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from ragcache.errors import ConfigError

# probabilities [m, vocabulary], proposed tokens [m] -> confidence [m]
Confidence = Callable[[Tensor, Tensor], Tensor]


def low_confidence(probabilities: Tensor, tokens: Tensor) -> Tensor:
    """Probability of the proposed token (LLaDA's `low_confidence` remasking)."""
    return probabilities.gather(-1, tokens[:, None]).squeeze(-1)


def topk_margin(probabilities: Tensor, tokens: Tensor) -> Tensor:
    """Best probability minus second best (Dream)."""
    best = probabilities.topk(2, dim=-1).values
    return best[:, 0] - best[:, 1]


def negative_entropy(probabilities: Tensor, tokens: Tensor) -> Tensor:
    """Minus the entropy in nats (Dream)."""
    return (probabilities * probabilities.clamp_min(1e-30).log()).sum(-1)


CONFIDENCES: dict[str, Confidence] = {
    "low_confidence": low_confidence,
    "topk_margin": topk_margin,
    "entropy": negative_entropy,
}


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
    confidence: Confidence = low_confidence,
) -> tuple[Tensor, Tensor]:
    """Proposed tokens `[m]` and fp64 confidences `[m]` for logits `[m, vocabulary]`.

    The mask token is never proposed: it stays in the softmax, so probabilities are the model's own, but a
    model whose best guess is the mask token commits its second best. Temperature 0 is argmax, above it
    Gumbel-max in fp64.
    """
    wide = logits.to(torch.float64)
    probabilities = torch.softmax(wide, dim=-1)
    allowed = wide.clone()
    allowed[:, mask_id] = float("-inf")
    if temperature > 0:
        uniform = torch.rand(
            allowed.shape, dtype=torch.float64, device=generator.device, generator=generator
        ).to(allowed.device)
        allowed = allowed / temperature - (-uniform.clamp_min(1e-300).log()).log()
    tokens = allowed.argmax(dim=-1)
    return tokens, confidence(probabilities, tokens)
