"""What codecs, quotas, pins and measured times are worth in stores that are encrypted or share a remote."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
import torch

from ragcache.registry import CODECS, LRU, Registry, Remote, codec_for

KEY = bytes(range(32))


@pytest.fixture
def remote(tmp_path: Path) -> Remote:
    return Remote(f"file://{tmp_path}/shared", timeout_s=20.0)


@pytest.mark.parametrize("codec", CODECS)
@pytest.mark.parametrize("encryption_key", [None, KEY])
def test_a_second_machine_reads_what_the_codec_kept(
    tmp_path: Path, make_key, make_page, remote: Remote, codec: str, encryption_key: bytes | None
) -> None:
    key = make_key(tokens=70, codec=codec)
    page = make_page(key)
    with Registry(tmp_path / "first", remote=remote, encryption_key=encryption_key) as first:
        first.put(key, page)
    expected = codec_for(codec).round_trip(page)
    with Registry(tmp_path / "second", remote=remote, encryption_key=encryption_key) as second:
        fetched = second.get(key)
    with Registry(tmp_path / "second", encryption_key=encryption_key) as offline:
        kept = offline.get(key)
        assert offline.verify().ok == 1
    for found in (fetched, kept):
        assert found is not None
        assert torch.equal(found.keys[1], expected.keys[1])
        assert torch.equal(found.values[0], expected.values[0])


def test_a_page_of_another_codec_is_not_fetched(tmp_path: Path, make_key, make_page, remote: Remote) -> None:
    key = make_key(tokens=70, codec="int8")
    with Registry(tmp_path / "first", remote=remote) as first:
        first.put(key, make_page(key))
    with Registry(tmp_path / "second", remote=remote) as second:
        assert second.get(replace(key, codec="raw")) is None
        assert second.get(key) is not None


def test_fetched_pages_keep_to_the_quota(tmp_path: Path, make_key, make_page, remote: Remote) -> None:
    keys = [make_key(first, namespace="aaa") for first in (0, 10)]
    with Registry(tmp_path / "first", remote=remote) as first:
        for key in keys:
            first.put(key, make_page(key))
        size_bytes = first.stats().size_bytes // 2
    for quota, kept in ((0, 0), (size_bytes, 1), (2 * size_bytes, 2)):
        folder, options = tmp_path / f"with {quota}", {"quotas": {"aaa": quota}, "eviction": LRU()}
        with Registry(folder, remote=remote, memory_bytes=0, **options) as registry:
            assert all(registry.get(key) is not None for key in keys)
            assert registry.stats().entries == kept


def test_a_fetched_page_under_pins_is_used_without_being_stored(
    tmp_path: Path, make_key, make_page, remote: Remote
) -> None:
    pinned, wanted = make_key(0), make_key(10)
    with Registry(tmp_path / "first", remote=remote) as first:
        first.put(wanted, make_page(wanted))
        size_bytes = first.stats().size_bytes
    with Registry(tmp_path / "second", remote=remote, limit_bytes=size_bytes, memory_bytes=0) as second:
        second.put(pinned, make_page(pinned))
        second.pin(pinned)
        assert second.get(wanted) is not None
        assert second.get(pinned) is not None
        assert second.stats().entries == 1


def test_a_download_is_no_measure_of_this_disk(tmp_path: Path, make_key, make_page, remote: Remote) -> None:
    key = make_key()
    with Registry(tmp_path / "first", remote=remote) as first:
        first.put(key, make_page(key), encode_s=1.5)
    with Registry(tmp_path / "second", remote=remote, memory_bytes=0) as second:
        second.get(key)
        (row,) = second.pages()
        assert (row.load_s, row.hits) == (0.0, 1)
        second.get(key)
        (row,) = second.pages()
        assert row.load_s > 0
        assert row.hits == 2


def test_what_loading_ahead_took_is_remembered(path: Path, make_key, make_page) -> None:
    key = make_key()
    with Registry(path) as registry:
        registry.put(key, make_page(key), encode_s=1.5)
    with Registry(path) as registry:
        assert registry.warm([key]) == 1
        (row,) = registry.pages()
        assert (row.hits, row.load_s > 0) == (0, True)
        registry.get(key)
        (again,) = registry.pages()
        assert (again.hits, again.load_s) == (1, row.load_s)
        assert registry.stats().saved_s == pytest.approx(1.5 - row.load_s)


def test_an_encrypted_store_has_the_exact_limit_and_pins_too(path: Path, make_key, make_page) -> None:
    keys = [make_key(first) for first in (0, 10, 20)]
    sealed = path.parent / "sealed"
    with Registry(sealed, encryption_key=KEY) as registry:
        registry.put(keys[0], make_page(keys[0]))
        size_bytes = registry.stats().size_bytes
        assert size_bytes == sum(file.stat().st_size for file in (sealed / "pages").iterdir())
    limits = {"limit_bytes": 2 * size_bytes, "eviction": LRU(), "memory_bytes": 0}
    with Registry(sealed, encryption_key=KEY, **limits) as registry:
        registry.pin(keys[0])
        for key in keys[1:]:
            registry.put(key, make_page(key))
        assert [registry.get(key) is not None for key in keys] == [True, False, True]
        registry.register("name", "A text.", source="folder")
    with Registry(sealed, encryption_key=KEY, **limits) as registry:
        assert registry.lookup("name").source == "folder"
        assert registry.usage().pinned == {"hard": 1, "soft": 0}
        assert registry.collect_garbage(unnamed=True).pages == 1
