"""What a store of large files must survive, where no other test has it."""

from __future__ import annotations

import json
import os
import resource
import shutil
import sqlite3
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import numpy as np
import pytest
import torch

from ragcache.errors import AffixTooLargeError, RegistryError, StoreFullError, StoreUnavailableError
from ragcache.page import Page
from ragcache.registry import AffixKey, Registry
from ragcache.registry.files import PageFiles
from ragcache.registry.names import NameTable
from ragcache.registry.payload import TOKEN_IDS, PayloadInfo, build_header

GIB = 2**30
WAIT_S = 60.0


@contextmanager
def files_up_to(most_bytes: int) -> Iterator[None]:
    """As on a disk with so much room: the write that goes beyond fails in its middle."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (most_bytes, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def test_a_disk_that_fills_up_in_the_middle_of_a_page(
    registry: Registry, path: Path, make_key, make_page
) -> None:
    small, large = make_key(), make_key(10, tokens=8000)
    registry.put(small, make_page(small))
    with files_up_to(2**20):
        with pytest.raises(StoreFullError, match="no room left"):
            registry.put(large, make_page(large))
        assert registry.get(small) is not None
    assert len(list((path / "pages").iterdir())) == registry.stats().entries == 1
    registry.put(large, make_page(large))
    assert registry.get(large) is not None


def test_a_page_that_fails_after_it_was_found_is_a_miss(
    registry: Registry, path: Path, make_key, make_page
) -> None:
    key = make_key()
    registry.put(key, make_page(key))
    assert (registry.warm([key]), len(registry.pages())) == (1, 1)
    (file,) = (path / "pages").iterdir()
    file.write_bytes(file.read_bytes()[:-9])
    assert registry.get(key) is None
    stats = registry.stats()
    assert (stats.hits, stats.misses, stats.quarantined) == (0, 1, 1)
    registry.put(key, make_page(key))
    assert registry.get(key) is not None


def test_readers_do_not_wait_for_who_changes_the_store(path: Path, make_key, make_page) -> None:
    held, release = threading.Event(), threading.Event()
    with Registry(path, memory_bytes=0) as writer, Registry(path, memory_bytes=0) as reader:
        writer.put(make_key(), make_page(make_key()))
        writer.register("a", "text")

        def change() -> None:
            with writer._store.exclusive():
                held.set()
                release.wait(WAIT_S)

        thread = threading.Thread(target=change)
        thread.start()
        assert held.wait(WAIT_S)
        found: list[object] = []
        reading = threading.Thread(
            target=lambda: found.extend(
                [reader.get(make_key()), reader.lookup("a"), reader.names(), reader.stats()]
            )
        )
        reading.start()
        reading.join(WAIT_S)
        waited = reading.is_alive()
        release.set()
        thread.join()
        reading.join()
    assert not waited
    assert len(found) == 4
    assert found[0] is not None


def test_an_index_locked_by_somebody_is_a_typed_error_and_pages_are_served(
    path: Path, make_key, make_page, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Registry(path) as registry:
        registry.put(make_key(), make_page(make_key()))
    monkeypatch.setattr("ragcache.registry.table._BUSY_TIMEOUT_S", 0.05)
    with Registry(path, memory_bytes=0) as registry:
        with closing(sqlite3.connect(path / "index" / "cache.db", isolation_level=None)) as other:
            other.execute("BEGIN IMMEDIATE")
            assert registry.get(make_key()) is not None
            with pytest.raises(StoreUnavailableError, match="locked by another process"):
                registry.put(make_key(10), make_page(make_key(10)))
            assert len(list((path / "pages").iterdir())) == 1
            other.execute("ROLLBACK")
        registry.put(make_key(10), make_page(make_key(10)))
        assert registry.stats().entries == 2


def test_a_store_deleted_while_it_is_open_misses_and_refuses(
    registry: Registry, path: Path, make_key, make_page
) -> None:
    registry.put(make_key(), make_page(make_key()))
    shutil.rmtree(path)
    assert registry.get(make_key()) is None
    assert registry.names() == ()
    with pytest.raises(RegistryError):
        registry.put(make_key(), make_page(make_key()))


def test_an_index_damaged_while_it_is_open_still_serves_pages(
    registry: Registry, path: Path, make_key, make_page
) -> None:
    registry.put(make_key(), make_page(make_key()))
    with closing(sqlite3.connect(path / "index" / "cache.db")) as connection, connection:
        connection.execute("DROP TABLE Cache")
    assert registry.get(make_key()) is not None
    with pytest.raises(RegistryError, match="open it again"):
        registry.put(make_key(10), make_page(make_key(10)))
    registry.close()
    with Registry(path) as again:
        assert again.get(make_key()) is not None
        again.put(make_key(10), make_page(make_key(10)))
        assert again.verify().ok == 2


def test_rows_of_a_newer_layout_come_back_from_the_headers(path: Path, make_key, make_page) -> None:
    with Registry(path) as registry:
        registry.put(make_key(), make_page(make_key()), encode_s=0.5)
        fields = json.loads(registry.pages()[0].to_json()) | {"shard": 7}
    with closing(sqlite3.connect(path / "index" / "cache.db")) as connection, connection:
        connection.execute("UPDATE Cache SET value = ? WHERE key LIKE 'page:%'", (json.dumps(fields),))
    with Registry(path, memory_bytes=0) as registry:
        assert [row.encode_s for row in registry.pages()] == [0.5]
        assert registry.get(make_key()) is not None
        assert registry.verify().messages == ()


@pytest.mark.parametrize("entries", [50, pytest.param(10_000, marks=pytest.mark.slow)])
def test_among_many_one_is_found_by_opening_one_file(
    path: Path, monkeypatch: pytest.MonkeyPatch, entries: int
) -> None:
    tensors = (torch.zeros(1, 1, 8),)
    keys = [AffixKey("small", "none", "float32", "none", (number,)) for number in range(entries)]
    with Registry(path, memory_bytes=0) as registry:
        for number, key in enumerate(keys):
            registry.register(f"document {number}", f"Text {number}.")
            registry.put(key, Page(torch.tensor(key.token_ids), tensors, tensors))
    with Registry(path, memory_bytes=0) as registry:
        assert (registry.stats().entries, len(registry.names())) == (entries, entries)
        opened: list[str] = []
        for kind, method in ((NameTable, "_parse"), (PageFiles, "open")):
            plain = getattr(kind, method)

            def counted(self: object, *given: object, plain=plain, method=method) -> object:  # type: ignore[no-untyped-def]
                opened.append(method)
                return plain(self, *given)

            monkeypatch.setattr(kind, method, counted)
        for number in (0, entries // 2, entries - 1):
            assert registry.lookup(f"document {number}").text == f"Text {number}."
            assert registry.get(keys[number]) is not None
        assert opened == ["_parse", "open"] * 3
        assert registry.get(AffixKey("small", "none", "float32", "none", (entries,))) is None


def anonymous_bytes() -> int:
    """Memory of this process that no file backs."""
    lines = Path("/proc/self/status").read_text().splitlines()
    (line,) = (line for line in lines if line.startswith("RssAnon:"))
    return int(line.split()[1]) * 1024


@pytest.mark.slow
def test_a_page_of_a_gibibyte_is_mapped_and_never_copied(path: Path) -> None:
    tokens = 65_536
    key = AffixKey("large", "none", "float32", "none", tuple(range(tokens)))
    half = torch.from_numpy(np.zeros((8, tokens, 256), np.float32))  # untouched, so it takes no memory
    tensors = {TOKEN_IDS: torch.arange(tokens), "k.0": half, "v.0": half}
    header = build_header(tensors, PayloadInfo(key.canonical(), 1.0, 9.0, "", "1.0"))
    with Registry(path) as registry:
        file = path / "pages" / f"{key.digest(registry._store.secret)}.safetensors"
    with file.open("xb") as sparse:
        sparse.write(header + tensors[TOKEN_IDS].numpy().tobytes())
        sparse.truncate(len(header) + tensors[TOKEN_IDS].nbytes + 2 * half.nbytes)
    os.chmod(file, 0o600)
    with Registry(path, limit_bytes=2 * GIB, memory_bytes=GIB // 2) as registry:
        before = anonymous_bytes()
        page = registry.get(key)
        assert page is not None
        assert page.size_bytes == GIB
        assert anonymous_bytes() - before < GIB // 8
        assert (registry.usage().tiers["memory"], registry.stats().size_bytes) == (0, file.stat().st_size)
    with Registry(path.parent / "small", limit_bytes=GIB // 2) as registry:
        with pytest.raises(AffixTooLargeError, match="raise limit_bytes"):
            registry.put(key, page)
        assert list((path.parent / "small" / "pages").iterdir()) == []
