"""The work behind `ragcache eval`: where examples come from, and running them."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from rich.progress import Progress, TaskID

from ragcache.cli.output import console
from ragcache.connectors.embedder import MiniLMEmbedder
from ragcache.decoding.caches import parse_cache
from ragcache.decoding.denoise import DecodingOptions
from ragcache.decoding.short_form import parse_decoding
from ragcache.engine import Engine, load
from ragcache.evaluation.answers import Answer
from ragcache.evaluation.examples import read_examples, read_questions
from ragcache.evaluation.generators import Example, dataset
from ragcache.evaluation.journal import Journal
from ragcache.evaluation.placement import placement_named
from ragcache.evaluation.run import Trial, evaluate
from ragcache.pipelines.rag.chunks import chunk
from ragcache.pipelines.rag.documents import load_documents
from ragcache.pipelines.rag.index import DocumentIndex
from ragcache.registry import Registry, codec_for
from ragcache.reuse.policy import ReusePolicy, parse_policies

DATASETS = ("single", "two_hop", "not_stated", "single_templates")
EXAMPLES = 100
USUAL_DTYPE = "fp32"
STORE_BYTES = 2 << 30


@dataclass(frozen=True)
class Sets:
    """Examples by the name of their data set, and what to warn of."""

    sets: dict[str, list[Example]]
    warnings: tuple[str, ...] = ()

    @property
    def examples(self) -> int:
        """Of all sets."""
        return sum(map(len, self.sets.values()))


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


@dataclass(frozen=True)
class Plan:
    """What to evaluate: examples by data set, under policies and placements, pages kept by codecs."""

    sets: dict[str, list[Example]]
    policies: tuple[ReusePolicy, ...]
    placements: tuple[str, ...]
    cache: str = "dual"
    codecs: tuple[str, ...] = ("raw",)
    decoding: tuple[str, ...] = ()

    @classmethod
    def parsed(cls, policies: str, placements: str, cache: str, codecs: str, decoding: Sequence[str]) -> Plan:
        """A plan without examples yet, from lists by commas. Raises `ConfigError` for what is unknown."""
        chosen = parse_policies(policies)
        places = tuple(dict.fromkeys(text.strip() for text in placements.split(",")))
        for name in places:
            placement_named(name)
        parse_cache(cache)
        parse_decoding(decoding, DecodingOptions())
        kept = tuple(dict.fromkeys(codec_for(text.strip()).name for text in codecs.split(",")))
        return cls({}, chosen, places, cache, kept, tuple(decoding))

    def trials(self) -> list[Trial]:
        """One for every data set and placement."""
        options = parse_decoding(self.decoding, DecodingOptions(cache=self.cache))
        return [
            Trial(name, examples, self.policies, placement, options, self.codecs)
            for name, examples in self.sets.items()
            for placement in self.placements
        ]

    def resolved(self, engine: Engine) -> Plan:
        """The plan with `auto` as what it stands for, each policy once: a profile may change, a row not."""
        policies = [engine.resolve_policy(policy) for policy in self.policies]
        return replace(self, policies=tuple({policy.name: policy for policy in policies}.values()))

    def header(self, model: str, dtype: str = USUAL_DTYPE) -> dict[str, Any]:
        """What must be equal for a journal to be gone on with; what is usual goes without saying."""
        asked = [[e.question, *e.docs, e.answer] for examples in self.sets.values() for e in examples]
        said: dict[str, Any] = {"decoding": sorted(self.decoding)} if self.decoding else {}
        if dtype != USUAL_DTYPE:
            said["dtype"] = dtype
        return {
            **said,
            "model": model,
            "cache": self.cache,
            "datasets": {name: len(examples) for name, examples in self.sets.items()},
            "examples": hashlib.sha256(json.dumps(asked).encode()).hexdigest(),
        }


def run(plan: Plan, *, model: str, device: str, dtype: str, journal: Path | None) -> list[Answer]:
    """All answers. Pages go to a store of this run alone: the user's stays as it is."""
    err = console(stderr=True)
    with ExitStack() as stack:
        loaded = load(model, device=device, dtype=dtype)
        kept = journal or Path(stack.enter_context(TemporaryDirectory())) / "answers.jsonl"
        book = stack.enter_context(Journal(kept, plan.header(loaded.fingerprint, loaded.dtype)))
        store = Path(stack.enter_context(TemporaryDirectory())) / "store"
        registry = stack.enter_context(Registry(store, limit_bytes=STORE_BYTES))
        engine = stack.enter_context(Engine(loaded, registry))
        plan = plan.resolved(engine)
        progress = stack.enter_context(Progress(console=err, disable=not err.is_terminal, transient=True))
        trials, done = plan.trials(), book.done
        for trial in trials:
            label = trial.dataset if len(plan.placements) == 1 else f"{trial.dataset} ({trial.placement})"
            keys = trial.all_keys()
            task = progress.add_task(label, total=len(keys), completed=len(done.intersection(keys)))

            def keep(answer: Answer, task: TaskID = task) -> None:
                book.append(answer)
                progress.advance(task)

            evaluate(engine, trial, done=done, on_answer=keep)
        wanted = {key for trial in trials for key in trial.all_keys()}
        return [answer for answer in book.answers if answer.key in wanted]
