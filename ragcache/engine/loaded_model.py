"""A checkpoint ready to serve: predictor, tokenizer and what identifies them in affix keys."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import torch

from ragcache.decoding.encode import ALONE, Scaffold
from ragcache.decoding.step import Predictor
from ragcache.engine.placement import Device, name_of, parse_dtype, pick_devices, pick_precision
from ragcache.errors import CheckpointError, ConfigError
from ragcache.model.catalog import find_checkpoint, find_config
from ragcache.model.checkpoint import Checkpoint
from ragcache.model.config import ModelConfig
from ragcache.model.config_file import read_config
from ragcache.model.diffusion_gemma import NOT_OURS, DiffusionGemma
from ragcache.model.fingerprint import fingerprint
from ragcache.model.supported import FAMILIES
from ragcache.model.transformer import MaskPredictor
from ragcache.prompt import ChatTokenizer
from ragcache.registry import AffixKey, Maker, codec_for
from ragcache.threads import in_own_thread

INT8 = "int8"


@dataclass(frozen=True)
class LoadedModel:
    """`stop_ids` end an answer: EOS and the end of turn. `adapter` says what changed the weights."""

    name: str
    predictor: Predictor
    tokenizer: ChatTokenizer
    fingerprint: str
    stop_ids: frozenset[int]
    adapter: str = "none"

    @property
    def exact_only(self) -> bool:
        """Whether it can reuse nothing but the affixes that a prompt begins with."""
        return isinstance(self.predictor, DiffusionGemma)

    @property
    def mask_predictor(self) -> MaskPredictor:
        """The predictor, where it is our own network. Raises `ConfigError` where it is not."""
        if isinstance(self.predictor, DiffusionGemma):
            raise ConfigError(f"{self.name}: {NOT_OURS}")
        return self.predictor

    @property
    def config(self) -> ModelConfig:
        """Sizes and switches."""
        return self.predictor.config

    @property
    def dtype(self) -> str:
        """What to ask for (`load(dtype=...)`) to have such a model again."""
        return INT8 if self.adapter == INT8 else name_of(self.predictor.dtype)

    @property
    def device(self) -> str:
        """Where its layers are, in order, by commas."""
        return ",".join(dict.fromkeys(map(str, self.predictor.devices)))

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
            adapter=self.adapter,
            codec=codec_for(codec).name,
            depths=depths,
            namespace=namespace,
        )


def refuse_upstream(model: str) -> None:
    """Raise `ConfigError`, before weights are downloaded or read, when the network of `model` is not ours."""
    if read_config(find_config(model)).canvas is not None:
        raise ConfigError(f"{model}: {NOT_OURS}")


def load_predictor(
    model: str, *, device: Device = "auto", dtype: torch.dtype | str | None = None
) -> MaskPredictor:
    """The mask predictor alone, without a tokenizer; see `load`. Raises `ConfigError` for another network."""
    refuse_upstream(model)
    checkpoint, kind, chosen, int8 = _opened(find_checkpoint(model), device, dtype)
    return in_own_thread(lambda: checkpoint.load(kind, chosen, int8=int8))


def load_fingerprint(model: str) -> tuple[int, str]:
    """Layers and fingerprint of a model, without its weights. Raises as `load`."""
    folder = find_checkpoint(model)
    config = read_config(folder)
    return config.layers, fingerprint(folder, config)


def load_maker(model: str) -> Maker:
    """Fingerprints of a model and its tokenizer, without its weights in memory. Raises as `load`."""
    folder = find_checkpoint(model)
    return Maker(fingerprint(folder, read_config(folder)), ChatTokenizer.from_folder(folder).fingerprint)


def load(model: str, *, device: Device = "auto", dtype: torch.dtype | str | None = None) -> LoadedModel:
    """Load `nano`, a folder or a hub id (`org/name`, `org/name@revision`).

    `device` is auto, cpu, cuda or cuda:N, several of them to spread the layers over (`cuda:0,cuda:1`), or a
    map from every layer to its device. `dtype` None or auto is what the weights are stored in; on the CPU
    small models are computed in fp32, which is faster there. int8 rounds the layers' matrices and computes as
    with auto; its pages are its own. Raises `UnknownModelError`, `CheckpointError`, `ModelTooLargeError`,
    `ConfigError`, or `MissingDependencyError` for int8 without torchao.
    """
    folder = find_checkpoint(model)
    config = read_config(folder)
    tokenizer = ChatTokenizer.from_folder(folder)  # before the weights, which take longer
    check_vocabulary(folder, tokenizer, config)
    checkpoint, kind, chosen, int8 = _opened(folder, device, dtype)
    predictor: Predictor
    if config.canvas is None:
        predictor = in_own_thread(lambda: checkpoint.load(kind, chosen, int8=int8))
        own_ends = frozenset[int]()
    else:
        predictor = network = in_own_thread(lambda: checkpoint.load_network(kind, chosen, int8=int8))
        own_ends = network.habits.ends
    digest = fingerprint(folder, config)
    name = model if model == "nano" or not Path(model).is_dir() else str(Path(model).resolve())
    ends = stop_ids(tokenizer, config) | own_ends
    return LoadedModel(name, predictor, tokenizer, digest, ends, INT8 if int8 else "none")


def _opened(
    folder: Path, device: Device, dtype: torch.dtype | str | None
) -> tuple[Checkpoint, torch.dtype, tuple[torch.device, ...], bool]:
    """The checkpoint, and how to load it: in what dtype, on which devices, with int8 weights or not."""
    asked = parse_dtype(dtype) if isinstance(dtype, str) else dtype
    checkpoint = Checkpoint.open(folder)
    chosen = pick_devices(device, checkpoint.config.layers)
    kind, int8 = pick_precision(asked, checkpoint, chosen)
    return checkpoint, kind, chosen, int8


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
