"""The work behind `ragcache registry`; results are plain values, ready for JSON."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from ragcache.cli.output import complain
from ragcache.cli.stores import open_registry
from ragcache.errors import StoreUnavailableError
from ragcache.registry import POLICIES
from ragcache.registry.replay import Costs, compare
from ragcache.registry.trace import read_trace


def store_usage(store: Path | None, remote: str | None) -> dict[str, Any]:
    """What is in the store and what it was good for; and what is in the remote, if it answers."""
    with open_registry(store, remote) as registry:
        usage = asdict(registry.usage())
        try:
            far = registry.remote_usage()
        except StoreUnavailableError as error:
            complain("warning", str(error))
            far = None
        return usage | ({"remote": asdict(far)} if far is not None else {})


def collect_garbage(store: Path | None, *, unnamed: bool, dry_run: bool) -> dict[str, Any]:
    """What was removed, or would be."""
    with open_registry(store) as registry:
        return asdict(registry.collect_garbage(unnamed=unnamed, dry_run=dry_run))


def replay_trace(path: Path, limit_bytes: int, given: Mapping[str, Any]) -> dict[str, Any]:
    """One entry a policy. Raises `InputError` naming the line that cannot be used."""
    costs = Costs(**given)
    results = compare(list(read_trace(path)), POLICIES.values(), limit_bytes, costs)
    return {
        "limit_bytes": limit_bytes,
        "costs": asdict(costs),
        "policies": [{**asdict(result), "token_hit_rate": result.token_hit_rate} for result in results],
    }
