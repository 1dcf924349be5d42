"""Every error ragcache raises on purpose.

RagCacheError
├── InputError                 what the caller passed cannot be used (also a ValueError)
│   ├── ConfigError            an option outside its range
│   ├── BundleError            a file of affixes is damaged, no such file, or made for another model
│   ├── EmptyQuestionError     nothing was asked
│   ├── DocumentError          a document or folder is missing, unreadable, empty or not UTF-8
│   └── PromptTooLongError     the prompt and its answer do not fit the model's window
├── ModelError
│   ├── UnknownModelError      no such model name, folder or hub id
│   ├── CheckpointError        a field, tensor or file of a checkpoint is missing or wrong
│   └── ModelTooLargeError     the model does not fit the device's free memory
├── RegistryError
│   ├── StoreUnavailableError  the store cannot be opened (not a folder, unsafe permissions, locked)
│   ├── StoreReadOnlyError     the store cannot be written to
│   ├── StoreFullError         the disk or the store has no room left
│   │   └── StorePinnedError   pinned pages leave too little room
│   ├── StoreDamagedError      the store holds data it cannot have written
│   ├── StoreVersionError      the store was written by a newer format
│   ├── StoreKeyError          the encryption key is missing, wrong, or given for a store without encryption
│   ├── AffixTooLargeError     one entry is larger than the store's limit or its namespace's quota
│   └── UnknownAffixError      no affix has this name
├── EngineError
│   ├── EngineClosedError      the engine was closed before the request was done
│   ├── EngineBusyError        as many requests wait already as the engine lets wait
│   ├── WorkerDiedError        the engine's thread ended unexpectedly; the next request starts another
│   ├── ReplicaDiedError       the process of a replica ended, and no other could do what it was asked
│   ├── RequestTooLargeError   the request alone needs more memory than all may have
│   ├── RequestCancelledError  the caller cancelled the request
│   └── RequestTimeoutError    the request was not done within its time (also a TimeoutError)
├── UnsupportedError           these models cannot do what was asked for (also a NotImplementedError)
└── MissingDependencyError     an optional package is needed (also an ImportError)

Each message says what was wrong with which input, and what to do about it.
"""

from __future__ import annotations


class RagCacheError(Exception):
    """Base of all errors raised by ragcache."""


class InputError(RagCacheError, ValueError):
    """What the caller passed cannot be used."""


class ConfigError(InputError):
    """An option lies outside its range."""


class BundleError(InputError):
    """A file of affixes is damaged, no such file, or made for another model."""


class EmptyQuestionError(InputError):
    """The question holds no text."""


class DocumentError(InputError):
    """A document or folder is missing, unreadable, empty or not UTF-8."""


class PromptTooLongError(InputError):
    """The prompt and its answer do not fit the model's window; nothing was truncated.

    `tokens` is what prompt and answer need together, `limit` what the model has, both in tokens.
    """

    def __init__(self, tokens: int, limit: int, what: str = "prompt and answer") -> None:
        self.tokens = tokens
        self.limit = limit
        super().__init__(
            f"{what}: {tokens} tokens, {tokens - limit} over the model's window of {limit}. "
            "Use fewer or shorter documents, or a smaller --max-tokens / --top-k."
        )


class ModelError(RagCacheError):
    """A model cannot be used."""


class UnknownModelError(ModelError):
    """No such model name, folder or hub id."""


class CheckpointError(ModelError):
    """A field, tensor or file of a checkpoint is missing or wrong."""


class ModelTooLargeError(ModelError):
    """The model does not fit; nothing was loaded. `needed_bytes` and `free_bytes` say by how much."""

    def __init__(self, what: str, needed_bytes: int, free_bytes: int, device: str) -> None:
        self.needed_bytes, self.free_bytes = needed_bytes, free_bytes
        super().__init__(
            f"{what}: the weights need {needed_bytes / 2**30:.1f} GiB, and {device} has "
            f"{free_bytes / 2**30:.1f} GiB free. Use --dtype bf16, another --device, or a smaller model."
        )


class RegistryError(RagCacheError):
    """The affix registry cannot do what was asked."""


class StoreUnavailableError(RegistryError):
    """The store cannot be opened."""


class StoreReadOnlyError(RegistryError):
    """The store cannot be written to."""


class StoreFullError(RegistryError):
    """The disk or the store has no room left."""


class StorePinnedError(StoreFullError):
    """Pinned pages leave too little room; nothing was evicted."""


class StoreDamagedError(RegistryError):
    """The store holds data it cannot have written."""


class StoreVersionError(RegistryError):
    """The store was written by a newer format."""


class StoreKeyError(RegistryError):
    """The encryption key is missing, wrong, or given for a store without encryption."""


class AffixTooLargeError(RegistryError):
    """One entry is larger than the store's limit or its namespace's quota."""


class UnknownAffixError(RegistryError):
    """No affix has this name."""


class EngineError(RagCacheError):
    """The engine cannot finish a request."""


class EngineClosedError(EngineError):
    """The engine was closed before the request was done."""


class EngineBusyError(EngineError):
    """As many requests wait already as the engine lets wait; this one was not taken."""

    def __init__(self, waiting: int) -> None:
        self.waiting = waiting
        super().__init__(
            f"{waiting} requests are waiting, and no more may; try again later, or raise max_waiting"
        )


class WorkerDiedError(EngineError):
    """The engine's thread ended unexpectedly, and this request with it; the cause says why."""


class ReplicaDiedError(EngineError):
    """The process of a replica ended, and no other could do what it was asked; its stderr may say why."""


class RequestTooLargeError(EngineError):
    """The request alone needs more memory than all together may have; others are not affected."""

    def __init__(self, needed_bytes: int, limit_bytes: int) -> None:
        self.needed_bytes, self.limit_bytes = needed_bytes, limit_bytes
        super().__init__(
            f"the request needs {needed_bytes} bytes of private KV, and the limit is {limit_bytes}; shorten "
            "prompt or answer, or raise kv_bytes"
        )


class RequestCancelledError(EngineError):
    """The caller cancelled the request."""


class RequestTimeoutError(EngineError, TimeoutError):
    """The request was not done within its time."""


class UnsupportedError(RagCacheError, NotImplementedError):
    """These models cannot do what was asked for; the message says what can be done instead."""


class MissingDependencyError(RagCacheError, ImportError):
    """An optional package is needed; the message holds the pip command."""
