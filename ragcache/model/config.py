"""Architecture of a mask predictor: one description for every family (`ragcache.model.families`)."""

from __future__ import annotations

import hashlib
import json
import math
from dataclasses import MISSING, asdict, dataclass, fields

from ragcache.errors import CheckpointError

LARGEST_SIZE = 2**24  # keeps every product of two sizes within what torch can count


@dataclass(frozen=True)
class ExpertsConfig:
    """A mixture of SwiGLU experts (DeepSeek-V3's routing, arXiv 2412.19437, as LLaDA 2.x has it).

    `per_token` of `experts` are chosen among the best `groups_per_token` of `groups`, by sigmoid scores plus
    a bias; their outputs weigh `scale` together. `shared` experts see every token. Layers below
    `dense_layers` have a plain MLP. `size` is one expert's width in elements.
    """

    experts: int
    per_token: int
    size: int
    shared: int
    dense_layers: int
    groups: int
    groups_per_token: int
    scale: float

    def __post_init__(self) -> None:
        for name in ("experts", "per_token", "size", "groups", "groups_per_token"):
            if not 1 <= getattr(self, name) <= LARGEST_SIZE:
                raise CheckpointError(
                    f"config: {name} of a mixture must be at least 1, not {getattr(self, name)}"
                )
        if min(self.shared, self.dense_layers) < 0:
            raise CheckpointError("config: shared experts and dense layers cannot be fewer than 0")
        if self.experts % self.groups or self.experts < 2 * self.groups:
            raise CheckpointError(
                f"config: {self.experts} experts cannot form {self.groups} groups of 2 or more"
            )
        if self.groups_per_token > self.groups:
            raise CheckpointError(f"config: {self.groups_per_token} groups a token, of {self.groups}")
        if self.per_token > self.experts // self.groups * self.groups_per_token:
            raise CheckpointError(f"config: {self.per_token} experts a token are more than its groups hold")


@dataclass(frozen=True)
class CanvasConfig:
    """A network that is not ours (`ragcache.model.diffusion_gemma`): a causal encoder, and canvases over it.

    A canvas has `length` tokens. Layers differ in their heads: `kv_elements` is what one token's KV takes in
    all of them. `network` is the whole config.json as canonical JSON, of which the library makes the network.
    """

    length: int
    kv_elements: int
    network: str

    def __post_init__(self) -> None:
        if not 1 <= self.length <= LARGEST_SIZE:
            raise CheckpointError(f"config: a canvas of {self.length} tokens; give 1 or more")


@dataclass(frozen=True)
class ModelConfig:
    """One transformer with rotate-half RoPE, RMSNorm and SwiGLU MLPs; what families differ in are switches.

    Sizes are in elements, `max_tokens` is the window (prompt and canvas together) in tokens. With `canvas`
    the network is another one, of which this says the sizes of its first layer.
    """

    hidden_size: int
    layers: int
    heads: int
    kv_heads: int
    head_dim: int
    mlp_size: int
    embedding_rows: int
    max_tokens: int
    rope_theta: float
    norm_eps: float
    qkv_bias: bool
    tied_head: bool
    mask_id: int
    eos_id: int
    pad_id: int
    family: str = "llada"
    logits_shift: bool = False  # Dream: the token at position i is read from the output at i-1
    causal_block: int = 0  # block-causal: a row sees its own block of so many positions, and earlier ones
    qk_norm: bool = False  # RMSNorm of every head's queries and keys, before RoPE
    partial_rotary: float = 1.0  # share of a head that RoPE turns
    experts: ExpertsConfig | None = None
    canvas: CanvasConfig | None = None

    def __post_init__(self) -> None:
        sizes = "hidden_size", "layers", "heads", "kv_heads", "mlp_size", "embedding_rows", "max_tokens"
        for name in sizes:
            if getattr(self, name) < 1:
                raise CheckpointError(f"config: {name} must be at least 1, not {getattr(self, name)}")
            if getattr(self, name) > LARGEST_SIZE:
                raise CheckpointError(f"config: {name} is over {LARGEST_SIZE}, which no model has")
        if self.heads % self.kv_heads:
            raise CheckpointError(
                f"config: {self.heads} attention heads cannot share {self.kv_heads} KV heads; fix n_kv_heads"
            )
        if self.head_dim % 2:
            raise CheckpointError(f"config: head_dim {self.head_dim} is odd; RoPE needs pairs")
        if not 0.0 < self.partial_rotary <= 1.0 or self.rotary_dim % 2 or not self.rotary_dim:
            raise CheckpointError(
                f"config: {self.partial_rotary:g} of a head of {self.head_dim} is nothing RoPE can turn"
            )
        if not 0 <= self.causal_block <= LARGEST_SIZE:
            raise CheckpointError(f"config: a causal block of {self.causal_block} tokens; give 1 or more")
        for field, token in (("mask_token_id", self.mask_id), ("eos_token_id", self.eos_id)):
            if not 0 <= token < self.embedding_rows:
                raise CheckpointError(
                    f"config: {field} {token} lies outside the {self.embedding_rows} embedding rows"
                )
        for name in ("rope_theta", "norm_eps"):
            if not 0.0 < getattr(self, name) < math.inf:
                raise CheckpointError(
                    f"config: {name} must be positive and finite, not {getattr(self, name)}"
                )

    @property
    def rotary_dim(self) -> int:
        """Elements of a head that RoPE turns: its first ones."""
        return int(self.head_dim * self.partial_rotary)

    @property
    def kv_elements_per_token(self) -> int:
        """KV elements stored per token (multiply by the dtype's size for bytes)."""
        if self.canvas is not None:
            return self.canvas.kv_elements
        return 2 * self.layers * self.kv_heads * self.head_dim

    @property
    def rope(self) -> str:
        """Canonical RoPE settings: part of every affix key. They say so where keys are kept after RoPE."""
        if self.canvas is not None:
            network = hashlib.sha256(self.canvas.network.encode()).hexdigest()
            return json.dumps({"style": "applied", "network": network})
        return json.dumps({"style": "rotate_half", "theta": self.rope_theta, "dim": self.rotary_dim})

    def answer_tokens(self, max_tokens: int) -> int:
        """Positions that an answer of up to `max_tokens` takes: whole canvases, where the model has such."""
        length = self.canvas.length if self.canvas is not None else 1
        return -(-max_tokens // length) * length

    def canonical(self) -> str:
        """Stable text of all fields, for fingerprints; a switch that is off leaves no trace."""
        off = {f.name: f.default for f in fields(self) if f.default is not MISSING}
        said = {name: value for name, value in asdict(self).items() if name not in off or value != off[name]}
        return json.dumps(said, sort_keys=True)
