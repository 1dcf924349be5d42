"""What the rows of one request attend to, found once for all layers that compute the same rows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

from torch import Tensor

from ragcache.model.rope import Turn
from ragcache.page import Page

# layer -> keys and values [kv_heads, m, head_dim]
Columns: TypeAlias = Callable[[int], tuple[Tensor, Tensor]]


@dataclass(frozen=True)
class PageRead:
    """A shared page, turned, on the layers' devices, as rows `[n]` of one request see it.

    `turn` rotates a query by its distance to the page's first token.
    `seen` `[m]` or `[n, m]` says which columns are seen; None: all.
    """

    page: Page
    turn: Turn
    seen: Tensor | None


@dataclass(frozen=True)
class Reads:
    """Columns of the request's `own`, which stand at their positions, and those of `shared` pages.

    `seen` `[n, m]` says which of its own the rows see; None: all.
    """

    own: Columns
    seen: Tensor | None
    shared: tuple[PageRead, ...] = ()
