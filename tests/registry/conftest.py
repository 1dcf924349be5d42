"""Small keys, pages and stores."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import fsspec
import pytest
import torch
from registry.fake_remote import FakeRemote

from ragcache.page import Page
from ragcache.registry import AffixKey, Registry

MakeKey = Callable[..., AffixKey]
MakePage = Callable[[AffixKey], Page]


@pytest.fixture
def make_key() -> MakeKey:
    """`make_key(3)` has the tokens 3, 4, 5, 6; other fields by name."""

    def make(first: int = 0, tokens: int = 4, **fields: str) -> AffixKey:
        given = {"model": "nano", "tokenizer": "words", "dtype": "float32", "rope": "theta=10000", **fields}
        return AffixKey(token_ids=tuple(range(first, first + tokens)), **given)

    return make


@pytest.fixture
def make_page() -> MakePage:
    """Two layers, two heads, head_dim 8; the values follow from the token ids."""

    def make(key: AffixKey) -> Page:
        generator = torch.Generator().manual_seed(key.token_ids[0])
        shape = (2, len(key.token_ids), 8)
        tensors = [torch.randn(shape, generator=generator).to(getattr(torch, key.dtype)) for _ in range(4)]
        return Page(torch.tensor(key.token_ids), tuple(tensors[:2]), tuple(tensors[2:]))

    return make


def temporary_folder() -> tempfile.TemporaryDirectory[str]:
    """In memory where there is such a place: the store waits for the disk at every write."""
    in_memory = Path("/dev/shm")
    usable = in_memory.is_dir() and os.access(in_memory, os.W_OK)
    return tempfile.TemporaryDirectory(dir=in_memory if usable else None)


@pytest.fixture
def tmp_path() -> Iterator[Path]:
    """As pytest's, on a faster disk."""
    with temporary_folder() as name:
        yield Path(name)


@pytest.fixture(scope="session")
def empty_store() -> Iterator[Path]:
    """A store as it is after its first opening."""
    with temporary_folder() as name:
        Registry(Path(name) / "store").close()
        yield Path(name) / "store"


@pytest.fixture
def path(tmp_path: Path, empty_store: Path) -> Path:
    """The test's own store, still empty."""
    shutil.copytree(empty_store, tmp_path / "store")
    return tmp_path / "store"


@pytest.fixture
def registry(path: Path) -> Iterator[Registry]:
    """A registry without memory tier, so that every hit reads the disk."""
    with Registry(path, memory_bytes=0) as opened:
        yield opened


@pytest.fixture
def page_file(path: Path) -> Callable[[], Path]:
    """The store's only page file."""

    def only() -> Path:
        (file,) = (path / "pages").glob("*.safetensors")
        return file

    return only


@pytest.fixture
def fake_remote() -> Iterator[None]:
    """`fake://`, as new."""
    fsspec.register_implementation("fake", FakeRemote, clobber=True)
    FakeRemote.reset()
    yield
    FakeRemote.release.set()
