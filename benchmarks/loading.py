"""Loading a large sharded checkpoint beside a plain read of its bytes: `python -m benchmarks.loading`.

A LLaDA of about 0.94 B parameters in bfloat16, random values. The plain way is safetensors' `load_file`, and
a copy of every tensor, so that both end with all bytes in memory of their own. Each load runs in a process of
its own, the two ways take turns, files are in the page cache. Peak memory is what the process's high-water
mark rises by, mapped files included.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from statistics import median
from typing import Annotated

import torch
import typer
from rich.console import Console
from safetensors.torch import load_file, save_file
from torch import Tensor

from benchmarks.figures import Figure, table_of
from ragcache.model.checkpoint import load_model
from ragcache.model.config import ModelConfig
from ragcache.model.config_file import CONFIG, raw_config
from ragcache.model.families import tensor_names
from ragcache.model.layout import blank_model
from ragcache.model.supported import FAMILIES
from ragcache.model.weights import INDEX, weight_files

SHARD_BYTES = 2**29
CHUNK = 2**20


def large_config(layers: int) -> ModelConfig:
    """At 16 layers 0.94 B parameters."""
    return ModelConfig(
        hidden_size=2048, layers=layers, heads=16, kv_heads=16, head_dim=128, mlp_size=5504,
        embedding_rows=32_768, max_tokens=4096, rope_theta=500_000.0, norm_eps=1e-5, qkv_bias=False,
        tied_head=False, mask_id=32_767, eos_id=32_766, pad_id=32_766,
    )  # fmt: skip


def write_checkpoint(folder: Path, config: ModelConfig) -> None:
    """Shards of random numbers, made one at a time."""
    shapes = {name: parameter.shape for name, parameter in blank_model(config).named_parameters()}
    noise = torch.randn(CHUNK, generator=torch.Generator().manual_seed(0)).mul_(0.02).bfloat16()
    shards: list[dict[str, Tensor]] = [{}]
    weight_map = {}
    for theirs, ours in tensor_names(FAMILIES[config.family], shapes).items():
        shape = shapes[ours[0]]
        copies = -(-shape.numel() // CHUNK)
        tensor = noise.repeat(copies)[: shape.numel()].reshape(shape)
        shards[-1][theirs] = tensor
        weight_map[theirs] = f"model-{len(shards):05}.safetensors"
        if sum(own.nbytes for own in shards[-1].values()) >= SHARD_BYTES:
            save_file(shards[-1], folder / weight_map[theirs])
            shards[-1] = {}
            shards.append({})
    if shards[-1]:
        save_file(shards[-1], folder / f"model-{len(shards):05}.safetensors")
    (folder / INDEX).write_text(json.dumps({"weight_map": weight_map}), encoding="utf-8")
    (folder / CONFIG).write_text(json.dumps(raw_config(config, "bfloat16")), encoding="utf-8")


def plain(folder: Path) -> object:
    """Every tensor by safetensors' own function, copied into memory of its own."""
    return [{name: t.clone() for name, t in load_file(path).items()} for path in weight_files(folder)]


WAYS: Mapping[str, Callable[[Path], object]] = {"plain": plain, "load_model": load_model}


def child(way: str, folder: Path) -> None:
    """One load, measured from within: seconds, and by how many bytes the high-water mark rose."""
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
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    found: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return found


def main(
    layers: int = 16,
    repeats: int = 3,
    way: Annotated[str, typer.Option("--child", hidden=True)] = "",
    folder: Annotated[Path, typer.Option(hidden=True)] = Path(),
) -> None:
    """Measure and print."""
    if way:
        return child(way, folder)
    with tempfile.TemporaryDirectory() as place:
        write_checkpoint(Path(place), large_config(layers))
        sizes = [path.stat().st_size for path in weight_files(Path(place))]
        rounds = [{name: measure(name, Path(place)) for name in WAYS} for _ in range(repeats + 1)][1:]
    seconds = {name: median(one[name]["seconds"] for one in rounds) for name in WAYS}
    peaks = {name: max(one[name]["peak_bytes"] for one in rounds) for name in WAYS}
    bound = sum(sizes) + 1.3 * max(sizes)
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
