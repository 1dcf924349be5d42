"""What a request asks of a replica, estimated from its tokens alone, and what fetching a page costs."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from ragcache.decoding.defaults import with_defaults
from ragcache.engine.costs import Rate, RowCost
from ragcache.engine.known_texts import KnownTexts
from ragcache.engine.parallel.router import Footprint
from ragcache.engine.parallel.spec import EngineOptions
from ragcache.engine.placement import DTYPES
from ragcache.engine.request import Request
from ragcache.model.config import ModelConfig
from ragcache.prompt import NOTHING, ChatTokenizer, TokenizedPrompt, tokenize
from ragcache.reuse.policy import ReusePolicy, as_policy


@dataclass(frozen=True)
class Footprints:
    """Reads requests as the engine of a replica with these `options` will, without its weights."""

    tokenizer: ChatTokenizer
    config: ModelConfig
    known: KnownTexts
    options: EngineOptions

    def of(self, request: Request) -> Footprint:
        """Raises what cannot be tokenised, and `ConfigError` for options that the model cannot follow."""
        own = self.options
        policy = as_policy(own.policy if request.policy is None else request.policy)
        known = self.known.of({*own.shared, *request.shared}) if own.match_registered else NOTHING
        least = max(own.min_affix_tokens, policy.min_tokens)
        prompt = tokenize(request.prompt, self.tokenizer, registered=known, min_tokens=least)
        return footprint_of(request, prompt, policy, self.config)

    def of_texts(self, texts: Sequence[str]) -> Footprint:
        """Of affixes that are to be encoded."""
        ids = frozenset(tuple(self.tokenizer.encode(text).ids) for text in texts)
        return Footprint(ids, sum(map(len, ids)))

    def resident_tokens(self, dtype: str) -> int:
        """Affix tokens that the memory of a replica's registry holds, by the size of their KV in `dtype`."""
        registry = self.known.registry
        if registry is None:
            return 0  # every page is built anew
        computed = DTYPES.get(dtype)
        itemsize = 2 if computed is None or dtype == "int8" else computed.itemsize
        return registry.settings.memory_bytes // (self.config.kv_elements_per_token * itemsize)


def footprint_of(
    request: Request, prompt: TokenizedPrompt, policy: ReusePolicy, config: ModelConfig
) -> Footprint:
    """The affixes of `prompt`, and the rows of the refreshes, one a block; refines are small beside them.

    Raises `ConfigError` for options that the model cannot follow.
    """
    options = with_defaults(request.options, config)
    canvas = config.answer_tokens(options.max_tokens)
    blocks = math.ceil(canvas / (options.block_length or canvas))
    spans = prompt.spans if policy.reuses else ()
    frozen = sum(span.tokens for span in spans) * (1.0 - policy.amount.most)
    return Footprint(frozenset(span.token_ids for span in spans), blocks * (prompt.tokens - frozen + canvas))


class FetchPrice:
    """What a token costs that a replica has to load or encode first, in rows: as measured so far."""

    def __init__(self) -> None:
        self._fetch = Rate()
        self._row_s = 0.0

    def observe(self, missing_tokens: int, fetch_s: float, cost: RowCost) -> None:
        """A request took `fetch_s` to load and encode affixes, of which so many tokens were not resident."""
        self._row_s = cost.row_s
        if missing_tokens:
            self._fetch.add(missing_tokens, fetch_s)

    @property
    def rows(self) -> float:
        """One row, as if it was encoded, until both were measured."""
        if not self._fetch.seen or self._row_s <= 0.0:
            return 1.0
        return self._fetch.estimate_s(1) / self._row_s
