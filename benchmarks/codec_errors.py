"""What each codec changes of pages that nano makes, and how small it makes them."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path

import torch
from torch import Tensor

from ragcache.decoding.encode import encode_affixes
from ragcache.engine import load
from ragcache.page import Page
from ragcache.registry import CODECS, Codec

HANDBOOK = Path(__file__).parents[1] / "examples" / "handbook"
DEPTH = 4  # of nano's 8 layers: where hidden states are kept


@dataclass(frozen=True)
class CodecError:
    """Relative errors (Frobenius norm, root mean square over tensors); `size` is a share of raw's bytes."""

    codec: str
    size: float
    keys: float
    values: float
    hidden: float

    def as_json(self) -> dict[str, str | float]:
        """Every field, rounded."""
        return {n: round(v, 5) if isinstance(v, float) else v for n, v in asdict(self).items()}


def codec_errors(documents: int = 8) -> list[CodecError]:
    """One for every codec, over bfloat16 pages of the handbook's first `documents`."""
    model = load("nano", device="cpu", dtype=torch.bfloat16)
    texts = [path.read_text(encoding="utf-8") for path in sorted(HANDBOOK.glob("*.md"))[:documents]]
    ids = [model.tokenizer.encode(text).ids for text in texts]
    pages = encode_affixes(model.predictor, ids, depths=(DEPTH,))
    return [measure(codec, pages) for codec in CODECS.values()]


def measure(codec: Codec, pages: list[Page]) -> CodecError:
    """The error of `codec` over all of `pages`."""
    found = [codec.round_trip(page) for page in pages]
    return CodecError(
        codec.name,
        size=sum(map(codec.stored_bytes, pages)) / sum(page.size_bytes for page in pages),
        keys=error((f.keys, p.keys) for f, p in zip(found, pages, strict=True)),
        values=error((f.values, p.values) for f, p in zip(found, pages, strict=True)),
        hidden=error((f.hidden.values(), p.hidden.values()) for f, p in zip(found, pages, strict=True)),
    )


def error(pairs: Iterable[tuple[Iterable[Tensor], Iterable[Tensor]]]) -> float:
    """Root mean square of the tensors' relative errors."""
    squares = [
        float(((ours.double() - given.double()).norm() / given.double().norm()) ** 2)
        for found, page in pairs
        for ours, given in zip(found, page, strict=True)
    ]
    return math.sqrt(sum(squares) / len(squares))
