"""Affixes out of one store and into another, as one file."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from ragcache.errors import (
    AffixTooLargeError,
    BundleError,
    InputError,
    StoreDamagedError,
    StoreFullError,
    StoreReadOnlyError,
    UnknownAffixError,
)
from ragcache.registry import AffixKey, Maker, Registry
from ragcache.registry.shelf import Shelf

KEY, OTHER_KEY = bytes(range(32)), bytes(32)
MAKER = Maker("nano", "words")
TEXTS = {"policy": "The refund policy.", "../../etc/passwd": "A name is data, not a path."}

Fill = Callable[..., list[AffixKey]]


@pytest.fixture
def fill(make_key, make_page) -> Fill:
    """Register `TEXTS`, with a raw and an int8 page of the first, and one raw page of the second."""

    def fill(registry: Registry, namespace: str = "default") -> list[AffixKey]:
        keys = [make_key(0, namespace=namespace), make_key(0, codec="int8", namespace=namespace)]
        keys.append(make_key(30, namespace=namespace))
        digests = [
            registry.register(name, text, namespace=namespace).text_digest for name, text in TEXTS.items()
        ]
        for key, digest in zip(keys, (digests[0], *digests), strict=True):
            registry.put(key, make_page(key), encode_s=1.5, text_digest=digest)
        return keys

    return fill


@pytest.fixture
def bundle(tmp_path: Path, fill: Fill) -> Path:
    """What a first store exported."""
    with Registry(tmp_path / "first") as registry:
        fill(registry)
        registry.export_affixes(list(TEXTS), tmp_path / "bundle", MAKER)
    return tmp_path / "bundle"


def holds_nothing(registry: Registry) -> bool:
    return registry.stats().entries == 0 and registry.names() == ()


@pytest.mark.parametrize(
    "keys", [(None, None), (KEY, KEY), (None, KEY)], ids=["plain", "sealed", "into sealed"]
)
def test_another_machine_has_the_names_and_hits_the_pages(
    tmp_path: Path, fill: Fill, make_page, keys: tuple[bytes | None, bytes | None]
) -> None:
    file = tmp_path / "bundle"
    with Registry(tmp_path / "first", encryption_key=keys[0]) as first:
        exported = fill(first)
        out = first.export_affixes(["policy", "policy", "../../etc/passwd"], file, MAKER)
        expected = [first.get(key) for key in exported]
    assert (out.names, out.pages, file.stat().st_mode & 0o777) == (tuple(TEXTS), 3, 0o600)
    assert (b"refund" in file.read_bytes()) == (keys[0] is None)
    with Registry(tmp_path / "second", encryption_key=keys[1]) as second:
        found = second.import_affixes(file, MAKER, digest=out.digest.upper())
        assert (found.names, found.pages, found.present, found.digest) == (out.names, 3, 0, out.digest)
        assert {record.name: record.text for record in second.names()} == TEXTS
        assert second.verify().ok == 3
        for key, want in zip(exported, expected, strict=True):
            page = second.get(key)
            assert page is not None
            assert want is not None
            assert all(map(torch.equal, (*page.keys, *page.values), (*want.keys, *want.values)))
        rows = second.pages(second.lookup("policy").text_digest)
        assert sorted((row.codec, row.encode_s) for row in rows) == [("int8", 1.5), ("raw", 1.5)]
        assert second.import_affixes(file, MAKER).present == 3
        second.remove("policy")
        assert second.stats().entries == 1
    assert {entry.name for entry in tmp_path.iterdir()} == {"first", "second", "bundle"}


def test_a_bundle_knows_no_namespace(tmp_path: Path, fill: Fill, make_key) -> None:
    file = tmp_path / "bundle"
    with Registry(tmp_path / "first") as first:
        fill(first, "tenant")
        first.export_affixes(["policy"], file, MAKER, namespace="tenant")
        with pytest.raises(UnknownAffixError, match="policy"):
            first.export_affixes(["policy"], tmp_path / "none", MAKER)
    assert b"tenant" not in file.read_bytes()
    with Registry(tmp_path / "second", memory_bytes=0) as second:
        second.import_affixes(file, MAKER, namespace="other")
        assert [
            second.get(make_key(namespace=name)) is not None for name in ("other", "tenant", "default")
        ] == [
            True,
            False,
            False,
        ]
        assert (len(second.names("other")), second.names()) == (1, ())


@pytest.mark.parametrize("encryption_key", [None, KEY])
def test_a_byte_changed_anywhere_is_refused_and_stores_nothing(
    tmp_path: Path, fill: Fill, encryption_key: bytes | None
) -> None:
    file = tmp_path / "bundle"
    with Registry(tmp_path / "first", encryption_key=encryption_key) as first:
        fill(first)
        first.export_affixes(["policy"], file, MAKER)
    intact = file.read_bytes()
    with Registry(tmp_path / "second", encryption_key=encryption_key) as second:
        for position in (*range(0, 600, 7), *range(600, len(intact), 503), len(intact) - 1):
            file.write_bytes(intact[:position] + bytes([intact[position] ^ 1]) + intact[position + 1 :])
            with pytest.raises((InputError, AffixTooLargeError)):
                second.import_affixes(file, MAKER)
        assert holds_nothing(second)
        file.write_bytes(intact)
        assert second.import_affixes(file, MAKER).pages == 2


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda data: b"", "was cut off"),
        (lambda data: data[:-1], "was cut off"),
        (lambda data: data[: len(data) // 2], "was cut off"),
        (lambda data: data + b"x", "behind its end"),
        (lambda data: b"PK\x03\x04" + data, "no file that `ragcache registry export` wrote"),
        (lambda data: b"\x80\x04cos\nsystem\n(S'touch /tmp/owned'\ntR.", "no file that"),
        (lambda data: data[:-32] + bytes(32), "its digest is another one"),
    ],
)
def test_other_files_are_refused(
    tmp_path: Path, bundle: Path, change: Callable[[bytes], bytes], said: str
) -> None:
    bundle.write_bytes(change(bundle.read_bytes()))
    with Registry(tmp_path / "second") as second:
        with pytest.raises(BundleError, match=said):
            second.import_affixes(bundle, MAKER)
        assert holds_nothing(second)


def test_what_is_no_file_is_refused(tmp_path: Path, registry: Registry) -> None:
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path, tmp_path / "absent", tmp_path / "pipe", Path("a\0b")):
        with pytest.raises(BundleError, match="is no file"):
            registry.import_affixes(path, MAKER)


@pytest.mark.parametrize(
    ("maker", "said"), [(Maker("llada", "words"), "another model"), (Maker("nano", "x"), "another tokenizer")]
)
def test_pages_of_another_model_are_refused(tmp_path: Path, bundle: Path, maker: Maker, said: str) -> None:
    with Registry(tmp_path / "second") as second:
        with pytest.raises(BundleError, match=said):
            second.import_affixes(bundle, maker)
        assert holds_nothing(second)
    with Registry(tmp_path / "first") as first, pytest.raises(InputError, match="no page of this model"):
        first.export_affixes(["policy"], tmp_path / "other", maker)
    assert not (tmp_path / "other").exists()


def test_another_digest_than_the_one_given_is_refused(tmp_path: Path, bundle: Path) -> None:
    with Registry(tmp_path / "second") as second:
        with pytest.raises(BundleError, match="not the one given"):
            second.import_affixes(bundle, MAKER, digest="0" * 64)
        assert holds_nothing(second)


def test_names_of_other_texts_are_replaced_only_when_asked(tmp_path: Path, bundle: Path) -> None:
    with Registry(tmp_path / "second") as second:
        second.register("policy", "Ours.")
        with pytest.raises(InputError, match="'policy' stands for another text"):
            second.import_affixes(bundle, MAKER)
        assert (second.stats().entries, second.lookup("policy").text) == (0, "Ours.")
        report = second.import_affixes(bundle, MAKER, replace_names=True)
        assert (report.replaced, second.lookup("policy").text) == (("policy",), TEXTS["policy"])


@pytest.mark.parametrize("options", [{"limit_bytes": 10_000}, {"quotas": {"default": 10_000}}])
def test_more_than_fits_is_refused_and_evicts_nothing(
    tmp_path: Path, bundle: Path, make_key, make_page, options: dict[str, object]
) -> None:
    with Registry(tmp_path / "second", **options) as second:
        second.put(make_key(90), make_page(make_key(90)))
        with pytest.raises(AffixTooLargeError, match="fewer names"):
            second.import_affixes(bundle, MAKER)
        assert (second.get(make_key(90)) is not None, second.names()) == (True, ())


def test_keys_of_encrypted_stores_must_be_the_same(tmp_path: Path, fill: Fill) -> None:
    with Registry(tmp_path / "first", encryption_key=KEY) as first:
        fill(first)
        first.export_affixes(["policy"], tmp_path / "bundle", MAKER)
    for name, key, said in (("plain", None, "is encrypted"), ("other", OTHER_KEY, "cannot be decrypted")):
        with Registry(tmp_path / name, encryption_key=key) as second:
            with pytest.raises(BundleError, match=said):
                second.import_affixes(tmp_path / "bundle", MAKER)
            assert holds_nothing(second)


def test_a_store_that_fills_up_meanwhile_has_no_half_known_name(
    tmp_path: Path, bundle: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stored = []
    add = Shelf.add

    def full(shelf: Shelf, *given: object) -> None:
        stored.append(1)
        if len(stored) == 2:
            raise StoreFullError("no room left")
        add(shelf, *given)  # type: ignore[arg-type]

    monkeypatch.setattr(Shelf, "add", full)
    with Registry(tmp_path / "second") as second:
        with pytest.raises(StoreFullError):
            second.import_affixes(bundle, MAKER)
        assert second.names() == ()
        assert second.import_affixes(bundle, MAKER).present == 1


def test_read_only_stores_export_and_do_not_import(
    tmp_path: Path, bundle: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("os.access", lambda *_: False)
    with Registry(tmp_path / "first") as registry:
        assert registry.export_affixes(list(TEXTS), tmp_path / "again", MAKER).pages == 3
        with pytest.raises(StoreReadOnlyError):
            registry.import_affixes(bundle, MAKER)
    assert (tmp_path / "again").read_bytes() == bundle.read_bytes()


def test_a_failed_export_leaves_the_old_file(
    tmp_path: Path, bundle: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = bundle.read_bytes()
    with Registry(tmp_path / "first") as registry:
        with pytest.raises(InputError, match="at least one"):
            registry.export_affixes([], bundle, MAKER)
        with pytest.raises(BundleError, match="cannot be written"):
            registry.export_affixes(["policy"], tmp_path / "no folder" / "bundle", MAKER)
        with monkeypatch.context() as patch:

            def full(descriptor: int) -> None:
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

            patch.setattr(os, "fsync", full)
            with pytest.raises(BundleError, match="No space left"):
                registry.export_affixes(["policy"], bundle, MAKER)
        for page in (tmp_path / "first" / "pages").iterdir():
            page.write_bytes(page.read_bytes()[:-1] + b"x")
        with pytest.raises(StoreDamagedError):
            registry.export_affixes(["policy"], bundle, MAKER)
    assert bundle.read_bytes() == before
    assert {entry.name for entry in tmp_path.iterdir()} == {"first", "bundle"}


def test_hidden_states_and_contexts_come_along(tmp_path: Path, make_key, make_page) -> None:
    key = replace(make_key(context="scaffold"), depths=(1,))
    page = replace(make_page(make_key()), hidden={1: torch.ones(4, 16)})
    with Registry(tmp_path / "first") as first:
        first.put(key, page, text_digest=first.register("a", "text").text_digest)
        first.export_affixes(["a"], tmp_path / "bundle", MAKER)
    with Registry(tmp_path / "second") as second:
        second.import_affixes(tmp_path / "bundle", MAKER)
        found = second.get(key)
    assert found is not None
    assert torch.equal(found.hidden[1], page.hidden[1])
