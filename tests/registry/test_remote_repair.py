"""The remote heals: uploads that failed are tried again, damaged objects are replaced after a rebuild."""

from __future__ import annotations

import threading
from dataclasses import replace
from pathlib import Path

import fsspec
import pytest
import torch
from registry.fake_remote import FakeRemote

from ragcache.errors import StoreUnavailableError
from ragcache.registry import Registry, Remote
from ragcache.registry.remote import RemoteStats

WAIT_S = 60.0
KEY = bytes(range(32))

pytestmark = pytest.mark.usefixtures("fake_remote")


@pytest.fixture(params=["file", "memory", "fake"])
def remote(request: pytest.FixtureRequest, tmp_path: Path) -> Remote:
    """A remote of each kind; its uploads are tried again at once."""
    urls = {"file": f"file://{tmp_path}/shared", "memory": f"memory://{tmp_path.name}", "fake": "fake://s"}
    return Remote(urls[request.param], timeout_s=30.0, close_s=WAIT_S, retry_s=0.001)


def objects(remote: Remote) -> tuple[fsspec.AbstractFileSystem, list[str]]:
    filesystem, root = fsspec.core.url_to_fs(remote.url)
    return filesystem, sorted(filesystem.find(f"{root}/pages", detail=True))


def stats_of(registry: Registry) -> RemoteStats:
    stats = registry.remote_stats()
    assert stats is not None
    return stats


@pytest.mark.parametrize("encryption_key", [None, KEY])
def test_a_damaged_object_is_replaced_after_a_rebuild(
    tmp_path: Path, remote: Remote, make_key, make_page, encryption_key: bytes | None
) -> None:
    key, options = make_key(), {"remote": remote, "encryption_key": encryption_key}
    with Registry(tmp_path / "first", **options) as first:
        first.put(key, make_page(key))
    filesystem, (name,) = objects(remote)
    data = filesystem.cat_file(name)
    filesystem.pipe_file(name, data[:-50] + bytes([data[-50] ^ 1]) + data[-49:])
    with Registry(tmp_path / "second", **options) as second:
        assert second.get(key) is None
        second.put(key, make_page(key))
    assert (stats_of(second).damaged, stats_of(second).replaced, stats_of(second).uploaded) == (1, 1, 1)
    with Registry(tmp_path / "third", **options) as third:
        page = third.get(key)
    assert page is not None
    assert torch.equal(page.keys[0], make_page(key).keys[0])
    assert objects(remote)[1] == [name]


def test_a_link_in_a_shared_folder_is_replaced_and_not_followed(tmp_path: Path, make_key, make_page) -> None:
    remote = Remote(f"file://{tmp_path}/shared", timeout_s=30.0, close_s=WAIT_S)
    with Registry(tmp_path / "first", remote=remote) as first:
        first.put(make_key(), make_page(make_key()))
    (page_object,) = (tmp_path / "shared" / "pages").glob("*/*")
    page_object.unlink()
    (tmp_path / "victim").write_text("precious")
    page_object.symlink_to(tmp_path / "victim")
    with Registry(tmp_path / "second", remote=remote) as second:
        assert second.get(make_key()) is None
        second.put(make_key(), make_page(make_key()))
    assert (tmp_path / "victim").read_text() == "precious"
    assert page_object.is_file()
    assert not page_object.is_symlink()


def test_an_intact_object_is_left_alone(tmp_path: Path, remote: Remote, make_key, make_page) -> None:
    with Registry(tmp_path / "first", remote=remote) as first:
        first.put(make_key(), make_page(make_key()), encode_s=1.0)
    filesystem, (name,) = objects(remote)
    before = filesystem.cat_file(name)
    with Registry(tmp_path / "second", remote=remote) as second:
        assert second.get(make_key(70)) is None
        second.put(make_key(), make_page(make_key()), encode_s=2.0)
    assert filesystem.cat_file(name) == before
    assert (stats_of(second).uploaded, stats_of(second).replaced) == (0, 0)


def test_an_upload_that_failed_is_tried_again(tmp_path: Path, make_key, make_page) -> None:
    remote = Remote("fake://s", timeout_s=30.0, close_s=WAIT_S, failures=99, retries=3, retry_s=0.001)
    failed, done = [], threading.Event()

    def twice(what: str, path: str) -> None:
        if what == "write" and "/pages/" in path:
            if len(failed) < 2:
                failed.append(path)
                raise ConnectionError("reset by peer")
            done.set()

    FakeRemote.before = staticmethod(twice)
    with Registry(tmp_path / "first", remote=remote) as first:
        first.put(make_key(), make_page(make_key()))
        assert done.wait(WAIT_S)
    stats = stats_of(first)
    assert (stats.uploaded, stats.failures, stats.dropped, len(failed)) == (1, 2, 0, 2)
    assert len(FakeRemote.pages()) == 1
    assert not [thread for thread in threading.enumerate() if thread.name == "ragcache-upload"]


def test_a_replacement_that_failed_is_a_replacement_still(tmp_path: Path, make_key, make_page) -> None:
    remote = Remote("fake://s", timeout_s=30.0, close_s=WAIT_S, failures=99, retries=3, retry_s=0.001)
    with Registry(tmp_path / "first", remote=remote) as first:
        first.put(make_key(), make_page(make_key()))
    (name,) = FakeRemote.pages()
    FakeRemote.objects[name] = b"damaged"
    failed = []

    def once(what: str, path: str) -> None:
        if what == "write" and not failed:
            failed.append(path)
            raise ConnectionError("reset by peer")

    with Registry(tmp_path / "second", remote=remote) as second:
        assert second.get(make_key()) is None
        FakeRemote.before = staticmethod(once)
        second.put(make_key(), make_page(make_key()))
    assert (stats_of(second).replaced, len(failed)) == (1, 1)
    with Registry(tmp_path / "third", remote=remote) as third:
        assert third.get(make_key()) is not None


def test_a_remote_that_stays_away_costs_so_many_tries_and_no_thread(
    tmp_path: Path, make_key, make_page
) -> None:
    remote = Remote("fake://s", timeout_s=30.0, close_s=WAIT_S, failures=99, retries=2, retry_s=0.001)

    def away(what: str, path: str) -> None:
        raise ConnectionError("no route")

    FakeRemote.before = staticmethod(away)
    with Registry(tmp_path / "first", remote=remote) as first:
        for key in (make_key(0), make_key(10)):
            first.put(key, make_page(key))
    stats = stats_of(first)
    assert (stats.uploaded, stats.dropped, stats.failures) == (0, 2, 6)
    assert not [thread for thread in threading.enumerate() if thread.name == "ragcache-upload"]


def test_tries_and_pauses_out_of_range_are_refused() -> None:
    for wrong in ({"retries": -1}, {"retry_s": 0.0}):
        with pytest.raises(ValueError, match="above 0"):
            replace(Remote("fake://s"), **wrong)


def test_the_remote_says_what_it_holds(tmp_path: Path, remote: Remote, make_key, make_page) -> None:
    with Registry(tmp_path / "first", remote=remote) as first:
        assert first.remote_usage() is not None
        assert first.remote_usage().entries == 0
        for key in (make_key(0), make_key(10)):
            first.put(key, make_page(key))
    with Registry(tmp_path / "second", remote=remote) as second:
        usage = second.remote_usage()
        assert usage is not None
        filesystem, names = objects(remote)
        assert usage.entries == len(names) == 2
        assert usage.size_bytes == sum(len(filesystem.cat_file(name)) for name in names)
    with Registry(tmp_path / "third") as alone:
        assert alone.remote_usage() is None


def test_a_remote_that_cannot_be_listed_is_a_typed_error(tmp_path: Path) -> None:
    def refuse(what: str, path: str) -> None:
        raise PermissionError("no credentials")

    FakeRemote.before = staticmethod(refuse)
    with (
        Registry(tmp_path / "first", remote="fake://s") as registry,
        pytest.raises(StoreUnavailableError, match="no credentials"),
    ):
        registry.remote_usage()
