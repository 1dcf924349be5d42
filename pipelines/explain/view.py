"""One request as a picture: what `ragcache explain` draws, free of any markup."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ragcache.engine import AffixUse, Completion, ReuseReport
from ragcache.engine.trace import Trace
from ragcache.pipelines.explain.figures import Comparison, compare
from ragcache.pipelines.explain.marks import Bar, Mark, bars, marks
from ragcache.pipelines.explain.pieces import Piece, Vocabulary, cut
from ragcache.pipelines.explain.timeline import StepView, timeline


@dataclass(frozen=True)
class MarkedPiece:
    """A piece of the prompt; `mark` if it holds anchors."""

    piece: Piece
    mark: Mark | None


@dataclass(frozen=True)
class Section:
    """A stretch of the prompt: the frame of one affix, or the text between (`affix` None)."""

    affix: AffixUse | None
    pieces: tuple[MarkedPiece, ...]

    @property
    def tokens(self) -> int:
        """Length in tokens."""
        return self.pieces[-1].piece.stop - self.pieces[0].piece.start

    @property
    def blank(self) -> bool:
        """Whether nothing but blanks and line ends would be seen."""
        return not any(p.piece.special or p.mark or p.piece.text.strip() for p in self.pieces)


@dataclass(frozen=True)
class Explanation:
    """Everything on the page. `sections` cover the prompt, `bars` too; `affixes` are all that were marked."""

    question: str
    answer: str
    model: str
    policy: str
    reuse: ReuseReport
    canvas_tokens: int
    sections: tuple[Section, ...]
    marks: tuple[Mark, ...]
    bars: tuple[Bar, ...]
    steps: tuple[StepView, ...]
    comparison: Comparison
    building_s: float

    @property
    def affixes(self) -> tuple[AffixUse, ...]:
        """What became of each affix, in prompt order."""
        return self.reuse.affixes

    @property
    def summary(self) -> str:
        """The prompt's tokens in one line."""
        reuse = self.reuse
        anchored = sum(len(mark.positions) for mark in self.marks) == reuse.recomputed
        role = " as anchors" if anchored and reuse.recomputed else ""
        return (
            f"{reuse.prompt_tokens} prompt tokens: {reuse.reused} reused, "
            f"{reuse.recomputed} recomputed{role}, {reuse.fresh} fresh"
        )

    def affix_of(self, mark: Mark) -> str:
        """Name of the affix that a mark lies in."""
        return next(
            (use.name for use in self.affixes if use.start <= mark.positions[0] < use.start + use.tokens), ""
        )


def explain(
    completion: Completion, trace: Trace, vocabulary: Vocabulary, *, question: str = ""
) -> Explanation:
    """The view of one completed request; `question` is its heading."""
    pieces = cut(trace.token_ids[: trace.prompt_tokens], vocabulary)
    found = marks(pieces, trace)
    marked = [MarkedPiece(piece, found.get(piece.start)) for piece in pieces]
    return Explanation(
        question=question,
        answer=completion.text,
        model=completion.model,
        policy=completion.policy,
        reuse=completion.reuse,
        canvas_tokens=len(trace.token_ids) - trace.prompt_tokens,
        sections=tuple(_sections(marked, completion.reuse.affixes)),
        marks=tuple(found.values()),
        bars=bars(trace, found.values()),
        steps=timeline(trace, completion.completion_tokens, vocabulary),
        comparison=compare(completion),
        building_s=completion.timings.encode_s,
    )


def _sections(pieces: Sequence[MarkedPiece], uses: Sequence[AffixUse]) -> Iterator[Section]:
    """A piece belongs where its first token does; affixes that touch share out their common tokens."""
    at = 0
    for use in sorted(uses, key=lambda use: use.start):
        start = _reach(pieces, at, use.start)
        stop = _reach(pieces, start, use.start + use.tokens)
        if start > at:
            yield Section(None, tuple(pieces[at:start]))
        if stop > start:
            yield Section(use, tuple(pieces[start:stop]))
        at = stop
    if at < len(pieces):
        yield Section(None, tuple(pieces[at:]))


def _reach(pieces: Sequence[MarkedPiece], at: int, position: int) -> int:
    while at < len(pieces) and pieces[at].piece.start < position:
        at += 1
    return at
