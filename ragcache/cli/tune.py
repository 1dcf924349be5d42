"""`ragcache tune`: the cheapest policy that answers the user's own questions as well as full recompute."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ragcache.cli import options
from ragcache.cli.output import complain, console, print_json
from ragcache.cli.targets import check_target, write_text

if TYPE_CHECKING:
    from ragcache.evaluation.tune import Tuning


def tune(
    questions: Annotated[
        Path,
        typer.Option("--questions", help='JSONL of {"question", "answer"} about --docs.', show_default=False),
    ],
    docs: options.Docs,
    policy: Annotated[
        str | None, typer.Option("--policy", help="Candidates, separated by commas. [default: a grid]")
    ] = None,
    tolerance: Annotated[
        float, typer.Option("--tolerance", help="Loss of exact match that is accepted; 0.01 is one point.")
    ] = 0.01,
    confidence: Annotated[
        float, typer.Option("--confidence", help="Share of bootstrap resamples that must lose no more.")
    ] = 0.8,
    n: Annotated[int | None, typer.Option("--n", min=1, help="Questions to use. [default: all]")] = None,
    top_k: options.TopK = 4,
    model: options.Model = "nano",
    device: options.Device = "auto",
    dtype: options.Dtype = "auto",
    journal: options.Journal = None,
    html: options.Report = None,
    as_json: options.Json = False,
) -> None:
    """Find the cheapest safe policy, and keep it as what `--policy auto` stands for with this model."""
    for name, path in (("--journal", journal), ("--html", html)):
        check_target(name, path)
    from ragcache.cli.evaluating import Plan, from_documents, run
    from ragcache.cli.reporting import page
    from ragcache.engine.loaded_model import load_fingerprint
    from ragcache.engine.profiles import Profiles
    from ragcache.evaluation.tune import FEWEST, candidates, check_strictness
    from ragcache.evaluation.tune import tune as choose
    from ragcache.reuse.policy import Full, parse_policies

    check_strictness(tolerance, confidence)
    layers, fingerprint = load_fingerprint(model)
    policies = parse_policies(policy or ",".join(candidates(layers)))
    loaded = from_documents(questions, docs, n, top_k)
    for warning in loaded.warnings:
        complain("warning", warning)
    asked = loaded.examples
    if asked < FEWEST:
        complain("warning", f"{asked} questions are too few to call a policy safe; give {FEWEST} or more")
    plan = Plan(loaded.sets, (Full, *(p for p in policies if p.name != Full.name)), ("prefix",))
    answers = run(plan, model=model, device=device, dtype=dtype, journal=journal)
    tuning = choose(answers, tolerance, confidence)
    if tuning.of(Full.name).row.em == 0.0:
        complain("warning", "full recompute answers no question as expected, so no policy can be called safe")
    path = Profiles().write(fingerprint, "policy", _profile(tuning))
    if as_json:
        print_json(_as_json(tuning, path))
    else:
        _show(tuning, path)
    if html is not None:  # last: a page that cannot be drawn must not cost the results
        write_text("--html", html, page(answers, model, "Tuning"))


def _profile(tuning: Tuning) -> dict[str, object]:
    """What is kept of the choice, and the figures that it rests on."""
    chosen = tuning.of(tuning.chosen)
    return {
        "policy": tuning.chosen,
        "tolerance": tuning.tolerance,
        "confidence": tuning.confidence,
        "questions": chosen.row.n,
        "exact_match": chosen.row.em,
        "exact_match_full": tuning.of("full").row.em,
        "refresh_ratio": chosen.refresh,
        "refresh_and_probe_ratio": chosen.cost,
    }


def _as_json(tuning: Tuning, path: Path) -> dict[str, object]:
    return {
        "chosen": tuning.chosen,
        "safe": tuning.found,
        "tolerance": tuning.tolerance,
        "confidence": tuning.confidence,
        "profile": str(path),
        "candidates": [
            {
                "policy": c.row.policy,
                "em": c.row.em,
                "difference": [c.difference.em, c.difference.em_low, c.difference.em_high],
                "at_least": c.at_least,
                "refresh_ratio": c.refresh,
                "refresh_and_probe_ratio": c.cost,
                "safe": c.safe,
            }
            for c in tuning.candidates
        ],
    }


def _show(tuning: Tuning, path: Path) -> None:
    from rich.bar import Bar
    from rich.table import Table

    table = Table(box=None, pad_edge=False)
    for name in (
        "policy",
        "em",
        "difference to full (95 %)",
        f"at least ({tuning.confidence:.0%})",
        "safe",
        "refresh",
        "with probe",
        "share of full's time",
    ):
        table.add_column(name, justify="right" if name in ("em", "refresh", "with probe") else "left")
    longest = max(c.cost for c in tuning.candidates)
    for c in tuning.candidates:
        d = c.difference
        table.add_row(
            c.row.policy,
            f"{c.row.em:.3f}",
            f"{d.em:+.3f} [{d.em_low:+.3f} {d.em_high:+.3f}]",
            f"{c.at_least:+.3f}",
            "yes" if c.safe else "no",
            f"{c.refresh:.2f}",
            f"{c.cost:.2f}",
            Bar(longest, 0, c.cost, width=20),
        )
    out = console()
    out.width = max(out.width, 120)
    out.print(table)
    if tuning.found:
        best = tuning.of(tuning.chosen)
        out.print(
            f"chosen: {tuning.chosen}, {best.refresh:.2f} of a full recompute per refresh, "
            f"{best.cost:.2f} with the probe"
        )
    else:
        out.print(
            f"no cheaper policy is safe within {tuning.tolerance:g} on these questions: full recompute is "
            "kept. More questions narrow the interval"
        )
    out.print(f"profile: {path} (used by --policy auto)")
