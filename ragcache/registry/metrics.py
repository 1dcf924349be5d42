"""A registry's counters for Prometheus: `REGISTRY.register(RegistryCollector(registry))`."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING

from ragcache.errors import MissingDependencyError, RegistryError
from ragcache.registry.records import RegistryStats, StoreUsage
from ragcache.registry.registry import Registry
from ragcache.registry.remote import RemoteStats

if TYPE_CHECKING:
    from prometheus_client.core import Metric

_log = logging.getLogger(__name__)
_PREFIX = "ragcache_registry"
_REMOTE_EVENTS = {
    "hits": "Pages fetched from the remote.",
    "misses": "Pages that the remote did not have, or not intact.",
    "failures": "Calls that the remote did not answer.",
    "damaged": "Objects of the remote that failed a check.",
    "uploaded": "Pages created or replaced in the remote.",
    "dropped": "Uploads given up.",
}
_EVENTS = {
    "hits": "Pages found.",
    "misses": "Pages not found.",
    "stored": "Pages written through to the disk.",
    "evicted": "Pages removed to make room.",
    "quarantined": "Damaged files set aside.",
}


class RegistryCollector:
    """Reads `registry` whenever Prometheus asks; holds no state, and is registered by its owner.

    Counters are this process's, and are raised once what they count is on the disk; bytes are the
    store's. A registry that is closed or fails gives no samples. Raises `MissingDependencyError`
    without `prometheus_client`.
    """

    def __init__(self, registry: Registry) -> None:
        try:
            import prometheus_client  # noqa: F401 (asked for now, not at the first scrape)
        except ImportError as error:
            raise MissingDependencyError(
                "metrics need the package prometheus_client: pip install 'ragcache-dllm[metrics]'"
            ) from error
        self._registry = registry

    def describe(self) -> Iterable[Metric]:
        """Nothing: registering reads no store."""
        return []

    def collect(self) -> Iterator[Metric]:
        """One metric family after the other."""
        try:
            stats, usage, far = self._registry.stats(), self._registry.usage(), self._registry.remote_stats()
        except RegistryError as error:
            _log.warning("no metrics: %s", error)
            return
        yield from _events(stats, _PREFIX, _EVENTS)
        yield _saved(stats)
        if far is not None:
            yield from _events(far, f"{_PREFIX}_remote", _REMOTE_EVENTS)
        yield from _sizes(usage)


def _events(stats: RegistryStats | RemoteStats, prefix: str, events: Mapping[str, str]) -> Iterator[Metric]:
    from prometheus_client.core import CounterMetricFamily

    for event, what in events.items():
        yield CounterMetricFamily(f"{prefix}_{event}", what, value=getattr(stats, event))


def _saved(stats: RegistryStats) -> Metric:
    from prometheus_client.core import CounterMetricFamily

    return CounterMetricFamily(
        f"{_PREFIX}_saved_seconds", "Encoding seconds minus loading seconds of hits.", value=stats.saved_s
    )


def _sizes(usage: StoreUsage) -> Iterator[Metric]:
    from prometheus_client.core import GaugeMetricFamily

    tiers = GaugeMetricFamily(f"{_PREFIX}_bytes", "Bytes of pages by tier.", labels=["tier"])
    for tier, size_bytes in usage.tiers.items():
        tiers.add_metric([tier], size_bytes)
    yield tiers
    yield GaugeMetricFamily(f"{_PREFIX}_entries", "Pages on disk.", value=usage.entries)
