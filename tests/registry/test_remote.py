from __future__ import annotations

import json
import struct
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import fsspec
import pytest
import torch
from registry.fake_remote import FakeRemote

from ragcache.errors import ConfigError, MissingDependencyError
from ragcache.registry import Registry, Remote
from ragcache.registry.remote import RemoteStats

PATIENT = Remote("fake://shared/store", timeout_s=20.0)
HASTY = Remote("fake://shared/store", timeout_s=0.2, close_s=0.3)
KEY = bytes(range(32))

pytestmark = pytest.mark.usefixtures("fake_remote")


@pytest.fixture
def stored(tmp_path: Path, make_key, make_page) -> None:
    """The remote as a first machine left it, with the page of `make_key()`."""
    with Registry(tmp_path / "first", remote=PATIENT) as registry:
        registry.put(make_key(), make_page(make_key()), encode_s=1.5)


def look(folder: Path, key, remote: Remote = PATIENT, **options) -> tuple[object, RemoteStats]:  # type: ignore[no-untyped-def]
    with Registry(folder, remote=remote, **options) as registry:
        page = registry.get(key)
        stats = registry.remote_stats()
        assert stats is not None
        assert (registry.stats().hits, registry.stats().misses) == ((1, 0) if page else (0, 1))
        return page, stats


@pytest.mark.parametrize("kind", ["file", "memory", "fake"])
@pytest.mark.parametrize("encryption_key", [None, KEY])
def test_a_second_machine_hits_what_the_first_stored(
    tmp_path: Path, make_key, make_page, kind: str, encryption_key: bytes | None
) -> None:
    url = {"file": f"file://{tmp_path}/shared", "memory": f"memory://{tmp_path.name}", "fake": "fake://s"}[
        kind
    ]
    remote, key = Remote(url, timeout_s=20.0), make_key()
    with Registry(tmp_path / "first", remote=remote, encryption_key=encryption_key) as first:
        first.put(key, make_page(key), encode_s=1.5, text_digest="private to the first store")
    with Registry(tmp_path / "second", remote=remote, encryption_key=encryption_key) as second:
        assert second.get(make_key(50)) is None
        page = second.get(key, text="its text")
        assert page is not None
        assert torch.equal(page.values[1], make_page(key).values[1])
        (row,) = second.pages()
        assert (row.encode_s, row.text_digest) == (1.5, second.text_digest("its text"))
        assert second.remote_stats() == RemoteStats(1, 1, 0, 0, 0, 0)
    with Registry(tmp_path / "second", encryption_key=encryption_key) as offline:  # now on its disk
        assert offline.get(key) is not None
        assert offline.verify().ok == 1


def test_names_tell_nothing_and_are_never_listed(tmp_path: Path, stored: None, make_key) -> None:
    (name,) = FakeRemote.pages()
    local = next((tmp_path / "first" / "pages").iterdir()).stem
    assert name.startswith("shared/store/pages/")
    assert local not in name
    assert b"its text" not in FakeRemote.objects[name]
    assert {what for what, _, _ in FakeRemote.calls} == {"read", "write"}


def test_an_object_is_never_overwritten(tmp_path: Path, stored: None, make_key, make_page) -> None:
    before = dict(FakeRemote.objects)
    with Registry(tmp_path / "second", remote=PATIENT) as registry:
        registry.put(make_key(), make_page(make_key()), encode_s=9.0)
    assert FakeRemote.objects == before
    assert sum(what == "write" for what, _, _ in FakeRemote.calls) == 2  # secret and page, by the first


def test_the_header_comes_first_and_a_large_page_is_read_by_range(
    tmp_path: Path, make_key, make_page
) -> None:
    key = make_key(tokens=4000)
    with Registry(tmp_path / "first", remote=PATIENT) as registry:
        registry.put(key, make_page(key))
    FakeRemote.calls.clear()
    page, _ = look(tmp_path / "second", key)
    assert page is not None
    sizes = [size for _, path, size in FakeRemote.calls if "/pages/" in path]
    (whole,) = (len(FakeRemote.objects[path]) for path in FakeRemote.pages())
    assert len(sizes) == 2
    assert sizes[0] < whole / 2
    assert sum(sizes) == whole + 1


@pytest.mark.parametrize(("owner", "asker"), [("a", "b"), ("default", "a"), ("a", "default")])
def test_another_namespace_misses(tmp_path: Path, make_key, make_page, owner: str, asker: str) -> None:
    key = make_key(namespace=owner)
    with Registry(tmp_path / "first", remote=PATIENT) as registry:
        registry.put(key, make_page(key))
    assert look(tmp_path / "second", make_key(namespace=asker))[0] is None
    assert look(tmp_path / "second", key)[0] is not None


def lengthened_header(data: bytes) -> bytes:
    return struct.pack("<Q", 2**40) + data[8:]


def huge_tensors(data: bytes) -> bytes:
    (length,) = struct.unpack_from("<Q", data)
    header = json.loads(data[8 : 8 + length])
    header["v.1"]["data_offsets"][1] = 2**50
    text = json.dumps(header).encode()
    return struct.pack("<Q", len(text)) + text + data[8 + length :]


def poisoned(data: bytes) -> bytes:
    """Right name, key and digests, other values: what a writer without the secret can make."""
    return data[:-40] + bytes(8) + data[-32:]


TAMPERINGS: dict[str, Callable[[bytes], bytes]] = {
    "empty": lambda data: b"",
    "cut": lambda data: data[:-1],
    "header only": lambda data: data[:600],
    "longer": lambda data: data + b"x",
    "flipped": lambda data: data[:-50] + bytes([data[-50] ^ 1]) + data[-49:],
    "oversized header": lengthened_header,
    "oversized tensors": huge_tensors,
    "poisoned": poisoned,
    "deep": lambda data: struct.pack("<Q", 90_000) + b"[" * 90_000,
    "a pickle": lambda data: b"\x80\x04cos\nsystem\n(S'touch /tmp/owned'\ntR.",
}


@pytest.mark.parametrize("how", TAMPERINGS)
@pytest.mark.parametrize("encryption_key", [None, KEY])
def test_what_cannot_be_trusted_is_missed_and_counted(
    tmp_path: Path, make_key, make_page, how: str, encryption_key: bytes | None
) -> None:
    with Registry(tmp_path / "first", remote=PATIENT, encryption_key=encryption_key) as registry:
        registry.put(make_key(), make_page(make_key()))
    (name,) = FakeRemote.pages()
    if encryption_key and how == "oversized tensors":
        pytest.skip("no header in the clear")
    FakeRemote.objects[name] = TAMPERINGS[how](FakeRemote.objects[name])
    page, stats = look(tmp_path / "second", make_key(), encryption_key=encryption_key)
    assert page is None
    assert (stats.damaged, stats.misses) == (1, 1)
    assert list((tmp_path / "second" / "pages").iterdir()) == []


def test_swapped_payloads_are_missed(tmp_path: Path, stored: None, make_key, make_page) -> None:
    with Registry(tmp_path / "first", remote=PATIENT) as registry:
        registry.put(make_key(30), make_page(make_key(30)))
    one, two = FakeRemote.pages()
    FakeRemote.objects[one], FakeRemote.objects[two] = FakeRemote.objects[two], FakeRemote.objects[one]
    for first in (0, 30):
        page, stats = look(tmp_path / "second", make_key(first))
        assert page is None
        assert stats.damaged == 1


def test_a_link_out_of_a_shared_folder_is_not_served(tmp_path: Path, make_key, make_page) -> None:
    remote = Remote(f"file://{tmp_path}/shared", timeout_s=20.0)
    with Registry(tmp_path / "first", remote=remote) as registry:
        registry.put(make_key(), make_page(make_key()))
    (page_object,) = (tmp_path / "shared" / "pages").glob("*/*")
    page_object.unlink()
    page_object.symlink_to("/etc/passwd")
    page, stats = look(tmp_path / "second", make_key(), remote)
    assert page is None
    assert stats.damaged == 1


def test_a_page_over_the_local_limit_is_not_even_read(tmp_path: Path, make_key, make_page) -> None:
    key = make_key(tokens=4000)
    with Registry(tmp_path / "first", remote=PATIENT) as registry:
        registry.put(key, make_page(key))
    FakeRemote.calls.clear()
    page, stats = look(tmp_path / "second", key, limit_bytes=100_000)
    assert page is None
    assert stats.damaged == 1
    assert sum("/pages/" in path for _, path, _ in FakeRemote.calls) == 1


def test_without_room_on_the_disk_the_page_is_used_all_the_same(
    tmp_path: Path, stored: None, make_key, monkeypatch: pytest.MonkeyPatch
) -> None:
    Registry(tmp_path / "second").close()
    with monkeypatch.context() as patch:
        patch.setattr("os.access", lambda *_: False)  # opened read only
        page, stats = look(tmp_path / "second", make_key())
    assert page is not None
    assert stats.hits == 1


def hang(what: str, path: str) -> None:
    FakeRemote.release.wait(60)


def fail(what: str, path: str) -> None:
    raise PermissionError("no credentials")


@pytest.mark.parametrize(("trouble", "said"), [(hang, "no answer within"), (fail, "no credentials")])
def test_a_store_that_hangs_or_fails_never_holds_a_request_up(
    tmp_path: Path, stored: None, make_key, make_page, trouble, said: str, caplog: pytest.LogCaptureFixture
) -> None:
    FakeRemote.before = staticmethod(trouble)
    started = time.monotonic()
    with Registry(tmp_path / "second", remote=HASTY) as registry:
        for _ in range(20):
            assert registry.get(make_key()) is None
        stats = registry.remote_stats()
        assert stats is not None
        assert stats.failures == stats.misses == 20
        assert (
            len([call for call in FakeRemote.calls if call[0] == "read"]) <= 8
        )  # 3, then the breaker is open
        page = registry.put(make_key(), make_page(make_key()))
        assert page.tokens == 4
    assert time.monotonic() - started < 15
    assert said in caplog.text


def test_closing_waits_only_so_long_for_uploads(tmp_path: Path, stored: None, make_key, make_page) -> None:
    FakeRemote.before = staticmethod(lambda what, path: hang(what, path) if what == "write" else None)
    registry = Registry(tmp_path / "second", remote=replace(PATIENT, close_s=0.2, queue=2))
    for first in range(10, 60, 10):
        registry.put(make_key(first), make_page(make_key(first)))
    started = time.monotonic()
    registry.close()
    assert time.monotonic() - started < 10
    stats = registry.remote_stats()
    assert stats is not None
    assert stats.uploaded == 0
    assert stats.dropped == 5


def test_the_breaker_lets_one_call_try_again(tmp_path: Path, stored: None, make_key) -> None:
    now = [0.0]
    remote = replace(PATIENT, failures=2, reset_s=30.0, clock=lambda: now[0])
    FakeRemote.before = staticmethod(fail)
    FakeRemote.calls.clear()
    with Registry(tmp_path / "second", remote=remote) as registry:
        for _ in range(5):
            registry.get(make_key())
        assert len(FakeRemote.calls) == 2
        now[0] = 29.0
        registry.get(make_key())
        assert len(FakeRemote.calls) == 2
        now[0] = 31.0
        registry.get(make_key())
        registry.get(make_key())
        assert len(FakeRemote.calls) == 3  # one trial
        FakeRemote.before = staticmethod(lambda what, path: None)
        now[0] = 62.0
        assert registry.get(make_key()) is not None


def test_machines_agree_on_one_secret(tmp_path: Path, stored: None, make_key) -> None:
    assert len(FakeRemote.objects["shared/store/secret"]) == 32
    assert look(tmp_path / "second", make_key())[0] is not None
    FakeRemote.objects["shared/store/secret"] = b"short"
    page, stats = look(tmp_path / "third", make_key())
    assert page is None
    assert stats.failures == 1


def test_a_secret_from_the_environment_is_not_kept_in_the_remote(
    tmp_path: Path, make_key, make_page, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RAGCACHE_REMOTE_SECRET", "sixteen or more characters")
    with Registry(tmp_path / "first", remote=PATIENT) as registry:
        registry.put(make_key(), make_page(make_key()))
    assert "shared/store/secret" not in FakeRemote.objects
    assert look(tmp_path / "second", make_key())[0] is not None
    monkeypatch.setenv("RAGCACHE_REMOTE_SECRET", "another one, also long enough")
    page, stats = look(tmp_path / "third", make_key())
    assert page is None
    assert stats.damaged == 0  # other names, not other bytes
    monkeypatch.setenv("RAGCACHE_REMOTE_SECRET", "short")
    with pytest.raises(ConfigError, match="16 characters"):
        Registry(tmp_path / "fourth", remote=PATIENT)


@pytest.mark.parametrize("url", ["/mnt/shared", "nonsense://x", "simplecache::s3://bucket", "https"])
def test_unusable_addresses_are_refused(path: Path, url: str) -> None:
    with pytest.raises(ConfigError, match=r"remote"):
        Registry(path, remote=url)


def test_a_protocol_without_its_package_names_it(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(protocol: str) -> None:
        raise ImportError("Install s3fs to access S3")

    monkeypatch.setattr(fsspec, "get_filesystem_class", missing)
    with pytest.raises(MissingDependencyError, match="s3fs"):
        Registry(path, remote="s3://bucket/folder")


def test_passwords_stay_out_of_messages(tmp_path: Path, make_key, caplog: pytest.LogCaptureFixture) -> None:
    FakeRemote.before = staticmethod(fail)
    look(tmp_path / "second", make_key(), replace(PATIENT, url="fake://me:hunter2@host/x?token=hunter2"))
    assert "fake://host/x" in caplog.text
    assert "hunter2" not in caplog.text


def test_a_second_look_does_not_ask_the_remote(tmp_path: Path, stored: None, make_key) -> None:
    FakeRemote.calls.clear()
    with Registry(tmp_path / "second", remote=PATIENT) as registry:
        assert registry.get(make_key(), count=False) is None
        assert FakeRemote.calls == []
        assert registry.warm([make_key(), make_key(70)]) == 1
        assert registry.get(make_key(), count=False) is not None
        assert (registry.stats().hits, registry.stats().misses) == (0, 0)


@pytest.mark.parametrize("values", [{"timeout_s": 0.0}, {"failures": 0}, {"queue": 0}, {"close_s": -1.0}])
def test_options_out_of_range_are_refused(values: dict[str, float]) -> None:
    with pytest.raises(ConfigError, match="above 0"):
        replace(PATIENT, **values)


def test_machines_that_come_first_at_the_same_time_agree(tmp_path: Path, make_key, make_page) -> None:
    remote = Remote(f"file://{tmp_path}/shared", timeout_s=30.0, close_s=30.0)

    def machine(number: int) -> None:
        with Registry(tmp_path / f"machine{number}", remote=remote) as registry:
            registry.put(make_key(10 * number), make_page(make_key(10 * number)))

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(machine, range(4)))
    with Registry(tmp_path / "last", remote=remote) as registry:
        assert registry.warm([make_key(10 * number) for number in range(4)]) == 4
    assert [entry.name for entry in (tmp_path / "shared").rglob(".*")] == []  # no temporary file is left


def test_a_shared_folder_without_hard_links(
    tmp_path: Path, make_key, make_page, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(*_: object) -> None:
        raise PermissionError("no hard links here")

    monkeypatch.setattr("os.link", refused)
    remote = Remote(f"file://{tmp_path}/shared", timeout_s=20.0)
    with Registry(tmp_path / "first", remote=remote) as registry:
        registry.put(make_key(), make_page(make_key()))
    assert look(tmp_path / "second", make_key(), remote)[0] is not None
