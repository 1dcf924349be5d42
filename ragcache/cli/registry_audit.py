"""`ragcache registry audit`: whether one namespace can tell what another has cached."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer

from ragcache.cli import options
from ragcache.cli.output import print_json

if TYPE_CHECKING:
    from ragcache.registry.audit import Comparison

EXIT_NOT_SEPARATE = 1
VERDICTS = {
    "separate": "one namespace cannot tell what the other has cached",
    "leak": "the times give away what the other namespace has cached",
    "inconclusive": "not even hits and misses could be told apart; try more --trials on a quiet machine",
}


def audit(
    store: options.Store = None,
    trials: Annotated[int, typer.Option("--trials", help="Lookups of each kind.")] = 500,
    victim: Annotated[str, typer.Option("--namespace", help="Who has cached texts.")] = "audit-victim",
    attacker: Annotated[str, typer.Option("--other", help="Who tries to tell.")] = "audit-attacker",
    as_json: options.Json = False,
) -> None:
    """Time lookups of texts that another namespace has cached, or has not; exit code 1 if they differ."""
    from ragcache.cli.stores import open_registry
    from ragcache.registry.audit import audit as run

    with open_registry(store) as registry:
        report = run(registry, victim=victim, attacker=attacker, trials=trials)
    if as_json:
        print_json({**asdict(report), "verdict": report.verdict})
    else:
        typer.echo(f"own texts:    {_line(report.within)}")
        typer.echo(f"other's texts: {_line(report.across)}")
        typer.echo(f"{report.verdict}: {VERDICTS[report.verdict]}")
    if report.verdict != "separate":
        raise typer.Exit(EXIT_NOT_SEPARATE)


def _line(seen: Comparison) -> str:
    times = f"cached {seen.cached_s * 1e6:.1f} us, not cached {seen.absent_s * 1e6:.1f} us"
    return f"{times}, longer in {seen.share:.1%} of pairs, p = {seen.p_value:.2g}"
