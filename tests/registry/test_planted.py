"""Files that somebody planted in a store: never run, never followed; a miss and a counter."""

from __future__ import annotations

import json
import os
import pickle
import struct
from collections.abc import Callable
from pathlib import Path

import pytest
from safetensors.torch import save

from ragcache.errors import StoreUnavailableError
from ragcache.registry import Registry

Plant = Callable[[Path, bytes], object]


class Bomb:
    """Creates a file when it is unpickled."""

    def __init__(self, fuse: Path) -> None:
        self.fuse = fuse

    def __reduce__(self) -> tuple[object, ...]:
        return Path.touch, (self.fuse,)


def changed_header(data: bytes, **metadata: object) -> bytes:
    """The payload with other metadata; data and digests are as they were."""
    (length,) = struct.unpack_from("<Q", data)
    header = json.loads(data[8 : 8 + length])
    header["__metadata__"] |= metadata
    text = json.dumps(header).encode()
    return struct.pack("<Q", len(text)) + text + data[8 + length :]


def promised_too_much(data: bytes) -> bytes:
    (length,) = struct.unpack_from("<Q", data)
    text = data[8 : 8 + length].replace(b'"shape":[2,4,8]', b'"shape":[2,4,9]')
    return data[:8] + text + data[8 + length :]


def link_to(target: str) -> Plant:
    """A link in the file's place; `{itself}` for one to itself."""

    def plant(file: Path, data: bytes) -> None:
        file.unlink()
        file.symlink_to(target.format(itself=file))

    return plant


def fifo(file: Path, data: bytes) -> None:
    file.unlink()
    os.mkfifo(file)


def written(change: Callable[[bytes], bytes]) -> Plant:
    return lambda file, data: file.write_bytes(change(data))


PLANTED: dict[str, Plant] = {
    "pickle": lambda file, data: file.write_bytes(pickle.dumps(Bomb(file.parents[2] / "executed"))),
    "oversized header": written(lambda data: struct.pack("<Q", 2**40) + data[8:]),
    "header over the file": written(lambda data: struct.pack("<Q", len(data)) + data[8:]),
    "deep header": written(lambda data: struct.pack("<Q", 90_000) + b"[" * 90_000),
    "shape that is not the data's": written(promised_too_much),
    "another format": written(lambda data: changed_header(data, format="99")),
    "another key": written(lambda data: changed_header(data, key="{}")),
    "deep key": written(lambda data: changed_header(data, key="[" * 5000)),
    "no digests": written(lambda data: changed_header(data, digests="{}")),
    "times that cannot be": written(lambda data: changed_header(data, encode_s="inf")),
    "foreign safetensors": written(lambda data: save({})),
    "absolute link": link_to("/etc/passwd"),
    "parent link": link_to("../../victim"),
    "link to itself": link_to("{itself}"),
    "fifo": fifo,
}


@pytest.mark.parametrize("network", [None, "nfs4"], ids=["mapped", "whole"])
@pytest.mark.parametrize("how", PLANTED)
def test_what_is_planted_is_missed_counted_and_set_aside(
    path: Path, make_key, make_page, monkeypatch: pytest.MonkeyPatch, how: str, network: str | None
) -> None:
    monkeypatch.setattr("ragcache.registry.store.network_filesystem", lambda path: network)
    victim = path.parent / "victim"
    victim.write_text("precious")
    key, other = make_key(), make_key(10)
    with Registry(path, memory_bytes=0) as registry:
        for own in (key, other):
            registry.put(own, make_page(own))
        file = path / "pages" / f"{key.digest(registry._store.secret)}.safetensors"
        PLANTED[how](file, file.read_bytes())
        assert registry.get(key) is None
        assert registry.get(other) is not None
        stats = registry.stats()
        assert (stats.misses, stats.hits, stats.quarantined, stats.entries) == (1, 1, 1, 1)
        assert not os.path.lexists(file)
        registry.put(key, make_page(key))
        assert registry.get(key) is not None
        assert registry.verify().ok == 2
    assert victim.read_text() == "precious"
    assert not (path.parent / "executed").exists()


@pytest.mark.parametrize("how", ["pickle", "oversized header", "another format", "parent link", "fifo"])
def test_what_is_planted_before_opening_is_set_aside_then(path: Path, make_key, make_page, how: str) -> None:
    (path.parent / "victim").write_text("precious")
    with Registry(path) as registry:
        registry.put(make_key(), make_page(make_key()))
    (file,) = (path / "pages").iterdir()
    PLANTED[how](file, file.read_bytes())
    (path / "index" / "cache.db").unlink()
    with Registry(path) as registry:
        assert (registry.stats().entries, registry.stats().quarantined) == (0, 1)
        assert registry.get(make_key()) is None
    assert (path.parent / "victim").read_text() == "precious"


@pytest.mark.parametrize("folder", ["pages", "names", "quarantine", "building", "index"])
def test_a_folder_that_is_a_link_to_a_public_place_is_refused(path: Path, folder: str) -> None:
    public = path.parent / "public"
    public.mkdir()
    public.chmod(0o777)
    Registry(path).close()
    for entry in (path / folder).iterdir():
        entry.unlink()
    (path / folder).rmdir()
    (path / folder).symlink_to(public)
    with pytest.raises(StoreUnavailableError, match="chmod 700"):
        Registry(path)
    assert list(public.iterdir()) == []
