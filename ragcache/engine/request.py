"""What goes into the engine and what comes out: immutable values."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Literal

from torch import Tensor

from ragcache.decoding.denoise import DecodingOptions
from ragcache.engine.trace import Trace
from ragcache.errors import ConfigError, EmptyQuestionError
from ragcache.prompt import Prompt
from ragcache.registry import codec_for
from ragcache.reuse.policy import ReusePolicy, as_policy

FinishReason = Literal["stop", "length"]
AffixStatus = Literal["hit", "built", "skipped"]
MAX_PRIORITY = 10**6


@dataclass(frozen=True)
class Request:
    """One prompt to answer. A plain `str` prompt is one user message.

    `stop` strings end the answer before their first occurrence; an empty one, or anything else than
    strings, raises `ConfigError`.
    `policy`, which may be in short form (`qa@0.2`), and `codec` None mean the engine's own; unknown ones
    raise `ConfigError`. `shared` names affixes that may come from the shared namespace. `timeout_s` counts
    from submission; a request that is not done by then fails with `RequestTimeoutError` at its next step.
    Requests of higher `priority`, and those with less time, go first (`ragcache.engine.scheduler`).
    `compare` adds one full forward after the answer, to measure what a recompute would have cost. `trace`
    asks for the steps and the anchors' scores, `keep_logits` for the first refresh's logits.
    """

    prompt: Prompt | str
    options: DecodingOptions = field(default_factory=DecodingOptions)
    stop: tuple[str, ...] = ()
    policy: ReusePolicy | str | None = None
    codec: str | None = None
    compare: bool = False
    trace: bool = False
    keep_logits: bool = False
    shared: tuple[str, ...] = ()
    timeout_s: float | None = None
    priority: int = 0

    def __post_init__(self) -> None:
        if isinstance(self.shared, str) or not all(isinstance(name, str) for name in self.shared):
            raise ConfigError(f"shared is {self.shared!r}; give a tuple of affix names")
        if isinstance(self.stop, str) or not all(isinstance(stop, str) for stop in self.stop):
            raise ConfigError(f"stop is {self.stop!r}; give a tuple of strings")
        if "" in self.stop:
            raise ConfigError("a stop string is empty; every answer would end before it began")
        if self.timeout_s is not None and not self.timeout_s > 0.0:
            raise ConfigError(f"timeout {self.timeout_s} is no time to answer in; give seconds above 0")
        if not isinstance(self.priority, int):
            raise ConfigError(f"priority {self.priority!r} is no whole number; 0 is usual, more goes first")
        if abs(self.priority) > MAX_PRIORITY:
            raise ConfigError(
                f"priority is beyond -{MAX_PRIORITY}..{MAX_PRIORITY}; 0 is usual, more goes first"
            )
        if self.policy is not None:
            object.__setattr__(self, "policy", as_policy(self.policy))
        if self.codec is not None:
            codec_for(self.codec)

    def check_asked(self) -> None:
        """Raise `EmptyQuestionError` for a prompt of blanks."""
        prompt = self.prompt
        texts = [prompt] if isinstance(prompt, str) else [message.text for message in prompt.messages]
        if not any(text.strip() for text in texts):
            raise EmptyQuestionError("the prompt is empty; ask something")


@dataclass(frozen=True)
class AffixUse:
    """What became of one affix in one prompt. `start` is its first cached position, counts are in tokens."""

    name: str
    start: int
    tokens: int
    status: AffixStatus
    anchors: int
    reason: str = ""


@dataclass(frozen=True)
class ReuseReport:
    """Token counts that add up: `reused + recomputed + fresh == prompt_tokens`.

    `recomputed` are anchors, `fresh` are tokens in no (used) affix.
    """

    affixes: tuple[AffixUse, ...]
    prompt_tokens: int
    reused: int
    recomputed: int
    fresh: int

    def served(self, status: AffixStatus) -> int:
        """Tokens that affixes of this status served from their pages: their anchors are not among them."""
        return sum(use.tokens - use.anchors for use in self.affixes if use.status == status)

    def status_counts(self) -> Counter[AffixStatus]:
        """How many affixes were hit, built and skipped."""
        return Counter(affix.status for affix in self.affixes)


@dataclass(frozen=True)
class Timings:
    """Seconds of one request. `full_s` is one full forward, measured only with `compare`.

    Those of forwards (`probe_s`, `refresh_s`, `refine_s`, `full_s`) are what the request cost: of a forward
    that several requests shared, each has as much as of its rows, and waiting for others is in none. `load_s`
    and `encode_s` are those of its own pages. `total_s` is wall time from the start of its work to the
    answer, with whatever others took in between; what it waited before is not in it.
    """

    tokenize_s: float = 0.0
    load_s: float = 0.0
    encode_s: float = 0.0
    probe_s: float = 0.0
    refresh_s: float = 0.0
    refine_s: float = 0.0
    full_s: float = 0.0
    total_s: float = 0.0


@dataclass(frozen=True)
class Completion:
    """The answer. `token_ids` end before the first stop token; `forwards` is the NFE with the probe.

    `refreshes` of the forwards computed all live rows, one for every block that was decoded. `rows` are those
    of all forwards, in rows through all layers; `full_rows` those it would have taken without reuse, in as
    many steps; `live_rows` is the share of prompt and canvas that the first
    refresh computed; `bytes_read` are those of pages that were hit. `first_logits` `[masks, vocabulary]` are
    those of the first block's masks before anything was decided.
    """

    text: str
    token_ids: tuple[int, ...]
    finish_reason: FinishReason
    reuse: ReuseReport
    timings: Timings
    forwards: int
    model: str
    policy: str
    refreshes: int = 1
    rows: float = 0.0
    full_rows: float = 0.0
    live_rows: float = 1.0
    bytes_read: int = 0
    trace: Trace | None = None
    first_logits: Tensor | None = field(default=None, compare=False, repr=False)

    @property
    def completion_tokens(self) -> int:
        """Answer length in tokens."""
        return len(self.token_ids)
