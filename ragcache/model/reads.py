"""What the rows of one request attend to, found once for all layers that compute the same rows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import TypeAlias

import torch
from torch import Tensor

from ragcache.model.rope import Turn
from ragcache.page import Page

# layer -> keys and values [kv_heads, m, head_dim]
Columns: TypeAlias = Callable[[int], tuple[Tensor, Tensor]]


@dataclass(frozen=True)
class PageRead:
    """A shared page, turned, on the layers' devices, as rows `[n]` of one request see it.

    `turn` rotates a query by its distance to the page's first token, which stands at `offset`.
    `seen` `[m]` or `[n, m]` says which columns are seen; None: all.
    """

    page: Page
    offset: int
    turn: Turn
    seen: Tensor | None

    @property
    def tokens(self) -> int:
        """How many columns the page has."""
        return self.page.keys[0].shape[1]


@dataclass(frozen=True)
class Reads:
    """Columns of the request's `own`, whose keys are turned by `places` `[m]`, and those of `shared` pages.

    `seen` `[n, m]` says which of its own the rows see; None: all.
    """

    own: Columns
    places: Tensor
    seen: Tensor | None
    shared: tuple[PageRead, ...] = ()

    @cached_property
    def positions(self) -> Tensor:
        """Positions `[m]` of all columns: the own ones, then every page's, those that are not seen too."""
        pages = (read.offset + torch.arange(read.tokens, device=self.places.device) for read in self.shared)
        return torch.cat((self.places, *pages))
