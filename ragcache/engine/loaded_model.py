"""A checkpoint ready to serve: predictor, tokenizer and what identifies them in affix keys."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import torch

from ragcache.decoding.encode import ALONE, Scaffold
from ragcache.engine.placement import parse_dtype, pick_device, pick_dtype
from ragcache.errors import CheckpointError
from ragcache.model.catalog import find_checkpoint
from ragcache.model.checkpoint import Checkpoint
from ragcache.model.config import ModelConfig
from ragcache.model.config_file import read_config
from ragcache.model.fingerprint import fingerprint
from ragcache.model.supported import FAMILIES
from ragcache.model.transformer import MaskPredictor
from ragcache.prompt import ChatTokenizer
from ragcache.registry import AffixKey, Maker, codec_for


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


def load_predictor(
    model: str, *, device: str = "auto", dtype: torch.dtype | str | None = None
) -> MaskPredictor:
    """The mask predictor alone, without a tokenizer; see `load`."""
    return _load_weights(find_checkpoint(model), device, dtype)


def load_fingerprint(model: str) -> tuple[int, str]:
    """Layers and fingerprint of a model, without its weights. Raises as `load`."""
    folder = find_checkpoint(model)
    config = read_config(folder)
    return config.layers, fingerprint(folder, config)


def load_maker(model: str) -> Maker:
    """Fingerprints of a model and its tokenizer, without its weights in memory. Raises as `load`."""
    folder = find_checkpoint(model)
    return Maker(fingerprint(folder, read_config(folder)), ChatTokenizer.from_folder(folder).fingerprint)


def load(model: str, *, device: str = "auto", dtype: torch.dtype | str | None = None) -> LoadedModel:
    """Load `nano`, a folder or a hub id (`org/name`, `org/name@revision`).

    `device` is auto, cpu, cuda or cuda:N. `dtype` None or auto is what the weights are stored in; on the CPU
    small models are computed in fp32, which is faster there. Raises `UnknownModelError`, `CheckpointError`,
    `ModelTooLargeError` or `ConfigError`.
    """
    folder = find_checkpoint(model)
    config = read_config(folder)
    tokenizer = ChatTokenizer.from_folder(folder)  # before the weights, which take longer
    check_vocabulary(folder, tokenizer, config)
    predictor = _load_weights(folder, device, dtype)
    digest = fingerprint(folder, config)
    name = model if model == "nano" or not Path(model).is_dir() else str(Path(model).resolve())
    return LoadedModel(name, predictor, tokenizer, digest, stop_ids(tokenizer, config))


def _load_weights(folder: Path, device: str, dtype: torch.dtype | str | None) -> MaskPredictor:
    asked = parse_dtype(dtype) if isinstance(dtype, str) else dtype
    chosen, checkpoint = pick_device(device), Checkpoint.open(folder)
    return checkpoint.load(pick_dtype(asked, checkpoint, chosen), chosen)


def stop_ids(tokenizer: ChatTokenizer, config: ModelConfig) -> frozenset[int]:
    """What ends an answer: EOS, of config and tokenizer, and the ends of turn that the family knows."""
    specials = tokenizer.special_tokens
    ends = {specials[text] for text in FAMILIES[config.family].stops if text in specials}
    own = tokenizer.eos_token_id
    if own is not None and own != config.mask_id:
        ends.add(own)
    return frozenset({config.eos_id, *ends})


def check_vocabulary(folder: Path, tokenizer: ChatTokenizer, config: ModelConfig) -> None:
    """Raise `CheckpointError` when the tokenizer has tokens that the model cannot have."""
    if tokenizer.vocab_size > config.embedding_rows:
        raise CheckpointError(
            f"{folder}: the tokenizer has {tokenizer.vocab_size} tokens, the model only "
            f"{config.embedding_rows} embedding rows; this tokenizer belongs to another model"
        )
