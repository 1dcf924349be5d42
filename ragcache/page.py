"""The page: the KV of one affix, as the registry keeps it and the model reads it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from torch import Tensor


@dataclass(frozen=True, eq=False)
class Page:
    """Read-only KV of one affix, encoded alone at positions 0..n-1 (ACache; docs/architecture.md).

    `token_ids` is `[n]` int64 on the CPU. `keys` and `values` hold one tensor per layer,
    `[kv_heads, n, head_dim]`; keys are stored **before** RoPE, so a page may stand at any offset. A network
    that keeps them after it (`ragcache.model.diffusion_gemma`) has such pages, which fit one place.
    `hidden` holds `[n, hidden]` before some layers, for depth reuse. Nobody may write into these tensors:
    every request that uses the affix shares them.

    A `turned` page has its keys rotated by their index in the affix, as attention reads them where they lie
    (`ragcache.model.segment_attention`). Such a page is never stored.
    """

    token_ids: Tensor
    keys: tuple[Tensor, ...]
    values: tuple[Tensor, ...]
    hidden: Mapping[int, Tensor] = field(default_factory=dict)
    turned: bool = False

    @property
    def tokens(self) -> int:
        """Number of tokens of the affix."""
        return int(self.token_ids.shape[0])

    @property
    def size_bytes(self) -> int:
        """Bytes of all keys, values and hidden states."""
        tensors = (*self.keys, *self.values, *self.hidden.values())
        return sum(t.numel() * t.element_size() for t in tensors)
