"""`ragcache explain`: an answer, and a page that shows how it came about."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ragcache.cli import options
from ragcache.cli.asking import read_documents
from ragcache.cli.output import Stopwatch, complain, console
from ragcache.cli.targets import check_target, write_text


def explain(
    question: options.Question,
    docs: options.Docs,
    html: Annotated[Path, typer.Option("--html", help="File to write the page to.", show_default=False)],
    model: options.Model = "nano",
    top_k: options.TopK = 4,
    budget: options.Budget = None,
    policy: options.Policy = None,
    store: options.Store = None,
    codec: options.Codec = "raw",
    remote: options.Remote = None,
    namespace: options.Namespace = "default",
    shared: options.Shared = None,
    max_tokens: options.MaxTokens = None,
    seed: options.Seed = 0,
    decoding: options.Decoding = None,
    device: options.Device = "auto",
    dtype: options.Dtype = "auto",
    compare: options.Compare = True,
    show: Annotated[bool, typer.Option("--open", help="Open the page in the browser.")] = False,
) -> None:
    """Answer a question, and write a page that shows what was reused, the anchors and every step."""
    watch = Stopwatch()
    check_target("--html", html)
    documents = read_documents(question, docs, budget, policy, watch)
    with watch.lap("imports"):
        from ragcache.cli.answering import Settings, answering
        from ragcache.cli.stores import StoreChoice
        from ragcache.pipelines.explain.page import render
        from ragcache.pipelines.explain.view import explain as picture
    settings = Settings.checked(
        model=model,
        device=device,
        dtype=dtype,
        top_k=top_k,
        budget=budget,
        policy=policy,
        codec=codec,
        max_tokens=max_tokens,
        seed=seed,
        decoding=decoding,
    )
    chosen = StoreChoice(store, remote, namespace, shared or ())
    with answering(question, documents, settings, chosen, watch) as pipeline:
        found = pipeline.ask(question, options=settings.decoding, compare=compare, trace=True)
        trace = found.completion.trace
        assert trace is not None  # it was asked for
        view = picture(found.completion, trace, pipeline.engine.model.tokenizer, question=question)
    out = console()
    out.print(view.answer or "(the model gave no answer)", style="bold")
    out.print(view.summary)
    write_text("--html", html, render(view))
    out.print(f"page: {html}")
    if show:
        _open(html)


def _open(path: Path) -> None:
    if typer.launch(path.resolve().as_uri()) != 0:
        complain("warning", f"no browser could be started; open {path} yourself")
