"""The work behind `ragcache models`; results are plain values, ready for JSON."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch

from ragcache.decoding.defaults import DEFAULTS, with_defaults
from ragcache.decoding.denoise import DecodingOptions
from ragcache.engine.loaded_model import check_vocabulary
from ragcache.engine.placement import name_of, parse_dtype, pick_devices
from ragcache.errors import CheckpointError
from ragcache.model.catalog import DESCRIPTION, HubModel, find_config, find_model, offline
from ragcache.model.checkpoint import Checkpoint
from ragcache.model.config import ModelConfig
from ragcache.model.config_file import read_config, read_raw
from ragcache.model.families import Family
from ragcache.model.layout import layout, size_bytes
from ragcache.model.memory import Load, free_bytes, memory_need
from ragcache.model.remote_headers import remote_headers
from ragcache.model.supported import FAMILIES
from ragcache.model.weights import read_tensors
from ragcache.prompt import ChatTokenizer

MOST_NAMED = 4
CANVASES = "causal prompt, exact prefixes alone; bidirectional canvases"


@dataclass(frozen=True)
class Ask:
    """The requests to be served, sizes in tokens; `max_tokens` None is the usual answer."""

    affix_tokens: int
    prompt_tokens: int
    max_tokens: int | None
    batch: int


def families() -> list[dict[str, Any]]:
    """One entry a family."""
    return [
        {
            "name": family.name,
            "model_type": family.model_type,
            "examples": family.examples,
            "attention": _kind(family),
            **_habits(family),
        }
        for family in FAMILIES.values()
    ]


def _kind(family: Family) -> str:
    if family.upstream:
        return CANVASES
    return "block-causal" if "causal_block" in family.fields else "bidirectional"


def _habits(family: Family) -> dict[str, str]:
    habits = DEFAULTS[family.name]
    block = habits.block_length or "the model's own"
    return {"decoding": f"block {block}, {habits.rule}, {habits.confidence}", "source": habits.source}


def describe(model: str, ask: Ask, *, device: str, dtype: str) -> dict[str, Any]:
    """What `config.json` says, and what serving `ask` needs. Raises ragcache's typed errors."""
    wanted, folder = parse_dtype(dtype), find_config(model)
    config = read_config(folder)
    chosen = tuple(dict.fromkeys(pick_devices(device, config.layers)))
    free = [free_bytes(one) for one in chosen]
    int8 = wanted == torch.int8
    kind = _stored(read_raw(folder)) if wanted is None or int8 else wanted
    shapes, _, _ = layout(config)
    options = with_defaults(DecodingOptions(), config)
    answer = ask.max_tokens or options.max_tokens
    answer = config.answer_tokens(answer)
    load = Load(ask.batch, ask.affix_tokens, ask.prompt_tokens, answer, options.block_length or answer)
    need = memory_need(config, kind, size_bytes(shapes, kind, int8=int8), load)
    return {
        "model_type": FAMILIES[config.family].model_type,
        "parameters": sum(shape.numel() for shape in shapes.values()),
        "layers": config.layers,
        "max_tokens": config.max_tokens,
        "attention": attention(config),
        "dtype": name_of(kind) + ", weights in int8" * int8,
        "kv_bytes_per_token": config.kv_elements_per_token * kind.itemsize,
        **_habits(FAMILIES[config.family]),
        "memory": {**asdict(need), "total_bytes": need.total_bytes},
        "device": ",".join(map(str, chosen)),
        "free_bytes": None if None in free else sum(size or 0 for size in free),
    }


def attention(config: ModelConfig) -> str:
    """One phrase: heads, and who sees whom."""
    if config.canvas is not None:
        return f"{config.heads} heads, {CANVASES} of {config.canvas.length}"
    sight = f"blocks of {config.causal_block}, causal" if config.causal_block else "bidirectional"
    return f"{config.heads} heads, {config.kv_heads} of keys and values, {sight}"


def _stored(raw: dict[str, Any]) -> torch.dtype:
    """What the weights are stored in, as far as config.json knows."""
    name = raw.get("torch_dtype") or raw.get("dtype")
    kind = getattr(torch, name, None) if isinstance(name, str) else None
    return kind if isinstance(kind, torch.dtype) and kind.is_floating_point else torch.bfloat16


def check_checkpoint(model: str, *, headers_only: bool | None) -> dict[str, Any]:
    """Tensors and files that were found sound, and what was `read`: headers, or every number.

    `headers_only` None is True for a hub id, of which nothing else is downloaded then.
    Raises `CheckpointError` naming what is not sound.
    """
    found = find_model(model)
    if headers_only is None:
        headers_only = isinstance(found, HubModel)
    checkpoint = _opened(found, headers_only)
    folder = checkpoint.folder
    check_vocabulary(folder, ChatTokenizer.from_folder(folder), checkpoint.config)
    if not headers_only:
        broken = [
            name for name, tensor in read_tensors(checkpoint.files) if not bool(tensor.isfinite().all())
        ]
        if broken:
            more = f" and {len(broken) - MOST_NAMED} more" if len(broken) > MOST_NAMED else ""
            raise CheckpointError(
                f"{folder}: NaN or infinite numbers in {', '.join(broken[:MOST_NAMED])}{more}; "
                "take the weights from the original checkpoint"
            )
    read = "headers" if headers_only else "every number"
    counts = {"tensors": len(checkpoint.stored), "files": len(checkpoint.files)}
    return {"model": model, **counts, "read": read, "ok": True}


def _opened(found: Path | HubModel, headers_only: bool) -> Checkpoint:
    if isinstance(found, Path):
        return Checkpoint.open(found)
    if not headers_only or offline():
        return Checkpoint.open(found.fetch())
    folder = found.fetch(DESCRIPTION)
    return Checkpoint.open(folder, remote_headers(found, folder))
