"""The page files of a store: found by digest, checked once, opened as pages."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from contextlib import suppress

from torch import Tensor

from ragcache.durable import sync_folder
from ragcache.errors import StoreDamagedError
from ragcache.page import Page
from ragcache.registry.codecs import codec_for, dtype_named
from ragcache.registry.key import AffixKey, canonical_digest
from ragcache.registry.page_io import PageIO, Payload
from ragcache.registry.payload import PayloadInfo, Stamp, stamp_of
from ragcache.registry.records import PageRow, is_digest
from ragcache.registry.store import Store


class PageFiles:
    """Reads need no lock, for a file never changes; writes and removals happen under the store's."""

    def __init__(self, store: Store, io: PageIO) -> None:
        self._store = store
        self._io = io
        self._verified: dict[str, Stamp] = {}

    def open(self, digest: str, stamp: Stamp, key: AffixKey) -> Page:
        """The page of `key`; its bytes are checked once per process and file.

        Raises `StoreDamagedError` when the file holds anything but that page, OSError when it cannot
        be read.
        """
        check = self._verified.get(digest) != stamp
        payload = self._io.read(self._store.page_path(digest), check_digests=check)
        page = page_of(digest, key, payload)
        self._verified[digest] = stamp
        return page

    def check(self, digest: str) -> None:
        """Read every byte. Raises as `open` does."""
        self.read(digest)

    def read(self, digest: str) -> Payload:
        """Header and tensors as they lie on the disk, every byte checked. Raises as `open` does."""
        payload = self._io.read(self._store.page_path(digest), check_digests=True)
        self._check_place(digest, payload[0])
        return payload

    def info(self, digest: str) -> PayloadInfo:
        """The header alone. Raises as `open` does."""
        info = self._io.read_info(self._store.page_path(digest))
        self._check_place(digest, info)
        return info

    def row(self, digest: str) -> PageRow:
        """A row from the header alone, never used so far. Raises as `open` does."""
        size_bytes = stamp_of(self._store.page_path(digest)).size_bytes
        return row_of(digest, self.info(digest), size_bytes)

    def write(self, digest: str, header: bytes, tensors: Mapping[str, Tensor]) -> None:
        """The file appears whole or not at all, and is on the disk when this returns. Raises OSError."""
        temporary = self._store.pages / f"{digest}.tmp"
        temporary.unlink(missing_ok=True)
        try:
            self._io.write(temporary, header, tensors)
            os.rename(temporary, self._store.page_path(digest))
        except BaseException:
            with suppress(OSError):
                temporary.unlink(missing_ok=True)
            raise
        sync_folder(self._store.pages)

    def size_bytes(self, payload_bytes: int) -> int:
        """Size of the file of a payload of so many bytes."""
        return self._io.size_bytes(payload_bytes)

    def remove(self, digest: str) -> None:
        """Remove the file, if it is there; pages opened from it stay usable. Raises OSError."""
        self._store.page_path(digest).unlink(missing_ok=True)
        self._verified.pop(digest, None)

    def scan(self) -> dict[str, int]:
        """Digest and size in bytes of every page file. Raises OSError."""
        suffix = self._store.page_path("").name
        sizes: dict[str, int] = {}
        with os.scandir(self._store.pages) as entries:
            for entry in entries:
                digest = entry.name.removesuffix(suffix)
                if digest != entry.name and is_digest(digest):
                    with suppress(FileNotFoundError):  # evicted since it was listed
                        sizes[digest] = entry.stat(follow_symlinks=False).st_size
        return sizes

    def remove_unfinished(self) -> None:
        """Remove what a killed writer left; nobody writes while the store's lock is held."""
        for path in self._store.pages.glob("*.tmp"):
            path.unlink()

    def _check_place(self, digest: str, info: PayloadInfo) -> None:
        try:
            belongs = canonical_digest(self._store.secret, info.key) == digest
        except (ValueError, KeyError, TypeError, RecursionError) as error:
            raise StoreDamagedError(f"{digest}: the header's key is unreadable ({error}).") from error
        if not belongs:
            raise StoreDamagedError(f"{digest} holds the page of another key.")


def row_of(digest: str, info: PayloadInfo, size_bytes: int) -> PageRow:
    """The row that belongs to a payload. Raises `StoreDamagedError` for a header without its key."""
    try:
        key = json.loads(info.key)
        return PageRow(
            digest=digest,
            model=key["model"],
            dtype=key["dtype"],
            codec=key["codec"],
            tokens=key["tokens"],
            size_bytes=size_bytes,
            created_s=info.created_s,
            last_used_s=info.created_s,
            hits=0,
            encode_s=info.encode_s,
            text_digest=info.text_digest,
            namespace=key["namespace"],
        )
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise StoreDamagedError(f"{digest}: the header's key is unreadable ({error}).") from error


def page_of(digest: str, key: AffixKey, payload: Payload) -> Page:
    """The page in a payload whose bytes were checked. Raises `StoreDamagedError` when it is not `key`'s."""
    info, token_ids, tensors = payload
    if info.key != key.canonical():
        raise StoreDamagedError(f"{digest} holds the page of another key.")
    try:
        page = codec_for(key.codec).decode(token_ids, tensors, dtype_named(key.dtype))
    except StoreDamagedError as error:
        raise StoreDamagedError(f"{digest}: {error}") from error
    problem = page_problem(key, page)
    if problem:
        raise StoreDamagedError(f"{digest}: {problem}.")
    return page


def page_problem(key: AffixKey, page: Page) -> str | None:
    """Why `page` cannot be the page of `key`, or None."""
    if page.token_ids.tolist() != list(key.token_ids):
        return "the page's token ids are not the key's"
    if page.turned:
        return "its keys are turned; store the page it was made of"
    if not page.keys or len(page.keys) != len(page.values):
        return f"{len(page.keys)} layers of keys and {len(page.values)} of values"
    for tensor in (*page.keys, *page.values):
        if tensor.dim() != 3 or tensor.shape[1] != page.tokens:
            return f"shape {list(tensor.shape)} instead of [kv_heads, {page.tokens}, head_dim]"
        if str(tensor.dtype) != f"torch.{key.dtype}":
            return f"{tensor.dtype} instead of the key's {key.dtype}"
    if sorted(page.hidden) != sorted(set(key.depths)):
        return f"hidden states at the layers {sorted(page.hidden)} instead of {sorted(set(key.depths))}"
    for tensor in page.hidden.values():
        if tensor.dim() != 2 or len(tensor) != page.tokens or str(tensor.dtype) != f"torch.{key.dtype}":
            return f"hidden states {list(tensor.shape)} in {tensor.dtype} instead of [{page.tokens}, hidden]"
    return None
