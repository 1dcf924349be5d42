"""What every command with a question checks and reads first, before the slow imports."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from ragcache.cli.output import Stopwatch, complain
from ragcache.errors import ConfigError, EmptyQuestionError

if TYPE_CHECKING:
    from ragcache.pipelines.rag.documents import Document


def read_documents(
    question: str | None, docs: Sequence[Path], budget: float | None, policy: str | None, watch: Stopwatch
) -> tuple[Document, ...]:
    """The documents to ask about. A wrong path is the most frequent mistake, and is told at once.

    `question` is None where it comes later.
    Raises `EmptyQuestionError`, `ConfigError` for `budget` together with `policy`, `DocumentError`.
    """
    if question is not None and not question.strip():
        raise EmptyQuestionError("the question is empty; ask something")
    if budget is not None and policy is not None:
        raise ConfigError("--budget and --policy exclude each other; give one")
    with watch.lap("documents"):
        from ragcache.pipelines.rag.documents import load_documents

        loaded = load_documents(docs)
    for warning in loaded.warnings:
        complain("warning", warning)
    return loaded.documents
