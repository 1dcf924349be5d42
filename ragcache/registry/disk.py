"""The disk tier: pages by key, out of files that are checked before they are trusted."""

from __future__ import annotations

import logging
import time
from importlib.metadata import PackageNotFoundError, version

from torch import Tensor

from ragcache.errors import InputError, RegistryError, StoreDamagedError
from ragcache.page import Page
from ragcache.registry.codecs import codec_for, dtype_named
from ragcache.registry.files import page_problem, row_of
from ragcache.registry.key import AffixKey
from ragcache.registry.page_io import Payload
from ragcache.registry.payload import TOKEN_IDS, PayloadInfo, build_header, stamp_of
from ragcache.registry.shelf import Shelf

_log = logging.getLogger(__name__)


class DiskTier:
    """Pages of one store. Thread- and process-safe; finding a page takes no lock."""

    def __init__(self, shelf: Shelf) -> None:
        self._shelf = shelf
        self._secret = shelf.store.secret
        self._library = library_version()

    def get(self, key: AffixKey) -> tuple[str, Page] | None:
        """See `Tier.get`: what cannot be trusted is set aside and missed."""
        digest = key.digest(self._secret)
        page = self._load(digest, key)
        if page is None:
            return None
        try:
            self._shelf.adopt(digest)
        except RegistryError as error:
            _log.warning("page %s is in use without a row: %s", digest, error)
        return digest, page

    def put(self, key: AffixKey, page: Page, encode_s: float, text_digest: str) -> tuple[str, Page]:
        """Store `page` unless it is there; the result is what `get` finds. Raises as `Registry.put`."""
        dtype_named(key.dtype)
        problem = page_problem(key, page)
        if problem:
            raise InputError(f"the page cannot be stored under this key: {problem}.")
        self._shelf.writable_index()
        tensors = {TOKEN_IDS: page.token_ids.cpu().long().contiguous(), **codec_for(key.codec).encode(page)}
        return self._add(key, tensors, encode_s, text_digest)

    def keep(self, key: AffixKey, payload: Payload, text_digest: str) -> tuple[str, Page]:
        """`put` for a checked payload from elsewhere, under a header of this store's own."""
        info, token_ids, tensors = payload
        self._shelf.writable_index()
        return self._add(key, {TOKEN_IDS: token_ids, **tensors}, info.encode_s, text_digest)

    def read(self, key: AffixKey) -> Payload | None:
        """The payload as it lies on the disk, every byte checked; None when it is gone or damaged."""
        try:
            return self._shelf.files.read(self.digest(key))
        except (OSError, StoreDamagedError):
            return None

    def digest(self, key: AffixKey) -> str:
        """What the page of `key` is called in this store."""
        return key.digest(self._secret)

    def _add(
        self, key: AffixKey, tensors: dict[str, Tensor], encode_s: float, text_digest: str
    ) -> tuple[str, Page]:
        info = PayloadInfo(key.canonical(), time.time(), encode_s, text_digest, self._library)
        header = build_header(tensors, info)
        size_bytes = self._shelf.files.size_bytes(len(header) + sum(t.nbytes for t in tensors.values()))
        row = row_of(key.digest(self._secret), info, size_bytes)
        self._shelf.limits.check(row)
        with self._shelf.store.exclusive():
            if self._load(row.digest, key) is None:
                self._shelf.add(row, header, tensors)
            found = self.get(key)
        if found is None:
            raise StoreDamagedError(f"page {row.digest} cannot be read back; check the disk.")
        return found

    def discard(self, digest: str) -> None:
        """See `Tier.discard`. Raises RegistryError when the store cannot be changed."""
        with self._shelf.store.exclusive():
            self._shelf.remove(digest)

    def _load(self, digest: str, key: AffixKey) -> Page | None:
        stamp = None
        try:
            stamp = stamp_of(self._shelf.store.page_path(digest))
            return self._shelf.files.open(digest, stamp, key)
        except FileNotFoundError:
            return None
        except StoreDamagedError as error:
            self._shelf.quarantine(digest, stamp, error)
        except OSError as error:
            _log.warning("page %s cannot be read: %s", digest, error)
        return None


def library_version() -> str:
    """Version of ragcache, for headers; "unknown" where it is not installed."""
    try:
        return version("ragcache-dllm")
    except PackageNotFoundError:
        return "unknown"
