"""Load and save mask predictors in the Hugging Face file format, without remote code and without pickle."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path

import torch
import xxhash
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import Tensor

from ragcache.errors import CheckpointError
from ragcache.model.blank import blank
from ragcache.model.config import ModelConfig, read_config
from ragcache.model.families import llada_names
from ragcache.model.transformer import MaskPredictor

DTYPES = (torch.float32, torch.bfloat16, torch.float16)
SINGLE, INDEX = "model.safetensors", "model.safetensors.index.json"


def weight_files(folder: Path) -> list[Path]:
    """The checkpoint's safetensors files, single or sharded; `CheckpointError` names what is missing."""
    if (folder / INDEX).exists():
        try:
            shards = set(json.loads((folder / INDEX).read_text(encoding="utf-8"))["weight_map"].values())
        except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
            raise CheckpointError(f"{folder / INDEX}: not a safetensors index ({error})") from error
        if not shards:
            raise CheckpointError(f"{folder / INDEX}: weight_map names no shard")
        if any(Path(str(shard)).name != shard for shard in shards):
            raise CheckpointError(f"{folder / INDEX}: a shard lies outside the checkpoint's folder")
        files = [folder / shard for shard in sorted(shards)]
    elif (folder / SINGLE).exists():
        files = [folder / SINGLE]
    elif list(folder.glob("*.bin")) or list(folder.glob("*.pt")):
        raise CheckpointError(f"{folder}: only pickle weights; convert them to safetensors first")
    else:
        raise CheckpointError(f"{folder}: no {SINGLE} and no {INDEX}")
    for path in files:
        if not path.is_file():
            raise CheckpointError(f"{folder}: shard {path.name} is named by the index but missing")
    return files


def read_tensors(files: list[Path], wanted: Mapping[str, str]) -> Iterator[tuple[str, Tensor]]:
    """`(our name, tensor)` for every wanted tensor; missing and unexpected ones are named in the error."""
    ours = {theirs: name for name, theirs in wanted.items()}
    with ExitStack() as stack:
        found: dict[str, object] = {}
        for path in files:
            try:
                shard = stack.enter_context(safe_open(path, framework="pt"))
            except (SafetensorError, OSError) as error:
                raise CheckpointError(f"{path}: not a readable safetensors file ({error})") from error
            found.update(dict.fromkeys(shard.keys(), shard))
        missing, extra = sorted(ours.keys() - found.keys()), sorted(found.keys() - ours.keys())
        if missing or extra:
            raise CheckpointError(_difference(files[0].parent, missing, extra))
        for theirs, shard in found.items():
            yield ours[theirs], shard.get_tensor(theirs)  # type: ignore[attr-defined]


def _difference(folder: Path, missing: list[str], extra: list[str]) -> str:
    parts = [f"{folder}: the weights do not fit config.json"]
    for label, names in (("missing", missing), ("unexpected", extra)):
        if names:
            more = f" and {len(names) - 4} more" if len(names) > 4 else ""
            parts.append(f"{label}: {', '.join(names[:4])}{more}")
    return "; ".join(parts)


def load_model(
    folder: Path, *, dtype: torch.dtype | None = None, device: torch.device | str = "cpu"
) -> MaskPredictor:
    """Load a checkpoint folder in LLaDA's format; `dtype=None` keeps the one the weights are stored in.

    Raises `CheckpointError` naming the missing, unexpected or unusable tensor, field or file.
    """
    config = read_config(folder)
    with blank():
        model = MaskPredictor(config)
    wanted = llada_names(config)
    shapes = {name: parameter.shape for name, parameter in model.named_parameters()}
    state: dict[str, Tensor] = {}
    for name, tensor in read_tensors(weight_files(folder), wanted):
        _check_tensor(f"{folder}: {wanted[name]}", tensor, shapes[name])
        state[name] = tensor.to(device=device, dtype=dtype or tensor.dtype)
    kinds = sorted({str(tensor.dtype).removeprefix("torch.") for tensor in state.values()})
    if len(kinds) > 1:
        raise CheckpointError(f"{folder}: the weights mix {' and '.join(kinds)}; convert them to one dtype")
    if config.tied_head:
        state["head.weight"] = state["embed.weight"]
    model.load_state_dict(state, assign=True)
    if config.tied_head:
        model.head.weight = model.embed.weight
    return model.requires_grad_(False).eval()


def _check_tensor(what: str, tensor: Tensor, shape: torch.Size) -> None:
    if tensor.dtype not in DTYPES:
        raise CheckpointError(f"{what} is stored as {tensor.dtype}; convert it to float32 or bfloat16")
    if tensor.shape != shape:
        raise CheckpointError(f"{what} has shape {list(tensor.shape)}, config.json says {list(shape)}")


def save_model(model: MaskPredictor, folder: Path, *, dtype: torch.dtype | None = None) -> None:
    """Write `config.json` and `model.safetensors` in LLaDA's format."""
    folder.mkdir(parents=True, exist_ok=True)
    parameters = dict(model.named_parameters())
    tensors = {
        theirs: parameters[ours].detach().to(dtype or parameters[ours].dtype).cpu().contiguous()
        for ours, theirs in llada_names(model.config).items()
    }
    save_file(tensors, folder / SINGLE, metadata={"format": "pt"})
    stored = str(dtype or model.dtype).removeprefix("torch.")
    text = json.dumps(_llada_fields(model.config, stored), indent=2, sort_keys=True)
    (folder / "config.json").write_text(text + "\n", encoding="utf-8")


def _llada_fields(config: ModelConfig, stored_dtype: str) -> dict[str, object]:
    return {
        "architectures": ["LLaDAModelLM"],
        "model_type": "llada",
        "block_type": "llama",
        "activation_type": "silu",
        "layer_norm_type": "rms",
        "rope": True,
        "alibi": False,
        "d_model": config.hidden_size,
        "n_layers": config.layers,
        "n_heads": config.heads,
        "n_kv_heads": config.kv_heads,
        "mlp_hidden_size": config.mlp_size,
        "vocab_size": config.embedding_rows,
        "embedding_size": config.embedding_rows,
        "max_sequence_length": config.max_tokens,
        "rope_theta": config.rope_theta,
        "rms_norm_eps": config.norm_eps,
        "include_bias": False,
        "include_qkv_bias": config.qkv_bias,
        "weight_tying": config.tied_head,
        "mask_token_id": config.mask_id,
        "eos_token_id": config.eos_id,
        "pad_token_id": config.pad_id,
        "torch_dtype": stored_dtype,
    }


def fingerprint(folder: Path, config: ModelConfig) -> str:
    """Architecture and weights as one hex digest (xxh3-128 over the files): part of every affix key."""
    digest = xxhash.xxh3_128(config.canonical().encode())
    for path in weight_files(folder):
        with path.open("rb") as file:
            while piece := file.read(1 << 22):
                digest.update(piece)
    return digest.hexdigest()
