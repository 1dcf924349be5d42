"""Chains of references: every document says that one thing is where, or what, another one is.

Templates: `{a}` the thing spoken of, `{b}` the one it refers to, `{v}` the value at the end of a chain.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from random import Random

from ragcache.evaluation.generators.casting import Cast, padded
from ragcache.evaluation.generators.chain_themes import THEMES, Theme
from ragcache.evaluation.generators.schema import QA, Split, Story, Told


@dataclass(frozen=True)
class Chain:
    """Names from the head on, the last of which has `value`; `docs` says which document tells each."""

    names: tuple[str, ...]
    value: str
    docs: tuple[int, ...]

    def told(self) -> Iterable[Told]:
        """What the documents say: name -> next name, and at last name -> value."""
        return (
            Told(*link) for link in zip(self.docs, self.names, (*self.names[1:], self.value), strict=True)
        )


def chain_story(rng: Random, split: Split, docs: int, questions: int, hops: tuple[int, int]) -> Story:
    """`docs` >= hops[0] + 2 documents: a chain of hops[0] to hops[1] references, and others to mislead.

    Questions ask for any name from which hops[0] to hops[1] references lead to a value, the first question
    for the longest way of the first chain.
    """
    theme = rng.choice(THEMES)
    chains = _chains(Cast(rng, split), theme, docs, hops)
    texts = [""] * docs
    for chain in chains:
        for told in chain.told():
            texts[told.doc] = padded(rng, _sentence(rng, theme, told, chain, split.templates))
    asked = [(chain, at) for chain in chains for at in range(len(chain.names))]
    fitting = [(chain, at) for chain, at in asked[1:] if hops[0] <= len(chain.names) - 1 - at <= hops[1]]
    chosen = [asked[0], *rng.sample(fitting, min(questions - 1, len(fitting)))][:questions]
    told_all = tuple(told for chain in chains for told in chain.told())
    return Story(tuple(texts), tuple(_ask(rng, theme, *one, split.templates) for one in chosen), told_all)


def follow(told: Iterable[Told], name: str) -> list[Told]:
    """The links of a chain story from `name` to the value that the last one holds."""
    links: Mapping[str, Told] = {link.subject: link for link in told}
    path = [links[name]]
    while path[-1].value in links:
        path.append(links[path[-1].value])
    return path


def _chains(cast: Cast, theme: Theme, docs: int, hops: tuple[int, int]) -> list[Chain]:
    """The chain that is asked for and, with the documents that are left, others at most as long."""
    rng = cast.rng
    sizes = [rng.randint(hops[0], min(hops[1], docs - 2)) + 1]
    while (left := docs - sum(sizes)) > 0:
        sizes.append(rng.randint(min(2, left), min(sizes[0], left)))
    order = rng.sample(range(docs), docs)
    chains = []
    for size in sizes:
        names = tuple(cast.name(theme.name) for _ in range(size))
        value = cast.name(theme.value)
        chains.append(Chain(names, value, tuple(order.pop() for _ in range(size))))
    return chains


def _sentence(rng: Random, theme: Theme, told: Told, chain: Chain, templates: str) -> str:
    last = told.subject == chain.names[-1]
    template = rng.choice((theme.end if last else theme.refer).of(templates))
    text = template.format(a=told.subject, b=told.value, v=told.value)
    return f"{text[0].upper()}{text[1:]}."


def _ask(rng: Random, theme: Theme, chain: Chain, at: int, templates: str) -> QA:
    question = rng.choice(theme.ask.of(templates)).format(a=chain.names[at])
    bridge = chain.names[-1] if at < len(chain.names) - 1 else ""
    return QA(question, chain.value, "chain", chain.names[at], bridge)
