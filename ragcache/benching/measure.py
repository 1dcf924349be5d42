"""Every system's answers to one workload, in rounds that alternate between the systems."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from ragcache.benching.arm import Arm, Measured, open_arm
from ragcache.benching.drive import arrivals
from ragcache.benching.load import Load
from ragcache.benching.systems import System
from ragcache.benching.workloads import Asked
from ragcache.engine import LoadedModel, Request
from ragcache.registry import Registry

UNLIMITED_BYTES = 2**50  # the store is of this run alone, and its pages are mapped
ALONE = 8  # requests, at most, that are served one at a time before
OnRound = Callable[[System, int], None]


def measure(
    model: LoadedModel,
    systems: Sequence[System],
    load: Load,
    on_round: OnRound = lambda system, requests: None,
) -> list[Measured]:
    """All `systems`, one after another in every round, pages being in a store of this run.

    Before that each serves the first requests one at a time, in turns too. `on_round` learns how many
    requests a system has served under the load now. Raises as `open_arms`, and the engine's errors.
    """
    with open_arms(model, systems, load) as (asked, arms):
        for number in range(min(ALONE, load.requests)):
            for arm in arms:
                arm.serve_alone(Request(asked.prompts[number], load.options(arm.system.cache)))
        at_s = arrivals(load.requests, load.rate, load.seed)
        for numbers in load.rounds():
            for arm in arms:
                options = load.options(arm.system.cache)
                requests = [Request(asked.prompts[number], options) for number in numbers]
                arm.serve(requests, [at_s[number] for number in numbers])
                on_round(arm.system, len(arm.loaded.served))
        return [arm.measured(load.canvas, asked.answers) for arm in arms]


@contextmanager
def open_arms(model: LoadedModel, systems: Sequence[System], load: Load) -> Iterator[tuple[Asked, list[Arm]]]:
    """What is asked, and an arm for each of `systems`.

    Raises `PromptTooLongError` and `ConfigError` before anything is computed.
    """
    asked = load.ask(model)
    with ExitStack() as stack:
        registry = stack.enter_context(scratch_registry())
        yield asked, [stack.enter_context(open_arm(model, registry, one, load, asked)) for one in systems]


@contextmanager
def scratch_registry() -> Iterator[Registry]:
    """A registry whose folder is gone afterwards, and that keeps whatever it is given."""
    with (
        TemporaryDirectory(prefix="ragcache-bench-") as folder,
        Registry(Path(folder) / "store", limit_bytes=UNLIMITED_BYTES, memory_bytes=UNLIMITED_BYTES) as opened,
    ):
        yield opened
