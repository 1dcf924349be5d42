"""LLaDA-architecture models with random weights: the cost of real ones, without their answers."""

from __future__ import annotations

import re

import torch

from ragcache.errors import UnknownModelError
from ragcache.model.blank import blank
from ragcache.model.config import ModelConfig
from ragcache.model.transformer import MaskPredictor

WINDOW = 16_384
_HEAD = 64
_VOCABULARIES = (32_768, 16_384, 8_192)  # all larger than that of nano's tokenizer
_UNIT = 3 * _HEAD  # of such widths, 8/3 are whole: the usual size of a SwiGLU MLP
_WIDEST = 64 * _UNIT
_ASPECT = 64  # width a layer, about that of published models of 100 M to 1 B parameters
_SIZE = re.compile(r"(\d+(?:\.\d+)?)([mb])", re.ASCII | re.IGNORECASE)
_UNITS = {"m": 10**6, "b": 10**9}
SMALLEST, LARGEST = 4 * 10**6, 10**11


def random_config(*, layers: int = 12, width: int = 768, embedding_rows: int = 32_768) -> ModelConfig:
    """Heads of 64; about 135 M parameters at the defaults, 85 M of them in the layers."""
    return ModelConfig(
        hidden_size=width, layers=layers, heads=width // _HEAD, kv_heads=width // _HEAD, head_dim=_HEAD,
        mlp_size=width * 8 // 3, embedding_rows=embedding_rows, max_tokens=WINDOW, rope_theta=500_000.0,
        norm_eps=1e-5, qkv_bias=False, tied_head=False, mask_id=embedding_rows - 1, eos_id=embedding_rows - 2,
        pad_id=embedding_rows - 2,
    )  # fmt: skip


def config_of_size(size: str) -> ModelConfig:
    """The model of about `size` parameters: `150m`, `1b`.

    The largest vocabulary (8,192 to 32,768) whose embeddings are at most half of the parameters, layers that
    can be halved, and a width of about 64 a layer. Raises `UnknownModelError` for what is no size from 4m
    to 100b.
    """
    match = _SIZE.fullmatch(size)
    wanted = float(match[1]) * _UNITS[match[2].lower()] if match else 0.0
    if not SMALLEST <= wanted <= LARGEST:
        raise UnknownModelError(
            f"random:{size[:40]} is no size; give 4m to 100b parameters: random:5m, random:150m, random:1b"
        )
    shapes = []
    for width in range(_UNIT, _WIDEST + 1, _UNIT):
        rows = next((rows for rows in _VOCABULARIES if 4 * rows * width <= wanted), _VOCABULARIES[-1])
        layers = max(2, 2 * round((wanted - 2 * rows * width) / (12 * width**2) / 2))
        shapes.append((layers, width, rows))
    layers, width, rows = min(shapes, key=lambda shape: _misfit(shape, wanted))
    return random_config(layers=layers, width=width, embedding_rows=rows)


def _misfit(shape: tuple[int, int, int], wanted: float) -> tuple[bool, float]:
    """Shapes that miss the size by more than a tenth last, then by how unusual their aspect is."""
    layers, width, rows = shape
    parameters = 2 * rows * width + 12 * layers * width**2
    aspect = width / layers / _ASPECT
    return abs(parameters / wanted - 1.0) > 0.1, max(aspect, 1.0 / aspect)


def random_predictor(
    config: ModelConfig,
    *,
    dtype: torch.dtype = torch.bfloat16,
    device: torch.device | str = "cpu",
    seed: int = 0,
) -> MaskPredictor:
    """Weights from N(0, 0.02), norms 1; the same for the same `seed` and device."""
    generator = torch.Generator(device).manual_seed(seed)
    with blank():
        model = MaskPredictor(config)
    model = model.to(dtype).to_empty(device=device)
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.ndim == 1:
                parameter.fill_(1.0)
            else:
                parameter.normal_(0.0, 0.02, generator=generator)
    return model.requires_grad_(False).eval()


def parameter_count(model: MaskPredictor) -> int:
    """Numbers in the weights."""
    return sum(parameter.numel() for parameter in model.parameters())
