"""Write a training state as a checkpoint folder: `python -m training.export --state runs/nano --out DIR`."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import torch
import typer
from safetensors.torch import load_file
from tokenizers import Tokenizer

from ragcache.model.checkpoint import save_model
from ragcache.model.transformer import MaskPredictor
from ragcache.model.weights import SINGLE
from training.train import nano_config


def export(state: Path, out: Path) -> None:
    """bf16 weights and `config.json` in LLaDA's format, and the tokenizer's files."""
    tokenizer = Tokenizer.from_file(str(state / "tokenizer.json"))
    ids = tokenizer.get_vocab()
    model = MaskPredictor(nano_config(tokenizer.get_vocab_size(), ids["<|endoftext|>"], ids["<|mdm_mask|>"]))
    tensors = load_file(state / "state.safetensors")
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            parameter.copy_(tensors[f"model.{name}"])
    save_model(model, out, dtype=torch.bfloat16)
    (out / SINGLE).chmod(0o644)  # safetensors writes 0600, which a package must not carry
    for name in ("tokenizer.json", "tokenizer_config.json"):
        shutil.copyfile(state / name, out / name)
    print(json.loads((state / "progress.json").read_text(encoding="utf-8")))


if __name__ == "__main__":
    typer.run(export)
