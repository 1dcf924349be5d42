"""The registered texts as a LangChain key-value store."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from langchain_core.stores import ByteStore

from ragcache.errors import DocumentError, UnknownAffixError
from ragcache.registry import DEFAULT_NAMESPACE, Registry
from ragcache.text import normalise


class AffixByteStore(ByteStore):
    """Names of affixes to their texts in UTF-8: what is put here is found in prompts, and reused.

    A view of one `namespace` of `registry`, which stays the caller's. Texts are kept normalised (LF line
    ends, NFC, no blanks at line ends), so that is what comes back. Raises the registry's errors; `InputError`
    for a name that is none, `DocumentError` for a value that is no text.
    """

    def __init__(self, registry: Registry, namespace: str = DEFAULT_NAMESPACE) -> None:
        self.registry, self.namespace = registry, namespace

    def mget(self, keys: Sequence[str]) -> list[bytes | None]:
        """Texts in the order of `keys`, None for an unknown name."""
        return [self._get(key) for key in keys]

    def mset(self, key_value_pairs: Sequence[tuple[str, bytes]]) -> None:
        """Register texts; nothing is written when one of them is none."""
        texts = [(name, _text(name, value)) for name, value in key_value_pairs]
        for name, text in texts:
            self.registry.register(name, text, namespace=self.namespace)

    def mdelete(self, keys: Sequence[str]) -> None:
        """Forget names, and drop pages whose text no other name has; unknown names are passed over."""
        for key in keys:
            try:
                self.registry.remove(key, self.namespace)
            except UnknownAffixError:
                continue

    def yield_keys(self, *, prefix: str | None = None) -> Iterator[str]:
        """Names that begin with `prefix`, sorted."""
        names = (record.name for record in self.registry.names(self.namespace))
        yield from (name for name in names if name.startswith(prefix or ""))

    def _get(self, key: str) -> bytes | None:
        record = self.registry.find(key, self.namespace)
        return None if record is None else record.text.encode()


def _text(name: str, value: bytes) -> str:
    try:
        text = normalise(value.decode())
    except UnicodeDecodeError as error:
        raise DocumentError(f"The value of {name!r} is no UTF-8 text ({error}). Decode it first.") from error
    if not text.strip():
        raise DocumentError(f"The value of {name!r} holds no text. Leave it out.")
    return text
