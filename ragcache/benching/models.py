"""The models that are benched: checkpoints, and random weights of a wished size."""

from __future__ import annotations

from dataclasses import replace

import torch

from ragcache.engine import LoadedModel, load
from ragcache.engine.loaded_model import refuse_upstream
from ragcache.engine.placement import computes_in, parse_dtype, pick_device
from ragcache.errors import ConfigError
from ragcache.model.catalog import find_checkpoint
from ragcache.model.config import ModelConfig
from ragcache.model.random_weights import config_of_size, random_predictor
from ragcache.prompt import ChatTokenizer
from ragcache.threads import in_own_thread

RANDOM = "random:"


def is_random(name: str) -> bool:
    """Whether `load_model` would make up weights, whose answers mean nothing."""
    return name.startswith(RANDOM)


def load_model(name: str, *, device: str = "auto", dtype: str = "auto") -> LoadedModel:
    """`random:SIZE` (`random:150m`), or whatever `ragcache.engine.load` takes.

    Random weights are bf16 unless `dtype` says otherwise, on one device. Raises `UnknownModelError` for a
    size that is none, `ConfigError` for a network that is not ours, and what `load` raises.
    """
    if not is_random(name):
        refuse_upstream(name)
        return load(name, device=device, dtype=dtype)
    config, chosen = config_of_size(name.removeprefix(RANDOM)), pick_device(device)
    asked = torch.bfloat16 if dtype == "auto" else parse_dtype(dtype)
    if asked is None or not computes_in(asked, chosen):
        raise ConfigError(f"{chosen} cannot compute random weights in {dtype}; use --dtype bf16 or fp32")
    return with_random_weights(name, config, asked, chosen)


def with_random_weights(
    name: str, config: ModelConfig, dtype: torch.dtype, device: torch.device
) -> LoadedModel:
    """Random weights behind nano's tokenizer, whose ids are fewer than any random model's."""
    tokenizer = ChatTokenizer.from_folder(find_checkpoint("nano"))
    predictor = in_own_thread(lambda: random_predictor(config, dtype=dtype, device=device))
    return LoadedModel(name, predictor, tokenizer, f"random {config.canonical()}", frozenset({config.eos_id}))


def never_stops(model: LoadedModel) -> LoadedModel:
    """`model` with answers of full length: what is timed does not depend on what is said."""
    return replace(model, stop_ids=frozenset())
