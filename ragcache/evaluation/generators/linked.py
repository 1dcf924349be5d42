"""Stories that take work inside the documents: no document alone says what is asked."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from random import Random

from ragcache.errors import ConfigError
from ragcache.evaluation.generators.chain import chain_story
from ragcache.evaluation.generators.chunked import chunked_story
from ragcache.evaluation.generators.correction import correction_story
from ragcache.evaluation.generators.same_as import same_as_story
from ragcache.evaluation.generators.schema import Split, Story
from ragcache.evaluation.generators.story import check_ranges

Maker = Callable[[Random, Split, int, int], Story]
_MAKERS: Mapping[str, tuple[Maker, int]] = {
    "pronoun": (chunked_story, 4),
    "same_as": (same_as_story, 3),
    "correction": (correction_story, 3),
}
LINKED_KINDS = ("chain", *_MAKERS)
_MOST = 16  # documents; the pools of names and values have hardly more that are clearly different


def linked_story(
    rng: Random,
    split: Split,
    kind: str,
    *,
    docs: tuple[int, int] = (4, 8),
    questions: int = 6,
    hops: tuple[int, int] = (2, 6),
) -> Story:
    """docs[0] to docs[1] documents and up to `questions` questions of one kind of LINKED_KINDS.

    chain       a document refers to the next one, over hops[0] to hops[1] references (as far as the
                documents allow), and the last one holds the answer; needs hops[0] + 2 documents
    pronoun     the document before the one with the answer names whom it is about; needs 4
    same_as     something is told to be the same as what another document tells; needs 3
    correction  a later document corrects an earlier one; needs 3

    The same state of `rng` gives the same story. Raises ConfigError for an unknown kind or side of the
    split, an empty range, no question, fewer documents than the kind needs or more than 16.
    """
    if kind not in LINKED_KINDS:
        raise ConfigError(f"Unknown kind of linked story {kind!r}; known are {', '.join(LINKED_KINDS)}.")
    check_ranges(split, {"docs": docs, "hops": hops, "questions": (questions, questions)})
    least = hops[0] + 2 if kind == "chain" else _MAKERS[kind][1]
    if docs[0] < least:
        raise ConfigError(f"docs={docs} allows too few documents for {kind!r}; give {least} or more.")
    if docs[1] > _MOST:
        raise ConfigError(f"docs={docs} allows too many documents; give at most {_MOST}.")
    count = rng.randint(*docs)
    if kind == "chain":
        return chain_story(rng, split, count, questions, hops)
    return _MAKERS[kind][0](rng, split, count, questions)
