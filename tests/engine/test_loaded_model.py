"""What a model can be loaded as, and from."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import pytest

from ragcache.engine import load
from ragcache.engine.loaded_model import load_predictor
from ragcache.engine.placement import pick_device
from ragcache.errors import ConfigError, UnknownModelError
from ragcache.model.checkpoint import Checkpoint


@pytest.mark.parametrize("device", ["abacus", "meta", "mps", "xpu", "cuda:99", "cpu:x", ""])
def test_a_device_that_cannot_serve_is_refused(device: str) -> None:
    with pytest.raises(ConfigError, match=f"device {device!r}"):
        pick_device(device)


@pytest.mark.parametrize("model", ["", "m" * 300, "~nobody-is-called-so/model", "a\0b", "a/b/c"])
def test_a_path_that_cannot_be_is_an_unknown_model(model: str) -> None:
    with pytest.raises(UnknownModelError, match="unknown model"):
        load(model)


def test_weights_are_read_by_a_thread_that_is_gone_afterwards(
    checkpoint: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    threads, plain = list[threading.Thread](), Checkpoint.load

    def noted(*given: Any, **how: Any) -> Any:
        threads.append(threading.current_thread())
        return plain(*given, **how)

    monkeypatch.setattr(Checkpoint, "load", noted)
    load(str(checkpoint), device="cpu")
    load_predictor(str(checkpoint), device="cpu")
    assert len(threads) == 2
    assert not any(thread.is_alive() for thread in threads)  # nor is it this one
