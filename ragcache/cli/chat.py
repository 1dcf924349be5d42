"""`ragcache chat`: a conversation about documents in the terminal."""

from __future__ import annotations

from ragcache.cli import options
from ragcache.cli.output import Stopwatch


def chat(
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
) -> None:
    """Talk about documents; documents and earlier turns are reused. /why, /new and /quit are commands.

    Ctrl-C stops an answer, or leaves at the prompt; so does the end of the input.
    """
    watch = Stopwatch()
    from ragcache.cli.answering import Settings, answering
    from ragcache.cli.asking import read_documents
    from ragcache.cli.chatting import talk
    from ragcache.cli.stores import StoreChoice
    from ragcache.pipelines.rag.conversation import Conversation

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
    documents = read_documents(None, docs, budget, policy, watch)
    chosen = StoreChoice(store, remote, namespace, shared or ())
    with answering(None, documents, settings, chosen, watch) as pipeline:
        talk(Conversation(pipeline, settings.decoding))
