from __future__ import annotations

import base64
import json
from pathlib import Path

import pytest
import torch

from ragcache.errors import ConfigError, MissingDependencyError, StoreDamagedError, StoreKeyError
from ragcache.registry import Registry
from ragcache.registry import encryption as encryption_module
from ragcache.registry.encryption import CHUNK_BYTES, HEAD_BYTES, Cipher, key_from_environment, parse_key

KEY, OTHER = bytes(range(32)), bytes(32)


@pytest.fixture
def cipher() -> Cipher:
    return Cipher(KEY)


@pytest.mark.parametrize("size", [0, 1, CHUNK_BYTES - 1, CHUNK_BYTES, CHUNK_BYTES + 1, 2 * CHUNK_BYTES])
def test_what_was_sealed_opens_again(cipher: Cipher, size: int) -> None:
    data = bytes(size % 251 for _ in range(size))
    sealed = cipher.seal_whole("name", data)
    assert cipher.open_whole("name", sealed) == data
    assert cipher.open_head("name", sealed[:HEAD_BYTES]) == data[:CHUNK_BYTES]
    assert len(sealed) == cipher.sealed_bytes(size)


def test_parts_seal_like_the_whole_and_no_two_blobs_are_alike(cipher: Cipher) -> None:
    data = bytes(CHUNK_BYTES + 5)
    parts = [data[:3], memoryview(data)[3:70_000], b"", data[70_000:]]
    assert cipher.open_whole("name", b"".join(cipher.seal("name", parts))) == data
    assert cipher.seal_whole("name", b"x") != cipher.seal_whole("name", b"x")


@pytest.mark.parametrize(("name", "key"), [("other", KEY), ("name", OTHER)])
def test_another_name_or_key_is_refused(cipher: Cipher, name: str, key: bytes) -> None:
    sealed = cipher.seal_whole("name", b"secret text")
    assert b"secret text" not in sealed
    with pytest.raises(StoreDamagedError, match=name):
        Cipher(key).open_whole(name, sealed)


def test_a_changed_cut_or_rearranged_blob_is_refused(cipher: Cipher) -> None:
    sealed = cipher.seal_whole("name", bytes(3 * CHUNK_BYTES))
    start, piece = len(sealed) - 3 * (CHUNK_BYTES + 16), CHUNK_BYTES + 16
    first, second, third = (sealed[start + i * piece : start + (i + 1) * piece] for i in range(3))
    head = sealed[:start]
    flipped = sealed[:-1] + bytes([sealed[-1] ^ 1])
    forged = [
        b"",
        head,
        head + first,
        head + first + second,
        head + second + first + third,
        flipped,
        sealed + b"x",
    ]
    for blob in forged:
        with pytest.raises(StoreDamagedError):
            cipher.open_whole("name", blob)


@pytest.mark.parametrize(
    "text", [KEY.hex().encode() + b"\n", base64.b64encode(KEY), base64.urlsafe_b64encode(KEY), KEY]
)
def test_keys_are_hex_base64_or_bytes(text: bytes) -> None:
    assert parse_key(text, "source") == KEY


@pytest.mark.parametrize("text", [b"", b"password", KEY.hex()[:-2].encode(), b"\xff" * 31])
def test_other_keys_are_refused_without_being_shown(text: bytes) -> None:
    with pytest.raises(ConfigError, match="source") as error:
        parse_key(text, "source")
    assert not text or text.decode("latin-1") not in str(error.value)


def test_key_from_environment(tmp_path: Path) -> None:
    file = tmp_path / "key"
    file.write_text(KEY.hex())
    assert key_from_environment({}) is None
    assert key_from_environment({"RAGCACHE_STORE_KEY": KEY.hex()}) == KEY
    assert key_from_environment({"RAGCACHE_STORE_KEY_FILE": str(file)}) == KEY
    for environ in (
        {"RAGCACHE_STORE_KEY": KEY.hex(), "RAGCACHE_STORE_KEY_FILE": str(file)},
        {"RAGCACHE_STORE_KEY_FILE": str(tmp_path / "absent")},
        {"RAGCACHE_STORE_KEY_FILE": "a\0b"},
    ):
        with pytest.raises(ConfigError, match="RAGCACHE_STORE_KEY_FILE"):
            key_from_environment(environ)


def test_without_the_package_the_command_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    import sys

    monkeypatch.setitem(sys.modules, "cryptography.exceptions", None)
    with pytest.raises(MissingDependencyError, match="pip install"):
        Cipher(KEY)


def fill(path: Path, make_key, make_page) -> None:  # type: ignore[no-untyped-def]
    with Registry(path, encryption_key=KEY) as registry:
        key = make_key()
        registry.put(key, make_page(key), encode_s=2.0)
        registry.register("treaty", "Nobody may know this sentence.")


def test_encrypted_store_serves_pages_and_names_and_hides_them(tmp_path: Path, make_key, make_page) -> None:
    path = tmp_path / "store"
    fill(path, make_key, make_page)
    with Registry(path, encryption_key=KEY) as registry:
        page, want = registry.get(make_key()), make_page(make_key())
        assert page is not None
        assert all(map(torch.equal, page.keys + page.values, want.keys + want.values))
        assert registry.lookup("treaty").text == "Nobody may know this sentence."
        assert registry.verify().ok == 1
        assert registry.pages()[0].encode_s == 2.0
        (path / "index" / "cache.db").unlink()
    with Registry(path, encryption_key=KEY) as registry:
        assert registry.pages()[0].size_bytes == next((path / "pages").iterdir()).stat().st_size
    words = (b"Nobody", b"treaty", b"token_ids", b"theta=10000", want.keys[0].numpy().tobytes())
    for file in path.rglob("*"):
        content = file.read_bytes() if file.is_file() else b""
        assert not any(word in content for word in words), file


def test_key_must_fit_the_store(tmp_path: Path, make_key, make_page, monkeypatch: pytest.MonkeyPatch) -> None:
    sealed, plain = tmp_path / "sealed", tmp_path / "plain"
    fill(sealed, make_key, make_page)
    Registry(plain).close()
    with pytest.raises(StoreKeyError, match="is encrypted; set RAGCACHE_STORE_KEY"):
        Registry(sealed)
    with pytest.raises(StoreKeyError, match="another key"):
        Registry(sealed, encryption_key=OTHER)
    with pytest.raises(StoreKeyError, match="without encryption"):
        Registry(plain, encryption_key=KEY)
    with pytest.raises(ConfigError, match="32 bytes"):
        Registry(sealed, encryption_key=b"short")
    with pytest.raises(ConfigError, match="32 bytes"):  # never unencrypted by accident
        Registry(tmp_path / "new", encryption_key=b"")
    monkeypatch.setenv("RAGCACHE_STORE_KEY", KEY.hex())
    with Registry(sealed) as registry:
        assert registry.get(make_key()) is not None


def test_swapped_or_flipped_files_are_missed(tmp_path: Path, make_key, make_page) -> None:
    path = tmp_path / "store"
    with Registry(path, encryption_key=KEY, memory_bytes=0) as registry:
        keys = [make_key(first) for first in (0, 10, 20)]
        for key in keys:
            registry.put(key, make_page(key))
        first, second, third = (
            path / "pages" / f"{key.digest(registry._store.secret)}.sealed" for key in keys
        )
        content = first.read_bytes()
        first.write_bytes(second.read_bytes())
        second.write_bytes(content)
        third.write_bytes(third.read_bytes()[:-1])
        assert [registry.get(key) for key in keys] == [None, None, None]
        assert registry.stats().quarantined == 3


def test_older_libraries_refuse_an_encrypted_store(tmp_path: Path, make_key, make_page) -> None:
    fill(tmp_path / "store", make_key, make_page)
    version = json.loads((tmp_path / "store" / "version.json").read_bytes())
    assert version["format"] == 2  # they read up to 1
    Registry(tmp_path / "plain").close()
    assert json.loads((tmp_path / "plain" / "version.json").read_bytes()) == {"format": 1}


def test_plain_stores_never_load_the_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(encryption_module, "_library", lambda: pytest.fail("loaded"))
    Registry(tmp_path / "store").close()
