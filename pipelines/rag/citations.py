"""Where an answer stands in the texts it was read from."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from ragcache.pipelines.rag.chunks import Chunk, sentences

# Answers that any text may happen to contain, without saying so.
_NO_QUOTE = frozenset({"yes", "no", "not stated", "none"})
_GAP = re.compile(r"\n[ \t]*\n\s*")
_ENDS = " \t\n.,;:!?\"'"


@dataclass(frozen=True)
class Citation:
    """`quote` is the sentence `text[start:end]` of the chunk `name`, in which the answer stands literally."""

    name: str
    quote: str
    start: int
    end: int


def cite(answer: str, chunks: Iterable[Chunk]) -> tuple[Citation, ...]:
    """The first sentence of each chunk that holds the answer, apart from case and blanks.

    Only whole words count. Empty where no chunk says it literally, and for answers such as "yes": a citation
    that proves nothing would be worse than none.
    """
    words = answer.strip(_ENDS).split()
    if not words or " ".join(words).lower() in _NO_QUOTE:
        return ()
    spelt = re.compile(r"(?<!\w)" + r"\s+".join(map(re.escape, words)) + r"(?!\w)", re.IGNORECASE)
    return tuple(citation for chunk in chunks for citation in _first(spelt, chunk))


def _first(spelt: re.Pattern[str], chunk: Chunk) -> Iterator[Citation]:
    found = spelt.search(chunk.text)
    if found is None:
        return
    begun = [start for start, _ in _lines(chunk.text) if start <= found.start()]
    ended = [end for _, end in _lines(chunk.text) if end >= found.end()]
    start, end = max(begun, default=0), min(ended, default=len(chunk.text))
    yield Citation(chunk.name, chunk.text[start:end], start, end)


def _lines(text: str) -> Iterator[tuple[int, int]]:
    """Sentences; one that runs over an empty line, as after a heading, is cut there."""
    for start, end in sentences(text, 0, len(text)):
        at = start
        for gap in _GAP.finditer(text, start, end):
            yield at, gap.start()
            at = gap.end()
        yield at, end
