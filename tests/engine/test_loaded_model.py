"""What a model can be loaded as, and from."""

from __future__ import annotations

import pytest

from ragcache.engine import load
from ragcache.engine.placement import pick_device
from ragcache.errors import ConfigError, UnknownModelError


@pytest.mark.parametrize("device", ["abacus", "meta", "mps", "xpu", "cuda:99", "cpu:x", ""])
def test_a_device_that_cannot_serve_is_refused(device: str) -> None:
    with pytest.raises(ConfigError, match=f"device {device!r}"):
        pick_device(device)


@pytest.mark.parametrize("model", ["", "m" * 300, "~nobody-is-called-so/model", "a\0b", "a/b/c"])
def test_a_path_that_cannot_be_is_an_unknown_model(model: str) -> None:
    with pytest.raises(UnknownModelError, match="unknown model"):
        load(model)
