"""Evaluation sets: one question each, with names and values that training never shows."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from random import Random

from ragcache.errors import ConfigError
from ragcache.evaluation.generators.linked import linked_story
from ragcache.evaluation.generators.long import LONG_SIZES, long_story
from ragcache.evaluation.generators.schema import HELD_OUT, TRAIN, Split, Story
from ragcache.evaluation.generators.story import story
from ragcache.evaluation.generators.variants import counterfactual, reordered

# Stories of one question each that belong together; none where the kind of question could not be served.
Maker = Callable[[Random, Split], Sequence[Story]]
_HOPS = range(2, 7)


def _told(rng: Random, split: Split, kind: str) -> Sequence[Story]:
    made = story(rng, split, questions=1, kinds={kind: 1.0})
    return (made,) if made.questions else ()


def _linked(rng: Random, split: Split, kind: str) -> Sequence[Story]:
    return (linked_story(rng, split, kind, questions=1),)


def _chain(rng: Random, split: Split, hops: Sequence[int]) -> Sequence[Story]:
    """As many documents on the chain as on others."""
    drawn = rng.choice(hops)
    docs = 2 * (drawn + 1)
    return (linked_story(rng, split, "chain", docs=(docs, docs), questions=1, hops=(drawn, drawn)),)


def _long(rng: Random, split: Split, sizes: Sequence[int]) -> Sequence[Story]:
    return (long_story(rng, split, rng.choice(sizes)),)


_STORIES = (
    "single", "two_hop", "not_stated", "single_templates", "list", "number", "recency", "yes_no", "compare",
)  # fmt: skip
_MAKERS: Mapping[str, Maker] = {
    **{name: partial(_told, kind=name.removesuffix("_templates")) for name in _STORIES},
    "chain": partial(_chain, hops=_HOPS),
    **{f"chain_{hops}": partial(_chain, hops=(hops,)) for hops in _HOPS},
    **{kind: partial(_linked, kind=kind) for kind in ("pronoun", "same_as", "correction")},
    "counterfactual": counterfactual,
    "order": reordered,
    "long": partial(_long, sizes=LONG_SIZES),
    **{f"long_{size}": partial(_long, sizes=(size,)) for size in LONG_SIZES},
}
DATASETS: tuple[str, ...] = tuple(_MAKERS)


@dataclass(frozen=True)
class Example:
    """One question, the documents it is asked about, and its answer.

    Examples of the same `group` are variants of each other; "" belongs to no group.
    """

    question: str
    docs: tuple[str, ...]
    answer: str
    group: str = ""


def dataset(name: str, n: int, seed: int = 0) -> Iterator[Example]:
    """The first n examples of a set in DATASETS; the same for the same name and seed.

    The examples of a group ("counterfactual": 2, "order": 2 or 3) follow each other, and the last group is
    completed: there may be one or two examples more than n. Names and values are held out of training;
    "single_templates" asks and states in held-out ways as well. Raises ConfigError for an unknown name.
    """
    if name not in DATASETS:
        raise ConfigError(f"Unknown dataset {name!r}; known are {', '.join(DATASETS)}.")
    return _examples(name, n, seed)


def _examples(name: str, n: int, seed: int) -> Iterator[Example]:
    rng = Random(f"{name}/{seed}")
    split = Split(HELD_OUT, HELD_OUT if name.endswith("_templates") else TRAIN)
    made = 0
    while made < n:
        told = _MAKERS[name](rng, split)
        group = f"{name}/{seed}/{made}" if len(told) > 1 else ""
        made += len(told)
        for one in told:
            yield Example(one.questions[0].question, one.docs, one.questions[0].answer, group)
