"""How each family is decoded unless a request says otherwise, and Dream's samplers by their names."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from types import MappingProxyType

from ragcache.decoding.commit import CommitRule, ConfidenceThreshold, EntropyBound, Times
from ragcache.decoding.denoise import DecodingOptions
from ragcache.errors import ConfigError
from ragcache.model.config import ModelConfig


@dataclass(frozen=True)
class DecodingDefaults:
    """A family's habits and where they are from; `block_length` None is the model's own causal block."""

    block_length: int | None
    rule: CommitRule
    confidence: str
    source: str
    top_k: int | None = None


_FAST_DLLM = "Fast-dLLM (arXiv 2505.22618): threshold 0.9, blocks of 32"
DEFAULTS: Mapping[str, DecodingDefaults] = MappingProxyType(
    {
        "llada": DecodingDefaults(32, ConfidenceThreshold(0.9), "low_confidence", _FAST_DLLM),
        "dream": DecodingDefaults(
            32,
            ConfidenceThreshold(0.9),
            "maskgit_plus",
            f"{_FAST_DLLM}; top-k 50 is transformers' own default, which its confidences are measured under",
            top_k=50,
        ),
        "sdar": DecodingDefaults(
            None,
            ConfidenceThreshold(0.9),
            "low_confidence",
            "SDAR (arXiv 2510.06303): low_confidence_dynamic remasking within the model's block",
        ),
        "llada2": DecodingDefaults(
            None,
            ConfidenceThreshold(0.95),
            "low_confidence",
            "model card of LLaDA 2.0: threshold 0.95, blocks of 32",
        ),
        "diffusion_gemma": DecodingDefaults(
            None,
            EntropyBound(0.1),
            "entropy",
            "transformers' defaults, where generation_config.json says nothing else; arXiv 2505.24857",
        ),
    }
)

# Dream's `alg` -> confidence; all but the last commit by its schedule of times (arXiv 2508.15487)
SAMPLERS: Mapping[str, str] = MappingProxyType(
    {
        "origin": "random",
        "maskgit_plus": "maskgit_plus",
        "topk_margin": "topk_margin",
        "entropy": "entropy",
        "confidence_threshold": "maskgit_plus",
    }
)


def with_defaults(options: DecodingOptions, config: ModelConfig) -> DecodingOptions:
    """`options`, with the family's habits where they say nothing.

    Raises `ConfigError` for a block that a block-causal model cannot decode: its blocks are those of its
    attention. And for anything but a length and a seed given to a model with a sampler of its own.
    """
    if config.canvas is not None:
        return _own_sampler(options, config.canvas.length)
    habits, block = DEFAULTS[config.family], config.causal_block
    if block and options.block_length not in (None, block):
        raise ConfigError(
            f"block_length is {options.block_length}, but this model's attention has blocks of {block}; "
            "leave it out"
        )
    return replace(
        options,
        block_length=options.block_length or block or habits.block_length,
        rule=options.rule or habits.rule,
        confidence=options.confidence or habits.confidence,
        top_k=options.top_k or habits.top_k,
    )


def _own_sampler(options: DecodingOptions, canvas: int) -> DecodingOptions:
    """`options` with blocks that are canvases."""
    usual = DecodingOptions(max_tokens=options.max_tokens, seed=options.seed)
    if options.block_length == canvas:
        usual = replace(usual, block_length=canvas)
    if odd := [f.name for f in fields(options) if getattr(options, f.name) != getattr(usual, f.name)]:
        raise ConfigError(
            f"{', '.join(odd)}: this model denoises canvases of {canvas} tokens with a sampler of its own, "
            "set by its generation_config.json; leave all but max_tokens and seed out"
        )
    return replace(options, block_length=canvas)


def with_sampler(
    options: DecodingOptions, alg: str, *, steps: int | None = None, threshold: float = 0.9
) -> DecodingOptions:
    """`options` with the commit rule and confidence of Dream's sampler `alg`; `steps` are those of a block.

    `with_sampler(DecodingOptions(64, 64, cache="none"), "entropy", steps=64)` is how Dream's own generation
    code decodes. There chance says how many positions `origin` commits; here it is the number expected.
    Raises `ConfigError` for an unknown name, or without the steps that all but `confidence_threshold` need.
    """
    if alg not in SAMPLERS:
        raise ConfigError(f"unknown sampler {alg!r}; known: {', '.join(SAMPLERS)}")
    if alg == "confidence_threshold":
        return replace(options, rule=ConfidenceThreshold(threshold), confidence=SAMPLERS[alg])
    if steps is None:
        raise ConfigError(f"sampler {alg!r} needs a number of steps")
    return replace(options, rule=Times(steps), confidence=SAMPLERS[alg])
