"""`ragcache ask`: a question about documents."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ragcache.cli import options
from ragcache.cli.output import Stopwatch, complain, print_json
from ragcache.errors import ConfigError, EmptyQuestionError


def ask(
    question: Annotated[str, typer.Argument(help="What to ask.", show_default=False)],
    docs: Annotated[
        list[Path],
        typer.Option(
            "--docs", help="A .txt or .md file, or a folder of them; repeatable.", show_default=False
        ),
    ],
    model: options.Model = "nano",
    top_k: Annotated[int, typer.Option("--top-k", help="Chunks to put into the prompt.")] = 4,
    budget: Annotated[
        float | None,
        typer.Option("--budget", help="Share of affix tokens to recompute, 0..1. [default: 0.2]"),
    ] = None,
    policy: Annotated[
        str | None,
        typer.Option("--policy", help="Instead of --budget: full, direct or acache@BUDGET."),
    ] = None,
    store: options.Store = None,
    max_tokens: Annotated[
        int | None, typer.Option("--max-tokens", help="Length of the answer. [default: 32]")
    ] = None,
    seed: Annotated[int, typer.Option("--seed", help="For sampling.")] = 0,
    device: options.Device = "auto",
    compare: Annotated[
        bool, typer.Option("--compare/--no-compare", help="Time a full recompute too.")
    ] = True,
    as_json: options.Json = False,
) -> None:
    """Answer a question about documents, reusing what earlier questions computed."""
    watch = Stopwatch()
    if not question.strip():
        raise EmptyQuestionError("the question is empty; ask something")
    if budget is not None and policy is not None:
        raise ConfigError("--budget and --policy exclude each other; give one")
    with watch.lap("documents"):  # before the slow imports: a wrong path is the most frequent mistake
        from ragcache.pipelines.rag.documents import load_documents

        loaded = load_documents(docs)
    for warning in loaded.warnings:
        complain("warning", warning)
    with watch.lap("imports"):
        from ragcache.cli.answer_view import as_object, show
        from ragcache.cli.answering import Settings, answer
    settings = Settings.checked(
        model=model,
        device=device,
        top_k=top_k,
        budget=budget,
        policy=policy,
        max_tokens=max_tokens,
        seed=seed,
    )
    found = answer(question, loaded.documents, settings, store, compare=compare, watch=watch)
    if as_json:
        print_json(as_object(found, watch))
    else:
        show(found, watch)
