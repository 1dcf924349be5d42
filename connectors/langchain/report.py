"""A completion as LangChain's `generation_info`: plain JSON."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from ragcache.engine import Completion

_MISSING = "its text does not stand in the prompt, or within another affix"


def generation_info(completion: Completion, missing: Sequence[str] = ()) -> dict[str, Any]:
    """Finish reason, usage, model name and reuse report; `missing` affixes are reported as skipped.

    Counts are in tokens. `cached_tokens` came from the store; affixes built by this call do not count.
    """
    report = completion.reuse
    cached = sum(use.tokens - use.anchors for use in report.affixes if use.status == "hit")
    absent = {"start": 0, "tokens": 0, "status": "skipped", "anchors": 0, "reason": _MISSING}
    return {
        "finish_reason": completion.finish_reason,
        "model_name": completion.model,
        "usage": {
            "prompt_tokens": report.prompt_tokens,
            "completion_tokens": completion.completion_tokens,
            "total_tokens": report.prompt_tokens + completion.completion_tokens,
            "cached_tokens": cached,
        },
        "reuse": {
            "policy": completion.policy,
            "affixes": [
                *map(asdict, report.affixes),
                *({"name": name, **absent} for name in missing),
            ],
            "prompt_tokens": report.prompt_tokens,
            "reused": report.reused,
            "recomputed": report.recomputed,
            "fresh": report.fresh,
        },
    }
