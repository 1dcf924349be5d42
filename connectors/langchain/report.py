"""A completion as LangChain's results; what is said of it is plain JSON."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, replace
from typing import Any

from langchain_core.messages.ai import InputTokenDetails, UsageMetadata
from langchain_core.outputs import Generation, GenerationChunk, LLMResult

from ragcache.engine import Completion, Preview
from ragcache.engine.preview import Section

_MISSING = "its text does not stand in the prompt, or within another affix"


def generation_info(completion: Completion, missing: Sequence[str] = ()) -> dict[str, Any]:
    """Finish reason, usage, model name and reuse report; `missing` affixes are reported as skipped.

    Counts are in tokens. `cached_tokens` came from the store; affixes built by this call do not count.
    """
    report = completion.reuse
    absent = {"start": 0, "tokens": 0, "status": "skipped", "anchors": 0, "reason": _MISSING}
    return {
        "finish_reason": completion.finish_reason,
        "model_name": completion.model,
        "usage": {
            "prompt_tokens": report.prompt_tokens,
            "completion_tokens": completion.completion_tokens,
            "total_tokens": report.prompt_tokens + completion.completion_tokens,
            "cached_tokens": report.served("hit"),
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


def llm_result(completions: Sequence[Completion], missing: Sequence[Sequence[str]]) -> LLMResult:
    """One generation for every prompt; `missing` are each prompt's."""
    generations = [
        [Generation(text=completion.text, generation_info=generation_info(completion, absent))]
        for completion, absent in zip(completions, missing, strict=True)
    ]
    names = {completion.model for completion in completions}
    return LLMResult(generations=generations, llm_output={"model_name": ", ".join(names)})


def llm_chunk(missing: Sequence[str], piece: str | Completion) -> GenerationChunk:
    """A piece of text, or at the end an empty one that carries the report."""
    if isinstance(piece, str):
        return GenerationChunk(text=piece)
    return GenerationChunk(text="", generation_info=generation_info(piece, missing))


def joined(chunks: Sequence[GenerationChunk]) -> LLMResult:
    """The chunks of one answer as `llm_result` has it; the last one carries the report."""
    info = chunks[-1].generation_info or {}
    generation = Generation(text="".join(chunk.text for chunk in chunks), generation_info=info)
    return LLMResult(generations=[[generation]], llm_output={"model_name": info["model_name"]})


def response_metadata(completion: Completion, missing: Sequence[str] = ()) -> dict[str, Any]:
    """`generation_info` without the usage, which messages carry by themselves."""
    info = generation_info(completion, missing)
    del info["usage"]
    return info


def with_missing(preview: Preview, missing: Sequence[str]) -> Preview:
    """`preview` with the affixes that the prompt does not hold, at its end."""
    at = preview.prompt_tokens
    absent = (Section("", at, 0, "skipped", name, _MISSING) for name in missing)
    return replace(preview, sections=(*preview.sections, *absent))


def usage_metadata(completion: Completion) -> UsageMetadata:
    """Token counts of a message. `cache_read` came from the store, `cache_creation` was encoded now."""
    report = completion.reuse
    prompt, answer = report.prompt_tokens, completion.completion_tokens
    return UsageMetadata(
        input_tokens=prompt,
        output_tokens=answer,
        total_tokens=prompt + answer,
        input_token_details=InputTokenDetails(
            cache_read=report.served("hit"), cache_creation=report.served("built")
        ),
    )
