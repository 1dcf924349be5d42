"""Payloads on their way between stores: without what is private to one, and checked when they arrive."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import replace

from torch import Tensor

from ragcache.errors import StoreDamagedError
from ragcache.registry.files import page_of
from ragcache.registry.key import AffixKey
from ragcache.registry.page_io import Payload
from ragcache.registry.payload import TOKEN_IDS, build_header, parse_payload

_MOST_ENCODE_S = 3600.0


def pack(key: AffixKey, payload: Payload) -> tuple[bytes, dict[str, Tensor]]:
    """Header and tensors of a payload that leaves its store, as the page of `key`."""
    info, token_ids, tensors = payload
    everything = {TOKEN_IDS: token_ids, **_by_layer(tensors)}
    header = build_header(everything, replace(info, key=key.canonical(), text_digest=""))
    return header, everything


def unpack(name: str, data: bytes, key: AffixKey | None = None) -> tuple[AffixKey, Payload]:
    """The payload in `data`, every byte checked, and its key, which must be `key` where that is given.

    Raises `StoreDamagedError`.
    """
    payload = parse_payload(name, data, check_digests=True)
    own = key or key_of(name, payload)
    info, token_ids, tensors = payload
    page_of(name, own, (info, token_ids, dict(tensors)))
    return own, (replace(info, encode_s=_plausible_s(info.encode_s)), token_ids, _by_layer(tensors))


def key_of(name: str, payload: Payload) -> AffixKey:
    """The key in a payload's header, if it is that of its token ids. Raises `StoreDamagedError`."""
    info, token_ids, _ = payload
    try:
        return AffixKey.from_canonical(info.key, tuple(token_ids.tolist()))
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise StoreDamagedError(f"{name}: the header's key is unreadable ({error}).") from error


def _plausible_s(encode_s: float) -> float:
    """Another machine's measurement weighs in evictions, so it is kept within reason."""
    return min(max(encode_s, 0.0), _MOST_ENCODE_S) if math.isfinite(encode_s) else 0.0


def _by_layer(tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Ordered as a payload file is, whatever order they arrived in: one layer is one range."""

    def layer(name: str) -> int:
        number = re.search(r"\d+", name)
        return int(number[0]) if number else -1

    return {name: tensors[name] for name in sorted(tensors, key=lambda name: (layer(name), name))}
