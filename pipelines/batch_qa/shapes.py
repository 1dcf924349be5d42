"""Output rows: our own simple shape, and that of OpenAI's batch files."""

from __future__ import annotations

import time
from dataclasses import asdict
from typing import Any

from ragcache.engine import Completion
from ragcache.pipelines.batch_qa.rows import Failure, Format, Question


def answer_row(question: Question, completion: Completion, form: Format) -> dict[str, Any]:
    """The row of an answer."""
    if form == "openai":
        return _openai(question, completion)
    return {
        "custom_id": question.custom_id,
        "answer": completion.text,
        "usage": usage(completion),
        "reuse": reuse(completion),
        "error": None,
    }


def error_row(failure: Failure, form: Format) -> dict[str, Any]:
    """The row of a line that has no answer."""
    error = {"code": failure.code, "message": failure.message, "line": failure.line}
    if form == "openai":
        request_id = f"batch_req_{failure.line}"
        return {"id": request_id, "custom_id": failure.custom_id, "response": None, "error": error}
    return {"custom_id": failure.custom_id, "answer": None, "usage": None, "reuse": None, "error": error}


def usage(completion: Completion) -> dict[str, Any]:
    """Token counts as OpenAI names them; `cached_tokens` came from the store, not from pages built now."""
    prompt, answer = completion.reuse.prompt_tokens, completion.completion_tokens
    return {
        "prompt_tokens": prompt,
        "completion_tokens": answer,
        "total_tokens": prompt + answer,
        "prompt_tokens_details": {"cached_tokens": completion.reuse.served("hit")},
    }


def reuse(completion: Completion) -> dict[str, Any]:
    """The reuse report as plain values."""
    found = completion.reuse
    return {
        "affixes": [asdict(use) for use in found.affixes],
        "reused": found.reused,
        "recomputed": found.recomputed,
        "fresh": found.fresh,
    }


def _openai(question: Question, completion: Completion) -> dict[str, Any]:
    request_id = f"batch_req_{question.line}"
    body = {
        "id": f"chatcmpl-{question.line}",
        "object": "chat.completion",
        "created": int(time.time()),
        "model": completion.model,
        "choices": [
            {
                "index": 0,
                "message": {"role": "assistant", "content": completion.text},
                "finish_reason": completion.finish_reason,
            }
        ],
        "usage": usage(completion),
    }
    response = {"status_code": 200, "request_id": request_id, "body": body}
    return {"id": request_id, "custom_id": question.custom_id, "response": response, "error": None}
