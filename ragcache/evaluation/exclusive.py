"""One writer at a time for a file of results."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from filelock import FileLock, Timeout

from ragcache.errors import InputError


@contextmanager
def exclusive(path: Path, writer: str, error: type[InputError] = InputError) -> Iterator[None]:
    """Hold `path` against other processes and other writers of this one; `writer` says what they would be.

    Raises `error` when another holds it, or nothing can be written beside it.
    """
    beside = Path(f"{os.path.abspath(path)}.lock")
    if not beside.parent.is_dir():
        raise error(f"{path}: cannot be written, there is no folder {beside.parent}; make it first")
    lock = FileLock(beside, timeout=0, thread_local=False)
    try:
        lock.acquire()
    except Timeout:
        raise error(f"{path}: another {writer} writes to it; wait for it or choose another file") from None
    except OSError as cause:
        raise error(f"{beside}: cannot be written ({cause.strerror}); choose another folder") from cause
    try:
        yield
    finally:
        # Removed while held: who waits on this file finds it gone and takes a new one.
        with suppress(OSError):
            beside.unlink()
        lock.release()
