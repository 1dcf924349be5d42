"""Which columns a row sees: all of them, or with block-causal attention those up to the end of its block."""

from __future__ import annotations

from torch import Tensor


def visible(rows: Tensor, columns: Tensor, causal_block: int) -> Tensor | None:
    """`[n, m]` bool: whether the row at position `rows` `[n]` sees the one at `columns` `[m]`; None: all do.

    Block-causal (Block Diffusion, arXiv 2503.09573): blocks of `causal_block` positions, counted from
    position 0, see themselves and earlier ones; 0 is bidirectional.
    """
    if not causal_block:
        return None
    return columns[None, :] < ((rows // causal_block + 1) * causal_block)[:, None]


def both(seen: Tensor | None, keep: Tensor | None) -> Tensor | None:
    """The columns that are seen and kept; None where nothing is hidden."""
    if seen is None or keep is None:
        return keep if seen is None else seen
    return seen & keep


def hide(scores: Tensor, seen: Tensor | None) -> Tensor:
    """`scores` `[heads, n, m]`, -inf in columns that are not seen (`[m]` or `[n, m]`)."""
    return scores if seen is None else scores.masked_fill(~seen, float("-inf"))
