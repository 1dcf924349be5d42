"""A block closes what it opened, whatever happens in it."""

from __future__ import annotations

import pytest

from ragcache.closing import Closing


class Door(Closing):
    closed = 0

    def close(self) -> None:
        self.closed += 1


def test_a_block_closes_at_its_end_and_on_an_error() -> None:
    with Door() as door:
        assert door.closed == 0
    assert door.closed == 1
    with pytest.raises(RuntimeError), door:
        raise RuntimeError
    assert door.closed == 2
