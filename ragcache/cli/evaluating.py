"""The work behind `ragcache eval`: where examples come from, and running them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any

from rich.progress import Progress

from ragcache.cli.output import console
from ragcache.connectors.embedder import MiniLMEmbedder
from ragcache.engine import Engine, load
from ragcache.evaluation.examples import read_examples, read_questions
from ragcache.evaluation.generators import Example, dataset
from ragcache.evaluation.run import evaluate
from ragcache.pipelines.rag.chunks import chunk
from ragcache.pipelines.rag.documents import load_documents
from ragcache.pipelines.rag.index import DocumentIndex
from ragcache.reuse.policy import parse_policy

DATASETS = ("single", "two_hop", "not_stated", "single_templates")
EXAMPLES = 100


@dataclass(frozen=True)
class Sets:
    """Examples by the name of their data set, and what to warn of."""

    sets: dict[str, list[Example]]
    warnings: tuple[str, ...] = ()


def from_generators(names: Sequence[str] | None, n: int | None) -> Sets:
    """Held-out examples, made on the spot."""
    return Sets({name: list(dataset(name, n or EXAMPLES)) for name in names or DATASETS})


def from_file(path: Path, n: int | None) -> Sets:
    """The user's examples."""
    return Sets({path.stem: read_examples(path)[:n]})


def from_documents(questions: Path, docs: Sequence[Path], n: int | None, top_k: int) -> Sets:
    """Questions about a folder: the documents of each are the chunks that retrieval finds."""
    pairs, loaded = read_questions(questions)[:n], load_documents(docs)
    chunks = [piece for document in loaded.documents for piece in chunk(document)]
    index = DocumentIndex.build(chunks, MiniLMEmbedder())
    examples = [
        Example(question, tuple(hit.chunk.text for hit in index.search(question, top_k)), answer)
        for question, answer in pairs
    ]
    return Sets({docs[0].resolve().stem: examples}, loaded.warnings)


def run(
    sets: dict[str, list[Example]], policies: Sequence[str], *, model: str, device: str
) -> list[dict[str, Any]]:
    """Rows for JSON. There is no store: pages are cheap to build, and the user's stay as they are."""
    chosen = [parse_policy(text.strip()) for text in policies]
    err = console(stderr=True)
    with (
        Engine(load(model, device=device)) as engine,
        Progress(console=err, disable=not err.is_terminal, transient=True) as progress,
    ):
        rows = []
        for name, examples in sets.items():
            task = progress.add_task(name, total=len(examples) * len(chosen))
            rows += evaluate(
                engine, examples, chosen, dataset=name, on_answer=partial(progress.advance, task)
            )
    return [asdict(row) for row in rows]
