"""DiffusionGemma through transformers' own class: a causal encoder, and canvases denoised over its KV.

The encoder sees backwards only, so the KV of a prompt's first tokens depends on nothing after them: a page of
them is exact. transformers keeps keys after RoPE, and for sliding layers the last few tokens alone; so here a
page holds keys **after** RoPE, of every token, and fits just the place and the context it was encoded in.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from ragcache.model.config import ModelConfig
from ragcache.model.segment import Segment
from ragcache.model.upstream import library
from ragcache.page import Page

EXACT_ONLY = (
    "DiffusionGemma reuses the affixes that a prompt begins with, exactly, and recomputes nothing of them; "
    "anchors, depth and contextual affixes mean nothing to it: use policy direct, or full"
)
NOT_OURS = (
    "DiffusionGemma is not decoded by ragcache's own network, and raw token ids, depth profiles and benches "
    "are for that alone; ask it with ragcache ask, chat, batch or eval, or name another model"
)


@dataclass(frozen=True)
class CanvasHabits:
    """How canvases are denoised: what generation_config.json says, else transformers' own defaults.

    At most `steps` forwards; temperature falls from `hottest` to `coldest`; `entropy_bound` is in nats.
    A canvas is done when the best tokens are those of the last `stable_steps` forwards too, and their mean
    entropy is below `sure`. `ends` are tokens that end an answer.
    """

    steps: int = 48
    entropy_bound: float = 0.1
    coldest: float = 0.4
    hottest: float = 0.8
    stable_steps: int = 1
    sure: float = 0.005
    ends: frozenset[int] = frozenset()

    @classmethod
    def of(cls, said: Mapping[str, Any]) -> CanvasHabits:
        """Those that a generation config says, which the library has checked; None is nothing said."""
        ends = said.get("eos_token_id") or ()
        given: dict[str, Any] = {
            "steps": said.get("max_denoising_steps"),
            "entropy_bound": _bound(said.get("sampler_config")),
            "coldest": said.get("t_min"),
            "hottest": said.get("t_max"),
            "stable_steps": said.get("stability_threshold"),
            "sure": said.get("confidence_threshold"),
            "ends": frozenset([ends] if isinstance(ends, int) else ends),
        }
        return cls(**{name: value for name, value in given.items() if value is not None})


def _bound(sampler: Any) -> float | None:
    """The entropy bound of a sampler's config, which is an object of the library's or its fields."""
    said = sampler if isinstance(sampler, Mapping) else vars(sampler) if sampler is not None else {}
    return said.get("entropy_bound")


class EncodedPrompt:
    """What the encoder has read of one request, in transformers' cache; `pages` are what it need not read.

    `conditioning` `[canvas, vocabulary]` is the canvas's last guess, which its next forward sees.
    """

    def __init__(self, network: Any, pages: Sequence[Segment] = ()) -> None:
        self._network, self._pages = network, deque(pages)
        # made without the config, it would not forget what lies before the window of sliding layers
        self.cache = library().DynamicCache(config=network.config.get_text_config())
        self.read = 0
        self.conditioning: Tensor | None = None

    @property
    def size_bytes(self) -> int:
        """Bytes of the keys and values."""
        layers = (layer for layer in self.cache.layers if layer.is_initialized)
        return sum(layer.keys.nbytes + layer.values.nbytes for layer in layers)

    def encode(self, positions: Tensor, token_ids: Tensor) -> None:
        """Read the tokens `[n]` at `positions` `[n]`, which ascend; those that it has read it passes over.

        The KV of each page is taken where its place comes.
        """
        if self.cache.get_seq_length() != self.read:
            raise RuntimeError("an earlier forward failed halfway, and left a part of its KV")
        while self._pages:
            page = self._pages[0]
            self._encode(token_ids[(positions >= self.read) & (positions < page.offset)])
            self._take(page)
            self._pages.popleft()
        self._encode(token_ids[positions >= self.read])

    def _encode(self, token_ids: Tensor) -> None:
        if len(token_ids):
            self._network.model.encoder(input_ids=token_ids[None].to(self._network.device), cache=self.cache)
            self.read += len(token_ids)

    def _take(self, page: Segment) -> None:
        tokens = int(page.keep.sum())
        for layer, pair in enumerate(zip(page.page.keys, page.page.values, strict=True)):
            keys, values = (tensor[None, :, :tokens].to(self._network.device) for tensor in pair)
            self.cache.update(keys, values, layer)
        self.read += tokens


class DiffusionGemma:
    """The network, with the face of a `MaskPredictor` where that has one: it has no rows and no columns."""

    def __init__(self, config: ModelConfig, network: Any) -> None:
        self.config, self.network = config, network
        self.habits = CanvasHabits.of(network.generation_config.to_dict())

    @property
    def dtype(self) -> torch.dtype:
        """The dtype of weights and KV."""
        dtype: torch.dtype = self.network.dtype
        return dtype

    @property
    def device(self) -> torch.device:
        """Where the network is."""
        device: torch.device = self.network.device
        return device

    @property
    def devices(self) -> tuple[torch.device, ...]:
        """Where each layer is."""
        return (self.device,) * self.config.layers

    def kv_bytes(self, tokens: int) -> int:
        """Bytes of the keys and values of `tokens` tokens, in all layers."""
        return tokens * self.config.kv_elements_per_token * self.dtype.itemsize

    def begin(self, pages: Sequence[Segment] = ()) -> EncodedPrompt:
        """The KV of a request that nothing was read of; `pages` were encoded at their places, in order."""
        return EncodedPrompt(self.network, pages)

    @torch.inference_mode()
    def pages(self, affixes: Sequence[Sequence[int]], before: Sequence[Sequence[int]]) -> list[Page]:
        """The page of each of `affixes` behind the tokens `before` it, with keys after RoPE.

        Those of one prompt are cut from one reading of it.
        """
        texts = [(*context, *affix) for context, affix in zip(before, affixes, strict=True)]
        longest = max(texts, key=len, default=())
        reading = self._read_all(longest)
        found = []
        for text, context in zip(texts, before, strict=True):
            own = reading if longest[: len(text)] == text else self._read_all(text)
            cut = slice(len(context), len(text))
            keys, values = (tuple(t[:, cut].clone() for t in kind) for kind in own)
            found.append(Page(torch.tensor(text[cut]), keys, values))
        return found

    def _read_all(self, text: tuple[int, ...]) -> tuple[list[Tensor], list[Tensor]]:
        """Keys and values of every token, layer by layer."""
        prompt = self.begin()
        for layer in prompt.cache.layers:
            if layer.is_sliding:
                layer.activate_past_recording()  # it keeps every token until it is cropped
        prompt.encode(torch.arange(len(text)), torch.tensor(text))
        layers = prompt.cache.layers
        return [layer.keys[0] for layer in layers], [layer.values[0] for layer in layers]

    @torch.inference_mode()
    def logits(self, positions: Tensor, token_ids: Tensor, canvas: int, kv: EncodedPrompt) -> Tensor:
        """Logits `[canvas, vocabulary]` fp32 of the last `canvas` rows, which are one; others are encoded.

        Rows are given by `positions` `[n]`, ascending, and `token_ids` `[n]`.
        """
        rest = len(positions) - canvas
        kv.encode(positions[:rest], token_ids[:rest])
        if not canvas:
            return torch.empty(0, self.config.embedding_rows)
        outputs = self.network(
            decoder_input_ids=token_ids[None, rest:].to(self.device),
            cache=kv.cache,
            self_conditioning_logits=None if kv.conditioning is None else kv.conditioning[None],
        )
        logits: Tensor = outputs.logits[0]
        return logits
