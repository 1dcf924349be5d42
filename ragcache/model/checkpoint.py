"""Load and save mask predictors in the Hugging Face file format, without remote code and without pickle."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from pathlib import Path

import torch
from safetensors.torch import save_file
from torch import Tensor

from ragcache.devices import Devices, of_layers
from ragcache.errors import CheckpointError, ConfigError
from ragcache.model.config import ModelConfig
from ragcache.model.config_file import CONFIG, raw_config, read_config
from ragcache.model.diffusion_gemma import NOT_OURS, DiffusionGemma
from ragcache.model.families import tensor_names
from ragcache.model.int8 import coder, is_coded
from ragcache.model.layers import kept_in_fp32
from ragcache.model.layout import blank_model, layout, size_bytes
from ragcache.model.memory import check_room
from ragcache.model.supported import FAMILIES
from ragcache.model.transformer import MaskPredictor
from ragcache.model.upstream import empty_network, filled, one_device
from ragcache.model.weights import (
    DTYPES,
    SINGLE,
    Stored,
    check_fit,
    read_headers,
    read_tensors,
    weight_files,
    write_shards,
)


@dataclass(frozen=True)
class Checkpoint:
    """A checkpoint folder whose headers fit its `config.json`; nothing of the weights is read yet.

    `names` maps each tensor to the parameters it holds, `shapes` are those of all parameters. `tied` tensors
    repeat another one; a file may hold either.
    """

    folder: Path
    config: ModelConfig
    files: tuple[Path, ...]
    stored: Mapping[str, Stored]
    names: Mapping[str, tuple[str, ...]]
    shapes: Mapping[str, torch.Size]
    tied: Mapping[str, str]

    @classmethod
    def open(cls, folder: Path, stored: Mapping[str, Stored] | None = None) -> Checkpoint:
        """Read config and headers, unless what is `stored` is known already.

        Raises `CheckpointError` naming the field, tensor or file at fault.
        """
        config = read_config(folder)
        shapes, names, tied = layout(config)
        if stored is None:
            stored = read_headers(weight_files(folder))
        stored = {**{tied[n]: t for n, t in stored.items() if n in tied}, **_without(stored, tied)}
        check_fit(folder, stored, {t: tuple(shapes[name] for name in held) for t, held in names.items()})
        files = tuple(dict.fromkeys(tensor.file for tensor in stored.values()))
        return cls(folder, config, files, stored, names, shapes, tied)

    def parameters_of(self, tensor: str, value: Tensor) -> dict[str, Tensor]:
        """The parameters that the checkpoint's `tensor` holds."""
        held = self.names[self.tied.get(tensor, tensor)]
        return dict(zip(held, torch.split(value, [self.shapes[name][0] for name in held]), strict=True))

    @property
    def dtype(self) -> torch.dtype:
        """What the weights are stored in. Raises `CheckpointError` when they mix dtypes."""
        kinds = {self.stored[t].dtype for t, held in self.names.items() if not kept_in_fp32(held[0])}
        if len(kinds) > 1:
            mixed = " and ".join(sorted(str(DTYPES[kind]).removeprefix("torch.") for kind in kinds))
            raise CheckpointError(
                f"{self.folder}: the weights mix {mixed}; choose one (--dtype), or convert them to one"
            )
        return DTYPES[kinds.pop()]

    def size_bytes(self, dtype: torch.dtype, *, int8: bool = False) -> int:
        """Bytes of all parameters in `dtype`, the layers' matrices in int8 if asked for."""
        return size_bytes(self.shapes, dtype, int8=int8)

    def load(self, dtype: torch.dtype | None, devices: Devices, *, int8: bool = False) -> MaskPredictor:
        """The model, read shard by shard straight to `dtype` (None: as stored) and `devices`.

        The embedding lies beside the first layer, the head beside the last one (a tied one: beside the
        embedding). With `int8` the layers' matrices become codes as soon as they are read.
        Raises `ModelTooLargeError` before reading, when it does not fit, and `MissingDependencyError` without
        torchao, `ConfigError` for a network that is not ours (`load_network`).
        """
        if self.config.canvas is not None:
            raise ConfigError(f"{self.folder}: {NOT_OURS}")
        wanted, code = dtype or self.dtype, coder() if int8 else None
        place = self._places(of_layers(devices, self.config.layers))
        for device in dict.fromkeys(place.values()):
            shapes = {name: shape for name, shape in self.shapes.items() if place[name] == device}
            check_room(str(self.folder), size_bytes(shapes, wanted, int8=int8), device)
        model, state = blank_model(self.config), self._read(place, wanted, code)
        if self.config.tied_head:
            state["head.weight"] = state["embed.weight"]
        model.load_state_dict(state, assign=True)
        if self.config.tied_head:
            model.head.weight = model.embed.weight
        return model.requires_grad_(False).eval()

    def load_network(self, dtype: torch.dtype, devices: Devices, *, int8: bool = False) -> DiffusionGemma:
        """The same for a network that is transformers' own.

        Raises `ConfigError` for int8 and for several devices, `CheckpointError` for damaged habits.
        """
        device = one_device(of_layers(devices, self.config.layers), int8=int8)
        check_room(str(self.folder), self.size_bytes(dtype), device)
        network = empty_network(self.folder, self.config)
        state = self._read(dict.fromkeys(self.shapes, device), dtype)
        return DiffusionGemma(self.config, filled(network, state, device))

    def _read(
        self,
        place: Mapping[str, torch.device],
        dtype: torch.dtype,
        code: Callable[[Tensor], Tensor] | None = None,
    ) -> dict[str, Tensor]:
        """Every parameter at its place, one shard mapped at a time."""
        state: dict[str, Tensor] = {}
        for tensor, value in read_tensors(self.files):
            if self.tied.get(tensor) in state:
                continue
            for name, part in self.parameters_of(tensor, value).items():
                kind = torch.float32 if kept_in_fp32(name) else dtype
                # a copy even where nothing changes: a mapped file may be rewritten under a running model
                weight = part.to(device=place[name], dtype=kind, copy=True)
                state[name] = code(weight) if code and is_coded(name, weight.shape) else weight
        return state

    def _places(self, layers: tuple[torch.device, ...]) -> dict[str, torch.device]:
        """The device of every parameter."""

        def place(name: str) -> torch.device:
            if name.startswith("layers."):
                return layers[int(name.split(".")[1])]
            return layers[0 if name.startswith("embed.") or self.config.tied_head else -1]

        return {name: place(name) for name in self.shapes}


def _without(stored: Mapping[str, Stored], names: Collection[str]) -> dict[str, Stored]:
    return {name: tensor for name, tensor in stored.items() if name not in names}


def load_model(
    folder: Path, *, dtype: torch.dtype | None = None, device: torch.device | str = "cpu"
) -> MaskPredictor:
    """Load a checkpoint folder of any supported family; `dtype=None` keeps the one the weights are stored in.

    Raises `CheckpointError` naming the missing, unexpected or unusable tensor, field or file.
    """
    return Checkpoint.open(folder).load(dtype, torch.device(device))


def save_model(
    model: MaskPredictor, folder: Path, *, dtype: torch.dtype | None = None, shard_bytes: int | None = None
) -> None:
    """Write `config.json` and the weights in the format of the model's family.

    With `shard_bytes`, in shards of at most so many bytes (a larger tensor has one of its own) and an index.
    Raises `CheckpointError` for a model whose weights are rounded to int8.
    """
    if any(type(parameter.data) is not Tensor for parameter in model.parameters()):
        raise CheckpointError(f"{folder}: int8 weights are not saved; load the model in another dtype first")
    folder.mkdir(parents=True, exist_ok=True)
    parameters = dict(model.named_parameters())
    names = tensor_names(FAMILIES[model.config.family], parameters)
    tensors = {
        theirs: _stacked([parameters[n] for n in ours], ours[0], dtype) for theirs, ours in names.items()
    }
    if shard_bytes is None:
        save_file(tensors, folder / SINGLE, metadata={"format": "pt"})
    else:
        write_shards(tensors, folder, shard_bytes)
    stored = str(dtype or model.dtype).removeprefix("torch.")
    text = json.dumps(raw_config(model.config, stored), indent=2, sort_keys=True)
    (folder / CONFIG).write_text(text + "\n", encoding="utf-8")


def _stacked(parts: list[torch.nn.Parameter], name: str, dtype: torch.dtype | None) -> Tensor:
    kind = parts[0].dtype if dtype is None or kept_in_fp32(name) else dtype
    return torch.cat([part.detach().to(kind).cpu() for part in parts]).contiguous()
