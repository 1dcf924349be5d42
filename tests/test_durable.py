"""Files are replaced whole, and a failure leaves what was there."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from ragcache.durable import replace_file


def test_parts_replace_a_file(tmp_path: Path) -> None:
    path = tmp_path / ("a" * 255)  # no name is too long for the file beside it
    path.write_bytes(b"old")
    replace_file(path, [b"new ", memoryview(b"text")])
    assert path.read_bytes() == b"new text"
    assert list(tmp_path.iterdir()) == [path]


def test_what_fails_changes_nothing(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_bytes(b"old")

    def parts() -> Iterator[bytes]:
        yield b"new"
        raise RuntimeError("power cut")

    with pytest.raises(RuntimeError, match="power cut"):
        replace_file(path, parts())
    assert path.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [path]
