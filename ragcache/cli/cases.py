"""Cases of `ragcache generate`: read, checked and run."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from ragcache.decoding.canvas import Canvas
from ragcache.decoding.commit import CommitRule, ConfidenceThreshold, FixedSteps
from ragcache.decoding.defaults import with_defaults
from ragcache.decoding.denoise import DecodingOptions, denoise
from ragcache.decoding.encode import encode_affixes
from ragcache.decoding.step import run
from ragcache.engine.clock import Clock
from ragcache.engine.profiles import ModelProfile
from ragcache.errors import ConfigError, InputError, PromptTooLongError
from ragcache.evaluation.jsonl import Record
from ragcache.model.attention import GatherKV
from ragcache.model.config import ModelConfig
from ragcache.model.segment import Segment, whole
from ragcache.model.transformer import MaskPredictor
from ragcache.reuse.criteria import Influence
from ragcache.reuse.depth import DepthTable
from ragcache.reuse.plan import make_plan
from ragcache.reuse.policy import Full, ReusePolicy, parse_policy

REQUIRED = ("parts", "gen_length", "block_length")
SAMPLING = ("temperature", "seed", "top_k", "top_p", "min_tokens", "confidence")
OPTIONAL = ("threshold", "steps", "cache", "budget", "policy", *SAMPLING)


@dataclass(frozen=True)
class Case:
    """One request in token ids; `parts` are `(is_affix, ids)` in prompt order."""

    parts: tuple[tuple[bool, tuple[int, ...]], ...]
    options: DecodingOptions
    policy: ReusePolicy

    @property
    def prompt(self) -> list[int]:
        """Token ids of the whole prompt."""
        return [token for _, ids in self.parts for token in ids]

    @classmethod
    def read(cls, record: Record, config: ModelConfig) -> Case:
        """The case in `record`. Raises `InputError` naming line and field, or `PromptTooLongError`."""
        given = {name: value for name, value in record.values.items() if value is not None}
        record = Record(record.where, given)  # null is the same as leaving a field out
        record.check_names(REQUIRED, OPTIONAL)
        parts = tuple(_part(record, part, config.embedding_rows) for part in _list(record, "parts"))
        try:
            options, policy = _options(record), _policy(record)
        except ConfigError as error:
            raise InputError(f"{record.where}: {error}") from error
        case = cls(parts, options, policy)
        needed = len(case.prompt) + options.max_tokens
        if needed > config.max_tokens:
            raise PromptTooLongError(needed, config.max_tokens, f"{record.where}: parts and gen_length")
        return case


def run_case(
    predictor: MaskPredictor, case: Case, policy: ReusePolicy, profile: ModelProfile
) -> dict[str, Any]:
    """Answer ids, absolute anchor positions, and the number of refresh and refine forwards."""
    config, clock = predictor.config, Clock(predictor.config.layers)
    options = with_defaults(case.options, config)
    policy = profile.resolve(policy)
    table = profile.table(policy)
    canvas = Canvas.of(config, case.prompt, options.max_tokens, options.block_length or 0)
    segments = _segments(predictor, case, table)
    plan = run(predictor, make_plan(predictor, canvas, segments, policy, GatherKV, table))
    run(predictor, clock.time(denoise(canvas, plan.at_block, plan.kv, options, ends=(config.eos_id,))))
    return {
        "tokens": canvas.answer(),
        "anchors": plan.anchors.tolist(),
        "nfe": clock.forwards.total(),
    }


def _segments(predictor: MaskPredictor, case: Case, table: DepthTable | None) -> list[Segment]:
    """Every affix, encoded alone, at its offset; equal ones share a page."""
    distinct = list(dict.fromkeys(ids for is_affix, ids in case.parts if is_affix))
    depths = table.checkpoints if table else ()
    encoded = encode_affixes(predictor, distinct, depths=depths) if distinct else []
    pages = dict(zip(distinct, encoded, strict=True))
    segments, offset = [], 0
    for is_affix, ids in case.parts:
        if is_affix:
            segments.append(whole(pages[ids], offset))
        offset += len(ids)
    return segments


def _options(record: Record) -> DecodingOptions:
    values = record.values
    length = record.whole("gen_length", least=1)
    block_length = record.whole("block_length", least=1)
    return DecodingOptions(
        max_tokens=length,
        block_length=block_length,
        rule=_rule(record, -(-length // block_length)),
        cache=values.get("cache", "dual"),
        **_sampling(record),
    )


def _sampling(record: Record) -> dict[str, Any]:
    """What the case says of sampling; the rest is as ever."""
    read: dict[str, Callable[[str], Any]] = {
        "temperature": record.number,
        "top_p": record.number,
        "confidence": record.text,
    }
    return {
        name: read[name](name) if name in read else record.whole(name, least=0)
        for name in SAMPLING
        if name in record.values
    }


def _rule(record: Record, blocks: int) -> CommitRule:
    """The threshold where there is one, else the steps, which count over all blocks."""
    if "threshold" in record.values:
        return ConfidenceThreshold(record.number("threshold"))
    if "steps" not in record.values:
        raise ConfigError("neither 'threshold' nor 'steps'; give one")
    return FixedSteps(record.whole("steps", least=blocks) // blocks)


def _policy(record: Record) -> ReusePolicy:
    """The policy; a bare budget is ACache's, whose published cases give no more."""
    if "policy" in record.values:
        if "budget" in record.values:
            raise ConfigError("'budget' and 'policy' exclude each other; give one")
        return parse_policy(record.text("policy"))
    return ReusePolicy(record.number("budget"), Influence()) if "budget" in record.values else Full


def _part(record: Record, part: Any, vocabulary: int) -> tuple[bool, tuple[int, ...]]:
    wanted = record.wrong("parts", "a list of [is_affix, [token ids]]")
    if not isinstance(part, list) or len(part) != 2:
        raise wanted
    is_affix, ids = part
    if type(is_affix) is not bool or not isinstance(ids, list) or (is_affix and not ids):
        raise wanted
    for token in ids:
        if type(token) is not int or not 0 <= token < vocabulary:
            raise InputError(
                f"{record.where}: field 'parts' holds {str(token)[:40]!r}; "
                f"token ids are whole numbers from 0 to {vocabulary - 1} for this model"
            )
    return is_affix, tuple(ids)


def _list(record: Record, name: str) -> list[Any]:
    values = record.values[name]
    if not isinstance(values, list) or not values:
        raise record.wrong(name, "a list that is not empty")
    return values
