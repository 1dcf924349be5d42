"""How a workload is put to the systems."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType

from ragcache.benching.drive import arrivals
from ragcache.benching.facts import Facts
from ragcache.benching.texts import Texts
from ragcache.benching.words import Words
from ragcache.benching.workloads import Asked, Workload
from ragcache.decoding.commit import FixedSteps
from ragcache.decoding.denoise import DecodingOptions
from ragcache.engine import LoadedModel
from ragcache.errors import ConfigError, PromptTooLongError
from ragcache.prompt import ChatTokenizer, tokenize

ROUNDS = 5  # at most; more would only drain the batch more often
TEXTS: Mapping[str, Callable[[ChatTokenizer], Texts]] = MappingProxyType({"words": Words.of, "facts": Facts})


@dataclass(frozen=True)
class Load:
    """How a workload is put to the systems; lengths in tokens.

    `rate` None is a closed loop: all requests wait, and `batch` at a time run. With a rate, in requests a
    second, they arrive by chance. `texts` are "words" of exact lengths, or "facts", whose questions have
    known answers. Raises `ConfigError`.
    """

    workload: Workload
    requests: int = 16
    batch: int = 8
    canvas: int = 64
    block: int = 32
    tokens_per_step: int = 4
    rate: float | None = None
    seed: int = 0
    texts: str = "words"

    def __post_init__(self) -> None:
        for name in ("requests", "batch", "canvas", "block", "tokens_per_step"):
            if getattr(self, name) < 1:
                raise ConfigError(f"{name} must be at least 1, not {getattr(self, name)}")
        arrivals(0, self.rate)
        if self.texts not in TEXTS:
            raise ConfigError(f"unknown --texts {self.texts!r}; known: {', '.join(TEXTS)}")

    def within(self, window: int) -> Load:
        """The same, with prompts as much shorter as a model's `window` asks for. Raises `ConfigError`."""
        room = window - self.canvas
        if self.workload.prompt <= room:
            return self
        try:
            return replace(self, workload=replace(self.workload, prompt=room))
        except ConfigError as error:
            raise ConfigError(
                f"the model's window of {window} tokens leaves {room} beside --canvas {self.canvas}, too few "
                "for the affixes of this workload; give a smaller --canvas, or another workload or model"
            ) from error

    def options(self, cache: str) -> DecodingOptions:
        """Fixed steps: random weights are never confident."""
        rule = FixedSteps(-(-self.block // self.tokens_per_step))
        return DecodingOptions(self.canvas, self.block, rule, cache)

    def rounds(self) -> list[range]:
        """Numbers of the requests of each round; one round where they arrive by themselves."""
        size = self.requests if self.rate else max(self.batch, -(-self.requests // ROUNDS))
        return [range(start, min(start + size, self.requests)) for start in range(0, self.requests, size)]

    def ask(self, model: LoadedModel) -> Asked:
        """The affixes and prompts, of what the tokenizer of `model` makes of texts.

        Raises `PromptTooLongError` when the longest prompt and the canvas do not fit its window,
        `ConfigError` for texts that cannot be so short.
        """
        asked = self.workload.ask(TEXTS[self.texts](model.tokenizer), self.requests, self.seed)
        longest = max(tokenize(prompt, model.tokenizer).tokens for prompt in asked.prompts)
        config = model.predictor.config
        needed = longest + config.answer_tokens(self.canvas)
        if needed > config.max_tokens:
            raise PromptTooLongError(needed, config.max_tokens, "--prompt and --canvas")
        return asked
