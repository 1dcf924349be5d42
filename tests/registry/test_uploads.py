"""The queue of uploads: retries are bounded, the thread ends, nothing is counted twice."""

from __future__ import annotations

import threading

import pytest

from ragcache.registry import AffixKey
from ragcache.registry.uploads import Uploads

WAIT_S = 30.0
SOON_S = 0.001


class Far:
    """Takes uploads, or fails as often as it is told to."""

    def __init__(self, failures: int = 0) -> None:
        self.failures = failures
        self.tried: list[AffixKey] = []
        self.dropped: list[AffixKey] = []
        self.idle = threading.Event()

    def upload(self, key: AffixKey) -> bool:
        self.tried.append(key)
        done = len(self.tried) > self.failures
        if done:
            self.idle.set()
        return done

    def drop(self, key: AffixKey) -> None:
        self.dropped.append(key)
        self.idle.set()

    def queue(self, *, most: int = 4, retries: int = 3, retry_s: float = SOON_S) -> Uploads:
        return Uploads(self.upload, self.drop, most=most, retries=retries, retry_s=retry_s)


@pytest.mark.parametrize(("failures", "tries", "dropped"), [(0, 1, 0), (3, 4, 0), (9, 4, 1)])
def test_what_fails_is_tried_again_but_not_for_ever(
    make_key, failures: int, tries: int, dropped: int
) -> None:
    far = Far(failures)
    uploads = far.queue()
    uploads.offer(make_key())
    assert far.idle.wait(WAIT_S)
    assert uploads.close(WAIT_S) == 0
    assert far.tried == [make_key()] * tries
    assert far.dropped == [make_key()] * dropped


def test_others_go_first_while_one_waits_for_its_next_try(make_key) -> None:
    far = Far(failures=1)
    uploads = far.queue(retry_s=3600.0)
    uploads.offer(make_key(0))
    uploads.offer(make_key(10))
    assert far.idle.wait(WAIT_S)
    assert far.tried == [make_key(0), make_key(10)]
    assert uploads.close(WAIT_S) == 0  # closing does not wait an hour, it tries at once
    assert far.tried[2:] == [make_key(0)]
    assert far.dropped == []


def test_closing_tries_without_pauses_and_then_gives_up(make_key) -> None:
    far = Far(failures=99)
    uploads = far.queue(retry_s=3600.0)
    uploads.offer(make_key())
    uploads.close(WAIT_S)
    assert len(far.tried) == 4
    assert far.dropped == [make_key()]


def test_the_thread_ends_and_takes_nothing_more(make_key) -> None:
    before = set(threading.enumerate())
    far = Far(failures=99)
    uploads = far.queue(retries=2)
    for first in range(0, 40, 10):
        uploads.offer(make_key(first))
    (thread,) = set(threading.enumerate()) - before
    uploads.close(WAIT_S)
    assert not thread.is_alive()
    assert len(far.dropped) == 4
    uploads.offer(make_key(90))
    assert far.dropped[4:] == [make_key(90)]
    assert set(threading.enumerate()) - before == set()


def test_no_more_than_so_many_wait_and_what_hangs_is_counted_once(make_key) -> None:
    going, release = threading.Event(), threading.Event()
    dropped: list[AffixKey] = []

    def hang(key: AffixKey) -> bool:
        going.set()
        release.wait(WAIT_S)
        return False

    uploads = Uploads(hang, dropped.append, most=2, retries=3, retry_s=SOON_S)
    uploads.offer(make_key(0))
    assert going.wait(WAIT_S)
    for first in (10, 20, 30):
        uploads.offer(make_key(first))
    assert dropped == [make_key(30)]
    assert uploads.close(0.0) == 3
    release.set()
    assert uploads._thread is not None
    uploads._thread.join(WAIT_S)
    assert dropped == [make_key(first) for first in (30, 10, 20, 0)]
