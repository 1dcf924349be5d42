"""A checkpoint ready to serve: predictor, tokenizer and what identifies them in affix keys."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import torch

from ragcache.decoding.encode import ALONE, Scaffold
from ragcache.errors import CheckpointError, ConfigError
from ragcache.model.catalog import find_checkpoint
from ragcache.model.checkpoint import fingerprint, load_model
from ragcache.model.config import read_config
from ragcache.model.transformer import MaskPredictor
from ragcache.prompt import ChatTokenizer
from ragcache.registry import AffixKey, Maker, codec_for

END_OF_TURN = ("<|eot_id|>", "<|im_end|>")


@dataclass(frozen=True)
class LoadedModel:
    """`stop_ids` end an answer: EOS and the template's end of turn."""

    name: str
    predictor: MaskPredictor
    tokenizer: ChatTokenizer
    fingerprint: str
    stop_ids: frozenset[int]

    def key(
        self,
        token_ids: tuple[int, ...],
        *,
        scaffold: Scaffold = ALONE,
        depths: tuple[int, ...] = (),
        namespace: str = "default",
        codec: str = "raw",
    ) -> AffixKey:
        """The affix key of `token_ids` encoded by this model within `scaffold`, hidden states at `depths`.

        Raises `ConfigError` for an unknown codec.
        """
        return AffixKey(
            model=self.fingerprint,
            tokenizer=self.tokenizer.fingerprint,
            dtype=str(self.predictor.dtype).removeprefix("torch."),
            rope=self.predictor.config.rope,
            token_ids=token_ids,
            context=scaffold.digest,
            codec=codec_for(codec).name,
            depths=depths,
            namespace=namespace,
        )


def pick_device(device: str) -> torch.device:
    """`auto` is CUDA where there is one; `ConfigError` when the device is unknown or absent."""
    if device == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    try:
        chosen = torch.device(device)
    except RuntimeError:
        raise ConfigError(f"unknown device {device!r}; use auto, cpu or cuda") from None
    if chosen.type not in ("cpu", "cuda"):
        raise ConfigError(f"device {device!r} is not supported; use auto, cpu or cuda")
    if chosen.type == "cuda" and (chosen.index or 0) >= torch.cuda.device_count():
        seen = torch.cuda.device_count() or "no"
        raise ConfigError(f"device {device!r}: this torch sees {seen} CUDA device; use --device cpu")
    return chosen


def load_predictor(model: str, *, device: str = "auto", dtype: torch.dtype | None = None) -> MaskPredictor:
    """The mask predictor alone, without a tokenizer; see `load`.

    nano is stored in bf16 and computed in fp32 on the CPU, where its size makes that cheap.
    """
    chosen = pick_device(device)
    if dtype is None and model == "nano" and chosen.type == "cpu":
        dtype = torch.float32
    return load_model(find_checkpoint(model), dtype=dtype, device=chosen)


def load_fingerprint(model: str) -> tuple[int, str]:
    """Layers and fingerprint of a model, without its weights. Raises as `load`."""
    folder = find_checkpoint(model)
    config = read_config(folder)
    return config.layers, fingerprint(folder, config)


def load_maker(model: str) -> Maker:
    """Fingerprints of a model and its tokenizer, without its weights in memory. Raises as `load`."""
    folder = find_checkpoint(model)
    return Maker(fingerprint(folder, read_config(folder)), ChatTokenizer.from_folder(folder).fingerprint)


def load(model: str, *, device: str = "auto", dtype: torch.dtype | None = None) -> LoadedModel:
    """Load `nano`, a folder or a hub id.

    Raises `UnknownModelError`, `CheckpointError` or `ConfigError`.
    """
    folder = find_checkpoint(model)
    predictor = load_predictor(model, device=device, dtype=dtype)
    tokenizer = ChatTokenizer.from_folder(folder)
    _check_vocabulary(folder, tokenizer, predictor)
    ends = {tokenizer.special_tokens[name] for name in END_OF_TURN if name in tokenizer.special_tokens}
    digest = fingerprint(folder, predictor.config)
    name = model if model == "nano" or not Path(model).is_dir() else str(Path(model).resolve())
    return LoadedModel(name, predictor, tokenizer, digest, frozenset({predictor.config.eos_id, *ends}))


def _check_vocabulary(folder: Path, tokenizer: ChatTokenizer, predictor: MaskPredictor) -> None:
    rows = predictor.config.embedding_rows
    if tokenizer.vocab_size > rows:
        raise CheckpointError(
            f"{folder}: the tokenizer has {tokenizer.vocab_size} tokens, the model only {rows} embedding "
            "rows; this tokenizer belongs to another model"
        )
