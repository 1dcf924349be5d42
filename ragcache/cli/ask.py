"""`ragcache ask`: a question about documents."""

from __future__ import annotations

from ragcache.cli import options
from ragcache.cli.asking import read_documents
from ragcache.cli.output import Stopwatch, print_json


def ask(
    question: options.Question,
    docs: options.Docs,
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
    as_json: options.Json = False,
) -> None:
    """Answer a question about documents, reusing what earlier questions computed."""
    watch = Stopwatch()
    documents = read_documents(question, docs, budget, policy, watch)
    with watch.lap("imports"):
        from ragcache.cli.answer_view import as_object, show
        from ragcache.cli.answering import Settings, answering
        from ragcache.cli.stores import StoreChoice
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
        found = pipeline.ask(question, options=settings.decoding, compare=compare)
    if as_json:
        print_json(as_object(found, watch))
    else:
        show(found, watch)
