"""Replaying a trace against eviction policies: the registry's own classes on rows without files."""

from __future__ import annotations

import heapq
import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, replace

from ragcache.errors import ConfigError
from ragcache.registry.eviction import EvictionPolicy
from ragcache.registry.records import LARGEST, PageRow
from ragcache.registry.room import check_bytes
from ragcache.registry.trace import TraceAffix

Trace = Sequence[Sequence[TraceAffix]]


@dataclass(frozen=True)
class Costs:
    """Synthetic size and seconds of pages: encoding is linear in tokens, plus attention over all pairs.

    The defaults are those of Dream-7B in bfloat16: 56 KiB a token, 2 x 7e9 FLOP a token and 4 x 28 x
    3584 a pair at 400 TFLOP/s, pages read at 5 GB/s. Raises `ConfigError` for negative ones.
    """

    bytes_per_token: int = 57_344
    encode_s_per_token: float = 3.5e-5
    encode_s_per_pair: float = 1.0e-9
    load_s_per_byte: float = 2.0e-10

    def __post_init__(self) -> None:
        check_bytes("bytes_per_token", self.bytes_per_token, least=1)
        for name, value in asdict(self).items():
            if not 0 <= value < LARGEST:
                raise ConfigError(f"{name} is {value}; give 0 or more.")

    def row(self, affix: TraceAffix) -> PageRow:
        """The row that storing `affix` would make."""
        tokens, encode_s, size_bytes = affix.tokens, affix.encode_s, affix.size_bytes
        if encode_s is None:
            encode_s = self.encode_s_per_token * tokens + self.encode_s_per_pair * tokens**2
        return PageRow(
            digest=json.dumps([affix.id, tokens, size_bytes, affix.encode_s]),  # another text is another page
            model="",
            dtype="",
            tokens=tokens,
            size_bytes=self.bytes_per_token * tokens if size_bytes is None else size_bytes,
            created_s=0.0,
            last_used_s=0.0,
            hits=0,
            encode_s=encode_s,
            text_digest="",
        )

    def load_s(self, row: PageRow) -> float:
        """Seconds to load a page."""
        return self.load_s_per_byte * row.size_bytes


@dataclass
class Replay:
    """What a policy made of a trace. `encode_s` is what encoding every affix would have taken."""

    policy: str
    requests: int = 0
    affixes: int = 0
    hits: int = 0
    tokens: int = 0
    hit_tokens: int = 0
    encode_s: float = 0.0
    saved_s: float = 0.0
    evicted: int = 0

    @property
    def token_hit_rate(self) -> float:
        """Share of affix tokens that were found, 0..1."""
        return self.hit_tokens / self.tokens if self.tokens else 0.0


def replay(trace: Trace, policy: EvictionPolicy, limit_bytes: int, costs: Costs) -> Replay:
    """Serve `trace` from an empty store of `limit_bytes` that evicts by `policy`. Raises `ConfigError`."""
    check_bytes("limit_bytes", limit_bytes, least=1)
    result = Replay(policy.name)
    pages = _Pages(policy, limit_bytes)
    for affixes in trace:
        result.requests += 1
        for affix in dict.fromkeys(affixes):
            _serve(costs.row(affix), pages, costs, result)
    result.evicted = pages.evicted
    return result


def _serve(wanted: PageRow, pages: _Pages, costs: Costs, result: Replay) -> None:
    load_s = costs.load_s(wanted)
    hit = pages.use(wanted.digest, load_s)
    if not hit:
        pages.add(wanted)
    result.affixes += 1
    result.tokens += wanted.tokens
    result.encode_s += wanted.encode_s
    result.hits += hit
    result.hit_tokens += hit * wanted.tokens
    result.saved_s += hit * replace(wanted, load_s=load_s).saves_s


class _Pages:
    """Rows under a limit, as the index and the shelf keep them, but in memory."""

    def __init__(self, policy: EvictionPolicy, limit_bytes: int) -> None:
        self._policy = policy
        self._free_bytes = limit_bytes
        self._limit_bytes = limit_bytes
        self._rows: dict[str, PageRow] = {}
        self._order: list[tuple[float, int, str]] = []  # outdated entries are passed over
        self._floor = 0.0
        self._clock = 0
        self.evicted = 0

    def use(self, digest: str, load_s: float) -> bool:
        row = self._rows.get(digest)
        if row is not None:
            self._list(row.used(1, load_s, self._clock + 1))
        return row is not None

    def add(self, row: PageRow) -> None:
        if row.size_bytes > self._limit_bytes:
            return
        while row.size_bytes > self._free_bytes:
            self._evict()
        self._free_bytes -= row.size_bytes
        self._list(replace(row, use_order=self._clock + 1))

    def _list(self, row: PageRow) -> None:
        self._clock = row.use_order
        self._rows[row.digest] = row
        heapq.heappush(self._order, (self._policy.priority(row, self._floor), row.use_order, row.digest))

    def _evict(self) -> None:
        priority, use_order, digest = heapq.heappop(self._order)
        row = self._rows.get(digest)
        if row is not None and row.use_order == use_order:
            del self._rows[digest]
            self._free_bytes += row.size_bytes
            self._floor = max(self._floor, priority)
            self.evicted += 1


def compare(
    trace: Trace, policies: Iterable[EvictionPolicy], limit_bytes: int, costs: Costs
) -> tuple[Replay, ...]:
    """`replay` with each of `policies`."""
    return tuple(replay(trace, policy, limit_bytes, costs) for policy in policies)
