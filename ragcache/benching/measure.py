"""Every system's answers to one workload, in rounds that alternate between the systems."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from ragcache.benching.arm import Measured, open_arm
from ragcache.benching.drive import arrivals
from ragcache.benching.load import Load
from ragcache.benching.systems import System
from ragcache.engine import LoadedModel, Request
from ragcache.registry import Registry

UNLIMITED_BYTES = 2**50  # the store is of this run alone, and its pages are mapped
OnRound = Callable[[System, int], None]


def measure(
    model: LoadedModel,
    systems: Sequence[System],
    load: Load,
    on_round: OnRound = lambda system, requests: None,
) -> list[Measured]:
    """All `systems`, one after another in every round, pages being in a store of this run.

    `on_round` learns how many requests a system has served now. Raises `PromptTooLongError` before anything
    is computed, and the engine's errors.
    """
    asked = load.ask(model)
    with ExitStack() as stack:
        registry = stack.enter_context(scratch_registry())
        arms = [stack.enter_context(open_arm(model, registry, system, load, asked)) for system in systems]
        at_s = arrivals(load.requests, load.rate, load.seed)
        for numbers in load.rounds():
            for arm in arms:
                options = load.options(arm.system.cache)
                requests = [Request(asked.prompts[number], options) for number in numbers]
                arm.round(requests, [at_s[number] for number in numbers])
                on_round(arm.system, len(arm.served))
        return [arm.measured(load.canvas) for arm in arms]


@contextmanager
def scratch_registry() -> Iterator[Registry]:
    """A registry whose folder is gone afterwards, and that keeps whatever it is given."""
    with (
        TemporaryDirectory(prefix="ragcache-bench-") as folder,
        Registry(Path(folder) / "store", limit_bytes=UNLIMITED_BYTES, memory_bytes=UNLIMITED_BYTES) as opened,
    ):
        yield opened
