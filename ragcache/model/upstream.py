"""DiffusionGemma's network, a class of transformers: that library reads its config, and makes it."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from ragcache.errors import CheckpointError, ConfigError, MissingDependencyError
from ragcache.model.blank import blank, blank_parameters
from ragcache.model.config import CanvasConfig, ModelConfig
from ragcache.model.families import Raw

HABITS = "generation_config.json"


def library() -> Any:
    """transformers, with the class. Raises `MissingDependencyError`."""
    try:
        import transformers

        _ = transformers.DiffusionGemmaForBlockDiffusion
    except (ImportError, AttributeError) as error:
        raise MissingDependencyError(
            "DiffusionGemma is computed by the class of that name in transformers, which is missing or too "
            "old. Run: pip install 'ragcache-dllm[gemma]'"
        ) from error
    return transformers


def read_network(path: Path, raw: Raw, family: str) -> ModelConfig:
    """What the `config.json` at `path`, read as `raw`, says, with all that the library fills in.

    Raises `CheckpointError`, and `MissingDependencyError` without transformers.
    """
    network = json.dumps(raw, sort_keys=True)
    try:
        upstream = _upstream_config(network)
        text = upstream.text_config
        layers = [text.per_layer_config[layer] for layer in range(text.num_hidden_layers)]
        kv_elements = sum(2 * layer.num_key_value_heads * layer.head_dim for layer in layers)
        canvas = CanvasConfig(upstream.canvas_length, kv_elements, network)
        if text.use_bidirectional_attention == "all":
            raise CheckpointError(f"{path}: the encoder sees both ways, so no prefix is exact; not supported")
        return ModelConfig(
            hidden_size=text.hidden_size,
            layers=text.num_hidden_layers,
            heads=text.num_attention_heads,
            kv_heads=layers[0].num_key_value_heads,
            head_dim=layers[0].head_dim,
            mlp_size=text.intermediate_size,
            embedding_rows=text.vocab_size,
            max_tokens=text.max_position_embeddings,
            rope_theta=float(text.rope_parameters[text.layer_types[0]]["rope_theta"]),
            norm_eps=text.rms_norm_eps,
            qkv_bias=text.attention_bias,
            tied_head=text.tie_word_embeddings,
            mask_id=text.pad_token_id,  # it knows no mask: what is undecided is noise, and shown as padding
            eos_id=_first(text.eos_token_id),
            pad_id=text.pad_token_id,
            family=family,
            canvas=canvas,
        )
    except (CheckpointError, MissingDependencyError):
        raise
    except Exception as error:  # whatever the library's own checks raise
        raise CheckpointError(f"{path}: transformers cannot use it ({error})") from error


def made_network(config: ModelConfig, way: Callable[[], AbstractContextManager[None]] = blank) -> Any:
    """The network without weights, made in a `way`. Raises `CheckpointError` for what cannot be made."""
    assert config.canvas is not None
    cls, upstream = library().DiffusionGemmaForBlockDiffusion, _upstream_config(config.canvas.network)
    try:
        with way():
            return cls(upstream)
    except Exception as error:
        raise CheckpointError(f"config.json: transformers cannot make this network ({error})") from error


def network_tensors(config: ModelConfig) -> tuple[dict[str, torch.Size], dict[str, str]]:
    """Shapes of the tensors that a checkpoint holds; and by name, which of them each tied one repeats."""
    network = made_network(config)
    tied: dict[str, str] = dict(network.all_tied_weights_keys)
    return {name: t.shape for name, t in network.state_dict().items() if name not in tied}, tied


def empty_network(folder: Path, config: ModelConfig) -> Any:
    """The network of the checkpoint in `folder` with its habits, whose parameters are still to come.

    Raises `CheckpointError` for a damaged `generation_config.json`.
    """
    network = made_network(config, blank_parameters)
    if (folder / HABITS).exists():
        try:
            network.generation_config = network.generation_config_class.from_pretrained(
                folder, local_files_only=True
            )
        except Exception as error:  # whatever the library's own checks raise
            raise CheckpointError(
                f"{folder / HABITS}: transformers cannot use it ({error}); "
                "take it from the original checkpoint"
            ) from error
    return network


def filled(network: Any, state: Mapping[str, Tensor], device: torch.device) -> Any:
    """`network` with the tensors of `state`, on `device`, ready to serve; tied ones are not in `state`.

    The library's own loading keeps every shard mapped until the last one is read, and weights of the dtype
    asked for even longer; and without accelerate a GPU's weights take the way through memory.
    """
    repeats = {name: state[source] for name, source in network.all_tied_weights_keys.items()}
    network.load_state_dict({**state, **repeats}, assign=True)
    network.tie_weights()
    return network.to(device).requires_grad_(False).eval()


def one_device(devices: tuple[torch.device, ...], *, int8: bool) -> torch.device:
    """The device of the whole network. Raises `ConfigError` for several, and for int8."""
    if int8:
        raise ConfigError("DiffusionGemma is not rounded to int8 here; use --dtype bf16")
    if len(set(devices)) > 1:
        named = ", ".join(map(str, dict.fromkeys(devices)))
        raise ConfigError(f"DiffusionGemma is not spread over devices here ({named}); name one")
    return devices[0]


def _upstream_config(network: str) -> Any:
    return library().DiffusionGemmaConfig.from_dict(json.loads(network))


def _first(ids: int | list[int]) -> int:
    return ids if isinstance(ids, int) else ids[0]
