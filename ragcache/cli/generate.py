"""`ragcache generate`: the decoder's low-level door, token ids in and out."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ragcache.cli import options
from ragcache.cli.output import print_json

if TYPE_CHECKING:
    from ragcache.evaluation.jsonl import Record


def generate(
    model: Annotated[
        str,
        typer.Option(
            "--model", help="A checkpoint folder (no tokenizer needed), nano or a hub id.", show_default=False
        ),
    ],
    cases: Annotated[
        Path, typer.Option("--cases", help="A JSONL file of cases; - reads stdin.", show_default=False)
    ],
    policy: Annotated[
        str | None,
        typer.Option("--policy", help="Overrides the cases': full, qa@0.2, depth=4+qa@0.2, ..."),
    ] = None,
    device: options.Device = "auto",
    dtype: options.Dtype = "auto",
) -> None:
    """Decode raw token ids: one JSON line for every case, {"tokens", "anchors", "nfe"}.

    A case is {"parts": [[is_affix, [ids]], ...], "gen_length", "block_length"} with "threshold" or "steps",
    and optionally "cache" (none, prefix, dual, dllm, window), "budget" (ACache's) or "policy", "temperature",
    "seed", "top_k", "top_p", "min_tokens", "confidence". Lines before a bad one are answered.
    """
    from ragcache.cli.cases import Case, run_case
    from ragcache.engine.loaded_model import load_fingerprint, load_predictor
    from ragcache.engine.profiles import ModelProfile
    from ragcache.reuse.policy import parse_policy

    override = None if policy is None else parse_policy(policy)
    predictor = load_predictor(model, device=device, dtype=dtype)
    profile = ModelProfile(predictor.config, lambda: load_fingerprint(model)[1])
    for record in _records(cases):
        case = Case.read(record, predictor.config)
        print_json(run_case(predictor, case, override or case.policy, profile))
        sys.stdout.flush()


def _records(cases: Path) -> Iterator[Record]:
    from ragcache.evaluation.jsonl import read_records, records

    return records(sys.stdin.buffer, "stdin") if str(cases) == "-" else read_records(cases)
