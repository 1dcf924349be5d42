"""The work behind `ragcache batch`."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from rich.progress import Progress

from ragcache.cli.answering import Settings, engine_options
from ragcache.cli.output import complain, console
from ragcache.cli.stores import StoreChoice
from ragcache.connectors.embedder import MiniLMEmbedder
from ragcache.engine import BaseEngine, start_engine
from ragcache.errors import ConfigError, InputError, RagCacheError
from ragcache.pipelines.batch_qa import Failure, Job, Library, Question, Results, read_questions
from ragcache.pipelines.batch_qa.job import preview
from ragcache.pipelines.batch_qa.rows import Format
from ragcache.pipelines.rag.documents import load_documents


@dataclass(frozen=True)
class Files:
    """Where lines come from and rows go; `source` - is stdin."""

    source: str
    out: Path
    docs: tuple[Path, ...]
    form: Format
    resume: bool
    overwrite: bool

    def lines(self) -> list[bytes]:
        """All input lines. Raises `InputError`."""
        if self.source == "-":
            return list(sys.stdin.buffer)
        try:
            with Path(self.source).open("rb") as file:
                return list(file)
        except OSError as error:
            raise InputError(f"{self.source}: cannot be read ({error.strerror}); check the path") from error

    def check(self) -> None:
        """Raise `ConfigError` when input and output are one file."""
        if self.source != "-" and self.out.exists() and self.out.samefile(self.source):
            raise ConfigError(f"{self.out}: is the input as well; choose another file for --output")


def run_batch(files: Files, settings: Settings, store: StoreChoice) -> dict[str, Any]:
    """Answer what is not answered yet; the summary as plain values."""
    files.check()
    with ExitStack() as stack:
        found, engine = _prepare(files, settings, store, stack)
        results = stack.enter_context(
            Results(
                files.out,
                model=engine.model.name,
                fingerprint=engine.model.fingerprint,
                resume=files.resume,
                overwrite=files.overwrite,
            )
        )
        job = Job(engine, results, settings.decoding, files.form)
        err = console(stderr=True)
        with Progress(console=err, disable=not err.is_terminal, transient=True) as bar:
            done = sum(one.custom_id in results.finished for one in found)
            task = bar.add_task("batch", total=len(found), completed=done)
            summary = job.run(found, on_row=lambda: bar.advance(task))
    derived = ("hit_rate", "tokens_per_s", "saved_s")
    return {**asdict(summary), **{name: getattr(summary, name) for name in derived}}


def preview_batch(files: Files, settings: Settings, store: StoreChoice) -> Iterator[dict[str, Any]]:
    """One object a line: what it needs, or what is wrong with it."""
    with ExitStack() as stack:
        found, engine = _prepare(files, settings, store, stack)
        for one in found:
            yield asdict(one) if isinstance(one, Failure) else _previewed(engine, one, settings)


def _previewed(engine: BaseEngine, question: Question, settings: Settings) -> dict[str, Any]:
    try:
        return preview(engine, question, settings.decoding)
    except RagCacheError as error:
        return asdict(Failure.of(error, question.line, question.custom_id))


def _prepare(
    files: Files, settings: Settings, store: StoreChoice, stack: ExitStack
) -> tuple[list[Question | Failure], BaseEngine]:
    lines = files.lines()
    library = Library((), None, top_k=settings.top_k)
    if files.docs:
        loaded = load_documents(files.docs)
        for warning in loaded.warnings:
            complain("warning", warning)
        library = Library(loaded.documents, MiniLMEmbedder(), top_k=settings.top_k)
    source = "stdin" if files.source == "-" else files.source
    found = list(read_questions(lines, source, library, files.form))
    if not found:
        raise InputError(f"{source}: holds no question; write one JSON object a line")
    registry = stack.enter_context(store.open())
    engine = start_engine(
        settings.model,
        registry,
        device=settings.device,
        replicas=settings.replicas,
        dtype=settings.dtype,
        options=engine_options(settings, store),
    )
    return found, stack.enter_context(engine)
