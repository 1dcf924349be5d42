"""A checkpoint's safetensors files: what their headers say, and their tensors, one shard at a time."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import prod
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import Tensor

from ragcache.errors import CheckpointError

SINGLE, INDEX = "model.safetensors", "model.safetensors.index.json"
CONVERT = (
    "convert them to safetensors first, where their code may run: load them with transformers and "
    "call save_pretrained, or use the hub's safetensors/convert"
)
AGAIN = "download it again"
PICKLES = ("*.bin", "*.pt", "*.pth", "*.ckpt")
# safetensors' names of the dtypes that can be computed in
DTYPES: Mapping[str, torch.dtype] = {"F32": torch.float32, "BF16": torch.bfloat16, "F16": torch.float16}


@dataclass(frozen=True)
class Stored:
    """A tensor as a header describes it; `dtype` in safetensors' words (`BF16`)."""

    file: Path
    dtype: str
    shape: tuple[int, ...]

    @property
    def numel(self) -> int:
        """Number of elements."""
        return prod(self.shape)


def weight_files(folder: Path) -> list[Path]:
    """The checkpoint's safetensors files, single or sharded; `CheckpointError` names what is missing."""
    if (folder / INDEX).exists():
        files = [folder / shard for shard in sorted(set(read_index(folder).values()))]
    elif (folder / SINGLE).exists():
        files = [folder / SINGLE]
    elif any(next(folder.glob(pattern), None) for pattern in PICKLES):
        raise CheckpointError(f"{folder}: only pickle weights; {CONVERT}")
    else:
        raise CheckpointError(f"{folder}: no {SINGLE} and no {INDEX}; download the weights too")
    for path in files:
        if not path.is_file():
            raise CheckpointError(
                f"{folder}: shard {path.name} is named by the index but missing; download it, too"
            )
    return files


def read_index(folder: Path) -> dict[str, str]:
    """Tensor name -> shard, as the index says. Raises `CheckpointError`."""
    path = folder / INDEX
    try:
        weight_map: dict[str, str] = json.loads(path.read_text(encoding="utf-8"))["weight_map"]
        shards = set(weight_map.values())
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise CheckpointError(f"{path}: not a safetensors index ({error}); {AGAIN}") from error
    if not shards:
        raise CheckpointError(f"{path}: weight_map names no shard; {AGAIN}")
    if any(Path(str(shard)).name != shard for shard in shards):
        raise CheckpointError(f"{path}: a shard lies outside the checkpoint's folder; {AGAIN}")
    return weight_map


def read_headers(files: Sequence[Path]) -> dict[str, Stored]:
    """Every tensor of `files`, without reading one. Raises `CheckpointError` for a damaged file."""
    return one_each(_headers(files))


def one_each(tensors: Iterable[tuple[str, Stored]]) -> dict[str, Stored]:
    """The tensors by name. Raises `CheckpointError` when two files hold one of the same name."""
    found: dict[str, Stored] = {}
    for name, stored in tensors:
        if name in found:
            raise CheckpointError(
                f"{stored.file}: {name} is in {found[name].file.name} too; keep the one that the index names"
            )
        found[name] = stored
    return found


def _headers(files: Sequence[Path]) -> Iterator[tuple[str, Stored]]:
    for path in files:
        with _opened(path) as shard:
            for name in shard.keys():  # noqa: SIM118 - safetensors' handle is no mapping
                piece = shard.get_slice(name)
                yield name, Stored(path, str(piece.get_dtype()), tuple(piece.get_shape()))


def read_tensors(files: Sequence[Path]) -> Iterator[tuple[str, Tensor]]:
    """`(name, tensor)` of all files, one file mapped at a time; copy what outlives the next step."""
    for path in files:
        with _opened(path) as shard:
            for name in shard.keys():  # noqa: SIM118
                yield name, shard.get_tensor(name)


def _opened(path: Path) -> Any:
    try:
        return safe_open(path, framework="pt")
    except (SafetensorError, OSError) as error:
        raise CheckpointError(f"{path}: not a readable safetensors file ({error}); {AGAIN}") from error


def check_fit(
    folder: Path, stored: Mapping[str, Stored], wanted: Mapping[str, tuple[torch.Size, ...]]
) -> None:
    """Raise `CheckpointError` naming what is missing, unexpected, misshapen or of a dtype of no use.

    `wanted` are the shapes of the parameters that each tensor holds, stacked along the first axis.
    """
    missing, extra = sorted(wanted.keys() - stored.keys()), sorted(stored.keys() - wanted.keys())
    parts = [f"{folder}: the weights do not fit config.json"]
    for label, names in (("missing", missing), ("unexpected", extra)):
        if names:
            more = f" and {len(names) - 4} more" if len(names) > 4 else ""
            parts.append(f"{label}: {', '.join(names[:4])}{more}")
    if len(parts) > 1:
        parts.append("take config.json and weights from the same checkpoint")
        raise CheckpointError("; ".join(parts))
    for name, shapes in wanted.items():
        shape = (sum(s[0] for s in shapes), *shapes[0][1:])
        if stored[name].dtype not in DTYPES:
            raise CheckpointError(
                f"{folder}: {name} is stored as {stored[name].dtype}; convert it to float32 or bfloat16"
            )
        if stored[name].shape != shape:
            raise CheckpointError(
                f"{folder}: {name} has shape {list(stored[name].shape)}, config.json says {list(shape)}; "
                "take both from the same checkpoint"
            )


def write_shards(tensors: Mapping[str, Tensor], folder: Path, shard_bytes: int) -> None:
    """Write shards of at most `shard_bytes` each (a larger tensor has one of its own), and their index."""
    shards: list[dict[str, Tensor]] = [{}]
    room = shard_bytes
    for name, tensor in sorted(tensors.items()):
        if shards[-1] and tensor.nbytes > room:
            shards.append({})
            room = shard_bytes
        shards[-1][name] = tensor
        room -= tensor.nbytes
    files = [f"model-{i:05}-of-{len(shards):05}.safetensors" for i in range(1, len(shards) + 1)]
    for file, shard in zip(files, shards, strict=True):
        save_file(shard, folder / file, metadata={"format": "pt"})
    weight_map = {name: file for file, shard in zip(files, shards, strict=True) for name in shard}
    total = sum(tensor.nbytes for tensor in tensors.values())
    index = json.dumps({"metadata": {"total_size": total}, "weight_map": weight_map}, indent=2)
    (folder / INDEX).write_text(index + "\n", encoding="utf-8")
