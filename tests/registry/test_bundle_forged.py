"""Bundles that somebody made by hand, with the right digest: read as data, or refused."""

from __future__ import annotations

import hashlib
import json
import struct
from collections.abc import Iterable
from dataclasses import asdict
from pathlib import Path

import pytest

from ragcache.errors import AffixTooLargeError, BundleError, ConfigError, InputError
from ragcache.registry import AffixKey, Maker, Registry
from ragcache.registry.bundle import MAGIC, Entry, Head
from ragcache.registry.payload import TOKEN_IDS, PayloadInfo, build_header, payload_parts

MAKER = Maker("nano", "words")
HEAD = asdict(Head("nano", "words", 1, "1.0"))
ENTRY = asdict(Entry("name", "The text.", 1))


def forge(path: Path, blocks: Iterable[bytes | dict[str, object]]) -> Path:
    """A bundle of `blocks` with the digest it should have."""
    parts = [part if isinstance(part, bytes) else json.dumps(part).encode() for part in blocks]
    data = MAGIC + b"".join(struct.pack("<Q", len(part)) + part for part in parts)
    path.write_bytes(data + hashlib.sha256(data).digest())
    return path


@pytest.fixture
def payload(make_key, make_page):  # type: ignore[no-untyped-def]
    """`payload()` as an honest store writes it; `key` puts another key in its header, `first` other ids."""

    def payload(key: str | None = None, first: int = 0) -> bytes:
        page, own = make_page(make_key(first)), make_key()
        info = PayloadInfo(own.canonical() if key is None else key, 1.0, 2.0, "", "1.0")
        tensors = {TOKEN_IDS: page.token_ids, "k.0": page.keys[0], "v.0": page.values[0]}
        return b"".join(bytes(part) for part in payload_parts(build_header(tensors, info), tensors))

    return payload


def test_an_honest_one_is_taken(tmp_path: Path, registry: Registry, make_key, payload) -> None:
    report = registry.import_affixes(forge(tmp_path / "bundle", [HEAD, ENTRY, payload()]), MAKER)
    assert (report.names, report.pages) == (("name",), 1)
    assert registry.get(make_key()) is not None


@pytest.mark.parametrize("name", ["../../victim", "/etc/passwd", "pages/x.safetensors", "n" * 1000])
def test_names_are_never_paths(tmp_path: Path, registry: Registry, payload, name: str) -> None:
    file = forge(tmp_path / "bundle", [HEAD, ENTRY | {"name": name}, payload()])
    before = {entry for entry in tmp_path.rglob("*") if not {"names", "pages", "index"} & set(entry.parts)}
    assert registry.import_affixes(file, MAKER).names == (name,)
    after = {entry for entry in tmp_path.rglob("*") if not {"names", "pages", "index"} & set(entry.parts)}
    assert after == before


@pytest.mark.parametrize(
    "head",
    [
        {},
        {"format": 99},
        {"format": True},
        {"affixes": "1"},
        {"affixes": 2**70},
        {"affixes": 2},
        {"model": "other"},
        {"model": ["nano"]},
        {"extra": 1},
    ],
    ids=str,
)
def test_wrong_heads_are_refused(
    tmp_path: Path, registry: Registry, payload, head: dict[str, object]
) -> None:
    first: bytes | dict[str, object] = HEAD | head if head else b"[" * 100_000
    with pytest.raises(BundleError):
        registry.import_affixes(forge(tmp_path / "bundle", [first, ENTRY, payload()]), MAKER)
    assert registry.stats().entries == 0


@pytest.mark.parametrize(
    "entry",
    [
        {"name": ""},
        {"name": "a\0b"},
        {"name": "n" * 10_000},
        {"name": 5},
        {"name": "\ud800"},
        {"text": " \n"},
        {"text": None},
        {"pages": 0},
        {"pages": -1},
        {"pages": 2},
        {"path": "/etc/passwd"},
    ],
    ids=str,
)
def test_wrong_entries_are_refused(
    tmp_path: Path, registry: Registry, payload, entry: dict[str, object]
) -> None:
    with pytest.raises(InputError):
        registry.import_affixes(forge(tmp_path / "bundle", [HEAD, ENTRY | entry, payload()]), MAKER)
    assert (registry.stats().entries, registry.names()) == (0, ())


def test_two_texts_of_one_name_are_refused(tmp_path: Path, registry: Registry, payload) -> None:
    blocks = [HEAD | {"affixes": 2}, ENTRY, payload(), ENTRY | {"text": "Another."}, payload()]
    with pytest.raises(BundleError, match="two texts called 'name'"):
        registry.import_affixes(forge(tmp_path / "bundle", blocks), MAKER)
    assert registry.stats().entries == 0


def test_wrong_payloads_are_refused(tmp_path: Path, registry: Registry, make_key, payload) -> None:
    fine = payload()
    wrong = {
        "empty": b"",
        "pickle": b"\x80\x04cos\nsystem\n(S'touch /tmp/owned'\ntR.",
        "oversized header": struct.pack("<Q", 2**40) + fine[8:],
        "flipped": fine[:-1] + bytes([fine[-1] ^ 1]),
        "cut": fine[:-1],
        "longer": fine + b"x",
        "other ids": payload(first=30),
        "other model": payload(make_key(model="other").canonical()),
        "other tokenizer": payload(make_key(tokenizer="other").canonical()),
        "no key": payload("{}"),
        "key that is a list": payload("[]"),
        "deep key": payload("[" * 5000),
        "key with more": payload(make_key().canonical()[:-1] + ',"zzz":"1"}'),
        "number for a text": payload(make_key().canonical().replace('"alone"', "5")),
        "depths that are no list": payload(make_key().canonical()[:-1] + ',"depths":5}'),
    }
    for how, data in wrong.items():
        with pytest.raises(BundleError):
            registry.import_affixes(forge(tmp_path / how, [HEAD, ENTRY, data]), MAKER)
    unknown: AffixKey = make_key(codec="zip")
    with pytest.raises(ConfigError, match="zip"):
        registry.import_affixes(forge(tmp_path / "codec", [HEAD, ENTRY, payload(unknown.canonical())]), MAKER)
    assert (registry.stats().entries, registry.names()) == (0, ())


def test_a_page_over_the_limit_is_not_read(tmp_path: Path, path: Path) -> None:
    big = b"\0" * 200_000
    with (
        Registry(path, limit_bytes=100_000) as registry,
        pytest.raises(AffixTooLargeError, match="limit_bytes"),
    ):
        registry.import_affixes(forge(tmp_path / "bundle", [HEAD, ENTRY, big]), MAKER)


def test_a_length_beyond_the_file_is_not_allocated(tmp_path: Path, registry: Registry) -> None:
    head = json.dumps(HEAD).encode()
    for length in (2**63, 2**40, 65 * 2**20):
        data = MAGIC + struct.pack("<Q", len(head)) + head + struct.pack("<Q", length)
        (tmp_path / "bundle").write_bytes(data + hashlib.sha256(data).digest())
        with pytest.raises(BundleError, match=r"claims|cut off"):
            registry.import_affixes(tmp_path / "bundle", MAKER)
