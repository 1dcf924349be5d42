"""A batch of questions with and without reuse: `python -m benchmarks.batch [--model random]`.

200 generated questions over 50 documents, four of them named by each question. Every policy runs the whole
job once, with a store of its own that is empty at first, so encoding is paid for; the job without reuse goes
first, in the same process. `random` is a model of 138 M parameters (bf16) with random weights and nano's
tokenizer. Answers of a fixed number of steps: what is timed does not depend on what is said.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Annotated, Any, Literal

import torch
import typer
from rich.console import Console
from rich.table import Table

from benchmarks.figures import Figure, table_of
from ragcache.benching.models import never_stops, with_random_weights
from ragcache.decoding.commit import FixedSteps
from ragcache.decoding.denoise import DecodingOptions
from ragcache.engine import Engine, LoadedModel, load
from ragcache.evaluation.generators import Split, story
from ragcache.evaluation.generators.schema import TRAIN
from ragcache.model.random_weights import parameter_count, random_config
from ragcache.pipelines.batch_qa import Job, Library, Question, Results, Summary, read_questions
from ragcache.pipelines.rag.documents import Document
from ragcache.registry import Registry
from ragcache.reuse.policy import Full, parse_policies

NEIGHBOURS = (0, 7, 13, 29)  # the documents of a question, counted from its own
Model = Literal["nano", "random"]


@dataclass(frozen=True)
class Workload:
    """Generated documents of `characters` or more, and lines of questions about them, the same every time."""

    documents: int = 50
    questions: int = 200
    characters: int = 1100

    def build(self) -> tuple[list[Document], list[bytes]]:
        """The documents, and the lines as `ragcache batch` reads them."""
        rng = Random(f"batch/{self.documents}")
        made = [self._document(rng) for _ in range(self.documents)]
        lines = []
        for number in range(self.questions):
            own = number % self.documents
            _, asked = made[own]
            named = [f"{(own + step) % self.documents}.md" for step in NEIGHBOURS[: self.documents]]
            turn = number % len(named)
            line = {
                "custom_id": f"q{number}",
                "question": asked[number // self.documents % len(asked)],
                "docs": [*named[turn:], *named[:turn]],
            }
            lines.append(json.dumps(line).encode())
        return [Document(f"{number}.md", text) for number, (text, _) in enumerate(made)], lines

    def _document(self, rng: Random) -> tuple[str, list[str]]:
        """A text of several stories, and questions about them."""
        texts: list[str] = []
        asked: list[str] = []
        while sum(map(len, texts)) < self.characters or not asked:
            told = story(rng, Split(TRAIN, TRAIN), docs=(2, 2), facts=(3, 4), questions=2)
            texts += told.docs
            asked += [question.question for question in told.questions]
        return "\n\n".join(texts), asked


def load_model(name: Model) -> LoadedModel:
    """nano, or nano's tokenizer before random weights; neither stops early."""
    if name == "nano":
        return never_stops(load("nano", device="cpu"))
    return never_stops(with_random_weights("random", random_config(), torch.bfloat16, torch.device("cpu")))


@dataclass(frozen=True)
class Arm:
    """One policy's run of the job."""

    policy: str
    summary: Summary

    def row(self, full_s: float) -> dict[str, Any]:
        """Figures beside those of the job without reuse, which took `full_s`."""
        summary = self.summary
        return {
            "policy": self.policy,
            "seconds": round(summary.seconds, 2),
            "speedup": round(full_s / summary.seconds, 3),
            "questions_per_s": round(summary.ok / summary.seconds, 3),
            "hit_rate": round(summary.hit_rate, 3),
            "encode_s": round(summary.encode_s, 2),
            "saved_s": round(full_s - summary.seconds, 2),
            "estimated_saved_s": round(summary.saved_s, 2),
        }


def run(
    model: LoadedModel, questions: list[Question], options: DecodingOptions, policies: str
) -> Iterator[Arm]:
    """Every policy's run; each has a new store."""
    for policy in (Full, *parse_policies(policies)):
        with ExitStack() as stack:
            folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
            registry = None if policy == Full else stack.enter_context(Registry(folder / "store"))
            engine = stack.enter_context(Engine(model, registry, policy=policy))
            out = stack.enter_context(Results(folder / "out.jsonl", model="m", fingerprint="f"))
            summary = Job(engine, out, options).run(questions)
        if summary.failed:
            raise RuntimeError(f"{summary.failed} questions of the benchmark's own failed")
        yield Arm(policy.name, summary)


def target(row: dict[str, Any], model: Model) -> Figure:
    """The first policy's throughput; nano's size is what it is meant for, other sizes are for comparison."""
    least = 2.5 if model == "nano" else None
    return Figure(f"{row['policy']}: throughput of the job without reuse", row["speedup"], "x", least)


def main(
    model: Annotated[Model, typer.Option(help="nano, or random weights.")] = "nano",
    questions: int = 200,
    documents: int = 50,
    policies: str = "acache@0.2,acache@0.2+once,direct",
    max_tokens: int = 32,
    block_length: int = 8,
    steps: Annotated[int, typer.Option(help="Denoising steps a block.")] = 2,
) -> None:
    """Measure and print."""
    texts, lines = Workload(documents, questions).build()
    found = [q for q in read_questions(lines, "generated", Library(texts)) if isinstance(q, Question)]
    options = DecodingOptions(max_tokens, block_length, FixedSteps(steps))
    loaded = load_model(model)
    with Engine(loaded) as engine:  # warms up, and knows the length of prompts
        prompts = [engine.tokenize(question.prompt).tokens for question in found]
        Job(engine, _Nowhere(), options).run(found[:2])
    arms = list(run(loaded, found, options, policies))
    rows = [arm.row(arms[0].summary.seconds) for arm in arms]
    table = Table(*rows[0])
    for row in rows:
        table.add_row(*map(str, row.values()))
    figures = [target(rows[1], model)] if rows[1:] else []
    Console(width=130).print(table, table_of(figures))
    result = {
        "model": model,
        "parameters": parameter_count(loaded.mask_predictor),
        "questions": len(found),
        "documents": documents,
        "mean_prompt_tokens": round(sum(prompts) / len(prompts)),
        "max_tokens": max_tokens,
        "block_length": block_length,
        "steps": steps,
        "policies": rows,
        "missed": [figure.name for figure in figures if figure.met == "no"],
    }
    print(json.dumps(result))


class _Nowhere(Results):
    """Rows of the warm-up."""

    def __init__(self) -> None:
        self.finished = frozenset()

    def write(self, row: Any) -> None:
        """Drop it."""


if __name__ == "__main__":
    typer.run(main)
