"""What is asked: prompts with marked affixes, of known token counts, the same for the same seed.

All workloads make a prompt from affixes at offsets that differ from request to request, with text of the
request's own between them. They differ in which affixes there are and which of them a request names.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from random import Random
from types import MappingProxyType

from ragcache.benching.texts import Texts
from ragcache.errors import ConfigError
from ragcache.prompt import Affix, Prompt

LEAST_AFFIX = 8  # tokens; shorter ones are computed by the engine, not reused


@dataclass(frozen=True)
class Asked:
    """What a workload asks: every affix there is, the prompts, and their answers (None where unknown)."""

    affixes: tuple[Affix, ...]
    prompts: tuple[Prompt, ...]
    answers: tuple[str | None, ...]


@dataclass(frozen=True)
class Workload(ABC):
    """Prompts of at most `prompt` tokens, the share `share` of these in affixes.

    Raises `ConfigError` for a share outside 0..1, or prompts too short for their affixes and gaps.
    """

    prompt: int = 4096
    share: float = 0.9

    def __post_init__(self) -> None:
        if not 0.0 < self.share < 1.0:
            raise ConfigError(f"a share of {self.share} of the prompt in affixes; give one between 0 and 1")
        named = self.order(Random(0))
        if min(self.lengths()) < LEAST_AFFIX or self.fresh <= len(named):
            raise ConfigError(
                f"a prompt of {self.prompt} tokens is too short for {len(named)} affixes of at least "
                f"{LEAST_AFFIX} tokens and text between them; give a longer --prompt"
            )

    @property
    def cached(self) -> int:
        """Tokens of the longest prompt that are in affixes."""
        return round(self.prompt * self.share)

    @property
    def fresh(self) -> int:
        """Tokens of each prompt that are in none."""
        return self.prompt - self.cached

    @abstractmethod
    def lengths(self) -> tuple[int, ...]:
        """Tokens of every affix there is."""

    @abstractmethod
    def order(self, rng: Random) -> list[int]:
        """Which affixes a request names, in the order of its prompt."""

    def ask(self, texts: Texts, requests: int, seed: int = 0) -> Asked:
        """The affixes, and the prompts of `requests` requests; equal for equal seeds.

        Raises `ConfigError` where `texts` have nothing so short.
        """
        rng = Random(f"{self!r}/{seed}")
        documents = texts.documents(rng, self.lengths())
        askings = [
            texts.asking(rng, [documents[number] for number in self.order(rng)], self.fresh)
            for _ in range(requests)
        ]
        return Asked(
            tuple(document.affix for document in documents),
            tuple(asking.prompt for asking in askings),
            tuple(asking.answer for asking in askings),
        )


@dataclass(frozen=True)
class DocQA(Workload):
    """Many questions about the same documents, which stand in another order at every question."""

    documents: int = 8

    def lengths(self) -> tuple[int, ...]:
        """See `Workload`."""
        return split(self.cached, self.documents)

    def order(self, rng: Random) -> list[int]:
        """See `Workload`."""
        return rng.sample(range(self.documents), self.documents)


@dataclass(frozen=True)
class Rag(Workload):
    """The `top_k` of many documents; popularity falls with the rank as 1 / rank^skew (Zipf)."""

    documents: int = 64
    top_k: int = 8
    skew: float = 1.0

    def lengths(self) -> tuple[int, ...]:
        """See `Workload`."""
        return (self.cached // self.top_k,) * self.documents

    @property
    def fresh(self) -> int:
        """See `Workload`: what equal documents leave."""
        return self.prompt - self.top_k * (self.cached // self.top_k)

    def order(self, rng: Random) -> list[int]:
        """See `Workload`. Drawn without replacement (Efraimidis and Spirakis, 2006), then shuffled."""
        keys = [rng.random() ** ((rank + 1) ** self.skew) for rank in range(self.documents)]
        best = sorted(range(self.documents), key=keys.__getitem__, reverse=True)[: self.top_k]
        rng.shuffle(best)
        return best


@dataclass(frozen=True)
class Agents(Workload):
    """Agents that share a few system prompts, from a quarter of the longest on (1 to 4 k tokens)."""

    agents: int = 4

    def lengths(self) -> tuple[int, ...]:
        """See `Workload`."""
        return tuple(self.cached * (number + 1) // self.agents for number in range(self.agents))

    def order(self, rng: Random) -> list[int]:
        """See `Workload`."""
        return [rng.randrange(self.agents)]


@dataclass(frozen=True)
class LongDocument(Workload):
    """Many questions about one long document."""

    def lengths(self) -> tuple[int, ...]:
        """See `Workload`."""
        return (self.cached,)

    def order(self, rng: Random) -> list[int]:
        """See `Workload`."""
        return [0]


WORKLOADS: Mapping[str, type[Workload]] = MappingProxyType(
    {"doc-qa": DocQA, "rag": Rag, "agents": Agents, "long": LongDocument}
)


def workload_named(name: str) -> type[Workload]:
    """Raises `ConfigError` naming the known workloads."""
    if name not in WORKLOADS:
        raise ConfigError(f"unknown workload {name!r}; known: {', '.join(WORKLOADS)}")
    return WORKLOADS[name]


def split(tokens: int, parts: int) -> tuple[int, ...]:
    """`tokens` in equal parts, the remainder to the first ones."""
    share, rest = divmod(tokens, parts)
    return tuple(share + (part < rest) for part in range(parts))
