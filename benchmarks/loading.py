"""Loading a large sharded checkpoint beside a plain read of its bytes: `python -m benchmarks.loading`.

A LLaDA of about 0.94 B parameters in bfloat16, random values; with `--family diffusion_gemma` a network of
transformers', of about as many. The plain way is safetensors' `load_file`, and a copy of every tensor, so
that both end with all bytes in memory of their own. Each load runs in a process of its own, the two ways take
turns, files are in the page cache. Peak memory is what the process's high-water mark rises by, mapped files
included.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from statistics import median
from typing import Annotated, Any

import torch
import typer
from rich.console import Console
from safetensors.torch import load_file, save_file
from torch import Tensor

from benchmarks.figures import Figure, table_of
from ragcache.model.checkpoint import Checkpoint
from ragcache.model.config import ModelConfig
from ragcache.model.config_file import CONFIG, raw_config, read_config
from ragcache.model.layout import layout
from ragcache.model.weights import INDEX, weight_files

SHARD_BYTES = 2**29
CHUNK = 2**20
HEAD = 128
Raw = dict[str, Any]


def llada(layers: int, width: int) -> Raw:
    """Its config.json; 16 layers of 2048 elements are 0.94 B parameters."""
    heads, rows = width // HEAD, 16 * width
    config = ModelConfig(
        hidden_size=width, layers=layers, heads=heads, kv_heads=heads, head_dim=HEAD,
        mlp_size=width * 43 // 16, embedding_rows=rows, max_tokens=4096, rope_theta=500_000.0, norm_eps=1e-5,
        qkv_bias=False, tied_head=False, mask_id=rows - 1, eos_id=rows - 2, pad_id=rows - 2,
    )  # fmt: skip
    return raw_config(config, "bfloat16")


def diffusion_gemma(layers: int, width: int) -> Raw:
    """Its config.json; 12 layers of 1536 elements are 0.97 B parameters."""
    heads, rows = width // HEAD, 16 * width
    text = {
        "vocab_size": rows, "hidden_size": width, "num_hidden_layers": layers, "intermediate_size": 2 * width,
        "num_attention_heads": heads, "num_key_value_heads": 1, "head_dim": HEAD, "global_head_dim": HEAD,
        "num_global_key_value_heads": 1, "num_experts": 8, "top_k_experts": 2, "moe_intermediate_size": width,
        "layer_types": ["sliding_attention"] * (layers - 1) + ["full_attention"],
    }  # fmt: skip
    vision = {
        "model_type": "gemma4_vision", "hidden_size": 16, "intermediate_size": 16, "num_hidden_layers": 1,
        "num_attention_heads": 2, "num_key_value_heads": 2, "head_dim": 8,
    }  # fmt: skip
    tokens = {name: rows - i for i, name in enumerate(("image_token_id", "boi_token_id", "eoi_token_id"), 1)}
    return {"model_type": "diffusion_gemma", "text_config": text, "vision_config": vision, **tokens}


# what writes a config.json, and of how many layers and elements
FAMILIES: Mapping[str, tuple[Callable[[int, int], Raw], int, int]] = {
    "llada": (llada, 16, 2048),
    "diffusion_gemma": (diffusion_gemma, 12, 1536),
}


def write_checkpoint(folder: Path, raw: Raw, shard_bytes: int = SHARD_BYTES) -> None:
    """Shards of random numbers, made one at a time."""
    (folder / CONFIG).write_text(json.dumps(raw), encoding="utf-8")
    shapes, names, _ = layout(read_config(folder))
    noise = torch.randn(CHUNK, generator=torch.Generator().manual_seed(0)).mul_(0.02).bfloat16()
    shards: list[dict[str, Tensor]] = [{}]
    weight_map = {}
    for theirs, ours in names.items():
        shape = shapes[ours[0]]
        copies = -(-shape.numel() // CHUNK)
        tensor = noise.repeat(copies)[: shape.numel()].reshape(shape)
        shards[-1][theirs] = tensor
        weight_map[theirs] = f"model-{len(shards):05}.safetensors"
        if sum(own.nbytes for own in shards[-1].values()) >= shard_bytes:
            save_file(shards[-1], folder / weight_map[theirs])
            shards[-1] = {}
            shards.append({})
    if shards[-1]:
        save_file(shards[-1], folder / f"model-{len(shards):05}.safetensors")
    (folder / INDEX).write_text(json.dumps({"weight_map": weight_map}), encoding="utf-8")


def plain(folder: Path) -> object:
    """Every tensor by safetensors' own function, copied into memory of its own."""
    return [{name: t.clone() for name, t in load_file(path).items()} for path in weight_files(folder)]


def load_model(folder: Path) -> object:
    """The model as it is served, in the dtype it is stored in."""
    checkpoint, cpu = Checkpoint.open(folder), torch.device("cpu")
    if checkpoint.config.canvas is not None:
        return checkpoint.load_network(checkpoint.dtype, cpu)
    return checkpoint.load(None, cpu)


WAYS: Mapping[str, Callable[[Path], object]] = {"plain": plain, "load_model": load_model}


def child(way: str, folder: Path) -> None:
    """One load, measured from within: seconds, and by how many bytes the high-water mark rose."""
    Checkpoint.open(folder)  # imports what the family needs
    before = _status("VmRSS")
    started = time.perf_counter()
    kept = WAYS[way](folder)
    seconds = time.perf_counter() - started
    print(json.dumps({"seconds": seconds, "peak_bytes": _status("VmHWM") - before}))
    del kept


def _status(field: str) -> int:
    lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith(f"{field}:"))


def measure(way: str, folder: Path) -> dict[str, float]:
    """One load in a fresh process."""
    command = [sys.executable, "-m", "benchmarks.loading", "--child", way, "--folder", str(folder)]
    # what is freed goes back at once: the high-water mark is of what is used, not of malloc's keeping
    environment = {**os.environ, "MALLOC_MMAP_THRESHOLD_": "65536"}
    done = subprocess.run(command, check=True, capture_output=True, text=True, env=environment)
    found: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return found


def bound_bytes(folder: Path) -> float:
    """What memory may rise by: the weights and 1.3 of the largest shard."""
    sizes = [path.stat().st_size for path in weight_files(folder)]
    return sum(sizes) + 1.3 * max(sizes)


def main(
    family: str = "llada",
    layers: int = 0,
    width: int = 0,
    repeats: int = 3,
    way: Annotated[str, typer.Option("--child", hidden=True)] = "",
    folder: Annotated[Path, typer.Option(hidden=True)] = Path(),
) -> None:
    """Measure and print; 0 is the family's own size."""
    if way:
        return child(way, folder)
    config_of, own_layers, own_width = FAMILIES[family]
    with tempfile.TemporaryDirectory() as place:
        write_checkpoint(Path(place), config_of(layers or own_layers, width or own_width))
        sizes = [path.stat().st_size for path in weight_files(Path(place))]
        bound = bound_bytes(Path(place))
        rounds = [{name: measure(name, Path(place)) for name in WAYS} for _ in range(repeats + 1)][1:]
    seconds = {name: median(one[name]["seconds"] for one in rounds) for name in WAYS}
    peaks = {name: max(one[name]["peak_bytes"] for one in rounds) for name in WAYS}
    figures = [
        Figure("weights", sum(sizes) / 2**20, "MiB"),
        Figure("largest shard", max(sizes) / 2**20, "MiB"),
        Figure("plain read", seconds["plain"], "s"),
        Figure("load_model", seconds["load_model"], "s"),
        Figure("load_model / plain read", seconds["load_model"] / seconds["plain"], "x", 1.5, at_most=True),
        Figure("plain read, peak", peaks["plain"] / 2**20, "MiB"),
        Figure("load_model, peak", peaks["load_model"] / 2**20, "MiB", bound / 2**20, at_most=True),
    ]
    Console().print(table_of(figures))
    print(json.dumps({figure.name: figure.value for figure in figures}))


if __name__ == "__main__":
    typer.run(main)
