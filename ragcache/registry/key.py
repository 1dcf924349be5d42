"""The key of a page: everything that shapes its bytes, and nothing else."""

from __future__ import annotations

import hashlib
import hmac
import json
import struct
from dataclasses import dataclass

from ragcache.errors import InputError

DEFAULT_NAMESPACE = "default"
SHARED_NAMESPACE = "shared"
"""Public affixes; only those that a request or an engine names are looked up here."""
FORMAT_VERSION = 1
"""Version of the key and of the payload file; a change makes old pages miss instead of being misread."""


@dataclass(frozen=True)
class AffixKey:
    """Names one page by content: not by affix name and not by offset, so one page serves every place.

    Pages that fit one place alone have it in `context`: the tokens before them.

    `token_ids` is the affix's own encoding, `context` what it was encoded in ("alone", or the digest
    of a scaffold), `depths` the layers before which hidden states are kept. Raises `InputError` for an empty
    or non-text field or for no token ids.
    """

    model: str
    tokenizer: str
    dtype: str
    rope: str
    token_ids: tuple[int, ...]
    context: str = "alone"
    adapter: str = "none"
    codec: str = "raw"
    namespace: str = DEFAULT_NAMESPACE
    depths: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        for name, value in self._texts().items():
            if not isinstance(value, str) or not value:
                raise InputError(f"AffixKey.{name} is {value!r}; give a text that is not empty.")
        if not isinstance(self.token_ids, tuple) or not self.token_ids:
            raise InputError("AffixKey.token_ids must be a tuple of at least one token id.")

    def _texts(self) -> dict[str, str]:
        return {
            "model": self.model,
            "tokenizer": self.tokenizer,
            "dtype": self.dtype,
            "rope": self.rope,
            "context": self.context,
            "adapter": self.adapter,
            "codec": self.codec,
            "namespace": self.namespace,
        }

    def canonical(self) -> str:
        """One-line JSON of all fields and the format version; token ids enter by count and SHA-256."""
        try:
            packed = struct.pack(f"<{len(self.token_ids)}q", *self.token_ids)
        except struct.error as error:
            raise InputError(f"AffixKey.token_ids must hold whole numbers below 2**63: {error}.") from error
        fields: dict[str, str | int] = {
            **self._texts(),
            "format": FORMAT_VERSION,
            "tokens": len(self.token_ids),
            "token_ids": hashlib.sha256(packed).hexdigest(),
        }
        if self.depths:  # pages without hidden states keep the digest they always had
            fields["depths"] = ",".join(map(str, self.depths))
        return json.dumps(fields, sort_keys=True, separators=(",", ":"))

    @classmethod
    def from_canonical(cls, canonical: str, token_ids: tuple[int, ...]) -> AffixKey:
        """The key of which `canonical()` is the JSON.

        Raises ValueError, KeyError, TypeError or RecursionError when there is no such key of these tokens.
        """
        given = json.loads(canonical)
        depths = tuple(map(int, given["depths"].split(","))) if "depths" in given else ()
        texts = {name: given[name] for name in cls.__dataclass_fields__.keys() - {"token_ids", "depths"}}
        key = cls(**texts, token_ids=token_ids, depths=depths)
        if key.canonical() != canonical:
            raise ValueError("the key is not that of its token ids")
        return key

    def digest(self, secret: bytes) -> str:
        """64 hex digits: HMAC-SHA256 of `canonical()` under the namespace's key; reveals no field."""
        return _hmac(namespace_key(secret, self.namespace), self.canonical())


def canonical_digest(secret: bytes, canonical: str) -> str:
    """The digest of a key of which only the canonical JSON is at hand (a payload's header).

    Raises ValueError, KeyError, TypeError or RecursionError for a text that is no canonical key.
    """
    namespace = json.loads(canonical)["namespace"]
    if not isinstance(namespace, str):
        raise TypeError(f"namespace {namespace!r} is not a text")
    return _hmac(namespace_key(secret, namespace), canonical)


def namespace_key(secret: bytes, namespace: str) -> bytes:
    """The HMAC key of one namespace: with it alone, no other namespace's digests can be computed.

    The default namespace keeps the store's secret, as stores had it before they knew of others.
    """
    if namespace == DEFAULT_NAMESPACE:
        return secret
    return hmac.new(
        secret, b"ragcache namespace\0" + namespace.encode("utf-8", "surrogatepass"), hashlib.sha256
    ).digest()


def _hmac(key: bytes, text: str) -> str:
    return hmac.new(key, text.encode(), hashlib.sha256).hexdigest()
