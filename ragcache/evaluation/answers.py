"""One answer of an evaluation, as it is scored, written down and read back."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, fields, replace
from typing import Any

from ragcache.evaluation.jsonl import Record

Key = tuple[str, str, str, str, int]


@dataclass(frozen=True)
class Answer:
    """The answer to example `index` of `dataset` under `policy`, its affixes placed as `placement` says.

    Their pages were kept as `codec` does; full recompute uses none, and is always `raw`.
    `em` and `f1` compare `text` with `expected`. `agreement` is the share of tokens equal to those of full
    recompute, `kl` the mean divergence from its canvas logits at the first refresh, in nats; both are None
    when it was not run. `live_rows` is the share of rows computed at a refresh, `forwards` the NFE,
    `rows_computed` the sum of rows over all forwards, `bytes_read` what was read from the store. `refresh_s`
    is the time of all refreshes, `probe_s` that of choosing anchors before the first. Shares are in 0..1.
    Answers of one `group` are variants of one example; with "" an answer stands alone.
    """

    dataset: str
    policy: str
    placement: str
    index: int
    question: str
    expected: str
    text: str
    token_ids: tuple[int, ...]
    em: float
    f1: float
    agreement: float | None
    kl: float | None
    live_rows: float
    forwards: int
    rows_computed: int
    probe_s: float
    refresh_s: float
    total_s: float
    bytes_read: int
    group: str = ""
    codec: str = "raw"

    @property
    def key(self) -> Key:
        """What no two answers of an evaluation share: dataset, policy, placement, codec, index."""
        return self.dataset, self.policy, self.placement, self.codec, self.index

    def to_json(self) -> dict[str, Any]:
        """Every field by name, as JSON has it."""
        return {**asdict(self), "token_ids": list(self.token_ids)}

    @classmethod
    def from_record(cls, record: Record) -> Answer:
        """The inverse of `to_json`. Raises `InputError` for a field missing, unknown or out of range.

        Only `codec` may be missing: older journals know `raw` alone.
        """
        record = replace(record, values={"codec": "raw", **record.values})
        record.check_names(field.name for field in fields(cls))
        return cls(
            dataset=record.text("dataset"),
            policy=record.text("policy"),
            placement=_string(record, "placement"),
            index=record.whole("index", least=0),
            question=record.text("question"),
            expected=_string(record, "expected"),
            text=_string(record, "text"),
            token_ids=_token_ids(record, "token_ids"),
            em=_share(record, "em"),
            f1=_share(record, "f1"),
            agreement=None if record.values["agreement"] is None else _share(record, "agreement"),
            kl=None if record.values["kl"] is None else _finite(record, "kl"),
            live_rows=_share(record, "live_rows"),
            forwards=record.whole("forwards", least=0),
            rows_computed=record.whole("rows_computed", least=0),
            probe_s=_seconds(record, "probe_s"),
            refresh_s=_seconds(record, "refresh_s"),
            total_s=_seconds(record, "total_s"),
            bytes_read=record.whole("bytes_read", least=0),
            group=_string(record, "group"),
            codec=record.text("codec"),
        )


def _string(record: Record, name: str) -> str:
    """Any string: a model may answer nothing."""
    value = record.values[name]
    if not isinstance(value, str):
        raise record.wrong(name, "a text")
    return value


def _token_ids(record: Record, name: str) -> tuple[int, ...]:
    values = record.values[name]
    if not isinstance(values, list) or not all(type(value) is int and value >= 0 for value in values):
        raise record.wrong(name, "a list of token ids")
    return tuple(values)


def _finite(record: Record, name: str) -> float:
    value = record.number(name)
    if not math.isfinite(value):
        raise record.wrong(name, "a finite number")
    return value


def _share(record: Record, name: str) -> float:
    value = record.number(name)
    if not 0.0 <= value <= 1.0:
        raise record.wrong(name, "a number in 0..1")
    return value


def _seconds(record: Record, name: str) -> float:
    value = _finite(record, name)
    if value < 0.0:
        raise record.wrong(name, "a number of seconds, at least 0")
    return value
