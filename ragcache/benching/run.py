"""One run of the bench: all systems, the roofline, and what else was asked for."""

from __future__ import annotations

from collections.abc import Sequence

import torch

from ragcache.benching.arm import Measured
from ragcache.benching.figures import rows_of
from ragcache.benching.load import Load
from ragcache.benching.measure import OnRound, measure
from ragcache.benching.report import Report
from ragcache.benching.roofline import Roofline, roofline
from ragcache.benching.scaling import scaling
from ragcache.benching.stored import FEW, overheads
from ragcache.benching.systems import BASELINE, System
from ragcache.engine import LoadedModel
from ragcache.model.compiled import is_compiled
from ragcache.model.random_weights import parameter_count
from ragcache.threads import in_own_thread


def run(
    model: LoadedModel,
    workload: str,
    systems: Sequence[System],
    load: Load,
    *,
    scaled: bool = False,
    stored: int | None = None,
    on_round: OnRound = lambda system, requests: None,
) -> Report:
    """Measure `systems`, with the baseline among them, and report.

    `scaled` fits refresh times to live rows, `stored` compares 10 stored affixes with so many; both for the
    first system that reuses pages (or the baseline alone). Raises what `measure` raises.
    """
    measured = measure(model, systems, load, on_round)
    subject = next((system for system in systems if system.policy.reuses), systems[0])
    return Report(
        workload=workload,
        model=model.name,
        parameters=parameter_count(model.mask_predictor),
        dtype=model.dtype,
        device=model.device,
        threads=torch.get_num_threads(),
        compiled=is_compiled(model.mask_predictor),
        load=load,
        rows=tuple(rows_of(measured)),
        roofline=in_own_thread(lambda: _roofline(model, measured, load)),  # others are timed after it
        fit=scaling(model, subject, load) if scaled else None,
        overheads=tuple(overheads(model, subject, load, (FEW, stored))) if stored else (),
    )


def _roofline(model: LoadedModel, measured: Sequence[Measured], load: Load) -> Roofline:
    """Of the baseline, whose refreshes compute every row and sample those of a block."""
    full = next(one for one in measured if one.system.name == BASELINE)
    sampled = min(load.block, load.canvas)
    return roofline(model.mask_predictor, full.refresh_s, round(full.refresh_rows), sampled)
