"""How a workload is put to the systems."""

from __future__ import annotations

from dataclasses import dataclass

from ragcache.benching.drive import arrivals
from ragcache.benching.words import Words
from ragcache.benching.workloads import Asked, Workload
from ragcache.decoding.commit import FixedSteps
from ragcache.decoding.denoise import DecodingOptions
from ragcache.engine import LoadedModel
from ragcache.errors import ConfigError, PromptTooLongError

ROUNDS = 5  # at most; more would only drain the batch more often


@dataclass(frozen=True)
class Load:
    """How a workload is put to the systems; lengths in tokens.

    `rate` None is a closed loop: all requests wait, and `batch` at a time run. With a rate, in requests a
    second, they arrive by chance. Raises `ConfigError`.
    """

    workload: Workload
    requests: int = 16
    batch: int = 8
    canvas: int = 64
    block: int = 32
    tokens_per_step: int = 4
    rate: float | None = None
    seed: int = 0

    def __post_init__(self) -> None:
        for name in ("requests", "batch", "canvas", "block", "tokens_per_step"):
            if getattr(self, name) < 1:
                raise ConfigError(f"{name} must be at least 1, not {getattr(self, name)}")
        arrivals(0, self.rate)

    def options(self, cache: str) -> DecodingOptions:
        """Fixed steps: random weights are never confident."""
        rule = FixedSteps(-(-self.block // self.tokens_per_step))
        return DecodingOptions(self.canvas, self.block, rule, cache)

    def rounds(self) -> list[range]:
        """Numbers of the requests of each round; one round where they arrive by themselves."""
        size = self.requests if self.rate else max(self.batch, -(-self.requests // ROUNDS))
        return [range(start, min(start + size, self.requests)) for start in range(0, self.requests, size)]

    def ask(self, model: LoadedModel) -> Asked:
        """The affixes and prompts in the words of `model`.

        Raises `PromptTooLongError` when the longest prompt and the canvas do not fit its window.
        """
        asked = self.workload.ask(Words.of(model.tokenizer), self.requests, self.seed)
        texts = ("".join(message.text for message in prompt.messages) for prompt in asked.prompts)
        longest = max(len(model.tokenizer.encode(text).ids) for text in texts)
        limit = model.predictor.config.max_tokens
        if longest + self.canvas > limit:
            raise PromptTooLongError(longest + self.canvas, limit, "--prompt and --canvas")
        return asked
